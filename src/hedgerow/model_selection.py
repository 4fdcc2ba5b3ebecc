"""Splitting and cross-validating sequences, for what scikit-learn cannot do with them.

scikit-learn's cross_val_score, cross_validate, GridSearchCV, KFold and GroupKFold take lists of sequences, object
arrays and `hedgerow.Sequences` as they are; give them a scorer from `hedgerow.metrics`. Its cross_val_predict
fails on nested labels when probabilities are asked for, and its train_test_split knows no groups.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, get_args

import joblib
import numpy as np
from sklearn.base import clone
from sklearn.model_selection import GroupShuffleSplit, ShuffleSplit, check_cv

from hedgerow.data.readers.columns import objects
from hedgerow.data.sequences import take_sequences
from hedgerow.errors import InputError
from hedgerow.legend import AnyArray, FloatArray, IndexArray
from hedgerow.metrics.labelings import Label, sort_key

__all__ = ["cross_val_predict", "train_test_split"]

Method = Literal["predict", "predict_proba", "predict_marginals"]


def cross_val_predict(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    cv: Any = 5,
    method: Method = "predict",
    groups: Any = None,
    sample_weight: Any = None,
    n_jobs: int | None = None,
) -> AnyArray | list[Any]:
    """Predict each sequence by a model that did not see it in training.

    Parameters
    ----------
    estimator : the model; clones of it are fitted
    X, y : S sequences and their labels: lists, object arrays or Sequences
    cv : number of parts, or a scikit-learn splitter whose test parts hold every sequence once
    method : "predict", "predict_proba" or "predict_marginals"
    groups : S values for a splitter such as GroupKFold, which keeps sequences of one group together
    sample_weight : S numbers, or one list of numbers per sequence; passed to `fit`
    n_jobs : processes that fit at the same time; None is 1

    Returns
    -------
    One item per sequence, in the order of X: an object array of label lists for "predict", otherwise a list. The
    arrays of "predict_proba" have one column for each label that any of the models knows. Where a training part
    lacks a label, its probability is 0, and the columns are sorted: integers first, then strings.
    """
    if method not in get_args(Method):
        raise InputError(f"⟦method⟧ is {method!r}", hint=f"It is one of {', '.join(get_args(Method))}.")
    _check_lengths(X, y=y, groups=groups, sample_weight=sample_weight)
    splits = list(check_cv(cv).split(X, y, groups))
    tests = [test for _, test in splits]
    check_partition(tests, len(X))
    parts = joblib.Parallel(n_jobs=n_jobs)(
        joblib.delayed(_fit_predict)(clone(estimator), X, y, train, test, method, sample_weight)
        for train, test in splits
    )
    predictions = [prediction for prediction, _ in parts]
    if method == "predict_proba":
        predictions = _align(predictions, [list(classes) for _, classes in parts])
    ordered = np.empty(len(X), dtype=object)
    ordered[np.concatenate(tests)] = objects([item for prediction in predictions for item in prediction])
    return ordered if method == "predict" else list(ordered)


def train_test_split(
    X: Any, y: Any, *, test_size: float | int = 0.25, groups: Any = None, random_state: Any = None
) -> tuple[Any, Any, Any, Any]:
    """Cut a corpus at random into a training and a test part; sequences stay whole.

    Without groups this is scikit-learn's train_test_split, sequence for sequence.

    Parameters
    ----------
    X, y : S sequences and their labels: lists, object arrays or Sequences
    test_size : share of the test part, or its number of sequences; of groups, where there are groups
    groups : S values, such as the document of each sentence; a group is never cut in two
    random_state : seed, for the same cut every time

    Returns
    -------
    X_train, X_test, y_train, y_test, of the types of X and y
    """
    _check_lengths(X, y=y, groups=groups)
    splitter_type = ShuffleSplit if groups is None else GroupShuffleSplit
    splitter = splitter_type(n_splits=1, test_size=test_size, random_state=random_state)
    train, test = next(splitter.split(X, y, groups))
    X_train, X_test, y_train, y_test = (take_sequences(given, part) for given in (X, y) for part in (train, test))
    return X_train, X_test, y_train, y_test


def _check_lengths(X: Any, **others: Any) -> None:
    for name, values in others.items():
        if values is not None and len(values) != len(X):
            what = f"X has {len(X)} sequences and {name} has {len(values)} items"
            raise InputError(what, hint="Both have one item per sequence.")


def check_partition(tests: Sequence[IndexArray], n_sequences: int) -> None:
    """Refuse test parts of a cross-validation that do not hold every sequence exactly once."""
    times = np.bincount(np.concatenate(tests), minlength=n_sequences)
    wrong = np.flatnonzero(times != 1)
    if wrong.size:
        hint = "Every sequence must be in exactly one, as with KFold and GroupKFold."
        raise InputError(f"is in {times[wrong[0]]} test parts of ⟦cv⟧", hint=hint, sequence=int(wrong[0]))


def _fit_predict(
    model: Any, X: Any, y: Any, train: IndexArray, test: IndexArray, method: str, sample_weight: Any
) -> tuple[Any, Any]:
    """What the model fitted on `train` says about `test`, and the labels that it knows."""
    options = {} if sample_weight is None else {"sample_weight": take_sequences(sample_weight, train)}
    model.fit(take_sequences(X, train), take_sequences(y, train), **options)
    return getattr(model, method)(take_sequences(X, test)), getattr(model, "classes_", ())


def _align(parts: list[Any], classes: list[list[Label]]) -> list[list[FloatArray]]:
    """Give the probability arrays of all parts the same columns."""
    if all(known == classes[0] for known in classes):
        return parts
    union = sorted(set().union(*classes), key=sort_key)
    # One more column, of zeros, for the labels that a model does not know.
    places = [[known.index(label) if label in known else -1 for label in union] for known in classes]
    return [[np.pad(p, ((0, 0), (0, 1)))[:, columns] for p in probs] for probs, columns in zip(parts, places)]
