"""Shared edges as lists of arcs, with their passes: cheaper than the table where few transitions are possible."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from hedgerow.chain import kernels
from hedgerow.chain.edges.tables import Recursion
from hedgerow.chain.workspace import Workspace
from hedgerow.legend import INDEX, FloatArray, IndexArray


class Arcs(NamedTuple):
    """The arcs of each label, into it or out of it: those of label v are ptr[v] … ptr[v+1]−1.

    ptr (K+1,), ends (A,), the labels at their other ends, exps (A,), their exponentials as in SharedEdges
    """

    ptr: IndexArray
    ends: IndexArray
    exps: FloatArray

    @classmethod
    def of(cls, scores: FloatArray, exps: FloatArray) -> Arcs:
        """Of (K, K) tables [label, other end]."""
        owners, ends = np.nonzero(scores > -np.inf)
        ptr = np.searchsorted(owners, np.arange(len(scores) + 1)).astype(INDEX)
        return cls(ptr, ends.astype(INDEX), exps[owners, ends])

    @property
    def owners(self) -> IndexArray:
        """(A,), the label that each arc is listed with."""
        return np.repeat(np.arange(len(self.ptr) - 1), np.diff(self.ptr))


@dataclass(frozen=True, slots=True)
class ArcLists:
    """The arcs that are not forbidden: those into each label, and those out of it."""

    into: Arcs
    out: Arcs

    @classmethod
    def from_tables(cls, scores: FloatArray, exps: FloatArray) -> ArcLists:
        """Of (K, K) tables [from, to]."""
        return cls(Arcs.of(scores.T, exps.T), Arcs.of(scores, exps))

    @property
    def recursions(self) -> tuple[Recursion, Recursion]:
        """The scaled recursions, forward and backward."""
        return partial(kernels.arcs.forward, tuple(self.into)), partial(kernels.arcs.backward, tuple(self.out))

    def sum_edges(self, work: Workspace, *, moments: bool) -> FloatArray:
        out, K = self.out, len(self.out.ptr) - 1
        sums, table = np.zeros(len(out.ends)), np.zeros((K, K))
        kernel = kernels.arcs.sum_moments if moments else kernels.arcs.sum_edges
        work.sum_edges(kernel, out.ptr, out.ends, sums, moments=moments)
        table[out.owners, out.ends] = sums * out.exps
        return table

    def moment_recursions(self, direction: FloatArray | None) -> tuple[int, Recursion, Recursion]:
        lists, into, out = kernels.arcs, self.into, self.out
        cells = 20 * (len(out.ptr) - 1) + 5 * len(out.ends)
        if direction is None:
            return cells, partial(lists.past, tuple(into)), partial(lists.future, tuple(out))
        into_along = *into, into.exps * direction[into.ends, into.owners]
        out_along = *out, out.exps * direction[out.owners, out.ends]
        return 2 * cells, partial(lists.past_along, into_along), partial(lists.future_along, out_along)
