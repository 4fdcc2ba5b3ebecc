"""The best chain without any input: the start of boosting that the slides call F₀. Of any order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from hedgerow.chain.edges import HistoryEdges, HistoryTables, SharedEdges
from hedgerow.chain.inference import Marginals, marginals
from hedgerow.chain.potentials import ChainPotentials, Edges
from hedgerow.chain.structure.histories import Histories
from hedgerow.chain.structure.history_table import HistoryTable, legal_moves
from hedgerow.chain.structure.states import StateSpace
from hedgerow.data.dataset import Dataset
from hedgerow.data.parts.corpus import SharedCorpus
from hedgerow.legend import UNLABELLED, BoolArray, FloatArray, IndexArray
from hedgerow.training.boosting.arc_steps import count_arcs
from hedgerow.training.monitor import Monitor
from hedgerow.training.whole.lbfgs import lbfgs

RIDGE = 0.01  # a transition never seen would go to −∞ without it, and scores could all be shifted
TOL = 1e-9  # of the loss, in ten iterations


def best_constant(dataset: Dataset | SharedCorpus, space: StateSpace) -> FloatArray:
    """(K+1, K) [from, to], ⊥ last: the scores of pairs of labels with the largest likelihood; 0 where forbidden.

    Without input all sequences of a length have the same potentials, so one of each length is summed over.
    """
    return _best(_Lengths(_sizes(dataset), space), np.vstack([space.transitions, space.start]))


def best_history_constant(dataset: Dataset, space: StateSpace, structure: Histories | HistoryTable) -> FloatArray:
    """The same of order 2 and more: (A,) weights of arcs of histories, or (K, H) [to, history] of a table of them."""
    if isinstance(structure, Histories):
        return _best(_Arcs(dataset, space, structure), structure.legal)
    return _best(_Histories(dataset, space, structure), legal_moves(space, structure))


def _best(corpus: _Lengths, legal: BoolArray) -> FloatArray:
    """The scores with the largest likelihood, of the shape of `legal`; 0 where that is False."""

    def loss(values: FloatArray) -> tuple[float, FloatArray]:
        table = np.zeros(legal.shape)
        table[legal] = values
        total, gradient = corpus.loss(table)
        return total, gradient[legal]

    quiet = Monitor(max_iter=200, tol=TOL)  # not entered: Ctrl-C is for the monitor of the iterations to come
    constant: FloatArray = np.zeros(legal.shape)
    constant[legal] = lbfgs(loss, np.zeros(int(legal.sum())), quiet, l2=RIDGE)
    return constant


class _Sizes(NamedTuple):
    """Of each sequence its length, its weight and whether some of its labels are not known, (S,); how often the others
    have what each score is of, as pairs of labels (K+1, K); and the labels that each position of the former may have,
    bool (·, K)."""

    lengths: IndexArray
    weights: FloatArray
    partial: BoolArray
    counts: FloatArray
    allowed: BoolArray


def _sizes(dataset: Dataset | SharedCorpus) -> _Sizes:
    if isinstance(dataset, SharedCorpus) and dataset.weight_seq is not None:
        dataset = dataset.together()
    if isinstance(dataset, SharedCorpus):
        parts = dataset.each(_sizes)
        found = {name: np.concatenate([getattr(one, name) for one in parts]) for name in _Sizes._fields}
        return _Sizes(**found | {"counts": sum(one.counts for one in parts)})
    return _sizes_with(dataset, _count_pairs)


def _sizes_with(dataset: Dataset, count: Callable[[Dataset, FloatArray], FloatArray]) -> _Sizes:
    """`count` gets the weights (S,) of sequences, 0 for those that are not labelled throughout."""
    assert dataset.labels is not None
    lengths = np.diff(dataset.offsets)
    weights = np.ones(len(lengths)) if dataset.weight_seq is None else dataset.weight_seq
    partial: BoolArray = np.zeros(len(lengths), dtype=bool)
    if len(lengths):
        partial = np.logical_or.reduceat(dataset.labels == UNLABELLED, dataset.offsets[:-1])
    counts = count(dataset, np.where(partial, 0.0, weights))
    return _Sizes(lengths, weights, partial, counts, _allowed(dataset.take(np.flatnonzero(partial))))


class _Lengths:
    """The corpus as counts: how often each length occurs, and each pair of labels."""

    def __init__(self, sizes: _Sizes, space: StateSpace) -> None:
        self.space = space
        lengths, weights, open_ = sizes.lengths, sizes.weights, np.flatnonzero(sizes.partial)
        unique, which = np.unique(lengths, return_inverse=True)
        self.offsets = _ends(unique)
        self.weights: FloatArray = np.bincount(which, weights=weights).astype(np.float64)
        self.counts = sizes.counts
        self.open_offsets, self.open_weights = _ends(lengths[open_]), weights[open_]
        self.open_allowed = sizes.allowed if len(open_) else None

    def loss(self, table: FloatArray) -> tuple[float, FloatArray]:
        """−log-likelihood, and its gradient, of the shape of the table."""
        whole = self._potentials(table, self.offsets)
        sums = marginals(whole, None, self.weights)
        total = float((self.weights * sums.log_partition).sum()) - float((self.counts * table).sum())
        gradient = self._gather(sums, whole, self.weights) - self.counts
        if self.open_allowed is not None:
            part = self._potentials(table, self.open_offsets).restrict(self.open_allowed)
            truth = marginals(part, None, self.open_weights)
            total -= float((self.open_weights * truth.log_partition).sum())
            gradient -= self._gather(truth, part, self.open_weights)
        return total, gradient

    def _potentials(self, table: FloatArray, offsets: IndexArray) -> ChainPotentials:
        K = table.shape[1]
        edges = SharedEdges.from_scores(np.where(self.space.transitions, table[:K], -np.inf))
        return self._chain(edges, offsets, table[-1])

    def _chain(self, edges: Edges, offsets: IndexArray, start: FloatArray | float = 0.0) -> ChainPotentials:
        """Sequences of these lengths that have nothing but edges."""
        potentials = ChainPotentials(np.zeros((int(offsets[-1]), edges.n_labels)), offsets, edges)
        potentials.add_start_end(start + self.space.start_scores, self.space.end_scores)
        return potentials

    def _gather(self, sums: Marginals, potentials: ChainPotentials, weights: FloatArray) -> FloatArray:
        """What is expected of each score."""
        starts = (weights[:, None] * sums.node_probs[potentials.offsets[:-1]]).sum(axis=0)
        return np.vstack([sums.edge_sums, starts])


class _Arcs(_Lengths):
    """The same of arcs of histories: weights (A,)."""

    def __init__(self, dataset: Dataset, space: StateSpace, histories: Histories) -> None:
        self.histories = histories
        super().__init__(_sizes_with(dataset, self._count), space)

    def _count(self, dataset: Dataset, weights: FloatArray) -> FloatArray:
        return count_arcs(replace(dataset, weight_seq=weights), self.histories)

    def _potentials(self, table: FloatArray, offsets: IndexArray) -> ChainPotentials:
        return self._chain(HistoryEdges.from_scores(self.histories, self.histories.add_back_off(table)), offsets)

    def _gather(self, sums: Marginals, potentials: ChainPotentials, weights: FloatArray) -> FloatArray:
        return self.histories.pull_back_off(sums.edges)


class _Histories(_Lengths):
    """The same of a table of histories: scores (K, H)."""

    def __init__(self, dataset: Dataset, space: StateSpace, table: HistoryTable) -> None:
        self.table = table
        self._closed = np.where(legal_moves(space, table), 0.0, -np.inf)
        super().__init__(_sizes_with(dataset, self._count), space)

    def _count(self, dataset: Dataset, weights: FloatArray) -> FloatArray:
        assert dataset.labels is not None
        first = np.zeros(dataset.n_positions + 1, dtype=np.uint8)
        first[dataset.offsets] = 1
        labels, counts = np.maximum(dataset.labels, 0), np.zeros(self._closed.shape)
        places = labels, self.table.before(labels, first)
        np.add.at(counts, places, np.repeat(weights, np.diff(dataset.offsets)))
        return counts

    def _potentials(self, table: FloatArray, offsets: IndexArray) -> ChainPotentials:
        scores = np.repeat((table + self._closed)[:, None], int(offsets[-1]), axis=1)
        return self._chain(HistoryTables(self.table, scores), offsets)

    def _gather(self, sums: Marginals, potentials: ChainPotentials, weights: FloatArray) -> FloatArray:
        spread = potentials.spread_weights(weights)
        expected: FloatArray = (sums.edges * spread[:, None]).sum(axis=1)
        return expected


def _ends(lengths: IndexArray) -> IndexArray:
    return np.concatenate([[0], np.cumsum(lengths)])


def _count_pairs(dataset: Dataset, weights: FloatArray) -> FloatArray:
    """Pairs of labels in the sequences that are labelled throughout, (K+1, K); weights (S,), 0 for the others."""
    K, labels = dataset.n_labels, dataset.labels
    assert labels is not None
    weights = np.repeat(weights, np.diff(dataset.offsets))
    before = np.roll(labels, 1).astype(np.int64)
    before[dataset.offsets[:-1]] = K
    known = weights > 0
    cells = before[known] * K + labels[known]
    counts: FloatArray = np.bincount(cells, weights=weights[known], minlength=(K + 1) * K).astype(np.float64)
    return counts.reshape(K + 1, K)


def _allowed(dataset: Dataset) -> BoolArray:
    """bool (N, K): the labels that each position may have."""
    assert dataset.labels is not None
    is_label: BoolArray = np.arange(dataset.n_labels) == dataset.labels[:, None]
    free = dataset.allowed if dataset.allowed is not None else np.ones_like(is_label)
    return np.where((dataset.labels == UNLABELLED)[:, None], free, is_label)
