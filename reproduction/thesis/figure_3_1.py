"""Figures 3.1 and 3.2 of Hao 2009: accuracy on the test part, and CPU time, by the number of iterations."""

from __future__ import annotations

from typing import Any

from hedgerow.metrics import mcnemar
from reproduction.comparison import Difference
from reproduction.contenders import SHRINKAGE, paper_model, tune_paper
from reproduction.curves import right_by_iteration
from reproduction.drawing import draw_curves
from reproduction.linear import MakeLinear, baseline, fit_to_end, linear_curve, mallet, tune_linear, variance_to_l2
from reproduction.problems import CHAPTER_3, Problem, load_problem, take
from reproduction.published import TABLE_3_5_ACCURACY, TABLE_3_5_ITERATIONS, TABLE_3_5_SECONDS
from reproduction.report import Grid, Report, Row
from reproduction.settings import DECODERS, Settings

TITLE = "Hao 2009, figures 3.1 and 3.2: test accuracy (%) and seconds by iteration"
STOPS = (5, 10, 25, 50, 100, 150, 250)
SYSTEMS = {"tree": "TreeCRF", "mallet": "our MALLET", "linear": "our BASELINE"}
HEADER = (
    "data", "system", "decoder", *(f"after {stop}" for stop in STOPS), "at the end", "largest fall", "seconds",
    "published", "iterations", "seconds", "TreeCRF against it",
)  # fmt: skip
SETTLED = 20  # falls from one iteration to the next are looked at from here on


def run(settings: Settings) -> Report:
    """The curves of every data set; λ and the linear model's penalty by cross-validation on the training part."""
    data: dict[str, Any] = {}
    for name in CHAPTER_3:
        problem = load_problem(name, settings)
        data[name] = trace(problem, problem.narrow(settings))
        settings.say(f"{problem.title}: done")
    rows = [_row(found, key) for found in data.values() for key in found["curves"]]
    notes = [
        "TreeCRF: the thesis' algorithm (L = 100); BASELINE: L-BFGS on single features of the window, of labels and of"
        " pairs of labels; MALLET: with feature induction. posterior is the thesis' forward-backward.",
        f"Largest fall: of the accuracy, from one iteration to the next, after iteration {SETTLED}. TreeCRF against it:"
        " McNemar's test by label, after the last iteration of both.",
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
    variance, tests = {}, {}
    systems: dict[str, MakeLinear] = {
        "mallet": lambda l2: mallet(problem.window, l2, seed, settings.max_iterations),
        "linear": lambda l2: baseline(problem.window, l2, X, y),
    }
    for system, make in systems.items():
        variance[system] = tune_linear(
            make, settings.variances, X, y, n_folds=settings.inner_folds, seed=seed, n_jobs=settings.n_jobs
        )
        last = fit_to_end(make(variance_to_l2(variance[system])), X, y)
        for decoder in DECODERS:
            model = make(variance_to_l2(variance[system])).set_params(decoder=decoder)
            found = linear_curve(model, X, y, X_test, y_test)
            accuracies = [100 * a for a in found.accuracies]
            curves[f"{system}, {decoder}"] = {"accuracies": accuracies, "seconds": found.seconds}
            p_value = mcnemar(y_test, *(one.predict(X_test, decoder=decoder) for one in (trees, last))).p_value
            gap = curves[f"tree, {decoder}"]["accuracies"][-1] - accuracies[-1]
            tests[f"{system}, {decoder}"] = Difference(gap, p_value)
    published = {
        key: {
            "accuracy": getattr(TABLE_3_5_ACCURACY[problem.name], field),
            "iterations": getattr(TABLE_3_5_ITERATIONS[problem.name], field),
            "seconds": getattr(TABLE_3_5_SECONDS[problem.name], field),
        }
        for key, field in (("tree", "tree"), ("mallet", "mallet"), ("linear", "baseline"))
        if problem.name in TABLE_3_5_ACCURACY
    }
    chosen = {**parameters, "variance": variance}
    return {"title": problem.title, "chosen": chosen, "curves": curves, "published": published, "mcnemar": tests}


def largest_fall(accuracies: list[float]) -> float:
    """By how much the accuracy fell at most from one iteration to the next, once training is under way."""
    falls = [before - after for before, after in zip(accuracies[SETTLED:], accuracies[SETTLED + 1 :])]
    return max([0.0, *falls])


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
    test = found["mcnemar"].get(key)
    against = "–" if test is None else f"{test.difference:+.2f} {test}"
    fall = f"{largest_fall(accuracies):.2f}"
    return (found["title"], SYSTEMS[system], decoder, *stops, end, fall, seconds, *theirs, against)


def draw(data: dict[str, Any]) -> Any:
    """Accuracies above, seconds below, a column for each data set."""
    return draw_curves({found["title"]: found["curves"] for found in data.values()})
