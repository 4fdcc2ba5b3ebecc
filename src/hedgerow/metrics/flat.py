"""The metrics of sklearn-crfsuite under their own names: scikit-learn's, on all positions in one row.

For scripts that come from there. scikit-learn is imported at the first call.
"""

from __future__ import annotations

from itertools import chain
from typing import Any

from hedgerow.metrics.labelings import Label, Labelings, as_sequences, check_same_lengths

__all__ = [
    "flat_accuracy_score",
    "flat_classification_report",
    "flat_f1_score",
    "flat_fbeta_score",
    "flat_precision_score",
    "flat_recall_score",
    "sequence_accuracy_score",
]


def flat_accuracy_score(y_true: Labelings, y_pred: Labelings) -> float:
    """scikit-learn's accuracy_score over positions."""
    return float(_call("accuracy_score", y_true, y_pred))


def flat_precision_score(y_true: Labelings, y_pred: Labelings, **options: Any) -> Any:
    """scikit-learn's precision_score over positions; options are passed on."""
    return _call("precision_score", y_true, y_pred, **options)


def flat_recall_score(y_true: Labelings, y_pred: Labelings, **options: Any) -> Any:
    """scikit-learn's recall_score over positions; options are passed on."""
    return _call("recall_score", y_true, y_pred, **options)


def flat_f1_score(y_true: Labelings, y_pred: Labelings, **options: Any) -> Any:
    """scikit-learn's f1_score over positions; options are passed on."""
    return _call("f1_score", y_true, y_pred, **options)


def flat_fbeta_score(y_true: Labelings, y_pred: Labelings, beta: float, **options: Any) -> Any:
    """scikit-learn's fbeta_score over positions; options are passed on."""
    return _call("fbeta_score", y_true, y_pred, beta=beta, **options)


def flat_classification_report(
    y_true: Labelings, y_pred: Labelings, labels: list[Label] | None = None, **options: Any
) -> Any:
    """scikit-learn's classification_report over positions; options are passed on."""
    return _call("classification_report", y_true, y_pred, labels=labels, **options)


def sequence_accuracy_score(y_true: Labelings, y_pred: Labelings) -> float:
    """The share of sequences that are right as a whole; 0 for no sequences."""
    true, predicted = _pair(y_true, y_pred)
    return sum(a == b for a, b in zip(true, predicted)) / len(true) if true else 0.0


def _pair(y_true: Labelings, y_pred: Labelings) -> tuple[list[list[Any]], list[list[Any]]]:
    true, predicted = as_sequences(y_true, "y_true"), as_sequences(y_pred, "y_pred")
    check_same_lengths(true, predicted)
    return true, predicted


def _call(name: str, y_true: Labelings, y_pred: Labelings, **options: Any) -> Any:
    from sklearn import metrics

    true, predicted = _pair(y_true, y_pred)
    flat_true, flat_predicted = (list(chain.from_iterable(y)) for y in (true, predicted))
    return getattr(metrics, name)(flat_true, flat_predicted, **options)
