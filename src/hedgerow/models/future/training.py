"""What a FutureFeatureMEMM learns, how it is trained, and the scores of its rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from hedgerow.data.dataset import Dataset
from hedgerow.errors import InputError
from hedgerow.estimators.missing import way_of_trees
from hedgerow.legend import AnyArray, CodeArray, FloatArray, IndexArray
from hedgerow.models.future.corpus import Corpus, cut_evenly, future_schema, with_future_columns
from hedgerow.models.future.features import Alternation, Options
from hedgerow.models.future.multiple_instance import Bags, FutureFeature, Growth
from hedgerow.models.local.previous_labels import with_label_columns
from hedgerow.models.local.rows import Rows, TreeScores, check_label_columns
from hedgerow.models.local.training import true_histories
from hedgerow.training.monitor import Monitor, Step
from hedgerow.trees.binning import BinnedData, Binning, bin_dataset, learn_binning
from hedgerow.trees.ensemble import Ensemble
from hedgerow.trees.missing import SURROGATE, WEIGHTING


@dataclass(frozen=True)
class FutureTrees:
    """The fitted part of a FutureFeatureMEMM.

    classes_ : the labels
    ensemble_ : trees of the top level, with their steps α in the values
    binning_ : bins of what they see: the input, the last labels, and n_columns future features
    inputs : bins of the input, which the trees of features see
    features : in the order they were found; feature j is column j
    bag, backward : the positions that a feature looks at
    """

    classes_: AnyArray
    ensemble_: Ensemble
    binning_: Binning
    inputs: Binning
    features: tuple[FutureFeature, ...]
    n_columns: int
    bag: int | None
    backward: bool

    def bags(self, offsets: IndexArray) -> Bags:
        return Bags(offsets, self.bag, backward=self.backward)

    def instance_scores(self, dataset: Dataset) -> FloatArray:
        """(features, N): G of each feature at each position."""
        data = bin_dataset(self.inputs, dataset, postings=False)
        own = [feature.scores(data) for feature in self.features]
        return np.array(own).reshape(len(own), dataset.n_positions)

    def bag_probs(self, dataset: Dataset) -> FloatArray:
        """(n_columns, N): Q of each feature, and 0 for columns that no feature has."""
        bags, found = self.bags(dataset.offsets), np.zeros((self.n_columns, dataset.n_positions))
        for j, G in enumerate(self.instance_scores(dataset)):
            found[j] = bags.probs(G)
        return found


class FutureScores:
    """Scores of rows (position, last labels) by a FutureTrees."""

    def __init__(self, trees: FutureTrees, order: int) -> None:
        self.trees = trees
        self._inner = TreeScores(trees, order, backward=trees.backward)

    def rows(self, dataset: Dataset, first: int, last: int) -> Rows:
        part = replace(dataset, labels=None, allowed=None, weight_seq=None).take(np.arange(first, last))
        probs = self.trees.bag_probs(part)
        added: FloatArray = np.zeros((part.n_positions, len(self.trees.classes_)))
        for feature, own in zip(self.trees.features, probs):
            added[:, feature.label] += feature.weight * own
        seen = with_future_columns(part, future_schema(part.schema, self.trees.n_columns), probs)
        return _FutureRows(self._inner.rows(seen, 0, last - first), added)


class _FutureRows:
    """Rows of trees, with what the features add to each label of a position (n, K)."""

    def __init__(self, rows: Rows, added: FloatArray) -> None:
        self._rows, self._added = rows, added

    def scores(self, rows: IndexArray, histories: CodeArray) -> FloatArray:
        return self._rows.scores(rows, histories) + self._added[rows]

    def after_each(self, rows: IndexArray, older: Sequence[int]) -> FloatArray:
        return self._rows.after_each(rows, older) + self._added[rows][:, None]


# ------------------------------------------------------------------------------------------------ training


class Trained(NamedTuple):
    """What training gives, and how it went."""

    trees: FutureTrees
    history: list[Step]
    n_iter: int
    loss: float
    outcome: str
    rounds: list[int]


def train(model: Any, dataset: Dataset, held_out: Dataset | None, rounds: Sequence[int] | None = None) -> Trained:
    """Train on a corpus; missing values are filled in already where they are to be.

    rounds : iterations of each round, as a training with other sequences kept them; None: as many as help
    """
    backward, n_columns = model._backward(), int(model.max_features)
    rows = _rows(model, dataset)
    if not (rows.labels != -1).any() and rows.allowed is None:  # type: ignore[union-attr]
        raise InputError("no position has a label, with labels before it", hint="Label more positions.")
    gaps = model.missing in (WEIGHTING, SURROGATE)
    limits = int(model.max_bins), model.min_frequency
    inputs = learn_binning(dataset, *limits, keep_missing=gaps)
    schema = future_schema(rows.schema, n_columns)
    empty = with_future_columns(rows, schema, np.zeros((n_columns, dataset.n_positions)))
    binning = cut_evenly(learn_binning(empty, *limits, keep_missing=gaps), n_columns, int(model.feature_bins))

    def corpus(own: Dataset, own_rows: Dataset, *, growing: bool) -> Corpus:
        data: BinnedData = bin_dataset(inputs, own, postings=growing)
        bags = Bags(own.offsets, model.bag, backward=backward)
        return Corpus(data, own_rows, binning, bags, schema, growing=growing)

    held = None if held_out is None else corpus(held_out, _rows(model, held_out), growing=False)
    training = Alternation(corpus(dataset, rows, growing=True), held, inputs, binning, _options(model))
    with Monitor(
        max_iter=int(model.n_estimators) * (n_columns + 1),
        tol=-np.inf,
        validate=None if held is None else training.score,
        n_iter_no_change=10**9,  # the alternation itself says when it is enough
        verbose=model.verbose,
    ) as monitor:
        if rounds is None:
            training.run(monitor)
        else:
            training.run_again(rounds, monitor)
    trees = [tree for one in training.additions if isinstance(one, list) for tree in one]
    fitted = FutureTrees(
        dataset.schema.classes,
        Ensemble.of(dataset.n_labels, trees),
        binning,
        inputs,
        tuple(training.features),
        n_columns,
        None if model.bag is None else int(model.bag),
        backward,
    )
    return Trained(fitted, monitor.history, monitor.n_iter, training.loss(), monitor.outcome, training.rounds)


def _rows(model: Any, dataset: Dataset) -> Dataset:
    """The corpus with the last labels as columns."""
    check_label_columns(dataset.n_labels, int(model.order))
    return with_label_columns(dataset, true_histories(model, dataset), backward=model._backward())


def _options(model: Any) -> Options:
    growth = Growth(
        int(model.max_leaf_nodes),
        float(model.l2_regularization),
        float(model.min_samples_leaf),
        model.categorical == "subset",
        way_of_trees(model.missing),
    )
    return Options(
        max_features=int(model.max_features),
        n_estimators=int(model.n_estimators),
        growth=growth,
        learning_rate=float(model.learning_rate),
        initial_score=float(model.initial_score),
        feature_steps=int(model.feature_steps),
        max_step=float(model.max_step),
        max_weight=float(model.max_weight),
        n_iter_no_change=int(model.n_iter_no_change),
        tol=float(model.tol),
    )
