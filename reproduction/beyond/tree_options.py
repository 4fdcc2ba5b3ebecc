"""What the papers' trees gain or lose by what the documents mention in passing: a start by pseudo-likelihood (2004,
section 3), steps of another length, rows that are left out, several trees in a step."""

from __future__ import annotations

import time
from typing import Any

from hedgerow.models.crf.tree import TreeCRF
from reproduction.comparison import Spread
from reproduction.curves import right_by_iteration
from reproduction.drawing import draw_accuracies
from reproduction.problems import Problem, load_problem, take
from reproduction.report import Grid, Report, Row
from reproduction.settings import Settings

TITLE = "Options of trees: training loss, and test accuracy (%) by posterior decoding"
HEADER = (
    "data",
    "option",
    "loss after 5",
    "at the end",
    "accuracy after 10",
    "at the end",
    "best (iteration)",
    "CPU s",
)
PROBLEMS = ("protein", "nettalk", "hyphen")
N_ITERATIONS = 100
PLAIN = "as in 2009"
OPTIONS: dict[str, dict[str, Any]] = {
    PLAIN: {},
    "3 steps by pseudo-likelihood": {"pseudo_likelihood_steps": 3},
    "steps of 0.3": {"learning_rate": 0.3},
    "line search": {"learning_rate": "line_search"},
    "trimmed by 0.1": {"trim": 0.1},
    "half of the sequences": {"subsample": 0.5},
    "half of the features": {"max_features": 0.5},
    "forests of 4 trees": {"trees_per_step": 4, "subsample": 0.5},
}


def run(settings: Settings) -> Report:
    """Every option by itself, on the first part of each problem, with the first seed."""
    data: dict[str, Any] = {}
    rows: list[Row] = []
    for name in PROBLEMS:
        problem = load_problem(name, settings)
        data[name] = {option: measure(problem, own, settings) for option, own in OPTIONS.items()}
        rows += [_row(problem, option, found) for option, found in data[name].items()]
        settings.say(f"{problem.title}: done")
    notes = [
        "TreeCRF.paper('2009'), λ = 20 and at most 100 leaves, and one option beside. Nothing is chosen: the best"
        " iteration is that of the test part, as the papers' figures have it.",
        f"Seed {settings.seeds[0]}.",
    ]
    return Report("tree-options", [Grid(TITLE, HEADER, rows)], notes, data)


def measure(problem: Problem, options: dict[str, Any], settings: Settings) -> dict[str, Any]:
    """Losses and test accuracies by iteration."""
    part = problem.parts(settings.seeds[0])[0]
    X_test, y_test = take(problem.X, part.test), take(problem.y, part.test)
    n = min(N_ITERATIONS, settings.max_iterations)
    model = TreeCRF.paper("2009", window=problem.window, n_estimators=n, **options)
    model.set_params(random_state=settings.seeds[0])
    began = time.process_time()
    model.fit(take(problem.X, part.train), take(problem.y, part.train))
    seconds = time.process_time() - began
    right = right_by_iteration(model, X_test, y_test)[0]
    return {
        "losses": [step.loss for step in model.history_],
        "accuracies": (100.0 * right / sum(map(len, y_test))).tolist(),
        "seconds": seconds,
    }


def _row(problem: Problem, option: str, found: dict[str, Any]) -> Row:
    losses, own = found["losses"], found["accuracies"]
    best = max(range(len(own)), key=own.__getitem__)
    return (
        problem.title,
        option,
        f"{losses[min(4, len(losses) - 1)]:.0f}",
        f"{losses[-1]:.0f}",
        f"{own[min(9, len(own) - 1)]:.2f}",
        f"{own[-1]:.2f}",
        f"{own[best]:.2f} ({best + 1})",
        f"{found['seconds']:.1f}",
    )


def draw(data: dict[str, Any]) -> Any:
    """A panel for each data set: the accuracy at the end."""
    return draw_accuracies(
        {
            name: {option: Spread.of([found["accuracies"][-1]]) for option, found in own.items()}
            for name, own in data.items()
        }
    )
