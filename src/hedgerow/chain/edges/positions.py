"""A table of edge scores at every position."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np

from hedgerow.chain import kernels
from hedgerow.chain.edges.messages import Pieces
from hedgerow.chain.edges.tables import Passes, Recursion, TableEdges
from hedgerow.chain.potentials import ChainPotentials, Gradients
from hedgerow.chain.workspace import Workspace, slices
from hedgerow.errors import InputError
from hedgerow.legend import FLOAT, AnyArray, FloatArray, IndexArray


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

    def edge_marginals(self, work: Workspace, pieces: Pieces) -> FloatArray:
        probs: FloatArray = np.empty(self.exps.shape)
        probs[:, :1] = 0.0
        for t0, t1 in pieces:
            kernels.position_chain.edge_probs(work.alpha, work.node_exp, self.exps, probs, t0, t1)
        return probs

    def moment_recursions(self, direction: FloatArray | None) -> tuple[int, Recursion, Recursion]:
        cells, tables = self.n_labels**2, kernels.position_chain
        if direction is None:
            return cells, partial(tables.past, self.exps), partial(tables.future, self.exps)
        along = self.exps, direction
        return 2 * cells, partial(tables.past_along, along), partial(tables.future_along, along)

    def edge_moments(self, work: Workspace, pieces: Pieces) -> FloatArray:
        moved: FloatArray = np.empty(self.exps.shape)
        moved[:, :1] = 0.0
        given = work.alpha, work.node_exp, work.past, work.future, self.exps, moved
        for t0, t1 in pieces:
            kernels.position_chain.edge_moments(*given, t0, t1)
        return moved

    def reach(self, potentials: ChainPotentials) -> tuple[AnyArray, IndexArray]:
        n, K = potentials.node_scores.shape
        possible, scores = (potentials.node_scores > -np.inf).view(np.uint8), self.scores_to
        reached, count = np.empty((n, K), dtype=np.uint8), np.empty(n, dtype=np.int64)
        for t0, t1 in slices(n, K * K):
            kernels.position_chain.reach(possible, scores, potentials.first, reached, count, t0, t1)
        return reached, count

    def reach_end(self, potentials: ChainPotentials, reached: AnyArray) -> IndexArray:
        (n, K), scores = reached.shape, self.scores_to
        ending, count = np.empty((n, K), dtype=np.uint8), np.empty(n, dtype=np.int64)
        for t0, t1 in slices(n, K * K, back=True):
            kernels.position_chain.reach_end(reached, scores, potentials.first, ending, count, t0, t1)
        return count

    def best_scores(self, potentials: ChainPotentials) -> FloatArray:
        (n, K), scores = potentials.node_scores.shape, self.scores_to
        best: FloatArray = np.empty((n, K))
        for t0, t1 in slices(n, 5 * K * K):
            kernels.search.viterbi_positions(potentials.node_scores, scores, potentials.first, best, t0, t1)
        return best

    def position_scores(self, potentials: ChainPotentials, labels: AnyArray) -> FloatArray:
        rows = np.arange(potentials.n_positions)
        scores: FloatArray = np.where(labels >= 0, potentials.node_scores[rows, labels], 0.0)
        inner = np.flatnonzero((potentials.first[:-1] == 0) & (labels >= 0))
        inner = inner[labels[inner - 1] >= 0]
        moves = labels[inner], inner, labels[inner - 1]
        if self.kept_scores is not None:
            scores[inner] += self.kept_scores[moves]
        else:
            with np.errstate(divide="ignore"):
                scores[inner] += np.log(self.exps[moves]) + self.shifts[inner]
        return scores

    def add_neighbours(
        self, scores: FloatArray, potentials: ChainPotentials, labels: AnyArray, t0: int, t1: int
    ) -> None:
        if self.kept_scores is None:
            kernels.pseudo.add_neighbour_logs(self.exps, self.shifts, labels, potentials.first, scores, t0, t1)
        else:
            TableEdges.add_neighbours(self, scores, potentials, labels, t0, t1)  # a class with slots has no super()

    def subtract_labeling(
        self, potentials: ChainPotentials, labels: AnyArray, weights: FloatArray, gradients: Gradients
    ) -> None:
        kernels.position_chain.subtract_truth(potentials.first, labels, weights, *gradients)
