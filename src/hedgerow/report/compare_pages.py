"""A comparison of models as a picture, and as a page for a browser that needs nothing else."""

from __future__ import annotations

import os
from typing import Any

from hedgerow.report.compare import LEVEL, Comparison
from hedgerow.report.style import AMBER, GREENS, INK, PALE, new_figure, saved, show_axes


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
        colour = AMBER if entry.p_sequences is not None and entry.p_sequences < LEVEL else GREENS[3]
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


def write_comparison(
    comparison: Comparison, path: str | os.PathLike[str], title: str = "Models compared", command: str = ""
) -> None:
    """Write a comparison as an HTML page. It loads nothing from elsewhere. command : what the page says made it"""
    from hedgerow.report.page.compared import comparison_page
    from hedgerow.report.page.report import write_page

    write_page(comparison_page(comparison, title, command), path)
