"""Pseudo-likelihood by its definition: the probability of each label where all the others are the true ones."""

from __future__ import annotations

import numpy as np

from hedgerow.legend import AnyArray, FloatArray
from tests.reference.chain import log_sum, score, sequences


def conditional(node: FloatArray, edges: FloatArray, offsets: AnyArray, labels: AnyArray) -> FloatArray:
    """P(y_t = v | all other labels), (n, K): from the scores of whole labelings that differ at t alone."""
    n, K = node.shape
    probs = np.empty((n, K))
    for begin, end in sequences(offsets):
        rows = slice(begin, end)
        local = edges if edges.ndim == 2 else edges[:, rows]
        for t in range(begin, end):
            scores = np.empty(K)
            for v in range(K):
                changed = labels[rows].copy()
                changed[t - begin] = v
                scores[v] = score(node[rows], local, np.array([0, end - begin]), changed)[0]
            probs[t] = np.exp(scores - log_sum(scores, axis=0))
    return probs


def loss(node: FloatArray, edges: FloatArray, offsets: AnyArray, labels: AnyArray) -> FloatArray:
    """−Σ_t log P(y_t | all other labels) of each sequence, (s,)."""
    probs = conditional(node, edges, offsets, labels)
    costs = -np.log(probs[np.arange(len(labels)), labels])
    return np.array([costs[begin:end].sum() for begin, end in sequences(offsets)])
