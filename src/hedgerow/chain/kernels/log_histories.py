"""Sums over the labelings of a chain of histories in the log domain: slow, and right at any scale.

Conventions as in `histories`. Every label after every history is looked at, so nothing is subtracted.
"""

import math

import numpy as np

from hedgerow.chain.kernels.history_arcs import list_arcs
from hedgerow.chain.kernels.log_chain import UNSEEN
from hedgerow.chain.kernels.search import draw
from hedgerow.jit import kernel, part


@part
def _score_arcs(s, node, arc_scores, histories, log_beta, buffers):
    """The arcs that labels take after history s into position t, listed, and ψ(a) + node_t(k) + log β_t(next(a)) of
    each, by_label; returns how many, and the largest score.

    node (K,), log_beta (S,) of position t IN.
    """
    listed, scores = buffers.listed, buffers.by_label
    count = list_arcs(histories, s, listed)
    largest = -np.inf
    for i in range(count):
        a = listed[i]
        scores[i] = arc_scores[a] + node[histories.arc_label[a]] + log_beta[histories.arc_next[a]]
        largest = max(largest, scores[i])
    return count, largest


@part
def _exponentiate(scores, count, largest, least):
    """scores[i] = exp(scores[i] − largest), 0 where that is not above exp(least); returns their sum."""
    total = 0.0
    for i in range(count):
        scores[i] = math.exp(scores[i] - largest) if scores[i] - largest > least else 0.0
        total += scores[i]
    return total


@kernel
def history_sum(s, node, arc_scores, histories, log_beta, buffers):
    """log β_{t−1}(s) = log Σ exp(ψ(a) + node_t(k) + log β_t(next(a))) over the arcs that labels take after s.

    node (K,), log_beta (S,) of position t IN.
    """
    count, largest = _score_arcs(s, node, arc_scores, histories, log_beta, buffers)
    if largest == -np.inf:
        return -np.inf
    return largest + math.log(_exponentiate(buffers.by_label, count, largest, UNSEEN))


@kernel
def backward(node, arc_scores, histories, log_beta, tops, buffers, base, end, t0, t1):
    """log β − top from t1−1 down to t0, 0 at end−1.

    node (n, K) IN; log_beta (rows, S) IN/OUT (row t1 is read), tops (n,) OUT: what makes the largest log β_t 0.
    """
    S = log_beta.shape[1]
    for t in range(t1 - 1, t0 - 1, -1):
        row = log_beta[t - base]
        top = 0.0 if t == end - 1 else -np.inf
        for s in range(S):
            row[s] = 0.0
            if t < end - 1:
                row[s] = history_sum(s, node[t + 1], arc_scores, histories, log_beta[t + 1 - base], buffers)
                top = max(top, row[s])
        if top == -np.inf:
            top = 0.0
        tops[t] = top
        for s in range(S):
            row[s] -= top


@kernel
def forward(
    node, arc_scores, histories, log_beta, sequence_weight, state_probs, node_probs, arc_sums, buffers, base, t0, t1
):  # fmt: skip
    """P_t(next(a)) += P_{t−1}(s) · P(a | s), P(a | s) ∝ exp(ψ(a) + node_t(k) + log β_t(next(a))), t from t0 to t1−1.

    log_beta (rows, S) IN, a row may lack any constant; state_probs (S,) of t0−1 IN/OUT, node_probs (n, K) OUT,
    arc_sums (A,) += sequence_weight · P_t(a) IN/OUT.
    """
    listed, scores, next_probs = buffers.listed, buffers.by_label, buffers.by_state[0]
    S = state_probs.shape[0]
    for t in range(t0, t1):
        for v in range(node_probs.shape[1]):
            node_probs[t, v] = 0.0
        for s in range(S):
            next_probs[s] = 0.0
        for s in range(S):
            if state_probs[s] == 0.0:
                continue
            count, largest = _score_arcs(s, node[t], arc_scores, histories, log_beta[t - base], buffers)
            total = _exponentiate(scores, count, largest, -745.0)
            for i in range(count):
                a, p = listed[i], scores[i] / total * state_probs[s]
                arc_sums[a] += sequence_weight * p
                node_probs[t, histories.arc_label[a]] += p
                next_probs[histories.arc_next[a]] += p
        for s in range(S):
            state_probs[s] = next_probs[s]


@kernel
def sample(node, arc_scores, histories, log_beta, uniforms, labels, buffers, base, s, t0, t1):
    """Draw labels, t from t0 to t1−1: P(a | s) ∝ exp(ψ(a) + node_t(k) + log β_t(next(a))). Returns where s leads.

    The arc is drawn by `draw`, in the order of `list_arcs`, with uniforms[t] times the total as the mark.

    log_beta (rows, S) IN, a row may lack any constant; uniforms (n,) in [0, 1) IN, labels (n,) int32 OUT; s the history
    before t0.
    """
    for t in range(t0, t1):
        count, largest = _score_arcs(s, node[t], arc_scores, histories, log_beta[t - base], buffers)
        total = _exponentiate(buffers.by_label, count, largest, UNSEEN)
        chosen = buffers.listed[draw(buffers.by_label, count, uniforms[t] * total)]
        labels[t] = histories.arc_label[chosen]
        s = histories.arc_next[chosen]
    return s
