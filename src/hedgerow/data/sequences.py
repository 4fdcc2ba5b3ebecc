"""Sequences: columns of values cut into sequences. What every columnar reader returns and the encoder takes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal, overload

import numpy as np

from hedgerow.errors import InputError
from hedgerow.legend import INDEX, AnyArray, IndexArray

Kind = Literal["categorical", "numeric", "boolean", "attributes"]
KINDS: tuple[Kind, ...] = ("categorical", "numeric", "boolean", "attributes")


class Sequences:
    """A corpus as columns. Slicing keeps sequences whole and shares the columns.

    Parameters
    ----------
    columns : mapping of name to array of N values
        One flat array a column. Categorical columns hold str or None (object dtype), numeric columns float64 with
        NaN for missing, boolean columns bool (or object with None), attribute columns lists of str (object dtype).
    offsets : array of S+1 integers
        Sequence i owns the rows offsets[i] … offsets[i+1]-1.
    kinds : mapping of name to kind
        "categorical", "numeric", "boolean" or "attributes" for every column and constant.
    constants : mapping of name to array of S values, optional
        Features of the whole sequence, one value each.

    It behaves as a one-dimensional array of S items, so that scikit-learn's cross-validation splits it:
    `X[3]` is a list of dicts, `X[[0, 2]]`, `X[mask]` and `X[:10]` are Sequences again.
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
        self.columns = dict(columns)
        self.offsets = np.ascontiguousarray(offsets, dtype=INDEX)
        self.constants = dict(constants or {})
        self.kinds: dict[str, Kind] = dict(kinds)
        self._index = np.arange(len(self.offsets) - 1, dtype=INDEX) if _index is None else _index
        if _index is None:
            self._check()

    def _check(self) -> None:
        if len(self.offsets) == 0 or self.offsets[0] != 0 or np.any(np.diff(self.offsets) < 0):
            raise InputError("offsets must start at 0 and never fall")
        for name, values in self.columns.items():
            if len(values) != self.offsets[-1]:
                raise InputError(
                    f"has {len(values)} values where offsets give {self.offsets[-1]} positions", column=name
                )
        for name, values in self.constants.items():
            if len(values) != len(self.offsets) - 1:
                raise InputError(f"has {len(values)} values for {len(self.offsets) - 1} sequences", column=name)
        for name in (*self.columns, *self.constants):
            if self.kinds.get(name) not in KINDS:
                raise InputError(f"needs a kind, one of {', '.join(KINDS)}", column=name)

    @property
    def shape(self) -> tuple[int]:
        return (len(self._index),)

    @property
    def lengths(self) -> IndexArray:
        """The number of positions of each sequence."""
        lengths: IndexArray = self.offsets[self._index + 1] - self.offsets[self._index]
        return lengths

    def __len__(self) -> int:
        return len(self._index)

    def __repr__(self) -> str:
        names = ", ".join([*self.columns, *self.constants])
        return f"Sequences({len(self)} sequences, {int(self.lengths.sum())} positions: {names})"

    @overload
    def __getitem__(self, key: int) -> list[dict[str, Any]]: ...

    @overload
    def __getitem__(self, key: slice | AnyArray | list[int] | tuple[Any, Any]) -> Sequences: ...

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, tuple) and len(key) == 2 and key[1] is Ellipsis:
            key = key[0]
        if isinstance(key, (int, np.integer)):
            return self._rows(int(self._index[key]))
        if isinstance(key, list) and not key:
            key = np.empty(0, dtype=INDEX)
        picked = self._index[key]
        return Sequences(self.columns, self.offsets, self.kinds, self.constants, _index=picked)

    def __iter__(self) -> Iterator[list[dict[str, Any]]]:
        return (self._rows(int(i)) for i in self._index)

    def _rows(self, i: int) -> list[dict[str, Any]]:
        begin, end = int(self.offsets[i]), int(self.offsets[i + 1])
        constants = {name: values[i] for name, values in self.constants.items()}
        return [{name: values[t] for name, values in self.columns.items()} | constants for t in range(begin, end)]

    def compact(self) -> tuple[dict[str, AnyArray], IndexArray, dict[str, AnyArray]]:
        """The columns, offsets and constants of just these sequences, in this order."""
        whole = len(self._index) == len(self.offsets) - 1 and np.array_equal(self._index, np.arange(len(self._index)))
        if whole:
            return self.columns, self.offsets, self.constants
        lengths = self.lengths
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(INDEX)
        rows = np.repeat(self.offsets[self._index] - offsets[:-1], lengths) + np.arange(offsets[-1])
        columns = {name: values[rows] for name, values in self.columns.items()}
        return columns, offsets, {name: values[self._index] for name, values in self.constants.items()}
