"""Table 4.1 of Hao 2009: the analysis of deviance of four ways of dealing with missing values."""

from __future__ import annotations

from typing import Any

from reproduction.deviance import analyse_clustered, analyse_deviance
from reproduction.published import TABLE_4_1
from reproduction.report import Grid, Report, Row
from reproduction.settings import Settings
from reproduction.thesis import figure_4_1 as thesis_figure_4_1
from reproduction.thesis.missing_values import WAYS, measure_all

TITLE = "Hao 2009, table 4.1: log odds of a right label against the baseline, ours (published)"
BASELINES = {"papers": "impute"}  # of all other data sets it is instance weighting
PUBLISHED = {"papers": "faq"}


def run(settings: Settings) -> Report:
    """Train and test on damaged data; then the analysis of deviance."""
    return report(measure_all(settings))


def report(data: dict[str, Any]) -> Report:
    """What was measured, analysed."""
    analysed = {name: found | {"coefficients": analyse(name, found)} for name, found in data.items()}
    rows = [_row(name, found, rate) for name, found in analysed.items() for rate in found["rates"]]
    return Report("thesis-table-4.1", [Grid(TITLE, ("data", "missing", *WAYS.values()), rows)], _notes(rows), analysed)


def analyse(name: str, found: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Rates → ways → coefficient, whether it is significant, p-value."""
    analysed: dict[str, dict[str, Any]] = {}
    for rate in map(str, found["rates"]):
        tested = {way: own[rate]["right"] for way, own in found["found"].items()}
        n_labels = [found["n_test"] * len(row) for row in next(iter(tested.values()))]
        right = {way: [sum(row) for row in rows] for way, rows in tested.items()}
        baseline, copies = BASELINES.get(name, "weighting"), len(next(iter(tested.values()))[0])
        deltas = analyse_deviance(right, n_labels, baseline)
        by_sequence = {way: own[rate]["right_of_sequences"] for way, own in found["found"].items()}
        clustered = analyse_clustered(by_sequence, [copies * n for n in found["lengths"]], baseline)
        analysed[rate] = {
            way: {**delta._asdict(), "p": p, "clustered_p": clustered[way][1], "sure": clustered[way][0].significant}
            for way, (delta, p) in deltas.items()
        }
    return analysed


def _row(name: str, found: dict[str, Any], rate: float) -> Row:
    ours, theirs = found["coefficients"][str(rate)], dict(zip(others(name), TABLE_4_1[PUBLISHED.get(name, name)][rate]))

    def cell(way: str) -> str:
        if way not in ours:
            return "baseline"
        sure = "†" if ours[way]["sure"] else ""
        return f"{_text(ours[way]['value'], ours[way]['significant'])}{sure} ({_text(*theirs[way])})"

    return (found["title"], f"{rate:.0%}", *map(cell, WAYS))


def others(name: str) -> list[str]:
    """The ways that are compared with the baseline, in the order of the thesis."""
    return [way for way in WAYS if way != BASELINES.get(name, "weighting")]


def _text(value: float, significant: bool) -> str:
    return f"{value:+.3f}{'*' if significant else ''}"


def _notes(rows: list[Row]) -> list[str]:
    return [
        "A star marks a coefficient that differs from 0 (p < 0.05). Labels of the damaged test sets count as"
        " independent, as in the thesis, though they are the same labels five times: stars come easily. A dagger marks"
        " one that differs by errors clustered by test sequence.",
        "The published coefficients beside lines of papers are those of the FAQs: other documents, other columns.",
        f"{sum('*' in cell.split(' ')[0] for row in rows for cell in row[2:])} of"
        f" {sum('baseline' not in cell for row in rows for cell in row[2:])} coefficients are significant here.",
    ]


def draw(data: dict[str, Any]) -> Any:
    """As figure 4.1."""
    return thesis_figure_4_1.draw(data)
