"""Shared edges as lists of arcs, with their passes: cheaper than the table where few transitions are possible."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from hedgerow.chain import kernels
from hedgerow.chain.edges.messages import Messages, Pieces
from hedgerow.chain.edges.tables import Recursion
from hedgerow.chain.workspace import Workspace
from hedgerow.legend import INDEX, FloatArray, IndexArray


@dataclass(frozen=True, slots=True)
class ArcLists:
    """The arcs that are not forbidden, sorted by where they lead and by where they come from; exponentials as in
    SharedEdges.

    into_ptr (K+1,), into_from (A,), into_exps (A,) : the arcs into each label
    out_ptr (K+1,), out_to (A,), out_exps (A,) : the arcs out of each label
    """

    into_ptr: IndexArray
    into_from: IndexArray
    into_exps: FloatArray
    out_ptr: IndexArray
    out_to: IndexArray
    out_exps: FloatArray

    @classmethod
    def from_tables(cls, scores: FloatArray, exps: FloatArray) -> ArcLists:
        """Of (K, K) tables [from, to]."""
        possible = scores > -np.inf
        into_to, into_from = np.nonzero(possible.T)
        out_from, out_to = np.nonzero(possible)
        labels = np.arange(len(scores) + 1)
        return cls(
            np.searchsorted(into_to, labels).astype(INDEX),
            into_from.astype(INDEX),
            exps[into_from, into_to],
            np.searchsorted(out_from, labels).astype(INDEX),
            out_to.astype(INDEX),
            exps[out_from, out_to],
        )

    @property
    def _into(self) -> tuple[IndexArray, IndexArray, FloatArray]:
        return self.into_ptr, self.into_from, self.into_exps

    @property
    def _out(self) -> tuple[IndexArray, IndexArray, FloatArray]:
        return self.out_ptr, self.out_to, self.out_exps

    @property
    def _out_from(self) -> IndexArray:
        """(A,), where the arcs of out_to come from."""
        return np.repeat(np.arange(len(self.out_ptr) - 1), np.diff(self.out_ptr))

    def _table(self, arc_sums: FloatArray) -> FloatArray:
        """(K, K) [from, to] from sums (A,) over the arcs of out_to, times their exponentials."""
        K = len(self.out_ptr) - 1
        table = np.zeros((K, K))
        table[self._out_from, self.out_to] = arc_sums * self.out_exps
        return table

    def recursions(self, work: Workspace) -> tuple[Recursion, Recursion]:
        """The scaled recursions, forward and backward."""
        return (
            partial(kernels.arcs.forward, work.node_exp, *self._into),
            partial(kernels.arcs.backward, work.node_exp, *self._out),
        )

    def edge_marginals(self, work: Workspace, pieces: Pieces) -> FloatArray:
        arc_sums = np.zeros(len(self.out_to))
        for t0, t1 in pieces:
            kernels.arcs.sum_edges(work.alpha, work.node_exp, self.out_ptr, self.out_to, arc_sums, t0, t1)
        return self._table(arc_sums)

    def moment_recursions(
        self, messages: Messages, terms: FloatArray, direction: FloatArray | None
    ) -> tuple[int, Recursion, Recursion]:
        work, arcs = messages.work, kernels.arc_covariance
        K = work.node_probs.shape[1]
        given = messages.potentials.first, work.alpha, work.node_probs
        ahead, back = (work.past, work.future, work.moved), (work.future, work.moved)
        cells = 20 * K + 5 * len(self.out_to)
        if direction is None:
            return (
                cells,
                partial(arcs.forward, terms, work.node_exp, *self._into, *given, *ahead),
                partial(arcs.backward, work.node_exp, *self._out, *given, *back),
            )
        into_to = np.repeat(np.arange(K), np.diff(self.into_ptr))
        into_moves = self.into_exps * direction[self.into_from, into_to]
        out_moves = self.out_exps * direction[self._out_from, self.out_to]
        return (
            2 * cells,
            partial(arcs.forward_along, terms, work.node_exp, *self._into, into_moves, *given, *ahead),
            partial(arcs.backward_along, work.node_exp, *self._out, out_moves, *given, *back),
        )

    def edge_moments(
        self, work: Workspace, direction: FloatArray | None, pieces: Pieces
    ) -> tuple[FloatArray, FloatArray | None]:
        given = work.alpha, work.node_exp, work.past, work.future, self.out_ptr, self.out_to
        sums, prob_sums = np.zeros((2, len(self.out_to)))
        for t0, t1 in pieces:
            if direction is None:
                kernels.arc_covariance.sum_edges(*given, sums, t0, t1)
            else:
                kernels.arc_covariance.sum_edges_along(*given, sums, prob_sums, t0, t1)
        moved = self._table(sums)
        if direction is None:
            return moved, None
        probs = self._table(prob_sums)
        moved += direction * probs
        return moved, probs
