"""Labelings of a pairwise graph: their scores, better ones near by, and what neighbours say of each node.

Graphs and half-edges are as in `messages`.
"""

import numpy as np

from hedgerow.jit import kernel


@kernel
def labeling_score(nodes, edges, ends, labels):
    """Σ_i φ_i(y_i) + Σ_e ψ_e(y_i, y_j). IN nodes (n, K), edges (M or 1, K, K), ends (M, 2), labels (n,)"""
    total = 0.0
    for i in range(nodes.shape[0]):
        total += nodes[i, labels[i]]
    for e in range(ends.shape[0]):
        total += edges[0 if edges.shape[0] == 1 else e, labels[ends[e, 0]], labels[ends[e, 1]]]
    return total


@kernel
def conditionals(nodes, edges, ends, labels, scores):
    """scores_i(u) = φ_i(u) + Σ_k ψ(u, y_k) over the neighbours k with a label (not −1).

    IN nodes (n, K), edges (M or 1, K, K), ends (M, 2), labels (n,); OUT scores (n, K)
    """
    K = nodes.shape[1]
    for i in range(nodes.shape[0]):
        for u in range(K):
            scores[i, u] = nodes[i, u]
    for e in range(ends.shape[0]):
        i, j = ends[e, 0], ends[e, 1]
        table = edges[0 if edges.shape[0] == 1 else e]
        if labels[j] >= 0:
            for u in range(K):
                scores[i, u] += table[u, labels[j]]
        if labels[i] >= 0:
            for v in range(K):
                scores[j, v] += table[labels[i], v]


@kernel
def improve(nodes, edges, ends, ptr, out, order, begin, end, labels, field):
    """Iterated conditional modes: give the nodes order[begin:end], one after the other, the label that is best beside
    its neighbours' labels. A node keeps its label where no other is better. Returns how many changed.

    IN nodes (n, K), edges (M or 1, K, K), ends (M, 2), ptr, out, order; IN/OUT labels (n,); WORK field (K,)
    """
    K = field.shape[0]
    changed = 0
    for place in range(begin, end):
        i = order[place]
        for u in range(K):
            field[u] = nodes[i, u]
        for a in range(ptr[i], ptr[i + 1]):
            h = out[a]
            table = edges[0 if edges.shape[0] == 1 else h >> 1]
            k = labels[ends[h >> 1, 1 - (h & 1)]]
            for u in range(K):
                field[u] += table[u, k] if h & 1 == 0 else table[k, u]
        best = labels[i]
        for u in range(K):
            if field[u] > field[best] or field[best] == -np.inf:
                best = u
        if best != labels[i]:
            labels[i] = best
            changed += 1
    return changed


@kernel
def join_counts(conditional_probs, weights, ends, labels, gradient):
    """The gradient of the pseudo-likelihood by the edge scores: for e = (i, j) with both labels known

        g_e(u, v) = w_i [v = y_j] (p_i(u) − [u = y_i]) + w_j [u = y_i] (p_j(v) − [v = y_j]),

    and 0 elsewhere. IN conditional_probs (n, K), weights (n,), ends (M, 2), labels (n,); OUT gradient (M, K, K)
    """
    K = conditional_probs.shape[1]
    for e in range(ends.shape[0]):
        i, j = ends[e, 0], ends[e, 1]
        for u in range(K):
            for v in range(K):
                gradient[e, u, v] = 0.0
        if labels[i] < 0 or labels[j] < 0:
            continue
        for u in range(K):
            gradient[e, u, labels[j]] += weights[i] * conditional_probs[i, u]
            gradient[e, labels[i], u] += weights[j] * conditional_probs[j, u]
        gradient[e, labels[i], labels[j]] -= weights[i] + weights[j]
