"""Figures 3.1 and 3.2 of Hao 2009: accuracy on the test part, and CPU time, by the number of iterations."""

from __future__ import annotations

from typing import Any

from hedgerow.models.crf.linear import LinearCRF
from reproduction.contenders import SHRINKAGE, paper_model, tune_paper
from reproduction.curves import right_by_iteration
from reproduction.drawing import draw_curves
from reproduction.linear import linear_curve, tune_linear, variance_to_l2
from reproduction.problems import CHAPTER_3, Problem, load_problem, take
from reproduction.published import TABLE_3_5_ACCURACY, TABLE_3_5_ITERATIONS, TABLE_3_5_SECONDS
from reproduction.report import Grid, Report, Row
from reproduction.settings import DECODERS, Settings

TITLE = "Hao 2009, figures 3.1 and 3.2: test accuracy (%) and seconds by iteration"
STOPS = (5, 10, 25, 50, 100, 150, 250)
SYSTEMS = {"tree": "TreeCRF", "linear": "LinearCRF"}
HEADER = (
    "data", "system", "decoder", *(f"after {stop}" for stop in STOPS), "at the end", "seconds",
    "published", "iterations", "seconds",
)  # fmt: skip


def run(settings: Settings) -> Report:
    """The curves of every data set; λ and the linear model's penalty by cross-validation on the training part."""
    data: dict[str, Any] = {}
    for name in CHAPTER_3:
        problem = load_problem(name, settings)
        data[name] = trace(problem, problem.narrow(settings))
        settings.say(f"{problem.title}: done")
    rows = [_row(found, key) for found in data.values() for key in found["curves"]]
    notes = [
        "TreeCRF: the thesis' algorithm (L = 100); LinearCRF: L-BFGS on single letters of the window, its baseline."
        " posterior is the thesis' forward-backward.",
        "One training part and one test part a data set. The test part is read after each iteration, as in the"
        " figure; nothing is chosen by it.",
        "Seconds of the whole run, one thread; the linear model's include scoring. Published: table 3.5, at the"
        " iterations chosen there.",
    ]
    return Report("thesis-fig-3.1", [Grid(TITLE, HEADER, rows)], notes, data)


def trace(problem: Problem, settings: Settings) -> dict[str, Any]:
    """Curves of one data set: "tree, posterior" and so on → accuracies in percent and seconds by iteration."""
    seed = settings.seeds[0]
    part = problem.parts(seed)[0]
    X, y = take(problem.X, part.train), take(problem.y, part.train)
    X_test, y_test = take(problem.X, part.test), take(problem.y, part.test)
    n_test = sum(map(len, y_test))
    parameters = tune_paper(SHRINKAGE, X, y, seed, problem.window, settings).best().parameters
    trees = paper_model(problem.window, settings.max_iterations, parameters).fit(X, y)
    seconds = [step.seconds for step in trees.history_]
    curves: dict[str, Any] = {}
    for decoder, right in zip(DECODERS, right_by_iteration(trees, X_test, y_test, DECODERS)):
        curves[f"tree, {decoder}"] = {"accuracies": (100 * right / n_test).tolist(), "seconds": seconds}
    variance = tune_linear(
        lambda l2: LinearCRF(window=problem.window, l2=l2),
        settings.variances,
        X,
        y,
        n_folds=settings.inner_folds,
        seed=seed,
        n_jobs=settings.n_jobs,
    )
    for decoder in DECODERS:
        model = LinearCRF(window=problem.window, l2=variance_to_l2(variance), decoder=decoder)
        found = linear_curve(model, X, y, X_test, y_test)
        curves[f"linear, {decoder}"] = {"accuracies": [100 * a for a in found.accuracies], "seconds": found.seconds}
    published = {
        key: {
            "accuracy": getattr(TABLE_3_5_ACCURACY[problem.name], field),
            "iterations": getattr(TABLE_3_5_ITERATIONS[problem.name], field),
            "seconds": getattr(TABLE_3_5_SECONDS[problem.name], field),
        }
        for key, field in (("tree", "tree"), ("linear", "baseline"))
        if problem.name in TABLE_3_5_ACCURACY
    }
    chosen = {**parameters, "variance": variance}
    return {"title": problem.title, "chosen": chosen, "curves": curves, "published": published}


def _row(found: dict[str, Any], key: str) -> Row:
    system, _, decoder = key.partition(", ")
    accuracies = found["curves"][key]["accuracies"]
    stops = [f"{accuracies[stop - 1]:.2f}" if stop <= len(accuracies) else "–" for stop in STOPS]
    published = found["published"].get(system)
    theirs = ["–"] * 3
    if published is not None:
        theirs = [f"{published['accuracy']:.2f}", f"{published['iterations']:.0f}", f"{published['seconds']:.1f}"]
    end = f"{accuracies[-1]:.2f} ({len(accuracies)})"
    seconds = f"{found['curves'][key]['seconds'][-1]:.2f}"
    return (found["title"], SYSTEMS[system], decoder, *stops, end, seconds, *theirs)


def draw(data: dict[str, Any]) -> Any:
    """Accuracies above, seconds below, a column for each data set."""
    return draw_curves({found["title"]: found["curves"] for found in data.values()})
