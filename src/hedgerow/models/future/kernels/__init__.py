"""Noisy-or over bags of positions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hedgerow.lazy import submodules

__getattr__: Callable[[str], Any] = submodules(__name__)
