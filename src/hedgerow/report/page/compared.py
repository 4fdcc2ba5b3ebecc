"""The page of several models side by side."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from typing import Any

from markupsafe import Markup

from hedgerow.report.compare import LEVEL, Comparison, Entry
from hedgerow.report.page import svg
from hedgerow.report.page.render import page
from hedgerow.report.page.report import write_page

_MOST_LABELS = 60


def write_comparison(
    comparison: Comparison, path: str | os.PathLike[str], title: str = "Models compared", command: str = ""
) -> None:
    """Write a comparison as an HTML page. It loads nothing from elsewhere. command : what the page says made it"""
    write_page(comparison_page(comparison, title, command), path)


def comparison_page(comparison: Comparison, title: str, command: str = "") -> str:
    """The page as text."""
    entries = comparison.entries
    header, *rows = comparison.rows()
    parts: dict[str, Any] = {
        "notes": comparison.notes(),
        "entries": entries,
        "header": header,
        "rows": rows,
        "kinds": [_kind(entry) for entry in entries],
        "level": LEVEL,
        "pairs": [[comparison.p_pairs.get((a.name, b.name)) for b in entries] for a in entries],
        "labels": _labels(entries),
        "command": command,
        "pictures": {
            "folds": _folds(entries),
            "train": _times(entries, [entry.train_seconds for entry in entries], "Seconds of training"),
            "predict": _times(entries, [entry.predict_seconds for entry in entries], "Seconds of prediction"),
        },
    }
    named = [
        ("models", "Models"),
        ("folds", "How sure"),
        ("labels", "By label"),
        ("time", "Time"),
        ("about", "Command"),
    ]
    left_out = {"labels": not parts["labels"], "about": not command}
    return page("compare.html", title, [one for one in named if not left_out.get(one[0])], parts)


def _kind(entry: Entry) -> str:
    if entry.p_sequences is None:
        return "best"
    return "differs" if entry.p_sequences < LEVEL else "alike"


def _labels(entries: Sequence[Entry]) -> list[tuple[str, int, list[float]]]:
    """Label, how often it is true, and its F1 by model; the most frequent first."""
    every = {name: n for entry in entries for name, (_, n) in entry.label_f1.items()}
    order = sorted(every, key=lambda name: -every[name])[:_MOST_LABELS]
    return [(name, every[name], [entry.label_f1.get(name, (0.0, 0))[0] for entry in entries]) for name in order]


def _folds(entries: Sequence[Entry]) -> Markup:
    rows = []
    for entry in entries:
        around = (entry.accuracy - (entry.spread or 0.0), entry.accuracy + (entry.spread or 0.0))
        folds = entry.fold_accuracies if len(entry.fold_accuracies) > 1 else ()
        rows.append((entry.name, entry.accuracy, around, folds, _kind(entry) == "differs"))
    return svg.dots(rows, "Labels right", percent=True)


def _times(entries: Sequence[Entry], seconds: Sequence[float], title: str) -> Markup:
    rows: list[Any] = [(e.name, math.log10(max(s, 1e-3)), None, (), False) for e, s in zip(entries, seconds)]
    return svg.dots(rows, title, powers=True, written=[f"{s:.2f} s" for s in seconds])
