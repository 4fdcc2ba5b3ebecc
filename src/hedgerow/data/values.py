"""What a value means: str is a category, a number a weight, a bool a flag, a list of str attributes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain
from typing import Any, NoReturn

import numpy as np

from hedgerow.data.rows import LISTS, NUMBERS, Field
from hedgerow.data.sequences import Kind
from hedgerow.errors import InputError
from hedgerow.legend import INDEX, BoolArray, FloatArray, IndexArray

Locate = Callable[[int], tuple[int, int]]

WORDS: dict[Kind, str] = {
    "categorical": "str",
    "numeric": "a number",
    "boolean": "a bool",
    "attributes": "a list of str",
}


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


def read_values(field: Field, where: IndexArray, declared: Kind | None, locate: Locate) -> Values:
    """Check a field's values and give them the form of their kind.

    `declared` is the kind the user gave or None; in a declared column (and in one that came with a dtype) NaN means
    missing, elsewhere it is an error. None is left out in both.
    """
    kind = declared or field.kind
    if isinstance(field.values, np.ndarray) and field.values.dtype.kind in "fiub":
        values, types = field.values, {bool if field.values.dtype.kind == "b" else float}
    else:
        values, types = field.values, set(map(type, field.values))
        if type(None) in types:
            kept = [i for i, value in enumerate(values) if value is not None]
            values, where = [values[i] for i in kept], where[kept]
            types.discard(type(None))
    if not types:
        return _none(kind or "categorical", where)
    if kind is None:
        kind = _tell(types) or _mixed(field.name, values, where, locate)
    elif not _fits(types, kind):
        if kind != "categorical" or not all(issubclass(t, (*NUMBERS, str)) for t in types):
            _wrong(field.name, kind, values, where, locate)
        values, where = _as_texts(values, where)
    if kind == "categorical":
        return Values(kind, where, texts=list(values) if isinstance(values, np.ndarray) else values)
    if kind == "attributes":
        return _lists(field.name, values, where, locate)
    numbers = np.asarray(values, dtype=np.float64)
    _check_numbers(field.name, numbers, where, locate, nan=declared is not None or field.kind is not None)
    return Values(kind, where, numbers=numbers)


def _none(kind: Kind, where: IndexArray) -> Values:
    nothing: FloatArray = np.empty(0)
    return Values(kind, where, texts=[], numbers=nothing, sizes=np.empty(0, dtype=INDEX))


def _tell(types: set[type]) -> Kind | None:
    if all(issubclass(t, str) for t in types):
        return "categorical"
    if all(issubclass(t, (bool, np.bool_)) for t in types):
        return "boolean"
    if all(issubclass(t, NUMBERS) for t in types):
        return "numeric"
    if all(issubclass(t, LISTS) for t in types):
        return "attributes"
    return None


def _fits(types: set[type], kind: Kind) -> bool:
    told = _tell(types)
    return told == kind or (kind == "numeric" and told == "boolean")


def _as_texts(values: Any, where: IndexArray) -> tuple[list[str], IndexArray]:
    """Numbers of a column declared categorical, as text; NaN is missing."""
    texts = [None if value != value else str(value) for value in values]
    kept = [i for i, text in enumerate(texts) if text is not None]
    return [text for text in texts if text is not None], where[kept]


def _mixed(name: str, values: Any, where: IndexArray, locate: Locate) -> NoReturn:
    first = _tell({type(values[0])})
    if first is None:
        sequence, position = locate(int(where[0]))
        raise InputError(
            f"{values[0]!r} is of type {type(values[0]).__name__}",
            hint="A feature is a str, a number, a bool, a list of str or a dict of these.",
            sequence=sequence,
            position=position,
            column=str(name),
        )
    _wrong(name, first, values, where, locate)


def _wrong(name: str, kind: Kind, values: Any, where: IndexArray, locate: Locate) -> NoReturn:
    """Raise for the first value that is not of the kind."""
    for value, flat in zip(values, where):
        if not _fits({type(value)}, kind):
            sequence, position = locate(int(flat))
            raise InputError(
                f"{value!r} is of type {type(value).__name__} in a column of {kind} values",
                hint=f"Mixed types: give {WORDS[kind]} at every position, or None where there is no value.",
                sequence=sequence,
                position=position,
                column=name,
            )
    raise AssertionError("a value was refused and none is wrong")


def changed_type(name: str, was: Kind, now: Kind, where: IndexArray, locate: Locate) -> NoReturn:
    """Raise for a column that held another kind before."""
    sequence, position = locate(int(where[0]))
    raise InputError(
        f"the value is {WORDS[now]} where the column held {WORDS[was]} before",
        hint="Mixed types: a column keeps one type; convert it, or use another name.",
        sequence=sequence,
        position=position,
        column=name,
    )


def _lists(name: str, values: Any, where: IndexArray, locate: Locate) -> Values:
    sizes = np.fromiter(map(len, values), dtype=INDEX, count=len(values))
    texts = list(chain.from_iterable(values))
    if not all(issubclass(t, str) for t in set(map(type, texts))):
        bad = next(i for i, text in enumerate(texts) if not isinstance(text, str))
        row = int(np.searchsorted(np.cumsum(sizes), bad, side="right"))
        sequence, position = locate(int(where[row]))
        raise InputError(
            f"{texts[bad]!r} in a list of attributes is of type {type(texts[bad]).__name__}, not str",
            sequence=sequence,
            position=position,
            column=name,
        )
    return Values("attributes", where, texts=texts, sizes=sizes)


def _check_numbers(name: str, numbers: FloatArray, where: IndexArray, locate: Locate, *, nan: bool) -> None:
    finite: BoolArray = np.isfinite(numbers)
    if finite.all():
        return
    bad = np.flatnonzero(~finite if not nan else np.isinf(numbers))
    if len(bad) == 0:
        return
    sequence, position = locate(int(where[bad[0]]))
    value = numbers[bad[0]]
    hint = "Values must be finite."
    if np.isnan(value):
        hint = f"Declare the column, columns={{{name!r}: 'numeric'}}, to let NaN mean missing."
    raise InputError(f"the value is {value}", hint=hint, sequence=sequence, position=position, column=name)
