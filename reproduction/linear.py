"""The linear models beside the trees, without and with feature induction: what the documents call BASELINE and MALLET.
Their penalty and iterations by cross-validation, their curves; and windows with all conjunctions."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import joblib
import numpy as np

from hedgerow.data.dataset import Window
from hedgerow.data.encoding import learn
from hedgerow.legend import FloatArray, IndexArray
from hedgerow.metrics import label_accuracy
from hedgerow.models.crf.linear import LinearCRF
from hedgerow.models.crf.linear_training import max_iterations
from hedgerow.trainers import FeatureInduction
from reproduction.curves import known_labels
from reproduction.problems import Part, folds, take
from reproduction.settings import Settings

MakeLinear = Callable[[float], LinearCRF]


def baseline(window: Window, l2: float, X: Any, y: Any) -> LinearCRF:
    """BASELINE of the documents: every feature scores labels and pairs of labels, f(y′, y, x)."""
    schema = learn(X, y, window=window).schema
    columns = {column.name for column in schema.columns} | ({"*"} if schema.n_attributes else set())
    return LinearCRF(window=window, l2=l2, transition_columns=sorted(columns))


def mallet(window: Window, l2: float, seed: int, max_iter: int) -> LinearCRF:
    """MALLET of the documents: features from a constant on, 500 conjunctions every 8 iterations."""
    induction = FeatureInduction.paper()
    return LinearCRF(window=window, l2=l2, induction=induction, max_iter=max_iter, random_state=seed)


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
    groups: IndexArray | None = None,
) -> float:
    """The variance of the prior with the best accuracy in a cross-validation on (X, y). `make` takes l2, `groups` is as
    `folds` has it."""
    parts = folds(len(y), n_folds, seed, groups)
    jobs = [(variance, part) for variance in variances for part in parts]
    right = joblib.Parallel(n_jobs=n_jobs)(
        joblib.delayed(_count_right)(make(variance_to_l2(variance)), X, y, part) for variance, part in jobs
    )
    sums = np.array(right).reshape(len(variances), len(parts)).sum(axis=1)
    return variances[int(np.argmax(sums))]


class LinearChoice(NamedTuple):
    """A variance and a number of iterations, and their accuracy in a cross-validation."""

    variance: float
    n_iterations: int
    accuracy: float


def tune_iterations(
    make: MakeLinear, variances: Sequence[float], X: Any, y: Sequence[Sequence[Any]], settings: Settings, seed: int
) -> LinearChoice:
    """The variance and the number of iterations with the best accuracy in a cross-validation on (X, y)."""
    parts = folds(len(y), settings.inner_folds, seed)
    jobs = [(variance, part) for variance in variances for part in parts]
    curves = joblib.Parallel(n_jobs=settings.n_jobs)(
        joblib.delayed(_count_by_iteration)(make(variance_to_l2(variance)), X, y, part) for variance, part in jobs
    )
    longest = max(map(len, curves))
    padded = np.array([np.append(curve, np.full(longest - len(curve), curve[-1])) for curve in curves])
    sums = padded.reshape(len(variances), len(parts), longest).sum(axis=1)
    v, n = divmod(int(np.argmax(sums)), longest)
    return LinearChoice(variances[v], n + 1, float(sums[v, n]) / sum(map(len, y)))


def _count_by_iteration(model: LinearCRF, X: Any, y: Sequence[Sequence[Any]], part: Part) -> FloatArray:
    truth = take(y, part.test)
    curve = linear_curve(model, take(X, part.train), take(y, part.train), take(X, part.test), truth)
    return np.array(curve.accuracies or [0.0]) * sum(map(len, truth))  # none where training ends where it begins


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
