"""Rows of a table, cut into sequences by the values of a group column."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from hedgerow.data.readers.columns import BadValue, check_known, is_null, nested, objects, plain_labels, read_columns
from hedgerow.data.sequences import KINDS, Kind, Sequences
from hedgerow.errors import InputError, among, shown
from hedgerow.legend import INDEX, AnyArray, IndexArray

Kinds = Mapping[str, Kind]


class Table(Protocol):
    """Named columns of N rows, wherever they come from."""

    path: str | None
    names: list[str]

    def values(self, name: str) -> list[Any]:
        """The column as plain Python values."""

    def column(self, name: str, kind: Kind | None) -> tuple[Kind, AnyArray]:
        """The column as `Sequences` holds it, of this kind or of the kind that it has by itself."""

    def line(self, row: int) -> int | None:
        """The line of the file where a row stands, if it comes from one."""


def cut(
    table: Table,
    by: str | Sequence[str],
    label: str | None,
    columns: Sequence[str] | None,
    constant: Sequence[str],
    kinds: Kinds | None,
    *,
    allow_missing: bool = True,
) -> tuple[Sequences, AnyArray | None]:
    """Cut a table into sequences; the parameters are those of `hedgerow.sequences` and of `read_table`."""
    groups, constant = as_names(by), as_names(constant)
    kinds = dict(kinds or {})
    used = [*groups, *([label] if label is not None else [])]
    features = [name for name in table.names if name not in used] if columns is None else list(columns)
    features += [name for name in constant if name not in features]
    known = f"Columns are {shown(table.names, 20)}."
    there = set(table.names)
    unknown = next((name for name in [*used, *features, *kinds] if name not in there), None)
    if unknown is not None:
        raise InputError(f"there is no column {unknown!r}", path=table.path, hint=known)
    for name, kind in kinds.items():
        if kind not in KINDS:
            raise InputError(f"{kind!r} is not a kind", column=name, hint=f"Kinds are {', '.join(KINDS)}.")
    if not features:
        raise InputError("has no feature columns", path=table.path, hint=known)

    order, offsets = group_rows(table, groups)

    def place(bad: BadValue, name: str) -> InputError:
        rank = int(np.flatnonzero(order == bad.row)[0])
        return among(bad, offsets, rank, column=name, path=table.path, line=table.line(bad.row))

    def read(name: str) -> tuple[Kind, AnyArray]:
        kind, values = table.column(name, kinds.get(name))
        if kind == "numeric" and not allow_missing:
            check_known(values)
        return kind, values[order]

    stored, settled = read_columns(features, read, place)
    y = None
    if label is not None:
        try:
            y = nested(objects(plain_labels(table.values(label)))[order].tolist(), offsets)
        except BadValue as bad:
            raise place(bad, label) from None
    constants = {name: _once(stored.pop(name), name, offsets) for name in constant}
    return Sequences(stored, offsets, settled, constants), y


def as_names(names: str | Sequence[str]) -> list[str]:
    """One name, or several, as a list."""
    return [names] if isinstance(names, str) else list(names)


def group_rows(table: Table, groups: Sequence[str]) -> tuple[IndexArray, IndexArray]:
    """The rows in the order of their groups, and the offsets of the groups.

    Groups keep the order in which they first appear, and rows keep their order within a group.
    """
    keys = [table.values(name) for name in groups]
    for name, values in zip(groups, keys):
        for row, value in enumerate(values):
            if is_null(value):
                what = f"row {row} has no value, so that it belongs to no sequence"
                raise InputError(what, column=name, path=table.path, line=table.line(row))
    if not keys or not keys[0]:
        raise InputError("has no rows", path=table.path)
    whole = keys[0] if len(keys) == 1 else list(zip(*keys))
    first_row: dict[Any, int] = {}
    try:
        first = np.fromiter(map(first_row.setdefault, whole, range(len(whole))), dtype=INDEX, count=len(whole))
    except TypeError:  # a list or a dict cannot be told from another one quickly
        raise InputError("cannot group rows by this column", column=groups[0], path=table.path) from None
    order = np.argsort(first, kind="stable").astype(INDEX)
    starts = np.flatnonzero(np.diff(first[order], prepend=-1))
    return order, np.append(starts, len(whole)).astype(INDEX)


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
