"""Numba kernels: free functions on arrays. Imported lazily, because importing numba takes longer than all the rest.

Write `from hedgerow import kernels` and call `kernels.chain.forward(...)`: the file is imported at the first call.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hedgerow.kernels import arcs as arcs
    from hedgerow.kernels import boosting as boosting
    from hedgerow.kernels import chain as chain
    from hedgerow.kernels import growing as growing
    from hedgerow.kernels import leaf_masks as leaf_masks
    from hedgerow.kernels import log_chain as log_chain
    from hedgerow.kernels import position_chain as position_chain
    from hedgerow.kernels import search as search
    from hedgerow.kernels import sparse as sparse
    from hedgerow.kernels import vectors as vectors

_FILES = (
    "arcs",
    "boosting",
    "chain",
    "growing",
    "leaf_masks",
    "log_chain",
    "position_chain",
    "search",
    "sparse",
    "vectors",
)


def __getattr__(name: str) -> Any:
    if name in _FILES:
        return importlib.import_module(f"hedgerow.kernels.{name}")
    raise AttributeError(f"module 'hedgerow.kernels' has no attribute {name!r}")
