"""The first pass over a training corpus: which columns there are, of which kind, with which values."""

from __future__ import annotations

from collections.abc import Mapping, Set

import numpy as np

from hedgerow.data.builders import AttributeBuilder, ColumnBuilder
from hedgerow.data.dataset import (
    OUTSIDE_COLUMN,
    Column,
    Dataset,
    Label,
    Schema,
    Window,
    padded_places,
    window_offsets,
)
from hedgerow.data.reading import Arrays, Reader
from hedgerow.data.rows import Field
from hedgerow.data.sequences import Kind
from hedgerow.data.values import Values
from hedgerow.errors import InputError
from hedgerow.legend import INDEX, AnyArray, FloatArray, IndexArray

# A key of a dict that stands at fewer positions than one in SPARSE becomes an attribute (an entry where it stands)
# and not a column (a cell everywhere). The meaning is the same; below this share the entries take less memory.
SPARSE = 16


class Learner(Reader):
    """Gathers a training corpus by column; `finish` settles what becomes a column and makes the Dataset."""

    def __init__(self, declared: dict[str, Kind], window: Window) -> None:
        super().__init__()
        self.declared = declared
        self.window = window
        self.builders: dict[str, ColumnBuilder] = {}
        self.constants: dict[str, ColumnBuilder] = {}
        self.attributes = AttributeBuilder()
        self.numbers = AttributeBuilder()
        self.number_flags: list[AnyArray] = []

    def _kind(self, name: str) -> Kind | None:
        return self.declared.get(name, self.declared.get("*"))

    def _builder(self, name: str) -> ColumnBuilder:
        if name not in self.builders:
            self.builders[name] = ColumnBuilder(name, self._kind(name))
        return self.builders[name]

    def column_keys(self, names: Set[str]) -> Set[str]:
        return names if "*" in self.declared else names & self.declared.keys()

    def add_field(self, field: Field, where: IndexArray) -> None:
        if field.name == OUTSIDE_COLUMN:
            sequence, position = self.locate(int(where[0]))
            hint = "Use another name: this one is for what lies outside a sequence."
            raise InputError("the name is taken", hint=hint, sequence=sequence, position=position, column=field.name)
        self._builder(field.name).read(field, where, self.locate)

    def add_constant(self, field: Field, where: IndexArray) -> None:
        builder = self.constants.setdefault(field.name, ColumnBuilder(field.name, self._kind(field.name)))
        builder.read(field, where, self.locate_sequence)
        if builder.kind == "attributes":
            raise InputError(
                "a feature of the whole sequence is a list",
                hint="Give it one value, or each item a key of its own: {'topic:sport': True}.",
                sequence=int(where[0]),
                column=field.name,
            )

    def add_entries(self, where: IndexArray, names: list[str], weights: FloatArray | None) -> None:
        self.attributes.add(where, names, weights)

    def add_numbers(self, where: IndexArray, names: list[str], numbers: FloatArray, flags: AnyArray) -> None:
        self.numbers.add(where, names, numbers)
        self.number_flags.append(flags)

    def finish(self, offsets: IndexArray, labels: tuple[Label, ...]) -> Dataset:
        named = set(self.window) if isinstance(self.window, Mapping) else set()
        self._settle_numbers(named)
        dense = self._settle_columns(named, int(offsets[-1]))
        self._check_window(named, dense)
        attribute_offsets = window_offsets(self.window, "*") if self.attributes.n_entries else (0,)
        plan = [(b, window_offsets(self.window, b.name), False) for b in dense]
        plan += _outside(plan, attribute_offsets)
        plan += [(b, (0,), True) for _, b in sorted(self.constants.items()) if b.kind is not None]
        gap = max(abs(o) for places in (attribute_offsets, *(p for _, p, _ in plan)) for o in places)
        start, places, size = padded_places(offsets, gap)
        attributes, vocabulary = self.attributes.rows(places, size)
        shapes = [(b.kind or "categorical", constant) for b, _, constant in plan]
        arrays = Arrays(shapes, places, size, len(start))
        columns = []
        each = np.arange(len(start), dtype=INDEX)
        for (builder, window, constant), (kind, _), row in zip(plan, shapes, arrays.rows):
            texts = builder.write(row, each if constant else places)
            fill = _fill(builder)
            standard = _standard(row if constant else row[places]) if np.isnan(fill) else (0.0, 1.0)
            columns.append(Column(builder.name, kind, window, texts, fill, constant, *standard))
        schema = Schema(tuple(columns), vocabulary, attribute_offsets, labels, self.window, dict(self.declared))
        return arrays.dataset(schema, offsets, start, attributes)

    def _settle_numbers(self, named: Set[str]) -> None:
        """Numbers that came in bulk: frequent keys become columns, the rest stay attributes."""
        if not self.numbers.parts:
            return
        names = list(self.numbers.vocabulary)
        where = np.concatenate([p[0] for p in self.numbers.parts])
        keys = np.concatenate([p[1] for p in self.numbers.parts])
        values = np.concatenate([p[2] for p in self.numbers.parts if p[2] is not None])
        flags = np.concatenate(self.number_flags)
        own = np.bincount(keys, minlength=len(names)) * SPARSE >= self.n_positions
        columns = set(self.builders) | named
        own |= np.fromiter(map(columns.__contains__, names), np.bool_, len(names))
        mine = np.flatnonzero(own[keys])
        mine = mine[np.argsort(keys[mine], kind="stable")]
        sorted_keys = keys[mine]
        for key in np.flatnonzero(own):
            begin, end = np.searchsorted(sorted_keys, [key, key + 1])
            rows = mine[begin:end]
            kind: Kind = "boolean" if flags[rows].all() else "numeric"
            self._builder(names[key]).add(Values(kind, where[rows], numbers=values[rows]), self.locate)
        rest = np.flatnonzero(~own[keys])
        self.attributes.add_coded(where[rest], keys[rest], names, values[rest])
        self.numbers.parts.clear()

    def _settle_columns(self, named: Set[str], n_positions: int) -> list[ColumnBuilder]:
        """The keys that become columns, in stored order. The others are handed to the attributes."""
        dense = []
        for name in sorted(self.builders, key=_natural):
            builder = self.builders[name]
            frequent = builder.typed or name in named or builder.n_values * SPARSE >= n_positions
            if frequent and builder.kind not in (None, "attributes") and builder.declared != "attributes":
                dense.append(builder)
            else:
                builder.to_attributes(self.attributes)
        return dense

    def _check_window(self, named: Set[str], dense: list[ColumnBuilder]) -> None:
        columns = {builder.name for builder in dense}
        for name in sorted(named - columns - {"*"}, key=str):
            if name in self.builders and self.builders[name].kind is not None:
                what, hint = "is a list of attributes, and they have one window in all", 'Name it "*".'
            elif name in self.constants:
                what, hint = "is a feature of the whole sequence and has no window", "Leave it out of ⟦window⟧."
            elif name in self.builders or name in self.declared:
                continue  # a column without any value
            else:
                known = ", ".join(sorted(columns, key=_natural)[:10])
                what, hint = "has a window and is not in the data", f"Columns: {known}."
            raise InputError(what, hint=hint, column=str(name))


def _outside(
    plan: list[tuple[ColumnBuilder, tuple[int, ...], bool]], attribute_offsets: tuple[int, ...]
) -> list[tuple[ColumnBuilder, tuple[int, ...], bool]]:
    """The column that says "outside" for numbers and attributes with a window: see OUTSIDE_COLUMN."""
    reads = [o for builder, offsets, _ in plan if builder.kind == "numeric" for o in offsets]
    beside = tuple(sorted({*reads, *attribute_offsets} - {0}))
    return [(ColumnBuilder(OUTSIDE_COLUMN, "categorical"), beside, False)] if beside else []


def _fill(builder: ColumnBuilder) -> float:
    return np.nan if builder.kind == "numeric" and builder.typed else 0.0


def _standard(numbers: FloatArray) -> tuple[float, float]:
    """Mean and standard deviation of a column of measurements; a column of one value has the deviation 1."""
    known = numbers[numbers == numbers]
    if len(known) == 0:
        return 0.0, 1.0
    center, spread = float(known.mean()), float(known.std())
    return (center, spread) if np.isfinite(spread) and spread > 1e-12 * abs(center) else (0.0, 1.0)


def _natural(name: str) -> tuple[int, int, str]:
    return (0, int(name), name) if name.isdecimal() and name.isascii() else (1, 0, name)
