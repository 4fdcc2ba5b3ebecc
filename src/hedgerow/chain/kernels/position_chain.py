"""The kernels of `chain` and `covariance` for edges of their own at every position, stored (to, n, from). See there."""

from hedgerow.chain.kernels import chain, covariance
from hedgerow.jit import chain_kernel, chain_kernel_with, chain_part
from hedgerow.legend import FloatArray

Along = tuple[FloatArray, FloatArray]  # e^{edge} and the direction C, (K, n, K) each


@chain_part
def _carry_on(edge_exp, t, vector, other, product):
    """product[v] = Σ_u vector[u] e^{edge_t(u,v)}. edge_exp (K, n, K) IN, vector (P,) IN, product (P,) OUT."""
    K = edge_exp.shape[0]
    for v in range(K):
        x = 0.0
        for u in range(K):
            x += vector[u] * edge_exp[v, t, u]
        product[v] = x
    product[K:] = 0.0


@chain_part
def _carry_on_along(edges, t, vector, other, product):
    """product[v] = Σ_u (vector[u] + other[u] C_t(u,v)) e^{edge_t(u,v)}."""
    edge_exp, direction = edges
    K = edge_exp.shape[0]
    for v in range(K):
        x = 0.0
        for u in range(K):
            x += (vector[u] + other[u] * direction[v, t, u]) * edge_exp[v, t, u]
        product[v] = x
    product[K:] = 0.0


@chain_part
def _carry_back(edge_exp, t, vector, other, product):
    """product[u] = Σ_v e^{edge_t(u,v)} vector[v], in the order in which the edges are stored."""
    K = edge_exp.shape[0]
    product[:] = 0.0
    for v in range(K):
        x = vector[v]
        for u in range(K):
            product[u] += edge_exp[v, t, u] * x


@chain_part
def _carry_back_along(edges, t, vector, other, product):
    """product[u] = Σ_v e^{edge_t(u,v)} (vector[v] + C_t(u,v) other[v])."""
    edge_exp, direction = edges
    K = edge_exp.shape[0]
    product[:] = 0.0
    for v in range(K):
        x, y = vector[v], other[v]
        for u in range(K):
            product[u] += edge_exp[v, t, u] * (x + direction[v, t, u] * y)


# With edge_exp (K, n, K), and the direction beside it for those along one
forward = chain_kernel_with(chain.forward, f"{__name__}.forward", carry=_carry_on)
backward = chain_kernel_with(chain.backward, f"{__name__}.backward", carry=_carry_back)
past = chain_kernel_with(covariance.past, f"{__name__}.past", carry=_carry_on)
past_along = chain_kernel_with(covariance.past, f"{__name__}.past_along", carry=_carry_on_along)
future = chain_kernel_with(covariance.future, f"{__name__}.future", carry=_carry_back)
future_along = chain_kernel_with(covariance.future, f"{__name__}.future_along", carry=_carry_back_along)


@chain_kernel
def edge_probs(alpha, beta_prime, edge_exp, probs, t0, t1):
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


@chain_kernel
def edge_moments(alpha, beta_prime, past, future, edge_exp, moved, t0, t1):
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
