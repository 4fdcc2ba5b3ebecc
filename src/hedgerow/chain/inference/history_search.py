"""The best labelings of chains of histories, exactly and by a beam."""

from __future__ import annotations

import numpy as np

from hedgerow.chain import kernels
from hedgerow.chain.inference.histories import log_partition
from hedgerow.chain.inference.history_rows import (
    Rows,
    beam_pieces,
    check_scores,
    count_rows,
    history_arcs,
    pieces,
    refuse_illegal,
)
from hedgerow.chain.inference.labelings import KBest
from hedgerow.chain.potentials import ChainPotentials
from hedgerow.errors import InputError
from hedgerow.legend import CODE, INDEX, CodeArray, FloatArray, IndexArray


def best_labelings(potentials: ChainPotentials) -> tuple[CodeArray, FloatArray]:
    """The labels (n,) of the best labeling of each sequence, and their scores (s,).

    Of equal labelings, the one that goes to a label its history has seen, then to the lowest label, from the first
    position on.
    """
    search = _Search(potentials, 1)
    labels = np.empty(potentials.n_positions, dtype=CODE)
    scores: FloatArray = np.empty(potentials.n_sequences)
    for i in range(potentials.n_sequences):
        found, of_found = search.sequence(i)
        labels[potentials.offsets[i] : potentials.offsets[i + 1]] = found[0]
        scores[i] = of_found[0]
    return labels, scores


def k_best(potentials: ChainPotentials, k: int) -> list[KBest]:
    """The k best labelings of each sequence of the chunk, exactly; fewer where fewer are legal."""
    if k < 1:
        raise InputError(f"⟦k={k}⟧ labelings were asked for", hint="⟦k⟧ must be at least 1")
    log_z = log_partition(potentials)
    search = _Search(potentials, k)
    best = []
    for i in range(potentials.n_sequences):
        labels, scores = search.sequence(i)
        best.append(KBest(labels, scores, np.exp(np.minimum(scores - log_z[i], 0.0))))
    return best


class _Search:
    """The exact search of a chunk: what can follow at best, from the last position back, and then the k best
    beginnings."""

    def __init__(self, potentials: ChainPotentials, k: int) -> None:
        check_scores(potentials)
        self.potentials, self.k = potentials, k
        h = potentials.arcs.histories
        longest = int(np.diff(potentials.offsets).max(initial=1))
        self._rows = np.empty((count_rows(longest, h.n_states), h.n_states))
        self._arc_totals = np.empty(h.n_arcs)
        self._choice = np.empty(h.n_states, dtype=CODE)
        self._listed = np.empty(h.n_labels, dtype=CODE)
        self._came_by = np.empty((longest, k), dtype=INDEX)

    def sequence(self, i: int) -> tuple[CodeArray, FloatArray]:
        """The labels (m, T) and scores (m,) of the best labelings of sequence i, m ≤ k."""
        potentials = self.potentials
        edges, h = potentials.arcs, potentials.arcs.histories
        rows = slice(int(potentials.offsets[i]), int(potentials.offsets[i + 1]))
        model = potentials.node_scores[rows], edges.scores, history_arcs(h)
        length = rows.stop - rows.start

        def fill(best: FloatArray, base: int, t0: int, t1: int) -> bool:
            scratch = self._arc_totals, self._choice, self._listed
            for p0, p1 in reversed(pieces(h, t0, t1)):
                kernels.history_search.best_ahead(*model, best, *scratch, base, length, p0, p1)
            return True

        ahead = Rows(fill, self._rows, 0, length)
        ahead.sweep()
        states: CodeArray = np.full((2, self.k), h.start, dtype=CODE)
        scores: FloatArray = np.zeros((3, self.k))
        items: IndexArray = np.empty(self.k, dtype=INDEX)
        scratch = scores[1], items, states[1], scores[2], self._listed
        found = 1
        for base, stop in ahead.blocks():
            into = ahead.buffer, states[0], scores[0], found, self._came_by
            found = kernels.history_search.k_best(*model, *into, *scratch, base, base, stop)
        if not found:
            refuse_illegal(potentials, i)
        labels = np.empty((found, length), dtype=CODE)
        for r in range(found):
            kernels.history_search.trace(self._came_by, h.arc_label, r, labels[r], 0, length)
        return labels, scores[0, :found].copy()


def beam_labelings(potentials: ChainPotentials, width: int) -> tuple[CodeArray, FloatArray]:
    """As `best_labelings`, looking at the `width` best histories of each position only: what it finds may be worse."""
    beam = _Beam(potentials, width)
    labels = np.empty(potentials.n_positions, dtype=CODE)
    scores: FloatArray = np.empty(potentials.n_sequences)
    h = potentials.arcs.histories
    for i in range(potentials.n_sequences):
        own = labels[potentials.offsets[i] : potentials.offsets[i + 1]]
        scores[i] = beam.search(i)
        kernels.history_search.trace(beam.came_by[1:], h.arc_label, 0, own, 0, len(own))
    return labels, scores


class _Beam:
    """The beam of one sequence after the other. Row t of its arrays is the time after t labels."""

    def __init__(self, potentials: ChainPotentials, width: int) -> None:
        if width < 1:
            raise InputError(f"a beam of width {width} keeps nothing", hint="The width must be at least 1.")
        check_scores(potentials)
        self.potentials, self.width = potentials, width
        h = potentials.arcs.histories
        longest = int(np.diff(potentials.offsets).max(initial=1))
        shape = longest + 1, width
        self.came_by: IndexArray = np.empty(shape, dtype=INDEX)
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

    def search(self, i: int) -> float:
        """Fill the beam of sequence i; the score of the best labeling in it."""
        potentials, h = self.potentials, self.potentials.arcs.histories
        nodes = potentials.node_scores[potentials.offsets[i] : potentials.offsets[i + 1]]
        self._states[0, 0], self._scores[0, 0], self._n_kept[0] = h.start, 0.0, 1
        model = nodes, potentials.arcs.scores, history_arcs(h)
        state = self._states, self._scores, self._n_kept, self.came_by, self._place
        scratch = self._new_states, self._new_scores, self._new_came_by, self._chosen, self._listed
        for t0, t1 in beam_pieces(h, self.width, len(nodes)):
            t = kernels.history_beam.search(*model, *state, *scratch, t0, t1)
            if t < t1:
                refuse_illegal(potentials, i)
                hint = "Use a wider one, or exact search."
                number = potentials.sequence_number(i)
                raise InputError("the beam ran into a dead end", hint=hint, sequence=number, position=t)
        return float(self._scores[len(nodes), 0])
