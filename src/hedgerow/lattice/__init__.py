"""Conditional random fields on images and other graphs whose edges join two nodes each."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hedgerow.estimators.files import load as load
    from hedgerow.lattice.graphs import Graph as Graph
    from hedgerow.lattice.graphs import graph as graph
    from hedgerow.lattice.graphs import grid as grid
    from hedgerow.lattice.images import read_folders as read_folders
    from hedgerow.lattice.images import read_image as read_image
    from hedgerow.lattice.images import read_mask as read_mask
    from hedgerow.lattice.images import write_mask as write_mask
    from hedgerow.lattice.model import LatticeCRF as LatticeCRF
    from hedgerow.lattice.tree_model import TreeLatticeCRF as TreeLatticeCRF

_EXPORTS = {
    "Graph": "hedgerow.lattice.graphs",
    "LatticeCRF": "hedgerow.lattice.model",
    "TreeLatticeCRF": "hedgerow.lattice.tree_model",
    "graph": "hedgerow.lattice.graphs",
    "grid": "hedgerow.lattice.graphs",
    "load": "hedgerow.estimators.files",
    "read_folders": "hedgerow.lattice.images",
    "read_image": "hedgerow.lattice.images",
    "read_mask": "hedgerow.lattice.images",
    "write_mask": "hedgerow.lattice.images",
}

__all__ = list(_EXPORTS)


def __getattr__(name: str) -> Any:
    if name in _EXPORTS:
        return getattr(importlib.import_module(_EXPORTS[name]), name)
    raise AttributeError(f"module 'hedgerow.lattice' has no attribute {name!r}")
