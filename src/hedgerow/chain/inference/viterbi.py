"""The best labeling of every sequence."""

from __future__ import annotations

import numpy as np

from hedgerow.chain import kernels
from hedgerow.chain.inference import history_search, history_tables
from hedgerow.chain.inference.forward import check_legal
from hedgerow.chain.inference.workspace import slices, slices_back
from hedgerow.chain.potentials import ChainPotentials, HistoryEdges, HistoryTables, PositionEdges
from hedgerow.legend import CODE, CodeArray, FloatArray


def best_labelings(potentials: ChainPotentials) -> tuple[CodeArray, FloatArray]:
    """The labels (n,) of the best labeling of each sequence, and their scores (s,).

    Of equal labelings: the lowest label at the last position, then the lowest one before it, and so on; with histories
    as `history_search` says.
    """
    if isinstance(potentials.edges, HistoryEdges):
        return history_search.best_labelings(potentials)
    if isinstance(potentials.edges, HistoryTables):
        return history_tables.best_labelings(potentials)
    n, K = potentials.node_scores.shape
    edges, first = potentials.tables, potentials.first()
    best = np.empty((n, K))
    for t0, t1 in slices(n, 5 * K * K):
        if isinstance(edges, PositionEdges):
            kernels.search.viterbi_positions(potentials.node_scores, edges.scores, first, best, t0, t1)
        else:
            kernels.search.viterbi_shared(potentials.node_scores, edges.scores, first, best, t0, t1)
    scores: FloatArray = best[potentials.offsets[1:] - 1].max(axis=1, initial=-np.inf)
    if np.isneginf(scores).any():
        check_legal(potentials)
    labels = np.empty(n, dtype=CODE)
    for t0, t1 in slices_back(n, 5 * K):
        kernels.search.trace(edges.scores_to, first, best, labels, t0, t1)
    return labels, scores
