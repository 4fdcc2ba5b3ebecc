"""Chain kernels over lists of arcs: the cost is the number of arcs, not K². See `chain` for the conventions.

The arcs are stored twice. Into label v lead the arcs into_ptr[v] … into_ptr[v+1]−1, from the labels into_from; out of
label u lead out_ptr[u] … out_ptr[u+1]−1, to the labels out_to. `*_exp` are their exponentials, in the same order.
"""

from __future__ import annotations

from hedgerow.jit import chain_kernel
from hedgerow.legend import AnyArray, FloatArray, IndexArray

FAINT = 1e-280  # as in `chain`; a kernel file stands alone, because the cache of one does not see edits in another


@chain_kernel
def forward(
    node_exp: FloatArray,
    into_ptr: IndexArray,
    into_from: IndexArray,
    into_exp: FloatArray,
    first: AnyArray,
    alpha: FloatArray,
    scale: FloatArray,
    faint: AnyArray,
    t0: int,
    t1: int,
) -> None:
    """x_t(v) = e^{node_t(v)} · Σ_{arcs u→v} α_{t−1}(u) e^{edge(u,v)}, c_t = Σ_v x_t(v), α_t(v) = x_t(v) / c_t.

    As `chain.forward`, with the arcs into each label IN.
    """
    K = into_ptr.shape[0] - 1
    P = alpha.shape[1]
    for t in range(t0, t1):
        for v in range(P):
            alpha[t, v] = node_exp[t, v]
        if not first[t]:
            for v in range(K):
                total = 0.0
                for a in range(into_ptr[v], into_ptr[v + 1]):
                    total += alpha[t - 1, into_from[a]] * into_exp[a]
                alpha[t, v] *= total
        total = 0.0
        small = 0
        for v in range(P):
            total += alpha[t, v]
            small += alpha[t, v] < FAINT
        faint[t] = small
        scale[t] = 1.0 if total < FAINT else total
        inverse = 1.0 / scale[t]
        for v in range(P):
            alpha[t, v] *= inverse


@chain_kernel
def backward(
    node_exp: FloatArray,
    out_ptr: IndexArray,
    out_to: IndexArray,
    out_exp: FloatArray,
    first: AnyArray,
    alpha: FloatArray,
    scale: FloatArray,
    beta: FloatArray,
    node_probs: FloatArray,
    faint: AnyArray,
    t0: int,
    t1: int,
) -> None:
    """β'_t(v) = e^{node_t(v)} β_t(v) / c_t, β_{t−1}(u) = Σ_{arcs u→v} e^{edge(u,v)} β'_t(v), P_t(v) = α_t(v) β_t(v).

    As `chain.backward`, with the arcs out of each label IN.
    """
    K = node_probs.shape[1]
    for t in range(t1 - 1, t0 - 1, -1):
        if first[t + 1]:
            for v in range(K):
                beta[v] = 1.0
        small = 0
        for v in range(K):
            small += beta[v] < FAINT
            node_probs[t, v] = alpha[t, v] * beta[v] if alpha[t, v] != 0.0 else 0.0
        faint[t] += small
        if first[t]:
            for v in range(K):
                node_exp[t, v] = 0.0
        else:
            inverse = 1.0 / scale[t]
            for v in range(K):
                x = node_exp[t, v] * beta[v] * inverse
                node_exp[t, v] = x if alpha[t, v] != 0.0 else 0.0
            for u in range(K):
                total = 0.0
                for a in range(out_ptr[u], out_ptr[u + 1]):
                    total += out_exp[a] * node_exp[t, out_to[a]]
                beta[u] = total


@chain_kernel
def sum_edges(
    alpha: FloatArray,
    beta_prime: FloatArray,
    out_ptr: IndexArray,
    out_to: IndexArray,
    sums: FloatArray,
    t0: int,
    t1: int,
) -> None:
    """sums[a] += Σ_t α_{t−1}(u) β'_t(v) over t0 ≤ t < t1, t0 ≥ 1, for every arc a = u→v. Four positions at a time.

    alpha, beta_prime (n, P) IN (β' is 0 at first positions), out_ptr (K+1,), out_to (A,) IN, sums (A,) IN/OUT.
    """
    K = out_ptr.shape[0] - 1
    whole = t0 + max(0, t1 - t0) // 4 * 4
    for t in range(t0, whole, 4):
        for u in range(K):
            a0, a1, a2, a3 = alpha[t - 1, u], alpha[t, u], alpha[t + 1, u], alpha[t + 2, u]
            for a in range(out_ptr[u], out_ptr[u + 1]):
                v = out_to[a]
                x = a0 * beta_prime[t, v] + a1 * beta_prime[t + 1, v]
                y = a2 * beta_prime[t + 2, v] + a3 * beta_prime[t + 3, v]
                sums[a] += x + y
    for t in range(whole, t1):
        for u in range(K):
            for a in range(out_ptr[u], out_ptr[u + 1]):
                sums[a] += alpha[t - 1, u] * beta_prime[t, out_to[a]]
