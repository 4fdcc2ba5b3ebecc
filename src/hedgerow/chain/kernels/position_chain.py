"""Chain kernels for edges of their own at every position, stored (to, n, from). See `chain` for the conventions."""

from __future__ import annotations

import numpy as np

from hedgerow.jit import chain_kernel, kernel
from hedgerow.legend import AnyArray, FloatArray

FAINT = 1e-280  # as in `chain`; a kernel file stands alone, because the cache of one does not see edits in another


@chain_kernel
def forward(
    node_exp: FloatArray,
    edge_exp: FloatArray,
    first: AnyArray,
    alpha: FloatArray,
    scale: FloatArray,
    faint: AnyArray,
    t0: int,
    t1: int,
) -> None:
    """x_t(v) = e^{node_t(v)} · Σ_u α_{t−1}(u) e^{edge_t(u,v)}, c_t = Σ_v x_t(v), α_t(v) = x_t(v) / c_t.

    As `chain.forward`, with edge_exp (K, n, K) as [to, position, from] IN.
    """
    K = edge_exp.shape[0]
    P = alpha.shape[1]
    for t in range(t0, t1):
        for v in range(P):
            alpha[t, v] = node_exp[t, v]
        if not first[t]:
            for v in range(K):
                total = 0.0
                for u in range(K):
                    total += alpha[t - 1, u] * edge_exp[v, t, u]
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
    edge_exp: FloatArray,
    first: AnyArray,
    alpha: FloatArray,
    scale: FloatArray,
    beta: FloatArray,
    node_probs: FloatArray,
    faint: AnyArray,
    t0: int,
    t1: int,
) -> None:
    """β'_t(v) = e^{node_t(v)} β_t(v) / c_t, β_{t−1}(u) = Σ_v e^{edge_t(u,v)} β'_t(v), P_t(v) = α_t(v) β_t(v).

    As `chain.backward`, with edge_exp (K, n, K) as [to, position, from] IN.
    """
    K = edge_exp.shape[0]
    for t in range(t1 - 1, t0 - 1, -1):
        if first[t + 1]:
            for v in range(K):
                beta[v] = 1.0
        small = 0
        for v in range(K):
            small += beta[v] < FAINT
            node_probs[t, v] = alpha[t, v] * beta[v] if alpha[t, v] != 0.0 else 0.0
        faint[t] += small
        inverse = 0.0 if first[t] else 1.0 / scale[t]
        for v in range(K):
            x = node_exp[t, v] * beta[v] * inverse
            node_exp[t, v] = x if alpha[t, v] != 0.0 and not first[t] else 0.0
        for u in range(K):
            beta[u] = 0.0
        for v in range(K):
            x = node_exp[t, v]
            for u in range(K):
                beta[u] += edge_exp[v, t, u] * x


@chain_kernel
def edge_probs(
    alpha: FloatArray, beta_prime: FloatArray, edge_exp: FloatArray, probs: FloatArray, t0: int, t1: int
) -> None:
    """probs[v, t, u] = P_t(u, v) = α_{t−1}(u) e^{edge_t(u,v)} β'_t(v); 0 at t = 0 and at other first positions.

    alpha, beta_prime (n, P) IN (β' is 0 at first positions), edge_exp (K, n, K) IN, probs (K, n, K) OUT.
    """
    K = edge_exp.shape[0]
    for v in range(K):
        for t in range(t0, t1):
            x = beta_prime[t, v]
            if x == 0.0:
                for u in range(K):
                    probs[v, t, u] = 0.0
            else:
                for u in range(K):
                    probs[v, t, u] = alpha[t - 1, u] * edge_exp[v, t, u] * x


@kernel
def subtract_truth(
    first: AnyArray,
    labels: AnyArray,
    weights: FloatArray,
    node_gradient: FloatArray,
    edge_gradient: FloatArray,
) -> None:
    """Take weights[t] from the gradients of node_t(y_t) and edge_t(y_{t−1}, y_t).

    labels (n,) IN, −1 where a position is passed over, with all others of its sequence; node_gradient (n, K),
    edge_gradient (K, n, K) IN and OUT.
    """
    for t in range(len(labels)):
        y = labels[t]
        if y >= 0:
            node_gradient[t, y] -= weights[t]
            if not first[t]:
                edge_gradient[y, t, labels[t - 1]] -= weights[t]


@kernel
def reach(
    possible: AnyArray, edges: FloatArray, first: AnyArray, reached: AnyArray, n_reached: AnyArray, t0: int, t1: int
) -> None:
    """As `chain.reach`, with edge scores (K, n, K) as [to, position, from] IN; −inf is impossible."""
    K = possible.shape[1]
    for t in range(t0, t1):
        count = 0
        for v in range(K):
            found = first[t]
            for u in range(K):
                if not first[t] and reached[t - 1, u] and edges[v, t, u] > -np.inf:
                    found = 1
            reached[t, v] = found & possible[t, v]
            count += reached[t, v]
        n_reached[t] = count


@kernel
def reach_end(
    reached: AnyArray, edges: FloatArray, first: AnyArray, open_: AnyArray, n_open: AnyArray, t0: int, t1: int
) -> None:
    """As `chain.reach_end`, with edge scores (K, n, K) as [to, position, from] IN; −inf is impossible."""
    K = reached.shape[1]
    for t in range(t1 - 1, t0 - 1, -1):
        count = 0
        for u in range(K):
            found = first[t + 1]
            for v in range(K):
                if not first[t + 1] and reached[t + 1, v] and open_[t + 1, v]:
                    found |= edges[v, t + 1, u] > -np.inf
            open_[t, u] = found
            count += found
        n_open[t] = count
