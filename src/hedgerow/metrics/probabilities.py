"""How good the probabilities of labels are (log-loss, Brier's score), and whether they hold: of the labels that are
given 80 %, how many are right?"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

import numpy as np

from hedgerow.errors import InputError
from hedgerow.legend import FLOAT, BoolArray, FloatArray, IndexArray
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


# ------------------------------------------------------------------------------------------------ calibration


def calibration_curve(
    y_true: Labelings,
    y_prob: Iterable[Any],
    classes: Iterable[Label],
    *,
    pos_label: Label | None = None,
    n_bins: int = 10,
    strategy: Literal["uniform", "quantile"] = "uniform",
) -> tuple[FloatArray, FloatArray]:
    """The points of a reliability curve, as `sklearn.calibration.calibration_curve` gives them.

    Parameters
    ----------
    y_true : one list of labels per sequence; positions with None are left out
    y_prob : a (T, K) array per sequence, as `predict_proba` gives them
    classes : (K,) the labels of the columns of `y_prob`, `classes_` of a model
    pos_label : the label whose probability is looked at; by default that of the most probable label, which is right
        where it is the true one
    n_bins : into so many bins probabilities are cut; those without a position give no point
    strategy : "uniform" bins are of the same width, "quantile" ones have as many positions each

    Returns
    -------
    prob_true, prob_pred : (bins,) each, the share of positions that are right, and the mean probability
    """
    probs, right = decisions(y_true, y_prob, classes, pos_label)
    prob_true, prob_pred, _ = reliability(probs, right, n_bins, strategy)
    return prob_true, prob_pred


def expected_calibration_error(
    y_true: Labelings, y_prob: Iterable[Any], classes: Iterable[Label], *, n_bins: int = 15
) -> float:
    """How far the probability of the most probable label lies from the share that is right: the mean over bins of equal
    width, weighted by their positions. 0 is best. Parameters as in `calibration_curve`."""
    return calibration_error(*decisions(y_true, y_prob, classes), n_bins)


def calibration_error(probs: FloatArray, right: BoolArray, n_bins: int = 15) -> float:
    """The same of probabilities (N,) and whether what they were given to was right (N,)."""
    prob_true, prob_pred, counts = reliability(probs, right, n_bins)
    return float((np.abs(prob_true - prob_pred) * counts).sum() / counts.sum())


def reliability(
    probs: FloatArray, right: BoolArray, n_bins: int, strategy: str = "uniform"
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """(bins,) each, of bins that are not empty: the share that is right, the mean probability, and the positions."""
    if strategy not in ("uniform", "quantile") or n_bins < 1:
        hint = "Give 1 or more 'uniform' or 'quantile' bins."
        raise InputError(f"n_bins is {n_bins!r} and strategy {strategy!r}", hint=hint)
    edges = np.linspace(0.0, 1.0, n_bins + 1)
    if strategy == "quantile":
        edges = np.quantile(probs, edges)
    places = np.searchsorted(edges[1:-1], probs)
    counts = np.bincount(places, minlength=n_bins).astype(FLOAT)
    full = counts > 0
    prob_true, prob_pred = (np.bincount(places, values, n_bins)[full] / counts[full] for values in (right, probs))
    return prob_true, prob_pred, counts[full]


def decisions(
    y_true: Labelings, y_prob: Iterable[Any], classes: Iterable[Label], pos_label: Label | None = None
) -> tuple[FloatArray, BoolArray]:
    """(N,) each, of labelled positions: the probability of a label, the most probable one by default, and whether it is
    the true one."""
    known = list(classes)
    if pos_label is not None and pos_label not in known:
        raise InputError(f"pos_label is {pos_label!r}", hint=f"It is one of {', '.join(map(repr, known[:10]))}.")
    flat, columns = labelled_probs(y_true, y_prob, known)
    chosen = flat.argmax(axis=1) if pos_label is None else np.full(len(flat), known.index(pos_label))
    return np.minimum(flat[np.arange(len(flat)), chosen], 1.0), chosen == columns
