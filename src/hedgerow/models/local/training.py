"""Training of local models: a classifier of rows (position, labels before it), linear, of trees, or the user's own."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from hedgerow.data.dataset import Dataset
from hedgerow.data.imputation import Imputation
from hedgerow.errors import InputError
from hedgerow.estimators.missing import fill, learn_missing
from hedgerow.estimators.parameters import LOG_LIKELIHOOD, random_generator
from hedgerow.estimators.validation import choose_held_out
from hedgerow.legend import CODE, UNLABELLED, CodeArray, IndexArray
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


class Seen(NamedTuple):
    """A corpus, and the labels that each of its positions sees, (N, order)."""

    dataset: Dataset
    histories: CodeArray

    def take(self, sequences: IndexArray) -> Seen:
        """Some sequences, by number."""
        ends = self.dataset.offsets
        rows = np.concatenate([np.arange(ends[i], ends[i + 1]) for i in sequences])
        return Seen(self.dataset.take(sequences), self.histories[rows])

    def filled(self, imputation: Imputation | None) -> Seen:
        """The same without gaps."""
        return self._replace(dataset=fill(imputation, self.dataset))


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


def fit_local(model: Any, corpus: Seen, held_out: Dataset | None, *, warm: bool) -> tuple[Fitted, Imputation | None]:
    """Fit the classifier to the rows of a corpus; and what stands in for missing values.

    Sequences are set aside before anything is learnt of them. Where trees are trained again on all sequences, what
    stands in for missing values is learnt again, too.
    """
    shown = hide_unknown(*corpus).labels
    assert shown is not None
    if np.all(shown == UNLABELLED) and corpus.dataset.allowed is None:
        raise InputError("no position has a label, with labels before it", hint="Label more positions.")
    trees = model._scorer() == "trees"
    part, held, again = corpus, None, False
    if held_out is not None:
        held = Seen(held_out, true_histories(model, held_out))
    elif model._holds_out():
        kept, aside = choose_held_out(model, hide_unknown(*corpus))
        part, held, again = corpus.take(kept), corpus.take(aside), trees and model.refit and not warm
    imputation = model.imputation_ if warm and trees else learn_missing(model, part.dataset, trees=trees)
    fitted = _fit_scorer(model, part.filled(imputation), None if held is None else held.filled(imputation), warm=warm)
    if again and fitted.scorer.outcome_ != "interrupted" and fitted.scorer.best_iteration_ > 0:
        of_all = learn_missing(model, corpus.dataset)
        fitted.scorer._fit_again(_with_labels(model, corpus.filled(of_all)), None, None)
        if fitted.scorer.refitted_:  # not interrupted
            imputation = of_all
    return fitted, imputation


def _fit_scorer(model: Any, corpus: Seen, held_out: Seen | None, *, warm: bool) -> Fitted:
    """Fit the classifier to the rows of a corpus without gaps that it cannot read."""
    dataset, histories = corpus
    scorer = new_scorer(model)
    if warm:  # a copy: another model may hold the one that was fitted
        scorer = copy.copy(model.scorer_).set_params(**scorer.get_params(deep=False))
    kind = model._scorer()
    if isinstance(kind, str):
        scorer.set_params(window=dataset.schema.window)
    if kind == "linear":
        return _fit_linear(scorer, model, corpus, held_out)
    if kind == "trees":
        validation = None if held_out is None else _with_labels(model, held_out)
        return Fitted(scorer.fit(_with_labels(model, corpus), X_val=validation))
    check_numbers(dataset, dataset.schema)
    classifier, loss = fit_classifier(scorer, dataset, histories)
    return Fitted(classifier, loss=loss)


def _fit_linear(linear: LinearCRF, model: Any, corpus: Seen, held_out: Seen | None) -> Fitted:
    dataset, histories = corpus
    check_numbers(dataset, dataset.schema)
    columns = conjoined_columns(model, dataset)
    runs = LabelRuns.observed(dataset, histories, columns, backward=model._backward())
    schema = runs.schema(dataset.schema)
    validation = None
    if held_out is not None:
        check_numbers(held_out.dataset, dataset.schema)
        validation = runs.attach(*held_out, schema)
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
        raise InputError("is in ⟦conjoin⟧ and not in the data", hint=hint, column=name)
    return wanted


def _with_labels(model: Any, corpus: Seen) -> Dataset:
    """The corpus with the labels that trees see as columns."""
    dataset, histories = corpus
    check_label_columns(dataset.n_labels, histories.shape[1])
    return with_label_columns(dataset, histories, backward=model._backward())


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
        raise InputError(f"{n_folds} folds of {n} sequences cannot be made", hint="Give a lower ⟦n_folds⟧.")
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
