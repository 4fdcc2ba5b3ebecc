"""A picture of where future features fire in a sequence."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from hedgerow.errors import InputError
from hedgerow.explain.future import require_features
from hedgerow.legend import FloatArray
from hedgerow.report.style import AMBER, GREENS, INK, PALE, new_axes, saved

_UNIT = 0.44  # the height of a row in inches
_LETTER = 0.12  # the width of a letter in inches
_WRITTEN = 0.05  # a probability under this is drawn, but not written


def plot_future(
    model: Any,
    sequence: Any,
    tokens: Sequence[object] | None = None,
    path: str | os.PathLike[str] | None = None,
    ax: Any = None,
) -> Any:
    """Draw where the patterns of future features stand in a sequence, and from where they are seen.

    There are two rows for each feature: the probability that a position has its pattern, in amber, and the probability
    that the pattern stands ahead of it, which speaks for the feature's label, in green.

    Parameters
    ----------
    model : a fitted FutureFeatureMEMM
    sequence : one sequence, as the model was fitted to
    tokens : (T,) what to write at each position; by default its number
    path : where to save the picture; the ending says in which format
    ax : matplotlib axes to draw into; by default a new figure of a fitting size

    Returns the axes.
    """
    require_features(model)
    if not model.n_features_:
        raise InputError("the model has found no future feature")
    [patterns], [ahead] = model.predict_patterns([sequence]), model.predict_features([sequence])
    if not len(patterns):
        raise InputError("there is nothing to draw: the sequence is empty")
    words = [str(t) for t in range(len(patterns))] if tokens is None else [str(token) for token in tokens]
    if len(words) != len(patterns):
        raise InputError(f"there are {len(words)} tokens for {len(patterns)} positions")
    side = "before" if model.scorer_.backward else "ahead"
    names = []
    for j, feature in enumerate(model.scorer_.features, 1):
        names += [f"pattern {j}", f"{side}: {model.schema_.labels[feature.label]}"]
    if ax is None:
        column = max(0.5, _LETTER * max(map(len, words)) + 0.15)
        ax = new_axes(column * len(words) + 0.09 * max(map(len, names)), (len(names) + 1) * _UNIT)
    for row in range(len(names)):
        _draw_row(ax, row, (patterns if row % 2 == 0 else ahead)[:, row // 2], AMBER if row % 2 == 0 else GREENS[3])
    _draw_frame(ax, words, names)
    return saved(ax, path)


def _draw_row(ax: Any, row: int, probs: FloatArray, colour: str) -> None:
    """A tile for each position, the stronger the more probable."""
    from matplotlib.patches import Rectangle

    for t, p in enumerate(probs.tolist()):
        ax.add_patch(Rectangle((t + 0.04, row + 0.06), 0.92, 0.88, facecolor=colour, alpha=min(1.0, p), linewidth=0))
        if p >= _WRITTEN:
            ink = "white" if p > 0.6 else INK
            ax.text(t + 0.5, row + 0.5, f"{100 * p:.0f}", ha="center", va="center", fontsize=8, color=ink)


def _draw_frame(ax: Any, words: list[str], names: list[str]) -> None:
    ax.set_xlim(0, len(words))
    ax.set_ylim(len(names), 0)
    ax.set_xticks(np.arange(len(words)) + 0.5, words, color=INK, fontsize=9)
    ax.set_yticks(np.arange(len(names)) + 0.5, names, color=INK, fontsize=9)
    ax.xaxis.tick_top()
    ax.tick_params(length=0)
    for row in range(2, len(names), 2):
        ax.axhline(row, color=PALE, linewidth=0.6)
    ax.spines[:].set_visible(False)
