"""Figure 4.1 of Hao 2009: accuracy by the share of values that are missing, for four ways of dealing with it."""

from __future__ import annotations

from typing import Any

from reproduction.drawing import draw_rates
from reproduction.report import Grid, Report, Row
from reproduction.settings import Settings
from reproduction.thesis.missing_values import WAYS, measure_all

TITLE = "Hao 2009, figure 4.1: labels right (%) where values are missing"
BEST = {"papers": "impute"}  # in the thesis; of all other data sets it is instance weighting
EXCEPT = {("hyphen", 0.05): "surrogate"}


def run(settings: Settings) -> Report:
    """Train and test on damaged data."""
    return report(measure_all(settings))


def report(data: dict[str, Any]) -> Report:
    """What was measured, as a table."""
    rows = [_row(found, rate) for found in data.values() for rate in found["rates"]]
    return Report("thesis-fig-4.1", [Grid(TITLE, ("data", "missing", *WAYS.values()), rows)], _notes(data), data)


def _row(found: dict[str, Any], rate: float) -> Row:
    accuracies = [found["found"][way][str(rate)]["accuracy"] for way in WAYS]
    best = max(accuracies)
    return (found["title"], f"{rate:.0%}", *(f"{value:.2f}{' ←' if value == best else ''}" for value in accuracies))


def best_way(found: dict[str, Any], rate: float) -> str:
    """The way with the highest accuracy."""
    return max(WAYS, key=lambda way: found["found"][way][str(rate)]["accuracy"])


def published_best(name: str, rate: float) -> str:
    """The best way in the thesis."""
    return EXCEPT.get((name, rate), BEST.get(name, "weighting"))


def _notes(data: dict[str, Any]) -> list[str]:
    n = len(next(iter(data.values()))["found"]["weighting"][str(next(iter(data.values()))["rates"][0])]["right"])
    whole = ", ".join(f"{found['title']} {found['whole']['accuracy']:.2f}" for found in data.values())
    other = [
        f"{found['title']} {rate:.0%} (here {WAYS[best_way(found, rate)]}, there {WAYS[published_best(name, rate)]})"
        for name, found in data.items()
        for rate in found["rates"]
        if best_way(found, rate) != published_best(name, rate)
    ]
    return [
        f"Means over {n} damaged training sets times {n} damaged test sets; posterior decoding. λ and iterations by one"
        " 2/3–1/3 hold-out for each data set, rate and way. An arrow marks the best way.",
        f"Where nothing is missing: {whole}.",
        "Lines of papers stand for the FAQs: 38 columns of yes and no, 6 + 3 papers, labels in six groups.",
        "learned, TreeCRF's default, is the same as indicator features on these data, which are all categories.",
        f"The best way is another than in the thesis: {'; '.join(other) or 'nowhere'}.",
    ]


def draw(data: dict[str, Any]) -> Any:
    """A panel for each data set."""
    return draw_rates(
        {
            found["title"]: (
                found["whole"]["accuracy"],
                found["rates"],
                {
                    name: [found["found"][way][str(rate)]["accuracy"] for rate in found["rates"]]
                    for way, name in WAYS.items()
                },
            )
            for found in data.values()
        }
    )
