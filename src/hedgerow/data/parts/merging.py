"""A corpus that is read in parts, each by itself: the schema of the whole, and every part by it.

The schema is the one that `learn` makes of all parts at once, to the bit: columns in order of name, values in order of
their first appearance, sorted labels. What depends on how often a key occurs in the whole (`n_values`) is asked first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from itertools import chain
from typing import Any, NamedTuple, NoReturn

import numpy as np

from hedgerow.data.dataset import Column, Dataset, Label, Schema, Vocabulary, padded_places
from hedgerow.data.labels import learn_part_labels, with_weights
from hedgerow.data.parts.pairwise import SharedSum, answer
from hedgerow.data.reading import Learner
from hedgerow.data.rows import recognise
from hedgerow.data.sequences import Item, Kind, Sequences
from hedgerow.data.settling import SPARSE, by_name, narrow_schema, narrow_vocabulary, renumbered, settle
from hedgerow.data.windows import is_outside
from hedgerow.errors import InputError
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

# ------------------------------------------------------------------------------------------------ reading a part


def count_keys(X: Any, columns: Mapping[str, str] | None) -> tuple[int, dict[str, int]]:
    """The positions of a part, and how many of them have a value of each key that may be a column."""
    learner = Learner(columns, 0)
    learner.read(X, None, None)
    counts = {name: learner.n_positions * SPARSE if b.typed else b.n_values for name, b in learner.builders.items()}
    names = list(learner.numbers.vocabulary)
    for part in learner.numbers.parts:
        for name, n in zip(names, np.bincount(part[1], minlength=len(names)).tolist()):
            counts[name] = counts.get(name, 0) + n
    return learner.n_positions, counts


def frequent_keys(counts: Sequence[tuple[int, dict[str, int]]]) -> set[str]:
    """The keys that are columns in the whole, as `settle` has it."""
    n_positions, total = sum(n for n, _ in counts), dict[str, int]()
    for name, n in chain.from_iterable(part.items() for _, part in counts):
        total[name] = total.get(name, 0) + n
    return {name for name, n in total.items() if n * SPARSE >= n_positions}


class Part(NamedTuple):
    """A part, by a schema of its own.

    appeared : as in `Learnt`
    shape : of its sequences, "blank" where that is not told
    kinds : (of whole sequences, key) → its kind, None where it has no value; flags are numbers here
    number : what errors call it, where that is not its place among the parts: some may be left out
    kept : the numbers of its sequences among those that were given, where some of them do not count
    """

    dataset: Dataset
    appeared: CodeArray
    shape: str
    kinds: dict[tuple[bool, str], Kind | None]
    number: int | None = None
    kept: IndexArray | None = None


def learn_part(X: Any, y: Any, columns: Mapping[str, str] | None, dense: Set[str] | None, weights: Any = None) -> Part:
    """A part by a schema of its own, without a window. dense : the keys that are columns, where that is not said by
    their types; weights : of the sequences, or None"""
    learner = Learner(columns, 0)
    y, offsets = learner.read(X, y, None)
    names, labels = learn_part_labels(y, offsets)
    kinds = _kinds(learner)
    dataset, appeared = settle(learner, offsets, names, labels, dense=dense)
    dataset = with_weights(dataset, weights)
    if weights is not None and dataset.weight_seq is None:
        raise InputError("sample_weight has weights of positions", hint="Give one weight per sequence, or labels None.")
    return Part(dataset, appeared, _shape(X), kinds)


def _kinds(learner: Learner) -> dict[tuple[bool, str], Kind | None]:
    """The kinds of the keys that were read, but of those that may have any."""
    kinds: dict[tuple[bool, str], Kind | None] = {(False, name): "numeric" for name in learner.numbers.vocabulary}
    for constant, builders in ((False, learner.builders), (True, learner.constants)):
        for name, builder in builders.items():
            if builder.declared != "attributes":
                kinds.setdefault((constant, name), "numeric" if builder.kind == "boolean" else builder.kind)
    return kinds


def _shape(X: Any) -> str:
    """The shape of the first sequence that has one."""
    if isinstance(X, Sequences):
        return "blank"
    found = (recognise(one.positions if isinstance(one, Item) else one, i)[0] for i, one in enumerate(X))
    return next((shape for shape in found if shape != "blank"), "blank")


class Seen(NamedTuple):
    """What a part, or some of its sequences, has: its schema, with the values in the order in which they came; of all
    of its sequences their shape and the kinds of their keys, too."""

    schema: Schema
    lengths: IndexArray
    shape: str = "blank"
    kinds: dict[tuple[bool, str], Kind | None] | None = None
    number: int | None = None
    weights: FloatArray | None = None


def _numbered(seen: Sequence[Seen]) -> list[tuple[int, Seen]]:
    """The parts with the numbers that errors give them."""
    return [(p if one.number is None else one.number, one) for p, one in enumerate(seen)]


def see(learnt: Part, kept: IndexArray | None = None) -> Seen:
    """What the sequences `kept` of a part have, or all of them."""
    dataset, weights = learnt.dataset, learnt.dataset.weight_seq
    if kept is None:
        return Seen(dataset.schema, np.diff(dataset.offsets), learnt.shape, learnt.kinds, learnt.number, weights)
    part, columns = dataset.take(kept), {}
    for column, row, _ in part.stored():
        if column.vocabulary is not None:
            vocabulary, _ = narrow_vocabulary(column.vocabulary, row)
            columns[column.name, column.constant] = replace(column, vocabulary=vocabulary)
    schema, _ = narrow_schema(dataset, learnt.appeared, kept, columns)
    return Seen(schema, np.diff(part.offsets), number=learnt.number, weights=part.weight_seq)


# ------------------------------------------------------------------------------------------------ the whole


def merge(seen: Sequence[Seen], labels: tuple[Label, ...] | None = None) -> Schema:
    """The schema of all parts, without means and deviations. labels : those of the whole, where parts are some of it"""
    _check_alike(seen)
    found: dict[tuple[bool, str], list[tuple[int, Column]]] = {}
    for p, one in _numbered(seen):
        for column in one.schema.columns:
            found.setdefault((column.constant, column.name), []).append((p, column))
    order = sorted(found, key=lambda key: (key[0], (key[1],) if key[0] else by_name(key[1])))
    columns = [_merge_column(found[key]) for key in order]
    attributes = _first(one.schema.attributes for one in seen)
    if labels is None:
        labels = merge_labels({p: one.schema.labels for p, one in _numbered(seen)})
    return Schema(tuple(columns), attributes, (0,), labels, 0, seen[0].schema.declared)


def _check_alike(seen: Sequence[Seen]) -> None:
    """Refuse parts of other shapes, and keys that mean something else in another part or are missing in it."""
    shapes = [(p, one.shape) for p, one in _numbered(seen) if one.shape != "blank"]
    for q, shape in shapes[1:]:
        p, first = shapes[0]
        if shape != first:
            what = f"sequences are of the shape {shape!r} in partition {q} and {first!r} in partition {p}"
            raise InputError(what, hint="Mixed types: give all sequences in one shape.")
    known: dict[tuple[bool, str], tuple[int, Kind]] = {}
    for p, one in _numbered(seen):
        for key, kind in (one.kinds or {}).items():
            if kind is not None and known.setdefault(key, (p, kind))[1] != kind:
                _refuse_kind(key[1], p, kind, *known[key])
    every = chain.from_iterable(one.schema.columns for one in seen)
    measured = {(c.constant, c.name): None for c in every if c.kind == "numeric" and np.isnan(c.fill)}  # in their order
    for p, one in _numbered(seen):
        absent = None if one.kinds is None else next((key for key in measured if key not in one.kinds), None)
        if absent is not None:
            hint = "Give all partitions the same columns."
            raise InputError(f"is missing in partition {p}", hint=hint, column=absent[1])


def check_weighted(seen: Sequence[Seen]) -> None:
    """Refuse weights that only some parts have."""
    weighted = [one.weights is not None for one in seen]
    if any(weighted) and not all(weighted):
        what = f"partition {_numbered(seen)[weighted.index(False)][0]} has no weights, and others have some"
        raise InputError(what, hint="Give all partitions weights, or none.")


def check_known(seen: Sequence[Seen], schema: Schema) -> None:
    """Refuse parts with labels that a schema does not know, and columns that mean something else by it."""
    known = {(column.constant, column.name): column.kind for column in schema.columns}
    for p, one in _numbered(seen):
        new = [label for label in one.schema.labels if label not in schema.label_codes]
        if new:
            hint = f"Known: {', '.join(map(repr, schema.labels[:10]))}."
            raise InputError(f"partition {p} has the label {new[0]!r}, which was not seen in training", hint=hint)
        for column in one.schema.columns:
            kind = known.get((column.constant, column.name), column.kind)
            if kind != column.kind:
                what = f"is {column.kind} in partition {p} and was {kind} in training"
                raise InputError(what, hint="Give the types of training.", column=column.name)


def _refuse_kind(name: str, q: int, kind: str, p: int, first: str) -> NoReturn:
    what = f"is {kind} in partition {q} and {first} in partition {p}"
    raise InputError(what, hint="Give all partitions the same types, or declare ⟦columns⟧.", column=name)


def _merge_column(parts: list[tuple[int, Column]]) -> Column:
    """One column of all parts that have it."""
    p, first = parts[0]
    for q, column in parts[1:]:
        if (column.kind, np.isnan(column.fill)) != (first.kind, np.isnan(first.fill)):
            _refuse_kind(first.name, q, column.kind, p, first.kind)
    if first.vocabulary is None:
        return first
    return replace(first, vocabulary=_first(c.vocabulary for _, c in parts if c.vocabulary is not None))


def _first(vocabularies: Any) -> Vocabulary:
    """All texts, in the order of their first appearance."""
    return Vocabulary(list(dict.fromkeys(chain.from_iterable(one.names() for one in vocabularies))))


def merge_labels(parts: Mapping[int, tuple[Label, ...]]) -> tuple[Label, ...]:
    """The labels of all parts, sorted."""
    labels = {label: p for p, names in parts.items() for label in names}
    if not labels:
        raise InputError("y has no label at all", hint="At least one position must be labelled.")
    kinds = {type(label): label for label in labels}
    if len(kinds) > 1:
        one, other = list(kinds.values())[:2]
        what = f"partition {labels[one]} has the label {one!r} and partition {labels[other]} the label {other!r}"
        raise InputError(what, hint="Labels are all str, all int or all bool.")
    return tuple(sorted(labels))


def recode(dataset: Dataset, schema: Schema) -> Dataset:
    """A part, learnt by itself, by the schema of the whole, windows and all. What that does not know is missing."""
    old, n = dataset.schema, dataset.n_sequences
    start, places, size = padded_places(dataset.offsets, schema.gap)
    _, before, _ = padded_places(dataset.offsets, old.gap)
    rows = {(column.name, column.constant): (column, row) for column, row, _ in dataset.stored()}
    arrays: list[AnyArray] = []
    stored_in: list[AnyArray] = [dataset.codes, dataset.numeric, dataset.seq_codes, dataset.seq_numeric]
    for columns, own in zip(schema.groups(), stored_in):
        stored = [column for column in columns if column.derived is None]
        constant, codes = len(arrays) >= 2, len(arrays) % 2 == 0
        width = n if constant else size
        array = np.full((len(stored), width), OUTSIDE if codes else np.nan, dtype=CODE if codes else own.dtype)
        here, there = (slice(None), slice(None)) if constant else (places, before)
        for into, column in zip(array, stored):
            if codes:
                into[here] = MISSING
            known = rows.get((column.name, column.constant))
            if known is not None and not is_outside(column):
                into[here] = _ranks(known[0], column)[known[1][there]] if codes else known[1][there]
        arrays.append(array)
    names = schema.attributes.lookup
    rank = np.array([MISSING, OUTSIDE, *(names.get(t, -FIRST_VALUE) + FIRST_VALUE for t in old.attributes.names())])
    n_own: IndexArray = np.zeros(size, dtype=INDEX)
    n_own[places] = np.diff(dataset.attr_ptr)[before]
    pointers = np.concatenate([[0], np.cumsum(n_own)]).astype(INDEX)
    labels, allowed = _recode_labels(dataset, schema)
    made = replace(
        dataset, schema=schema, start=start, attr_ptr=pointers, codes=arrays[0], numeric=arrays[1],
        seq_codes=arrays[2], seq_numeric=arrays[3], labels=labels, allowed=allowed,
    )  # fmt: skip
    return renumbered(made, schema, rank.astype(CODE))


def _ranks(old: Column, new: Column) -> CodeArray:
    """The new code of each old one."""
    if old.vocabulary is None or new.vocabulary is None:
        return np.arange(old.n_codes, dtype=CODE)
    known = new.vocabulary.lookup
    codes = (known.get(text, -FIRST_VALUE) + FIRST_VALUE for text in old.vocabulary.names())
    return np.array([MISSING, OUTSIDE, *codes], dtype=CODE)


def _recode_labels(dataset: Dataset, schema: Schema) -> tuple[CodeArray, AnyArray | None]:
    assert dataset.labels is not None
    codes: CodeArray = np.array([schema.label_codes[label] for label in dataset.schema.labels], dtype=CODE)
    labels = dataset.labels.copy()
    labels[labels >= 0] = codes[labels[labels >= 0]]
    if dataset.allowed is None:
        return labels, None
    allowed: AnyArray = np.zeros((len(labels), len(schema.labels)), dtype=bool)
    allowed[:, codes] = dataset.allowed
    allowed[~dataset.allowed.any(axis=1)] = True  # no set says anything here: see `learn_part_labels`
    return labels, allowed


# ------------------------------------------------------------------------------------------------ means, deviations


class Spread(NamedTuple):
    """The numbers of a column in a part: how many, the least, the largest and the first (NaN where there is none)."""

    n: int
    least: float
    largest: float
    first: float


def known_numbers(dataset: Dataset) -> list[FloatArray]:
    """The numbers that are there of each measured column, as `derived.standard` has them."""
    found = []
    for column, row, where in dataset.stored():
        if column.kind == "numeric" and np.isnan(column.fill):
            values = row[where]
            found.append(values[values == values].astype(FLOAT, copy=False))
    return found


def spreads(dataset: Dataset) -> list[Spread]:
    """What the columns of a part have."""
    return [
        Spread(len(x), x.min(), x.max(), x[0]) if len(x) else Spread(0, np.nan, np.nan, np.nan)
        for x in known_numbers(dataset)
    ]


def sums(dataset: Dataset, wanted: list[list[Any]], centers: list[float] | None, scales: list[float]) -> list[Any]:
    """Sums of the numbers of each column, or of squares of their distances from its center."""
    given = []
    for j, numbers in enumerate(known_numbers(dataset)):
        x = numbers if scales[j] == 1.0 else numbers / scales[j]
        if centers is not None:
            x = x - centers[j]
            x = x * x
        given.append(answer(x, wanted[j]))
    return given


class Averages:
    """The measured columns of all parts. each(function, one list of arguments a part)

    sizes : how many numbers each has; ends : the least and the largest; firsts : the first; scales : by which numbers
        are divided, lest a sum is too large; means : of what is left
    """

    def __init__(self, each: Any) -> None:
        self.each, found = each, each(spreads)
        columns: list[tuple[Spread, ...]] = list(zip(*found))
        self.sizes = [sum(part.n for part in parts) for parts in columns]
        known = [[part for part in parts if part.n] for parts in columns]
        ends = [[(part.least, part.largest) for part in own] or [(0.0, 0.0)] for own in known]
        self.ends = [(min(low), max(high)) for low, high in (zip(*own) for own in ends)]
        self.firsts = [own[0].first if own else 0.0 for own in known]
        self.scales = [2.0**600 if max(abs(a), abs(b)) > 1e150 else 1.0 for a, b in self.ends]
        self._plans = [SharedSum([part.n for part in parts]) for parts in columns]
        self._wanted = [[plan.wanted[p] for plan in self._plans] for p in range(len(found))]
        self.means = self.of(None)

    def of(self, centers: list[float] | None) -> list[float]:
        """The averages, or those of squares of distances from centers."""
        answers = self.each(sums, [(one, centers, self.scales) for one in self._wanted])
        totals = [plan.total([answer[j] for answer in answers]) for j, plan in enumerate(self._plans)]
        return [total / max(1, size) for total, size in zip(totals, self.sizes)]


def standardise(schema: Schema, each: Any) -> Schema:
    """The schema with the means and deviations of its numbers. each : as of `Averages`"""
    numbers = Averages(each)
    made: list[tuple[float, float]] = []
    for j, square in enumerate(numbers.of(numbers.means)):
        low, high = numbers.ends[j]
        center, spread = numbers.scales[j] * numbers.means[j], numbers.scales[j] * float(np.sqrt(square))
        if low == high:
            center = numbers.firsts[j]
        made.append((center, spread) if low < high and spread > 1e-12 * abs(center) else (center, 1.0))
    measured = [c for c in chain.from_iterable(schema.groups()) if c.kind == "numeric" and np.isnan(c.fill)]
    known = {(c.name, c.constant): replace(c, center=a, spread=b) for c, (a, b) in zip(measured, made)}
    return replace(schema, columns=tuple(known.get((c.name, c.constant), c) for c in schema.columns))
