"""Ranking functions of trees for a BeamSearchTagger: boosted on what competes with the truth in the beam.

Each pass searches every sequence with the trees so far. The loss is log(1 + e^Δ), Δ how far the best labeling that is
wrong stands above the truth. Its gradient is 1 / (1 + e^−Δ) for the labels of that labeling, and minus as much for the
true ones, from where the two part. One tree per label is fitted to it, over the window and the last labels.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hedgerow.chain.structure.states import StateSpace
from hedgerow.data.dataset import Dataset
from hedgerow.errors import InputError
from hedgerow.estimators.codec.trees import plain_trees, trees_of
from hedgerow.estimators.validation import Measure
from hedgerow.estimators.values import class_weights
from hedgerow.legend import CODE, INDEX, UNLABELLED, AnyArray, BoolArray, CodeArray, FloatArray, IndexArray
from hedgerow.models.future.multiple_instance import Growth, RowTrees
from hedgerow.models.local.previous_labels import check_label_columns, label_histories, with_label_columns
from hedgerow.models.local.rows import TreeScores
from hedgerow.models.search import kernels
from hedgerow.models.search.features import blocks, legal_moves, open_labels
from hedgerow.models.search.parameters import SearchParameters
from hedgerow.models.search.training import UPDATES, monitor_passes
from hedgerow.training.checkpoint import checked, fill, restoring
from hedgerow.training.monitor import Trained
from hedgerow.trees.binning import MAX_VALUES, Binning, bin_dataset, learn_binning
from hedgerow.trees.ensemble import Ensemble
from hedgerow.trees.growing import Tree

MAX_SCORES = 300_000_000  # of a table, a score for every position, history and label: 2.4 GB


@dataclass(frozen=True)
class RankingTrees:
    """The fitted trees, on columns of the input and of the last labels.

    order, backward : how many labels they see, and whether those are the ones after a position
    """

    classes_: AnyArray
    ensemble_: Ensemble
    binning_: Binning
    order: int
    backward: bool

    def table(self, dataset: Dataset) -> FloatArray:
        """float64 (N, (K+1)^n, K): the score of every label after every history."""
        table = new_table(dataset, len(self.classes_), self.order)
        add_to_table(self, dataset, table)
        return table


def new_table(dataset: Dataset, n_labels: int, order: int) -> FloatArray:
    """A table of zeros; an error where it would be too large."""
    size = dataset.n_positions * (n_labels + 1) ** order * n_labels
    if size > MAX_SCORES:
        what = f"{dataset.n_positions:,} positions, {n_labels} labels and ⟦order⟧ {order} have {size:,} scores"
        raise InputError(what, hint="Use ⟦ranking='perceptron'⟧, or a lower ⟦order⟧.")
    return np.zeros((dataset.n_positions, (n_labels + 1) ** order, n_labels))


def add_to_table(trees: RankingTrees, dataset: Dataset, table: FloatArray) -> None:
    """Add what trees score to a table."""
    K, n = len(trees.classes_), trees.order
    everywhere = np.arange(dataset.n_positions)
    rows = TreeScores(trees, n, backward=trees.backward).rows(dataset, 0, dataset.n_sequences)
    if n == 0:
        table[:, 0] += rows.scores(everywhere, np.empty((dataset.n_positions, 0), CODE))
        return
    for older in itertools.product(range(K + 1), repeat=n - 1):  # the label 2, 3, … places back
        if any(a == K and b != K for a, b in itertools.pairwise(older)):
            continue  # nothing comes before ⊥
        first = (K + 1) * sum(u * (K + 1) ** i for i, u in enumerate(older))
        table[:, first : first + K] += rows.after_each(everywhere, older)
    ends = dataset.offsets[1:] - 1 if trees.backward else dataset.offsets[:-1]
    filled = ends[np.diff(dataset.offsets) > 0]
    table[filled, -1] += rows.scores(filled, np.full((len(filled), n), K, CODE))


class TableSearch:
    """Searches a corpus with a table of scores."""

    def __init__(
        self,
        space: StateSpace,
        dataset: Dataset,
        width: int,
        order: int,
        *,
        backward: bool,
        allowed: BoolArray | None = None,
    ) -> None:
        self.dataset, self.order, self.width = dataset, order, width
        self._sign = -1 if backward else 1
        self._moves = legal_moves(space, backward=backward)
        self.open = open_labels(space, dataset, allowed, backward=backward)
        self.lengths: IndexArray = np.diff(dataset.offsets)
        longest = max(1, int(self.lengths.max(initial=0)))
        shape = longest, width + 1
        self._scratch = np.empty(shape, CODE), np.empty(shape, CODE), np.empty(shape), np.empty(longest, CODE)
        self._truth: CodeArray = np.empty(longest, CODE)

    def _blocks(self) -> list[IndexArray]:
        everything = np.arange(len(self.lengths), dtype=INDEX)
        return blocks(everything, self.lengths, self.dataset.n_labels * self.width)

    def _arguments(self, block: IndexArray, table: FloatArray) -> tuple[Any, ...]:
        begin = self.dataset.offsets[block]
        fixed = begin, self.lengths[block], self._sign, self.order, table, self._moves, self.open, self.width
        return (*fixed, *self._scratch)

    def search(self, table: FloatArray) -> CodeArray:
        """int32 (N,): the labels that the search finds."""
        labels: CodeArray = np.empty(self.dataset.n_positions, CODE)
        for block in self._blocks():
            kernels.tables.search(*self._arguments(block, table), labels)
        return labels

    def follow(self, table: FloatArray, update: int) -> tuple[float, CodeArray, IndexArray, FloatArray]:
        """The loss; and labels, histories and shares of what competes with the truth, (N,) each; label −1: nothing."""
        data = self.dataset
        weight = np.ones(len(self.lengths)) if data.weight_seq is None else data.weight_seq
        wrong: CodeArray = np.full(data.n_positions, UNLABELLED, CODE)
        history: IndexArray = np.zeros(data.n_positions, INDEX)
        shares: FloatArray = np.zeros(data.n_positions)
        loss = 0.0
        for block in self._blocks():
            arguments = (
                *self._arguments(block, table), data.labels, self._truth, weight[block], update,
                wrong, history, shares,
            )  # fmt: skip
            loss += kernels.tables.follow(*arguments)
        return loss, wrong, history, shares


class RankingPasses:
    """Boosting of the ranking functions of a corpus."""

    def __init__(self, settings: SearchParameters, space: StateSpace, dataset: Dataset) -> None:
        assert dataset.labels is not None
        if (dataset.labels == UNLABELLED).any():
            hint = "Label every position, or use ⟦ranking='perceptron'⟧."
            raise InputError("⟦ranking='trees'⟧ needs every label", hint=hint)
        K, self.order = dataset.n_labels, int(settings.order)
        check_label_columns(K, self.order)
        self.backward = settings.direction == "right_to_left"
        self.dataset, self.update, self.settings = dataset, UPDATES.index(settings.update), settings
        self.search = TableSearch(space, dataset, int(settings.beam_width), self.order, backward=self.backward)
        self.table = new_table(dataset, K, self.order)
        self._true = label_histories(dataset.labels, dataset.offsets, K, self.order, backward=self.backward)
        rows = with_label_columns(dataset, self._true, backward=self.backward)
        self.binning = learn_binning(rows, MAX_VALUES, max(1.0, float(settings.min_frequency)))
        ones = np.ones(dataset.n_sequences) if dataset.weight_seq is None else dataset.weight_seq
        self._weights = np.repeat(ones, np.diff(dataset.offsets))
        if (of_labels := class_weights(settings.class_weight, dataset)) is not None:
            self._weights = self._weights * of_labels[dataset.labels]
        self._twice = replace(dataset.take(np.tile(np.arange(dataset.n_sequences), 2)), weight_seq=None)
        self.trees: list[list[Tree]] = []

    def run(self) -> float:
        """Search, and fit a tree per label to what competes with the truth; the loss before."""
        loss, wrong, history, shares = self.search.follow(self.table, self.update)
        self.trees.append(self._fit(wrong, history, shares))
        add_to_table(self.ranking(self.trees[-1:]), self.dataset, self.table)
        return loss

    def _fit(self, wrong: CodeArray, history: IndexArray, shares: FloatArray) -> list[Tree]:
        """Rows are true histories everywhere, and the histories of wrong labelings where there are such."""
        K, data = self.dataset.n_labels, self.dataset
        places = (K + 1) ** np.arange(self.order)
        seen = np.concatenate([self._true, (history[:, None] // places % (K + 1)).astype(CODE)])
        rows = with_label_columns(self._twice, seen, backward=self.backward)
        weights = np.concatenate([self._weights, self._weights * (wrong >= 0)])
        growth = Growth(int(self.settings.max_leaf_nodes), float(self.settings.l2_regularization))
        grower = RowTrees(self.binning, bin_dataset(self.binning, rows, postings=True), weights, growth)
        trees = []
        for k in range(K):
            target = np.concatenate([shares * (data.labels == k), -shares * (wrong == k)])
            trees.append(grower.fit(weights * target)[0].scaled(float(self.settings.learning_rate)))
        return trees

    def state(self, ended: bool) -> list[Any]:
        """What a checkpoint keeps; where training has ended, the trees alone."""
        trees = [tree for one in self.trees for tree in one]
        return [plain_trees(self.dataset.n_labels, trees), None if ended else self.table]

    def restore(self, state: Any) -> None:
        """Go on from such a state."""
        K = self.dataset.n_labels
        trees = trees_of(state[0], K, self.binning)
        self.trees[:] = [trees[i : i + K] for i in range(0, len(trees), K)]
        if state[1] is not None:
            fill(self.table, state[1])

    def ranking(self, trees: list[list[Tree]]) -> RankingTrees:
        """RankingTrees of some of the trees."""
        flat = [tree for one in trees for tree in one]
        K = self.dataset.n_labels
        return RankingTrees(self.dataset.schema.classes, Ensemble.of(K, flat), self.binning, self.order, self.backward)


class RankingValidation:
    """The score on held-out sequences with all trees so far."""

    def __init__(self, passes: RankingPasses, space: StateSpace, held_out: Dataset) -> None:
        width = int(passes.settings.beam_width)
        self.passes, self.held_out, self._n_added = passes, held_out, 0
        self.measure = Measure(held_out, passes.settings.scoring, "beam")
        unlabelled = replace(held_out, labels=None, allowed=None)
        self.search = TableSearch(space, unlabelled, width, passes.order, backward=passes.backward)
        self.table = new_table(held_out, held_out.n_labels, passes.order)

    def __call__(self) -> float:
        new = self.passes.trees[self._n_added :]
        self._n_added = len(self.passes.trees)
        if new:
            add_to_table(self.passes.ranking(new), self.held_out, self.table)
        return self.measure.total([self.search.search(self.table)])

    def state(self) -> list[Any]:
        """What a checkpoint keeps."""
        return [self._n_added, self.table]

    def restore(self, state: Any) -> None:
        """Go on from such a state."""
        self._n_added = checked(state[0], int, "trees that were added")
        fill(self.table, state[1])


def train_ranking(
    settings: SearchParameters, space: StateSpace, dataset: Dataset, held_out: Dataset | None, n_passes: int
) -> Trained[RankingTrees]:
    """Passes until the held-out score no longer rises, or there were `n_passes`."""
    passes = RankingPasses(settings, space, dataset)
    validation = None if held_out is None else RankingValidation(passes, space, held_out)
    if validation is not None:
        validation()  # a metric that cannot score y_val is found before any training
    with monitor_passes(settings, n_passes, validation) as monitor:
        saved = monitor.resume()
        if saved is None:
            done = monitor.begin(np.nan)
        else:
            with restoring():
                passes.restore(saved)
            done = monitor.done
        while not done:
            done = monitor.step(passes.run(), state=passes.state)
    return monitor.trained(passes.ranking(passes.trees[: monitor.kept.iteration]))
