"""Sequences: columns of values cut into sequences. What every columnar reader returns and the encoder takes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from typing import Any, Generic, Literal, NoReturn, Self, TypeVar, overload

import numpy as np

from hedgerow.errors import InputError
from hedgerow.legend import INDEX, AnyArray, IndexArray

Kind = Literal["categorical", "numeric", "boolean", "attributes"]
KINDS: tuple[Kind, ...] = ("categorical", "numeric", "boolean", "attributes")


def number_type(values: Any) -> type[np.floating[Any]]:
    """The type that numbers are kept in: float32 stays what it is, for half the memory, and all else is float64."""
    return np.float32 if getattr(values, "dtype", None) == np.float32 else np.float64


def entry_names(name: str, width: int) -> list[str]:
    """The names of the columns of a vector: vector[0], vector[1], …"""
    return [f"{name}[{j}]" for j in range(width)]


def apart(columns: Mapping[str, AnyArray]) -> dict[str, tuple[str, AnyArray]]:
    """Columns with those of vectors, arrays (N, d), taken apart; each with the name that it came by."""
    taken: dict[str, tuple[str, AnyArray]] = {}
    for name, values in columns.items():
        if getattr(values, "ndim", 1) == 2:
            taken.update((entry, (name, values[:, j])) for j, entry in enumerate(entry_names(name, values.shape[1])))
        else:
            taken[name] = name, values
    return taken


def unmasked(array: AnyArray) -> AnyArray:
    """An array whose masked values are missing: NaN among numbers, None among others."""
    if not isinstance(array, np.ma.MaskedArray):
        return array
    if not np.ma.is_masked(array):
        return np.asarray(array.data)
    numbers = array.dtype.kind in "fiub"
    kept = array.dtype if array.dtype.kind == "f" else np.dtype(np.float64 if numbers else object)
    result = np.asarray(array.data).astype(kept)
    result[np.ma.getmaskarray(array)] = np.nan if numbers else None
    return result


def described(value: Any) -> str:
    """The type of a value in words."""
    return "None" if value is None else f"of type {type(value).__name__}"


class Item:
    """One sequence with features of the whole sequence: `Item(positions, {"language": "de"})`.

    `positions` is any sequence that hedgerow takes; the features are one value each and cost no copies.
    """

    def __init__(self, positions: Any, features: Mapping[str, Any]) -> None:
        if not isinstance(features, Mapping):
            raise InputError(f"the features of an Item are {described(features)}", hint="Give a dict.")
        self.positions = positions
        self.features = dict(features)

    def __len__(self) -> int:
        return len(self.positions)

    def __getitem__(self, key: slice) -> Item:
        return Item(self.positions[key], self.features)

    __iter__ = None  # it is one sequence, and no list of positions

    def __repr__(self) -> str:
        return f"Item({self.positions!r}, {self.features!r})"


One = TypeVar("One")


class Cut(Generic[One]):
    """Rows that are cut into sequences, as an array of them. Slicing keeps sequences whole and shares the rows:
    `_index` has the sequences that count, by their numbers in `_offsets`. A subclass says what one of them is."""

    def __init__(self, offsets: AnyArray, index: IndexArray | None = None) -> None:
        self._offsets = np.ascontiguousarray(offsets, dtype=INDEX)
        self._index = np.arange(len(self._offsets) - 1, dtype=INDEX) if index is None else index

    def _one(self, i: int) -> One:
        raise NotImplementedError

    @property
    def shape(self) -> tuple[int]:
        return (len(self._index),)

    @property
    def lengths(self) -> IndexArray:
        """The number of positions of each sequence."""
        return self._offsets[self._index + 1] - self._offsets[self._index]

    def __len__(self) -> int:
        return len(self._index)

    @overload
    def __getitem__(self, key: int) -> One: ...

    @overload
    def __getitem__(self, key: slice | AnyArray | list[int] | tuple[Any, Any]) -> Self: ...

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, tuple) and len(key) == 2 and key[1] is Ellipsis:
            key = key[0]
        if isinstance(key, (int, np.integer)):
            return self._one(int(self._index[key]))
        part = copy(self)
        part._index = self._index[np.empty(0, dtype=INDEX) if isinstance(key, list) and not key else key]
        return part

    def __iter__(self) -> Iterator[One]:
        return (self._one(int(i)) for i in self._index)


class Sequences(Cut[list[dict[str, Any]] | Item]):
    """A corpus as columns. Slicing keeps sequences whole and shares the columns.

    Parameters
    ----------
    columns : mapping of name to array of N values
        One flat array per column. Categorical columns hold str or None (object dtype), numeric columns float64 or
        float32 with NaN for missing, boolean columns bool (or object with None), attribute columns lists of str. An
        array (N, d) is a vector at each position, and becomes d numeric columns: vector[0], vector[1], …
    offsets : array of S+1 integers
        Sequence i owns the rows offsets[i] … offsets[i+1]-1.
    kinds : mapping of name to kind
        "categorical", "numeric", "boolean" or "attributes" for every column and constant.
    constants : mapping of name to array of S values, optional
        Features of the whole sequence, one value each.

    It behaves as a one-dimensional array of S items, so that scikit-learn's cross-validation splits it:
    `X[3]` is a list of dicts, or an Item where there are constants; `X[[0, 2]]`, `X[mask]` and `X[:10]` are Sequences
    again. `list(X)` is the same corpus, row by row.
    """

    def __init__(
        self,
        columns: Mapping[str, AnyArray],
        offsets: AnyArray,
        kinds: Mapping[str, Kind],
        constants: Mapping[str, AnyArray] | None = None,
        *,
        _index: IndexArray | None = None,
    ) -> None:
        super().__init__(offsets, _index)
        given = apart(columns), apart(constants or {})
        self._columns, self._constants = ({name: values for name, (_, values) in one.items()} for one in given)
        self.kinds: dict[str, Kind] = dict(kinds)
        self.kinds.update((name, kinds[of]) for one in given for name, (of, _) in one.items() if of in kinds)
        if len(self._offsets) == 0 or self._offsets[0] != 0 or np.any(self._offsets[1:] < self._offsets[:-1]):
            raise InputError("offsets must start at 0 and never fall")
        for name, values in self._columns.items():
            if len(values) != self._offsets[-1]:
                what = f"has {len(values)} values where offsets give {self._offsets[-1]} positions"
                raise InputError(what, column=name)
        for name, values in self._constants.items():
            if len(values) != len(self._offsets) - 1:
                raise InputError(f"has {len(values)} values for {len(self._offsets) - 1} sequences", column=name)
        for name in (*self._columns, *self._constants):
            if self.kinds.get(name) not in KINDS:
                raise InputError(f"needs a kind, one of {', '.join(KINDS)}", column=name)

    def __repr__(self) -> str:
        names = ", ".join([*self._columns, *self._constants])
        return f"Sequences({len(self)} sequences, {int(self.lengths.sum())} positions: {names})"

    def _one(self, i: int) -> list[dict[str, Any]] | Item:
        begin, end = int(self._offsets[i]), int(self._offsets[i + 1])
        rows = [{name: values[t] for name, values in self._columns.items()} for t in range(begin, end)]
        if not self._constants:
            return rows
        return Item(rows, {name: values[i] for name, values in self._constants.items()})

    @property
    def columns(self) -> dict[str, AnyArray]:
        """The columns of just these sequences. Those of a part are copied at each call."""
        return self.compact()[0]

    @property
    def offsets(self) -> IndexArray:
        """Where just these sequences begin and end in `columns`: S+1 integers."""
        if self._is_whole():
            return self._offsets
        return np.concatenate([[0], np.cumsum(self.lengths)]).astype(INDEX)

    @property
    def constants(self) -> dict[str, AnyArray]:
        """The features of just these sequences as a whole, one value per sequence."""
        if self._is_whole():
            return dict(self._constants)
        return {name: np.asarray(values)[self._index] for name, values in self._constants.items()}

    def _is_whole(self) -> bool:
        return len(self) == len(self._offsets) - 1 and bool((self._index == np.arange(len(self))).all())

    def compact(self) -> tuple[dict[str, AnyArray], IndexArray, dict[str, AnyArray]]:
        """The columns, offsets and constants of just these sequences, in this order."""
        offsets = self.offsets
        if self._is_whole():
            return dict(self._columns), offsets, self.constants
        rows = np.repeat(self._offsets[self._index] - offsets[:-1], self.lengths) + np.arange(offsets[-1])
        return {name: values[rows] for name, values in self._columns.items()}, offsets, self.constants


def take_sequences(given: Any, places: AnyArray) -> Any:
    """The sequences, labels or weights at these places, by position, in a container of the same kind.

    given : a list or tuple, an array, Sequences, SparseRows or a Series, one element per sequence
    places : int (n,)
    """
    if hasattr(given, "iloc"):  # of pandas, whose brackets take the names of rows
        return given.iloc[places]
    return given[places] if hasattr(given, "shape") else [given[i] for i in places]


# ------------------------------------------------------------------------------------------------ vectors


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
