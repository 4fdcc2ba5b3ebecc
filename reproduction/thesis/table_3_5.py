"""Table 3.5 of Hao 2009: accuracies, and beside them hedgerow without any tuning and LightGBM without a chain."""

from __future__ import annotations

import statistics
from typing import Any

from reproduction.comparison import Difference, against_published, between, spread
from reproduction.contenders import (
    Contender,
    label_parts,
    lightgbm_windows,
    tuned_baseline,
    tuned_mallet,
    tuned_paper,
    untuned,
)
from reproduction.drawing import draw_accuracies
from reproduction.problems import CHAPTER_3, FEW_PAPERS, Problem, load_problem
from reproduction.published import TABLE_3_5_ACCURACY, TABLE_3_5_ITERATIONS, TABLE_3_5_SECONDS
from reproduction.report import Grid, Report, Row
from reproduction.settings import Settings
from reproduction.windows import require_lightgbm

TITLE = "Hao 2009, table 3.5: accuracy (%) of published systems and of ours"
PAPER, DEFAULT, LIGHTGBM = "paper mode, tuned", "hedgerow default", "LightGBM on windows"
MALLET, BASELINE = "our MALLET", "our BASELINE"
CONTENDERS: dict[str, Contender] = {
    PAPER: tuned_paper,
    MALLET: tuned_mallet,
    BASELINE: tuned_baseline,
    DEFAULT: untuned,
    LIGHTGBM: lightgbm_windows,
}
PAIRS = (
    (PAPER, LIGHTGBM),
    (DEFAULT, LIGHTGBM),
    (DEFAULT, PAPER),
    (PAPER, MALLET),
    (PAPER, BASELINE),
    (MALLET, BASELINE),
)
STARS = ((0.001, "**"), (0.005, "*"))  # of the thesis: better than BASELINE by McNemar's test
PUBLISHED = {"tree": "TreeCRF 2009", "mallet": "MALLET", "baseline": "MALLET, baseline"}
HEADER = ("data", *PUBLISHED.values(), *CONTENDERS)
TESTS = "The same in tests: + better, − worse, = alike at 5 %"
TEST_HEADER = (
    "data", "tuned vs TreeCRF 2009", "default vs TreeCRF 2009", "tuned vs LightGBM", "default vs LightGBM",
    "default vs tuned", "tuned vs MALLET", "tuned vs BASELINE", "MALLET vs BASELINE",
)  # fmt: skip


def run(settings: Settings) -> Report:
    """All contenders on all data sets."""
    require_lightgbm()  # known before hours have passed
    data: dict[str, Any] = {}
    rows: list[Row] = []
    tests: list[Row] = []
    for name in (*CHAPTER_3, *FEW_PAPERS):
        problem = load_problem(name, settings)
        data[name] = compare(problem, problem.narrow(settings))
        rows.append(_row(problem, data[name]))
        tests.append(_test_row(problem, data[name]))
    rows.append(_mean_row(data))
    tables = [Grid(TITLE, HEADER, rows), Grid(TESTS, TEST_HEADER, tests)]
    return Report("thesis-3.5", tables, _notes(data, settings), data)


def compare(problem: Problem, settings: Settings) -> dict[str, Any]:
    """The contenders on one data set: accuracies over seeds, tests, CPU seconds, what was chosen."""
    labellings: dict[str, list[Any]] = {name: [] for name in CONTENDERS}
    for seed in settings.seeds:
        for name, contender in CONTENDERS.items():
            labellings[name].append(label_parts(contender, problem, seed, settings))
            accuracy = spread(problem, [seed], labellings[name][-1:])
            settings.say(f"{problem.title}, seed {seed}: {name} {accuracy} %")
    published = TABLE_3_5_ACCURACY.get(problem.name)
    found: dict[str, Any] = {
        "title": problem.title,
        "published": None if published is None else published._asdict(),
        "n_test": [sum(map(len, problem.truth(seed))) for seed in settings.seeds],
    }
    for name, own in labellings.items():
        accuracy = spread(problem, settings.seeds, own)
        test = None if published is None else against_published(problem, settings.seeds, accuracy, published.tree)
        found[name] = {
            "accuracy": accuracy,
            "against_published": test,
            "seconds": [labelling.seconds for labelling in own],
            "chosen": [labelling.details for labelling in own],
        }
    found["mcnemar"] = {f"{a} / {b}": between(problem, settings.seeds, labellings[a], labellings[b]) for a, b in PAIRS}
    return found


def verdicts(data: dict[str, Any]) -> dict[str, Any]:
    """What the figures say: are we worse than published anywhere, and where does the chain win over LightGBM?"""
    tests: dict[str, list[Difference]] = {
        f"{a} / {b}": [found["mcnemar"][f"{a} / {b}"] for found in data.values()] for a, b in PAIRS
    }
    worse = [
        f"{name}, {contender}"
        for name, found in data.items()
        for contender in (PAPER, DEFAULT)
        if found[contender]["against_published"] and found[contender]["against_published"].verdict == "worse"
    ]
    return {
        "worse_than_published": worse,
        "wins": {pair: sum(test.verdict == "better" for test in own) for pair, own in tests.items()},
        "losses": {pair: sum(test.verdict == "worse" for test in own) for pair, own in tests.items()},
        "means": {name: _mean(data, name) for name in CONTENDERS},
    }


def _mean(data: dict[str, Any], contender: str) -> float:
    return statistics.fmean(found[contender]["accuracy"].mean for found in data.values())


def _row(problem: Problem, found: dict[str, Any]) -> Row:
    published = found["published"]
    theirs = ["–"] * 3 if published is None else [f"{value:.2f}" for value in published.values()]
    return (problem.title, *theirs, *(f"{found[name]['accuracy']}{stars(found, name)}" for name in CONTENDERS))


def stars(found: dict[str, Any], contender: str) -> str:
    """How surely a contender is better than BASELINE."""
    test: Difference | None = found["mcnemar"].get(f"{contender} / {BASELINE}")
    if test is None or test.difference <= 0:
        return ""
    return next((mark for level, mark in STARS if test.p_value < level), "")


def _mean_row(data: dict[str, Any]) -> Row:
    return ("mean", "", "", "", *(f"{_mean(data, name):.2f}" for name in CONTENDERS))


def _test_row(problem: Problem, found: dict[str, Any]) -> Row:
    published = [found[name]["against_published"] for name in (PAPER, DEFAULT)]
    own = [found["mcnemar"][f"{a} / {b}"] for a, b in PAIRS]
    return (problem.title, *("–" if test is None else str(test) for test in (*published, *own)))


def _notes(data: dict[str, Any], settings: Settings) -> list[str]:
    found = verdicts(data)
    papers = "leaving one paper out" if settings.outer_folds is None else f"{settings.outer_folds}-fold by paper"
    seconds = ", ".join(
        f"{name} {statistics.fmean(own[PAPER]['seconds']):.1f} (published"
        f" {TABLE_3_5_SECONDS[name].tree:.1f} in {TABLE_3_5_ITERATIONS[name].tree:.0f} iterations)"
        for name, own in data.items()
        if name in TABLE_3_5_SECONDS
    )
    return [
        f"{PAPER}: λ (L = 100), iterations and decoder by cross-validation on the training part. {DEFAULT}:"
        " TreeCRF(window=…), nothing else.",
        f"{BASELINE}: LinearCRF with features of labels and of pairs of labels; {MALLET}: with feature induction from a"
        " constant on; variance and iterations by cross-validation on the training part, posterior decoding."
        " * p < 0.005 and ** p < 0.001 against it, McNemar's test by label.",
        f"Mean and range over {len(settings.seeds)} seeds; NETtalk draws 1,000 + 1,000 new words with each."
        f" Lines of papers: {papers}, one seed, no published figure. A few papers, new ones with each seed and one left"
        " out at a time, stand for the three FAQs, which are not to be had.",
        "vs 2009: two-proportion test against the published TreeCRF; the others: McNemar's test by label, the median p"
        " over seeds.",
        "The 2004 paper's 64.7 for protein was chosen on the test set.",
        f"Significantly worse than published: {', '.join(found['worse_than_published']) or 'nowhere'}.",
        "; ".join(
            f"{pair}: {found['wins'][pair]} significantly better, {found['losses'][pair]} worse, of {len(data)}"
            for pair in found["wins"]
        )
        + ".",
        f"CPU seconds of the final training, {PAPER}: {seconds}.",
    ]


def draw(data: dict[str, Any]) -> Any:
    """A panel for each data set: ours with their ranges, and the published figures."""
    panels = {}
    for found in data.values():
        published = found["published"] or {}
        panels[found["title"]] = {
            **{contender: found[contender]["accuracy"] for contender in CONTENDERS},
            **{name: published[system] for system, name in PUBLISHED.items() if system in published},
        }
    return draw_accuracies(panels)
