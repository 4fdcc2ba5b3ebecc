"""What a value means (str is a category, a number a weight, a bool a flag, a list of str attributes), and columns that
gather such values while a corpus is read."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, count
from typing import Any, NoReturn

import numpy as np

from hedgerow.data.dataset import Window
from hedgerow.data.rows import LISTS, NUMBERS, Field, MixedTypesError, is_nothing, ordered, plain_text
from hedgerow.data.sequences import Kind, number_type
from hedgerow.errors import InputError
from hedgerow.legend import CODE, FIRST_VALUE, INDEX, MISSING, AnyArray, CodeArray, FloatArray, IndexArray

# From a flat position to the sequence and the position in it; for a feature of the whole, from i to (i, None).
Locate = Callable[[int], tuple[int, int | None]]

GATHERED, ROWS = 16, 4096  # columns of an array, and rows of it, that are copied at a time
WORDS: dict[Kind, str] = {
    "categorical": "a str",
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

    @property
    def rows(self) -> IndexArray:
        """The flat position of each text: that of a list for all that are in it."""
        return self.where if self.sizes is None else np.repeat(self.where, self.sizes)


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
    """Numbers as float64, and float32 as it is; an integer past the range of floats becomes infinite."""
    try:
        return np.asarray(values, dtype=number_type(values))
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
    of_types = kind_of(types)
    return of_types == kind or (kind == "numeric" and of_types == "boolean")


def _as_texts(values: Any, where: IndexArray) -> tuple[list[str], IndexArray]:
    """Numbers of a column declared categorical, as text. NaN is missing."""
    values, where = _without(values, where, _is_nan)
    return list(map(plain_text, values)), where


def _refuse(name: str, values: Any, where: IndexArray, locate: Locate, kind: Kind | None = None) -> NoReturn:
    """Raise for the first value that is not of the kind, or not of the kind of the first value."""
    kind = kind or kind_of({type(values[0])})
    for value, flat in zip(values, where.tolist()):
        if kind is None or kind_of({type(value)}) is None:
            what = f"{value!r} is of type {type(value).__name__}"
            if isinstance(value, np.ndarray):
                what = f"it is an array of the shape {value.shape} and of {value.dtype}"
            hint = "A feature is a str, a number, a bool, a vector of numbers, a list of str or a dict of these."
            _fail(what, hint, name, flat, locate, MixedTypesError)
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
        _fail(what, "Attributes are names.", name, int(where[row]), locate, MixedTypesError)
    return Values("attributes", where, texts=texts, sizes=sizes)


# ------------------------------------------------------------------------------------------------ columns

MOST_REACH = 100_000  # positions that a window reaches
FAR = 100  # that it may reach beyond every sequence


def window_offsets(window: Window, name: str) -> tuple[int, ...]:
    """The offsets of a column's window: `window` is a half-width, a pair (before, after), or a mapping to these.

    In a mapping the entry "*" serves the attributes and the columns that are not named; without it they have no window.
    """
    given = window.get(name, window.get("*", 0)) if isinstance(window, Mapping) else window
    pair = given if isinstance(given, (tuple, list)) else (given, given)
    good = len(pair) == 2 and all(isinstance(w, (int, np.integer)) and not isinstance(w, bool) for w in pair)
    if not good or min(pair) < 0:
        hint = "Give a half-width such as 2, a pair (before, after), a mapping of column to one of them, or 'auto'."
        raise InputError(f"⟦window⟧ is {given!r}", hint=hint, column=name if isinstance(window, Mapping) else None)
    if max(pair) > MOST_REACH:
        raise InputError(f"⟦window⟧ is {given!r}", hint=f"It reaches {MOST_REACH:,} positions at most.")
    return tuple(range(-int(pair[0]), int(pair[1]) + 1))


def check_reach(gap: int, longest: int) -> None:
    """Refuse a window that looks far beyond the longest sequence: all it sees there is outside."""
    if gap > max(longest, FAR):
        what = f"⟦window⟧ reaches {gap:,} positions, and the longest sequence has {longest:,}"
        raise InputError(what, hint="Give a narrower one.")


def growing_vocabulary() -> defaultdict[str, int]:
    """A dict that gives the next number to each string it has not seen. It does not count its own length: with a
    reference to itself it would stay in memory until Python next looks for garbage."""
    return defaultdict(count().__next__)


def growing_codes(vocabulary: defaultdict[str, int], texts: list[str]) -> CodeArray:
    return np.fromiter(map(vocabulary.__getitem__, texts), dtype=CODE, count=len(texts))


class ColumnBuilder:
    """The values of one key so far: positions, and codes or numbers, in parts.

    A kind that is declared holds from the start, but "attributes": such a key may hold a str, a number or a list, and
    always ends among the attributes. `typed` says that the key was declared or came with a dtype: it stays a column
    however rare it is, and an absent number is missing and not 0.
    """

    def __init__(self, name: str, declared: Kind | None = None) -> None:
        self.name = name
        self.declared = declared
        self.kind: Kind | None = None if declared == "attributes" else declared
        self.typed = declared is not None
        self.n_values = 0
        self.vocabulary: defaultdict[str, int] = growing_vocabulary()
        self.parts: list[tuple[IndexArray, Any]] = []

    def read(self, field: Field, where: IndexArray, locate: Locate) -> None:
        """Add the values of a field."""
        self.typed |= field.kind is not None
        values = read_values(
            field,
            where,
            locate,
            declared=None if self.declared == "attributes" else self.declared,
            known=None if self.kind == "boolean" else self.kind,  # a flag may turn into a number
            nan_is_missing=self.declared is not None,
        )
        if values is not None:
            self.add(values, locate)

    def add(self, values: Values, locate: Locate) -> None:
        if self.kind is None or (self.kind == "boolean" and values.kind == "numeric"):
            self.kind = values.kind
        elif self.kind != values.kind and not (self.kind == "numeric" and values.kind == "boolean"):
            what = f"the value is {WORDS[values.kind]} where the column held {WORDS[self.kind]} before"
            hint = "Mixed types: a column keeps one type; convert it, or use another name."
            _fail(what, hint, self.name, int(values.where[0]), locate, MixedTypesError)
        self.n_values += len(values.where)
        if values.texts is None:
            self.parts.append((values.where, values.numbers))
        else:
            self.parts.append((values.rows, growing_codes(self.vocabulary, values.texts)))


def flag_codes(numbers: FloatArray) -> CodeArray:
    """Codes of flags: MISSING for NaN, then false, then true."""
    return np.where(np.isnan(numbers), MISSING, (numbers != 0) + FIRST_VALUE).astype(CODE)


def gathered(columns: list[ColumnBuilder]) -> Iterator[ColumnBuilder]:
    """The columns in turn. Those of an array of rows are copied a few at a time, so that a row is fetched once for them
    and not for each."""
    for first in range(0, len(columns), GATHERED):
        group = columns[first : first + GATHERED]
        parts = [column.parts[0] for column in group if len(column.parts) == 1]
        if len(parts) == len(group) and all(values.strides[0] > values.itemsize for _, values in parts):
            copies = [np.empty_like(values) for _, values in parts]
            for row in range(0, max(map(len, copies)), ROWS):
                for copy, (_, values) in zip(copies, parts):
                    copy[row : row + ROWS] = values[row : row + ROWS]
            for column, (where, _), copy in zip(group, parts, copies):
                column.parts[0] = where, copy
            del copies, copy, parts, values  # before there are others
        yield from group


class AttributeBuilder:
    """Sparse attributes so far: (position, attribute, weight) triples from any number of sources."""

    def __init__(self) -> None:
        self.vocabulary = growing_vocabulary()
        self.parts: list[tuple[IndexArray, CodeArray, FloatArray | None]] = []

    def add(self, where: IndexArray, names: list[str], weights: FloatArray | None) -> None:
        """One name per entry."""
        self.parts.append((where, growing_codes(self.vocabulary, names), weights))

    def add_coded(self, where: IndexArray, codes: CodeArray, names: list[str], weights: FloatArray | None) -> None:
        """Codes into a list of names: one string is made for each name, not for each entry."""
        self.parts.append((where, growing_codes(self.vocabulary, names)[codes], weights))


def attribute_name(key: str, text: str) -> str:
    """The name of the value of a category, or of an item of a list."""
    return f"{key}:{text}"
