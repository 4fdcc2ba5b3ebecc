"""Mean field on a pairwise graph: the product of independent nodes that is nearest, one node at a time.

Graphs and half-edges are as in `messages`.
"""

import math

import numpy as np

from hedgerow.jit import kernel


@kernel
def settle(nodes, edges, ends, ptr, out, order, begin, end, step, probs, field):
    """q_i(u) ∝ exp(φ_i(u) + Σ_k Σ_v q_k(v) ψ(u, v)) for the nodes order[begin], order[begin + step] …

    Each counts at once, so the free energy never falls. Returns the largest change of a probability.

    IN nodes (n, K), edges (M or 1, K, K) scores, ends (M, 2), ptr, out, order; IN/OUT probs (n, K); WORK field (K,)
    """
    K = field.shape[0]
    shared = edges.shape[0] == 1
    change = 0.0
    for place in range(begin, end, step):
        i = order[place]
        for u in range(K):
            field[u] = nodes[i, u]
        for a in range(ptr[i], ptr[i + 1]):
            h = out[a]
            e = h >> 1
            j = ends[e, 1 - (h & 1)]
            table = edges[0 if shared else e]
            for u in range(K):
                for v in range(K):
                    field[u] += probs[j, v] * (table[u, v] if h & 1 == 0 else table[v, u])
        largest = -np.inf
        for u in range(K):
            largest = max(largest, field[u])
        whole = 0.0
        for u in range(K):
            field[u] = math.exp(field[u] - largest)
            whole += field[u]
        for u in range(K):
            field[u] /= whole
            change = max(change, abs(field[u] - probs[i, u]))
            probs[i, u] = field[u]
    return change


@kernel
def free_energy(nodes, edges, ends, probs):
    """Σ_i Σ_u q_i(u) (φ_i(u) − log q_i(u)) + Σ_e Σ_uv q_i(u) q_j(v) ψ_e(u, v), at most log Z.

    IN nodes (n, K), edges (M or 1, K, K), ends (M, 2), probs (n, K)
    """
    K = nodes.shape[1]
    shared = edges.shape[0] == 1
    total = 0.0
    for i in range(nodes.shape[0]):
        for u in range(K):
            if probs[i, u] > 0.0:
                total += probs[i, u] * (nodes[i, u] - math.log(probs[i, u]))
    for e in range(ends.shape[0]):
        table = edges[0 if shared else e]
        for u in range(K):
            for v in range(K):
                total += probs[ends[e, 0], u] * probs[ends[e, 1], v] * table[u, v]
    return total
