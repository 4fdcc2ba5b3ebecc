"""Metrics as scikit-learn scorers, and metrics by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hedgerow.errors import InputError
from hedgerow.metrics.spans import span_f1
from hedgerow.metrics.tokens import label_accuracy, label_f1, sequence_accuracy

Metric = Callable[..., float]

METRICS: dict[str, Metric] = {
    "accuracy": label_accuracy,
    "label_f1": label_f1,
    "sequence_accuracy": sequence_accuracy,
    "span_f1": span_f1,
}


@dataclass(repr=False)
class Scorer:
    """A metric with scikit-learn's signature `scorer(estimator, X, y)`; higher is better."""

    metric: Metric
    greater_is_better: bool
    options: dict[str, Any]

    def __call__(self, estimator: Any, X: Any, y: Any) -> float:
        value = self.metric(y, estimator.predict(X), **self.options)
        return value if self.greater_is_better else -value

    def __repr__(self) -> str:
        parts = [getattr(self.metric, "__name__", repr(self.metric))]
        if not self.greater_is_better:
            parts.append("greater_is_better=False")
        parts.extend(f"{name}={value!r}" for name, value in self.options.items())
        return f"make_scorer({', '.join(parts)})"


def make_scorer(metric: Metric, greater_is_better: bool = True, **options: Any) -> Scorer:
    """A scorer for `scoring=` in scikit-learn's GridSearchCV, cross_val_score and the like.

    Parameters
    ----------
    metric : function of (y_true, y_pred, **options) that returns a number, on nested labels
    greater_is_better : False for a loss; the scorer then returns its negative
    options : passed to the metric, as in `make_scorer(span_f1, scheme="iobes")`
    """
    return Scorer(metric, greater_is_better, options)


label_accuracy_scorer = make_scorer(label_accuracy)
label_f1_scorer = make_scorer(label_f1)
sequence_accuracy_scorer = make_scorer(sequence_accuracy)
span_f1_scorer = make_scorer(span_f1)


def get_metric(name: str | Metric) -> Metric:
    """The metric of this name, a function of (y_true, y_pred) where greater is better. A callable passes."""
    if callable(name):
        return name
    if not isinstance(name, str) or name not in METRICS:
        hint = f"Known metrics: {', '.join(METRICS)}; or give a function of (y_true, y_pred)."
        raise InputError(f"the metric {name!r} is unknown", hint=hint)
    return METRICS[name]
