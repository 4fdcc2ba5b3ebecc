"""Labels given their true neighbours. Edges (to, n | 1, from): one table per position, or one for all.

labels (n,), all known; first (n+1,) as in `chain`. A call covers positions t0 … t1−1.
"""

import math

import numpy as np

from hedgerow.jit import chain_kernel, kernel


@kernel
def add_neighbours(edges, labels, first, scores, t0, t1):
    """scores[t, v] += edge_t(y_{t−1}, v) + edge_{t+1}(v, y_{t+1}), without what a first or a last position lacks.

    edges (K, n | 1, K) IN, scores (n, K) IN/OUT.
    """
    K = scores.shape[1]
    shared = edges.shape[1] == 1
    for t in range(t0, t1):
        if not first[t]:
            row, y = 0 if shared else t, labels[t - 1]
            for v in range(K):
                scores[t, v] += edges[v, row, y]
        if not first[t + 1]:
            row, y = 0 if shared else t + 1, labels[t + 1]
            for v in range(K):
                scores[t, v] += edges[y, row, v]


@kernel
def add_neighbour_logs(exps, shifts, labels, first, scores, t0, t1):
    """As `add_neighbours`, of edges that are known by exps (K, n, K) = e^{edge − shift} and shifts (n,) IN."""
    K = scores.shape[1]
    for t in range(t0, t1):
        for v in range(K):
            if not first[t]:
                x = exps[v, t, labels[t - 1]]
                scores[t, v] += math.log(x) + shifts[t] if x > 0.0 else -np.inf
            if not first[t + 1]:
                x = exps[labels[t + 1], t + 1, v]
                scores[t, v] += math.log(x) + shifts[t + 1] if x > 0.0 else -np.inf


@chain_kernel
def normalise(exps, probs, totals, t0, t1):
    """totals[t] = Σ_v exps[t, v], probs = exps / totals. exps (n, P) IN, probs (n, K), totals (n,) OUT."""
    K = probs.shape[1]
    for t in range(t0, t1):
        total = 0.0
        for v in range(K):
            total += exps[t, v]
        totals[t] = total
        inverse = 1.0 / total
        for v in range(K):
            probs[t, v] = exps[t, v] * inverse


@chain_kernel
def turn(probs, along, weights, t0, t1):
    """along[t, v] = w_t p_t(v) [along_t(v) − Σ_k p_t(k) along_t(k)], how p_t moves when its scores move along.

    probs (n, K) IN, weights (n,) IN, along (n, K) IN/OUT.
    """
    K = probs.shape[1]
    for t in range(t0, t1):
        mean = 0.0
        for v in range(K):
            mean += probs[t, v] * along[t, v]
        for v in range(K):
            along[t, v] = weights[t] * probs[t, v] * (along[t, v] - mean)


@kernel
def add_edges(excess, labels, first, gradient, t0, t1):
    """gradient of edge_t(u, v) += [u = y_{t−1}] d_t(v) + [v = y_t] d_{t−1}(u), for t0 ≤ t < t1 but first positions.

    excess d (n, K) IN, gradient (K, n | 1, K) IN/OUT.
    """
    K = excess.shape[1]
    for t in range(t0, t1):
        if not first[t]:
            row = 0 if gradient.shape[1] == 1 else t
            before, here = labels[t - 1], labels[t]
            for v in range(K):
                gradient[v, row, before] += excess[t, v]
            for u in range(K):
                gradient[here, row, u] += excess[t - 1, u]
