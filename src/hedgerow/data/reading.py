"""What learning and coding share: blocks in, places named, arrays put together."""

from __future__ import annotations

from collections.abc import Set
from itertools import compress
from typing import Any

import numpy as np

from hedgerow.data.builders import AttributeRows
from hedgerow.data.dataset import Dataset, Schema, locate
from hedgerow.data.rows import Block, Field
from hedgerow.data.sequences import Kind
from hedgerow.data.values import check_numbers, to_numbers
from hedgerow.errors import InputError
from hedgerow.legend import CODE, INDEX, MISSING, OUTSIDE, AnyArray, FloatArray, IndexArray


class Reader:
    """Takes blocks and hands on their parts, with rows counted from the start of the corpus."""

    def __init__(self) -> None:
        self.lengths: list[int] = []
        self.n_positions = 0

    def add(self, block: Block) -> None:
        first = len(self.lengths)
        self.lengths.extend(block.lengths)
        size = sum(block.lengths)
        everywhere = np.arange(self.n_positions, self.n_positions + size, dtype=INDEX)
        shifted: dict[int, IndexArray] = {}  # fields of one group of rows share one array
        for field in block.fields:
            self._check_names([field.name], field.where, self.n_positions)
            if field.where is None:
                where = everywhere
            elif id(field.where) in shifted:
                where = shifted[id(field.where)]
            else:
                where = shifted[id(field.where)] = field.where + self.n_positions
            self.add_field(field, where)
        for rows, names, weights in block.entries:
            self._add_entries(rows + self.n_positions, names, weights)
        for rows, names, numbers in block.weights:
            self._check_names(names, rows, self.n_positions)
            self._add_weights(rows + self.n_positions, names, numbers)
        for field in block.constants:
            where = np.arange(len(block.lengths), dtype=INDEX) if field.where is None else field.where
            if not isinstance(field.name, str):
                raise InputError(f"the key {field.name!r} is not a str", sequence=first + int(where[0]))
            self.add_constant(field, where + first)
        self.n_positions += size

    def offsets(self) -> IndexArray:
        """int64[S+1]: where the sequences read so far begin and end."""
        return np.concatenate([[0], np.cumsum(self.lengths)]).astype(INDEX)

    def locate(self, flat: int) -> tuple[int, int | None]:
        return locate(self.offsets(), flat)

    def locate_sequence(self, sequence: int) -> tuple[int, int | None]:
        return sequence, None

    def _check_names(self, names: list[Any], rows: IndexArray | None, base: int) -> None:
        if all(issubclass(kind, str) for kind in set(map(type, names))):
            return
        bad = next(i for i, name in enumerate(names) if not isinstance(name, str))
        sequence, position = self.locate(base + (0 if rows is None else int(rows[bad])))
        raise InputError(f"the key {names[bad]!r} is not a str", sequence=sequence, position=position)

    def _add_entries(self, where: IndexArray, names: list[str], weights: FloatArray | None) -> None:
        """Attributes by name. A weight of 0 says nothing and is left out."""
        if weights is not None:
            self._check_finite(where, names, weights)
            kept = np.flatnonzero(weights)
            if len(kept) < len(weights):
                where, names, weights = where[kept], [names[i] for i in kept], weights[kept]
        self.add_entries(where, names, weights)

    def _add_weights(self, where: IndexArray, names: list[str], numbers: list[Any]) -> None:
        """Numbers of many keys in bulk. A key that has to be a column is gathered and read as one."""
        own = self.column_keys(set(names))
        if own:
            mask = np.fromiter(map(own.__contains__, names), np.bool_, len(names))
            members: dict[str, list[int]] = {}
            for i in np.flatnonzero(mask).tolist():
                members.setdefault(names[i], []).append(i)
            for name, rows in members.items():
                self.add_field(Field(name, None, [numbers[i] for i in rows]), where[rows])
            where, names, numbers = where[~mask], list(compress(names, ~mask)), list(compress(numbers, ~mask))
        values = to_numbers(numbers)
        self._check_finite(where, names, values)
        flags = np.fromiter(map({bool, np.bool_}.__contains__, map(type, numbers)), np.bool_, len(numbers))
        self.add_numbers(where, names, values, flags)

    def _check_finite(self, where: IndexArray, names: list[str], numbers: FloatArray) -> None:
        bad = np.flatnonzero(~np.isfinite(numbers))[:1]
        if len(bad):
            check_numbers(names[bad[0]], numbers[bad], where[bad], self.locate, nan_is_missing=False)

    def column_keys(self, names: Set[str]) -> Set[str]:
        """Those of the keys whose values must be read as a column, not in bulk."""
        raise NotImplementedError

    def add_field(self, field: Field, where: IndexArray) -> None:
        raise NotImplementedError

    def add_constant(self, field: Field, where: IndexArray) -> None:
        raise NotImplementedError

    def add_entries(self, where: IndexArray, names: list[str], weights: FloatArray | None) -> None:
        raise NotImplementedError

    def add_numbers(self, where: IndexArray, names: list[str], numbers: FloatArray, flags: AnyArray) -> None:
        """One number a key and position; `flags` says which of them are bool."""
        raise NotImplementedError


class Arrays:
    """The column arrays of a Dataset before any value is in them: inside all is missing, outside all is outside.

    `shapes` gives kind and constancy of each column, in stored order; `rows[i]` is the array of column i, a view of the
    array that holds all columns of its group.
    """

    def __init__(self, shapes: list[tuple[Kind, bool]], places: IndexArray, size: int, n_sequences: int) -> None:
        self.groups: dict[tuple[bool, bool], AnyArray] = {}
        for numeric in (False, True):
            for constant in (False, True):
                n = sum((kind == "numeric", c) == (numeric, constant) for kind, c in shapes)
                shape = n, n_sequences if constant else size
                self.groups[numeric, constant] = (
                    np.full(shape, np.nan) if numeric else np.full(shape, OUTSIDE, dtype=CODE)
                )
        left = {group: iter(array) for group, array in self.groups.items()}
        self.rows: list[AnyArray] = []
        for kind, constant in shapes:
            row = next(left[kind == "numeric", constant])
            row[slice(None) if constant else places] = np.nan if kind == "numeric" else MISSING
            self.rows.append(row)

    def dataset(self, schema: Schema, offsets: IndexArray, start: IndexArray, attributes: AttributeRows) -> Dataset:
        groups = self.groups
        return Dataset(
            schema,
            offsets,
            start,
            groups[False, False],
            groups[True, False],
            attributes.ptr,
            attributes.ids,
            attributes.values,
            groups[False, True],
            groups[True, True],
        )
