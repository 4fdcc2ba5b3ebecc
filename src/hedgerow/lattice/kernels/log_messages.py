"""Belief propagation on a pairwise graph in the log domain: slow, right at any scale, and tree-reweighted.

Graphs and half-edges are as in `messages`. Messages are logarithms with the largest entry 0. `rho` (M,) are the
appearance probabilities of the edges; all 1 is plain belief propagation. With B_i(u) = φ_i(u) + Σ_k ρ_ki m_ki(u):

    m_ij(v) = log Σ_u exp(ψ_ij(u, v)/ρ_ij + B_i(u) − m_ji(u)),  or the maximum over u.
"""

import math

import numpy as np

from hedgerow.jit import kernel, part
from hedgerow.lattice.kernels.messages import take_turn, tell


@part
def _collect(nodes, rho, ptr, out, messages, i, product):
    """product(u) = B_i(u)."""
    for u in range(product.shape[0]):
        product[u] = nodes[i, u]
    for a in range(ptr[i], ptr[i + 1]):
        h = out[a] ^ 1
        for u in range(product.shape[0]):
            product[u] += rho[h >> 1] * messages[h, u]


@part
def _compose(product, back, table, rho, outward, maximise, fresh):
    """fresh(v) = log Σ_u exp(ψ(u, v)/ρ + product(u) − back(u)), or the maximum; largest entry 0."""
    K = product.shape[0]
    top = -np.inf
    for v in range(K):
        largest = -np.inf
        for u in range(K):
            x = product[u] - back[u] + (table[u, v] if outward else table[v, u]) / rho
            largest = max(largest, x)
        fresh[v] = largest
        if not maximise:
            total = 0.0
            for u in range(K):
                x = product[u] - back[u] + (table[u, v] if outward else table[v, u]) / rho
                total += math.exp(x - largest)
            fresh[v] += math.log(total)
        top = max(top, fresh[v])
    for v in range(K):
        fresh[v] -= top


@part
def _mix(fresh, old, damping):
    """fresh = log((1 − damping)·exp(fresh) + damping·exp(old)), largest entry 0."""
    top = -np.inf
    for v in range(fresh.shape[0]):
        largest = max(fresh[v], old[v])
        share = (1.0 - damping) * math.exp(fresh[v] - largest) + damping * math.exp(old[v] - largest)
        fresh[v] = largest + math.log(share)
        top = max(top, fresh[v])
    for v in range(fresh.shape[0]):
        fresh[v] -= top


@part
def _distance(one, other):
    """The largest difference of two messages, as probabilities relative to the largest."""
    largest = 0.0
    for v in range(one.shape[0]):
        largest = max(largest, abs(math.exp(one[v]) - math.exp(other[v])))
    return largest


@kernel
def propagate(
    nodes, edges, rho, ends, ptr, out, order, low, high, begin, end, step, old, new, awake, way, quiet, damping,
    maximise, product, fresh,
):  # fmt: skip
    """Send messages from the nodes order[begin], order[begin + step] … before order[end]; the largest change of one.

    IN      nodes (n, K) and edges (M or 1, K, K) scores, rho (M,), ends, ptr, out, order; low, high (n,): node i sends
            along out[low[i]:high[i]]; old (2M, K); way, 0 or 1, the row of `awake`; quiet, a change that is no news;
            damping, the share of the old message; maximise
    IN/OUT  awake (2, n), whether a node has news to send this way; (2, 0) where all send
    OUT     new (2M, K), may be old
    WORK    product, fresh (K,)
    """
    change = 0.0
    shared = edges.shape[0] == 1
    for place in range(begin, end, step):
        i = order[place]
        if not take_turn(awake, way, i):
            continue
        _collect(nodes, rho, ptr, out, old, i, product)
        for a in range(low[i], high[i]):
            h = out[a]
            e = h >> 1
            _compose(product, old[h ^ 1], edges[0 if shared else e], rho[e], h & 1 == 0, maximise, fresh)
            if damping > 0.0:
                _mix(fresh, old[h], damping)
            moved = _distance(fresh, old[h])
            change = max(change, moved)
            for v in range(fresh.shape[0]):
                new[h, v] = fresh[v]
            if moved > quiet:
                tell(awake, ends, h, way, i, damping)
    return change


@part
def _sift(heap, place, urgency, a):
    """Put the half-edge at place a of the heap where its urgency belongs; the most urgent is at place 0."""
    h = heap[a]
    while a > 0 and urgency[heap[(a - 1) // 2]] < urgency[h]:
        heap[a] = heap[(a - 1) // 2]
        place[heap[a]] = a
        a = (a - 1) // 2
    while True:
        child = 2 * a + 1
        if child >= heap.shape[0]:
            break
        if child + 1 < heap.shape[0] and urgency[heap[child + 1]] > urgency[heap[child]]:
            child += 1
        if urgency[heap[child]] <= urgency[h]:
            break
        heap[a] = heap[child]
        place[heap[a]] = a
        a = child
    heap[a] = h
    place[h] = a


@kernel
def relax(
    nodes, edges, rho, ends, ptr, out, messages, pending, urgency, heap, place, product, damping, maximise, n_updates,
    tol,
):  # fmt: skip
    """The residual schedule: n_updates times, put the pending message in place that differs most from the present one,
    and make the messages that depend on it anew. Returns the largest difference that is left.

    IN      nodes, edges, rho, ends, ptr, out as in `propagate`
    IN/OUT  messages, pending (2M, K); urgency (2M,), the distance of the two; heap (2M,), half-edges with the most
            urgent first; place (2M,), where each stands in it
    WORK    product (K,)
    """
    shared = edges.shape[0] == 1
    for _ in range(n_updates):
        h = heap[0]
        if urgency[h] <= tol:
            break
        for v in range(product.shape[0]):
            messages[h, v] = pending[h, v]
        urgency[h] = 0.0
        _sift(heap, place, urgency, 0)
        j = ends[h >> 1, 1 - (h & 1)]
        _collect(nodes, rho, ptr, out, messages, j, product)
        for a in range(ptr[j], ptr[j + 1]):
            g = out[a]
            e = g >> 1
            if g == h ^ 1 and rho[e] == 1.0:  # it does not depend on h
                continue
            _compose(product, messages[g ^ 1], edges[0 if shared else e], rho[e], g & 1 == 0, maximise, pending[g])
            if damping > 0.0:
                _mix(pending[g], messages[g], damping)
            urgency[g] = _distance(pending[g], messages[g])
            _sift(heap, place, urgency, place[g])
    return urgency[heap[0]] if heap.shape[0] else 0.0


@kernel
def node_beliefs(nodes, rho, ptr, out, messages, probs, product, begin, end):
    """probs_i(u) = exp(B_i(u)) / Z_i of nodes begin … end−1; returns Σ_i log Z_i.

    OUT probs (n, K); WORK product (K,)
    """
    total = 0.0
    for i in range(begin, end):
        _collect(nodes, rho, ptr, out, messages, i, product)
        largest = -np.inf
        for u in range(product.shape[0]):
            largest = max(largest, product[u])
        whole = 0.0
        for u in range(product.shape[0]):
            probs[i, u] = math.exp(product[u] - largest)
            whole += probs[i, u]
        for u in range(product.shape[0]):
            probs[i, u] /= whole
        total += largest + math.log(whole)
    return total


@kernel
def edge_beliefs(edges, rho, ends, messages, node_probs, probs, begin, end):
    """probs_e(u, v) = b_i(u) b_j(v) exp(ψ(u, v)/ρ − m_ji(u) − m_ij(v)) / Z_e; returns Σ_e ρ_e log Z_e.

    With Σ_i log Z_i of `node_beliefs` that is the (tree-reweighted) Bethe approximation of log Z.

    IN edges (M or 1, K, K), ends (M, 2), messages (2M, K), node_probs (n, K); OUT probs (M, K, K)
    """
    K = node_probs.shape[1]
    shared = edges.shape[0] == 1
    total = 0.0
    for e in range(begin, end):
        i, j = ends[e, 0], ends[e, 1]
        table = edges[0 if shared else e]
        largest = -np.inf
        for u in range(K):
            for v in range(K):
                b = node_probs[i, u] * node_probs[j, v]
                x = table[u, v] / rho[e] - messages[2 * e + 1, u] - messages[2 * e, v]
                probs[e, u, v] = x + math.log(b) if b > 0.0 else -np.inf
                largest = max(largest, probs[e, u, v])
        whole = 0.0
        for u in range(K):
            for v in range(K):
                probs[e, u, v] = math.exp(probs[e, u, v] - largest)
                whole += probs[e, u, v]
        for u in range(K):
            for v in range(K):
                probs[e, u, v] /= whole
        total += rho[e] * (largest + math.log(whole))
    return total
