"""The best labelings of chains of histories, exactly and by a beam, and the sums over what a beam keeps."""

from __future__ import annotations

import numpy as np

from hedgerow.chain import kernels
from hedgerow.chain.inference.histories import HistoryMarginals, log_partition
from hedgerow.chain.inference.history_rows import (
    Rows,
    arrays,
    beam_pieces,
    check_scores,
    count_rows,
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
        model = potentials.node_scores[rows], edges.scores, *arrays(h)
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


def beam_marginals(
    potentials: ChainPotentials, width: int, arcs: IndexArray | None = None, weights: FloatArray | None = None
) -> HistoryMarginals:
    """log Z and marginals over the labelings that stay among the `width` best histories of each position.

    log Z is never larger than that of all labelings. `arcs` (n,) are those of a labeling that must stay in the beam,
    such as the true one.
    """
    beam = _Beam(potentials, width)
    h = potentials.arcs.histories
    values: FloatArray = np.empty(potentials.n_sequences)
    node_probs: FloatArray = np.empty(potentials.node_scores.shape)
    arc_sums: FloatArray = np.zeros(h.n_arcs)
    for i in range(potentials.n_sequences):
        rows = slice(int(potentials.offsets[i]), int(potentials.offsets[i + 1]))
        beam.search(i, None if arcs is None else h.arc_next[arcs[rows]])
        weight = 1.0 if weights is None else float(weights[i])
        values[i] = beam.sum(rows, weight, node_probs[rows], arc_sums)
    return HistoryMarginals(values, node_probs, arc_sums)


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
        self._scores, self._log_beta, self._probs = np.empty((3, *shape))
        self._n_kept: IndexArray = np.empty(longest + 1, dtype=INDEX)
        self._tops: FloatArray = np.empty(longest + 1)
        self._place: CodeArray = np.full(h.n_states, -1, dtype=CODE)
        most = min(width * h.n_labels, h.n_states)
        self._new_states: CodeArray = np.empty(most, dtype=CODE)
        self._new_scores: FloatArray = np.empty(most)
        self._new_came_by: IndexArray = np.empty(most, dtype=INDEX)
        self._chosen: IndexArray = np.empty(width, dtype=INDEX)
        self._listed: CodeArray = np.empty(h.n_labels, dtype=CODE)
        self._totals: FloatArray = np.empty(h.n_labels)

    def search(self, i: int, always: CodeArray | None = None) -> float:
        """Fill the beam of sequence i; the score of the best labeling in it. `always` (T,): histories to keep."""
        potentials, h = self.potentials, self.potentials.arcs.histories
        nodes = potentials.node_scores[potentials.offsets[i] : potentials.offsets[i + 1]]
        keep = np.full(len(nodes), -1, dtype=CODE) if always is None else always
        self._states[0, 0], self._scores[0, 0], self._n_kept[0] = h.start, 0.0, 1
        model = nodes, potentials.arcs.scores, *arrays(h), keep
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

    def sum(self, rows: slice, weight: float, node_probs: FloatArray, arc_sums: FloatArray) -> float:
        """log Z over what the beam keeps; fill node_probs (T, K), add to arc_sums (A,)."""
        h, length = self.potentials.arcs.histories, rows.stop - rows.start
        model = self.potentials.node_scores[rows], self.potentials.arcs.scores, *arrays(h)
        lattice = self._states, self._n_kept, self._log_beta
        scratch = self._place, self._listed, self._totals
        calls = beam_pieces(h, self.width, length)
        self._log_beta[length] = 0.0
        for t0, t1 in reversed(calls):
            kernels.history_beam.backward(*model, *lattice, self._tops, *scratch, t0, t1)
        self._probs[0, 0] = 1.0
        for t0, t1 in calls:
            kernels.history_beam.forward(*model, *lattice, weight, self._probs, node_probs, arc_sums, *scratch, t0, t1)
        return float(self._tops[:length].sum())
