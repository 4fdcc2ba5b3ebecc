"""Sums over the labelings of a chain of histories in the log domain: slow, and right at any scale.

Conventions as in `histories`. Every label after every history is looked at, so nothing is subtracted.
"""

from __future__ import annotations

import math

import numpy as np

from hedgerow.jit import kernel
from hedgerow.legend import CodeArray, FloatArray

UNSEEN = -60.0  # as in `log_chain`


@kernel
def _list_arcs(s: int, back_off: CodeArray, arc_ptr: CodeArray, arc_back_off: CodeArray, listed: CodeArray) -> int:
    """As in `histories`: the arcs that labels take after history s. listed (K,) OUT; returns how many."""
    count = 0
    for a in range(arc_ptr[s], arc_ptr[s + 1]):
        listed[count] = a
        count += 1
    longer, q = s, back_off[s]
    while q >= 0:
        seen = arc_ptr[longer]
        for a in range(arc_ptr[q], arc_ptr[q + 1]):
            if seen < arc_ptr[longer + 1] and arc_back_off[seen] == a:
                seen += 1
            else:
                listed[count] = a
                count += 1
        longer, q = q, back_off[q]
    return count


@kernel
def _arc_scores(
    node: FloatArray,
    arc_scores: FloatArray,
    arc_label: CodeArray,
    arc_next: CodeArray,
    log_beta: FloatArray,
    n_listed: int,
    listed: CodeArray,
    scores: FloatArray,
) -> float:
    """scores[i] = ψ(a) + node_t(k) + log β_t(next(a)) for the listed arcs into position t; returns the largest.

    node (K,), log_beta (S,) of position t IN, scores (K,) OUT.
    """
    largest = -np.inf
    for i in range(n_listed):
        a = listed[i]
        scores[i] = arc_scores[a] + node[arc_label[a]] + log_beta[arc_next[a]]
        largest = max(largest, scores[i])
    return largest


@kernel
def history_sum(
    s: int,
    node: FloatArray,
    arc_scores: FloatArray,
    back_off: CodeArray,
    arc_ptr: CodeArray,
    arc_label: CodeArray,
    arc_next: CodeArray,
    arc_back_off: CodeArray,
    log_beta: FloatArray,
    listed: CodeArray,
    scores: FloatArray,
) -> float:
    """log β_{t−1}(s) = log Σ exp(ψ(a) + node_t(k) + log β_t(next(a))) over the arcs that labels take after s.

    node (K,), log_beta (S,) of position t IN; listed, scores (K,) scratch.
    """
    count = _list_arcs(s, back_off, arc_ptr, arc_back_off, listed)
    largest = _arc_scores(node, arc_scores, arc_label, arc_next, log_beta, count, listed, scores)
    if largest == -np.inf:
        return -np.inf
    total = 0.0
    for i in range(count):
        if scores[i] - largest > UNSEEN:
            total += math.exp(scores[i] - largest)
    return largest + math.log(total)


@kernel
def backward(
    node: FloatArray,
    arc_scores: FloatArray,
    back_off: CodeArray,
    arc_ptr: CodeArray,
    arc_label: CodeArray,
    arc_next: CodeArray,
    arc_back_off: CodeArray,
    log_beta: FloatArray,
    tops: FloatArray,
    listed: CodeArray,
    scores: FloatArray,
    base: int,
    end: int,
    t0: int,
    t1: int,
) -> None:
    """log β − top from t1−1 down to t0, 0 at end−1.

    node (n, K) IN; log_beta (rows, S) IN/OUT (row t1 is read), tops (n,) OUT: what makes the largest log β_t 0;
    listed, scores (K,) scratch.
    """
    S = back_off.shape[0]
    for t in range(t1 - 1, t0 - 1, -1):
        row = log_beta[t - base]
        top = 0.0 if t == end - 1 else -np.inf
        for s in range(S):
            row[s] = 0.0
            if t < end - 1:
                row[s] = history_sum(
                    s,
                    node[t + 1],
                    arc_scores,
                    back_off,
                    arc_ptr,
                    arc_label,
                    arc_next,
                    arc_back_off,
                    log_beta[t + 1 - base],
                    listed,
                    scores,
                )
                top = max(top, row[s])
        if top == -np.inf:
            top = 0.0
        tops[t] = top
        for s in range(S):
            row[s] -= top


@kernel
def forward(
    node: FloatArray,
    arc_scores: FloatArray,
    back_off: CodeArray,
    arc_ptr: CodeArray,
    arc_label: CodeArray,
    arc_next: CodeArray,
    arc_back_off: CodeArray,
    log_beta: FloatArray,
    sequence_weight: float,
    state_probs: FloatArray,
    node_probs: FloatArray,
    arc_sums: FloatArray,
    next_probs: FloatArray,
    listed: CodeArray,
    scores: FloatArray,
    base: int,
    t0: int,
    t1: int,
) -> None:
    """P_t(next(a)) += P_{t−1}(s) · P(a | s), P(a | s) ∝ exp(ψ(a) + node_t(k) + log β_t(next(a))), t from t0 to t1−1.

    log_beta (rows, S) IN, a row may lack any constant; state_probs (S,) of t0−1 IN/OUT, node_probs (n, K) OUT,
    arc_sums (A,) += sequence_weight · P_t(a) IN/OUT; next_probs (S,), listed, scores (K,) scratch.
    """
    S = back_off.shape[0]
    for t in range(t0, t1):
        for v in range(node_probs.shape[1]):
            node_probs[t, v] = 0.0
        for s in range(S):
            next_probs[s] = 0.0
        for s in range(S):
            if state_probs[s] == 0.0:
                continue
            count = _list_arcs(s, back_off, arc_ptr, arc_back_off, listed)
            ahead = log_beta[t - base]
            largest = _arc_scores(node[t], arc_scores, arc_label, arc_next, ahead, count, listed, scores)
            total = 0.0
            for i in range(count):
                scores[i] = math.exp(scores[i] - largest) if scores[i] - largest > -745.0 else 0.0
                total += scores[i]
            for i in range(count):
                a, p = listed[i], scores[i] / total * state_probs[s]
                arc_sums[a] += sequence_weight * p
                node_probs[t, arc_label[a]] += p
                next_probs[arc_next[a]] += p
        for s in range(S):
            state_probs[s] = next_probs[s]


@kernel
def sample(
    node: FloatArray,
    arc_scores: FloatArray,
    back_off: CodeArray,
    arc_ptr: CodeArray,
    arc_label: CodeArray,
    arc_next: CodeArray,
    arc_back_off: CodeArray,
    log_beta: FloatArray,
    uniforms: FloatArray,
    labels: CodeArray,
    listed: CodeArray,
    scores: FloatArray,
    base: int,
    s: int,
    t0: int,
    t1: int,
) -> int:
    """Draw labels, t from t0 to t1−1: P(a | s) ∝ exp(ψ(a) + node_t(k) + log β_t(next(a))). Returns where s leads.

    The arc is the first, in the order of `_list_arcs`, whose cumulated weight exceeds uniforms[t] times the total.

    log_beta (rows, S) IN, a row may lack any constant; uniforms (n,) in [0, 1) IN, labels (n,) int32 OUT; listed,
    scores (K,) scratch; s the history before t0.
    """
    for t in range(t0, t1):
        count = _list_arcs(s, back_off, arc_ptr, arc_back_off, listed)
        ahead = log_beta[t - base]
        largest = _arc_scores(node[t], arc_scores, arc_label, arc_next, ahead, count, listed, scores)
        total = 0.0
        chosen = 0
        for i in range(count):
            scores[i] = math.exp(scores[i] - largest) if scores[i] - largest > UNSEEN else 0.0
            total += scores[i]
            if scores[i] > 0.0:
                chosen = listed[i]  # the last possible one, should rounding leave nothing over the mark
        mark = uniforms[t] * total
        cumulated = 0.0
        for i in range(count):
            cumulated += scores[i]
            if cumulated > mark:
                chosen = listed[i]
                break
        labels[t] = arc_label[chosen]
        s = arc_next[chosen]
    return s
