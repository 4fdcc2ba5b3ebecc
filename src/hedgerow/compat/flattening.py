"""The names of sklearn_crfsuite.utils."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import Any

__all__ = ["flatten"]


def flatten(y: Iterable[Iterable[Any]]) -> list[Any]:
    """The members of some lists, one after the other: [[1, 2], [3]] gives [1, 2, 3]."""
    return list(chain.from_iterable(y))
