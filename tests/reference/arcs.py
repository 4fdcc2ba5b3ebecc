"""Chains over lists of arcs, in plain NumPy and the log domain: arc a leads from label arc_from[a] to arc_to[a]."""

from __future__ import annotations

import numpy as np

from hedgerow.legend import AnyArray, FloatArray
from tests.reference.chain import log_sum, sequences


def forward(
    node: FloatArray, arc_from: AnyArray, arc_to: AnyArray, arc_scores: FloatArray, offsets: AnyArray
) -> FloatArray:
    """log α_t(v) = node_t(v) + log Σ_{arcs u→v} exp(log α_{t−1}(u) + score), (n, K)."""
    log_alpha = np.full(node.shape, -np.inf)
    for begin, end in sequences(offsets):
        log_alpha[begin] = node[begin]
        for t in range(begin + 1, end):
            for u, v, arc_score in zip(arc_from, arc_to, arc_scores):
                way = log_alpha[t - 1, u] + arc_score + node[t, v]
                log_alpha[t, v] = np.logaddexp(log_alpha[t, v], way)
    return log_alpha


def backward(
    node: FloatArray, arc_from: AnyArray, arc_to: AnyArray, arc_scores: FloatArray, offsets: AnyArray
) -> FloatArray:
    """log β_t(u) = log Σ_{arcs u→v} exp(score + node_{t+1}(v) + log β_{t+1}(v)), (n, K)."""
    log_beta = np.full(node.shape, -np.inf)
    for begin, end in sequences(offsets):
        log_beta[end - 1] = 0.0
        for t in range(end - 1, begin, -1):
            for u, v, arc_score in zip(arc_from, arc_to, arc_scores):
                way = arc_score + node[t, v] + log_beta[t, v]
                log_beta[t - 1, u] = np.logaddexp(log_beta[t - 1, u], way)
    return log_beta


def sum_edges(
    node: FloatArray, arc_from: AnyArray, arc_to: AnyArray, arc_scores: FloatArray, offsets: AnyArray
) -> FloatArray:
    """Σ_t P_t(arc), (A,)."""
    arcs = node, arc_from, arc_to, arc_scores, offsets
    log_alpha, log_beta = forward(*arcs), backward(*arcs)
    sums = np.zeros(len(arc_scores))
    for begin, end in sequences(offsets):
        log_z = log_sum(log_alpha[end - 1], axis=0)
        for t in range(begin + 1, end):
            ahead = node[t, arc_to] + log_beta[t, arc_to] - log_z
            sums += np.exp(log_alpha[t - 1, arc_from] + arc_scores + ahead)
    return sums
