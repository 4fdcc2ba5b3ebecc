"""Figures 1 to 4 of Dietterich, Ashenfelter and Bulatov 2004: accuracy by iteration of TreeCRF and of MALLET.

Figure 1 is of proteins. Figures 2 to 4 are of FAQs, in whose place lines of papers stand.
"""

from __future__ import annotations

import time
from typing import Any

from hedgerow.metrics import mcnemar
from hedgerow.models.crf.tree import TreeCRF
from reproduction.comparison import Difference
from reproduction.curves import right_by_iteration
from reproduction.drawing import draw_curves
from reproduction.linear import fit_to_end, linear_curve, mallet, variance_to_l2
from reproduction.problems import Problem, load_problem, take
from reproduction.report import Grid, Report, Row
from reproduction.settings import DECODERS, Settings
from reproduction.thesis.figure_3_1 import largest_fall

TITLE = "Dietterich and others 2004, figures 1 to 4: test accuracy (%) by iteration"
HEADER = (
    "data", "system", "peak", "at iteration", "at the end", "largest fall", "CPU seconds", "published peak",
    "at the end, against MALLET-V",
)  # fmt: skip
# Of figure 1, in words: the peak and its iteration. Leaves and variance are not told; these are within the grids of the
# thesis, and nothing was chosen by the test part.
PUBLISHED = {"TREECRF-FB": "64.7 (28)", "MALLET-V": "62.9 (145)"}
MAX_LEAVES, VARIANCE, MOST_ITERATIONS = 75, 5.0, 150


def run(settings: Settings) -> Report:
    """Curves of proteins and of one fold of the papers' lines."""
    data: dict[str, Any] = {}
    for name in ("protein", "papers"):
        problem = load_problem(name, settings)
        data[name] = trace(problem, problem.narrow(settings))
        settings.say(f"{problem.title}: done")
    rows = [_row(name, found, system) for name, found in data.items() for system in found["curves"]]
    notes = [
        f"TREECRF: the algorithm of 2004 with at most {MAX_LEAVES} leaves, by forward-backward (FB) and by Viterbi (V);"
        f" MALLET: feature induction as recommended there, variance {VARIANCE:g}. Nothing was tuned: the paper's"
        " settings were the best on the test set, of a handful, and are not told.",
        "A peak is chosen on the test part, as in the paper: it says how well one could do who knew where to stop.",
        "Largest fall: from one iteration to the next after the 20th. Published: figure 1 in words. Test: McNemar's.",
        "Lines of papers stand for the FAQs of figures 2 to 4: the first fold, by paper.",
    ]
    return Report("icml-figures", [Grid(TITLE, HEADER, rows)], notes, data)


def trace(problem: Problem, settings: Settings) -> dict[str, Any]:
    """Curves of one data set, and McNemar's test of the last iterations."""
    seed, n_iterations = settings.seeds[0], min(settings.max_iterations, MOST_ITERATIONS)
    part = problem.parts(seed)[0]
    X, y = take(problem.X, part.train), take(problem.y, part.train)
    X_test, y_test = take(problem.X, part.test), take(problem.y, part.test)
    trees = TreeCRF.paper("2004", window=problem.window, max_leaf_nodes=MAX_LEAVES, n_estimators=n_iterations)
    began = time.process_time()
    trees.fit(X, y)
    spent = {"TREECRF": time.process_time() - began}
    n_test, seconds = sum(map(len, y_test)), [step.seconds for step in trees.history_]
    curves: dict[str, Any] = {}
    for name, right in zip(("TREECRF-FB", "TREECRF-V"), right_by_iteration(trees, X_test, y_test, DECODERS)):
        curves[name] = {"accuracies": (100 * right / n_test).tolist(), "seconds": seconds}
    model = mallet(problem.window, variance_to_l2(VARIANCE), seed, n_iterations).set_params(decoder="viterbi")
    found = linear_curve(model, X, y, X_test, y_test)
    curves["MALLET-V"] = {"accuracies": [100 * a for a in found.accuracies], "seconds": found.seconds}
    began = time.process_time()
    last = fit_to_end(mallet(problem.window, variance_to_l2(VARIANCE), seed, n_iterations), X, y)
    spent["MALLET"] = time.process_time() - began
    theirs = last.predict(X_test, decoder="viterbi")
    tests = {
        name: Difference(
            curves[name]["accuracies"][-1] - curves["MALLET-V"]["accuracies"][-1],
            mcnemar(y_test, trees.predict(X_test, decoder=decoder), theirs).p_value,
        )
        for name, decoder in (("TREECRF-FB", "posterior"), ("TREECRF-V", "viterbi"))
    }
    return {"title": problem.title, "curves": curves, "spent": spent, "mcnemar": tests}


def _row(name: str, found: dict[str, Any], system: str) -> Row:
    accuracies = found["curves"][system]["accuracies"]
    peak, test = max(accuracies), found["mcnemar"].get(system)
    return (
        found["title"],
        system,
        f"{peak:.2f}",
        f"{accuracies.index(peak) + 1}",
        f"{accuracies[-1]:.2f}",
        f"{largest_fall(accuracies):.2f}",
        f"{found['spent'][system.partition('-')[0]]:.1f}",
        PUBLISHED.get(system, "–") if name == "protein" else "–",
        "–" if test is None else f"{test.difference:+.2f} {test}",
    )


def draw(data: dict[str, Any]) -> Any:
    """Accuracies above, seconds below, a column for each data set."""
    return draw_curves({found["title"]: found["curves"] for found in data.values()})
