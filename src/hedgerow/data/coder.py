"""A corpus coded by a schema learnt before; what the schema does not know is ignored."""

from __future__ import annotations

from itertools import repeat
from typing import Any

import numpy as np

from hedgerow.data.builders import NUMBER_KINDS, attribute_rows
from hedgerow.data.dataset import Column, Dataset, Schema, padded_places
from hedgerow.data.reading import Reader, assemble, check_finite, check_keys
from hedgerow.data.rows import Field
from hedgerow.data.values import changed_type, read_values
from hedgerow.data.vocabulary import Vocabulary
from hedgerow.legend import CODE, INDEX, MISSING, OUTSIDE, AnyArray, CodeArray, FloatArray, IndexArray


class Coder(Reader):
    def __init__(self, schema: Schema) -> None:
        super().__init__()
        self.schema = schema
        self.columns = {(c.name, c.constant): c for c in schema.columns}
        self.parts: dict[tuple[str, bool], list[tuple[IndexArray, AnyArray]]] = {}
        self.attributes: list[tuple[IndexArray, CodeArray, FloatArray | None]] = []

    def add_field(self, field: Field, where: IndexArray) -> None:
        column = self.columns.get((field.name, False))
        if column is not None:
            self._add_column(column, field, where, self.locate)
        elif len(self.schema.attributes):
            self._add_attributes(field, where)

    def add_constant(self, field: Field, where: IndexArray) -> None:
        column = self.columns.get((field.name, True))
        if column is not None:
            self._add_column(column, field, where, self.locate_sequence)

    def _add_column(self, column: Column, field: Field, where: IndexArray, locate: Any) -> None:
        declared = column.kind if column.name in self.schema.declared or field.kind is None else None
        untyped = column.kind == "numeric" and column.fill == 0.0 and field.kind is None
        values = read_values(field, where, None if untyped else declared, locate)
        if values.kind != column.kind and not (column.kind == "numeric" and values.kind == "boolean"):
            if len(values.where) == 0:
                return
            changed_type(column.name, column.kind, values.kind, values.where, locate)
        if column.kind == "categorical":
            assert values.texts is not None
            assert column.vocabulary is not None
            coded = _look_up(column.vocabulary, values.texts) + CODE(2)
            coded[coded == 1] = MISSING
        elif column.kind == "boolean":
            assert values.numbers is not None
            coded = np.where(np.isnan(values.numbers), MISSING, (values.numbers != 0) + 2).astype(CODE)
        else:
            assert values.numbers is not None
            coded = values.numbers
        self.parts.setdefault((column.name, column.constant), []).append((values.where, coded))

    def _add_attributes(self, field: Field, where: IndexArray) -> None:
        values = read_values(field, where, None, self.locate)
        if values.kind in NUMBER_KINDS:
            assert values.numbers is not None
            self.add_entries(values.where, [field.name] * len(values.where), values.numbers)
            return
        assert values.texts is not None
        mark = "=" if values.kind == "categorical" else ":"
        rows = values.where if values.sizes is None else np.repeat(values.where, values.sizes)
        prefix = f"{field.name}{mark}"
        self.add_entries(rows, list(map(prefix.__add__, values.texts)), None)

    def add_entries(self, where: IndexArray, names: list[str], weights: FloatArray | None) -> None:
        ids = _look_up(self.schema.attributes, names)
        known = ids >= 0 if weights is None else (ids >= 0) & (weights != 0)
        if not known.all():
            where, ids = where[known], ids[known]
            weights = None if weights is None else weights[known]
        self.attributes.append((where, ids, weights))

    def add_weights(self, where: IndexArray, names: list[str], numbers: list[Any]) -> None:
        check_keys(names, where, self)
        values = np.asarray(numbers, dtype=np.float64)
        check_finite(values, names, where, self)
        self.add_entries(where, names, values)
        for i, name in enumerate(names):
            if (name, False) in self.columns:
                self.add_field(Field(name, None, [numbers[i]]), where[i : i + 1])

    def finish(self, offsets: IndexArray) -> Dataset:
        schema = self.schema
        start, places, size = padded_places(offsets, schema.gap)
        arrays: list[tuple[Column, AnyArray]] = []
        for column in schema.columns:
            where = np.arange(len(start), dtype=INDEX) if column.constant else places
            width = len(start) if column.constant else size
            if column.kind == "numeric":
                array: AnyArray = np.full(width, np.nan)
                array[where] = column.fill
            else:
                array = np.full(width, OUTSIDE, dtype=CODE)
                array[where] = MISSING
            for rows, values in self.parts.get((column.name, column.constant), ()):
                array[where[rows]] = values
            arrays.append((column, array))
        attributes = attribute_rows(self.attributes, places, size)
        return assemble(schema, offsets, start, size, arrays, attributes)


def _look_up(vocabulary: Vocabulary, texts: list[str]) -> CodeArray:
    return np.fromiter(map(vocabulary.lookup.get, texts, repeat(-1)), dtype=CODE, count=len(texts))
