"""Tree-reweighted sweeps for scores of ordinary size: what `lattice_log_messages` does, with fewer exponentials.

Graphs, messages and `rho` are as there. `tables` (M, K, K) are exp((ψ − its largest entry)/ρ) [tail, head], made once:

    m_ij(v) = log Σ_u tables(u, v) · exp(B_i(u) − m_ji(u)).

The caller sees to it that no entry is 0.
"""

from __future__ import annotations

import math

import numpy as np

from hedgerow.jit import kernel, part


@part
def _weigh(nodes, rho, ptr, out, messages, i, product):
    """product(u) = B_i(u)."""
    for u in range(product.shape[0]):
        product[u] = nodes[i, u]
    for a in range(ptr[i], ptr[i + 1]):
        h = out[a] ^ 1
        for u in range(product.shape[0]):
            product[u] += rho[h >> 1] * messages[h, u]


@part
def _wake(awake, ends, h):
    """The node that half-edge h arrives at has news, to send back and forth."""
    j = ends[h >> 1, 1 - (h & 1)]
    awake[0, j] = 1
    awake[1, j] = 1


@kernel
def sweep(
    nodes, tables, rho, ends, ptr, out, order, low, high, begin, end, step, messages, awake, way, quiet, product, rest,
    fresh,
):  # fmt: skip
    """Send messages from the nodes order[begin], order[begin + step] … before order[end], each of which counts at once;
    the largest change of one, as probabilities relative to the largest.

    IN      nodes (n, K), tables (M, K, K), rho (M,), ends (M, 2), ptr (n+1,), out (2M,), order (n,); low, high (n,):
            node i sends along out[low[i]:high[i]]; way, 0 or 1, the row of `awake`; quiet, a change that is no news
    IN/OUT  messages (2M, K), logarithms with the largest entry 0; awake (2, n), whether a node has news to send
    WORK    product, rest, fresh (K,)
    """
    K = nodes.shape[1]
    change = 0.0
    for place in range(begin, end, step):
        i = order[place]
        if awake[way, i] == 0:
            continue
        awake[way, i] = 0
        _weigh(nodes, rho, ptr, out, messages, i, product)
        for a in range(low[i], high[i]):
            h = out[a]
            largest = -np.inf
            for u in range(K):
                rest[u] = product[u] - messages[h ^ 1, u]
                largest = max(largest, rest[u])
                fresh[u] = 0.0
            for u in range(K):
                rest[u] = math.exp(rest[u] - largest)
            for u in range(K):
                for v in range(K):
                    fresh[v] += rest[u] * (tables[h >> 1, u, v] if h & 1 == 0 else tables[h >> 1, v, u])
            top = 0.0
            for v in range(K):
                top = max(top, fresh[v])
            own = 0.0
            for v in range(K):
                share = fresh[v] / top
                own = max(own, abs(share - math.exp(messages[h, v])))
                messages[h, v] = math.log(share)
            change = max(change, own)
            if own > quiet:
                _wake(awake, ends, h)
    return change


@kernel
def sweep_two(
    nodes, tables, rho, ends, ptr, out, order, low, high, begin, end, step, messages, awake, way, quiet
):  # fmt: skip
    """`sweep` for two labels, of which only the difference counts: two exponentials and a logarithm for a message."""
    change = 0.0
    for place in range(begin, end, step):
        i = order[place]
        if awake[way, i] == 0:
            continue
        awake[way, i] = 0
        ahead = nodes[i, 1] - nodes[i, 0]
        for a in range(ptr[i], ptr[i + 1]):
            h = out[a] ^ 1
            ahead += rho[h >> 1] * (messages[h, 1] - messages[h, 0])
        for a in range(low[i], high[i]):
            h = out[a]
            e, back = h >> 1, h ^ 1
            x = ahead - (messages[back, 1] - messages[back, 0])
            less = math.exp(-abs(x))
            r0, r1 = (less, 1.0) if x > 0.0 else (1.0, less)
            rise, fall = tables[e, 0, 1], tables[e, 1, 0]
            if h & 1:
                rise, fall = fall, rise
            m0, m1 = r0 * tables[e, 0, 0] + r1 * fall, r0 * rise + r1 * tables[e, 1, 1]
            old = messages[h, 1] - messages[h, 0]
            small = math.exp(-abs(old))
            if m0 >= m1:
                share = m1 / m0
                messages[h, 0] = 0.0
                messages[h, 1] = math.log(share)
                own = abs(share - small) if old <= 0.0 else 1.0 - min(share, small)
            else:
                share = m0 / m1
                messages[h, 0] = math.log(share)
                messages[h, 1] = 0.0
                own = abs(share - small) if old > 0.0 else 1.0 - min(share, small)
            change = max(change, own)
            if own > quiet:
                _wake(awake, ends, h)
    return change


@kernel
def edge_beliefs(tables, rho, ends, messages, node_probs, probs, begin, end):
    """probs_e(u, v) = b_i(u) b_j(v) tables(u, v) / exp(m_ji(u) + m_ij(v)) / Z_e of edges begin … end−1.

    Returns Σ_e ρ_e log Z_e; the largest scores of the edges come on top.

    IN tables (M, K, K), rho (M,), ends (M, 2), messages (2M, K), node_probs (n, K); OUT probs (M, K, K)
    """
    K = node_probs.shape[1]
    total = 0.0
    for e in range(begin, end):
        i, j = ends[e, 0], ends[e, 1]
        whole = 0.0
        for v in range(K):
            y = node_probs[j, v] * math.exp(-messages[2 * e, v])
            for u in range(K):
                probs[e, u, v] = tables[e, u, v] * y
        for u in range(K):
            x = node_probs[i, u] * math.exp(-messages[2 * e + 1, u])
            for v in range(K):
                probs[e, u, v] *= x
                whole += probs[e, u, v]
        for u in range(K):
            for v in range(K):
                probs[e, u, v] /= whole
        total += rho[e] * math.log(whole)
    return total
