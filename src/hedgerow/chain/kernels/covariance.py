"""How all marginals of a chain move when the scores move along a direction: shared edges. See `chain` for conventions.

For a function Σ_t Σ_v c_t(v) P_t(v) + Σ_t Σ_uv C(u,v) P_t(u,v) the derivative with respect to a score is the covariance
of that score's indicator with the sum of c and C along the labeling. With c̃_t(v) = c_t(v) − E[c_t] − E[C_t],

    a_t(v) = c̃_t(v) + Σ_u P(u at t−1 | v at t) [a_{t−1}(u) + C(u,v)],
    b_t(u) = Σ_v P(v at t+1 | u at t) [C(u,v) + c̃_{t+1}(v) + b_{t+1}(v)],   b_T = 0,
    node_t(v): P_t(v) [a_t(v) + b_t(v)],   edge_t(u,v): P_t(u,v) [a_{t−1}(u) + C(u,v) + c̃_t(v) + b_t(v)].

The kernels carry a and b times probabilities, which stay finite where a label is all but impossible and c is large:

    terms       P_t(v) c_t(v)
    past        α_t(v) a_t(v)                 P_t(v) a_t(v) = P_t(v) c̃_t(v) + β'_t(v) Σ_u past_{t−1}(u) e^{edge(u,v)}
    future      β'_t(v) [c̃_t(v) + b_t(v)]     P_t(u) b_t(u) = α_t(u) Σ_v e^{edge(u,v)} future_{t+1}(v)

without C, and with α, β' and P as `chain.forward` and `chain.backward` leave them. Both are 0 where P_t(v) is 0. What
is to be taken out of c_t is what makes Σ_v P_t(v) a_t(v) = 0: so nothing adds up along a sequence that should be 0.
The order of calls: `forward` or `forward_along`, `backward` or `backward_along`, then `sum_edges`.
"""

from __future__ import annotations

from hedgerow.jit import chain_kernel
from hedgerow.legend import AnyArray, FloatArray


@chain_kernel
def _multiply(matrix: FloatArray, vector: FloatArray, product: FloatArray) -> None:
    """product = matrix · vector, four rows at a time. matrix (P, P) IN, vector (P,) IN, product (P,) OUT."""
    P = matrix.shape[0]
    for i in range(0, P, 4):
        s0 = s1 = s2 = s3 = 0.0
        for j in range(P):
            x = vector[j]
            s0 += matrix[i, j] * x
            s1 += matrix[i + 1, j] * x
            s2 += matrix[i + 2, j] * x
            s3 += matrix[i + 3, j] * x
        product[i] = s0
        product[i + 1] = s1
        product[i + 2] = s2
        product[i + 3] = s3


@chain_kernel
def _multiply_both(
    matrix: FloatArray, vector: FloatArray, other: FloatArray, other_vector: FloatArray, product: FloatArray
) -> None:
    """product = matrix · vector + other · other_vector, as `_multiply`."""
    P = matrix.shape[0]
    for i in range(0, P, 4):
        s0 = s1 = s2 = s3 = 0.0
        for j in range(P):
            x, y = vector[j], other_vector[j]
            s0 += matrix[i, j] * x + other[i, j] * y
            s1 += matrix[i + 1, j] * x + other[i + 1, j] * y
            s2 += matrix[i + 2, j] * x + other[i + 2, j] * y
            s3 += matrix[i + 3, j] * x + other[i + 3, j] * y
        product[i] = s0
        product[i + 1] = s1
        product[i + 2] = s2
        product[i + 3] = s3


@chain_kernel
def _settle(
    terms: FloatArray,
    beta_prime: FloatArray,
    alpha: FloatArray,
    node_probs: FloatArray,
    carried: FloatArray,
    past: FloatArray,
    future: FloatArray,
    node: FloatArray,
) -> None:
    """One position of `forward`, from what is carried into its labels; every argument is its row."""
    K = node_probs.shape[0]
    total = whole = 0.0
    for v in range(K):
        x = terms[v] + beta_prime[v] * carried[v]
        node[v] = x
        total += x
        whole += node_probs[v]
    mean = total / (whole if whole != 0.0 else 1.0)
    for v in range(K):
        p = node_probs[v]
        x = node[v] - p * mean
        node[v] = x
        future[v] = terms[v] - p * mean
        ratio = alpha[v] / (p if p != 0.0 else 1.0)
        past[v] = ratio * x if p != 0.0 else 0.0
    for v in range(K, past.shape[0]):
        past[v] = 0.0
        future[v] = 0.0


@chain_kernel
def forward(
    terms: FloatArray,
    beta_prime: FloatArray,
    edge_exp_to: FloatArray,
    first: AnyArray,
    alpha: FloatArray,
    node_probs: FloatArray,
    carried: FloatArray,
    past: FloatArray,
    future: FloatArray,
    node: FloatArray,
    t0: int,
    t1: int,
) -> None:
    """The past of each label:

        x_t(v) = terms_t(v) + β'_t(v) Σ_u past_{t−1}(u) e^{edge(u,v)},   m_t = Σ_v x_t(v) / Σ_v P_t(v),
        node_t(v) = x_t(v) − P_t(v) m_t,   past_t(v) = α_t(v) / P_t(v) · node_t(v),
        future_t(v) = terms_t(v) − P_t(v) m_t,

    without the sum over u at a first position.

    terms (n, K) IN, beta_prime (n, P) IN, edge_exp_to (P, P) as [to, from] IN, first (n+1,) IN, alpha (n, P) IN,
    node_probs (n, K) IN, carried (P,) scratch; past (n, P) IN/OUT (row t0−1 is read), future (n, P) OUT, node (n, K)
    OUT: P_t(v) a_t(v).
    """
    for t in range(t0, t1):
        if first[t]:
            carried[:] = 0.0
        else:
            _multiply(edge_exp_to, past[t - 1], carried)
        _settle(terms[t], beta_prime[t], alpha[t], node_probs[t], carried, past[t], future[t], node[t])


@chain_kernel
def forward_along(
    terms: FloatArray,
    beta_prime: FloatArray,
    edge_exp_to: FloatArray,
    moves_to: FloatArray,
    first: AnyArray,
    alpha: FloatArray,
    node_probs: FloatArray,
    carried: FloatArray,
    past: FloatArray,
    future: FloatArray,
    node: FloatArray,
    t0: int,
    t1: int,
) -> None:
    """As `forward` for directions on edges too: carried is Σ_u [past_{t−1}(u) + α_{t−1}(u) C(u,v)] e^{edge(u,v)}.

    moves_to (P, P) = e^{edge} C as [to, from] IN.
    """
    for t in range(t0, t1):
        if first[t]:
            carried[:] = 0.0
        else:
            _multiply_both(edge_exp_to, past[t - 1], moves_to, alpha[t - 1], carried)
        _settle(terms[t], beta_prime[t], alpha[t], node_probs[t], carried, past[t], future[t], node[t])


@chain_kernel
def _turn(
    beta_prime: FloatArray,
    alpha: FloatArray,
    node_probs: FloatArray,
    carried: FloatArray,
    future: FloatArray,
    node: FloatArray,
) -> None:
    """One position of `backward`, from what is carried back into its labels; every argument is its row."""
    for v in range(node_probs.shape[0]):
        p = node_probs[v]
        x = alpha[v] * carried[v]
        node[v] += x
        ratio = beta_prime[v] / (p if p != 0.0 else 1.0)
        future[v] = ratio * (future[v] + x) if p != 0.0 else 0.0


@chain_kernel
def backward(
    beta_prime: FloatArray,
    edge_exp: FloatArray,
    first: AnyArray,
    alpha: FloatArray,
    node_probs: FloatArray,
    carried: FloatArray,
    future: FloatArray,
    node: FloatArray,
    t0: int,
    t1: int,
) -> None:
    """The future of each label, from t1−1 down to t0, with x = P_t(u) b_t(u):

        x = α_t(u) Σ_v e^{edge(u,v)} future_{t+1}(v),   node_t(u) += x,
        future_t(u) = β'_t(u) / P_t(u) · [future_t(u) + x].

    beta_prime (n, P) IN, edge_exp (P, P) as [from, to] IN, first (n+1,) IN, alpha (n, P) IN, node_probs (n, K) IN;
    carried (P,) IN/OUT, the sum over v; future (n, P), node (n, K) IN/OUT, as `forward` leaves them.
    """
    for t in range(t1 - 1, t0 - 1, -1):
        if first[t + 1]:
            carried[:] = 0.0
        _turn(beta_prime[t], alpha[t], node_probs[t], carried, future[t], node[t])
        if not first[t]:
            _multiply(edge_exp, future[t], carried)


@chain_kernel
def backward_along(
    beta_prime: FloatArray,
    edge_exp: FloatArray,
    moves: FloatArray,
    first: AnyArray,
    alpha: FloatArray,
    node_probs: FloatArray,
    carried: FloatArray,
    future: FloatArray,
    node: FloatArray,
    t0: int,
    t1: int,
) -> None:
    """As `backward` for directions on edges too: the sum is Σ_v e^{edge(u,v)} [future_{t+1}(v) + C(u,v) β'_{t+1}(v)].

    moves (P, P) = e^{edge} C as [from, to] IN.
    """
    for t in range(t1 - 1, t0 - 1, -1):
        if first[t + 1]:
            carried[:] = 0.0
        _turn(beta_prime[t], alpha[t], node_probs[t], carried, future[t], node[t])
        if not first[t]:
            _multiply_both(edge_exp, future[t], moves, beta_prime[t], carried)


@chain_kernel
def sum_edges(
    alpha: FloatArray,
    beta_prime: FloatArray,
    past: FloatArray,
    future: FloatArray,
    sums: FloatArray,
    t0: int,
    t1: int,
) -> None:
    """sums(u, v) += Σ_t past_{t−1}(u) β'_t(v) + α_{t−1}(u) future_t(v) for t0 ≤ t < t1, t0 ≥ 1.

    Times e^{edge(u,v)} these are the derivatives for the edges, without the term C(u,v) Σ_t P_t(u,v). Four positions at
    a time, so that a row of sums is read and written once for four of them.

    alpha, beta_prime, past, future (n, P) IN (β' and future are 0 at first positions), sums (P, P) IN/OUT.
    """
    P = alpha.shape[1]
    whole = t0 + max(0, t1 - t0) // 4 * 4
    for t in range(t0, whole, 4):
        for u in range(P):
            a0, a1, a2, a3 = alpha[t - 1, u], alpha[t, u], alpha[t + 1, u], alpha[t + 2, u]
            b0, b1, b2, b3 = past[t - 1, u], past[t, u], past[t + 1, u], past[t + 2, u]
            for v in range(P):
                x = a0 * future[t, v] + a1 * future[t + 1, v]
                x += a2 * future[t + 2, v] + a3 * future[t + 3, v]
                y = b0 * beta_prime[t, v] + b1 * beta_prime[t + 1, v]
                y += b2 * beta_prime[t + 2, v] + b3 * beta_prime[t + 3, v]
                sums[u, v] += x + y
    for t in range(whole, t1):
        for u in range(P):
            a0, b0 = alpha[t - 1, u], past[t - 1, u]
            for v in range(P):
                sums[u, v] += a0 * future[t, v] + b0 * beta_prime[t, v]
