"""hedgerow labels sequences: conditional random fields that are fast, clear on errors and safe to load."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from hedgerow.data.sequences import Sequences as Sequences

# Lazy exports: `import hedgerow` costs nothing until a name is used.
_EXPORTS = {
    "Sequences": "hedgerow.data.sequences",
}

__all__ = ["Sequences"]


def __getattr__(name: str) -> Any:
    if name in _EXPORTS:
        return getattr(importlib.import_module(_EXPORTS[name]), name)
    raise AttributeError(f"module 'hedgerow' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
