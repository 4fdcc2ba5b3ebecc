"""Labels as every reader returns them: a list a sequence, of plain str or int, None where unlabelled."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from hedgerow.data.readers.columns import BadValue, is_null
from hedgerow.legend import AnyArray, IndexArray

_HINT = "Labels are strings or integers, and None where unlabelled."


def plain_label(value: Any, row: int) -> str | int | None:
    """The label as plain str, int or None.

    An integral float counts as its integer, because data frames turn integers with a gap into floats.
    """
    if type(value) is str or type(value) is int:
        return value
    if is_null(value):
        return None
    if isinstance(value, str):
        return str(value)
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        return int(value)
    if isinstance(value, (float, np.floating)) and float(value).is_integer():
        return int(value)
    raise BadValue(row, f"{value!r} cannot be a label", _HINT)


def plain_labels(values: Iterable[Any]) -> list[Any]:
    """The labels of N positions as plain Python values. Raises BadValue with the row."""
    return [plain_label(value, row) for row, value in enumerate(values)]


def nested(labels: Sequence[Any], offsets: IndexArray) -> AnyArray:
    """The labels of N positions as a one-dimensional object array of S lists."""
    result = np.empty(len(offsets) - 1, dtype=object)
    bounds = offsets.tolist()
    for i in range(len(result)):
        # Slot by slot: an object array made of lists turns two-dimensional when their lengths agree.
        result[i] = list(labels[bounds[i] : bounds[i + 1]])
    return result
