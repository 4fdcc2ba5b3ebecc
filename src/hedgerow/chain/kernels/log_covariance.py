"""The recursions of `covariance` from messages in the log domain: slow, and right at any scale.

Edges (to, n | 1, from) as in `log_chain`, and the direction C likewise. Here `past` is P_t(v) a_t(v) and `future` is
P_t(v) [c̃_t(v) + b_t(v)]: both move from position to position by conditional probabilities alone,

    past_t(v) = d_t(v) + Σ_u [P(v at t | u at t−1) past_{t−1}(u) + P_t(u,v) C(u,v)],
    future_{t−1}(u) = d_{t−1}(u) + Σ_v [P(u at t−1 | v at t) future_t(v) + P_t(u,v) C(u,v)].

The derivative for node_t(v) is past_t(v) + future_t(v) − d_t(v). The order of calls: `centre`, then `forward` and
`backward`. A call covers t0 … t1−1.
"""

import math

import numpy as np

from hedgerow.jit import kernel, part


@part
def _log_before(node, edges, log_alpha, alpha_tops, row, t, u, v):
    """log P(u at t−1 | v at t). row: that of the edges into t."""
    return log_alpha[t - 1, u] + edges[v, row, u] + node[t, v] - log_alpha[t, v] - alpha_tops[t]


@kernel
def centre(node, edges, first, log_alpha, alpha_tops, node_probs, direction, terms, centred, past, future, t0, t1):
    """centred_t(v) = d_t(v) = terms_t(v) − P_t(v) [Σ_k terms_t(k) + E[C_t]]; past and future: d and the terms of C.

    P_t(u,v) = P_t(v) P(u at t−1 | v at t). node (n, K), edges, first (n+1,), log_alpha (n, K) and alpha_tops (n,) of
    `log_chain.forward` IN; node_probs (n, K), terms (n, K) = c_t(v) P_t(v) IN; centred, past, future (n, K) OUT (row
    t0−1 of future is added to).
    """
    K = node.shape[1]
    for t in range(t0, t1):
        row = 0 if edges.shape[1] == 1 else t
        total = 0.0
        for v in range(K):
            past[t, v] = 0.0
            if not first[t] and node_probs[t, v] > 0.0:
                for u in range(K):
                    x = _log_before(node, edges, log_alpha, alpha_tops, row, t, u, v)
                    if x > -np.inf:
                        y = math.exp(x) * node_probs[t, v] * direction[v, row, u]
                        past[t, v] += y
                        future[t - 1, u] += y
            total += terms[t, v] + past[t, v]
        for v in range(K):
            x = terms[t, v] - node_probs[t, v] * total
            centred[t, v] = x
            past[t, v] += x
            future[t, v] = x


@kernel
def forward(node, edges, first, log_beta, beta_tops, past, moved, t0, t1):
    """past_t(v) += Σ_u P(v at t | u at t−1) past_{t−1}(u), each term also added to moved[v, ·, u].

    log_beta (n, K) and beta_tops (n,) of `log_chain.backward` IN; past (n, K) IN/OUT (row t0−1 is read); moved (to,
    n | 1, from) IN/OUT: the derivatives for the edges, without C_t(u,v) P_t(u,v).
    """
    K = node.shape[1]
    for t in range(t0, t1):
        row = 0 if edges.shape[1] == 1 else t
        into = 0 if moved.shape[1] == 1 else t
        for u in range(K):
            if first[t] or log_beta[t - 1, u] == -np.inf:
                continue
            for v in range(K):
                x = edges[v, row, u] + node[t, v] + log_beta[t, v] - log_beta[t - 1, u] - beta_tops[t - 1]
                if x > -np.inf:
                    y = math.exp(x) * past[t - 1, u]
                    past[t, v] += y
                    moved[v, into, u] += y


@kernel
def backward(node, edges, first, log_alpha, alpha_tops, future, moved, t0, t1):
    """future_{t−1}(u) += Σ_v P(u at t−1 | v at t) future_t(v), t from t1−1 down to t0, each term also added to moved.

    log_alpha (n, K) and alpha_tops (n,) of `log_chain.forward` IN; future (n, K) IN/OUT (row t0−1 is written).
    """
    K = node.shape[1]
    for t in range(t1 - 1, t0 - 1, -1):
        row = 0 if edges.shape[1] == 1 else t
        into = 0 if moved.shape[1] == 1 else t
        for v in range(K):
            if first[t] or log_alpha[t, v] == -np.inf:
                continue
            for u in range(K):
                x = _log_before(node, edges, log_alpha, alpha_tops, row, t, u, v)
                if x > -np.inf:
                    y = math.exp(x) * future[t, v]
                    future[t - 1, u] += y
                    moved[v, into, u] += y
