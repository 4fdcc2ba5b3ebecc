"""Beam search: the best labeling that stays among the best states of each position."""

from __future__ import annotations

import numpy as np

from hedgerow.chain import kernels
from hedgerow.chain.inference import history_search, history_tables
from hedgerow.chain.inference.forward import check_legal
from hedgerow.chain.inference.workspace import slices
from hedgerow.chain.potentials import ChainPotentials, HistoryEdges, HistoryTables
from hedgerow.errors import InputError
from hedgerow.legend import CODE, CodeArray, FloatArray


def beam_labelings(potentials: ChainPotentials, width: int) -> tuple[CodeArray, FloatArray]:
    """The labels (n,) that the search finds for each sequence, and their scores (s,).

    A state is a label, or a history where edges are that; `width` of them go on at each position. With as many as there
    are, the search is exact. Of equal states the lower label goes on.
    """
    if width < 1:
        raise InputError(f"a beam of width {width} keeps nothing", hint="The width must be at least 1.")
    if isinstance(potentials.edges, HistoryEdges):
        return history_search.beam_labelings(potentials, width)
    if isinstance(potentials.edges, HistoryTables):
        parts = [
            beam_labelings(history_tables.unfold(potentials.sequence(i)), width) for i in range(potentials.n_sequences)
        ]
        states = np.concatenate([np.empty(0, dtype=CODE), *(labels for labels, _ in parts)])
        return history_tables.last_labels(potentials)[states], np.concatenate([[], *(score for _, score in parts)])
    n, K = potentials.node_scores.shape
    width = min(width, K)
    edge_scores, first = potentials.tables.scores_to, potentials.first()
    states, came_from = np.empty((2, n, width), dtype=CODE)
    scores, n_kept = np.empty((n, width)), np.empty(n, dtype=CODE)
    totals, ranks = np.empty(K), np.empty(K, dtype=CODE)
    for t0, t1 in slices(n, 5 * width * K):
        t = kernels.beam.search(
            potentials.node_scores, edge_scores, first, states, scores, came_from, n_kept, totals, ranks, t0, t1
        )
        if t < t1:
            check_legal(potentials)
            i, position = potentials.place(int(t))
            hint = "Use a wider one, or exact search."
            raise InputError("the beam ran into a dead end", hint=hint, sequence=i, position=position)
    labels = np.empty(n, dtype=CODE)
    kernels.beam.trace(first, states, came_from, labels)
    return labels, scores[potentials.offsets[1:] - 1, 0]
