"""From what was gathered to a Dataset: which keys become columns, with which codes; and the same of some sequences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from hedgerow.data.columns import (
    AttributeBuilder,
    ColumnBuilder,
    Values,
    attribute_name,
    check_reach,
    flag_codes,
    gathered,
    window_offsets,
)
from hedgerow.data.dataset import OUTSIDE_COLUMN, Column, Dataset, Label, Run, Schema, Vocabulary, padded_places, run_of
from hedgerow.data.derived import standard, standardised
from hedgerow.data.labels import CodedLabels
from hedgerow.data.reading import Learner
from hedgerow.data.sequences import Kind
from hedgerow.errors import InputError, warn
from hedgerow.legend import (
    CODE,
    FIRST_VALUE,
    FLOAT,
    INDEX,
    MISSING,
    OUTSIDE,
    AnyArray,
    CodeArray,
    FloatArray,
    IndexArray,
)

# A key of a dict that stands at fewer positions than one in SPARSE becomes an attribute (an entry where it stands)
# and not a column (a cell everywhere). The meaning is the same; below this share the entries take less memory.
SPARSE = 16

Entries = tuple[IndexArray, CodeArray, FloatArray | None]  # positions, attributes, weights (None: all 1)


class Learnt(NamedTuple):
    """A corpus, and the attributes of its entries in the order in which they came, which `narrow` numbers them by.

    appeared : int32[nnz], as `Dataset.attr_id`, but at each position in the order of the data
    """

    dataset: Dataset
    appeared: CodeArray


def settle(
    learner: Learner,
    offsets: IndexArray,
    names: tuple[Label, ...],
    labels: CodedLabels | None,
    *,
    dense: Set[str] | None = None,
) -> Learnt:
    """The Dataset of a corpus that was read, with its schema. What was gathered is used up.

    names : all labels, sorted
    labels : those of the positions, or None
    dense : the keys that are frequent, where this is a part of a corpus
    """
    window, n_positions = learner.window, int(offsets[-1])
    named = set(window) if isinstance(window, Mapping) else set()
    frequent = _Frequent(n_positions, named, dense)
    _settle_numbers(learner, frequent)
    kept = _settle_columns(learner, frequent)
    _check_window(learner, named, kept)
    where, ids, values = by_position(learner.attributes.parts)
    texts = list(learner.attributes.vocabulary)
    order, rank = first_appearance(ids + CODE(FIRST_VALUE), len(texts))
    ids = rank[FIRST_VALUE + ids] - CODE(FIRST_VALUE)
    attribute_offsets = window_offsets(window, "*") if len(where) else (0,)
    plan = [(builder, window_offsets(window, builder.name), False) for builder in kept]
    reads = [o for builder, reach, _ in plan if builder.kind == "numeric" for o in reach]
    beside = tuple(sorted({*reads, *attribute_offsets} - {0}))
    if beside:  # what lies outside is said in a column of its own for numbers and attributes: see OUTSIDE_COLUMN
        plan.append((ColumnBuilder(OUTSIDE_COLUMN, "categorical"), beside, False))
    plan += [(builder, (0,), True) for _, builder in sorted(learner.constants.items()) if builder.kind is not None]
    gap = max(abs(o) for reach in (attribute_offsets, *(reach for _, reach, _ in plan)) for o in reach)
    check_reach(gap, int(np.diff(offsets).max()))
    start, places, size = padded_places(offsets, gap)
    vocabulary = Vocabulary([texts[i] for i in order])
    rows, (codes, numeric, *constants) = blank_columns(
        [(builder.kind or "categorical", constant) for builder, _, constant in plan],
        places,
        size,
        len(start),
        [v for builder, _, constant in plan if builder.kind == "numeric" and not constant for _, v in builder.parts],
    )
    attributes = compress_rows((where, ids, values), places, size)
    each = np.arange(len(start), dtype=INDEX)
    there = _Runs(places), _Runs(each)
    columns = [
        _write(builder, row, there[constant], reach, constant)
        for builder, row, (_, reach, constant) in zip(gathered([builder for builder, _, _ in plan]), rows, plan)
    ]
    schema = Schema(tuple(columns), vocabulary, attribute_offsets, names, window, dict(learner.declared))
    dataset = Dataset(schema, offsets, start, codes, numeric, *attributes, *constants, *(labels or ()))
    return Learnt(dataset, ids)


class _Frequent(NamedTuple):
    """Which keys become columns: those named, those at enough positions, and of a part of a corpus those in `dense`."""

    n_positions: int
    named: Set[str]
    dense: Set[str] | None

    def holds(self, name: str, n_values: int) -> bool:
        if self.dense is not None:
            return name in self.dense or name in self.named
        return name in self.named or n_values * SPARSE >= self.n_positions


def _settle_numbers(learner: Learner, column: _Frequent) -> None:
    """Numbers that came in bulk: frequent keys become columns, the rest stay attributes."""
    if not learner.numbers.parts:
        return
    names = list(learner.numbers.vocabulary)
    where = np.concatenate([p[0] for p in learner.numbers.parts])
    keys = np.concatenate([p[1] for p in learner.numbers.parts])
    values = np.concatenate([p[2] for p in learner.numbers.parts if p[2] is not None])
    flags = np.concatenate(learner.number_flags)
    counts = np.bincount(keys, minlength=len(names)).tolist()
    held = (name in learner.builders or column.holds(name, n) for name, n in zip(names, counts))
    frequent = np.fromiter(held, np.bool_, len(names))
    entries = np.flatnonzero(frequent[keys])
    entries = entries[np.argsort(keys[entries], kind="stable")]
    sorted_keys = keys[entries]
    for key in np.flatnonzero(frequent):
        begin, end = np.searchsorted(sorted_keys, [key, key + 1])
        rows = entries[begin:end]
        kind: Kind = "boolean" if flags[rows].all() else "numeric"
        learner.builder(names[key]).add(Values(kind, where[rows], numbers=values[rows]), learner.locate)
    rest = np.flatnonzero(~frequent[keys])
    learner.attributes.add_coded(where[rest], keys[rest], names, values[rest])
    learner.numbers.parts.clear()


def _settle_columns(learner: Learner, column: _Frequent) -> list[ColumnBuilder]:
    """The keys that become columns, in stored order. The others are handed to the attributes."""
    dense = []
    for name in sorted(learner.builders, key=by_name):
        builder = learner.builders[name]
        frequent = builder.typed or column.holds(name, builder.n_values)
        if frequent and builder.kind not in (None, "attributes") and builder.declared != "attributes":
            dense.append(builder)
            n, rows = len(builder.vocabulary), builder.n_values
            if builder.typed and builder.declared is None and name != "token" and rows >= 100 and n > 0.9 * rows:
                what = f"the column {name!r} has {n:,} different values at {rows:,} positions, so that it tells little"
                warn(f"{what}; leave it out⟦; or declare it 'categorical' with columns⟧", stacklevel=6)
        elif builder.parts:
            _to_attributes(builder, learner.attributes)
    return dense


def _to_attributes(builder: ColumnBuilder, attributes: AttributeBuilder) -> None:
    """Hand the values over as attributes, named as python-crfsuite does: key:text, or key."""
    where, values = (np.concatenate(arrays) for arrays in zip(*builder.parts))
    builder.parts.clear()
    if builder.kind in ("numeric", "boolean"):
        kept = np.flatnonzero(values == values)
        attributes.add_coded(where[kept], np.zeros(len(kept), dtype=CODE), [builder.name], values[kept])
    else:
        names = [attribute_name(builder.name, text) for text in builder.vocabulary]
        attributes.add_coded(where, values, names, None)


def _check_window(learner: Learner, named: Set[str], dense: list[ColumnBuilder]) -> None:
    columns = {builder.name for builder in dense}
    for name in sorted(named - columns - {"*"}, key=str):
        if name in learner.builders and learner.builders[name].kind is not None:
            what, hint = "is a list of attributes, and they have one window in all", 'Name it "*".'
        elif name in learner.constants:
            what, hint = "is a feature of the whole sequence and has no window", "Leave it out of ⟦window⟧."
        elif name in learner.builders or name in learner.declared:
            continue  # a column without any value
        else:
            known = ", ".join(sorted(columns, key=by_name)[:10])
            what, hint = "has a window and is not in the data", f"Columns: {known}."
        raise InputError(what, hint=hint, column=str(name))


def by_name(name: str) -> tuple[int, int, str]:
    return (0, int(name), name) if name.isdecimal() and name.isascii() else (1, 0, name)


class _Runs:
    """The padded places of positions, as `places_of` gives them: most columns stand at the same ones."""

    def __init__(self, places: IndexArray) -> None:
        self.places, self.every = places, run_of(places)
        self._last: tuple[IndexArray, Run] | None = None

    def of(self, where: IndexArray) -> Run:
        if self._last is None or self._last[0] is not where:
            self._last = where, places_of(where, self.places)
        return self._last[1]


def _write(builder: ColumnBuilder, row: AnyArray, runs: _Runs, reach: tuple[int, ...], constant: bool) -> Column:
    """Write the codes or numbers of a column into its row, and forget them."""
    kind = builder.kind or "categorical"
    for where, values in builder.parts:
        there = runs.of(where)
        if kind == "boolean":
            row[there] = flag_codes(values)
        else:
            row[there] = values + FIRST_VALUE if kind == "categorical" else values
    builder.parts.clear()
    if kind != "categorical":
        fill = np.nan if kind == "numeric" and builder.typed else 0.0
        center, spread = standard(row[runs.every]) if np.isnan(fill) else (0.0, 1.0)
        return Column(builder.name, kind, reach, None, fill, constant, center, spread)
    texts = list(builder.vocabulary)
    builder.vocabulary.clear()
    order, rank = first_appearance(row, len(texts))
    np.copyto(row, rank[row])
    return Column(builder.name, kind, reach, Vocabulary([texts[i] for i in order]), constant=constant)


def places_of(where: IndexArray, places: IndexArray) -> Run:
    """The padded places of some positions; `places` are those of all, which rise."""
    run = run_of(where)
    if not isinstance(run, slice):
        return places[run]
    first, last = int(places[run.start]), int(places[run.stop - 1])
    return slice(first, last + 1) if last - first == run.stop - 1 - run.start else places[run]


def first_appearance(codes: CodeArray, n_values: int) -> tuple[IndexArray, CodeArray]:
    """The values that occur, in order of their first place in `codes`, and the map from old codes to new ones: MISSING
    for those that do not occur."""
    first = np.full(n_values + FIRST_VALUE, len(codes), dtype=INDEX)
    first[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)
    order = np.argsort(first[FIRST_VALUE:], kind="stable")
    order = order[: np.count_nonzero(first[FIRST_VALUE:] < len(codes))]
    rank = np.full(n_values + FIRST_VALUE, MISSING, dtype=CODE)
    rank[OUTSIDE] = OUTSIDE
    rank[FIRST_VALUE + order] = np.arange(FIRST_VALUE, len(order) + FIRST_VALUE, dtype=CODE)
    return order, rank


def blank_columns(
    shapes: list[tuple[Kind, bool]], places: IndexArray, size: int, n_sequences: int, numbers: Iterable[AnyArray]
) -> tuple[Iterator[AnyArray], list[AnyArray]]:
    """The column arrays of a Dataset before any value is in them: inside all is missing, outside all is outside.

    `shapes` gives kind and constancy of each column, in stored order; numbers of positions are float32 where all
    `numbers` are. Returned are the array of each column, a view of the array that holds all columns of its group, and
    `codes`, `numeric`, `seq_codes` and `seq_numeric`. A column takes memory when its turn comes, so that the values to
    write into it can be forgotten one column after the other.
    """
    number = np.float32 if {values.dtype for values in numbers} == {np.dtype(np.float32)} else FLOAT
    groups: dict[tuple[bool, bool], AnyArray] = {}
    for constant in (False, True):
        for numeric in (False, True):
            n = sum((kind == "numeric", c) == (numeric, constant) for kind, c in shapes)
            shape = n, n_sequences if constant else size
            groups[numeric, constant] = np.empty(shape, dtype=(FLOAT if constant else number) if numeric else CODE)

    def rows() -> Iterator[AnyArray]:
        left = {group: iter(array) for group, array in groups.items()}
        for kind, constant in shapes:
            row = next(left[kind == "numeric", constant])
            row.fill(np.nan if kind == "numeric" else OUTSIDE)
            if kind != "numeric":
                row[slice(None) if constant else places] = MISSING
            yield row

    return rows(), list(groups.values())


def by_position(parts: list[Entries]) -> Entries:
    """The attributes of all parts, sorted by position; those of one position keep their order."""
    where = np.concatenate([np.empty(0, dtype=INDEX), *(p[0] for p in parts)])
    ids = np.concatenate([np.empty(0, dtype=CODE), *(p[1] for p in parts)])
    values: FloatArray | None = None
    if any(p[2] is not None for p in parts):
        values = np.concatenate([np.ones(len(p[0])) if p[2] is None else p[2] for p in parts])
        values = None if np.all(values == 1.0) else values
    if np.any(where[1:] < where[:-1]):
        order = np.argsort(where, kind="stable")
        where, ids = where[order], ids[order]
        values = None if values is None else values[order]
    return where, ids, values


def compress_rows(entries: Entries, places: IndexArray, size: int) -> Entries:
    """`attr_ptr`, `attr_id` and `attr_val` of a Dataset, from attributes sorted by position.

    Those of one position are sorted, so that the rows do not depend on the order in which the keys of a dict stand.
    """
    where, ids, values = entries
    key = where * (int(ids.max(initial=0)) + 1) + ids
    if np.any(key[1:] < key[:-1]):
        order = np.argsort(key, kind="stable")
        ids = ids[order]  # `where` is sorted already
        values = None if values is None else values[order]
    ptr = np.zeros(size + 1, dtype=INDEX)
    np.cumsum(np.bincount(places[where], minlength=size), out=ptr[1:])
    return ptr, ids, values


# ------------------------------------------------------------------------------------------------ some sequences


def narrow(learnt: Learnt, kept: IndexArray, part: Dataset, rest: Dataset) -> tuple[Dataset, Dataset]:
    """Some sequences as if no others had been read, and others by the schema that is learnt from these.

    part, rest : the sequences `kept` of the corpus, and others, as `Dataset.take` gives them

    What `part` alone says is learnt anew: values and attributes in the order of their first appearance, means and
    deviations. Which keys are columns, and of which kind, is as in the whole corpus.
    """
    columns: dict[tuple[str, bool], Column] = {}
    part, rest = _narrow_columns(part, rest, columns)
    schema, rank = narrow_schema(learnt.dataset, learnt.appeared, kept, columns)
    return renumbered(part, schema, rank), renumbered(rest, schema, rank)


def narrow_schema(
    whole: Dataset, appeared: CodeArray, kept: IndexArray, columns: Mapping[tuple[str, bool], Column]
) -> tuple[Schema, CodeArray]:
    """The schema of the sequences `kept` of a corpus, with these columns in place of those of their names; and the new
    numbers of its attributes, as `renumbered` takes them. appeared : as in `Learnt`"""
    begin = whole.attr_ptr[whole.start[kept]]
    sizes = whole.attr_ptr[whole.start[kept] + np.diff(whole.offsets)[kept]] - begin
    entries = np.repeat(begin - (np.cumsum(sizes) - sizes), sizes) + np.arange(int(sizes.sum()), dtype=INDEX)
    attributes, rank = narrow_vocabulary(whole.schema.attributes, appeared[entries] + CODE(FIRST_VALUE))
    own = tuple(columns.get((column.name, column.constant), column) for column in whole.schema.columns)
    return replace(whole.schema, columns=own, attributes=attributes), rank


def narrow_vocabulary(vocabulary: Vocabulary, codes: CodeArray) -> tuple[Vocabulary, CodeArray]:
    """The values that occur among codes, in the order of their first appearance; and the map from old codes to new
    ones, as `first_appearance` gives it."""
    texts = vocabulary.names()
    order, rank = first_appearance(codes, len(texts))
    return Vocabulary([texts[i] for i in order]), rank


def _narrow_columns(part: Dataset, rest: Dataset, columns: dict[tuple[str, bool], Column]) -> tuple[Dataset, Dataset]:
    """The values of both by what `part` has of them; columns that say something else now are added to `columns`."""
    own: list[AnyArray] = [part.codes.copy(), part.numeric, part.seq_codes.copy(), part.seq_numeric]
    other: list[AnyArray] = [rest.codes.copy(), rest.numeric, rest.seq_codes.copy(), rest.seq_numeric]
    for (column, row, where), (_, beside, _) in zip(part.stored(*own), rest.stored(*other)):
        if column.vocabulary is not None:
            vocabulary, rank = narrow_vocabulary(column.vocabulary, row)
            row[:], beside[:] = rank[row], rank[beside]
            columns[column.name, column.constant] = replace(column, vocabulary=vocabulary)
        elif column.kind == "numeric" and np.isnan(column.fill):
            columns[column.name, column.constant] = _standardised(part, column, row[where])
    columns |= {(c.name, False): standardised(part, c) for c in part.schema.columns if c.derived is not None}
    return replace(part, codes=own[0], seq_codes=own[2]), replace(rest, codes=other[0], seq_codes=other[2])


def _standardised(dataset: Dataset, column: Column, numbers: FloatArray) -> Column:
    """The column with the mean and the deviation of its numbers, as their sequences count."""
    weights = dataset.spread_weights()
    center, spread = standard(numbers, dataset.weight_seq if column.constant and weights is not None else weights)
    return replace(column, center=center, spread=spread)


def by_weight(dataset: Dataset) -> Schema:
    """The schema of a corpus with the means and deviations of its numbers as its sequences count."""
    old = dataset.schema
    if dataset.spread_weights() is None:
        return old
    numbers = {
        (column.name, column.constant): _standardised(dataset, column, row[where])
        for column, row, where in dataset.stored()
        if column.kind == "numeric" and np.isnan(column.fill)
    }
    numbers |= {(c.name, False): standardised(dataset, c) for c in old.columns if c.derived is not None}
    return replace(old, columns=tuple(numbers.get((column.name, column.constant), column) for column in old.columns))


def renumbered(dataset: Dataset, schema: Schema, rank: CodeArray) -> Dataset:
    """The corpus with attributes by their new numbers (rank, as of codes), without those that have none."""
    size = len(dataset.attr_ptr) - 1
    ids = rank[FIRST_VALUE + dataset.attr_id] - CODE(FIRST_VALUE)
    where, known = np.repeat(np.arange(size, dtype=INDEX), np.diff(dataset.attr_ptr)), np.flatnonzero(ids >= 0)
    values = None if dataset.attr_val is None else dataset.attr_val[known]
    entries = by_position([(where[known], ids[known], values)])
    ptr, ids, values = compress_rows(entries, np.arange(size, dtype=INDEX), size)
    return replace(dataset, schema=schema, attr_ptr=ptr, attr_id=ids, attr_val=values)
