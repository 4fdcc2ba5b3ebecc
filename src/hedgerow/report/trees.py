"""Pictures of what a model has learnt: one tree, and which features matter.

A tree is laid out in inches: its boxes are as wide as their text, which is set in a font of one width.
"""

from __future__ import annotations

import math
import os
import textwrap
from itertools import pairwise, zip_longest
from typing import Any, NamedTuple

from hedgerow.errors import InputError
from hedgerow.explain.fields import PREVIOUS, signed
from hedgerow.explain.importance import Importance, Share, importance
from hedgerow.explain.trees import Branch, branches
from hedgerow.report.style import AMBER, GREENS, INK, PALE, draw_tile, name_rows, new_axes, saved, shades, write

_FONT = 8.0  # points
_LETTER = _FONT * 0.602 / 72  # the width of a letter in inches
_LINE = _FONT * 1.25 / 72
_WRAP = 24  # letters of a line in a box
_PAD = 0.075  # inches between text and rim
_BETWEEN = 0.13  # inches between boxes side by side
_LEVEL = 0.36  # inches between one level of boxes and the next
_NEGATIVE = ["#f6f4ee", "#f7d9bb", "#eb9d5f", AMBER]
_POSITIVE = ["#f6f4ee", *GREENS[1:]]
_DARK = 0.52  # white letters on colours less bright than this

_CELL = 0.4  # the height of a cell of importance in inches
_WIDE = 1.5  # the width of a cell in heights
_BAR = 3.6  # the longest bar in heights


class _Box(NamedTuple):
    """A node as it is drawn: the middle of its box, its size, its lines."""

    x: float
    y: float
    width: float
    height: float
    lines: list[str]


def plot_tree(
    model: Any, iteration: int, label: Any, member: int = 1, path: str | os.PathLike[str] | None = None, ax: Any = None
) -> Any:
    """Draw one tree. Where the condition in a box holds, the way goes left.

    Leaves show what they add to the score of the label, and how many rows came to them in training, or with Newton's
    leaves the sum of their p(1−p); a line is the thicker the more go along it. With missing="weighting" and "surrogate"
    a box also says where rows without a value go; surrogates are counted, and `tree_text` names them.

    Parameters
    ----------
    model : a fitted TreeCRF
    iteration : from 1, as in `history_`
    label : one of `classes_`
    member : which of the trees of one step, from 1, where the model has several
    path : where to save the picture; the ending says in which format
    ax : matplotlib axes to draw into; by default a new figure of a fitting size

    Returns the axes.
    """
    nodes = branches(model, iteration, label, member, most=5)
    boxes = _lay_out(nodes)
    left = min(box.x - box.width / 2 for box in boxes) - 0.05
    right = max(box.x + box.width / 2 for box in boxes) + 0.05
    bottom = min(box.y - box.height / 2 for box in boxes) - 0.05
    top = boxes[0].y + boxes[0].height / 2 + 0.4
    if ax is None:
        ax = new_axes(max(right - left, 2.0), top - bottom)
        scale = 1.0
    else:
        extent = ax.get_window_extent()
        wanted = max((right - left) / extent.width, (top - bottom) / extent.height) * ax.figure.dpi
        scale = min(1.0, 1 / wanted)
    ax.set_xlim(left, right)
    ax.set_ylim(bottom, top)
    ax.set_aspect("equal")
    ax.set_axis_off()
    _draw_ways(ax, nodes, boxes, scale)
    _draw_boxes(ax, nodes, boxes, scale)
    write(ax, boxes[0].x, top - 0.05, f"{label}, iteration {iteration}", 11 * scale, va="top")
    return saved(ax, path)


def plot_importance(
    model: Any, by: str | None = None, n: int = 20, path: str | os.PathLike[str] | None = None, ax: Any = None
) -> Any:
    """Draw how much of a model rests on each column: a row per column, a cell per window offset, the total as a bar.

    Parameters
    ----------
    model : a fitted model, or what `hedgerow.explain.importance` found
    by : as in `hedgerow.explain.importance`
    n : the most columns to show, the most important ones
    path : where to save the picture; the ending says in which format
    ax : matplotlib axes to draw into; by default a new figure of a fitting size

    Returns the axes. The previous label has a bar and no cells.
    """
    shares = model if isinstance(model, Importance) else importance(model, by)
    shown = shares.columns[:n]
    if not shown:
        raise InputError("there is nothing to draw: no feature is used")
    names = {total.column for total in shown}
    offsets = sorted({row.offset for row in shares.rows if row.offset is not None and row.column in names})
    if ax is None:
        margin = 0.5 + 0.085 * max(len(total.column) for total in shown)
        width = _WIDE * len(offsets) + _BAR + 1.7
        ax = new_axes(margin + width * _CELL, (len(shown) + 1.2) * _CELL)
    _draw_shares(ax, shares, shown, offsets)
    _draw_totals(ax, shown, _WIDE * len(offsets) + 0.35)
    _frame_shares(ax, shares, shown, offsets)
    return saved(ax, path)


def _lay_out(nodes: list[Branch]) -> list[_Box]:
    """A box for each node: a subtree stands as near to the one beside it as their widest levels allow, and a node
    stands nearer to the larger of its subtrees, so that a long line of splits goes straight down."""
    lines = [_lines(branch) for branch in nodes]
    widths = [max(map(len, text)) * _LETTER + 2 * _PAD for text in lines]
    heights = [len(text) * _LINE + 2 * _PAD for text in lines]
    order = _from_the_root(nodes)
    reach: dict[int, list[tuple[float, float]]] = {}  # of each subtree: left and right of every level, from its root
    shift = [0.0] * len(nodes)  # of each node, from its parent
    n_leaves = [1] * len(nodes)
    for node, _ in reversed(order):
        half = widths[node] / 2
        branch = nodes[node]
        if branch.is_leaf:
            reach[node] = [(-half, half)]
            continue
        left, right = reach.pop(branch.true), reach.pop(branch.false)
        apart = max(a[1] - b[0] for a, b in zip(left, right)) + _BETWEEN
        n_leaves[node] = n_leaves[branch.true] + n_leaves[branch.false]
        shift[branch.true] = -apart * n_leaves[branch.false] / n_leaves[node]
        shift[branch.false] = apart + shift[branch.true]
        left = [(low + shift[branch.true], high + shift[branch.true]) for low, high in left]
        right = [(low + shift[branch.false], high + shift[branch.false]) for low, high in right]
        reach[node] = [(-half, half), *(((a or b)[0], (b or a)[1]) for a, b in zip_longest(left, right))]
    # Add up the shifts from the root down, and set the levels under each other.
    tallest = [0.0] * (order[-1][1] + 1)
    for node, depth in order:
        tallest[depth] = max(tallest[depth], heights[node])
    middle = [0.0]
    for above, below in pairwise(tallest):
        middle.append(middle[-1] - above / 2 - _LEVEL - below / 2)
    x = [0.0] * len(nodes)
    boxes: list[_Box | None] = [None] * len(nodes)
    for node, depth in order:
        boxes[node] = _Box(x[node], middle[depth], widths[node], heights[node], lines[node])
        for child in () if nodes[node].is_leaf else (nodes[node].true, nodes[node].false):
            x[child] = x[node] + shift[child]
    return [box for box in boxes if box is not None]


def _from_the_root(nodes: list[Branch]) -> list[tuple[int, int]]:
    """(node, depth) of all nodes, level by level."""
    order = [(0, 0)]
    for node, depth in order:
        if not nodes[node].is_leaf:
            order += [(nodes[node].true, depth + 1), (nodes[node].false, depth + 1)]
    return order


def _lines(branch: Branch) -> list[str]:
    if branch.is_leaf:
        return [signed(branch.value, 3), f"{branch.rows:,.6g}"]
    lines = textwrap.wrap(branch.text, _WRAP) or [""]
    if len(branch.without) > 1:
        return [*lines, f"missing: {len(branch.without) - 1} surrogates"]
    return [*lines, *(f"missing: {way}" for way in branch.without)]


def _draw_ways(ax: Any, nodes: list[Branch], boxes: list[_Box], scale: float) -> None:
    """A curve from each split to its two children; the first two say which is which."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    steps = [Path.MOVETO, Path.CURVE4, Path.CURVE4, Path.CURVE4]
    for node, branch in enumerate(nodes):
        for child, word in () if branch.is_leaf else ((branch.true, "yes"), (branch.false, "no")):
            begin = boxes[node].x, boxes[node].y - boxes[node].height / 2
            end = boxes[child].x, boxes[child].y + boxes[child].height / 2
            middle = (begin[1] + end[1]) / 2
            share = nodes[child].rows / max(nodes[0].rows, 1.0)
            way = Path([begin, (begin[0], middle), (end[0], middle), end], steps)
            width = (0.7 + 3.8 * math.sqrt(share)) * scale
            ax.add_patch(PathPatch(way, facecolor="none", edgecolor="#c9d1cb", linewidth=width, zorder=1))
            if node == 0:
                side = -1 if word == "yes" else 1
                x, anchor = (begin[0] + end[0]) / 2 + 0.08 * side, "right" if side < 0 else "left"
                write(ax, x, middle + 0.05, word, _FONT * scale, PALE, ha=anchor, va="bottom")


def _draw_boxes(ax: Any, nodes: list[Branch], boxes: list[_Box], scale: float) -> None:
    """Splits in white with a rim; leaves in green where the label gains, in amber where it loses."""
    colours = shades(_NEGATIVE), shades(_POSITIVE)
    largest = max((abs(branch.value) for branch in nodes), default=0.0) or 1.0
    for branch, box in zip(nodes, boxes):
        look: dict[str, Any] = {"facecolor": "white", "edgecolor": PALE}
        if branch.is_leaf:
            look = {"facecolor": colours[branch.value > 0](abs(branch.value) / largest)}
        corner, rounding = (box.x - box.width / 2, box.y - box.height / 2), 0.1 if branch.is_leaf else 0.05
        tile = draw_tile(ax, *corner, box.width, box.height, rounding, linewidth=0.8 * scale, zorder=2, **look)
        colour = _letters_on(tile)
        for i, line in enumerate(box.lines):
            small = branch.is_leaf and i == 1  # the rows of a leaf
            y, size = box.y + (len(box.lines) / 2 - i - 0.5) * _LINE, (_FONT - 1.5 if small else _FONT) * scale
            look = {"va": "center", "family": "monospace", "alpha": 0.75 if small else 1.0, "zorder": 3}
            write(ax, box.x, y, line, size, colour, **look)


def _draw_shares(ax: Any, result: Importance, shown: tuple[Share, ...], offsets: list[int]) -> None:
    """A tile for each column and offset, the darker the more important."""
    colours = shades()
    shares = {(row.column, row.offset): row.share for row in result.rows}
    largest = max((shares.get((total.column, o), 0.0) for total in shown for o in offsets), default=0.0) or 1.0
    for place, total in enumerate(shown):
        for c, offset in enumerate(offsets if total.column != PREVIOUS else []):
            share = shares.get((total.column, offset), 0.0)
            colour = colours(share / largest)
            tile = draw_tile(ax, _WIDE * c + 0.06, place - 0.42, _WIDE - 0.12, 0.84, 0.14, facecolor=colour)
            if share:
                write(ax, _WIDE * (c + 0.5), place, _percent(share), 8, _letters_on(tile), va="center_baseline")


def _draw_totals(ax: Any, shown: tuple[Share, ...], begin: float) -> None:
    """A bar for each column; that of the previous label in another colour."""
    for place, total in enumerate(shown):
        colour = AMBER if total.column == PREVIOUS else GREENS[3]
        length = _BAR * total.share / shown[0].share
        ax.barh(place, length, left=begin, height=0.5, color=colour)
        ax.text(begin + length + 0.15, place, _percent(total.share), va="center_baseline", fontsize=8.5, color=INK)


def _frame_shares(ax: Any, result: Importance, shown: tuple[Share, ...], offsets: list[int]) -> None:
    """Columns beside their rows, offsets above their cells, and no box around it all."""
    for c, offset in enumerate(offsets):
        text = f"{offset:+d}" if offset else "0"
        write(ax, _WIDE * (c + 0.5), -0.62, text, 9.5, va="bottom")
    ax.text(_WIDE * len(offsets) + 0.35, -0.62, f"by {result.by}", ha="left", va="bottom", fontsize=9.5, color=PALE)
    ax.set_xlim(0, _WIDE * len(offsets) + _BAR + 1.6)
    ax.set_ylim(len(shown) - 0.4, -1.3)
    name_rows(ax, [total.column for total in shown])


def _letters_on(tile: Any) -> str:
    """The colour of letters that can be read on a tile."""
    red, green, blue, _ = tile.get_facecolor()
    return "white" if 0.299 * red + 0.587 * green + 0.114 * blue < _DARK else INK


def _percent(share: float) -> str:
    return f"{share:.0%}" if share >= 0.095 else f"{share:.1%}"
