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


def new_axes(width: float, height: float) -> Any:
    """The axes of a new figure."""
    return new_figure(width, height).add_subplot()


def check_picture(path: str | os.PathLike[str]) -> None:
    """Refuse a name whose ending is that of no picture, and a picture where nothing can draw one."""
    _check_ending(new_figure(1.0, 1.0), path)


def save_figure(figure: Any, path: str | os.PathLike[str]) -> None:
    """Write a picture without a margin; the ending of the name says in which format."""
    _check_ending(figure, path)
    figure.savefig(path, dpi=200, bbox_inches="tight", facecolor="white")


def _check_ending(figure: Any, path: str | os.PathLike[str]) -> None:
    known = figure.canvas.get_supported_filetypes()
    ending = os.path.splitext(os.fspath(path))[1].lstrip(".").lower()
    if ending and ending not in known:
        raise InputError(
            f"there is no picture format {ending!r}", hint="Take .png, .svg or .pdf.", path=os.fspath(path)
        )
