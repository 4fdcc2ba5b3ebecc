"""Which features a linear score reads, and where their weights stand.

A stream is a column at a window offset. Each owns a run of weight rows, so a feature's row is base + code; a row has a
weight for every output that it was seen with, or for all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import groupby

import numpy as np

from hedgerow.data.columns import attribute_name
from hedgerow.data.dataset import OUTSIDE_COLUMN, Column, Dataset, Schema, run_of
from hedgerow.data.derived import number_row
from hedgerow.legend import (
    CODE,
    FIRST_VALUE,
    FLOAT,
    INDEX,
    MISSING,
    OUTSIDE,
    AnyArray,
    BoolArray,
    CodeArray,
    FloatArray,
    IndexArray,
)
from hedgerow.linear import kernels

Reads = tuple[IndexArray, IndexArray, FloatArray, FloatArray]
# The pairs of one stream: pointers of its rows, and output and count of each pair.
Group = tuple[IndexArray, CodeArray, FloatArray]


@dataclass(frozen=True)
class Streams:
    """Where each stream reads and where its rows begin; the order is codes, numbers, constants, attributes.

    column, shift, base            int64[] of the code streams
    attr_shift, attr_base          int64[] of the attributes, one per window offset
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

    @property
    def number_reads(self) -> Reads:
        """Column, shift, center and scale of the numbers, as kernels take them."""
        return self.num_column, self.num_shift, self.num_center, self.num_scale

    @cached_property
    def constant_reads(self) -> Reads:
        """The same of constant numbers, which have no window."""
        return self.seq_num_column, np.zeros_like(self.seq_num_column), self.seq_num_center, self.seq_num_scale

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
        if schema.n_attributes and (names is None or "*" in names):
            for offset in schema.attribute_offsets:
                parts["attr"].append((0, offset, rows))
                rows += schema.n_attributes

        def array(kind: str, field: int) -> IndexArray:
            return np.array([part[field] for part in parts[kind]], dtype=INDEX)

        def standard(kind: str) -> tuple[FloatArray, FloatArray]:
            columns = [_groups(schema)[kind][part[0]] for part in parts[kind]]
            return np.array([c.center for c in columns], dtype=FLOAT), np.array(
                [1 / c.spread for c in columns], dtype=FLOAT
            )

        return cls(
            array("code", 0), array("code", 1), array("code", 2),
            array("attr", 1), array("attr", 2),
            array("num", 0), array("num", 1), array("num", 2), *standard("num"),
            array("seq", 0), array("seq", 2),
            array("seq_num", 0), array("seq_num", 2), *standard("seq_num"),
            rows,
        )  # fmt: skip

    def observations(
        self, dataset: Dataset, places: IndexArray, sequences: IndexArray
    ) -> Iterator[tuple[int, int, IndexArray, IndexArray, FloatArray]]:
        """For each stream, in order: its first row, its number of rows, and what it has at some padded places.

        The last three are the observations that count (indices into `places`), their rows (from 0), and their values
        (one value stands for all). `sequences` gives the sequence of each place.
        """
        schema = dataset.schema
        columns = schema.of("categorical", "boolean")
        for c, shift, base in zip(self.column, self.shift, self.base):
            yield _coded(int(base), columns[c], dataset.codes[c][places + shift])
        reads = zip(self.num_column, self.num_shift, self.num_base, self.num_center, self.num_scale)
        columns = schema.of("numeric")
        span = (int(sequences.min()), int(sequences.max()) + 1) if len(sequences) else (0, 0)
        at = cache(lambda shift: run_of(places + shift))
        every: IndexArray = np.arange(len(places), dtype=INDEX)
        none = np.zeros_like(every)
        for d, streams in groupby(reads, lambda read: read[0]):
            row, low = number_row(dataset, columns[d], *span)
            for _, shift, base, center, scale in streams:
                yield _number(int(base), (row[at(int(shift) - low)] - center) * scale, every, none)
        columns = schema.of("categorical", "boolean", constant=True)
        for c, base in zip(self.seq_column, self.seq_base):
            yield _coded(int(base), columns[c], dataset.seq_codes[c][sequences])
        constants = zip(self.seq_num_column, self.seq_num_base, self.seq_num_center, self.seq_num_scale)
        for d, base, center, scale in constants:
            yield _number(int(base), (dataset.seq_numeric[d][sequences] - center) * scale, every, none)
        for shift, base in zip(self.attr_shift, self.attr_base):
            begin, end = dataset.attr_ptr[places + shift], dataset.attr_ptr[places + shift + 1]
            which = np.repeat(np.arange(len(places), dtype=INDEX), end - begin)
            first = np.cumsum(end - begin) - (end - begin)
            entries = np.repeat(begin - first, end - begin) + np.arange(len(which), dtype=INDEX)
            values = np.ones(1) if dataset.attr_val is None else dataset.attr_val[entries]
            yield int(base), schema.n_attributes, which, dataset.attr_id[entries].astype(INDEX), values

    def observed_at(
        self, dataset: Dataset, where: IndexArray
    ) -> Iterator[tuple[int, int, IndexArray, IndexArray, FloatArray]]:
        """`observations` of flat positions."""
        sequences = np.searchsorted(dataset.offsets, where, side="right") - 1
        places = where + (dataset.start - dataset.offsets[:-1])[sequences]
        return self.observations(dataset, places, sequences)


def _groups(schema: Schema) -> dict[str, list[Column]]:
    return dict(zip(("code", "num", "seq", "seq_num"), schema.groups()))


def _coded(base: int, column: Column, codes: CodeArray) -> tuple[int, int, IndexArray, IndexArray, FloatArray]:
    which = np.flatnonzero(codes != MISSING)
    rows = codes[which].astype(INDEX)
    if column.kind != "boolean":
        return base, column.n_codes, which, rows, np.ones(1)
    false = rows == FIRST_VALUE  # the feature with the value 0: it counts as seen, as in CRFsuite, and adds nothing
    return base, column.n_codes, which, np.where(false, FIRST_VALUE + 1, rows), np.where(false, 0.0, 1.0)


def _number(
    base: int, numbers: FloatArray, every: IndexArray, none: IndexArray
) -> tuple[int, int, IndexArray, IndexArray, FloatArray]:
    """every, none : the indices of all numbers, and as many zeros"""
    if not np.isnan(numbers.min(initial=0.0)):
        return base, 1, every, none, numbers
    which = np.flatnonzero(numbers == numbers)
    return base, 1, which, none[: len(which)], numbers[which]


def stream_columns(schema: Schema, names: set[str] | None = None) -> list[tuple[Column | None, int]]:
    """The column and the offset of every stream, in the order of `Streams.of`; None for those of attributes."""
    every: list[tuple[Column | None, int]] = []
    for columns in schema.groups():
        known = [column for column in columns if names is None or column.name in names]
        every.extend((column, offset) for column in known for offset in column.offsets)
    attributes = schema.n_attributes and (names is None or "*" in names)
    return every + [(None, offset) for offset in schema.attribute_offsets if attributes]


def row_names(schema: Schema, names: set[str] | None = None) -> list[str]:
    """What each row stands for, in python-crfsuite's manner: "word:the", "bias"; at a window offset "word[-1]:the"."""
    rows: list[str] = []
    for column, offset in stream_columns(schema, names):
        tail = f"[{offset:+d}]" if offset else ""
        if column is None:
            rows.extend(f"{name}{tail}" for name in schema.attributes.names())
        else:
            rows.extend(_value_names(f"{column.name}{tail}", column))
    return rows


def _value_names(name: str, column: Column) -> list[str]:
    if column.kind == "numeric":
        return [name]
    if column.name == OUTSIDE_COLUMN:
        return [f"{name} is not", name]
    special = {MISSING: f"{name} is missing", OUTSIDE: f"{name} is outside"}
    if column.kind == "boolean":
        return [special[MISSING], special[OUTSIDE], f"{name} is false", name]
    assert column.vocabulary is not None
    return [special[MISSING], special[OUTSIDE], *(attribute_name(name, value) for value in column.vocabulary.names())]


# ------------------------------------------------------------------------------------------------ weights


@dataclass(frozen=True)
class WeightIndex:
    """The weights of a linear scorer with M outputs (K labels, or K² label pairs): slots, grouped by row.

    row_ptr     int64[R+1]  the slots of row r are row_ptr[r] … row_ptr[r+1]-1
    slot_label  int32[W]    the output that the slot's weight adds to
    """

    streams: Streams
    n_outputs: int
    row_ptr: IndexArray
    slot_label: CodeArray

    def __post_init__(self) -> None:
        for array in (self.row_ptr, self.slot_label):  # always frozen: a kernel compiles again for a read-only array
            array.flags.writeable = False

    @property
    def n_weights(self) -> int:
        return len(self.slot_label)

    def slot_rows(self) -> IndexArray:
        """int64[W]: the row of each slot."""
        return np.repeat(np.arange(self.streams.n_rows, dtype=INDEX), np.diff(self.row_ptr))


def index_weights(
    dataset: Dataset,
    streams: Streams,
    where: IndexArray,
    labels: CodeArray,
    n_outputs: int,
    *,
    min_frequency: float = 0.0,
    all_pairs: bool = False,
) -> tuple[WeightIndex, FloatArray]:
    """Give a weight to the (feature, output) pairs seen in training, and count how often each is seen.

    `where` int64[n] are flat positions and `labels` int32[n] the outputs seen there. A pair seen less often than
    `min_frequency` gets no weight; with `all_pairs` a feature gets a weight for every output, and the threshold is for
    the feature. A value other than 0 counts one, or what its sequence counts, whatever its size; the value 0 counts
    nothing, though without a threshold a pair seen with it alone has a weight.
    """
    weights = dataset.spread_weights() if min_frequency > 0 else None
    groups = group_streams(dataset, streams, where, labels, n_outputs, weights)
    return make_index(groups, streams, n_outputs, min_frequency=min_frequency, all_pairs=all_pairs)


def group_streams(
    dataset: Dataset, streams: Streams, where: IndexArray, labels: CodeArray, n_outputs: int, weights: FloatArray | None
) -> Iterator[Group]:
    """The pairs of each stream, in order; weights (N,) of the positions, or None."""
    for _, n_rows, which, rows, values in streams.observed_at(dataset, where):
        ones = values != 0
        ones = ones if weights is None else ones * weights[where[which]]
        yield _group(rows, labels[which], ones, n_rows, n_outputs)


def make_index(
    groups: Iterable[Group], streams: Streams, n_outputs: int, *, min_frequency: float, all_pairs: bool
) -> tuple[WeightIndex, FloatArray]:
    """As `index_weights`, from the pairs of each stream."""
    pointers, slots, totals = [np.zeros(1, dtype=INDEX)], [], []
    n_slots = 0
    for row_ptr, slot, total in groups:
        if all_pairs:
            row_ptr, slot, total = _complete(row_ptr, slot, total, n_outputs, min_frequency)
        elif min_frequency > 0:
            row_ptr, slot, total = _keep(row_ptr, slot, total, total >= min_frequency)
        pointers.append(row_ptr[1:] + n_slots)
        slots.append(slot)
        totals.append(total)
        n_slots += len(slot)
    none: CodeArray = np.empty(0, dtype=CODE)
    index = WeightIndex(streams, n_outputs, np.concatenate(pointers), np.concatenate([none, *slots]))
    return index, np.concatenate([np.empty(0), *totals])


def _group(rows: IndexArray, labels: CodeArray, ones: AnyArray, n_rows: int, n_outputs: int) -> Group:
    """The pairs of one stream: pointers of its rows, and output and count of each pair, which adds up its `ones`."""
    if n_rows == 1:
        counts = np.bincount(labels, minlength=n_outputs)
        seen = np.flatnonzero(counts)
        weighed = counts if ones.all() else np.bincount(labels, np.broadcast_to(ones, labels.shape), n_outputs)
        totals = weighed[seen].astype(FLOAT)
        return np.array([0, len(seen)], dtype=INDEX), seen.astype(CODE), totals
    row_ptr = np.empty(n_rows + 1, dtype=INDEX)
    count = np.empty(max(n_rows, n_outputs) + 1, dtype=INDEX)
    order = np.empty((2, len(rows)), dtype=INDEX)
    slot_label, slot_total = np.empty(len(rows), dtype=CODE), np.empty(len(rows))
    observed = rows, labels, ones.astype(FLOAT), n_outputs
    n = kernels.sparse.group_pairs(*observed, count, order, row_ptr, slot_label, slot_total)
    return row_ptr, slot_label[:n].copy(), slot_total[:n].copy()


def _keep(
    row_ptr: IndexArray, slot: CodeArray, total: FloatArray, kept: BoolArray
) -> tuple[IndexArray, CodeArray, FloatArray]:
    running = np.concatenate([[0], np.cumsum(kept)]).astype(INDEX)
    return running[row_ptr], slot[kept], total[kept]


def _complete(
    row_ptr: IndexArray, slot: CodeArray, total: FloatArray, n_outputs: int, min_frequency: float
) -> tuple[IndexArray, CodeArray, FloatArray]:
    """Every output for every row that is seen often enough."""
    rows = np.repeat(np.arange(len(row_ptr) - 1), np.diff(row_ptr))
    frequency = np.bincount(rows, weights=total, minlength=len(row_ptr) - 1)
    kept = np.diff(row_ptr) > 0
    kept &= frequency >= min_frequency
    place = np.cumsum(kept) - 1
    dense = np.zeros((int(kept.sum()), n_outputs))
    seen = kept[rows]
    dense[place[rows[seen]], slot[seen]] = total[seen]
    pointer = np.concatenate([[0], np.cumsum(kept) * n_outputs]).astype(INDEX)
    return pointer, np.tile(np.arange(n_outputs, dtype=CODE), len(dense)), dense.ravel()


def weight_statistics(
    dataset: Dataset, index: WeightIndex, totals: FloatArray, where: IndexArray
) -> tuple[FloatArray, FloatArray]:
    """Frequency and mean square of the feature of each slot. `totals` has how often each slot is seen."""
    streams, rows = index.streams, index.slot_rows()
    frequency: FloatArray = np.bincount(rows, weights=totals, minlength=streams.n_rows).astype(np.float64)
    square = np.ones(streams.n_rows)
    if len(streams.num_column) or len(streams.seq_num_column) or dataset.attr_val is not None:
        for base, n_rows, which, codes, values in streams.observed_at(dataset, where):
            if len(values) == len(which):  # else one 1 that serves them all
                if n_rows == 1:
                    count, squares = np.array([np.count_nonzero(values)]), np.array([np.square(values).sum()])
                else:
                    count = np.bincount(codes[values != 0], minlength=n_rows)
                    squares = np.bincount(codes, weights=values**2, minlength=n_rows)
                seen = np.flatnonzero(count)
                frequency[base + seen], squares = count[seen], squares[seen]
                square[base + seen] = np.where(squares > 0, squares / count[seen], 1.0)
    return np.maximum(frequency, 1.0)[rows], square[rows]  # a feature may be seen with the value 0 alone
