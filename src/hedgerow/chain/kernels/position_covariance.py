"""The kernels of `covariance` for edges of their own at every position, stored (to, n, from). See there.

`direction` (K, n, K) is C_t(u, v), stored alike.
"""

from __future__ import annotations

from hedgerow.jit import chain_kernel
from hedgerow.legend import AnyArray, FloatArray


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
    edge_exp: FloatArray,
    first: AnyArray,
    alpha: FloatArray,
    node_probs: FloatArray,
    past: FloatArray,
    future: FloatArray,
    node: FloatArray,
    t0: int,
    t1: int,
) -> None:
    """As `covariance.forward`, with edge_exp (K, n, K) IN."""
    K = node_probs.shape[1]
    for t in range(t0, t1):
        for v in range(K):
            x = 0.0
            if not first[t]:
                for u in range(K):
                    x += past[t - 1, u] * edge_exp[v, t, u]
            past[t, v] = x
        _settle(terms[t], beta_prime[t], alpha[t], node_probs[t], past[t], future[t], node[t])


@chain_kernel
def forward_along(
    terms: FloatArray,
    beta_prime: FloatArray,
    edge_exp: FloatArray,
    direction: FloatArray,
    first: AnyArray,
    alpha: FloatArray,
    node_probs: FloatArray,
    past: FloatArray,
    future: FloatArray,
    node: FloatArray,
    t0: int,
    t1: int,
) -> None:
    """As `covariance.forward_along`, with edge_exp and direction (K, n, K) IN."""
    K = node_probs.shape[1]
    for t in range(t0, t1):
        for v in range(K):
            x = 0.0
            if not first[t]:
                for u in range(K):
                    x += (past[t - 1, u] + alpha[t - 1, u] * direction[v, t, u]) * edge_exp[v, t, u]
            past[t, v] = x
        _settle(terms[t], beta_prime[t], alpha[t], node_probs[t], past[t], future[t], node[t])


@chain_kernel
def _turn(
    beta_prime: FloatArray,
    alpha: FloatArray,
    node_probs: FloatArray,
    carried: FloatArray,
    future: FloatArray,
    node: FloatArray,
) -> None:
    """As `covariance._turn`; what is carried is used up."""
    for v in range(node_probs.shape[0]):
        p = node_probs[v]
        x = alpha[v] * carried[v]
        node[v] += x
        ratio = beta_prime[v] / (p if p != 0.0 else 1.0)
        future[v] = ratio * (future[v] + x) if p != 0.0 else 0.0
        carried[v] = 0.0


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
    """As `covariance.backward`, with edge_exp (K, n, K) IN."""
    K = node_probs.shape[1]
    for t in range(t1 - 1, t0 - 1, -1):
        if first[t + 1]:
            carried[:] = 0.0
        _turn(beta_prime[t], alpha[t], node_probs[t], carried, future[t], node[t])
        if not first[t]:
            for v in range(K):
                x = future[t, v]
                for u in range(K):
                    carried[u] += edge_exp[v, t, u] * x


@chain_kernel
def backward_along(
    beta_prime: FloatArray,
    edge_exp: FloatArray,
    direction: FloatArray,
    first: AnyArray,
    alpha: FloatArray,
    node_probs: FloatArray,
    carried: FloatArray,
    future: FloatArray,
    node: FloatArray,
    t0: int,
    t1: int,
) -> None:
    """As `covariance.backward_along`, with edge_exp and direction (K, n, K) IN."""
    K = node_probs.shape[1]
    for t in range(t1 - 1, t0 - 1, -1):
        if first[t + 1]:
            carried[:] = 0.0
        _turn(beta_prime[t], alpha[t], node_probs[t], carried, future[t], node[t])
        if not first[t]:
            for v in range(K):
                x, y = future[t, v], beta_prime[t, v]
                for u in range(K):
                    carried[u] += edge_exp[v, t, u] * (x + direction[v, t, u] * y)


@chain_kernel
def edges(
    alpha: FloatArray,
    beta_prime: FloatArray,
    past: FloatArray,
    future: FloatArray,
    edge_exp: FloatArray,
    moved: FloatArray,
    t0: int,
    t1: int,
) -> None:
    """moved[v, t, u] = e^{edge_t(u,v)} [past_{t−1}(u) β'_t(v) + α_{t−1}(u) future_t(v)] for t0 ≤ t < t1, t0 ≥ 1.

    alpha, beta_prime, past, future (n, P) IN (β' and future are 0 at first positions), edge_exp (K, n, K) IN, moved
    (K, n, K) OUT.
    """
    K = edge_exp.shape[0]
    for v in range(K):
        for t in range(t0, t1):
            x, y = future[t, v], beta_prime[t, v]
            for u in range(K):
                moved[v, t, u] = edge_exp[v, t, u] * (past[t - 1, u] * y + alpha[t - 1, u] * x)


@chain_kernel
def edges_along(
    alpha: FloatArray,
    beta_prime: FloatArray,
    past: FloatArray,
    future: FloatArray,
    edge_exp: FloatArray,
    direction: FloatArray,
    moved: FloatArray,
    probs: FloatArray,
    t0: int,
    t1: int,
) -> None:
    """As `edges`, with C_t(u,v) P_t(u,v) added for directions on edges, direction C (K, n, K) IN; and

    probs[v, t, u] = P_t(u,v) = α_{t−1}(u) e^{edge_t(u,v)} β'_t(v), (K, n, K) OUT.
    """
    K = edge_exp.shape[0]
    for v in range(K):
        for t in range(t0, t1):
            x, y = future[t, v], beta_prime[t, v]
            for u in range(K):
                e = edge_exp[v, t, u]
                p = alpha[t - 1, u] * e * y
                probs[v, t, u] = p
                moved[v, t, u] = e * (past[t - 1, u] * y + alpha[t - 1, u] * x) + direction[v, t, u] * p
