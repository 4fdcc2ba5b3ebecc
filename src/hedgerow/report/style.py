"""How all pictures look: colours, and figures made without pyplot, so that drawing needs no display and leaves no
state behind."""

from __future__ import annotations

import os
from typing import Any

from hedgerow.errors import InputError, MissingExtraError

INK = "#1b2a22"
PALE = "#8a978f"
GREENS = ["#f4f7f2", "#cfe3c6", "#8fc08a", "#3f8f5b", "#14532d"]
AMBER = "#c2410c"


def new_figure(width: float, height: float) -> Any:
    """A figure of so many inches."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtraError("matplotlib", "plot", "Drawing") from error
    return Figure(figsize=(width, height), layout="constrained")


def draw_tile(ax: Any, x: float, y: float, width: float, height: float, rounding: float, **look: Any) -> Any:
    """A box with round corners, whose lower left one is at (x, y); without a rim where none is given."""
    from matplotlib.patches import FancyBboxPatch

    box = f"round,pad=0,rounding_size={rounding}"
    return ax.add_patch(FancyBboxPatch((x, y), width, height, boxstyle=box, **{"edgecolor": "none", **look}))


def write(ax: Any, x: float, y: float, text: str, size: float, colour: str = INK, **more: Any) -> None:
    """A text with its middle at x. A token may be "$": it is text, not the start of a formula."""
    ax.text(x, y, text, fontsize=size, color=colour, parse_math=False, **{"ha": "center", **more})


def shades(colours: list[str] = GREENS) -> Any:
    """A function of a number from 0 to 1 that gives a colour, from the first of these to the last."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("hedgerow", colours)


def name_rows(ax: Any, names: list[str]) -> list[Any]:
    """Names beside the rows 0, 1, …, no ticks, and no box around it all; the texts of the names."""
    ax.set_xticks([])
    ax.set_yticks(range(len(names)), names, color=INK, fontsize=10.5, parse_math=False)
    ax.tick_params(length=0, pad=6)
    ax.spines[:].set_visible(False)
    return list(ax.get_yticklabels())


def show_axes(ax: Any, grid: str) -> None:
    """Pale axes left and below, and lines of a grid across them."""
    ax.grid(axis=grid, color=PALE, alpha=0.25, linewidth=0.8)
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(PALE)
    ax.tick_params(colors=INK, length=3)


def new_axes(width: float, height: float) -> Any:
    """The axes of a new figure."""
    return new_figure(width, height).add_subplot()


def check_picture(path: str | os.PathLike[str]) -> None:
    """Refuse a name whose ending is that of no picture, and a picture where nothing can draw one."""
    _check_ending(new_figure(1.0, 1.0), path)


def saved(drawn: Any, path: str | os.PathLike[str] | None) -> Any:
    """Axes or a figure, written without a margin where a path is given; the ending of the name says in which format."""
    if path is not None:
        _check_ending(drawn.figure, path)
        drawn.figure.savefig(path, dpi=200, bbox_inches="tight", facecolor="white")
    return drawn


def _check_ending(figure: Any, path: str | os.PathLike[str]) -> None:
    ending = os.path.splitext(os.fspath(path))[1].lstrip(".").lower()
    if ending and ending not in figure.canvas.get_supported_filetypes():
        hint = "Take .png, .svg or .pdf."
        raise InputError(f"there is no picture format {ending!r}", hint=hint, path=os.fspath(path))
