"""Every experiment from end to end, on tiny data in the place of the data sets."""

from __future__ import annotations

import io
import json
from dataclasses import replace

import pytest
from rich.console import Console

from hedgerow.errors import InputError
from reproduction import EXPERIMENTS, find_experiment
from reproduction.comparison import Difference, Spread
from reproduction.problems import LOADERS
from reproduction.report import Grid, Report
from reproduction.thesis import figure_3_3 as thesis_figure_3_3
from reproduction.thesis import table_3_5 as thesis_table_3_5
from reproduction.thesis.table_3_5 import BASELINE, CONTENDERS, DEFAULT, MALLET, PAPER, verdicts
from reproduction.timing import iteration_cost

from .tiny import SETTINGS, tiny_problem

N_ROWS = {
    "thesis-3.4": 12,
    "thesis-3.5": 8,
    "thesis-3.6": 4,
    "thesis-fig-3.1": 24,
    "thesis-fig-3.3": 5,
    "thesis-fig-4.1": 8,
    "thesis-table-4.1": 8,
    "thesis-fig-4.2": 24,
    "thesis-5.3": 14,
    "thesis-5.4": 21,
    "thesis-5.5": 17,
    "future-lines": 4,
    "icml-figures": 12,
    "icml-table-3": 4,
    "smd-fig-1": 8,
    "smd-fig-2": 8,
    "smd-fig-3": 6,
    "smd-fig-4": 26,
    "smd-fig-5": 8,
    "smd-fig-6": 30,
    "smd-noise": 7,
    "snakes": 10,
    "labelwise-fig-1": 8,
    "labelwise-fig-2": 8,
    "tree-objectives": 3,
    "tree-options": 24,
    "iterative-scaling": 3,
    "slides-methods": 4,
    "slides-tts": 8,
    "slides-tts-19000": 7,
    "search-methods": 12,
    "separate-trees": 12,
}


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_an_experiment_runs_prints_saves_and_draws(name, tiny_data, tmp_path):
    said = []
    settings = replace(SETTINGS, quick=True, say=said.append)
    module = find_experiment(name)
    report = module.run(settings)
    assert report.name == name
    assert len(report.tables[0].rows) == N_ROWS[name]
    assert all(len(row) == len(table.header) for table in report.tables for row in table.rows)
    assert said
    report.save(tmp_path / "a.json", settings)
    record = json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))
    assert record["settings"]["seeds"] == [0, 1]
    assert record["data"]
    module.draw(report.data).savefig(tmp_path / "a.png")
    assert (tmp_path / "a.png").stat().st_size > 5_000


def test_an_experiment_that_is_not_there():
    with pytest.raises(InputError, match="there is no experiment"):
        find_experiment("thesis-9.9")


def test_the_table_of_accuracies_is_the_same_twice(tiny_data):
    """Nothing depends on the clock or on a generator of everyone's."""
    settings = replace(SETTINGS, seeds=(1,))
    problem = LOADERS["nettalk"](settings)
    first, second = (thesis_table_3_5.compare(problem, settings) for _ in range(2))
    for name in CONTENDERS:
        assert first[name]["accuracy"] == second[name]["accuracy"]
        assert first[name]["chosen"] == second[name]["chosen"]
    assert first["mcnemar"] == second["mcnemar"]


def found(mean, against, *tests):
    pairs = thesis_table_3_5.PAIRS
    own = {name: {"accuracy": Spread.of([m]), "against_published": against} for name, m in zip(CONTENDERS, mean)}
    own["mcnemar"] = {f"{a} / {b}": test for (a, b), test in zip(pairs, tests)}
    return own


def test_verdicts_count_wins_losses_and_means():
    win, loss, tie = Difference(1.0, 0.01), Difference(-1.0, 0.01), Difference(1.0, 0.5)
    data = {
        "a": found((70, 71, 65, 72, 60), win, win, win, tie, tie, win, Difference(1.0, 0.004)),
        "b": found((80, 75, 75, 81, 90), loss, loss, tie, tie, win, win, loss),
    }
    said = verdicts(data)
    assert said["worse_than_published"] == [f"b, {PAPER}", f"b, {DEFAULT}"]
    names = [f"{a} / {b}" for a, b in thesis_table_3_5.PAIRS]
    assert said["wins"] == dict(zip(names, (1, 1, 0, 1, 2, 1)))
    assert said["losses"] == dict(zip(names, (1, 0, 0, 0, 0, 1)))
    assert said["means"] == dict(zip(CONTENDERS, (75.0, 73.0, 70.0, 76.5, 75.0)))
    assert [thesis_table_3_5.stars(data[name], MALLET) for name in "ab"] == ["*", ""]
    assert thesis_table_3_5.stars({"mcnemar": {f"{MALLET} / {BASELINE}": Difference(1.0, 1e-5)}}, MALLET) == "**"


def test_costs_are_measured_for_both_parts():
    problem = tiny_problem()
    cost = iteration_cost(problem.X, problem.y, window=1, n_iterations=3, max_leaf_nodes=4)
    assert cost.passes > 0
    assert cost.induction > 0


def test_slopes_are_exponents():
    points = [
        {"varied": "length", "length": 10, "width": 3, "passes": 1.0, "induction": 9.0, "mallet_passes": 1.0},
        {"varied": "length", "length": 20, "width": 3, "passes": 2.0, "induction": 9.0, "mallet_passes": 4.0},
        {"varied": "width", "length": 10, "width": 3, "passes": 9.0, "induction": 1.0, "mallet_induction": 1.0},
        {"varied": "width", "length": 10, "width": 12, "passes": 9.0, "induction": 2.0, "mallet_induction": 4.0},
    ]
    expected = {"passes_by_length": 1.0, "induction_by_width": 0.5}
    expected |= {"mallet_passes_by_length": 2.0, "mallet_induction_by_width": 1.0}
    assert thesis_figure_3_3.slopes(points) == pytest.approx(expected)


@pytest.mark.parametrize("width", [40, 200])
def test_a_report_is_shown_whole_whatever_the_width(width):
    report = Report("a", [Grid("A title", ("data", "y"), [("Protein", "64.52 (63.01–65.03)")])], ["A note."])
    file = io.StringIO()
    report.show(Console(file=file, width=width))
    shown = file.getvalue()
    assert all(text in shown for text in ("A title", "Protein", "64.52", "(63.01–65.03)", "A note."))
