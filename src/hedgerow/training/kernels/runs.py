"""The curvature of positions whose labels move together."""

from hedgerow.jit import chain_kernel, part

_LEAST = 1e-9  # a curvature is never 0, which would be no row


@chain_kernel
def run_curvature(gradient, labels, weight, alpha, beta_prime, stay, first, room, curvature):
    """curvature[t, v] = min(1, Σ_s Cov(y_t = v, y_s = v)) over the positions s of the sequence, and at least 1e-9.

    That sum of a row bounds what a leaf bends the loss by, where covariances are not negative (Gershgorin): a leaf
    moves many neighbours at once, and p(1−p) takes each for independent of the others. What does not equal v is taken
    for one other label, of which the chain forgets the rest; then

        Cov(t, s) = Var_t · Π of Cov(r, r+1) / Var_r from t on towards s,

    exact with two labels. A position without a label has p(1−p) of its gradient alone, and ends the sums.

    IN   gradient float64[n, K] = weight · (P − truth), labels int32[n], below 0 where not known, weight float64[n];
         alpha, beta_prime float64[n, ·] as `chain.backward` leaves them, stay float64[K] = e^{edge(v,v)}, first[n+1];
         room float64[3, K]
    OUT  curvature float64[n, K]
    """
    n, K = gradient.shape
    behind = room[2]
    for t in range(n - 1, -1, -1):
        p, p_next = room[t & 1], room[(t + 1) & 1]
        _probabilities(gradient[t], labels[t], weight[t], p)
        curvature[t] = 0.0
        if t + 1 < n and not first[t + 1] and labels[t] >= 0 and labels[t + 1] >= 0:
            for v in range(K):
                covariance = alpha[t, v] * stay[v] * beta_prime[t + 1, v] - p[v] * p_next[v]
                curvature[t, v] = _share(covariance, p[v]) * (1.0 + curvature[t + 1, v])
    for t in range(n):
        p, p_last = room[t & 1], room[(t + 1) & 1]
        _probabilities(gradient[t], labels[t], weight[t], p)
        if t == 0 or first[t] or labels[t] < 0 or labels[t - 1] < 0:
            behind[:] = 0.0
        else:
            for v in range(K):
                covariance = alpha[t - 1, v] * stay[v] * beta_prime[t, v] - p[v] * p_last[v]
                behind[v] = _share(covariance, p[v]) * (1.0 + behind[v])
        for v in range(K):
            total = p[v] * (1.0 - p[v]) * (1.0 + behind[v] + curvature[t, v])
            curvature[t, v] = max(_LEAST, min(1.0, total))


@part
def _probabilities(gradient, label, weight, p):
    """P of every label of a position, from the gradient; where the truth is not known, what has the same p(1−p)."""
    per = 1.0 / weight if weight > 0.0 else 0.0
    for v in range(len(p)):
        p[v] = min(abs(gradient[v] * per), 1.0)
    if label >= 0:
        p[label] = min(max(gradient[label] * per + 1.0, 0.0), 1.0)


@part
def _share(covariance, p):
    """Cov / Var, between 0 and 1; 0 where either is too small to tell."""
    variance = p * (1.0 - p)
    share = min(covariance / max(variance, _LEAST), 1.0)
    return share if variance > _LEAST and covariance > 0.0 else 0.0
