"""A corpus in training with future features: its columns, the loss of its labels, and its scores as they grow."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np

from hedgerow.data.dataset import Column, Dataset, Schema, padded_places
from hedgerow.legend import UNLABELLED, BoolArray, FloatArray, IndexArray
from hedgerow.models.future.multiple_instance import Bags, FutureFeature, Margins
from hedgerow.models.local.previous_labels import add_columns
from hedgerow.training.boosting.scores import all_first
from hedgerow.trees.binning import BinnedData, Binning, bin_dataset
from hedgerow.trees.ensemble import add_trees
from hedgerow.trees.growing import Tree

Kept = tuple[FloatArray, FloatArray]

# ------------------------------------------------------------------------------------------------ columns


def future_names(n_features: int) -> list[str]:
    """What the columns of future features are called."""
    return [f"(future {j + 1})" for j in range(n_features)]


def future_schema(schema: Schema, n_features: int) -> Schema:
    """The columns of a corpus and, after them, one a future feature."""
    added = [Column(name, "numeric", fill=np.nan) for name in future_names(n_features)]
    return add_columns(schema, added, "a future feature")


def with_future_columns(dataset: Dataset, schema: Schema, probs: FloatArray) -> Dataset:
    """The corpus with Q (n_features, N) as its last numeric columns; `schema` is what `future_schema` gave."""
    _, places, size = padded_places(dataset.offsets, schema.gap)
    numeric: FloatArray = np.full((len(probs), size), np.nan)
    numeric[:, places] = probs
    return replace(dataset, schema=schema, numeric=np.concatenate([dataset.numeric, numeric]))


def cut_evenly(binning: Binning, n_features: int, n_bins: int) -> Binning:
    """The bins of a corpus with future columns, where Q is cut evenly into n_bins: trees see it as a thermometer."""
    edges = np.arange(1, n_bins) / n_bins
    future = {binning.names.index(name) for name in future_names(n_features)}
    thresholds = tuple(edges if c in future else one for c, one in enumerate(binning.thresholds))
    sizes = tuple(len(edges) + 3 if c in future else one for c, one in enumerate(binning.n_bins))
    return replace(binning, thresholds=thresholds, n_bins=sizes)


# ------------------------------------------------------------------------------------------------ the local loss


class LocalLoss:
    """−Σ w_t log P(y_t), P the softmax of scores (K, N) over labels. Sets of labels have the sum of theirs.

    label_weights : (K,), what positions count by their true label, or None
    """

    def __init__(self, dataset: Dataset, label_weights: FloatArray | None = None) -> None:
        assert dataset.labels is not None
        K, N = dataset.n_labels, dataset.n_positions
        self.labels = dataset.labels
        known = self.labels != UNLABELLED
        self.allowed: BoolArray | None = None
        if dataset.allowed is not None:
            self.allowed = np.ascontiguousarray(dataset.allowed.T)
            self.allowed[:, known] = np.arange(K)[:, None] == self.labels[known]
            known = ~self.allowed.all(axis=0)
        self.weights: FloatArray = known.astype(np.float64)
        if dataset.weight_seq is not None:
            self.weights *= np.repeat(dataset.weight_seq, np.diff(dataset.offsets))
        if label_weights is not None and self.allowed is None:
            self.weights *= label_weights[self.labels]
        elif label_weights is not None and self.allowed is not None:  # a set counts the mean of its labels
            self.weights *= (self.allowed * label_weights[:, None]).sum(axis=0) / self.allowed.sum(axis=0)
        self._truth: IndexArray = np.where(known & (self.labels >= 0), self.labels, 0)
        self._rows = np.arange(N)

    def __call__(self, scores: FloatArray) -> float:
        if self.allowed is None:
            true = scores[self._truth, self._rows]
        else:
            true = _log_sums(np.where(self.allowed, scores, -np.inf))
        return float((self.weights * (_log_sums(scores) - true)).sum())

    def residuals(self, scores: FloatArray) -> FloatArray:
        """(K, N): w_t (P(y_t = k | y_t is right) − P(y_t = k)), the derivative of −loss (Proposition 5.1)."""
        probs = np.exp(scores - _log_sums(scores))
        if self.allowed is None:
            np.negative(probs, out=probs)
            probs[self._truth, self._rows] += 1.0
        else:
            masked = np.where(self.allowed, scores, -np.inf)
            probs = np.exp(masked - _log_sums(masked)) - probs
        probs *= self.weights
        return probs

    def margins(self, scores: FloatArray, k: int) -> Margins:
        """Label k against the rest. A set that has k and others says nothing of it."""
        others = np.concatenate([scores[:k], scores[k + 1 :]])
        truth, weights = self.labels == k, self.weights
        if self.allowed is not None:
            alone = self.allowed.sum(axis=0) == 1
            truth = self.allowed[k] & alone
            weights = np.where(self.allowed[k] & ~alone, 0.0, weights)
        return Margins(scores[k] - _log_sums(others), truth.astype(np.float64), weights)


def _log_sums(scores: FloatArray) -> FloatArray:
    """(N,): log Σ_k exp(scores) of (K, N)."""
    top = scores.max(axis=0)
    sums: FloatArray = top + np.log(np.exp(scores - top).sum(axis=0))
    return sums


# ------------------------------------------------------------------------------------------------ a corpus in training


class ScoredCorpus:
    """A corpus and its scores, as trees and features are added.

    scores : (K, N)
    loss : the local loss of its labels
    data : bins of the input, for features; `top`, with the last labels and the features that are known, for trees
    """

    KEPT: ClassVar[tuple[str, ...]] = ("scores", "probs")

    def __init__(
        self,
        inputs: BinnedData,
        rows: Dataset,
        binning: Binning,
        bags: Bags,
        schema: Schema,
        label_weights: FloatArray | None = None,
        *,
        growing: bool,
    ) -> None:
        self.data, self.bags = inputs, bags
        self.loss = LocalLoss(rows, label_weights)
        self.scores: FloatArray = np.zeros((rows.n_labels, rows.n_positions))
        self._rows, self._binning, self._schema, self._growing = rows, binning, schema, growing
        self.probs: FloatArray = np.zeros((len(schema.columns) - len(rows.schema.columns), rows.n_positions))
        self.bin_rows()

    def bin_rows(self) -> None:
        """Make the bins that trees of the top level see anew, after features were added."""
        rows = with_future_columns(self._rows, self._schema, self.probs)
        self.top = bin_dataset(self._binning, rows, postings=self._growing)

    def add_trees(self, trees: list[Tree]) -> None:
        """Add a tree per label, by walking them."""
        n = len(self.top.place)
        add_trees(all_first(self.top), self.top.place, trees, np.zeros((len(trees), n, 1)), self.scores)

    def add_feature(self, feature: FutureFeature, j: int, probs: FloatArray | None = None) -> None:
        """Add η·Q of the j-th feature, and make it a column. probs : Q, where it is known already."""
        Q = self.bags.probs(feature.scores(self.data)) if probs is None else probs
        self.scores[feature.label] += feature.weight * Q
        self.probs = self.probs.copy()  # an earlier state may hold the array
        self.probs[j] = Q

    def remember(self) -> Kept:
        """What `recall` goes back to."""
        return self.scores.copy(), self.probs

    def recall(self, kept: Kept) -> None:
        self.scores, self.probs = kept[0].copy(), kept[1]
