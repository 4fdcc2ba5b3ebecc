"""A table of edge scores at every position."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np

from hedgerow.chain import kernels
from hedgerow.chain.edges.tables import Passes, Recursion, TableEdges
from hedgerow.chain.potentials import ChainPotentials
from hedgerow.chain.workspace import Workspace, run_slices
from hedgerow.errors import InputError
from hedgerow.legend import FLOAT, AnyArray, BoolArray, FloatArray, IndexArray


@dataclass(frozen=True, slots=True)
class PositionEdges(TableEdges):
    """A table of edge scores at every position.

    exps : (K, n, K) [to, position, from], exp(scores − shift of the position); rows of first positions are not read
    shifts : (n,), about the largest finite score of each position
    kept_scores : (K, n, K), the scores; None where the exponentials are all there is, as while trees are boosted
    """

    per_position: ClassVar[bool] = True
    exps: FloatArray
    shifts: FloatArray
    kept_scores: FloatArray | None = None

    @classmethod
    def from_scores(cls, scores: Any) -> Self:
        """From (K, n, K) [to, position, from]."""
        table = np.ascontiguousarray(scores, dtype=FLOAT)
        if table.ndim != 3 or table.shape[0] != table.shape[2]:
            raise InputError(f"edge scores must be (to, positions, from), not of shape {table.shape}")
        shifts = table.max(axis=(0, 2), initial=-np.inf)
        if not (shifts < np.inf).all():  # false for NaN too
            row = int(np.argmin(shifts < np.inf))
            raise InputError(f"edge scores must be numbers or −inf, and one of row {row} is NaN or +inf")
        shifts[np.isneginf(shifts)] = 0.0
        return cls(np.exp(table - shifts[:, None]), shifts, table)

    @classmethod
    def from_scores_to(cls, scores: FloatArray) -> Self:
        return cls.from_scores(scores)

    @property
    def n_labels(self) -> int:
        return len(self.exps)

    @property
    def scores_to(self) -> FloatArray:
        """(K, n, K) [to, position, from]; made anew at each call where only exponentials are kept."""
        if self.kept_scores is not None:
            return self.kept_scores
        with np.errstate(divide="ignore"):
            return np.log(self.exps) + self.shifts[:, None]

    @property
    def legal_arcs(self) -> BoolArray:
        return self.exps > 0.0 if self.kept_scores is None else self.kept_scores > -np.inf

    def with_scores(self) -> Self:
        return self if self.kept_scores is not None else replace(self, kept_scores=self.scores_to)

    def scores_plus(self, table: FloatArray) -> FloatArray:
        return table.T[:, None] + self.scores_to

    def take(self, rows: IndexArray) -> PositionEdges:
        exps = np.ascontiguousarray(self.exps[:, rows])
        scores = None if self.kept_scores is None else np.ascontiguousarray(self.kept_scores[:, rows])
        return PositionEdges(exps, self.shifts[rows], scores)

    @property
    def passes(self) -> Passes:
        tables = kernels.position_chain
        return Passes(partial(tables.forward, self.exps), partial(tables.backward, self.exps), self.shifts)

    def sum_edges(self, work: Workspace, *, moments: bool) -> FloatArray:
        values: FloatArray = np.empty(self.exps.shape)
        values[:, :1] = 0.0
        kernel = kernels.position_chain.edge_moments if moments else kernels.position_chain.edge_probs
        work.sum_edges(kernel, self.exps, values, moments=moments)
        return values

    def moment_recursions(self, direction: FloatArray | None) -> tuple[int, Recursion, Recursion]:
        cells, tables = self.n_labels**2, kernels.position_chain
        if direction is None:
            return cells, partial(tables.past, self.exps), partial(tables.future, self.exps)
        along = self.exps, direction
        return 2 * cells, partial(tables.past_along, along), partial(tables.future_along, along)

    def best_scores(self, potentials: ChainPotentials) -> FloatArray:
        n, K = potentials.node_scores.shape
        best: FloatArray = np.empty((n, K))
        chain = potentials.node_scores, self.scores_to, potentials.first
        run_slices(kernels.search.viterbi_positions, n, 5 * K * K, *chain, best)
        return best

    def position_scores(self, potentials: ChainPotentials, labels: AnyArray) -> FloatArray:
        if self.kept_scores is not None:
            return TableEdges.position_scores(self, potentials, labels)  # a class with slots has no super()
        scores, moves = self._true_moves(potentials, self.exps, labels, -1.0)
        with np.errstate(divide="ignore"):
            return scores + np.where(moves < 0.0, 0.0, np.log(np.abs(moves)) + self.shifts)

    def add_neighbours(
        self, scores: FloatArray, potentials: ChainPotentials, labels: AnyArray, values: FloatArray | None = None
    ) -> None:
        if self.kept_scores is None and values is None:
            n, K = scores.shape
            given = self.exps, self.shifts, labels, potentials.first, scores
            run_slices(kernels.pseudo.add_neighbour_logs, n, 40 * K, *given)
        else:
            TableEdges.add_neighbours(self, scores, potentials, labels, values)
