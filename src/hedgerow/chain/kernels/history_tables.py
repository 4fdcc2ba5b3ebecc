"""Sums and searches over chains of histories that score every label anew at each position, in the log domain.

Row t of a message is for the time before position t; H histories, of which 0 is ⊥. IN arrays are read, OUT arrays are
written.

    node (n, K), scores (K, n, H) [to, position, history], first (n+1,): 1 where a sequence starts, ahead (K, H): the
    history that a label leads to; all IN
"""

import math

import numpy as np

from hedgerow.jit import kernel


@kernel
def forward(node, scores, first, ahead, log_alpha, tops, row, sums, t0, t1):
    """log α_{t+1}(s) = log Σ exp(log α_t(h) + score_t(k, h) + node_t(k)) over the h and k that lead to s.

    The largest of each row is taken out and kept: log Z of a sequence is the sum of its tops. Returns the position that
    no legal way passes, or t1.

    log_alpha (n, H), tops (n,) OUT; row (H,) IN/OUT: the message after t0−1; sums (H,) scratch.
    """
    K, H = ahead.shape
    for t in range(t0, t1):
        alpha = log_alpha[t]
        for h in range(H):
            start = 0.0 if h == 0 else -np.inf
            alpha[h] = start if first[t] else row[h]
            row[h], sums[h] = -np.inf, 0.0
        for k in range(K):
            for h in range(H):
                value = alpha[h] + scores[k, t, h] + node[t, k]
                s = ahead[k, h]
                row[s] = max(row[s], value)
        for k in range(K):
            for h in range(H):
                value = alpha[h] + scores[k, t, h] + node[t, k]
                if value > -np.inf:
                    s = ahead[k, h]
                    sums[s] += math.exp(value - row[s])
        top = -np.inf
        for s in range(H):
            if row[s] > -np.inf:
                row[s] += math.log(sums[s])
                top = max(top, row[s])
        if top == -np.inf:
            return t
        if first[t + 1]:
            total = 0.0
            for s in range(H):
                total += math.exp(row[s] - top)
            top += math.log(total)
        tops[t] = top
        for s in range(H):
            row[s] -= top
    return t1


@kernel
def backward(node, scores, first, ahead, log_alpha, row, next_row, node_probs, probs, t0, t1):
    """Probabilities, t from t1−1 down to t0:

        P_t(k, h) ∝ exp(log α_t(h) + score_t(k, h) + node_t(k) + log β_{t+1}(next)),   log β_t(h) = log Σ_k exp(…).

    log_alpha (n, H) of `forward` IN; row (H,) IN/OUT: log β after t1−1; node_probs (n, K), probs (K, n, H) OUT;
    next_row (H,) scratch.
    """
    K, H = ahead.shape
    for t in range(t1 - 1, t0 - 1, -1):
        if first[t + 1]:
            row[:] = 0.0
        highest, top = -np.inf, -np.inf
        for h in range(H):
            best = -np.inf
            for k in range(K):
                value = scores[k, t, h] + node[t, k] + row[ahead[k, h]]
                probs[k, t, h] = value
                best = max(best, value)
            total = 0.0
            if best > -np.inf:
                for k in range(K):
                    probs[k, t, h] = math.exp(probs[k, t, h] - best)
                    total += probs[k, t, h]
                next_row[h] = best + math.log(total)
            else:
                next_row[h] = -np.inf
            for k in range(K):
                probs[k, t, h] = probs[k, t, h] / total if total > 0.0 else 0.0
            highest = max(highest, log_alpha[t, h] + next_row[h])
            top = max(top, next_row[h])
        mass = 0.0
        for h in range(H):
            row[h] = math.exp(log_alpha[t, h] + next_row[h] - highest)
            mass += row[h]
        for k in range(K):
            node_probs[t, k] = 0.0
            for h in range(H):
                probs[k, t, h] *= row[h] / mass
                node_probs[t, k] += probs[k, t, h]
        for h in range(H):
            row[h] = next_row[h] - top


@kernel
def best_ahead(node, scores, first, ahead, row, next_row, choice, values, t0, t1):
    """The best label after each history, from t1−1 down to t0; of equal ones the lowest.

    row (H,) IN/OUT: the best score that follows after t1−1; choice (n, H), values (n,) OUT: the label, and at first
    positions the score of the best labeling; next_row (H,) scratch.
    """
    K, H = ahead.shape
    for t in range(t1 - 1, t0 - 1, -1):
        if first[t + 1]:
            row[:] = 0.0
        for h in range(H):
            next_row[h], choice[t, h] = -np.inf, 0
            for k in range(K):
                value = scores[k, t, h] + node[t, k] + row[ahead[k, h]]
                if value > next_row[h]:
                    next_row[h], choice[t, h] = value, k
        for h in range(H):
            row[h] = next_row[h]
        values[t] = row[0]


@kernel
def trace(first, ahead, choice, labels):
    """labels (n,) OUT: the best labeling of each sequence. choice (n, H) of `best_ahead` IN."""
    h = 0
    for t in range(labels.shape[0]):
        if first[t]:
            h = 0
        labels[t] = choice[t, h]
        h = ahead[labels[t], h]
