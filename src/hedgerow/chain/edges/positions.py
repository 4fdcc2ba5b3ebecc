"""A table of edge scores at every position."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np

from hedgerow.chain import kernels
from hedgerow.chain.edges.messages import Messages, Pieces
from hedgerow.chain.edges.tables import Passes, Recursion, TableEdges
from hedgerow.chain.potentials import ChainPotentials
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

    def passes(self, work: Workspace) -> Passes:
        forward = partial(kernels.position_chain.forward, work.node_exp, self.exps)
        backward = partial(kernels.position_chain.backward, work.node_exp, self.exps)
        return Passes(forward, backward, self.shifts)

    def edge_marginals(self, work: Workspace, pieces: Pieces) -> FloatArray:
        probs: FloatArray = np.empty(self.exps.shape)
        probs[:, :1] = 0.0
        for t0, t1 in pieces:
            kernels.position_chain.edge_probs(work.alpha, work.node_exp, self.exps, probs, t0, t1)
        return probs

    def moment_recursions(
        self, messages: Messages, terms: FloatArray, direction: FloatArray | None
    ) -> tuple[int, Recursion, Recursion]:
        work, K, tables = messages.work, self.n_labels, kernels.position_covariance
        given = messages.potentials.first, work.alpha, work.node_probs
        ahead, back = (work.past, work.future, work.moved), (work.carried, work.future, work.moved)
        if direction is None:
            return (
                K * K,
                partial(tables.forward, terms, work.node_exp, self.exps, *given, *ahead),
                partial(tables.backward, work.node_exp, self.exps, *given, *back),
            )
        return (
            2 * K * K,
            partial(tables.forward_along, terms, work.node_exp, self.exps, direction, *given, *ahead),
            partial(tables.backward_along, work.node_exp, self.exps, direction, *given, *back),
        )

    def edge_moments(
        self, messages: Messages, direction: FloatArray | None, pieces: Pieces
    ) -> tuple[FloatArray, FloatArray | None]:
        work = messages.work
        given = work.alpha, work.node_exp, work.past, work.future, self.exps
        moved: FloatArray = np.empty(self.exps.shape)
        moved[:, :1] = 0.0
        if direction is None:
            for t0, t1 in pieces:
                kernels.position_covariance.edges(*given, moved, t0, t1)
            return moved, None
        probs: FloatArray = np.empty(self.exps.shape)
        probs[:, :1] = 0.0
        for t0, t1 in pieces:
            kernels.position_covariance.edges_along(*given, direction, moved, probs, t0, t1)
        return moved, probs

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
        if self.kept_scores is not None:
            return TableEdges.position_scores(self, potentials, labels)  # a class with slots has no super()
        # exponentials: logarithms of a few alone
        rows = np.arange(potentials.n_positions)
        scores: FloatArray = np.where(labels >= 0, potentials.node_scores[rows, labels], 0.0)
        inner = np.flatnonzero((potentials.first[:-1] == 0) & (labels >= 0))
        inner = inner[labels[inner - 1] >= 0]
        with np.errstate(divide="ignore"):
            scores[inner] += np.log(self.exps[labels[inner], inner, labels[inner - 1]]) + self.shifts[inner]
        return scores

    def add_neighbours(
        self, scores: FloatArray, potentials: ChainPotentials, labels: AnyArray, t0: int, t1: int
    ) -> None:
        if self.kept_scores is None:
            kernels.pseudo.add_neighbour_logs(self.exps, self.shifts, labels, potentials.first, scores, t0, t1)
        else:
            TableEdges.add_neighbours(self, scores, potentials, labels, t0, t1)

    def subtract_labeling(
        self,
        potentials: ChainPotentials,
        labels: AnyArray,
        weights: FloatArray,
        node_gradient: FloatArray,
        edge_gradient: FloatArray,
    ) -> None:
        kernels.position_chain.subtract_truth(potentials.first, labels, weights, node_gradient, edge_gradient)
