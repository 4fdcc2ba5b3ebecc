"""One table of edge scores for every position of every sequence; lists of arcs where few transitions are possible."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np

from hedgerow.chain import kernels
from hedgerow.chain.edges.positions import PositionEdges
from hedgerow.chain.edges.tables import Passes, Recursion, TableEdges
from hedgerow.chain.potentials import ChainPotentials
from hedgerow.chain.workspace import Workspace, padded_width, run_slices
from hedgerow.errors import InputError
from hedgerow.legend import FLOAT, INDEX, FloatArray, IndexArray

# An arc of a list costs as much as fourteen cells of a table, which is read in order.
_SPARSE_RATIO = 14
_SPARSE_LABELS = 32


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
    """The arcs that are not forbidden, into each label and out of it: cheaper than the table where they are few."""

    into: Arcs
    out: Arcs

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


@dataclass(frozen=True, slots=True)
class SharedEdges(TableEdges):
    """One table of edge scores for every position. Build it once for each evaluation, with `from_scores`.

    scores : (K, K), [from, to]
    scores_to : (K, 1, K), [to, ·, from], the form that kernels share with per-position edges
    exps, exps_to : (P, P), exp(scores − shift) as [from, to] and as [to, from], padded with zeros
    shift : the largest finite score
    arcs : lists of the arcs, where so few are possible that they are cheaper than the table; None elsewhere
    even : whether every arc scores the same, as at order 0: the labels then know nothing of each other
    n_labels : K
    """

    scores: FloatArray
    scores_to: FloatArray
    exps: FloatArray
    exps_to: FloatArray
    shift: float
    arcs: ArcLists | None
    even: bool
    n_labels: int

    @classmethod
    def from_scores(cls, scores: Any, *, sparse: bool | None = None) -> Self:
        """From a (K, K) table. `sparse` says whether to work on lists of arcs; None means where it is faster."""
        table = np.ascontiguousarray(scores, dtype=FLOAT)
        if table.ndim != 2 or table.shape[0] != table.shape[1]:
            raise InputError(f"edge scores must be a table (labels, labels), not of shape {table.shape}")
        if np.isnan(table).any() or np.isposinf(table).any():
            raise InputError("edge scores must be numbers or −inf, and one is NaN or +inf")
        n_labels = len(table)
        finite = table[table > -np.inf]
        shift = float(finite.max()) if finite.size else 0.0
        width = padded_width(n_labels)
        exps = np.zeros((width, width))
        np.exp(table - shift, out=exps[:n_labels, :n_labels])
        table_to = np.ascontiguousarray(table.T)[:, None, :]
        if sparse is None:
            sparse = n_labels >= _SPARSE_LABELS and finite.size * _SPARSE_RATIO <= table.size
        arcs = ArcLists(Arcs.of(table.T, exps.T), Arcs.of(table, exps)) if sparse else None
        even = bool((table == shift).all())
        return cls(table, table_to, exps, np.ascontiguousarray(exps.T), shift, arcs, even, n_labels)

    @classmethod
    def from_scores_to(cls, scores: FloatArray) -> Self:
        return cls.from_scores(scores[:, 0].T)

    def scores_plus(self, table: FloatArray) -> FloatArray:
        return table + self.scores

    def at_positions(self, added: FloatArray) -> PositionEdges:
        return PositionEdges.from_scores(added + self.scores_to)

    @property
    def passes(self) -> Passes:
        """Where all arcs score the same, both passes cost K at each position, not K²."""
        if self.arcs is not None:
            return Passes(*self.arcs.recursions, self.shift, self.even)
        forward, backward = partial(kernels.chain.forward, self.exps_to), partial(kernels.chain.backward, self.exps)
        return Passes(forward, backward, self.shift, self.even)

    def sum_edges(self, work: Workspace, *, moments: bool) -> FloatArray:
        if self.arcs is not None:
            return self.arcs.sum_edges(work, moments=moments)
        K, sums = self.n_labels, work.sums
        sums[:] = 0.0
        work.sum_edges((kernels.covariance if moments else kernels.chain).sum_edges, sums, moments=moments)
        return np.multiply(sums[:K, :K], self.exps[:K, :K])

    def moment_recursions(self, direction: FloatArray | None) -> tuple[int, Recursion, Recursion]:
        if self.arcs is not None:
            return self.arcs.moment_recursions(direction)
        K, dense = self.n_labels, kernels.covariance
        if direction is None:
            return self.exps.size, partial(dense.past, self.exps_to), partial(dense.future, self.exps)
        moves = np.zeros(self.exps.shape)
        moves[:K, :K] = self.exps[:K, :K] * direction
        tables, tables_to = (self.exps, moves), (self.exps_to, np.ascontiguousarray(moves.T))
        return 2 * self.exps.size, partial(dense.past_along, tables_to), partial(dense.future_along, tables)

    def best_scores(self, potentials: ChainPotentials) -> FloatArray:
        n, K = potentials.node_scores.shape
        best: FloatArray = np.empty((n, K))
        chain = potentials.node_scores, self.scores, potentials.first
        run_slices(kernels.search.viterbi_shared, n, 5 * K * K, *chain, best)
        return best
