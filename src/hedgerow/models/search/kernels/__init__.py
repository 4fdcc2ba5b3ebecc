"""Beam search that learns, and tables of its features."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hedgerow.lazy import submodules

__getattr__: Callable[[str], Any] = submodules(__name__)
