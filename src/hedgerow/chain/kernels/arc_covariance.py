"""The kernels of `covariance` over lists of arcs. See there for the recursions and `arcs` for the lists.

`*_moves` (A,) are e^{edge} C of the arcs, in both orders.
"""

from __future__ import annotations

from hedgerow.jit import chain_kernel
from hedgerow.legend import AnyArray, FloatArray, IndexArray


@chain_kernel
def _settle(
    terms: FloatArray,
    beta_prime: FloatArray,
    alpha: FloatArray,
    node_probs: FloatArray,
    past: FloatArray,
    future: FloatArray,
    node: FloatArray,
) -> None:
    """As `covariance._settle`; what is carried into the labels comes in `past`."""
    K = node_probs.shape[0]
    total = whole = 0.0
    for v in range(K):
        x = terms[v] + beta_prime[v] * past[v]
        node[v] = x
        total += x
        whole += node_probs[v]
    mean = total / whole
    for v in range(K):
        p = node_probs[v]
        x = node[v] - p * mean
        node[v] = x
        future[v] = terms[v] - p * mean
        ratio = alpha[v] / (p if p != 0.0 else 1.0)
        past[v] = ratio * x if p != 0.0 else 0.0


@chain_kernel
def forward(
    terms: FloatArray,
    beta_prime: FloatArray,
    into_ptr: IndexArray,
    into_from: IndexArray,
    into_exp: FloatArray,
    first: AnyArray,
    alpha: FloatArray,
    node_probs: FloatArray,
    past: FloatArray,
    future: FloatArray,
    node: FloatArray,
    t0: int,
    t1: int,
) -> None:
    """As `covariance.forward`, with the arcs into each label IN."""
    K = node_probs.shape[1]
    for t in range(t0, t1):
        for v in range(K):
            x = 0.0
            if not first[t]:
                for a in range(into_ptr[v], into_ptr[v + 1]):
                    x += past[t - 1, into_from[a]] * into_exp[a]
            past[t, v] = x
        _settle(terms[t], beta_prime[t], alpha[t], node_probs[t], past[t], future[t], node[t])


@chain_kernel
def forward_along(
    terms: FloatArray,
    beta_prime: FloatArray,
    into_ptr: IndexArray,
    into_from: IndexArray,
    into_exp: FloatArray,
    into_moves: FloatArray,
    first: AnyArray,
    alpha: FloatArray,
    node_probs: FloatArray,
    past: FloatArray,
    future: FloatArray,
    node: FloatArray,
    t0: int,
    t1: int,
) -> None:
    """As `covariance.forward_along`, with the arcs into each label IN."""
    K = node_probs.shape[1]
    for t in range(t0, t1):
        for v in range(K):
            x = 0.0
            if not first[t]:
                for a in range(into_ptr[v], into_ptr[v + 1]):
                    u = into_from[a]
                    x += past[t - 1, u] * into_exp[a] + alpha[t - 1, u] * into_moves[a]
            past[t, v] = x
        _settle(terms[t], beta_prime[t], alpha[t], node_probs[t], past[t], future[t], node[t])


@chain_kernel
def _turn(beta_prime: float, alpha: float, p: float, carried: float, future: float) -> tuple[float, float]:
    """P_t(u) b_t(u) and the future of one label, from what is carried back into it."""
    x = alpha * carried
    ratio = beta_prime / (p if p != 0.0 else 1.0)
    return x, (ratio * (future + x) if p != 0.0 else 0.0)


@chain_kernel
def backward(
    beta_prime: FloatArray,
    out_ptr: IndexArray,
    out_to: IndexArray,
    out_exp: FloatArray,
    first: AnyArray,
    alpha: FloatArray,
    node_probs: FloatArray,
    future: FloatArray,
    node: FloatArray,
    t0: int,
    t1: int,
) -> None:
    """As `covariance.backward`, with the arcs out of each label IN; row t1 of future is read, where there is one."""
    K = node_probs.shape[1]
    for t in range(t1 - 1, t0 - 1, -1):
        for u in range(K):
            x = 0.0
            if not first[t + 1]:
                for a in range(out_ptr[u], out_ptr[u + 1]):
                    x += out_exp[a] * future[t + 1, out_to[a]]
            x, future[t, u] = _turn(beta_prime[t, u], alpha[t, u], node_probs[t, u], x, future[t, u])
            node[t, u] += x


@chain_kernel
def backward_along(
    beta_prime: FloatArray,
    out_ptr: IndexArray,
    out_to: IndexArray,
    out_exp: FloatArray,
    out_moves: FloatArray,
    first: AnyArray,
    alpha: FloatArray,
    node_probs: FloatArray,
    future: FloatArray,
    node: FloatArray,
    t0: int,
    t1: int,
) -> None:
    """As `covariance.backward_along`, with the arcs out of each label IN; row t1 of future is read."""
    K = node_probs.shape[1]
    for t in range(t1 - 1, t0 - 1, -1):
        for u in range(K):
            x = 0.0
            if not first[t + 1]:
                for a in range(out_ptr[u], out_ptr[u + 1]):
                    v = out_to[a]
                    x += out_exp[a] * future[t + 1, v] + out_moves[a] * beta_prime[t + 1, v]
            x, future[t, u] = _turn(beta_prime[t, u], alpha[t, u], node_probs[t, u], x, future[t, u])
            node[t, u] += x


@chain_kernel
def sum_edges(
    alpha: FloatArray,
    beta_prime: FloatArray,
    past: FloatArray,
    future: FloatArray,
    out_ptr: IndexArray,
    out_to: IndexArray,
    sums: FloatArray,
    t0: int,
    t1: int,
) -> None:
    """sums[a] += Σ_t past_{t−1}(u) β'_t(v) + α_{t−1}(u) future_t(v) over t0 ≤ t < t1, t0 ≥ 1, for every arc a = u→v.

    Four positions at a time. alpha, beta_prime, past, future (n, P) IN, out_ptr (K+1,), out_to (A,) IN, sums (A,)
    IN/OUT.
    """
    K = out_ptr.shape[0] - 1
    whole = t0 + max(0, t1 - t0) // 4 * 4
    for t in range(t0, whole, 4):
        for u in range(K):
            a0, a1, a2, a3 = alpha[t - 1, u], alpha[t, u], alpha[t + 1, u], alpha[t + 2, u]
            b0, b1, b2, b3 = past[t - 1, u], past[t, u], past[t + 1, u], past[t + 2, u]
            for a in range(out_ptr[u], out_ptr[u + 1]):
                v = out_to[a]
                x = a0 * future[t, v] + a1 * future[t + 1, v]
                x += a2 * future[t + 2, v] + a3 * future[t + 3, v]
                y = b0 * beta_prime[t, v] + b1 * beta_prime[t + 1, v]
                y += b2 * beta_prime[t + 2, v] + b3 * beta_prime[t + 3, v]
                sums[a] += x + y
    for t in range(whole, t1):
        for u in range(K):
            a0, b0 = alpha[t - 1, u], past[t - 1, u]
            for a in range(out_ptr[u], out_ptr[u + 1]):
                sums[a] += a0 * future[t, out_to[a]] + b0 * beta_prime[t, out_to[a]]


@chain_kernel
def sum_edges_along(
    alpha: FloatArray,
    beta_prime: FloatArray,
    past: FloatArray,
    future: FloatArray,
    out_ptr: IndexArray,
    out_to: IndexArray,
    sums: FloatArray,
    prob_sums: FloatArray,
    t0: int,
    t1: int,
) -> None:
    """As `sum_edges`, with prob_sums[a] += Σ_t α_{t−1}(u) β'_t(v), (A,) IN/OUT, as `arcs.sum_edges` has them."""
    K = out_ptr.shape[0] - 1
    whole = t0 + max(0, t1 - t0) // 4 * 4
    for t in range(t0, whole, 4):
        for u in range(K):
            a0, a1, a2, a3 = alpha[t - 1, u], alpha[t, u], alpha[t + 1, u], alpha[t + 2, u]
            b0, b1, b2, b3 = past[t - 1, u], past[t, u], past[t + 1, u], past[t + 2, u]
            for a in range(out_ptr[u], out_ptr[u + 1]):
                v = out_to[a]
                c0, c1, c2, c3 = beta_prime[t, v], beta_prime[t + 1, v], beta_prime[t + 2, v], beta_prime[t + 3, v]
                x = a0 * future[t, v] + a1 * future[t + 1, v]
                x += a2 * future[t + 2, v] + a3 * future[t + 3, v]
                sums[a] += x + (b0 * c0 + b1 * c1) + (b2 * c2 + b3 * c3)
                prob_sums[a] += (a0 * c0 + a1 * c1) + (a2 * c2 + a3 * c3)
    for t in range(whole, t1):
        for u in range(K):
            a0, b0 = alpha[t - 1, u], past[t - 1, u]
            for a in range(out_ptr[u], out_ptr[u + 1]):
                v = out_to[a]
                sums[a] += a0 * future[t, v] + b0 * beta_prime[t, v]
                prob_sums[a] += a0 * beta_prime[t, v]
