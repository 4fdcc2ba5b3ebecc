"""Sums of vectors in a fixed order, so that a result does not depend on threads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hedgerow.lazy import submodules

__getattr__: Callable[[str], Any] = submodules(__name__)
