"""Chain kernels in the log domain: slow, and right at any scale. Shared and per-position edges in one form.

`edges` is (to, n, from) for per-position edges and (to, 1, from) for shared ones; −inf is impossible. The chunk is
described as in `chain`: `first[t] = 1` where a sequence starts and `first[n] = 1`. A call covers t0 … t1−1.

The largest message of a position is taken out and kept apart: the sums of 10,000 scores of a hundred would leave too
few digits for probabilities.
"""

import math

import numpy as np

from hedgerow.jit import kernel, part

# exp of less, beside a term of 1, does not change a sum in its last digit; most exponentials of steep scores are such
UNSEEN = -60.0


@part
def _take_top(messages):
    """Subtract the largest of the messages (K,) IN/OUT from all, and return it; 0 where all are −inf."""
    top = -np.inf
    for v in range(messages.shape[0]):
        top = max(top, messages[v])
    if top == -np.inf:
        return 0.0
    for v in range(messages.shape[0]):
        messages[v] -= top
    return top


@kernel
def forward(node, edges, first, log_alpha, tops, t0, t1):
    """log α_t(v) = node_t(v) + log Σ_u exp(log α_{t−1}(u) + edge_t(u, v)) − top_t, no sum at a first position.

    node (n, K) IN, edges IN, first (n+1,) IN; log_alpha (n, K) IN/OUT (row t0−1 is read), tops (n,) OUT: what makes
    the largest log α_t 0.
    """
    K = node.shape[1]
    shared = edges.shape[1] == 1
    for t in range(t0, t1):
        row = 0 if shared else t
        for v in range(K):
            log_alpha[t, v] = node[t, v]
            if first[t] or node[t, v] == -np.inf:
                continue
            largest = -np.inf
            for u in range(K):
                largest = max(largest, log_alpha[t - 1, u] + edges[v, row, u])
            if largest == -np.inf:
                log_alpha[t, v] = -np.inf
                continue
            total = 0.0
            for u in range(K):
                x = log_alpha[t - 1, u] + edges[v, row, u] - largest
                if x > UNSEEN:
                    total += math.exp(x)
            log_alpha[t, v] += largest + math.log(total)
        tops[t] = _take_top(log_alpha[t])


@kernel
def backward(node, edges, first, log_beta, tops, t0, t1):
    """log β_t(u) = log Σ_v exp(edge_{t+1}(u, v) + node_{t+1}(v) + log β_{t+1}(v)) − top_t, 0 at a last position.

    node (n, K) IN, edges IN, first (n+1,) IN; log_beta (n, K) IN/OUT (row t1 is read, where there is one), tops (n,)
    OUT: what makes the largest log β_t 0.
    """
    K = node.shape[1]
    shared = edges.shape[1] == 1
    for t in range(t1 - 1, t0 - 1, -1):
        row = 0 if shared else t + 1
        for u in range(K):
            log_beta[t, u] = 0.0
            if first[t + 1]:
                continue
            largest = -np.inf
            for v in range(K):
                largest = max(largest, edges[v, row, u] + node[t + 1, v] + log_beta[t + 1, v])
            if largest == -np.inf:
                log_beta[t, u] = -np.inf
                continue
            total = 0.0
            for v in range(K):
                x = edges[v, row, u] + node[t + 1, v] + log_beta[t + 1, v] - largest
                if x > UNSEEN:
                    total += math.exp(x)
            log_beta[t, u] = largest + math.log(total)
        tops[t] = _take_top(log_beta[t])


@kernel
def edge_probs(node, edges, first, log_alpha, tops, log_beta, probs, t0, t1):
    """probs[v, ·, u] += P_t(u, v) = exp(log α_{t−1}(u) + edge_t(u, v) + node_t(v) + log β_t(v) − z_t),

    with z_t = top_t + log Σ_v exp(log α_t(v) + log β_t(v)), so that the sum is 1 at each t. A first position has
    none.

    log_alpha (n, K) and tops (n,) of `forward` IN; log_beta (n, K) IN, a row may lack any constant; probs (to, n,
    from), or (to, 1, from) for the sum over positions, IN/OUT.
    """
    K = node.shape[1]
    for t in range(t0, t1):
        if first[t]:
            continue
        largest = -np.inf
        for v in range(K):
            largest = max(largest, log_alpha[t, v] + log_beta[t, v])
        total = 0.0
        for v in range(K):
            total += math.exp(log_alpha[t, v] + log_beta[t, v] - largest)
        whole = tops[t] + largest + math.log(total)
        row = 0 if edges.shape[1] == 1 else t
        into = 0 if probs.shape[1] == 1 else t
        for v in range(K):
            ahead = node[t, v] + log_beta[t, v] - whole
            for u in range(K):
                x = log_alpha[t - 1, u] + edges[v, row, u] + ahead
                if x > -750.0:  # exp of less is 0
                    probs[v, into, u] += math.exp(x)
