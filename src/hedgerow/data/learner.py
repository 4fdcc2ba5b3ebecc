"""The first pass over a training corpus: which columns there are, of which kind, with which values."""

from __future__ import annotations

from typing import Any

import numpy as np

from hedgerow.data.builders import NUMBER_KINDS, AttributeBuilder, ColumnBuilder
from hedgerow.data.dataset import Column, Dataset, Label, Schema, Window, padded_places, window_offsets
from hedgerow.data.reading import Reader, assemble, check_finite, check_keys, check_name
from hedgerow.data.rows import Field
from hedgerow.data.sequences import Kind
from hedgerow.data.values import Values, read_values
from hedgerow.data.vocabulary import Vocabulary
from hedgerow.errors import InputError
from hedgerow.legend import CODE, INDEX, MISSING, OUTSIDE, AnyArray, FloatArray, IndexArray

# A key of a dict that stands at fewer positions than one in SPARSE becomes an attribute (an entry where it stands)
# and not a column (a cell everywhere). The meaning is the same; below this share the entries take less memory.
SPARSE = 16


class Learner(Reader):
    def __init__(self, declared: dict[str, Kind]) -> None:
        super().__init__()
        self.declared = declared
        self.builders: dict[str, ColumnBuilder] = {}
        self.constants: dict[str, ColumnBuilder] = {}
        self.attributes = AttributeBuilder()
        self.weights = AttributeBuilder()
        self.weight_is_bool: list[AnyArray] = []

    def _kind(self, name: str) -> Kind | None:
        return self.declared.get(name, self.declared.get("*"))

    def _builder(self, name: str, where: IndexArray) -> ColumnBuilder:
        try:
            return self.builders[name]
        except KeyError:
            check_name(name, where, self)
            self.builders[name] = ColumnBuilder(name, self._kind(name))
            return self.builders[name]

    def add_field(self, field: Field, where: IndexArray) -> None:
        builder = self._builder(field.name, where)
        builder.typed |= field.kind is not None
        builder.add(_read_as(field, where, builder.declared, self.locate), self.locate)

    def add_constant(self, field: Field, where: IndexArray) -> None:
        builder = self.constants.setdefault(field.name, ColumnBuilder(field.name, self._kind(field.name)))
        builder.typed = True
        builder.add(read_values(field, where, builder.declared, self.locate_sequence), self.locate_sequence)

    def add_entries(self, where: IndexArray, names: list[str], weights: FloatArray | None) -> None:
        if weights is not None and not np.all(np.isfinite(weights)):
            bad = int(np.flatnonzero(~np.isfinite(weights))[0])
            sequence, position = self.locate(int(where[bad]))
            raise InputError(f"the value is {weights[bad]}", sequence=sequence, position=position, column=names[bad])
        self.attributes.add(where, names, weights)

    def add_weights(self, where: IndexArray, names: list[str], numbers: list[Any]) -> None:
        check_keys(names, where, self)
        values = np.asarray(numbers, dtype=np.float64)
        check_finite(values, names, where, self)
        self.weights.add(where, names, values)
        self.weight_is_bool.append(np.fromiter((type(v) is bool for v in numbers), bool, len(numbers)))

    def finish(self, offsets: IndexArray, window: Window, labels: tuple[Label, ...]) -> Dataset:
        self._settle_weights()
        dense = []
        for name in sorted(self.builders, key=_natural):
            builder = self.builders[name]
            if builder.kind is None:
                continue
            if builder.kind != "attributes" and (builder.typed or builder.n_values * SPARSE >= offsets[-1]):
                dense.append(builder)
            else:
                self._to_attributes(builder)
        shapes = [(b, window_offsets(window, b.name), False) for b in dense]
        shapes += [(b, (0,), True) for _, b in sorted(self.constants.items()) if b.kind is not None]
        reach = [abs(o) for _, places, _ in shapes for o in places]
        attribute_offsets = window_offsets(window, "*") if self.attributes.parts else (0,)
        gap = max([*reach, *map(abs, attribute_offsets), 0])
        start, places, size = padded_places(offsets, gap)
        attributes, names = self.attributes.rows(places, size)
        made = [_make_column(b, o, c, len(start) if c else size, places) for b, o, c in shapes]
        schema = Schema(
            tuple(column for column, _ in made),
            Vocabulary(names),
            attribute_offsets,
            labels,
            window,
            dict(self.declared),
        )
        return assemble(schema, offsets, start, size, made, attributes)

    def _settle_weights(self) -> None:
        """Numbers that came in bulk: frequent keys become columns, the rest stay attributes."""
        if not self.weights.parts:
            return
        names = list(self.weights.vocabulary)
        where = np.concatenate([p[0] for p in self.weights.parts])
        keys = np.concatenate([p[1] for p in self.weights.parts])
        values = np.concatenate([p[2] for p in self.weights.parts if p[2] is not None])
        flags = np.concatenate(self.weight_is_bool)
        counts = np.bincount(keys, minlength=len(names))
        frequent = counts * SPARSE >= self.n_positions
        own = np.array([frequent[i] or n in self.builders or n in self.declared for i, n in enumerate(names)])
        for key in np.flatnonzero(own):
            rows = np.flatnonzero(keys == key)
            kind: Kind = "boolean" if flags[rows].all() else "numeric"
            builder = self._builder(names[key], where[rows])
            builder.add(Values(kind, where[rows], numbers=values[rows]), self.locate)
        rest = np.flatnonzero(~own[keys] & (values != 0))
        self.attributes.add_coded(where[rest], keys[rest], names, values[rest])

    def _to_attributes(self, builder: ColumnBuilder) -> None:
        where, found = builder.gathered()
        if builder.kind in NUMBER_KINDS:
            kept = np.flatnonzero(found != 0)
            codes = np.zeros(len(kept), dtype=CODE)
            self.attributes.add_coded(where[kept], codes, [builder.name], found[kept])
        else:
            mark = "=" if builder.kind == "categorical" else ":"
            names = [f"{builder.name}{mark}{text}" for text in builder.vocabulary]
            self.attributes.add_coded(where, found, names, None)


def _read_as(field: Field, where: IndexArray, declared: Kind | None, locate: Any) -> Values:
    """Values of a field; where the column is declared "attributes", a str, number or bool keeps its own kind."""
    if declared != "attributes":
        return read_values(field, where, declared, locate)
    return read_values(field, where, None, locate)


def _natural(name: str) -> tuple[int, int, str]:
    return (0, int(name), name) if name.isdecimal() and name.isascii() else (1, 0, name)


def _make_column(
    builder: ColumnBuilder, offsets: tuple[int, ...], constant: bool, size: int, places: IndexArray
) -> tuple[Column, AnyArray]:
    assert builder.kind is not None
    where = np.arange(size, dtype=INDEX) if constant else places
    if builder.kind in NUMBER_KINDS and builder.kind != "boolean":
        fill = np.nan if builder.typed else 0.0
        numbers = np.full(size, np.nan)
        numbers[where] = fill
        builder.number_column(numbers, where)
        return Column(builder.name, "numeric", offsets, None, fill, constant), numbers
    codes = np.full(size, OUTSIDE, dtype=CODE)
    codes[where] = MISSING
    names = builder.code_column(codes, where)
    vocabulary = Vocabulary(names) if builder.kind == "categorical" else None
    builder.parts.clear()
    builder.vocabulary.clear()
    return Column(builder.name, builder.kind, offsets, vocabulary, 0.0, constant), codes
