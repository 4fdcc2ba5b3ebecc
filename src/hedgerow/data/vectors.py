"""Features that are vectors: an array at each position becomes a numeric column for each of its numbers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NoReturn

import numpy as np

from hedgerow.data.sequences import number_type
from hedgerow.legend import AnyArray

_ENTRY = re.compile(r"(.+)\[(\d+)\]", re.DOTALL)
_NUMBERS = (int, float, np.integer, np.floating)


def vector_widths(names: Iterable[str]) -> dict[str, int]:
    """The vectors among columns of these names, and their lengths."""
    widths: dict[str, int] = {}
    for found in filter(None, map(_ENTRY.fullmatch, names)):
        widths[found[1]] = max(widths.get(found[1], 0), int(found[2]) + 1)
    return widths


def is_vector(value: Any) -> bool:
    """Whether a value is a vector: an array of one dimension, or a list that begins with a number."""
    if isinstance(value, np.ndarray):
        return value.ndim == 1 and value.dtype.kind in "fiub"
    return isinstance(value, (list, tuple)) and len(value) > 0 and isinstance(value[0], _NUMBERS)


def stack(values: Sequence[Any], width: int, refuse: Callable[[int, str, str], NoReturn]) -> AnyArray:
    """Vectors of one width as an array (n, width), of float32 where all of them are. `refuse` raises for the value of a
    row: what is wrong, and a hint."""
    for row, value in enumerate(values):
        if not is_vector(value):
            shape = f"an array of the shape {value.shape}" if isinstance(value, np.ndarray) else f"{value!r}"
            refuse(row, f"{shape} is no vector of {width} numbers", "Give one at every position, or None.")
        if len(value) != width:
            hint = "All vectors of a feature have the same length."
            refuse(row, f"the vector has {len(value)} numbers where others have {width}", hint)
    arrays = all(isinstance(value, np.ndarray) for value in values)
    matrix = np.concatenate(values).reshape(len(values), width) if arrays else np.array(values)
    if matrix.dtype.kind not in "fiub":
        row = next((i for i, value in enumerate(values) if not all(isinstance(x, _NUMBERS) for x in value)), 0)
        refuse(row, f"the vector {values[row]!r} holds more than numbers", "Give numbers, NaN where one is missing.")
    matrix = matrix.astype(number_type(matrix), copy=False)
    infinite = np.flatnonzero(np.isinf(matrix).any(axis=1))
    if len(infinite):
        refuse(int(infinite[0]), "the vector has an infinite number", "Use NaN for a missing one, or clip it.")
    return matrix
