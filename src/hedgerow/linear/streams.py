"""Streams: one a column and window offset. Each owns a run of weight rows, so a feature's row is base + code."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from hedgerow.data.columns import attribute_name
from hedgerow.data.dataset import OUTSIDE_COLUMN, Column, Dataset, Schema
from hedgerow.legend import FIRST_VALUE, FLOAT, INDEX, MISSING, OUTSIDE, CodeArray, FloatArray, IndexArray


@dataclass(frozen=True)
class Streams:
    """Where each stream reads and where its rows begin; the order is codes, numbers, constants, attributes.

    column, shift, base            int64[] of the code streams
    attr_shift, attr_base          int64[] of the attributes, one a window offset
    num_column, num_shift, num_base  int64[] of the numbers; each owns one row
    num_center, num_scale          float64[]: a number counts as (x − center)·scale, so that units do not matter
    seq_column, seq_base           int64[] of the constant codes
    seq_num_column, seq_num_base   int64[] of the constant numbers; seq_num_center, seq_num_scale as above
    """

    column: IndexArray
    shift: IndexArray
    base: IndexArray
    attr_shift: IndexArray
    attr_base: IndexArray
    num_column: IndexArray
    num_shift: IndexArray
    num_base: IndexArray
    num_center: FloatArray
    num_scale: FloatArray
    seq_column: IndexArray
    seq_base: IndexArray
    seq_num_column: IndexArray
    seq_num_base: IndexArray
    seq_num_center: FloatArray
    seq_num_scale: FloatArray
    n_rows: int

    @classmethod
    def of(cls, schema: Schema, names: set[str] | None = None) -> Streams:
        """The streams of a schema, or only those of the columns named (attributes go by the name "*")."""
        rows = 0
        parts: dict[str, list[tuple[int, int, int]]] = {kind: [] for kind in ("code", "attr", "num", "seq", "seq_num")}
        plan: list[tuple[str, int, Column]] = []
        for kind, columns in _groups(schema).items():
            plan.extend((kind, i, column) for i, column in enumerate(columns))
        for kind, i, column in plan:
            if names is None or column.name in names:
                for offset in column.offsets:
                    parts[kind].append((i, offset, rows))
                    rows += column.n_codes if kind in ("code", "seq") else 1
        if len(schema.attributes) and (names is None or "*" in names):
            for offset in schema.attribute_offsets:
                parts["attr"].append((0, offset, rows))
                rows += len(schema.attributes)

        def array(kind: str, field: int) -> IndexArray:
            return np.array([part[field] for part in parts[kind]], dtype=INDEX)

        def standard(kind: str) -> tuple[FloatArray, FloatArray]:
            own = [_groups(schema)[kind][part[0]] for part in parts[kind]]
            return np.array([c.center for c in own], dtype=FLOAT), np.array([1 / c.spread for c in own], dtype=FLOAT)

        return cls(
            array("code", 0), array("code", 1), array("code", 2),
            array("attr", 1), array("attr", 2),
            array("num", 0), array("num", 1), array("num", 2), *standard("num"),
            array("seq", 0), array("seq", 2),
            array("seq_num", 0), array("seq_num", 2), *standard("seq_num"),
            rows,
        )  # fmt: skip

    @property
    def number_reads(self) -> tuple[IndexArray, IndexArray, FloatArray, FloatArray]:
        """Column, shift, center and scale of the numbers, as kernels take them."""
        return self.num_column, self.num_shift, self.num_center, self.num_scale

    @property
    def constant_reads(self) -> tuple[IndexArray, IndexArray, FloatArray, FloatArray]:
        """The same of the constant numbers, which have no window."""
        return self.seq_num_column, np.zeros_like(self.seq_num_column), self.seq_num_center, self.seq_num_scale

    def observations(
        self, dataset: Dataset, schema: Schema, places: IndexArray, sequences: IndexArray
    ) -> Iterator[tuple[int, int, IndexArray, IndexArray, FloatArray]]:
        """For each stream, in order: its first row, its number of rows, and what it has at some padded places.

        The last three are the observations that count (indices into `places`), their rows (from 0), and their values
        (one value stands for all). `sequences` gives the sequence of each place.
        """
        columns = schema.of("categorical", "boolean")
        for c, shift, base in zip(self.column, self.shift, self.base):
            yield _coded(int(base), columns[c], dataset.codes[c][places + shift])
        reads = zip(self.num_column, self.num_shift, self.num_base, self.num_center, self.num_scale)
        for d, shift, base, center, scale in reads:
            yield _number(int(base), (dataset.numeric[d][places + shift] - center) * scale)
        columns = schema.of("categorical", "boolean", constant=True)
        for c, base in zip(self.seq_column, self.seq_base):
            yield _coded(int(base), columns[c], dataset.seq_codes[c][sequences])
        constants = zip(self.seq_num_column, self.seq_num_base, self.seq_num_center, self.seq_num_scale)
        for d, base, center, scale in constants:
            yield _number(int(base), (dataset.seq_numeric[d][sequences] - center) * scale)
        for shift, base in zip(self.attr_shift, self.attr_base):
            begin, end = dataset.attr_ptr[places + shift], dataset.attr_ptr[places + shift + 1]
            which = np.repeat(np.arange(len(places), dtype=INDEX), end - begin)
            first = np.cumsum(end - begin) - (end - begin)
            entries = np.repeat(begin - first, end - begin) + np.arange(len(which), dtype=INDEX)
            values = np.ones(1) if dataset.attr_val is None else dataset.attr_val[entries]
            yield int(base), len(schema.attributes), which, dataset.attr_id[entries].astype(INDEX), values


def _groups(schema: Schema) -> dict[str, list[Column]]:
    return {
        "code": schema.of("categorical", "boolean"),
        "num": schema.of("numeric"),
        "seq": schema.of("categorical", "boolean", constant=True),
        "seq_num": schema.of("numeric", constant=True),
    }


def _coded(base: int, column: Column, codes: CodeArray) -> tuple[int, int, IndexArray, IndexArray, FloatArray]:
    which = np.flatnonzero(codes != MISSING)
    rows = codes[which].astype(INDEX)
    if column.kind != "boolean":
        return base, column.n_codes, which, rows, np.ones(1)
    false = rows == FIRST_VALUE  # the feature with the value 0: it counts as seen, as in CRFsuite, and adds nothing
    return base, column.n_codes, which, np.where(false, FIRST_VALUE + 1, rows), np.where(false, 0.0, 1.0)


def _number(base: int, numbers: FloatArray) -> tuple[int, int, IndexArray, IndexArray, FloatArray]:
    which = np.flatnonzero(numbers == numbers)
    return base, 1, which, np.zeros(len(which), dtype=INDEX), numbers[which]


def row_names(schema: Schema, names: set[str] | None = None) -> list[str]:
    """What each row stands for, in python-crfsuite's manner: "word:the", "bias"; at a window offset "word[-1]:the"."""
    found: list[str] = []
    for kind, columns in _groups(schema).items():
        for column in columns:
            if names is not None and column.name not in names:
                continue
            for offset in column.offsets:
                name = f"{column.name}[{offset:+d}]" if offset else column.name
                found.extend(_value_names(name, column) if kind in ("code", "seq") else [name])
    if len(schema.attributes) and (names is None or "*" in names):
        for offset in schema.attribute_offsets:
            tail = f"[{offset:+d}]" if offset else ""
            found.extend(f"{name}{tail}" for name in schema.attributes.names())
    return found


def _value_names(name: str, column: Column) -> list[str]:
    if column.name == OUTSIDE_COLUMN:
        return [f"{name} is not", name]
    special = {MISSING: f"{name} is missing", OUTSIDE: f"{name} is outside"}
    if column.kind == "boolean":
        return [special[MISSING], special[OUTSIDE], f"{name} is false", name]
    assert column.vocabulary is not None
    return [special[MISSING], special[OUTSIDE], *(attribute_name(name, value) for value in column.vocabulary.names())]
