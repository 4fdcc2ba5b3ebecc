"""How all marginals of a chain move when the scores move along a direction. See `chain` for conventions.

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
The order of calls: `past` or `past_along`, `future` or `future_along`, then `sum_edges`. Those here are for
shared edges; the other forms have theirs beside their messages.
"""

from __future__ import annotations

from typing import NamedTuple

from hedgerow.chain.kernels.chain import carry
from hedgerow.jit import chain_kernel, chain_kernel_with, chain_part
from hedgerow.legend import AnyArray, FloatArray


class MomentRows(NamedTuple):
    """What a covariance of a chunk is made of.

    first (n+1,); terms (n, K); beta_prime, alpha (n, P); node_probs (n, K); carried (P,), the sum over v where a
    backward call stopped; past, future (n, P); node (n, K), which becomes the covariances of the nodes
    """

    first: AnyArray
    terms: FloatArray
    beta_prime: FloatArray
    alpha: FloatArray
    node_probs: FloatArray
    carried: FloatArray
    past: FloatArray
    future: FloatArray
    node: FloatArray


@chain_part
def _carry_along(tables, t, vector, other, product):
    """product = table · vector + moves · other, as `carry`. tables: e^{edge} and e^{edge} C, (P, P) each, IN."""
    table, moves = tables
    P = table.shape[0]
    for i in range(0, P, 4):
        s0 = s1 = s2 = s3 = 0.0
        for j in range(P):
            x, y = vector[j], other[j]
            s0 += table[i, j] * x + moves[i, j] * y
            s1 += table[i + 1, j] * x + moves[i + 1, j] * y
            s2 += table[i + 2, j] * x + moves[i + 2, j] * y
            s3 += table[i + 3, j] * x + moves[i + 3, j] * y
        product[i] = s0
        product[i + 1] = s1
        product[i + 2] = s2
        product[i + 3] = s3


@chain_kernel
def past(edges, rows, t0, t1):
    """The past of each label:

        x_t(v) = terms_t(v) + β'_t(v) Σ_u past_{t−1}(u) e^{edge(u,v)},   m_t = Σ_v x_t(v) / Σ_v P_t(v),
        node_t(v) = x_t(v) − P_t(v) m_t,   past_t(v) = α_t(v) / P_t(v) · node_t(v),
        future_t(v) = terms_t(v) − P_t(v) m_t,

    without the sum over u at a first position; with Σ_u [past_{t−1}(u) + α_{t−1}(u) C(u,v)] e^{edge(u,v)} where the
    direction has edges.

    rows: past IN/OUT (row t0−1 is read), future, node OUT: P_t(v) a_t(v); carried is not used, the rest IN.
    edges: e^{edge} IN, as [to, from]; with e^{edge} C where the direction has edges.
    """
    for t in range(t0, t1):
        if rows.first[t]:
            rows.past[t, :] = 0.0
        else:
            carry(edges, t, rows.past[t - 1], rows.alpha[t - 1], rows.past[t])
        terms, node_probs, node = rows.terms[t], rows.node_probs[t], rows.node[t]
        beta_prime, alpha, past, future = rows.beta_prime[t], rows.alpha[t], rows.past[t], rows.future[t]
        K = node_probs.shape[0]
        total = whole = 0.0
        for v in range(K):
            x = terms[v] + beta_prime[v] * past[v]
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
def future(edges, rows, t0, t1):
    """The future of each label, from t1−1 down to t0, with x = P_t(u) b_t(u):

        x = α_t(u) Σ_v e^{edge(u,v)} future_{t+1}(v),   node_t(u) += x,
        future_t(u) = β'_t(u) / P_t(u) · [future_t(u) + x],

    with Σ_v e^{edge(u,v)} [future_{t+1}(v) + C(u,v) β'_{t+1}(v)] where the direction has edges.

    rows: carried, future, node IN/OUT, as `past` leaves them; terms and past are not used, the rest IN.
    edges: e^{edge} IN, as [from, to]; with e^{edge} C where the direction has edges.
    """
    carried = rows.carried
    for t in range(t1 - 1, t0 - 1, -1):
        if rows.first[t + 1]:
            carried[:] = 0.0
        beta_prime, alpha, node_probs = rows.beta_prime[t], rows.alpha[t], rows.node_probs[t]
        future, node = rows.future[t], rows.node[t]
        for v in range(node_probs.shape[0]):
            p = node_probs[v]
            x = alpha[v] * carried[v]
            node[v] += x
            ratio = beta_prime[v] / (p if p != 0.0 else 1.0)
            future[v] = ratio * (future[v] + x) if p != 0.0 else 0.0
        if not rows.first[t]:
            carry(edges, t, future, beta_prime, carried)


past_along = chain_kernel_with(past, f"{__name__}.past_along", carry=_carry_along)
future_along = chain_kernel_with(future, f"{__name__}.future_along", carry=_carry_along)


@chain_kernel
def sum_edges(alpha, beta_prime, past, future, sums, t0, t1):
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
