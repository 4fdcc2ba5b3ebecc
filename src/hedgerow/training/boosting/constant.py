"""The best chain without any input: the start of boosting that the slides call F₀."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hedgerow.chain.edges import SharedEdges
from hedgerow.chain.inference import Marginals, marginals
from hedgerow.chain.potentials import ChainPotentials
from hedgerow.chain.structure.states import StateSpace
from hedgerow.data.dataset import Dataset
from hedgerow.data.parts.corpus import SharedCorpus
from hedgerow.legend import UNLABELLED, BoolArray, FloatArray, IndexArray
from hedgerow.training.monitor import Monitor
from hedgerow.training.whole.lbfgs import lbfgs

RIDGE = 0.01  # a transition never seen would go to −∞ without it, and scores could all be shifted
TOL = 1e-9  # of the loss, in ten iterations


def best_constant(dataset: Dataset | SharedCorpus, space: StateSpace) -> FloatArray:
    """(K+1, K) [from, to], ⊥ last: the scores of pairs of labels with the largest likelihood; 0 where forbidden.

    Without input all sequences of a length have the same potentials, so one of each length is summed over.
    """
    K = dataset.n_labels
    legal = np.vstack([space.transitions, space.start])
    corpus = _Lengths(_sizes(dataset), space)

    def loss(values: FloatArray) -> tuple[float, FloatArray]:
        table = np.zeros((K + 1, K))
        table[legal] = values
        total, gradient = corpus.loss(table)
        return total, gradient[legal]

    quiet = Monitor(max_iter=200, tol=TOL)  # not entered: Ctrl-C is for the monitor of the iterations to come
    constant: FloatArray = np.zeros((K + 1, K))
    constant[legal] = lbfgs(loss, np.zeros(int(legal.sum())), quiet, l2=RIDGE)
    return constant


class _Sizes(NamedTuple):
    """Of each sequence its length, its weight and whether some of its labels are not known, (S,); how often each pair
    of labels comes in the others, (K+1, K); and the labels that each position of the former may have, bool (·, K)."""

    lengths: IndexArray
    weights: FloatArray
    partial: BoolArray
    counts: FloatArray
    allowed: BoolArray


def _sizes(dataset: Dataset | SharedCorpus) -> _Sizes:
    if isinstance(dataset, SharedCorpus):
        parts = dataset.each(_sizes)
        found = {name: np.concatenate([getattr(one, name) for one in parts]) for name in _Sizes._fields}
        return _Sizes(**found | {"counts": sum(one.counts for one in parts)})
    assert dataset.labels is not None
    lengths = np.diff(dataset.offsets)
    weights = np.ones(len(lengths)) if dataset.weight_seq is None else dataset.weight_seq
    partial: BoolArray = np.zeros(len(lengths), dtype=bool)
    if len(lengths):
        partial = np.logical_or.reduceat(dataset.labels == UNLABELLED, dataset.offsets[:-1])
    counts = _count_pairs(dataset, np.repeat(np.where(partial, 0.0, weights), lengths))
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
        """−log-likelihood, and its gradient (K+1, K)."""
        K = table.shape[1]
        edges = SharedEdges.from_scores(np.where(self.space.transitions, table[:K], -np.inf))
        whole = self._potentials(table, edges, self.offsets)
        sums = marginals(whole, None, self.weights)
        total = float((self.weights * sums.log_partition).sum()) - float((self.counts * table).sum())
        gradient = _gather(sums, whole, self.weights) - self.counts
        if self.open_allowed is not None:
            part = self._potentials(table, edges, self.open_offsets).restrict(self.open_allowed)
            truth = marginals(part, None, self.open_weights)
            total -= float((self.open_weights * truth.log_partition).sum())
            gradient -= _gather(truth, part, self.open_weights)
        return total, gradient

    def _potentials(self, table: FloatArray, edges: SharedEdges, offsets: IndexArray) -> ChainPotentials:
        potentials = ChainPotentials(np.zeros((int(offsets[-1]), table.shape[1])), offsets, edges)
        potentials.add_start_end(table[-1] + self.space.start_scores, self.space.end_scores)
        return potentials


def _ends(lengths: IndexArray) -> IndexArray:
    return np.concatenate([[0], np.cumsum(lengths)])


def _gather(sums: Marginals, potentials: ChainPotentials, weights: FloatArray) -> FloatArray:
    """Expected pairs of labels, (K+1, K)."""
    starts = (weights[:, None] * sums.node_probs[potentials.offsets[:-1]]).sum(axis=0)
    pairs: FloatArray = np.vstack([sums.edge_sums, starts])
    return pairs


def _count_pairs(dataset: Dataset, weights: FloatArray) -> FloatArray:
    """Pairs of labels in the sequences that are labelled throughout, (K+1, K); weights (N,), 0 for the others."""
    K, labels = dataset.n_labels, dataset.labels
    assert labels is not None
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
