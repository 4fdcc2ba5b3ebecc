"""Labels as features: a corpus whose positions also have the labels before them (or after them).

A classifier of positions becomes a model of sequences when it sees the last labels too. Trees see each of them as a
categorical column. A linear model sees the runs of the last 1, 2, … labels, and features of the input conjoined with
the last label, as McCallum's maximum entropy Markov model has them: both as attributes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from hedgerow.data.dataset import Column, Dataset, Schema, Vocabulary, padded_places
from hedgerow.data.labels import without_labels
from hedgerow.errors import InputError
from hedgerow.legend import CODE, FIRST_VALUE, INDEX, MISSING, OUTSIDE, UNLABELLED, CodeArray, FloatArray, IndexArray
from hedgerow.linear.index import Streams, row_names
from hedgerow.trees.nodes import MAX_BINS

MAX_ORDER = 8

_Entries = tuple[IndexArray, IndexArray, FloatArray]  # flat positions, attributes, values (one stands for all)


def label_histories(labels: CodeArray, offsets: IndexArray, n_labels: int, order: int, *, backward: bool) -> CodeArray:
    """int32 (N, order): the labels 1, 2, … places before each position, or after it where `backward`.

    K stands for ⊥, outside of the sequence, and UNLABELLED where a label is not known.
    """
    lengths = np.diff(offsets)
    place = np.arange(len(labels)) - np.repeat(offsets[:-1], lengths)
    n_before = np.repeat(lengths, lengths) - 1 - place if backward else place
    histories: CodeArray = np.full((len(labels), order), n_labels, dtype=CODE)
    for i in range(order):
        inside = np.flatnonzero(n_before > i)
        histories[inside, i] = labels[inside + (i + 1 if backward else -i - 1)]
    return histories


def hide_unknown(dataset: Dataset, histories: CodeArray) -> Dataset:
    """The corpus without the labels of positions that have an unknown label before them: no row can be made of them."""
    unknown = (histories == UNLABELLED).any(axis=1)
    if not unknown.any() or dataset.labels is None:
        return dataset
    return without_labels(dataset, unknown)


# ------------------------------------------------------------------------------------------------ columns, for trees


def column_names(order: int, *, backward: bool) -> list[str]:
    """What the columns of labels are called."""
    return [f"(label {i + 1 if backward else -i - 1:+d})" for i in range(order)]


def label_codes(histories: CodeArray, n_labels: int) -> CodeArray:
    """Labels of histories as codes of their columns."""
    codes = np.where(histories == n_labels, OUTSIDE, histories + FIRST_VALUE)
    return np.where(histories == UNLABELLED, MISSING, codes).astype(CODE)


def label_schema(schema: Schema, order: int, *, backward: bool) -> Schema:
    """The columns of a corpus and, after them, one for each of the last labels, in which trees see it."""
    check_label_columns(len(schema.labels), order)
    vocabulary = Vocabulary([str(label) for label in schema.labels])
    names = column_names(order, backward=backward)
    added = [Column(name, "categorical", vocabulary=vocabulary) for name in names]
    return add_columns(schema, added, "a label")


def check_label_columns(n_labels: int, order: int) -> None:
    """Refuse more labels than a column of trees has bins for."""
    most = MAX_BINS - 2
    if order and n_labels > most:
        what = f"trees that see previous labels can tell {most} apart, and there are {n_labels}"
        raise InputError(what, hint="Use a linear estimator, or a TreeCRF itself.")


def with_label_columns(dataset: Dataset, histories: CodeArray, *, backward: bool) -> Dataset:
    """The corpus with a categorical column for each label of the histories (N, order), as its last columns."""
    if not histories.shape[1]:
        return dataset
    schema = label_schema(dataset.schema, histories.shape[1], backward=backward)
    return append_codes(hide_unknown(dataset, histories), schema, label_codes(histories, dataset.n_labels).T)


def add_columns(schema: Schema, added: Sequence[Column], of: str) -> Schema:
    """The schema with more columns, which no other may be named like. of : what they are columns of, for an error"""
    taken = {column.name for column in schema.columns}
    for column in added:
        if column.name in taken:
            raise InputError(f"is a name that the column of {of} needs", hint="Rename it.", column=column.name)
    return replace(schema, columns=(*schema.columns, *added))


def append_codes(dataset: Dataset, schema: Schema, codes: CodeArray) -> Dataset:
    """The corpus with the coded columns (columns, N) that `schema` has after those of the corpus."""
    _, places, size = padded_places(dataset.offsets, schema.gap)
    padded: CodeArray = np.full((len(codes), size), OUTSIDE, dtype=CODE)
    padded[:, places] = codes
    return replace(dataset, schema=schema, codes=np.concatenate([dataset.codes, padded]))


# ------------------------------------------------------------------------------------------------ runs of labels


@dataclass(frozen=True)
class LabelRuns:
    """Which runs of labels, and which conjunctions of a feature with the last label, a linear model has attributes for.

    order : the longest run
    backward : whether labels are those after a position
    columns : the columns whose features are conjoined ("*" for the attributes); None for all, () for none
    conjoined : int64[C], rising, feature row · (K+1) + last label; rows as in Streams.of(schema, columns)
    runs : int64[·] for each length 1 … order, rising, the runs as numbers (see `run_keys`)
    """

    order: int
    backward: bool
    columns: tuple[str, ...] | None
    conjoined: IndexArray
    runs: tuple[IndexArray, ...]

    @classmethod
    def observed(
        cls, dataset: Dataset, histories: CodeArray, columns: Iterable[str] | None, *, backward: bool
    ) -> LabelRuns:
        """Those of a labelled corpus."""
        K, order = dataset.n_labels, histories.shape[1]
        if order and (K + 1) ** (order + 1) >= 2**62:
            raise InputError(f"runs of {order} of {K} labels are too many to count", hint="Give a lower ⟦order⟧.")
        names = None if columns is None else tuple(sorted(columns))
        empty = cls(order, backward, names, np.empty(0, INDEX), (np.empty(0, INDEX),) * order)
        used = _usable(histories)
        keys = [np.unique(key) for _, key, _ in empty._conjunctions(dataset, histories, used)]
        conjoined = np.concatenate([np.empty(0, INDEX), *keys])
        runs = tuple(np.unique(key) for _, key in _runs(histories[used], K))
        return replace(empty, conjoined=conjoined, runs=runs)

    def streams(self, schema: Schema) -> Streams:
        """The features that are conjoined."""
        return Streams.of(schema, None if self.columns is None else set(self.columns))

    def schema(self, schema: Schema) -> Schema:
        """The schema of the corpus that `attach` makes: attributes have no window, each has its name at its offset."""
        plain = row_names(schema, {"*"})
        labels = [*map(str, schema.labels), "⊥"]
        rows, last = np.divmod(self.conjoined, len(labels))
        of_row = row_names(schema, None if self.columns is None else set(self.columns))
        both = [f"{of_row[r]} & {labels[u]}" for r, u in zip(rows.tolist(), last.tolist())]
        return replace(schema, attributes=Vocabulary([*plain, *both, *self.run_names(schema)]), attribute_offsets=(0,))

    def run_names(self, schema: Schema) -> list[str]:
        """What the attributes of runs are called."""
        labels = [*map(str, schema.labels), "⊥"]
        return [self._run_name(key, i + 1, labels) for i, keys in enumerate(self.runs) for key in keys]

    def _run_name(self, key: int, length: int, labels: list[str]) -> str:
        base = len(labels)
        run = [labels[int(key) // base**i % base] for i in range(length)]
        return " ".join(["after", *run[::-1]]) if not self.backward else " ".join(["before", *run])

    def attach(self, dataset: Dataset, histories: CodeArray, schema: Schema) -> Dataset:
        """The corpus with its own attributes, conjunctions and runs. `schema` is what the method of this name gave.

        This copies the features of windows: 4 bytes for each that is conjoined, 12 where some have values.
        """
        used = _usable(histories)
        everywhere = np.arange(dataset.n_positions)
        parts = [*_attributes(dataset, everywhere), *self._known(dataset, histories, used)]
        _, places, size = padded_places(dataset.offsets, dataset.schema.gap)
        ptr, ids, values = _compress(parts, places, size)
        hidden = hide_unknown(dataset, histories)
        return replace(hidden, schema=schema, attr_ptr=ptr, attr_id=ids, attr_val=values)

    def _known(self, dataset: Dataset, histories: CodeArray, used: IndexArray) -> Iterator[_Entries]:
        """Conjunctions and runs that have an attribute."""
        first = dataset.schema.n_attributes * len(dataset.schema.attribute_offsets)
        for where, key, values in self._conjunctions(dataset, histories, used):
            place, there = look_up(self.conjoined, key)
            yield where[there], first + place[there], values if len(values) == 1 else values[there]
        first += len(self.conjoined)
        for i, (which, key) in enumerate(_runs(histories[used], dataset.n_labels)):
            place, there = look_up(self.runs[i], key)
            yield used[which[there]], first + place[there], np.ones(1)
            first += len(self.runs[i])

    def _conjunctions(self, dataset: Dataset, histories: CodeArray, used: IndexArray) -> Iterator[_Entries]:
        """Flat positions, keys and values of the features of each stream, with the last label."""
        if not self.order or self.columns == ():
            return
        K, streams = dataset.n_labels, self.streams(dataset.schema)
        last = histories[used, 0].astype(INDEX)
        for base, _, which, rows, values in streams.observed_at(dataset, used):
            yield used[which], (base + rows) * (K + 1) + last[which], values


def look_up(keys: IndexArray, wanted: IndexArray) -> tuple[IndexArray, IndexArray]:
    """The place of each wanted key among rising keys, and which of them are there."""
    place = np.searchsorted(keys, wanted)
    place[place == len(keys)] = 0
    there = np.flatnonzero(keys[place] == wanted) if len(keys) else np.empty(0, INDEX)
    return place, there


def run_keys(histories: CodeArray, n_labels: int, length: int) -> IndexArray:
    """int64 (m,): the last `length` labels of histories as a number, the last label in the lowest place."""
    digits = (n_labels + 1) ** np.arange(length, dtype=INDEX)
    return histories[:, :length].astype(INDEX) @ digits


def _runs(histories: CodeArray, n_labels: int) -> Iterator[tuple[IndexArray, IndexArray]]:
    """For each length, which histories have such a run, and its key. One that goes beyond ⊥ says no more than ⊥."""
    for length in range(1, histories.shape[1] + 1):
        within = (histories[:, : length - 1] != n_labels).all(axis=1)
        which = np.flatnonzero(within)
        yield which, run_keys(histories[which], n_labels, length)


def _usable(histories: CodeArray) -> IndexArray:
    """The positions whose history is known."""
    return np.flatnonzero((histories != UNLABELLED).all(axis=1))


def _attributes(dataset: Dataset, where: IndexArray) -> Iterator[_Entries]:
    """The corpus' own attributes, numbered anew: one for each and each offset of their window."""
    for base, _, which, rows, values in Streams.of(dataset.schema, {"*"}).observed_at(dataset, where):
        yield where[which], base + rows, values


def _compress(parts: list[_Entries], places: IndexArray, size: int) -> tuple[IndexArray, CodeArray, FloatArray | None]:
    """Entries as lists by padded place: pointers, attributes, and values where some are not 1."""
    where = np.concatenate([np.empty(0, INDEX), *(places[part[0]] for part in parts)])
    ids = np.concatenate([np.empty(0, INDEX), *(part[1] for part in parts)])
    order = np.argsort(where, kind="stable")
    counts = np.bincount(where, minlength=size)
    ptr = np.concatenate([np.zeros(1, INDEX), np.cumsum(counts, dtype=INDEX)])
    values = None
    if any(len(part[2]) != 1 or part[2][0] != 1.0 for part in parts if len(part[0])):
        filled = [np.broadcast_to(part[2], part[0].shape) for part in parts]
        values = np.concatenate([np.empty(0), *filled])[order]
    return ptr, ids[order].astype(CODE), values
