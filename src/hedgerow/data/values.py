"""What a value means: str is a category, a number a weight, a bool a flag, a list of str attributes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, NoReturn

import numpy as np

from hedgerow.data.rows import Field, ordered
from hedgerow.data.sequences import Kind
from hedgerow.data.shapes import LISTS, NUMBERS, is_nothing
from hedgerow.errors import InputError
from hedgerow.legend import INDEX, AnyArray, FloatArray, IndexArray

# From a flat position to the sequence and the position in it; for a feature of the whole, from i to (i, None).
Locate = Callable[[int], tuple[int, int | None]]

WORDS: dict[Kind, str] = {
    "categorical": "a str",
    "numeric": "a number",
    "boolean": "a bool",
    "attributes": "a list of str",
}


class MixedTypesError(InputError):
    """A column that holds values of another type elsewhere."""


@dataclass
class Values:
    """The values of a field that are there, in one form a kind; `where` gives their flat positions.

    categorical: `texts`. numeric and boolean: `numbers` (NaN is missing). attributes: `texts` and `sizes`.
    """

    kind: Kind
    where: IndexArray
    texts: list[str] | None = None
    numbers: FloatArray | None = None
    sizes: IndexArray | None = None


def read_values(
    field: Field,
    where: IndexArray,
    locate: Locate,
    *,
    declared: Kind | None = None,
    known: Kind | None = None,
    nan_is_missing: bool = False,
) -> Values | None:
    """Check a field's values and give them the form of their kind; None where there is no value.

    `declared` is the kind that the user gave the column; without it the field's own counts, or that of the values,
    and `known` is the kind of the values before. NaN is missing where a kind is declared or came with the field, or
    where `nan_is_missing`; elsewhere it is an error. None and pandas' NA are left out.
    """
    kind = declared or field.kind
    nan_is_missing = nan_is_missing or kind is not None
    values: Any = field.values
    types: set[type]
    if isinstance(values, np.ndarray) and values.dtype.kind in "fiub":
        types = {bool if values.dtype.kind == "b" else float}
    else:
        types = set(map(type, values))
        if any(map(is_nothing, types)):
            values, where = _without(values, where, lambda value: is_nothing(type(value)))
            types = {kind for kind in types if not is_nothing(kind)}
        if nan_is_missing and kind != "numeric" and any(issubclass(t, (float, np.floating)) for t in types):
            values, where = _without(values, where, _is_nan)
            types = set(map(type, values))
    if not types:
        return None
    if declared is None and known is not None and not fits(types, known):
        _refuse(field.name, values, where, locate, known)
    if kind is None:
        kind = kind_of(types) or _refuse(field.name, values, where, locate)
    elif not fits(types, kind):
        if kind != "categorical" or not all(issubclass(t, (*NUMBERS, str)) for t in types):
            _refuse(field.name, values, where, locate, kind)
        values, where = _as_texts(values, where)
    if kind == "categorical":
        return Values(kind, where, texts=list(values) if isinstance(values, np.ndarray) else values)
    if kind == "attributes":
        return _lists(field.name, values, where, locate)
    numbers = to_numbers(values)
    check_numbers(field.name, numbers, where, locate, nan_is_missing=nan_is_missing)
    return Values(kind, where, numbers=numbers)


def to_numbers(values: Sequence[Any] | AnyArray) -> FloatArray:
    """Numbers as float64; an integer past the range of floats becomes infinite."""
    try:
        return np.asarray(values, dtype=np.float64)
    except OverflowError:
        return np.array([value if abs(value) < 1e308 else np.inf for value in values], dtype=np.float64)


def check_numbers(name: str, numbers: FloatArray, where: IndexArray, locate: Locate, *, nan_is_missing: bool) -> None:
    """Refuse infinite values, and NaN unless it means missing."""
    if np.isfinite(numbers).all():
        return
    bad = np.flatnonzero(np.isinf(numbers) if nan_is_missing else ~np.isfinite(numbers))
    if len(bad) == 0:
        return
    value = numbers[bad[0]]
    hint = "Values must be finite."
    if np.isnan(value):
        hint = "Fill it; in a column that is declared 'numeric', NaN means that a value is missing."
    _fail(f"the value is {value}", hint, name, int(where[bad[0]]), locate)


def changed_type(name: str, was: Kind, now: Kind, where: IndexArray, locate: Locate) -> NoReturn:
    """Raise for a column that held another kind before."""
    what = f"the value is {WORDS[now]} where the column held {WORDS[was]} before"
    hint = "Mixed types: a column keeps one type; convert it, or use another name."
    _fail(what, hint, name, int(where[0]), locate, MixedTypesError)


def _is_nan(value: Any) -> bool:
    return isinstance(value, (float, np.floating)) and value != value


def _without(values: Any, where: IndexArray, drop: Callable[[Any], bool]) -> tuple[list[Any], IndexArray]:
    kept = [i for i, value in enumerate(values) if not drop(value)]
    return [values[i] for i in kept], where[kept]


def kind_of(types: set[type]) -> Kind | None:
    """The kind of values of these types; None where they have none, or not the same."""
    if all(issubclass(t, str) for t in types):
        return "categorical"
    if all(issubclass(t, (bool, np.bool_)) for t in types):
        return "boolean"
    if all(issubclass(t, NUMBERS) for t in types):
        return "numeric"
    if all(issubclass(t, LISTS) for t in types):
        return "attributes"
    return None


def fits(types: set[type], kind: Kind) -> bool:
    """Whether a column of the kind takes values of these types."""
    told = kind_of(types)
    return told == kind or (kind == "numeric" and told == "boolean")


def _as_texts(values: Any, where: IndexArray) -> tuple[list[str], IndexArray]:
    """Numbers of a column declared categorical, as text. NaN is missing.

    7.0 reads as "7": data frames turn integers with a gap into floats, and the text must not depend on that.
    """
    values, where = _without(values, where, _is_nan)
    whole = (float, np.floating)
    return [str(int(v) if isinstance(v, whole) and float(v).is_integer() else v) for v in values], where


def _refuse(name: str, values: Any, where: IndexArray, locate: Locate, kind: Kind | None = None) -> NoReturn:
    """Raise for the first value that is not of the kind, or not of the kind of the first value."""
    kind = kind or kind_of({type(values[0])})
    for value, flat in zip(values, where.tolist()):
        if kind is None or kind_of({type(value)}) is None:
            what = f"{value!r} is of type {type(value).__name__}"
            _fail(what, "A feature is a str, a number, a bool, a list of str or a dict of these.", name, flat, locate)
        if not fits({type(value)}, kind):
            what = f"{value!r} is of type {type(value).__name__} in a column of {kind} values"
            hint = f"Mixed types: give {WORDS[kind]} at every position, or None where there is no value."
            _fail(what, hint, name, flat, locate, MixedTypesError)
    raise AssertionError("a value was refused and none is wrong")


def _fail(what: str, hint: str, name: str, flat: int, locate: Locate, error: type[InputError] = InputError) -> NoReturn:
    sequence, position = locate(flat)
    raise error(what, hint=hint, sequence=sequence, position=position, column=name)


def _lists(name: str, values: Any, where: IndexArray, locate: Locate) -> Values:
    sizes = np.fromiter(map(len, values), dtype=INDEX, count=len(values))
    texts = list(chain.from_iterable(map(ordered, values)))
    if not all(issubclass(t, str) for t in set(map(type, texts))):
        bad = next(i for i, text in enumerate(texts) if not isinstance(text, str))
        row = int(np.searchsorted(np.cumsum(sizes), bad, side="right"))
        what = f"{texts[bad]!r} in a list of attributes is of type {type(texts[bad]).__name__}, not str"
        _fail(what, "Attributes are names.", name, int(where[row]), locate)
    return Values("attributes", where, texts=texts, sizes=sizes)
