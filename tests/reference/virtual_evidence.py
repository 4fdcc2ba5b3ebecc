"""Virtual evidence in plain Python: labels given messages from their neighbours, one sequence at a time."""

from __future__ import annotations

import numpy as np

from hedgerow.legend import BoolArray, FloatArray


def send_messages(node: FloatArray, edges: FloatArray) -> tuple[FloatArray, FloatArray]:
    """What position t would send to the right and to the left, as distributions (T, K) each.

    node (T, K), edges (T, K, K) [position, from, to]; the table of the first position is not used.
    """
    T = len(node)
    right, left = np.zeros(node.shape), np.zeros(node.shape)
    for t in range(T):
        come = np.ones(node.shape[1]) if t == 0 else right[t - 1] @ np.exp(edges[t])
        right[t] = np.exp(node[t]) * come
        right[t] /= right[t].sum()
    for t in reversed(range(T)):
        come = np.ones(node.shape[1]) if t == T - 1 else np.exp(edges[t + 1]) @ left[t + 1]
        left[t] = np.exp(node[t]) * come
        left[t] /= left[t].sum()
    return right, left


def loss(node: FloatArray, edges: FloatArray, right: BoolArray, messages: tuple[FloatArray, FloatArray]) -> float:
    """−Σ_t log of the probability that the label of t is right, (T, K), given messages that do not depend on scores."""
    total, T = 0.0, len(node)
    for t in range(T):
        score = np.exp(node[t])
        if t > 0:
            score = score * (messages[0][t - 1] @ np.exp(edges[t]))
        if t < T - 1:
            score = score * (np.exp(edges[t + 1]) @ messages[1][t + 1])
        total -= float(np.log(score[right[t]].sum() / score.sum()))
    return total
