"""The pictures of the experiments on images. Figures are made without pyplot, so that drawing needs no display."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from hedgerow.errors import MissingExtraError

Picture = Sequence[Sequence[float]]

_COLOURS = ("#14532d", "#8fc08a", "#f0b592", "#c2410c")
_INK = "#1b2a22"
_IN_A_ROW = 4


def draw_images(groups: Sequence[Mapping[str, Picture]]) -> Any:
    """Images in grey with their names above, four in a row, one group after the other."""
    per_group = [-(-len(group) // _IN_A_ROW) for group in groups]
    figure = _new_figure(7.2, 2.0 * sum(per_group))
    axes = figure.subplots(sum(per_group), _IN_A_ROW, squeeze=False)
    first = 0
    for group, n_rows in zip(groups, per_group):
        for ax, (name, picture) in zip(axes[first : first + n_rows].ravel(), group.items()):
            ax.imshow(np.asarray(picture, dtype=float), cmap="gray", interpolation="nearest")
            ax.set_title(name, color=_INK, fontsize=8)
        first += n_rows
    _hide_axes(axes)
    return figure


def draw_blocks(photograph: Picture, masks: Mapping[str, Picture]) -> Any:
    """A photograph, and the same with the blocks of each mask in colour."""
    n_rows = -(-(len(masks) + 1) // _IN_A_ROW)
    figure = _new_figure(8.4, 1.65 * n_rows)
    axes = figure.subplots(n_rows, _IN_A_ROW, squeeze=False)
    grey = np.asarray(photograph, dtype=float)
    for ax, (name, mask) in zip(axes.ravel(), {"photograph": None, **masks}.items()):
        ax.imshow(grey, cmap="gray", interpolation="nearest")
        if mask is not None:
            inside = np.asarray(mask, dtype=float)
            blocks = np.ma.masked_equal(inside, 0.0)
            extent = (-0.5, grey.shape[1] - 0.5, grey.shape[0] - 0.5, -0.5)
            ax.imshow(blocks, cmap="autumn", alpha=0.45, interpolation="nearest", extent=extent, vmin=0.0, vmax=2.0)
        ax.set_title(name, color=_INK, fontsize=8)
    _hide_axes(axes)
    return figure


def draw_snakes(colours: Sequence[Sequence[Sequence[int]]], truth: Picture, found: Mapping[str, Picture]) -> Any:
    """A grid in its colours, and the numbers that truth and methods give its cells; wrong ones stand out."""
    n_rows = -(-(len(found) + 2) // _IN_A_ROW)
    figure = _new_figure(7.2, 2.3 * n_rows)
    axes = figure.subplots(n_rows, _IN_A_ROW, squeeze=False)
    right = np.asarray(truth)
    panels = {"seen": None, "truth": right, **{name: np.asarray(own) for name, own in found.items()}}
    for ax, (name, labels) in zip(axes.ravel(), panels.items()):
        if labels is None:
            ax.imshow(np.asarray(colours, dtype=np.uint8), interpolation="nearest")
        else:
            ax.imshow(labels > 0, cmap="Greens", interpolation="nearest", vmin=0.0, vmax=2.5)
            for (i, j), label in np.ndenumerate(labels):
                if label or right[i, j]:
                    wrong = label != right[i, j]
                    colour = _COLOURS[3] if wrong else _INK
                    weight = "bold" if wrong else "normal"
                    ax.text(j, i, str(label), color=colour, fontsize=8, weight=weight, ha="center", va="center")
        ax.set_title(name, color=_INK, fontsize=8)
    _hide_axes(axes)
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
        right.set_title("wrong test nodes, %", color=_INK, fontsize=10, loc="left")
        for ax in (left, right):
            ax.set_xscale("log")
            ax.spines[["top", "right"]].set_visible(False)
            ax.set_xlabel("passes", color=_INK, fontsize=8)
    figure.legend(lines.values(), lines.keys(), loc="outside lower center", ncols=4, frameon=False, fontsize=8)
    return figure


def _hide_axes(axes: Any) -> None:
    for ax in axes.ravel():
        ax.set_axis_off()


def _new_figure(width: float, height: float) -> Any:
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtraError("matplotlib", "experiments", "Drawing") from error
    return Figure(figsize=(width, height), layout="constrained")
