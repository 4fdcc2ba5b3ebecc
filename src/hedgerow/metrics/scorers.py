"""Metrics as scikit-learn scorers, and metrics by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hedgerow.errors import InputError
from hedgerow.metrics.labelings import Labelings
from hedgerow.metrics.probabilities import brier_score, expected_calibration_error, log_loss
from hedgerow.metrics.segments import boundary_f1, segment_edit_score, segment_f1
from hedgerow.metrics.spans import span_f1
from hedgerow.metrics.tokens import label_accuracy, label_f1, sequence_accuracy

Metric = Callable[..., float]


def macro_f1(y_true: Labelings, y_pred: Labelings) -> float:
    """F1 of the labels, each counting the same: `label_f1` with average="macro"."""
    return label_f1(y_true, y_pred, average="macro")


METRICS: dict[str, Metric] = {
    "accuracy": label_accuracy,
    "label_f1": label_f1,
    "macro_f1": macro_f1,
    "sequence_accuracy": sequence_accuracy,
    "span_f1": span_f1,
    "segment_f1": segment_f1,
    "segment_edit_score": segment_edit_score,
    "boundary_f1": boundary_f1,
}
# Of probabilities, (y_true, y_prob, classes): smaller is better.
LOSSES: dict[str, Metric] = {
    "log_loss": log_loss,
    "brier_score": brier_score,
    "expected_calibration_error": expected_calibration_error,
}


@dataclass(repr=False)
class Scorer:
    """A metric with scikit-learn's signature `scorer(estimator, X, y)`; higher is better."""

    metric: Metric
    greater_is_better: bool
    options: dict[str, Any]
    of_probabilities: bool = False

    def __call__(self, estimator: Any, X: Any, y: Any) -> float:
        if self.of_probabilities:
            value = self.metric(y, estimator.predict_proba(X), estimator.classes_, **self.options)
        else:
            value = self.metric(y, estimator.predict(X), **self.options)
        return value if self.greater_is_better else -value

    def __repr__(self) -> str:
        parts = [getattr(self.metric, "__name__", repr(self.metric))]
        if not self.greater_is_better:
            parts.append("greater_is_better=False")
        if self.of_probabilities:
            parts.append("of_probabilities=True")
        parts.extend(f"{name}={value!r}" for name, value in self.options.items())
        return f"make_scorer({', '.join(parts)})"


def make_scorer(
    metric: Metric, greater_is_better: bool = True, *, of_probabilities: bool = False, **options: Any
) -> Scorer:
    """A scorer for `scoring=` in scikit-learn's GridSearchCV, cross_val_score and the like.

    Parameters
    ----------
    metric : function of (y_true, y_pred, **options) that returns a number, on nested labels
    greater_is_better : False for a loss; the scorer then returns its negative
    of_probabilities : the metric is a function of (y_true, y_prob, classes, **options), as `log_loss` is
    options : passed to the metric, as in `make_scorer(span_f1, scheme="iobes")`
    """
    return Scorer(metric, greater_is_better, options, of_probabilities)


label_accuracy_scorer = make_scorer(label_accuracy)
label_f1_scorer = make_scorer(label_f1)
sequence_accuracy_scorer = make_scorer(sequence_accuracy)
span_f1_scorer = make_scorer(span_f1)
SCORERS: dict[str, Scorer] = {name: make_scorer(metric) for name, metric in METRICS.items()} | {
    f"neg_{name}": make_scorer(metric, greater_is_better=False, of_probabilities=True)
    for name, metric in LOSSES.items()
}


def get_scorer(name: str) -> Scorer:
    """The scorer of this name: a metric, or "neg_log_loss", "neg_brier_score", "neg_expected_calibration_error"."""
    if not isinstance(name, str) or name not in SCORERS:
        raise InputError(f"the scorer {name!r} is unknown", hint=f"Known scorers: {', '.join(SCORERS)}.")
    return SCORERS[name]


def get_metric(name: str | Metric) -> Metric:
    """The metric of this name, a function of (y_true, y_pred) where greater is better. A callable passes."""
    if callable(name):
        return name
    if not isinstance(name, str) or name not in METRICS:
        hint = f"Known metrics: {', '.join(METRICS)}; or give a function of (y_true, y_pred)."
        raise InputError(f"the metric {name!r} is unknown", hint=hint)
    return METRICS[name]
