"""Table 3 of Dietterich et al. 2004: a linear model on all conjunctions of a window against boosted trees."""

from __future__ import annotations

import time
from typing import Any, Final

from hedgerow.legend import IndexArray
from hedgerow.metrics import label_accuracy
from hedgerow.models.crf.linear import LinearCRF
from hedgerow.models.crf.tree import TreeCRF
from reproduction.datasets.relatives import families
from reproduction.drawing import draw_widths
from reproduction.linear import conjunctions, fit_to_end, tune_linear, variance_to_l2
from reproduction.problems import Problem, load_problem, take
from reproduction.published import ICML_LINEAR_SECONDS, ICML_PROTEIN_ACCURACY, ICML_TREE_SECONDS
from reproduction.report import Grid, Report, Row
from reproduction.settings import Settings
from reproduction.tuning import tune

TITLE = "Dietterich et al. 2004, table 3: seconds of a training iteration on protein, and accuracy (%)"
HEADER = (
    "window", "folds", "weights", "LinearCRF: s", "published", "accuracy", "TreeCRF: s", "published", "accuracy",
    "chosen",
)  # fmt: skip
APART = {"by protein": False, "by family": True}  # folds: may they part proteins that are related?
DECODER: Final = "posterior"  # what does best on protein, in the paper as in the thesis


def run(settings: Settings) -> Report:
    """Windows of 1, 3, 5 and 7 residues."""
    problem = load_problem("protein", settings)
    found = []
    for width in tuple(ICML_LINEAR_SECONDS)[: 2 if settings.quick else None]:
        for apart in APART:
            found.append(measure(problem, width, settings, apart))
            settings.say(f"window of {width}, {apart}: done")
    rows = [_row(entry) for entry in found]
    notes = [
        "LinearCRF: a weight for every (label, conjunction) and (pair of labels, conjunction) seen in training; the"
        " variance of the prior by cross-validation.",
        "TreeCRF: the 2004 algorithm, three pseudo-likelihood steps first; L and iterations by cross-validation. Both"
        " label by posterior.",
        "Folds by family keep proteins together that share runs of four residues; by protein they may part them.",
        f"Seed {settings.seeds[0]} of the cross-validation; one thread. Published: another machine. The paper gives no"
        f" accuracies here; with a window of 11 it reports {ICML_PROTEIN_ACCURACY}, stopped by the test set.",
    ]
    return Report("icml-table-3", [Grid(TITLE, HEADER, rows)], notes, {"widths": found})


def measure(problem: Problem, width: int, settings: Settings, apart: str) -> dict[str, Any]:
    """Both systems with one width of the window, on the first part of the problem; `apart` is a key of APART."""
    seed = settings.seeds[0]
    part = problem.parts(seed)[0]
    X, y = take(problem.X, part.train), take(problem.y, part.train)
    X_test, y_test = take(problem.X, part.test), take(problem.y, part.test)
    groups = families(X) if APART[apart] else None
    return {
        "width": width,
        "folds": apart,
        "linear": _measure_linear(X, y, X_test, y_test, width, settings, groups),
        "tree": _measure_trees(X, y, X_test, y_test, width, settings, groups),
        "published": {"linear": ICML_LINEAR_SECONDS.get(width), "tree": ICML_TREE_SECONDS.get(width)},
    }


def _measure_linear(
    X: Any, y: Any, X_test: Any, y_test: Any, width: int, settings: Settings, groups: IndexArray | None
) -> dict[str, Any]:
    X, X_test = ([conjunctions(x, width) for x in xs] for xs in (X, X_test))
    max_iter = settings.max_iterations

    def make(l2: float) -> LinearCRF:
        return LinearCRF(window=0, l2=l2, max_iter=max_iter, transition_columns=["*"], decoder=DECODER)

    variance = tune_linear(
        make,
        settings.variances,
        X,
        y,
        n_folds=settings.inner_folds,
        seed=settings.seeds[0],
        n_jobs=settings.n_jobs,
        groups=groups,
    )
    model = make(variance_to_l2(variance))
    began = time.perf_counter()
    fit_to_end(model, X, y)
    return {
        "seconds": model.history_[-1].seconds / model.n_iter_,
        "training_seconds": time.perf_counter() - began,
        "iterations": model.n_iter_,
        "weights": len(model.weights_),
        "variance": variance,
        "accuracy": 100 * label_accuracy(y_test, model.predict(X_test)),
    }


def _measure_trees(
    X: Any, y: Any, X_test: Any, y_test: Any, width: int, settings: Settings, groups: IndexArray | None
) -> dict[str, Any]:
    def make(n_estimators: int = settings.max_iterations, **parameters: Any) -> TreeCRF:
        return TreeCRF.paper("2004", window=width // 2, n_estimators=n_estimators, **parameters)

    choice = tune(
        make,
        [{"max_leaf_nodes": value} for value in settings.leaves],
        X,
        y,
        n_folds=settings.inner_folds,
        seed=settings.seeds[0],
        n_jobs=settings.n_jobs,
        decoders=(DECODER,),
        groups=groups,
    ).best()
    model = make(choice.n_iterations, **choice.parameters).set_params(decoder=DECODER)
    began = time.perf_counter()
    model.fit(X, y)
    return {
        "seconds": model.history_[-1].seconds / model.n_iter_,
        "training_seconds": time.perf_counter() - began,
        "iterations": choice.n_iterations,
        **choice.parameters,
        "inner_accuracy": 100 * choice.accuracy,
        "accuracy": 100 * label_accuracy(y_test, model.predict(X_test)),
    }


def _row(found: dict[str, Any]) -> Row:
    linear, tree, published = found["linear"], found["tree"], found["published"]
    chosen = f"variance {linear['variance']:g}; L {tree['max_leaf_nodes']}, {tree['iterations']} iterations"
    return (
        str(found["width"]),
        found["folds"],
        f"{linear['weights']:,}",
        f"{linear['seconds']:.4f}",
        f"{published['linear']:g}",
        f"{linear['accuracy']:.2f}",
        f"{tree['seconds']:.4f}",
        f"{published['tree']:g}",
        f"{tree['accuracy']:.2f}",
        chosen,
    )


def draw(data: dict[str, Any]) -> Any:
    """Seconds and accuracies by the width of the window, chosen by family."""
    return draw_widths([found for found in data["widths"] if APART[found["folds"]]])
