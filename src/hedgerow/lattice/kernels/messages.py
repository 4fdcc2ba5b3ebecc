"""Belief propagation on a pairwise graph, on exponentials of the scores: fast, for scores of ordinary size.

Edge e joins tail and head, `ends[e]`. Its messages are two rows: 2e goes from tail to head, 2e+1 from head to tail, so
that h ^ 1 is the way back of h. `out[ptr[i]:ptr[i+1]]` are the half-edges that leave node i. Every message has the
largest entry 1, and no entry is 0: the ratio of two entries is bounded by the scores of the edge alone. The caller sees
to it that these bounds, added up at a node, stay within the range of a double; so a product can be divided again.

`rho` (M,), or (1,) where all are alike, are the appearance probabilities of the edges: 1 is plain belief propagation,
and less is tree-reweighted. Messages into a node count by their power of rho; tables are exp(ψ/ρ). Where all are alike
one power of a product is all that it takes: on a grid of four neighbours rho is 1/2, and the power a root.

Letters: n nodes, M edges, K labels, h half-edges, u the label of a sender and v of a receiver. Edge tables are
[tail, head]; a table for all edges has M = 1.
"""

import math

import numpy as np

from hedgerow.jit import chain_kernel, chain_part, kernel, part

ZERO, ONE = np.uint64(0), np.uint64(1)  # an index without a sign is not asked whether it counts from the end


@chain_part
def _collect(node_exp, rho, ptr, out, messages, i, product):
    """product(u) = φ_i(u) · Π_k m_ki(u)^ρ_ki over all neighbours k."""
    alike = rho.shape[0] == 1
    plain = alike and rho[0] == 1.0
    for u in range(product.shape[0]):
        product[u] = node_exp[i, u] if plain else 1.0
    for a in range(ptr[i], ptr[i + ONE]):
        h = np.uint64(out[np.uint64(a)]) ^ ONE
        for u in range(product.shape[0]):
            product[u] *= messages[h, u] if alike else messages[h, u] ** rho[h >> ONE]
    if not plain:
        for u in range(product.shape[0]):
            if alike:
                product[u] = math.sqrt(product[u]) if rho[0] == 0.5 else product[u] ** rho[0]
            product[u] *= node_exp[i, u]


@chain_part
def _compose(product, messages, back, edge_exp, e, outward, maximise, fresh):
    """fresh(v) = Σ_u ψ_e(u, v) · product(u) / messages[back, u], or the maximum over u; its largest entry.

    outward: whether the sender is the tail of the edge, so that the table is [u, v].
    """
    K = product.shape[0]
    for v in range(K):
        fresh[v] = 0.0
    for u in range(K):
        rest = product[u] / messages[back, u]
        for v in range(K):
            x = rest * (edge_exp[e, u, v] if outward else edge_exp[e, v, u])
            fresh[v] = max(fresh[v], x) if maximise else fresh[v] + x
    largest = 0.0
    for v in range(K):
        largest = max(largest, fresh[v])
    return largest


@part
def take_turn(awake, way, i):
    """Whether node i sends this way. It does where it has news, which then is news no longer, or where all nodes do."""
    if awake.shape[1] == 0:
        return True
    if awake[way, i] == 0:
        return False
    awake[way, i] = 0
    return True


@part
def tell(awake, ends, h, way, i, damping):
    """Half-edge h of node i brings news: the node that it arrives at may send both ways. So may node i itself, this
    way, where damping holds part of its message back."""
    if awake.shape[1] == 0:
        return
    half = np.uint64(h)
    j = ends[half >> ONE, ONE - (half & ONE)]
    awake[0, j] = 1
    awake[1, j] = 1
    if damping > 0.0:
        awake[way, i] = 1


@chain_kernel
def propagate(
    node_exp, edge_exp, rho, ends, ptr, out, order, low, high, begin, end, step, old, new, awake, way, quiet, damping,
    maximise, product, fresh,
):  # fmt: skip
    """Send messages from the nodes order[begin], order[begin + step] … before order[end]; the largest change of one.

        m_ij(v) = Σ_u ψ_ij(u, v) φ_i(u) Π_k m_ki(u)^ρ_ki / m_ji(u),  largest entry 1;  or the maximum over u.

    With new = old each message counts at once (a sweep); with two arrays all messages are made from old ones.

    IN      node_exp (n, K), edge_exp (M or 1, K, K), rho, ends (M, 2), ptr (n+1,), out (2M,), order (n,); low, high
            (n,): node i sends along out[low[i]:high[i]]; old (2M, K); way, 0 or 1, the row of `awake`; quiet, a change
            that is no news; damping, the share of the old message; maximise
    IN/OUT  awake (2, n), whether a node has news to send this way; (2, 0) where all send
    OUT     new (2M, K)
    WORK    product, fresh (K,)
    """
    K = product.shape[0]
    change = 0.0
    shared = edge_exp.shape[0] == 1
    for place in range(begin, end, step):
        i = np.uint64(order[np.uint64(place)])
        if not take_turn(awake, way, i):
            continue
        _collect(node_exp, rho, ptr, out, old, i, product)
        for a in range(low[i], high[i]):
            h = np.uint64(out[np.uint64(a)])
            e = ZERO if shared else h >> ONE
            scale = 1.0 / _compose(product, old, h ^ ONE, edge_exp, e, h & ONE == ZERO, maximise, fresh)
            if damping > 0.0:
                largest = 0.0
                for v in range(K):
                    fresh[v] = (1.0 - damping) * fresh[v] * scale + damping * old[h, v]
                    largest = max(largest, fresh[v])
                scale = 1.0 / largest
            moved = 0.0
            for v in range(K):
                x = fresh[v] * scale
                moved = max(moved, abs(x - old[h, v]))
                new[h, v] = x
            change = max(change, moved)
            if moved > quiet:
                tell(awake, ends, h, way, i, damping)
    return change


@chain_kernel
def propagate_two(
    node_exp, edge_exp, rho, ends, ptr, out, order, low, high, begin, end, step, old, new, awake, way, quiet, damping,
    maximise,
):  # fmt: skip
    """`propagate` for two labels, in scalars: most images have no more, and this is five times as fast.

    The quotients product / message are multiplied by both entries of the message: only their ratio counts.
    """
    change = 0.0
    shared, alike = edge_exp.shape[0] == 1, rho.shape[0] == 1
    plain = alike and rho[0] == 1.0
    for place in range(begin, end, step):
        i = np.uint64(order[np.uint64(place)])
        if not take_turn(awake, way, i):
            continue
        p0, p1 = (node_exp[i, 0], node_exp[i, 1]) if plain else (1.0, 1.0)
        for a in range(ptr[i], ptr[i + ONE]):
            h = np.uint64(out[np.uint64(a)]) ^ ONE
            p0 *= old[h, 0] if alike else old[h, 0] ** rho[h >> ONE]
            p1 *= old[h, 1] if alike else old[h, 1] ** rho[h >> ONE]
        if not plain:
            if alike and rho[0] == 0.5:  # √p0 / √p1 takes one root
                p0, p1 = math.sqrt(p0 * p1), p1
            elif alike:
                p0, p1 = p0 ** rho[0], p1 ** rho[0]
            p0, p1 = node_exp[i, 0] * p0, node_exp[i, 1] * p1
        for a in range(low[i], high[i]):
            h = np.uint64(out[np.uint64(a)])
            e = ZERO if shared else h >> ONE
            r0, r1 = p0 * old[h ^ ONE, 1], p1 * old[h ^ ONE, 0]
            rise, fall = edge_exp[e, 0, 1], edge_exp[e, 1, 0]
            if h & ONE:
                rise, fall = fall, rise
            if maximise:
                m0, m1 = max(r0 * edge_exp[e, 0, 0], r1 * fall), max(r0 * rise, r1 * edge_exp[e, 1, 1])
            else:
                m0, m1 = r0 * edge_exp[e, 0, 0] + r1 * fall, r0 * rise + r1 * edge_exp[e, 1, 1]
            scale = 1.0 / max(m0, m1)
            m0, m1 = m0 * scale, m1 * scale
            o0, o1 = old[h, 0], old[h, 1]
            if damping > 0.0:
                m0, m1 = (1.0 - damping) * m0 + damping * o0, (1.0 - damping) * m1 + damping * o1
                scale = 1.0 / max(m0, m1)
                m0, m1 = m0 * scale, m1 * scale
            moved = max(abs(m0 - o0), abs(m1 - o1))
            change = max(change, moved)
            new[h, 0] = m0
            new[h, 1] = m1
            if moved > quiet:
                tell(awake, ends, h, way, i, damping)
    return change


@kernel
def node_beliefs(node_exp, rho, ptr, out, messages, probs, product, begin, end):
    """probs_i(u) = φ_i(u) Π_k m_ki(u)^ρ_ki / Z_i of nodes begin … end−1; returns Σ_i log Z_i.

    IN node_exp (n, K), rho, ptr (n+1,), out (2M,), messages (2M, K); OUT probs (n, K); WORK product (K,)
    """
    total = 0.0
    for place in range(begin, end):
        i = np.uint64(place)
        _collect(node_exp, rho, ptr, out, messages, i, product)
        whole = 0.0
        for u in range(product.shape[0]):
            whole += product[u]
        for u in range(product.shape[0]):
            probs[i, u] = product[u] / whole
        total += math.log(whole)
    return total


@kernel
def edge_beliefs(edge_exp, rho, ends, messages, node_probs, probs, begin, end):
    """probs_e(u, v) = b_i(u)/m_ji(u) · ψ(u, v) · b_j(v)/m_ij(v) / Z_e of edges begin … end−1; returns Σ_e ρ_e log Z_e.

    With Σ_i log Z_i of `node_beliefs` that is the (tree-reweighted) Bethe approximation of log Z, whose derivatives by
    the messages are 0 where these no longer change.

    IN edge_exp (M or 1, K, K), rho, ends (M, 2), messages (2M, K), node_probs (n, K); OUT probs (M, K, K)
    """
    K = node_probs.shape[1]
    shared = edge_exp.shape[0] == 1
    total = 0.0
    for e in range(begin, end):
        i, j = ends[e, 0], ends[e, 1]
        table = edge_exp[0 if shared else e]
        whole = 0.0
        for u in range(K):
            x = node_probs[i, u] / messages[2 * e + 1, u]
            for v in range(K):
                y = x * table[u, v] * (node_probs[j, v] / messages[2 * e, v])
                probs[e, u, v] = y
                whole += y
        for u in range(K):
            for v in range(K):
                probs[e, u, v] /= whole
        total += rho[0 if rho.shape[0] == 1 else e] * math.log(whole)
    return total


@kernel
def steepness(edge_scores, ptr, out, least):
    """The largest sum, at any node, of the bounds on the logarithms of its messages.

    The bound of an edge is the largest difference of two of its scores with one label fixed, towards either end: what
    it can add to a log-ratio. IN edge_scores (M or 1, K, K), ptr (n+1,), out (2M,); WORK least (M or 1,)
    """
    K = edge_scores.shape[1]
    for e in range(edge_scores.shape[0]):
        least[e] = 0.0
        for u in range(K):
            low, high, left, right = np.inf, -np.inf, np.inf, -np.inf
            for v in range(K):
                low, high = min(low, edge_scores[e, u, v]), max(high, edge_scores[e, u, v])
                left, right = min(left, edge_scores[e, v, u]), max(right, edge_scores[e, v, u])
            least[e] = max(least[e], high - low, right - left)
    largest = 0.0
    for i in range(ptr.shape[0] - 1):
        total = 0.0
        for a in range(ptr[i], ptr[i + 1]):
            total += least[0 if edge_scores.shape[0] == 1 else out[a] >> 1]
        largest = max(largest, total)
    return largest
