"""Whether probabilities hold: of the labels that are given 80 %, how many are right?"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

import numpy as np

from hedgerow.errors import InputError
from hedgerow.legend import FLOAT, BoolArray, FloatArray
from hedgerow.metrics.labelings import Label, Labelings
from hedgerow.metrics.probabilities import labelled_probs


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
