"""The pictures of the experiments on images. Figures are made without pyplot, so that drawing needs no display."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from hedgerow.errors import MissingExtraError

_COLOURS = ("#14532d", "#8fc08a", "#f0b592", "#c2410c")
_INK = "#1b2a22"


def draw_images(pictures: Mapping[str, Sequence[Sequence[float]]]) -> Any:
    """Images in grey, four in a row, with their names above."""
    n_rows = -(-len(pictures) // 4)
    figure = _new_figure(8.0, 2.2 * n_rows)
    axes = figure.subplots(n_rows, 4, squeeze=False).ravel()
    for ax, (name, picture) in zip(axes, pictures.items()):
        ax.imshow(np.asarray(picture, dtype=float), cmap="gray", interpolation="nearest")
        ax.set_title(name, color=_INK, fontsize=9)
    for ax in axes:
        ax.set_axis_off()
    return figure


def draw_objectives(panels: Mapping[str, Mapping[str, tuple[Sequence[float], Sequence[float]]]]) -> Any:
    """A row for each criterion: the loss and the test error of every trainer, by passes."""
    figure = _new_figure(8.0, 2.4 * len(panels) + 0.5)
    lines: dict[str, Any] = {}
    for (left, right), (criterion, curves) in zip(figure.subplots(len(panels), 2, squeeze=False), panels.items()):
        for (trainer, (losses, errors)), colour in zip(curves.items(), _COLOURS):
            [lines[trainer]] = left.plot(range(1, len(losses) + 1), losses, color=colour, linewidth=1.4)
            right.plot(range(1, len(errors) + 1), errors, color=colour, linewidth=1.4)
        left.set_title(f"{criterion}: training objective", color=_INK, fontsize=10, loc="left")
        right.set_title("wrong test pixels, %", color=_INK, fontsize=10, loc="left")
        for ax in (left, right):
            ax.set_xscale("log")
            ax.spines[["top", "right"]].set_visible(False)
            ax.set_xlabel("passes", color=_INK, fontsize=8)
    figure.legend(lines.values(), lines.keys(), loc="outside lower center", ncols=4, frameon=False, fontsize=8)
    return figure


def _new_figure(width: float, height: float) -> Any:
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtraError("matplotlib", "experiments", "Drawing") from error
    return Figure(figsize=(width, height), layout="constrained")
