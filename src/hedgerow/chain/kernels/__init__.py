"""Recursions along chains: forward, backward, covariances, searches. Arrays in, arrays out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hedgerow.lazy import submodules

__getattr__: Callable[[str], Any] = submodules(__name__)
