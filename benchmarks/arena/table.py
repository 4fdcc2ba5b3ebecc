"""The results as tables in Markdown."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np

MEASURES = {
    "accuracy": ("right %", 100, ".2f"),
    "macro_f1": ("macro-F1", 100, ".2f"),
    "segment_f1": ("segment F1", 100, ".2f"),
    "log_loss": ("log-loss", 1, ".3f"),
    "calibration_error": ("ECE %", 100, ".2f"),
}
COSTS = {"fit_seconds": ("fit s", ".1f"), "predict_seconds": ("label s", ".2f"), "peak_megabytes": ("MB", ".0f")}


Cells = dict[str, dict[str, list[dict[str, Any]]]]  # the results of all seeds by task and contender


def by_cell(results: list[dict[str, Any]]) -> Cells:
    """The results of all seeds by task and contender, in the order in which they came."""
    cells: Cells = defaultdict(lambda: defaultdict(list))
    for found in results:
        cells[found["task"]][found["contender"]].append(found)
    return cells


def status_of(runs: list[dict[str, Any]]) -> str:
    """ "ok" where every seed is, else the first other word."""
    return next((found["status"] for found in runs if found["status"] != "ok"), "ok")


def mean_of(runs: list[dict[str, Any]], name: str) -> float | None:
    """The mean over seeds of a measure or of a cost; None where one lacks it."""
    values = [found["measures"].get(name) if name in MEASURES else found.get(name) for found in runs]
    return None if None in values else float(np.mean([value for value in values if value is not None]))


def results_table(results: list[dict[str, Any]]) -> str:
    """A row for each task and contender: the means over seeds; for a run that failed, why."""
    heads = ["task", "contender", *(head for head, _, _ in MEASURES.values()), *(head for head, _ in COSTS.values())]
    lines = ["| " + " | ".join(heads) + " |", "| --- " * len(heads) + "|"]
    for task, contenders in by_cell(results).items():
        for contender, runs in contenders.items():
            if status_of(runs) == "skipped":
                continue
            lines.append("| " + " | ".join([task, f"`{contender}`", *_cells(runs)]) + " |")
    return "\n".join(lines)


def _cells(runs: list[dict[str, Any]]) -> list[str]:
    if status_of(runs) != "ok":
        why = next(found["why"] for found in runs if found["status"] != "ok").splitlines()[0]
        return [why.replace("|", "/")[:90], *[""] * (len(MEASURES) + len(COSTS) - 1)]
    row = []
    for name, (_, scale, form) in MEASURES.items():
        value = mean_of(runs, name)
        row.append("" if value is None else format(scale * value, form))
    return row + [format(mean_of(runs, name), form) for name, (_, form) in COSTS.items()]


def skipped_lines(results: list[dict[str, Any]]) -> list[str]:
    """What was left out, and why, once for each reason."""
    reasons: dict[str, list[str]] = defaultdict(list)
    for found in results:
        if found["status"] == "skipped":
            reasons[f"{found['contender']}: {found['why']}"].append(found["task"])
    return [f"skipped: {why} ({', '.join(dict.fromkeys(tasks))})" for why, tasks in reasons.items()]
