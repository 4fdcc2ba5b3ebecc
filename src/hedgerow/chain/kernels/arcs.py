"""The kernels of `chain` and `covariance` over lists of arcs: the cost is the number of arcs, not K². See there.

The arcs are stored twice. Into label v lead the arcs into_ptr[v] … into_ptr[v+1]−1, from the labels into_from; out of
label u lead out_ptr[u] … out_ptr[u+1]−1, to the labels out_to. `*_exp` are their exponentials, in the same order, and
`*_moves` (A,) their e^{edge} C.
"""

from hedgerow.chain.kernels import chain, covariance
from hedgerow.jit import chain_kernel, chain_kernel_with, chain_part
from hedgerow.legend import FloatArray, IndexArray

# Where the arcs of each label begin (K+1,), the labels at their other ends (A,), their exponentials (A,)
Arcs = tuple[IndexArray, IndexArray, FloatArray]
ArcsAlong = tuple[IndexArray, IndexArray, FloatArray, FloatArray]  # and their moves (A,)


@chain_part
def _carry_arcs(arcs, t, vector, other, product):
    """product[v] = Σ_{arcs a of v} vector[other end] · exp[a]. vector (P,) IN, product (P,) OUT."""
    begins, ends, exps = arcs
    K = begins.shape[0] - 1
    for v in range(K):
        x = 0.0
        for a in range(begins[v], begins[v + 1]):
            x += vector[ends[a]] * exps[a]
        product[v] = x
    product[K:] = 0.0


@chain_part
def _carry_arcs_along(arcs, t, vector, other, product):
    """As `_carry_arcs`, plus Σ_{arcs a of v} other[other end] · moves[a]."""
    begins, ends, exps, moves = arcs
    K = begins.shape[0] - 1
    for v in range(K):
        x = 0.0
        for a in range(begins[v], begins[v + 1]):
            x += vector[ends[a]] * exps[a] + other[ends[a]] * moves[a]
        product[v] = x
    product[K:] = 0.0


# With the arcs into each label for those that go forward, out of each for those that go back
forward = chain_kernel_with(chain.forward, f"{__name__}.forward", carry=_carry_arcs)
backward = chain_kernel_with(chain.backward, f"{__name__}.backward", carry=_carry_arcs)
past = chain_kernel_with(covariance.past, f"{__name__}.past", carry=_carry_arcs)
past_along = chain_kernel_with(covariance.past, f"{__name__}.past_along", carry=_carry_arcs_along)
future = chain_kernel_with(covariance.future, f"{__name__}.future", carry=_carry_arcs)
future_along = chain_kernel_with(covariance.future, f"{__name__}.future_along", carry=_carry_arcs_along)


@chain_kernel
def sum_edges(alpha, beta_prime, out_ptr, out_to, sums, t0, t1):
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


@chain_kernel
def sum_moments(alpha, beta_prime, past, future, out_ptr, out_to, sums, t0, t1):
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
