"""Table 3.6 of Hao 2009: CPU seconds an iteration, of forward-backward and of growing trees."""

from __future__ import annotations

from typing import Any

from reproduction.drawing import draw_costs
from reproduction.problems import CHAPTER_3, Problem, load_problem, take
from reproduction.published import TABLE_3_6, THESIS_MACHINE
from reproduction.report import Grid, Report, Row
from reproduction.settings import Settings
from reproduction.timing import induction_cost, iteration_cost

TITLE = "Hao 2009, table 3.6: CPU milliseconds an iteration (one thread)"
HEADER = (
    "data", "mean length", "features", "positions",
    "passes: ours", "TreeCRF 2009", "trees: ours", "TreeCRF 2009", "together, times faster",
    "passes: our MALLET", "MALLET", "induction: ours", "MALLET",
)  # fmt: skip
N_ITERATIONS = 50
N_ROUNDS = 12


def run(settings: Settings) -> Report:
    """Time the training part of each data set."""
    data: dict[str, Any] = {}
    for name in CHAPTER_3:
        problem = load_problem(name, settings)
        data[name] = measure(problem, settings)
        settings.say(f"{problem.title}: done")
    rows = [_row(found) for found in data.values()]
    notes = [
        f"Ours: L = 100, λ = 20, medians over {_n_iterations(settings)} iterations. Published: means, on a"
        f" {THESIS_MACHINE}; so the ratio is one of machines too.",
        "Passes: forward-backward and the gradient. Trees: growing them, and adding them to the scores (the thesis"
        " counts the latter with the passes).",
        f"MALLET: feature induction, {N_ROUNDS} rounds after 8 iterations each, on pairs of labels; the time of both by"
        " iteration, so that a round takes 8 times what is printed.",
        "Features: binary ones, as the thesis counts; for lines of papers the columns.",
    ]
    return Report("thesis-3.6", [Grid(TITLE, HEADER, rows)], notes, data)


def measure(problem: Problem, settings: Settings) -> dict[str, Any]:
    """The cost of an iteration on the first part of a problem."""
    train = problem.parts(settings.seeds[0])[0].train
    X, y = take(problem.X, train), take(problem.y, train)
    cost = iteration_cost(X, y, window=problem.window, n_iterations=_n_iterations(settings))
    n_rounds = 2 if settings.quick else N_ROUNDS
    rounds = induction_cost(X, y, window=problem.window, n_rounds=n_rounds)
    published = TABLE_3_6.get(problem.name)
    n_positions = sum(map(len, y))
    return {
        "title": problem.title,
        "mean_length": n_positions / len(y),
        "n_features": problem.n_features,
        "n_positions": n_positions,
        "passes": cost.passes,
        "induction": cost.induction,
        "mallet": rounds._asdict(),
        "published": None if published is None else published._asdict(),
    }


def _n_iterations(settings: Settings) -> int:
    return settings.max_iterations if settings.quick else N_ITERATIONS


def _row(found: dict[str, Any]) -> Row:
    published = found["published"]
    own = found["passes"], found["induction"]

    def theirs(name: str) -> str:
        return "–" if published is None else f"{1000 * published[name]:,.0f}"

    faster = "–"
    if published is not None:
        faster = f"{(published['passes_tree'] + published['induction_tree']) / sum(own):,.0f}"
    return (
        found["title"],
        f"{found['mean_length']:.0f}",
        f"{found['n_features']}",
        f"{found['n_positions']:,}",
        f"{1000 * own[0]:.2f}",
        theirs("passes_tree"),
        f"{1000 * own[1]:.2f}",
        theirs("induction_tree"),
        faster,
        f"{1000 * found['mallet']['passes']:.2f}",
        theirs("passes_mallet"),
        f"{1000 * found['mallet']['induction']:.2f}",
        theirs("induction_mallet"),
    )


def draw(data: dict[str, Any]) -> Any:
    """Bars for each data set, ours and the published ones."""
    groups = {}
    for found in data.values():
        published = found["published"] or {}
        groups[found["title"]] = {
            "hedgerow": (found["passes"], found["induction"]),
            "TreeCRF 2009": (published.get("passes_tree"), published.get("induction_tree")),
            "our MALLET": (found["mallet"]["passes"], found["mallet"]["induction"]),
            "MALLET": (published.get("passes_mallet"), published.get("induction_mallet")),
        }
    return draw_costs(groups)
