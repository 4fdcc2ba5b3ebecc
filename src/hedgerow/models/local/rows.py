"""Scores of rows (position, labels before it), by the model that was fitted to such rows: linear or of trees.

`Rows` is what is ready for one chunk of sequences. It answers for any labels before a position; K stands for ⊥.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple, Protocol

import numpy as np

from hedgerow.data.dataset import Dataset, Schema
from hedgerow.legend import CODE, INDEX, UNLABELLED, CodeArray, FloatArray, IndexArray
from hedgerow.linear.index import Streams, WeightIndex
from hedgerow.linear.scorer import LinearScorer
from hedgerow.models.local.previous_labels import (
    LabelRuns,
    check_label_columns,
    column_names,
    label_codes,
    look_up,
    run_keys,
    with_label_columns,
)
from hedgerow.training.boosting.scores import all_first
from hedgerow.trees.binning import bin_dataset
from hedgerow.trees.ensemble import add_trees
from hedgerow.trees.growing import Tree
from hedgerow.trees.nodes import BIN, COLUMN, EQUAL, LABEL, RULE, STREAM, SUBSET


class Rows(Protocol):
    """The rows of a chunk."""

    def scores(self, rows: IndexArray, histories: CodeArray) -> FloatArray:
        """(m, K), not normalised: of the flat positions `rows` (m,), no one twice, with the labels `histories` (m, n)
        before them, the last label first."""

    def after_each(self, rows: IndexArray, older: Sequence[int]) -> FloatArray:
        """(m, K, K) [position, from, to]: scores after each last label, and the same `older` labels before it."""


class Scorer(Protocol):
    """Makes the rows of sequences first … last−1 of a corpus."""

    def rows(self, dataset: Dataset, first: int, last: int) -> Rows: ...


class TiltedRows(NamedTuple):
    """Rows whose scores have tilt (K,) added: a step of a search takes labels by P · e^tilt."""

    rows: Rows
    tilt: FloatArray

    def scores(self, rows: IndexArray, histories: CodeArray) -> FloatArray:
        return self.rows.scores(rows, histories) + self.tilt

    def after_each(self, rows: IndexArray, older: Sequence[int]) -> FloatArray:
        return self.rows.after_each(rows, older) + self.tilt


def score_each(
    score: Callable[[IndexArray, CodeArray], FloatArray], rows: IndexArray, older: Sequence[int], n_labels: int
) -> FloatArray:
    """`after_each` of rows that can do no better than to score one last label after the other."""
    total: FloatArray = np.empty((len(rows), n_labels, n_labels))
    for u in range(n_labels):
        total[:, u] = score(rows, np.full((len(rows), 1 + len(older)), (u, *older), dtype=CODE))
    return total


# ------------------------------------------------------------------------------------------------ linear


class LinearScores:
    """A LinearCRF of order 0 on a corpus with runs of labels, taken apart: what is scored once per position, what
    once per position and last label, and what once per run."""

    def __init__(self, linear: Any, runs: LabelRuns, schema: Schema) -> None:
        index, weights = linear.layout_.nodes, linear.layout_.split(linear.weights_)[0]
        K = self.n_labels = index.n_outputs
        self.runs = runs
        streams = Streams.of(schema)
        ends = np.cumsum([streams.n_rows, len(runs.conjoined), *map(len, runs.runs)])
        cuts = index.row_ptr[np.concatenate([[0], ends])]
        self.nodes = _loaded(
            WeightIndex(streams, K, index.row_ptr[: ends[0] + 1], index.slot_label[: cuts[1]]), weights
        )
        self.pairs = None
        if len(runs.conjoined):
            self.pairs = _loaded(self._pairs(index, schema, ends[0]), weights[cuts[1] : cuts[2]])
        # Of the runs of each length.
        self.tables = [_table(index, weights, int(begin), int(end)) for begin, end in pairwise(ends[1:])]

    def _pairs(self, index: WeightIndex, schema: Schema, first: int) -> WeightIndex:
        """The weights of conjunctions, in their order, as those of a feature for pairs: output last · K + label."""
        K, streams = self.n_labels, self.runs.streams(schema)
        sizes = np.diff(index.row_ptr[first : first + len(self.runs.conjoined) + 1])
        rows, last = np.divmod(self.runs.conjoined, K + 1)
        per_row = np.bincount(rows, weights=sizes, minlength=streams.n_rows).astype(INDEX)
        row_ptr = np.concatenate([np.zeros(1, INDEX), np.cumsum(per_row)])
        begin = index.row_ptr[first]
        labels = index.slot_label[begin : begin + row_ptr[-1]]
        outputs = np.repeat(last * K, sizes) + labels
        return WeightIndex(streams, (K + 1) * K, row_ptr, outputs.astype(CODE))

    def rows(self, dataset: Dataset, first: int, last: int) -> Rows:
        n, K = int(dataset.offsets[last] - dataset.offsets[first]), self.n_labels
        nodes = np.empty((n, K))
        self.nodes.score(self.nodes.compile(dataset, first, last), nodes)
        pairs = None
        if self.pairs is not None:
            pairs = np.empty((n, (K + 1) * K))
            self.pairs.score(self.pairs.compile(dataset, first, last), pairs)
            pairs = pairs.reshape(n, K + 1, K)
        return _LinearRows(self, nodes, pairs)

    def of_runs(self, histories: CodeArray) -> FloatArray:
        """(m, K): what the runs of labels score."""
        total = np.zeros((len(histories), self.n_labels))
        for i, (keys, table) in enumerate(zip(self.runs.runs, self.tables)):
            place, there = look_up(keys, run_keys(histories, self.n_labels, i + 1))
            total[there] += table[place[there]]
        return total


class _LinearRows:
    def __init__(self, scorer: LinearScores, nodes: FloatArray, pairs: FloatArray | None) -> None:
        self.scorer, self.nodes, self.pairs = scorer, nodes, pairs

    def scores(self, rows: IndexArray, histories: CodeArray) -> FloatArray:
        total = self.nodes[rows] + self.scorer.of_runs(histories)
        if self.pairs is not None:
            total += self.pairs[rows, histories[:, 0]]
        return total

    def after_each(self, rows: IndexArray, older: Sequence[int]) -> FloatArray:
        K = self.scorer.n_labels
        histories = np.array([(u, *older) for u in range(K)], dtype=CODE)
        total: FloatArray = self.nodes[rows][:, None] + self.scorer.of_runs(histories)
        if self.pairs is not None:
            total += self.pairs[rows, :K]
        return total


def _loaded(index: WeightIndex, weights: FloatArray) -> LinearScorer:
    scorer = LinearScorer(index)
    scorer.load(np.ascontiguousarray(weights[: index.n_weights]))
    return scorer


def _table(index: WeightIndex, weights: FloatArray, begin: int, end: int) -> FloatArray:
    """(end − begin, K): the weights of some rows, 0 where a pair has none."""
    table = np.zeros((end - begin, index.n_outputs))
    slots = np.arange(index.row_ptr[begin], index.row_ptr[end])
    rows = np.repeat(np.arange(end - begin), np.diff(index.row_ptr[begin : end + 1]))
    table[rows, index.slot_label[slots]] = weights[slots]
    return table


# ------------------------------------------------------------------------------------------------ trees


class TreeScores:
    """A TreeCRF of order 0 on a corpus with columns of labels."""

    def __init__(self, trees: Any, order: int, *, backward: bool) -> None:
        self.trees: list[Tree] = trees.ensemble_.trees()
        self.binning = trees.binning_
        self.n_labels, self.order, self.backward = len(trees.classes_), order, backward
        self.columns = [self.binning.names.index(name) for name in column_names(order, backward=backward)]
        check_label_columns(self.n_labels, order)
        self.label_trees = self._by_label() if order else None

    def _by_label(self) -> list[Tree] | None:
        """The trees with splits on the previous label in place of those on the column of the last one: they then score
        all previous labels at once. None where that cannot be, and every label takes a walk of its own."""
        stream = int(np.flatnonzero(self.binning.streams[COLUMN] == self.columns[0])[0])
        converted = [_on_label(tree, stream, self.n_labels) for tree in self.trees]
        trees = [tree for tree in converted if tree is not None]
        return trees if len(trees) == len(converted) else None

    def rows(self, dataset: Dataset, first: int, last: int) -> Rows:
        part = replace(dataset, labels=None, allowed=None, weight_seq=None).take(np.arange(first, last))
        nothing: CodeArray = np.full((part.n_positions, self.order), UNLABELLED, dtype=CODE)
        part = with_label_columns(part, nothing, backward=self.backward)
        return _TreeRows(self, bin_dataset(self.binning, part, postings=False))


class _TreeRows:
    def __init__(self, scorer: TreeScores, data: Any) -> None:
        self.scorer, self.data = scorer, data
        self.alone = all_first(data)
        self.inner = replace(data, first=np.zeros_like(data.first))

    def _write(self, places: IndexArray, column: int, labels: CodeArray) -> None:
        self.data.bins[self.scorer.columns[column], places] = label_codes(labels, self.scorer.n_labels)

    def scores(self, rows: IndexArray, histories: CodeArray) -> FloatArray:
        scorer, places = self.scorer, self.data.place[rows]
        for i in range(scorer.order):
            self._write(places, i, histories[:, i])
        nodes: FloatArray = np.zeros((scorer.n_labels, len(rows)))
        add_trees(self.alone, places, scorer.trees, np.zeros((scorer.n_labels, len(rows), 1)), nodes)
        return nodes.T

    def after_each(self, rows: IndexArray, older: Sequence[int]) -> FloatArray:
        scorer, places, K = self.scorer, self.data.place[rows], self.scorer.n_labels
        if scorer.label_trees is None:
            return score_each(self.scores, rows, older, K)
        for i, label in enumerate(older):
            self._write(places, i + 1, np.array(label))
        edges: FloatArray = np.zeros((K, len(rows), K))
        add_trees(self.inner, places, scorer.label_trees, edges, np.zeros((K, len(rows))))
        return edges.transpose(1, 2, 0)


def _on_label(tree: Tree, stream: int, n_labels: int) -> Tree | None:
    """The tree with splits on the previous label where it has splits on a stream of labels.

    None where the tree asks for a missing label, which no previous label is, or has surrogates.
    """
    if tree.surrogates is not None:
        return None
    of_label = tree.nodes[:, STREAM] == stream
    nodes, sets = tree.nodes.copy(), tree.sets.copy()
    equal = of_label & (nodes[:, RULE] == EQUAL)
    if np.any(nodes[equal, BIN] == 0):
        return None
    nodes[equal, BIN] = np.where(nodes[equal, BIN] == 1, n_labels, nodes[equal, BIN] - 2)  # ⊥ is the last label
    for s in np.unique(nodes[of_label & (nodes[:, RULE] == SUBSET), BIN]):
        sets[s] = 0
        sets[s, :n_labels] = tree.sets[s, 2 : 2 + n_labels]
        sets[s, n_labels] = tree.sets[s, 1]
    nodes[of_label, STREAM] = LABEL
    return tree._replace(nodes=nodes, sets=sets)
