"""Rows of a table, cut into sequences by the values of a group column, and by their times."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from hedgerow.data.readers.columns import BadValue, check_known, is_null, nested, objects, plain_labels, read_columns
from hedgerow.data.readers.times import Clock, Timing
from hedgerow.data.sequences import KINDS, Kind, Sequences
from hedgerow.errors import InputError, among, shown
from hedgerow.legend import INDEX, AnyArray, BoolArray, IndexArray

Kinds = Mapping[str, Kind]
Names = str | int | Sequence[Any] | None
NO_TIME = Timing()


class Table(Protocol):
    """Named columns of N rows, wherever they come from."""

    path: str | None
    names: list[str]

    def __len__(self) -> int:
        """The number of rows."""

    def times(self, name: str) -> Clock:
        """The column as the times of the rows."""

    def values(self, name: str) -> list[Any]:
        """The column as plain Python values."""

    def column(self, name: str, kind: Kind | None) -> tuple[Kind, AnyArray]:
        """The column as `Sequences` holds it, of this kind or of the kind that it has by itself."""

    def line(self, row: int) -> int | None:
        """The line of the file where a row stands, if it comes from one."""


class CutRows(NamedTuple):
    """A table cut into sequences. order : (N,), its rows as they come in the sequences"""

    X: Sequences
    y: AnyArray | None
    order: IndexArray


def cut(
    table: Table,
    by: Names,
    label: str | None,
    columns: Sequence[str] | None,
    constant: Names,
    kinds: Kinds | None,
    *,
    timing: Timing = NO_TIME,
    allow_missing: bool = True,
) -> CutRows:
    """Cut a table into sequences; the parameters are those of `hedgerow.sequences` and of `read_table`."""
    groups, constant = as_names(by), as_names(constant)
    kinds = dict(kinds or {})
    used = [*groups, *(name for name in (label, timing.time) if name is not None)]
    features = [name for name in table.names if name not in used] if columns is None else list(columns)
    features += [name for name in constant if name not in features]
    known = f"Columns are {shown(table.names, 20)}."
    there = set(table.names)
    unknown = next((name for name in [*used, *features, *kinds] if name not in there), None)
    if unknown is not None:
        known += " Name the one with the labels by ⟦label⟧." if unknown == label else ""
        known += " Columns are separated by commas in CSV files, by tabs in TSV files." if len(there) == 1 else ""
        wrong = "label" if unknown == label else None
        raise InputError(f"there is no column {unknown!r}", path=table.path, hint=known, parameter=wrong)
    for name, kind in kinds.items():
        if kind not in KINDS:
            raise InputError(f"{kind!r} is not a kind", column=name, hint=f"Kinds are {', '.join(KINDS)}.")
    if not features and not timing.columns:
        raise InputError("has no feature columns", path=table.path, hint=known)

    order, offsets, clock = group_rows(table, groups, timing)

    def place(bad: BadValue, name: str) -> InputError:
        rank = int(np.flatnonzero(order == bad.row)[0])
        return among(bad, offsets, rank, column=name, path=table.path, line=table.line(bad.row))

    def read(name: str) -> tuple[Kind, AnyArray]:
        kind, values = table.column(name, kinds.get(name))
        if kind == "numeric" and not allow_missing:
            check_known(values)
        return kind, values[order]

    stored, settled = read_columns(features, read, place)
    for name in timing.columns:
        assert clock is not None
        settled[f"{name} of {timing.time}"], stored[f"{name} of {timing.time}"] = clock.column(name, order, offsets)
    y = None
    if label is not None:
        try:
            y = nested(objects(plain_labels(table.values(label)))[order].tolist(), offsets)
        except BadValue as bad:
            raise place(bad, label) from None
    constants = {name: _once(stored.pop(name), name, offsets) for name in constant}
    return CutRows(Sequences(stored, offsets, settled, constants), y, order)


def check_roles(by: Sequence[str], label: str | None) -> None:
    """Refuse labels that tell sequences apart."""
    if label in by:
        raise InputError(f"⟦by⟧ names {label!r}, the column of labels", hint="Sequences are told apart without them.")


def as_names(names: Names) -> list[str]:
    """One name, or several, as a list. Columns that have numbers for names are named by them."""
    return [] if names is None else list(map(str, [names] if isinstance(names, (str, int, np.integer)) else names))


def group_rows(
    table: Table, groups: Sequence[str], timing: Timing = NO_TIME
) -> tuple[IndexArray, IndexArray, Clock | None]:
    """The rows in the order of their sequences, the offsets of the sequences, and the times of the rows.

    Groups keep the order in which they first appear. Rows keep their order within a group, or come in that of their
    times, and a group is cut where more than the longest gap lies between two of them.
    """
    if len(table) == 0:
        raise InputError("has no rows" if table.path else "the table has no rows", path=table.path)
    first = _first_rows(table, groups) if groups else np.zeros(len(table), dtype=INDEX)
    if timing.time is None:
        order = np.argsort(first, kind="stable").astype(INDEX)
        starts = np.flatnonzero(np.diff(first[order], prepend=-1))
        return order, np.append(starts, len(first)).astype(INDEX), None
    try:
        clock = table.times(timing.time)
    except BadValue as bad:
        what = f"row {bad.row}: {bad.what}"
        line = table.line(bad.row)
        raise InputError(what, column=timing.time, path=table.path, line=line, hint=bad.hint) from None
    order = np.lexsort((clock.ticks, first)).astype(INDEX)
    new = np.diff(first[order], prepend=-1) != 0
    steps = np.diff(clock.ticks[order], prepend=clock.ticks[order[:1]])
    _check_distinct(table, timing.time, order, ~new & (steps == 0))
    if timing.max_gap is not None:
        new |= steps > clock.longest(timing.max_gap)
    return order, np.append(np.flatnonzero(new), len(first)).astype(INDEX), clock


def _check_distinct(table: Table, time: str, order: IndexArray, again: BoolArray) -> None:
    """Refuse two rows of a sequence that have one time. again : (N,), whether a row in order has that of the last"""
    if not again.any():
        return
    i = int(np.argmax(again))
    one, other = sorted((int(order[i - 1]), int(order[i])))
    lines = "" if table.line(one) is None else f" (lines {table.line(one)} and {table.line(other)})"
    more = f"; so have {int(again.sum()) - 1:,} more" if again.sum() > 1 else ""
    what = f"rows {one} and {other} of one sequence{lines} have the time {table.values(time)[one]}{more}"
    hint = "Drop one of them, or name the columns that tell sequences apart: ⟦by='machine'⟧."
    raise InputError(what, column=time, path=table.path, hint=hint)


def _first_rows(table: Table, groups: Sequence[str]) -> IndexArray:
    """(N,), the first row of the group of each row."""
    keys = [table.values(name) for name in groups]
    for name, values in zip(groups, keys):
        for row, value in enumerate(values):
            if is_null(value):
                what = f"row {row} has no value, so that it belongs to no sequence"
                raise InputError(what, column=name, path=table.path, line=table.line(row))
    whole = keys[0] if len(keys) == 1 else list(zip(*keys))
    first_row: dict[Any, int] = {}
    try:
        return np.fromiter(map(first_row.setdefault, whole, range(len(whole))), dtype=INDEX, count=len(whole))
    except TypeError:  # a list or a dict cannot be told from another one quickly
        raise InputError("cannot group rows by this column", column=groups[0], path=table.path) from None


def _once(values: AnyArray, name: str, offsets: IndexArray) -> AnyArray:
    """One value per sequence, of a column that must not change within one."""
    firsts = values[offsets[:-1]]
    repeated = np.repeat(firsts, np.diff(offsets), axis=0)
    if values.dtype == object:
        differs = np.fromiter(map(operator.ne, values, repeated), dtype=bool, count=len(values))
    else:
        # NaN differs from itself, and yet a column that is missing throughout does not change.
        differs = (values != repeated) & ~((values != values) & (repeated != repeated))
    changes = np.flatnonzero(differs if differs.ndim == 1 else differs.any(axis=1))
    if len(changes):
        row = int(changes[0])
        what = f"changes from {repeated[row]!r} to {values[row]!r} within a sequence"
        hint = "A constant column has one value per sequence."
        raise among(InputError(what, hint=hint), offsets, row, column=name)
    return firsts
