"""Training of local models: a classifier of rows (position, labels before it), linear, of trees, or the user's own."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from hedgerow.data.dataset import Dataset
from hedgerow.errors import InputError
from hedgerow.estimators.parameters import LOG_LIKELIHOOD, random_generator
from hedgerow.legend import CODE, UNLABELLED, CodeArray
from hedgerow.linear.scorer import check_numbers
from hedgerow.models.crf.linear import LinearCRF
from hedgerow.models.crf.tree import TreeCRF
from hedgerow.models.local.foreign import fit_classifier
from hedgerow.models.local.previous_labels import LabelRuns, hide_unknown, label_histories, with_label_columns
from hedgerow.models.local.rows import check_label_columns

_STOPPING = ("validation_fraction", "n_iter_no_change", "n_jobs", "random_state", "verbose", "warm_start")
_OF_LINEAR = ("l2", "l1", "max_iter", "tol", "min_frequency", "pairs", *_STOPPING)
_OF_TREES = (
    "n_estimators", "max_leaf_nodes", "l2_regularization", "learning_rate", "min_samples_leaf", "max_features",
    "max_bins", "min_frequency", "categorical", "subsample", "refit", *_STOPPING,
)  # fmt: skip


class Fitted(NamedTuple):
    """The classifier of rows; the runs of labels that a linear one looks at, None for others; the loss of a user's."""

    scorer: Any
    runs: LabelRuns | None = None
    loss: float = np.nan


def new_scorer(model: Any) -> Any:
    """The classifier of rows that a model's parameters describe, not fitted."""
    own = {"early_stopping": model._holds_out(), "metric": metric_name(model)}
    kind = model._scorer()
    if kind == "linear":
        return LinearCRF(order=0, **{name: getattr(model, name) for name in _OF_LINEAR}, **own)
    if kind == "trees":
        missing = model.missing if model.missing in ("weighting", "surrogate") else "learned"
        parameters = {name: getattr(model, name) for name in _OF_TREES}
        return TreeCRF(order=0, missing=missing, **parameters, **own)
    return clone(kind)


def metric_name(model: Any) -> Any:
    """What counts on held-out sequences."""
    return LOG_LIKELIHOOD if model.metric == "auto" else model.metric


def fit_scorer(model: Any, dataset: Dataset, histories: CodeArray, held_out: Dataset | None, *, warm: bool) -> Fitted:
    """Fit the classifier to the rows of a corpus; histories (N, order) are the labels that each row sees."""
    shown = hide_unknown(dataset, histories).labels
    assert shown is not None
    if np.all(shown == UNLABELLED) and dataset.allowed is None:
        raise InputError("no position has a label, with labels before it", hint="Label more positions.")
    scorer = new_scorer(model)
    if warm:  # a copy: another model may hold the one that was fitted
        scorer = copy.copy(model.scorer_).set_params(**scorer.get_params(deep=False))
    kind = model._scorer()
    if isinstance(kind, str):
        scorer.set_params(window=dataset.schema.window)
    if kind == "linear":
        return _fit_linear(scorer, model, dataset, histories, held_out)
    if kind == "trees":
        return _fit_trees(scorer, model, dataset, histories, held_out)
    check_numbers(dataset, dataset.schema)
    classifier, loss = fit_classifier(scorer, dataset, histories)
    return Fitted(classifier, loss=loss)


def _fit_linear(
    linear: LinearCRF, model: Any, dataset: Dataset, histories: CodeArray, held_out: Dataset | None
) -> Fitted:
    check_numbers(dataset, dataset.schema)
    columns = conjoined_columns(model, dataset)
    runs = LabelRuns.observed(dataset, histories, columns, backward=model._backward())
    schema = runs.schema(dataset.schema)
    validation = None
    if held_out is not None:
        check_numbers(held_out, dataset.schema)
        validation = runs.attach(held_out, true_histories(model, held_out), schema)
    linear.fit(runs.attach(dataset, histories, schema), X_val=validation)
    return Fitted(linear, runs)


def conjoined_columns(model: Any, dataset: Dataset) -> Iterable[str] | None:
    """The columns whose features are conjoined with the last label: None for all."""
    given = getattr(model, "conjoin", None)
    if given == "all":
        return None
    wanted = set(given or ())
    known = {column.name for column in dataset.schema.columns} | ({"*"} if len(dataset.schema.attributes) else set())
    for name in sorted(wanted - known):
        hint = f"Columns: {', '.join(sorted(known)[:10])}."
        raise InputError("is in conjoin and not in the data", hint=hint, column=name)
    return wanted


def _fit_trees(trees: TreeCRF, model: Any, dataset: Dataset, histories: CodeArray, held_out: Dataset | None) -> Fitted:
    backward = model._backward()
    check_label_columns(dataset.n_labels, histories.shape[1])
    validation = None
    if held_out is not None:
        validation = with_label_columns(held_out, true_histories(model, held_out), backward=backward)
    trees.fit(with_label_columns(dataset, histories, backward=backward), X_val=validation)
    return Fitted(trees)


def true_histories(model: Any, dataset: Dataset) -> CodeArray:
    """int32 (N, order): the labels before each position, as the corpus has them."""
    assert dataset.labels is not None
    return label_histories(
        dataset.labels, dataset.offsets, dataset.n_labels, model._order(), backward=model._backward()
    )


def predicted_histories(model: Any, dataset: Dataset, n_folds: int) -> CodeArray:
    """The same with labels that models of the other folds predict: what a model will see when it predicts."""
    n = dataset.n_sequences
    if n < n_folds:
        raise InputError(f"{n_folds} folds of {n} sequences cannot be made", hint="Give a lower n_folds.")
    fold_of = random_generator(model.random_state).permutation(np.arange(n) % n_folds)
    labels: CodeArray = np.empty(dataset.n_positions, dtype=CODE)
    for fold in range(n_folds):
        teacher = clone(model).set_params(training="teacher", warm_start=False)
        inside, outside = np.flatnonzero(fold_of != fold), np.flatnonzero(fold_of == fold)
        teacher.fit(dataset.take(inside))
        if teacher.outcome_ == "interrupted":
            raise KeyboardInterrupt
        held = replace(dataset.take(outside), labels=None, allowed=None)
        rows = np.concatenate([np.arange(dataset.offsets[i], dataset.offsets[i + 1]) for i in outside])
        labels[rows] = teacher._codes(held, teacher._search_name())
    return label_histories(labels, dataset.offsets, dataset.n_labels, model._order(), backward=model._backward())
