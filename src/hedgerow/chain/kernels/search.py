"""Best labelings, samples and entropy of chains. As in `log_chain`: edges (to, n | 1, from), first (n+1,).

No sum may be reordered here: a backtrace finds its way by computing the same sums again and comparing them.
"""

import math

import numpy as np

from hedgerow.jit import kernel, part


@part
def best_step(before, edges, row):
    """row[v] = max_u [before[u] + edges[u, v]]. before (K,) IN, edges (K, K) as [from, to] IN, row (K,) OUT.

    Four labels u at a time, so that a row is read and written once for four of them.
    """
    K = len(row)
    whole = K // 4 * 4
    for v in range(K):
        row[v] = -np.inf
    for u in range(0, whole, 4):
        x0, x1, x2, x3 = before[u], before[u + 1], before[u + 2], before[u + 3]
        for v in range(K):
            y0, y1 = x0 + edges[u, v], x1 + edges[u + 1, v]
            y2, y3 = x2 + edges[u + 2, v], x3 + edges[u + 3, v]
            y0 = y0 if y0 > y1 else y1
            y2 = y2 if y2 > y3 else y3
            y0 = y0 if y0 > y2 else y2
            row[v] = y0 if y0 > row[v] else row[v]
    for u in range(whole, K):
        x0 = before[u]
        for v in range(K):
            y0 = x0 + edges[u, v]
            row[v] = y0 if y0 > row[v] else row[v]


@kernel
def viterbi_shared(node, edges, first, best, t0, t1):
    """best_t(v) = node_t(v) + max_u [best_{t−1}(u) + edge(u, v)], node_t(v) alone at a first position.

    node (n, K) IN, edges (K, K) as [from, to] IN, first (n+1,) IN, best (n, K) IN/OUT (row t0−1 is read). No
    pointers are kept: `trace` finds the way back.
    """
    K = node.shape[1]
    for t in range(t0, t1):
        row = best[t]
        if first[t]:
            for v in range(K):
                row[v] = node[t, v]
            continue
        best_step(best[t - 1], edges, row)
        for v in range(K):
            row[v] += node[t, v]


@kernel
def viterbi_positions(node, edges, first, best, t0, t1):
    """As `viterbi_shared`, with edges (K, n, K) as [to, position, from] IN."""
    K = node.shape[1]
    for t in range(t0, t1):
        for v in range(K):
            best[t, v] = node[t, v]
            if not first[t]:
                largest = -np.inf
                for u in range(K):
                    y = best[t - 1, u] + edges[v, t, u]
                    largest = y if y > largest else largest
                best[t, v] = largest + node[t, v]


@kernel
def trace(edges, first, best, labels, t0, t1):
    """The way back through `best`, t from t1−1 down to t0: of equal maxima the lowest label.

    edges (K, n | 1, K) as [to, ·, from] IN, best (n, K) IN, labels (n,) int32 IN/OUT (labels[t1] is read).
    """
    K = best.shape[1]
    for t in range(t1 - 1, t0 - 1, -1):
        chosen = 0
        if first[t + 1]:
            for v in range(1, K):
                if best[t, v] > best[t, chosen]:
                    chosen = v
        else:
            row = 0 if edges.shape[1] == 1 else t + 1
            following = labels[t + 1]
            for u in range(1, K):
                if best[t, u] + edges[following, row, u] > best[t, chosen] + edges[following, row, chosen]:
                    chosen = u
        labels[t] = chosen


@kernel
def k_best(node, edges, first, best, back, t0, t1):
    """best[t, v, ·]: the scores of the best labelings up to t that end in v, falling; −inf where there are no more.

    back[t, v, r] = u · k + r': labeling r comes from labeling r' of label u at t−1. Of equal scores the lower (u, r')
    comes first. node (n, K) IN, edges (K, n | 1, K) IN, first (n+1,) IN; best (n, K, k) IN/OUT (row t0−1 is read),
    back (n, K, k) int32 OUT.
    """
    K, k = best.shape[1], best.shape[2]
    for t in range(t0, t1):
        row = 0 if edges.shape[1] == 1 else t
        for v in range(K):
            for r in range(k):
                best[t, v, r] = -np.inf
                back[t, v, r] = 0
            if first[t]:
                best[t, v, 0] = node[t, v]
                continue
            for u in range(K):
                for r in range(k):
                    y = best[t - 1, u, r] + edges[v, row, u] + node[t, v]
                    if not y > best[t, v, k - 1]:
                        break  # the later ones of u are no better
                    place = k - 1
                    while place > 0 and y > best[t, v, place - 1]:
                        best[t, v, place] = best[t, v, place - 1]
                        back[t, v, place] = back[t, v, place - 1]
                        place -= 1
                    best[t, v, place] = y
                    back[t, v, place] = u * k + r


@kernel
def trace_k(back, label, rank, labels, t0, t1):
    """Follow one labeling of `k_best` from (label, rank) at t1−1 down to t0; return where it continues at t0−1.

    back (n, K, k) IN, labels (n,) int32 OUT.
    """
    k = back.shape[2]
    for t in range(t1 - 1, t0 - 1, -1):
        labels[t] = label
        came_from = back[t, label, rank]
        label, rank = came_from // k, came_from % k
    return label, rank


@part
def draw(weights, count, mark):
    """The first of `count` weights whose cumulated sum exceeds the mark; the last one above 0, should rounding leave
    nothing over it."""
    chosen = 0
    cumulated = 0.0
    for i in range(count):
        cumulated += weights[i]
        if cumulated > mark:
            return i
        if weights[i] > 0.0:
            chosen = i
    return chosen


@kernel
def sample(log_alpha, edges, first, uniforms, weights, labels, t0, t1):
    """Draw labels backward, t from t1−1 down to t0: P(y_t = u | y_{t+1}) ∝ α_t(u) e^{edge_{t+1}(u, y_{t+1})}.

    The label is drawn by `draw`, with uniforms[t] times the total as the mark.

    log_alpha (n, K) IN, a row may lack any constant; edges (K, n | 1, K) IN, first (n+1,) IN, uniforms (n,) in
    [0, 1) IN, weights (K,) scratch, labels (n,) int32 IN/OUT (labels[t1] is read).
    """
    K = log_alpha.shape[1]
    for t in range(t1 - 1, t0 - 1, -1):
        row = 0 if edges.shape[1] == 1 else t + 1
        largest = -np.inf
        for u in range(K):
            weights[u] = log_alpha[t, u]
            if not first[t + 1]:
                weights[u] += edges[labels[t + 1], row, u]
            largest = max(largest, weights[u])
        total = 0.0
        for u in range(K):
            weights[u] = math.exp(weights[u] - largest)
            total += weights[u]
        labels[t] = draw(weights, K, uniforms[t] * total)


@kernel
def entropy(node, edges, first, log_beta, tops, ahead, t0, t1):
    """ahead[t, u] = the entropy of what follows label u at t, from t1−1 down to t0; 0 at a last position:

        h_t(u) = Σ_v p(v | u) [h_{t+1}(v) − log p(v | u)],
        log p(v | u) = edge_{t+1}(u, v) + node_{t+1}(v) + log β_{t+1}(v) − log β_t(u) − top_t.

    node (n, K) IN, log_beta (n, K) and tops (n,) of `log_chain.backward` IN, edges (K, n | 1, K)
    IN, first (n+1,) IN, ahead (n, K) IN/OUT (row t1 is read).
    """
    K = node.shape[1]
    for t in range(t1 - 1, t0 - 1, -1):
        row = 0 if edges.shape[1] == 1 else t + 1
        for u in range(K):
            total = 0.0
            if not first[t + 1] and log_beta[t, u] > -np.inf:
                for v in range(K):
                    x = edges[v, row, u] + node[t + 1, v] + log_beta[t + 1, v] - log_beta[t, u] - tops[t]
                    if x > -np.inf:
                        total += math.exp(x) * (ahead[t + 1, v] - x)
            ahead[t, u] = total
