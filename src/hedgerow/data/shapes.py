"""The shapes a sequence may come in: dicts, tokens, attribute lists, rows of numbers or values, data frames."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any, Literal

import numpy as np

from hedgerow.errors import InputError
from hedgerow.legend import AnyArray

NUMBERS = (int, float, np.integer, np.floating, np.bool_)
LISTS = (list, tuple, set, frozenset)

# "blank": every position is missing. It goes with tokens, dicts and attribute lists alike.
Shape = Literal[
    "blank", "tokens", "dicts", "attribute lists", "rows of numbers", "rows of values", "sparse rows", "data frames"
]


def recognise(item: Any, i: int) -> tuple[Shape, Any]:
    """The shape of sequence i, and its rows."""
    if isinstance(item, (str, bytes)):
        raise InputError(
            "is a str, not a sequence of positions", hint="Split it: list(text) or text.split().", sequence=i
        )
    if isinstance(item, Mapping):
        raise InputError(
            "is a dict", hint="A sequence is a list with one dict a position; wrap it in a list.", sequence=i
        )
    if isinstance(item, Set):
        raise InputError("is a set, and a sequence has an order", hint="Give a list of positions.", sequence=i)
    if hasattr(item, "tocsr"):
        return "sparse rows", _filled(item.tocsr(), i)
    if isinstance(item, np.ndarray) and item.ndim != 1:
        return _recognise_matrix(item, i)
    if hasattr(item, "columns") and hasattr(item, "shape"):
        return "data frames", _filled(item, i)
    if isinstance(item, np.ndarray):
        item = item.tolist()
    try:
        rows = item if isinstance(item, (list, tuple)) else list(item)
    except TypeError:
        raise InputError(f"is {described(item)}, not a sequence of positions", sequence=i) from None
    return _recognise_list(_filled(rows, i), i)


def n_rows(rows: Any) -> int:
    """The number of positions of a sequence in any shape."""
    return int(rows.shape[0]) if hasattr(rows, "shape") else len(rows)


def is_iterable(value: Any) -> bool:
    """Whether a loop over the value works; NumPy's arrays without dimensions only look like it."""
    return isinstance(value, Iterable) and not (isinstance(value, np.ndarray) and value.ndim == 0)


def is_null(value: Any) -> bool:
    """Whether a value means "missing": None, NaN, or pandas' NA and NaT."""
    if isinstance(value, (float, np.floating)):
        return bool(value != value)
    return is_nothing(type(value))


def is_nothing(kind: type) -> bool:
    """Whether all values of a type mean "missing": that of None, and of pandas' NA and NaT, by their names."""
    return kind is type(None) or kind.__name__ in ("NAType", "NaTType")


def described(value: Any) -> str:
    """The type of a value in words."""
    return "None" if value is None else f"of type {type(value).__name__}"


def _filled(rows: Any, i: int) -> Any:
    if n_rows(rows) == 0:
        raise InputError("is empty", hint="Leave out sequences without positions.", sequence=i)
    return rows


def _recognise_matrix(item: AnyArray, i: int) -> tuple[Shape, Any]:
    if item.ndim != 2:
        raise InputError(f"is an array of {item.ndim} dimensions, not 2", sequence=i)
    return "rows of numbers" if item.dtype.kind in "fiub" else "rows of values", _filled(item, i)


def _recognise_list(rows: Sequence[Any], i: int) -> tuple[Shape, Any]:
    first = next((t for t, row in enumerate(rows) if not is_null(row)), None)
    if first is None:
        return "blank", rows
    sample = rows[first]
    if isinstance(sample, str):
        return "tokens", rows
    if isinstance(sample, Mapping):
        return "dicts", rows
    if isinstance(sample, np.ndarray):
        return recognise(_stacked(rows, i), i)
    if isinstance(sample, LISTS):
        inner = next((value for row in rows if isinstance(row, LISTS) for value in row), "")
        return ("rows of numbers", _matrix(rows, i)) if isinstance(inner, NUMBERS) else ("attribute lists", rows)
    if isinstance(sample, NUMBERS):
        hint = "Give numeric features as a 2-D array (one row a position), symbols as str."
        raise InputError("is a list of numbers", hint=hint, sequence=i, position=first)
    raise InputError(
        f"a position is {described(sample)}",
        hint="A position is a dict of features, a token, a list of attributes or a row of numbers.",
        sequence=i,
        position=first,
    )


def _stacked(rows: Sequence[Any], i: int) -> AnyArray:
    """Rows that are arrays, as one array."""
    sample = next(row for row in rows if row is not None)
    numbers = sample.dtype.kind in "fiub"
    for t, row in enumerate(rows):
        same = isinstance(row, np.ndarray) and row.shape == sample.shape and (row.dtype.kind in "fiub") == numbers
        if not same:
            what = f"is not an array of shape {sample.shape} and type {sample.dtype} as other positions are"
            raise InputError(what, hint="Mixed types.", sequence=i, position=t)
    return np.stack(rows)


def _matrix(rows: Sequence[Any], i: int) -> AnyArray:
    """Lists of numbers as one array; of bool where all are bool."""
    width = next(len(row) for row in rows if row is not None)
    for t, row in enumerate(rows):
        if not isinstance(row, (list, tuple)) or len(row) != width:
            raise InputError(f"is not a list of {width} numbers as other positions are", sequence=i, position=t)
        for j, value in enumerate(row):
            if not isinstance(value, NUMBERS):
                hint = "Mixed types: a row of numbers has a number in every column, NaN where it is missing."
                what = f"{value!r} is {described(value)} among numbers"
                raise InputError(what, hint=hint, sequence=i, position=t, column=str(j))
    flags = all(isinstance(value, (bool, np.bool_)) for row in rows for value in row)
    try:
        return np.array(rows, dtype=np.bool_ if flags else np.float64)
    except OverflowError:
        raise InputError("an integer is too large for a number", sequence=i) from None
