"""Chains of higher order over few labels: a score for every label after every history, at each position.

Sums and the best labeling have kernels of their own, whose time grows with K·H at each position. For the rest the
chain is unfolded, mostly one sequence at a time: H² scores at each position.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from hedgerow.chain import kernels
from hedgerow.chain.edges.higher_order import HigherOrderEdges
from hedgerow.chain.edges.positions import PositionEdges
from hedgerow.chain.edges.unfolding import Moves, Unfolded
from hedgerow.chain.potentials import ChainPotentials, Marginals
from hedgerow.chain.structure.history_table import HistoryTable
from hedgerow.chain.workspace import Workspace, run_slices, slices
from hedgerow.errors import InputError, NumbersError
from hedgerow.legend import CODE, AnyArray, BoolArray, CodeArray, FloatArray, IndexArray

_CELLS = 40  # what an arc costs, in the cells of `slices`: two exponentials


@dataclass(frozen=True, slots=True)
class HistoryTables(HigherOrderEdges):
    """A score for every label after every history, at each position.

    table : the histories
    scores : (K, n, H) [to, position, history], contiguous; −inf is impossible. A first label has scores after ⊥ too.
    """

    per_position: ClassVar[bool] = True
    weighed_last: ClassVar[bool] = True
    table: HistoryTable
    scores: FloatArray

    def __post_init__(self) -> None:
        K, H = self.table.n_labels, self.table.n_histories
        if self.scores.ndim != 3 or self.scores.shape[::2] != (K, H):
            raise InputError(f"scores of shape {self.scores.shape} do not fit {K} labels after {H} histories")

    @property
    def n_labels(self) -> int:
        return self.table.n_labels

    @property
    def order(self) -> int:
        return self.table.order

    def take(self, rows: IndexArray) -> HistoryTables:
        return HistoryTables(self.table, np.ascontiguousarray(self.scores[:, rows]))

    def scaled(self, factor: float) -> HistoryTables:
        return HistoryTables(self.table, self.scores * factor)

    def _chain(self, potentials: ChainPotentials) -> tuple[FloatArray, FloatArray, AnyArray, CodeArray]:
        """What every kernel reads."""
        return potentials.node_scores, self.scores, potentials.first, self.table.next

    def log_partition(self, potentials: ChainPotentials, workspace: Workspace | None) -> FloatArray:
        return self._forward(potentials)[0]

    def marginals(
        self, potentials: ChainPotentials, workspace: Workspace | None, weights: FloatArray | None
    ) -> Marginals:
        values, log_alpha = self._forward(potentials)
        (n, K), H = potentials.node_scores.shape, self.table.n_histories
        row, spare, node_probs, probs = np.zeros(H), np.empty(H), np.empty((n, K)), np.empty(self.scores.shape)
        given = *self._chain(potentials), log_alpha, row, spare, node_probs, probs
        run_slices(kernels.history_tables.backward, n, _CELLS * K * H, *given, back=True)
        return Marginals(values, node_probs, probs)

    def _forward(self, potentials: ChainPotentials) -> tuple[FloatArray, FloatArray]:
        """log Z, (s,), and log α, (n, H). An illegal sequence is an error."""
        (n, K), H = potentials.node_scores.shape, self.table.n_histories
        row, sums = np.empty((2, H))
        log_alpha, tops = np.empty((n, H)), np.empty(n)
        chain = self._chain(potentials)
        for t0, t1 in slices(n, _CELLS * K * H):
            t = kernels.history_tables.forward(*chain, log_alpha, tops, row, sums, t0, t1)
            if t < t1:
                i, position = potentials.place(int(t))
                raise InputError(
                    "no legal labeling exists: no label that is possible here follows the labels that are possible "
                    "before",
                    hint="Allow more transitions, or more labels at this position",
                    sequence=i,
                    position=position,
                )
        values: FloatArray = np.add.reduceat(tops, potentials.offsets[:-1]) if n else np.empty(0)
        if not np.isfinite(values).all():
            i = potentials.sequence_number(int(np.argmin(np.isfinite(values))))
            raise NumbersError("the scores hold NaN or +inf, or are too large to add", sequence=i)
        return values, log_alpha

    def legal_sequences(self, potentials: ChainPotentials) -> BoolArray:
        return self._best_ahead(potentials)[1] > -np.inf

    def check_legal(self, potentials: ChainPotentials) -> None:
        self._forward(potentials)

    def best_labelings(self, potentials: ChainPotentials) -> tuple[CodeArray, FloatArray]:
        """Of equal labelings, the one with the lowest first label, then the lowest second one, and so on."""
        choice, scores = self._best_ahead(potentials)
        if not np.isfinite(scores).all():
            self._forward(potentials)  # which says why
        labels = np.empty(potentials.n_positions, dtype=CODE)
        kernels.history_tables.trace(potentials.first, self.table.next, choice, labels)
        return labels, scores

    def _best_ahead(self, potentials: ChainPotentials) -> tuple[CodeArray, FloatArray]:
        """The best label after each history, (n, H), and the score of the best labeling of each sequence, (s,)."""
        (n, K), H = potentials.node_scores.shape, self.table.n_histories
        row, spare = np.zeros((2, H))
        choice, values = np.empty((n, H), dtype=CODE), np.empty(n)
        given = *self._chain(potentials), row, spare, choice, values
        run_slices(kernels.history_tables.best_ahead, n, 5 * K * H, *given, back=True)
        return choice, values[potentials.offsets[:-1]]

    def gradient_shape(self, n_positions: int) -> tuple[int, ...]:
        return self.n_labels, n_positions, self.table.n_histories

    def unfolded(self, potentials: ChainPotentials) -> UnfoldedTables:
        (K, H), ahead = self.table.next.shape, self.table.next.astype(np.int64)
        label, source = np.repeat(np.arange(K), H), np.tile(np.arange(H), K)
        starts, zeros = np.arange(K), np.zeros(K, dtype=np.int64)
        moves = Moves(K, self._last_labels, source, ahead.ravel(), label, source, ahead[:, 0], starts, zeros)
        return UnfoldedTables(potentials, moves)

    def _unfolded(self, potentials: ChainPotentials) -> Iterator[ChainPotentials]:
        """The sequences as chains of order 1. The label is the last one of its history, `_last_labels`."""
        for i in range(potentials.n_sequences):
            one = potentials.sequence(i)
            yield one.edges.unfolded(one).chain

    @property
    def _last_labels(self) -> CodeArray:
        """int32 (H,): the last label of each history."""
        return self.table.labels[:, -1]

    def k_best(self, potentials: ChainPotentials, k: int) -> list[tuple[CodeArray, FloatArray]]:
        best = [one.edges.k_best(one, k)[0] for one in self._unfolded(potentials)]
        return [(self._last_labels[states], scores) for states, scores in best]

    def beam_labelings(self, potentials: ChainPotentials, width: int) -> tuple[CodeArray, FloatArray]:
        best = [one.edges.beam_labelings(one, width) for one in self._unfolded(potentials)]
        states = np.concatenate([np.empty(0, dtype=CODE), *(states for states, _ in best)])
        return self._last_labels[states], np.concatenate([[], *(scores for _, scores in best)])

    def sample(self, potentials: ChainPotentials, uniforms: FloatArray) -> CodeArray:
        drawn = np.empty(uniforms.shape, dtype=CODE)
        for i, one in enumerate(self._unfolded(potentials)):
            rows = potentials.rows(i)
            states = one.edges.sample(one, np.ascontiguousarray(uniforms[:, rows]))
            drawn[:, rows] = self._last_labels[states]
        return drawn

    def entropy(self, potentials: ChainPotentials) -> FloatArray:
        return np.concatenate([np.empty(0), *(one.edges.entropy(one) for one in self._unfolded(potentials))])

    def values_along(
        self, potentials: ChainPotentials, labels: AnyArray, values: FloatArray | None = None
    ) -> FloatArray:
        own = self.scores if values is None else values
        before = self.table.before(np.maximum(labels, 0), potentials.first)  # where it has no labels, any
        return own[labels, np.arange(potentials.n_positions), before]

    def add_along(
        self, potentials: ChainPotentials, labels: AnyArray, weights: FloatArray, gradient: FloatArray
    ) -> None:
        rows, before = np.flatnonzero(labels >= 0), self.table.before(np.maximum(labels, 0), potentials.first)
        gradient[labels[rows], rows, before[rows]] += weights[rows]


class UnfoldedTables(Unfolded):
    """A label after a history is a move between two histories."""

    @property
    def scores(self) -> FloatArray:
        edges = self.potentials.edges
        assert isinstance(edges, HistoryTables)
        return edges.scores

    def make_edges(self) -> PositionEdges:
        return PositionEdges.from_scores(self.spread_edges(self.scores, -np.inf))

    def start_values(self, values: FloatArray) -> FloatArray:
        return values[:, self.firsts, 0].T

    def spread_edges(self, values: FloatArray, fill: float = 0.0) -> FloatArray:
        moves, H = self.moves, len(self.moves.last)
        table: FloatArray = np.full((H, values.shape[1], H), fill)
        table[moves.target, :, moves.source] = values[moves.label, :, moves.source]
        return table

    def fold_edges(self, nodes: FloatArray, edges: FloatArray) -> FloatArray:
        moves, folded = self.moves, np.zeros(self.scores.shape)
        folded[moves.label, :, moves.source] = edges[moves.target, :, moves.source]
        folded[:, self.firsts] = 0.0
        folded[:, self.firsts, 0] = nodes[np.ix_(self.firsts, moves.start)].T
        return folded
