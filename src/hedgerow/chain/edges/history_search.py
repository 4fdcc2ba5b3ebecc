"""The best labelings of chains of histories, exactly and by a beam."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hedgerow.chain import kernels
from hedgerow.chain.edges.history_rows import BackwardRows, count_rows, groups, pieces
from hedgerow.chain.potentials import ChainPotentials
from hedgerow.errors import InputError
from hedgerow.legend import CODE, INDEX, AnyArray, CodeArray, FloatArray, IndexArray

if TYPE_CHECKING:
    from hedgerow.chain.edges.histories import HistoryEdges


class HistorySearch:
    """The exact search of a chunk: what can follow at best, from the last position back, and then the k best
    beginnings."""

    def __init__(self, edges: HistoryEdges, potentials: ChainPotentials, k: int) -> None:
        edges.check_scores(potentials)
        self.edges, self.potentials, self.k = edges, potentials, k
        h = edges.histories
        longest = int(np.diff(potentials.offsets).max(initial=1))
        self._rows = np.empty((count_rows(longest, h.n_states), h.n_states))
        self._arc_totals = np.empty(h.n_arcs)
        self._choice = np.empty(h.n_states, dtype=CODE)
        self._listed = np.empty(h.n_labels, dtype=CODE)
        self._came_by = np.empty((longest, k), dtype=INDEX)

    def best(self) -> tuple[CodeArray, FloatArray]:
        """Labels (n,) and scores (s,) of the best labelings of all sequences, k being 1: many in a call."""
        potentials, h = self.potentials, self.edges.histories
        labels, scores = np.empty(potentials.n_positions, dtype=CODE), np.empty(potentials.n_sequences)
        model = potentials.node_scores, self.edges.scores, h.walk, potentials.offsets, self._rows
        states, totals, items = np.empty((2, 1), dtype=CODE), np.empty((3, 1)), np.empty(1, dtype=INDEX)
        scratch = self._arc_totals, self._choice, self._listed, states, totals, items, self._came_by
        for first, last in groups(h, potentials.offsets, len(self._rows)):
            if last > first + 1:
                i = kernels.history_search.best_labelings(*model, *scratch, labels, scores, first, last)
                if i < last:
                    self.edges.refuse_illegal(potentials, i)
            else:  # it may be long
                best, score = self.sequence(first)
                labels[potentials.rows(first)], scores[first] = best[0], score[0]
        return labels, scores

    def sequence(self, i: int) -> tuple[CodeArray, FloatArray]:
        """The labels (m, T) and scores (m,) of the best labelings of sequence i, m ≤ k."""
        potentials, h = self.potentials, self.edges.histories
        nodes = potentials.node_scores[potentials.rows(i)]
        model = nodes, self.edges.scores, h.walk
        length = len(nodes)

        def fill(best: FloatArray, base: int, t0: int, t1: int) -> bool:
            scratch = self._arc_totals, self._choice, self._listed
            for p0, p1 in reversed(pieces(h.size, t0, t1)):
                kernels.history_search.best_ahead(*model, best, *scratch, base, length, p0, p1)
            return True

        ahead = BackwardRows(fill, self._rows, 0, length)
        ahead.sweep()
        states: CodeArray = np.full((2, self.k), h.start, dtype=CODE)
        scores: FloatArray = np.zeros((3, self.k))
        items: IndexArray = np.empty(self.k, dtype=INDEX)
        scratch = scores[1], items, states[1], scores[2], self._listed
        n_kept = 1
        for base, stop in ahead.blocks():
            into = ahead.buffer, states[0], scores[0], n_kept, self._came_by
            n_kept = kernels.history_search.k_best(*model, *into, *scratch, base, base, stop)
        if not n_kept:
            self.edges.refuse_illegal(potentials, i)
        labels = np.empty((n_kept, length), dtype=CODE)
        for r in range(n_kept):
            kernels.history_search.trace(self._came_by, h.arc_label, r, labels[r], 0, length)
        return labels, scores[0, :n_kept].copy()


class HistoryBeam:
    """The beam of one sequence after the other. Row t of its arrays is the time after t labels."""

    def __init__(self, edges: HistoryEdges, potentials: ChainPotentials, width: int) -> None:
        edges.check_scores(potentials)
        self.edges, self.potentials, self.width = edges, potentials, width
        h = edges.histories
        longest = int(np.diff(potentials.offsets).max(initial=1))
        shape = longest + 1, width
        self._came_by: IndexArray = np.empty(shape, dtype=INDEX)
        self._states: CodeArray = np.empty(shape, dtype=CODE)
        self._scores: FloatArray = np.empty(shape)
        self._n_kept: IndexArray = np.empty(longest + 1, dtype=INDEX)
        self._place: CodeArray = np.full(h.n_states, -1, dtype=CODE)
        most = min(width * h.n_labels, h.n_states)
        self._new_states: CodeArray = np.empty(most, dtype=CODE)
        self._new_scores: FloatArray = np.empty(most)
        self._new_came_by: IndexArray = np.empty(most, dtype=INDEX)
        self._chosen: IndexArray = np.empty(width, dtype=INDEX)
        self._listed: CodeArray = np.empty(h.n_labels, dtype=CODE)

    @property
    def _buffers(self) -> tuple[AnyArray, ...]:
        state = self._states, self._scores, self._n_kept, self._came_by, self._place
        return *state, self._new_states, self._new_scores, self._new_came_by, self._chosen, self._listed

    def best(self) -> tuple[CodeArray, FloatArray]:
        """Labels (n,) and scores (s,) of what the beam keeps of all sequences: many in a call."""
        potentials, h = self.potentials, self.edges.histories
        labels, scores = np.empty(potentials.n_positions, dtype=CODE), np.empty(potentials.n_sequences)
        model = potentials.node_scores, self.edges.scores, h.walk, potentials.offsets
        for first, last in groups(h, potentials.offsets, len(self._states)):
            i = first
            if last > first + 1:
                i = kernels.history_beam.labelings(*model, *self._buffers, labels, scores, first, last)
            if i < last:  # it may be long, or says why nothing is left
                scores[i] = self.sequence(i, labels[potentials.rows(i)])
        return labels, scores

    def sequence(self, i: int, labels: CodeArray) -> float:
        """Fill labels (T,) with the best labeling of sequence i that the beam keeps; its score."""
        potentials, h = self.potentials, self.edges.histories
        nodes = potentials.node_scores[potentials.rows(i)]
        self._states[0, 0], self._scores[0, 0], self._n_kept[0] = h.start, 0.0, 1
        for t0, t1 in pieces(self.width * h.n_labels, 0, len(nodes)):
            t = kernels.history_beam.search(nodes, self.edges.scores, h.walk, *self._buffers, t0, t1)
            if t < t1:
                self.edges.refuse_illegal(potentials, i)
                hint = "Use a wider one, or exact search."
                number = potentials.sequence_number(i)
                raise InputError("the beam ran into a dead end", hint=hint, sequence=number, position=t)
        kernels.history_search.trace(self._came_by[1:], h.arc_label, 0, labels, 0, len(labels))
        return float(self._scores[len(nodes), 0])
