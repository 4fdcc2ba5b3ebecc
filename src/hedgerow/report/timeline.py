"""A long sequence at a glance: true and predicted labels as bands, probabilities, and columns of numbers above them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from hedgerow.errors import InputError
from hedgerow.legend import FLOAT, AnyArray, FloatArray
from hedgerow.report import style
from hedgerow.report.style import AMBER, GREENS, INK, PALE

MOST = 1600  # columns of a picture: with more positions, several share one
# Told apart in print, by most colour-blind people, and from each other when they are many.
PALETTE = (
    "#3f8f5b", "#eb9d5f", "#5b7fb5", "#b5577a", "#8a7a3d", "#4fa3a5", "#7d5ba6", "#c2410c", "#14532d", "#9aa5b1",
    "#d4b84a", "#6b4f3a",
)  # fmt: skip


def plot_timeline(
    predicted: Sequence[object] | None = None,
    truth: Sequence[object] | None = None,
    probabilities: Any = None,
    classes: Sequence[object] | None = None,
    columns: Mapping[str, Sequence[float]] | None = None,
    *,
    path: str | os.PathLike[str] | None = None,
) -> Any:
    """Draw a sequence of any length, from ten positions to a million, in a picture of one width.

    Parameters
    ----------
    predicted, truth : (T,) labels, each a band; None in `truth` where a label is not known
    probabilities : (T, K), drawn as layers that add up to 1
    classes : (K,) the labels of the columns of `probabilities`
    columns : name → (T,) numbers, each a line above the bands
    path : where to save the picture; the ending says in which format

    Returns the matplotlib figure. Where several positions share a column of the picture, a band shows their most
    frequent label, a line the range of their numbers, and probabilities their mean.
    """
    bands = {name: list(labels) for name, labels in (("predicted", predicted), ("true", truth)) if labels is not None}
    probs = None if probabilities is None else np.asarray(probabilities, dtype=FLOAT)
    lines = {str(name): np.asarray(values, dtype=FLOAT) for name, values in (columns or {}).items()}
    n = _length(bands, probs, lines)
    names = _names(bands, probs, classes)
    edges = np.linspace(0, n, min(n, MOST) + 1).round().astype(np.int64)
    heights = [1.1] * len(lines) + ([1.2] if probs is not None else []) + [0.28] * len(bands)
    figure = style.new_figure(9.0, sum(heights) + 0.7 + 0.18 * -(-len(names) // 6))
    axes = figure.subplots(len(heights), 1, sharex=True, squeeze=False, height_ratios=heights)[:, 0]
    rest = list(axes)
    for name, values in lines.items():
        _draw_numbers(rest.pop(0), name, values, edges)
    colours = {name: PALETTE[k % len(PALETTE)] for k, name in enumerate(names)}
    if probs is not None:
        _draw_probabilities(rest.pop(0), probs, [colours[name] for name in names[: probs.shape[1]]], edges)
    for name, labels in reversed(bands.items()):
        _draw_band(rest.pop(0), name, labels, colours, edges)
    axes[-1].set_xlim(0, n)
    axes[-1].set_xlabel("position", color=INK)
    _draw_legend(figure, colours)
    return style.saved(figure, path)


def _length(bands: Mapping[str, Sequence[object]], probs: FloatArray | None, lines: Mapping[str, FloatArray]) -> int:
    """T, where all that is drawn has as many positions; an error elsewhere."""
    sizes = {name: len(values) for name, values in (*bands.items(), *lines.items())}
    if probs is not None:
        sizes["probabilities"] = len(probs)
    if not sizes or 0 in sizes.values():
        raise InputError("there is nothing to draw", hint="Give labels, probabilities or columns of a sequence.")
    if len(set(sizes.values())) > 1:
        told = ", ".join(f"{name} has {size}" for name, size in sizes.items())
        raise InputError(f"lengths differ: {told}", hint="Give one sequence, position by position.")
    for name, values in lines.items():
        if values.ndim != 1:
            raise InputError(f"has the shape {values.shape}", hint="Give one number per position.", column=name)
    return next(iter(sizes.values()))


def _names(
    bands: Mapping[str, Sequence[object]], probs: FloatArray | None, classes: Sequence[object] | None
) -> list[str]:
    """The labels in the order of the classes, and then those that only bands have."""
    if probs is not None and (classes is None or probs.ndim != 2 or probs.shape[1] != len(classes)):
        given = "no classes" if classes is None else f"{len(classes)} classes"
        raise InputError(f"probabilities have the shape {probs.shape}, and there are {given}")
    known = [str(label) for label in (classes if classes is not None else ())]
    others = {str(label) for labels in bands.values() for label in labels if label is not None}
    return [*known, *sorted(others - set(known))]


def _draw_numbers(ax: Any, name: str, values: FloatArray, edges: AnyArray) -> None:
    """A line; where positions share columns, the range of each column around it."""
    if len(edges) == len(values) + 1:
        ax.plot(np.arange(len(values)) + 0.5, values, color=GREENS[4], linewidth=1.0)
    else:
        known = np.where(np.isnan(values), -np.inf, values), np.where(np.isnan(values), np.inf, values)
        high, low = np.maximum.reduceat(known[0], edges[:-1]), np.minimum.reduceat(known[1], edges[:-1])
        middle = (edges[:-1] + edges[1:]) / 2
        seen = np.isfinite(high) & np.isfinite(low)
        ax.fill_between(middle, low, high, where=seen, color=GREENS[3], linewidth=0.4, edgecolor=GREENS[3])
    ax.set_ylabel(name, color=INK, fontsize=9, rotation=0, ha="right", va="center", parse_math=False)
    style.show_axes(ax, "y")


def _draw_probabilities(ax: Any, probs: FloatArray, colours: list[str], edges: AnyArray) -> None:
    """Layers from below, the first class lowest."""
    means = np.add.reduceat(probs, edges[:-1], axis=0) / np.diff(edges)[:, None]
    tops = np.concatenate([np.zeros((len(means), 1)), np.cumsum(means, axis=1)], axis=1)
    for k, colour in enumerate(colours):
        low, high = (np.append(tops[:, j], tops[-1:, j]) for j in (k, k + 1))
        ax.fill_between(edges, low, high, step="post", color=colour, linewidth=0)
    ax.set_ylim(0, 1)
    ax.set_ylabel("probability", color=INK, fontsize=9, rotation=0, ha="right", va="center")
    ax.tick_params(colors=PALE, labelsize=8, length=2)
    ax.spines[:].set_visible(False)


def _draw_band(ax: Any, name: str, labels: Sequence[object], colours: Mapping[str, str], edges: AnyArray) -> None:
    """The most frequent label of each column as a colour; white where none is known."""
    from matplotlib.colors import to_rgb

    place = {label: k for k, label in enumerate(colours)}
    codes = np.array([len(place) if label is None else place[str(label)] for label in labels])
    counts = np.zeros((len(edges) - 1, len(place) + 1))
    np.add.at(counts, (np.repeat(np.arange(len(edges) - 1), np.diff(edges)), codes), 1.0)
    palette = np.array([*map(to_rgb, colours.values()), (1.0, 1.0, 1.0)])
    ax.pcolorfast(edges.astype(FLOAT), np.array([0.0, 1.0]), palette[counts.argmax(axis=1)][None])
    ax.set_yticks([])
    ax.tick_params(colors=PALE, labelsize=8, length=2)
    ax.set_ylabel(name, color=AMBER if name == "predicted" else INK, fontsize=9, rotation=0, ha="right", va="center")
    ax.spines[:].set_visible(False)


def _draw_legend(figure: Any, colours: Mapping[str, str]) -> None:
    from matplotlib.patches import Patch

    handles = [Patch(color=colour, label=f"\u200b{name}") for name, colour in colours.items()]  # "_name" is left out
    legend = figure.legend(
        handles=handles, loc="outside lower center", ncols=min(6, max(1, len(handles))), fontsize=8, frameon=False
    )
    for text in legend.get_texts():
        text.set_parse_math(False)
