"""What `scoring` means on held-out sequences: a name, a scorer or a function, all as a function of labels."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from sklearn.base import BaseEstimator

from hedgerow.errors import InputError
from hedgerow.legend import AnyArray
from hedgerow.metrics.scorers import METRICS

LOG_LIKELIHOOD = "log_likelihood"  # the one score that reads probabilities, not labels

# A name, a scorer(estimator, X, y) or a function f(y_true, y_pred); greater is better.
Scoring = str | Callable[..., float]


class Predictions(BaseEstimator):  # type: ignore[misc]
    """The model that a scorer gets: it has predicted already, and knows no probabilities."""

    def __init__(self, labels: AnyArray | None = None) -> None:
        self.labels = labels

    def predict(self, X: Any) -> AnyArray | None:
        return self.labels

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        what = f"⟦scoring⟧ asks the model for {name}, and early stopping scores labels"
        raise InputError(what, hint="Use a scorer that asks for predict, or ⟦scoring='log_likelihood'⟧.")


def check_scoring(scoring: Any) -> None:
    """Refuse what early stopping cannot score by."""
    if callable(scoring):
        _is_scorer(scoring)
    elif not isinstance(scoring, str) or scoring not in ("auto", LOG_LIKELIHOOD, *METRICS):
        known = ", ".join(map(repr, (*METRICS, LOG_LIKELIHOOD)))
        hint = f"Choose one of {known}⟦; or give a scorer(estimator, X, y), or a function of (y_true, y_pred)⟧."
        raise InputError(f"⟦scoring⟧ is {scoring!r}", hint=hint)


def score_labels(scoring: Scoring, X: Any) -> Callable[[AnyArray, AnyArray], float]:
    """A function of (y_true, y_pred), the labels of X, for any scoring but the log-likelihood."""
    if not callable(scoring):
        return METRICS[scoring]
    if not _is_scorer(scoring):
        return scoring
    return lambda y_true, y_pred: scoring(Predictions(y_pred), X, y_true)


def _is_scorer(function: Callable[..., float]) -> bool:
    """Whether a function takes (estimator, X, y), and not (y_true, y_pred): by the arguments that it needs."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # a function that was not written in Python
        return False
    if next(iter(signature.parameters), "") != "estimator" and _takes(signature, 2):
        return False
    if _takes(signature, 3):
        return True
    what = f"⟦scoring⟧ is a function of {signature}"
    raise InputError(what, hint="Give a scorer(estimator, X, y), or a function of (y_true, y_pred).")


def _takes(signature: inspect.Signature, n: int) -> bool:
    try:
        signature.bind(*[None] * n)
    except TypeError:
        return False
    return True
