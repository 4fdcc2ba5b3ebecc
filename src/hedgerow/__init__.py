"""hedgerow labels sequences: conditional random fields that are fast, clear on errors and safe to load."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from hedgerow.data.readers.tables import sequences as sequences
    from hedgerow.data.rows import Item as Item
    from hedgerow.data.sequences import Sequences as Sequences
    from hedgerow.models.files import load as load
    from hedgerow.models.linear_crf import LinearCRF as LinearCRF

# Lazy exports: `import hedgerow` costs nothing until a name is used.
_EXPORTS = {
    "Item": "hedgerow.data.rows",
    "LinearCRF": "hedgerow.models.linear_crf",
    "Sequences": "hedgerow.data.sequences",
    "load": "hedgerow.models.files",
    "sequences": "hedgerow.data.readers.tables",
}

__all__ = ["Item", "LinearCRF", "Sequences", "load", "sequences"]


def __getattr__(name: str) -> Any:
    if name in _EXPORTS:
        return getattr(importlib.import_module(_EXPORTS[name]), name)
    raise AttributeError(f"module 'hedgerow' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
