"""How good the probabilities of labels are: log-loss and Brier's score."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from hedgerow.errors import InputError
from hedgerow.legend import FLOAT, FloatArray, IndexArray
from hedgerow.metrics.labelings import Label, Labelings, code_labelings

_LEAST = float(np.finfo(FLOAT).eps)  # what a probability of 0 counts as in a logarithm, as in scikit-learn


def log_loss(y_true: Labelings, y_prob: Iterable[Any], classes: Iterable[Label]) -> float:
    """−log of the probability of the true label, the mean over labelled positions. 0 is best.

    Parameters
    ----------
    y_true : one list of labels per sequence; positions with None are left out
    y_prob : a (T, K) array per sequence, as `predict_proba` gives them
    classes : (K,) the labels of the columns of `y_prob`, `classes_` of a model. A true label that is not among them
        counts as one of probability 0
    """
    probs, columns = labelled_probs(y_true, y_prob, classes)
    given = np.where(columns >= 0, probs[np.arange(len(probs)), columns], 0.0)
    return float(-np.log(np.clip(given, _LEAST, 1.0)).mean())


def brier_score(y_true: Labelings, y_prob: Iterable[Any], classes: Iterable[Label]) -> float:
    """The squared distance of the probabilities from 1 for the true label and 0 for all others, summed over labels; the
    mean over labelled positions. 0 is best and 2 is worst. Parameters as in `log_loss`."""
    probs, columns = labelled_probs(y_true, y_prob, classes)
    right = np.arange(probs.shape[1]) == columns[:, None]
    unknown = columns < 0  # all of its columns are wrong, and so is that which it does not have
    return float((((probs - right) ** 2).sum(axis=1) + unknown).mean())


def labelled_probs(y_true: Labelings, y_prob: Iterable[Any], classes: Iterable[Label]) -> tuple[FloatArray, IndexArray]:
    """(N, K) and (N,): the probabilities of labelled positions, and the column of the true label, −1 if it has none."""
    coded, known = code_labelings(y_true), list(classes)
    given = [np.asarray(probs, dtype=FLOAT) for probs in y_prob]
    lengths = np.diff(coded.offsets)
    if len(given) != len(lengths):
        raise InputError(f"y_true has {len(lengths)} sequences and y_prob has {len(given)}")
    for i, (probs, length) in enumerate(zip(given, lengths)):
        if probs.shape != (length, len(known)):
            what = f"y_prob has the shape {probs.shape} where {length} labels and {len(known)} classes are"
            raise InputError(what, sequence=i)
    flat = np.concatenate(given)
    if not np.all((flat >= 0.0) & (flat <= 1.0 + 1e-6)):
        raise InputError("y_prob must lie between 0 and 1")
    place = {label: column for column, label in enumerate(known)}
    columns = np.array([*(place.get(label, -1) for label in coded.labels), -1])[coded.codes[0]]
    labelled = coded.codes[0] >= 0
    if not labelled.any():
        raise InputError("y_true has no labelled position", hint="There is nothing to score.")
    return flat[labelled], columns[labelled]
