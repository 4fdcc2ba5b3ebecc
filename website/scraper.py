"""How pictures come from a script into the gallery."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure
from sphinx_gallery.scrapers import figure_rst

_taken: list[Figure] = []


def figures(block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Save each figure that a block leaves in a variable: examples draw without pyplot, as `hedgerow.report` does."""
    paths = []
    for value in block_vars["example_globals"].values():
        if isinstance(value, Figure) and not any(value is taken for taken in _taken):
            _taken.append(value)
            paths.append(next(block_vars["image_path_iterator"]))
            value.savefig(paths[-1], dpi=150, facecolor="white", bbox_inches="tight")
    return figure_rst(paths, gallery_conf["src_dir"])
