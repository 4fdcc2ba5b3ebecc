"""What a FutureFeatureMEMM learns, how it is trained, and the scores of its rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from hedgerow.data.dataset import Dataset
from hedgerow.errors import InputError
from hedgerow.estimators.prepare import Prepared
from hedgerow.estimators.values import class_weights
from hedgerow.legend import CODE, AnyArray, CodeArray, FloatArray, IndexArray
from hedgerow.models.future.corpus import ScoredCorpus, cut_evenly, future_schema, with_future_columns
from hedgerow.models.future.features import Alternation
from hedgerow.models.future.multiple_instance import Bags, FutureFeature
from hedgerow.models.future.parameters import FutureParameters
from hedgerow.models.local.base import SeenLabels
from hedgerow.models.local.previous_labels import with_label_columns
from hedgerow.models.local.rows import Rows, TreeScores
from hedgerow.training.monitor import Monitor, Trained
from hedgerow.trees.binning import Binning, bin_dataset, learn_binning
from hedgerow.trees.ensemble import Ensemble
from hedgerow.trees.growing import SURROGATE, WEIGHTING


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
        scores = [feature.scores(data) for feature in self.features]
        return np.array(scores).reshape(len(scores), dataset.n_positions)

    def bag_probs(self, dataset: Dataset) -> FloatArray:
        """(n_columns, N): Q of each feature, and 0 for columns that no feature has."""
        bags, probs = self.bags(dataset.offsets), np.zeros((self.n_columns, dataset.n_positions))
        for j, G in enumerate(self.instance_scores(dataset)):
            probs[j] = bags.probs(G)
        return probs


class FutureScores:
    """Scores of rows (position, last labels) by a FutureTrees."""

    def __init__(self, trees: FutureTrees, order: int) -> None:
        self.trees = trees
        self._inner = TreeScores(trees, order, backward=trees.backward)

    def rows(self, dataset: Dataset, first: int, last: int) -> Rows:
        part = replace(dataset, labels=None, allowed=None, weight_seq=None).take(np.arange(first, last))
        probs = self.trees.bag_probs(part)
        added: FloatArray = np.zeros((part.n_positions, len(self.trees.classes_)))
        for feature, column in zip(self.trees.features, probs):
            added[:, feature.label] += feature.weight * column
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


def train(
    settings: FutureParameters, ready: Prepared, labels: SeenLabels, rounds: Sequence[int] | None = None
) -> Trained[tuple[FutureTrees, list[int]]]:
    """Train on a corpus and the labels that its positions see: what is learnt, and the iterations of each round.

    rounds : iterations of each round, as a training with other sequences kept them; None: as many as help
    """
    n_columns, backward = int(settings.max_future_features), settings.direction == "right_to_left"
    rows = with_label_columns(ready.dataset, labels.training, backward=backward)
    if not (rows.labels != -1).any() and rows.allowed is None:  # type: ignore[union-attr]
        raise InputError("no position has a label, with labels before it", hint="Label more positions.")
    gaps = settings.missing in (WEIGHTING, SURROGATE)
    limits = int(settings.max_bins), settings.min_frequency
    inputs = learn_binning(ready.dataset, *limits, keep_missing=gaps)
    schema = future_schema(rows.schema, n_columns)
    empty = with_future_columns(rows, schema, np.zeros((n_columns, rows.n_positions)))
    binning = cut_evenly(learn_binning(empty, *limits, keep_missing=gaps), n_columns, int(settings.feature_bins))

    label_weights = class_weights(settings.class_weight, rows)

    def scored(part: Dataset, rows: Dataset, *, growing: bool) -> ScoredCorpus:
        data = bin_dataset(inputs, part, postings=growing)
        bags = Bags(part.offsets, settings.bag, backward=backward)
        return ScoredCorpus(data, rows, binning, bags, schema, label_weights, growing=growing)

    held = None
    if ready.held_out is not None and labels.held_out is not None:
        held_rows = with_label_columns(ready.held_out, labels.held_out, backward=backward)
        held = scored(ready.held_out, held_rows, growing=False)
    training = Alternation(scored(ready.dataset, rows, growing=True), held, inputs, binning, settings)
    with Monitor(
        max_iter=int(settings.n_estimators) * (n_columns + 1),
        tol=-np.inf,
        validate=None if held is None else training.score,
        n_iter_no_change=10**9,  # the alternation itself says when it is enough
        verbose=settings.verbose,
    ) as monitor:
        if rounds is None:
            training.run(monitor)
        else:
            training.run_again(rounds, monitor)
    trees = [tree for one in training.additions if isinstance(one, list) for tree in one]
    fitted = FutureTrees(
        rows.schema.classes,
        Ensemble.of(rows.n_labels, trees),
        binning,
        inputs,
        tuple(training.features),
        n_columns,
        None if settings.bag is None else int(settings.bag),
        backward,
    )
    trained = monitor.trained((fitted, training.rounds))
    return replace(trained, best=replace(trained.best, loss=training.final_loss))


def more_features(settings: FutureParameters, trees: FutureTrees, dataset: Dataset, scores: FloatArray) -> FutureTrees:
    """The features that there are and, after them, those that raise the likelihood most where labels of a corpus have
    scores (K, N) already: a feature for each label that gains by one, as in a round of training."""
    nothing = np.empty((dataset.n_positions, 0), dtype=CODE)
    rows = with_label_columns(dataset, nothing, backward=trees.backward)
    schema, inputs = future_schema(rows.schema, trees.n_columns), bin_dataset(trees.inputs, dataset, postings=True)
    weights, bags = class_weights(settings.class_weight, rows), trees.bags(dataset.offsets)
    corpus = ScoredCorpus(inputs, rows, trees.binning_, bags, schema, weights, growing=True)
    corpus.scores = scores
    search = Alternation(corpus, None, trees.inputs, trees.binning_, settings)
    search.additions.extend(trees.features)
    search.add_features()
    return replace(trees, features=tuple(search.features))
