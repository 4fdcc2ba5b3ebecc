"""Conditional random fields on images and other graphs whose edges join two nodes each."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hedgerow.lattice.files import load as load
    from hedgerow.lattice.graphs import Graph as Graph
    from hedgerow.lattice.graphs import graph as graph
    from hedgerow.lattice.graphs import grid as grid
    from hedgerow.lattice.model import LatticeCRF as LatticeCRF
    from hedgerow.lattice.tree_model import TreeLatticeCRF as TreeLatticeCRF

_EXPORTS = {
    "Graph": "hedgerow.lattice.graphs",
    "LatticeCRF": "hedgerow.lattice.model",
    "TreeLatticeCRF": "hedgerow.lattice.tree_model",
    "graph": "hedgerow.lattice.graphs",
    "grid": "hedgerow.lattice.graphs",
    "load": "hedgerow.lattice.files",
}

__all__ = ["Graph", "LatticeCRF", "TreeLatticeCRF", "graph", "grid", "load"]


def __getattr__(name: str) -> Any:
    if name in _EXPORTS:
        return getattr(importlib.import_module(_EXPORTS[name]), name)
    raise AttributeError(f"module 'hedgerow.lattice' has no attribute {name!r}")
