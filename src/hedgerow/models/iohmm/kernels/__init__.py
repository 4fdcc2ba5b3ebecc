"""Posteriors of an input-output hidden Markov model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hedgerow.lazy import submodules

__getattr__: Callable[[str], Any] = submodules(__name__)
