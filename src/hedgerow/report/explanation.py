"""A picture of why a position has its label."""

from __future__ import annotations

import os
from typing import Any

from hedgerow.estimators.why.explanation import Explanation
from hedgerow.report.style import AMBER, GREENS, INK, PALE, name_rows, new_axes, saved, write


def plot_explanation(
    explanation: Explanation, n: int = 12, path: str | os.PathLike[str] | None = None, ax: Any = None
) -> Any:
    """Draw the parts of an explanation as bars: to the right what speaks for the label, to the left what against it.

    Parameters
    ----------
    explanation : what `explain` of a model returned
    n : the most features to show; what the others add is one bar
    path : where to save the picture; the ending says in which format
    ax : matplotlib axes to draw into; by default a new figure of a fitting size
    """
    rows = explanation.rows(n)
    texts, values = [text for text, _ in rows], [value for _, value in rows]
    if ax is None:
        ax = new_axes(4.6 + 0.075 * max((len(text) for text in texts), default=0), 0.9 + 0.3 * len(rows))
    ax.barh(range(len(rows)), values, height=0.66, color=[GREENS[3] if value > 0 else AMBER for value in values])
    ax.axvline(0.0, color=PALE, linewidth=0.8)
    name_rows(ax, texts)
    ax.invert_yaxis()
    widest = max((abs(value) for value in values), default=0.0) or 1.0
    ax.set_xlim(-1.3 * widest if min(values, default=0.0) < 0 else -0.05 * widest, 1.3 * widest)
    for i, value in enumerate(values):
        side = "left" if value >= 0 else "right"
        write(ax, value + (0.02 if value >= 0 else -0.02) * widest, i, f"{value:+.2f}", 9, ha=side, va="center")
    ax.set_title(explanation.title, loc="left", fontsize=10.5, color=INK, parse_math=False)
    return saved(ax, path)
