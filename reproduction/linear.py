"""The linear model beside the trees: its penalty by cross-validation, its curve, and windows with all conjunctions."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import joblib
import numpy as np

from hedgerow.metrics import label_accuracy
from hedgerow.models.crf.linear import LinearCRF
from hedgerow.models.crf.linear_training import max_iterations
from reproduction.curves import known_labels
from reproduction.problems import Part, folds, take

MakeLinear = Callable[[float], LinearCRF]


class LinearCurve(NamedTuple):
    """Accuracies after each iteration of L-BFGS, and seconds since training began (scoring included)."""

    accuracies: list[float]
    seconds: list[float]


def variance_to_l2(variance: float) -> float:
    """The penalty that a Gaussian prior of this variance stands for."""
    return 1.0 / (2.0 * variance)


def tune_linear(
    make: MakeLinear,
    variances: Sequence[float],
    X: Any,
    y: Sequence[Sequence[Any]],
    *,
    n_folds: int,
    seed: int,
    n_jobs: int = 1,
) -> float:
    """The variance of the prior with the best accuracy in a cross-validation on (X, y). `make` takes l2."""
    parts = folds(len(y), n_folds, seed)
    jobs = [(variance, part) for variance in variances for part in parts]
    right = joblib.Parallel(n_jobs=n_jobs)(
        joblib.delayed(_count_right)(make(variance_to_l2(variance)), X, y, part) for variance, part in jobs
    )
    sums = np.array(right).reshape(len(variances), len(parts)).sum(axis=1)
    return variances[int(np.argmax(sums))]


def _count_right(model: LinearCRF, X: Any, y: Sequence[Sequence[Any]], part: Part) -> float:
    fit_to_end(model, take(X, part.train), take(y, part.train))
    truth = take(y, part.test)
    return label_accuracy(truth, model.predict(take(X, part.test))) * sum(map(len, truth))


def fit_to_end(model: LinearCRF, X: Any, y: Any, **held_out: Any) -> LinearCRF:
    """Fit; a run that ends by `max_iter` is as good as any here."""
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X, y, **held_out)


def linear_curve(model: LinearCRF, X: Any, y: Any, X_test: Any, y_test: Sequence[Sequence[Any]]) -> LinearCurve:
    """Train, and read the accuracy on test sequences after each iteration. Nothing is chosen by it."""
    classes = sorted({label for labels in y for label in labels})
    known, n_known = known_labels(classes, y_test)
    share = n_known / sum(map(len, y_test))
    model.set_params(n_iter_no_change=max_iterations(model.max_iter, "lbfgs"), scoring="accuracy")
    fit_to_end(model, X, y, X_val=X_test, y_val=known)
    scores = [step.score * share for step in model.history_ if step.score is not None]
    return LinearCurve(scores, [step.seconds for step in model.history_])


def conjunctions(tokens: Sequence[str], width: int) -> list[list[str]]:
    """For every position all conjunctions of the window's tokens: 2^width − 1 attributes, such as "-1=A,+0=G".

    What lies outside the sequence is a token too, "-".
    """
    half = width // 2
    offsets = range(-half, half + 1)
    subsets = [subset for size in range(1, width + 1) for subset in combinations(range(width), size)]
    padded = ["-"] * half + list(tokens) + ["-"] * half
    found = []
    for t in range(len(tokens)):
        own = [f"{offset:+d}={padded[t + half + offset]}" for offset in offsets]
        found.append([",".join(own[i] for i in subset) for subset in subsets])
    return found
