"""A comparison of models as a picture, and as a page for a browser that needs nothing else."""

from __future__ import annotations

import html
import math
import os
from pathlib import Path
from typing import Any

from hedgerow.report.compare import LEVEL, Comparison, Entry
from hedgerow.report.style import AMBER, GREENS, INK, PALE, new_figure, saved, show_axes

_STYLE = f"""
body {{ font: 16px/1.5 system-ui, sans-serif; color: {INK}; margin: 2rem auto; max-width: 64rem; padding: 0 1rem; }}
table {{ border-collapse: collapse; width: 100%; }}
th, td {{ text-align: right; padding: .4rem .7rem; border-bottom: 1px solid #dde3de; white-space: nowrap; }}
th:first-child, td:first-child {{ text-align: left; font-weight: 600; }}
tr.alike td:first-child::after {{ content: " ≈"; color: {PALE}; }}
.bar {{ display: inline-block; height: .7em; background: {GREENS[3]}; vertical-align: baseline; margin-right: .5em; }}
.note {{ color: {PALE}; }}
"""


def plot_comparison(comparison: Comparison, path: str | os.PathLike[str] | None = None) -> Any:
    """Draw a comparison: label accuracy with each fold as a dot, and seconds of training on a logarithmic axis.

    Parameters
    ----------
    comparison : what `compare` returned
    path : where to save the picture; the ending says in which format

    Returns the matplotlib figure. Amber marks models that the test by sequence tells from the best.
    """
    entries = comparison.entries
    figure = new_figure(8.0, 1.1 + 0.42 * len(entries))
    left, right = figure.subplots(1, 2, sharey=True)
    for row, entry in enumerate(entries):
        colour = AMBER if _differs(entry) else GREENS[3]
        if len(entry.fold_accuracies) > 1:
            rows = [row] * len(entry.fold_accuracies)
            left.plot(entry.fold_accuracies, rows, "o", color=PALE, alpha=0.5, markersize=3)
        left.plot(entry.accuracy, row, "o", color=colour, markersize=7)
        right.plot(max(entry.train_seconds, 1e-3), row, "o", color=colour, markersize=7)
    left.set_yticks(range(len(entries)), [entry.name for entry in entries])
    left.set_ylim(len(entries) - 0.5, -0.5)
    right.set_xscale("log")
    for ax, title in ((left, "labels right"), (right, "seconds of training")):
        ax.set_title(title, color=INK, fontsize=10, loc="left")
        show_axes(ax, "x")
        ax.tick_params(labelsize=9)
    return saved(figure, path)


def write_comparison(comparison: Comparison, path: str | os.PathLike[str], title: str = "Models compared") -> None:
    """Write a comparison as an HTML page. It loads nothing from elsewhere."""
    Path(path).write_text(comparison_page(comparison, title), encoding="utf-8")


def comparison_page(comparison: Comparison, title: str = "Models compared") -> str:
    """The page as text."""
    header, *rows = comparison.rows()
    longest = max(math.log10(1 + 100 * entry.train_seconds) for entry in comparison.entries) or 1.0
    lines = []
    for entry, row in zip(comparison.entries, rows):
        cells = [html.escape(cell) for cell in row]
        width = 8.0 * math.log10(1 + 100 * entry.train_seconds) / longest
        time = header.index("train s")
        cells[time] = f'<span class="bar" style="width:{width:.2f}em"></span>{cells[time]}'
        kind = "differs" if _differs(entry) else "alike" if entry.p_labels is not None else "best"
        lines.append(f'<tr class="{kind}">' + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>")
    heads = "".join(f"<th>{html.escape(cell)}</th>" for cell in header)
    notes = "".join(f'<p class="note">{html.escape(note)}</p>' for note in comparison.notes())
    alike = f'<p class="note">≈: the test by sequence does not tell the model from the best (p ≥ {LEVEL:g}).</p>'
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{html.escape(title)}</title>'
        f"<style>{_STYLE}</style></head>\n<body><h1>{html.escape(title)}</h1>\n"
        f"<table><thead><tr>{heads}</tr></thead>\n<tbody>\n" + "\n".join(lines) + f"\n</tbody></table>\n{notes}{alike}"
        "\n</body></html>\n"
    )


def _differs(entry: Entry) -> bool:
    return entry.p_sequences is not None and entry.p_sequences < LEVEL
