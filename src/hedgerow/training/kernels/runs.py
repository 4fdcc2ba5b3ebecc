"""The curvature of positions whose labels move together."""

from __future__ import annotations

from hedgerow.jit import chain_kernel, part

_LEAST = 1e-9  # a curvature is never 0, which would be no row


@chain_kernel
def run_curvature(gradient, labels, weight, alpha, beta_prime, stay, first, curvature):
    """curvature[v, t] = min(1, Σ_s Cov(y_t = v, y_s = v)) over the positions s of the sequence, and at least 1e-9.

    That sum of a row bounds what a leaf bends the loss by, where covariances are not negative (Gershgorin): a leaf
    moves many neighbours at once, and p(1−p) takes each for independent of the others. What does not equal v is taken
    for one other label, of which the chain forgets the rest; then

        Cov(t, s) = Var_t · Π of Cov(r, r+1) / Var_r from t on towards s,

    exact with two labels. A position without a label has p(1−p) of its gradient alone, and ends the sums.

    IN   gradient float64[K, n] = weight · (P − truth), labels int32[n], below 0 where not known, weight float64[n];
         alpha, beta_prime float64[n, ·] as `chain.backward` leaves them, stay float64[K] = e^{edge(v,v)}, first[n+1]
    OUT  curvature float64[K, n]
    """
    K, n = gradient.shape
    for v in range(K):
        sums, ahead, p_next = curvature[v], 0.0, 0.0
        for t in range(n - 1, -1, -1):
            p = _probability(gradient[v, t], weight[t], labels[t], v)
            joined = t + 1 < n and not first[t + 1] and labels[t] >= 0 and labels[t + 1] >= 0
            both = alpha[t, v] * stay[v] * beta_prime[t + 1, v] if joined else p * p_next
            ahead = _share(both - p * p_next, p) * (1.0 + ahead)
            sums[t], p_next = ahead, p
        behind, p_last = 0.0, 0.0
        for t in range(n):
            p = _probability(gradient[v, t], weight[t], labels[t], v)
            joined = t > 0 and not first[t] and labels[t] >= 0 and labels[t - 1] >= 0
            both = alpha[t - 1, v] * stay[v] * beta_prime[t, v] if joined else p * p_last
            behind = _share(both - p * p_last, p) * (1.0 + behind)
            sums[t] = max(_LEAST, min(1.0, p * (1.0 - p) * (1.0 + behind + sums[t])))
            p_last = p


@part
def _probability(gradient, weight, label, v):
    """P of a label, from the gradient; where the truth is not known, what has the same p(1−p)."""
    p = gradient / weight if weight > 0.0 else 0.0
    p = p + 1.0 if label == v else abs(p)
    return min(max(p, 0.0), 1.0)


@part
def _share(covariance, p):
    """Cov / Var, between 0 and 1; 0 where either is too small to tell."""
    variance = p * (1.0 - p)
    return min(covariance / variance, 1.0) if variance > _LEAST and covariance > 0.0 else 0.0
