"""Shared edges as lists of arcs, with their passes: cheaper than the table where few transitions are possible."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from hedgerow.chain import kernels
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

    @property
    def recursions(self) -> tuple[Recursion, Recursion]:
        """The scaled recursions, forward and backward."""
        return partial(kernels.arcs.forward, self._into), partial(kernels.arcs.backward, self._out)

    def sum_edges(self, work: Workspace, *, moments: bool) -> FloatArray:
        K = len(self.out_ptr) - 1
        sums, table = np.zeros(len(self.out_to)), np.zeros((K, K))
        kernel = kernels.arcs.sum_moments if moments else kernels.arcs.sum_edges
        work.sum_edges(kernel, self.out_ptr, self.out_to, sums, moments=moments)
        table[self._out_from, self.out_to] = sums * self.out_exps
        return table

    def moment_recursions(self, direction: FloatArray | None) -> tuple[int, Recursion, Recursion]:
        K, lists = len(self.out_ptr) - 1, kernels.arcs
        cells = 20 * K + 5 * len(self.out_to)
        if direction is None:
            return cells, partial(lists.past, self._into), partial(lists.future, self._out)
        into_to = np.repeat(np.arange(K), np.diff(self.into_ptr))
        into = *self._into, self.into_exps * direction[self.into_from, into_to]
        out = *self._out, self.out_exps * direction[self._out_from, self.out_to]
        return 2 * cells, partial(lists.past_along, into), partial(lists.future_along, out)
