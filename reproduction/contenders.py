"""Those who are compared: the paper's algorithm tuned as the paper tunes it, hedgerow as it comes, LightGBM."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import joblib

from hedgerow.data.dataset import Window
from hedgerow.models.crf.linear import LinearCRF
from hedgerow.models.crf.tree import TreeCRF
from reproduction.linear import MakeLinear, baseline, fit_to_end, mallet, tune_iterations, variance_to_l2
from reproduction.problems import Part, Problem, take
from reproduction.settings import Settings
from reproduction.tuning import Choice, Curves, tune
from reproduction.windows import WindowBooster

SHRINKAGE, ORIGINAL = "shrinkage", "original"  # the two ways of fitting trees in table 3.4
PAPER_LEAVES = 100  # L of the thesis where there is a λ


@dataclass(frozen=True)
class Labelling:
    """What a contender said of the test sequences of one seed, part after part.

    seconds : CPU time of the final training, the search for parameters not counted
    details : of each part, what was chosen and how long training went
    """

    predicted: list[list[Any]]
    seconds: float
    details: list[dict[str, Any]]

    def plus(self, predicted: Iterable[Any], seconds: float, detail: dict[str, Any]) -> Labelling:
        """The same with one more part."""
        rows = [list(row) for row in predicted]
        return Labelling([*self.predicted, *rows], self.seconds + seconds, [*self.details, detail])


Contender = Callable[[Any, Any, Any, int, Window, Settings], tuple[Iterable[Any], float, dict[str, Any]]]


def label_parts(contender: Contender, problem: Problem, seed: int, settings: Settings) -> Labelling:
    """Train on every part of a problem and label its test sequences."""
    parts = problem.parts(seed)
    # Several parts are trained side by side; with one part it is the contender's own search that is spread.
    inner, n_jobs = (settings, 1) if len(parts) == 1 else (settings.alone(), settings.n_jobs)
    found = Labelling([], 0.0, [])
    for result in joblib.Parallel(n_jobs=n_jobs)(
        joblib.delayed(contender)(*_cut(problem, part), seed, problem.window, inner) for part in parts
    ):
        found = found.plus(*result)
    return found


def _cut(problem: Problem, part: Part) -> tuple[Any, Any, Any]:
    """X and y to train on, X to label."""
    return take(problem.X, part.train), take(problem.y, part.train), take(problem.X, part.test)


# ------------------------------------------------------------------------------------------ as the thesis does it


def paper_model(window: Window, n_estimators: int, parameters: Mapping[str, Any]) -> TreeCRF:
    """The algorithm of the thesis, which runs all its iterations."""
    return TreeCRF.paper("2009", window=window, n_estimators=n_estimators, **parameters)


def tree_grid(form: str, settings: Settings) -> list[dict[str, Any]]:
    """The grid of one way of fitting trees: λ where L is 100, or L where λ is 0."""
    if form == SHRINKAGE:
        return [{"l2_regularization": value, "max_leaf_nodes": PAPER_LEAVES} for value in settings.shrinkages]
    return [{"l2_regularization": 0.0, "max_leaf_nodes": value} for value in settings.leaves]


def tune_paper(form: str, X: Any, y: Any, seed: int, window: Window, settings: Settings) -> Curves:
    """The cross-validation of the thesis on a training part."""
    return tune(
        lambda **parameters: paper_model(window, settings.max_iterations, parameters),
        tree_grid(form, settings),
        X,
        y,
        n_folds=settings.inner_folds,
        seed=seed,
        n_jobs=settings.n_jobs,
    )


def fit_choice(choice: Choice, X: Any, y: Any, window: Window) -> tuple[TreeCRF, float, dict[str, Any]]:
    """The model that a cross-validation chose, trained on the whole training part; CPU seconds; what it is."""
    model = paper_model(window, choice.n_iterations, choice.parameters).set_params(decoder=choice.decoder)
    began = time.process_time()
    model.fit(X, y)
    detail = {
        **choice.parameters,
        "iterations": choice.n_iterations,
        "decoder": choice.decoder,
        "inner_accuracy": choice.accuracy,
        "longest_run": choice.last,
    }
    return model, time.process_time() - began, detail


def tuned_paper(
    X: Any, y: Any, X_test: Any, seed: int, window: Window, settings: Settings
) -> tuple[Iterable[Any], float, dict[str, Any]]:
    """λ, the number of iterations and the decoder by cross-validation."""
    choice = tune_paper(SHRINKAGE, X, y, seed, window, settings).best()
    model, seconds, detail = fit_choice(choice, X, y, window)
    return model.predict(X_test), seconds, detail


def tuned_baseline(
    X: Any, y: Any, X_test: Any, seed: int, window: Window, settings: Settings
) -> tuple[Iterable[Any], float, dict[str, Any]]:
    """The linear model on single features, of labels and of pairs of labels."""
    return _tuned_linear(lambda l2: baseline(window, l2, X, y), X, y, X_test, seed, settings)


def tuned_mallet(
    X: Any, y: Any, X_test: Any, seed: int, window: Window, settings: Settings
) -> tuple[Iterable[Any], float, dict[str, Any]]:
    """The linear model that finds conjunctions."""
    return _tuned_linear(lambda l2: mallet(window, l2, seed, settings.max_iterations), X, y, X_test, seed, settings)


def _tuned_linear(
    make: MakeLinear, X: Any, y: Any, X_test: Any, seed: int, settings: Settings
) -> tuple[Iterable[Any], float, dict[str, Any]]:
    """The variance of the prior and the number of iterations by cross-validation; labels by posterior decoding."""

    def model(l2: float) -> LinearCRF:
        made = make(l2)
        made.set_params(decoder="posterior")
        return made.set_params(max_iter=settings.max_iterations) if settings.quick else made

    choice = tune_iterations(model, settings.variances, X, y, settings, seed)
    chosen = model(variance_to_l2(choice.variance)).set_params(max_iter=choice.n_iterations)
    began = time.process_time()
    fit_to_end(chosen, X, y)
    return chosen.predict(X_test), time.process_time() - began, choice._asdict()


# --------------------------------------------------------------------------------------------- without any tuning


def shorten(model: Any, n_iterations: int) -> None:
    """Cut the iterations of a model, or those of its estimator of rows."""
    if getattr(model, "estimator", None) == "trees":
        model.set_params(estimator=TreeCRF(n_estimators=n_iterations))
    else:
        model.set_params(**{"n_estimators" if hasattr(model, "n_estimators") else "max_iter": n_iterations})


def default_model(seed: int, window: Window, settings: Settings) -> TreeCRF:
    """TreeCRF with the window, and nothing else, said; `--quick` cuts its iterations."""
    model = TreeCRF(window=window, random_state=seed)
    return model.set_params(n_estimators=settings.max_iterations) if settings.quick else model


def untuned(
    X: Any, y: Any, X_test: Any, seed: int, window: Window, settings: Settings
) -> tuple[Iterable[Any], float, dict[str, Any]]:
    """hedgerow as it comes: early stopping on sequences that it holds out itself."""
    model = default_model(seed, window, settings)
    began = time.process_time()
    model.fit(X, y)
    seconds = time.process_time() - began
    return model.predict(X_test), seconds, {"iterations": model.best_iteration_, "outcome": model.outcome_}


def lightgbm_windows(
    X: Any, y: Any, X_test: Any, seed: int, window: Window, settings: Settings
) -> tuple[Iterable[Any], float, dict[str, Any]]:
    """LightGBM's defaults on the same windows, stopped early on the same held-out sequences."""
    model = WindowBooster(default_model(seed, window, settings))
    began = time.process_time()
    model.fit(X, y)
    seconds = time.process_time() - began
    return model.predict(X_test), seconds, {"iterations": int(model.booster_.best_iteration)}
