"""What a fit by workers is given, as parts: Dask's frames and Bags, lists of Delayed, paths of Parquet files."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NamedTuple

from hedgerow.dask.engine import DaskEngine, check_name
from hedgerow.data.parts.merging import Part, count_keys, frequent_keys, learn_part
from hedgerow.data.plan import Plan
from hedgerow.data.readers.columns import is_null
from hedgerow.data.readers.grouping import as_names
from hedgerow.data.readers.tables import FrameTable
from hedgerow.data.readers.times import Timing
from hedgerow.errors import InputError, placed, quoted


class Source(NamedTuple):
    """Delayed parts: frames that a plan cuts, or, where there is none, pairs of lists of sequences and of labels."""

    parts: list[Any]
    plan: Plan | None
    declared: Mapping[str, str] | None


def find_source(
    X: Any, y: Any, declared: Mapping[str, str] | None, *, by: Any, label: Any, time: Any, max_gap: Any,
    time_columns: Any, shuffle: bool,
) -> Source:  # fmt: skip
    """The parts of X, whatever it is."""
    from dask.delayed import delayed

    if isinstance(X, (str, os.PathLike)) or _all(X, (str, os.PathLike)):
        from dask.dataframe import read_parquet

        X = read_parquet(X if isinstance(X, (str, os.PathLike)) else [os.fspath(path) for path in X])
    if is_dask_frame(X):
        if y is not None:
            raise InputError("X is a Dask frame, and y is given", hint="Name the column of labels: ⟦label='state'⟧.")
        plan = _plan(by, label, time, max_gap, time_columns, declared)
        check_name(list(map(str, X.columns)), [*plan.by, plan.label, plan.time])
        if shuffle:
            X = X.shuffle(on=list(plan.by))
        own = (*plan.by, plan.label, plan.time)
        columns = tuple(str(name) for name in X.columns if str(name) not in own)
        return Source(list(X.to_delayed()), replace(plan, columns=columns), declared)
    if shuffle:
        raise InputError("⟦shuffle⟧ is for Dask frames", hint="Leave it out: sequences of other parts are whole.")
    if hasattr(X, "to_delayed") and hasattr(X, "map_partitions"):  # a Bag
        parts = list(X.to_delayed())
        if y is not None:
            if not hasattr(y, "to_delayed") or y.npartitions != X.npartitions:
                raise InputError("y is not a Bag of as many partitions as X", hint="Or give a Bag of (x, y) pairs.")
            pairs = [delayed(_zipped)(a, b) for a, b in zip(parts, y.to_delayed())]
            return Source(pairs, None, declared)
        return Source([delayed(_unzipped)(part) for part in parts], None, declared)
    if isinstance(X, (list, tuple)) and X and all(hasattr(one, "__dask_graph__") for one in X):
        if y is not None:
            raise InputError("X is a list of Delayed, and y is given", hint="Let each part give a pair (X, y).")
        cut = None if label is None else _plan(by, label, time, max_gap, time_columns, declared)
        return Source([one if hasattr(one, "key") else delayed(one) for one in X], cut, declared)
    hint = "Give a Dask DataFrame, a Bag, a list of Delayed, or paths of Parquet files."
    raise InputError(f"X is {quoted(type(X).__name__)}", hint=f"{hint} For data in memory there is the ordinary fit.")


def is_dask_frame(X: Any) -> bool:
    """Whether X is a Dask DataFrame."""
    return hasattr(X, "to_delayed") and hasattr(X, "columns")


def _all(X: Any, kinds: tuple[type, ...]) -> bool:
    return isinstance(X, (list, tuple)) and len(X) > 0 and all(isinstance(one, kinds) for one in X)


def _plan(by: Any, label: Any, time: Any, max_gap: Any, time_columns: Any, declared: Any) -> Plan:
    if label is None:
        raise InputError("⟦label⟧ is missing", hint="Name the column of labels: ⟦label='state'⟧.")
    names = as_names(by)
    if not names:
        hint = "Name the columns that tell sequences apart: ⟦by='machine'⟧."
        raise InputError("⟦by⟧ is missing, and partitions cannot tell one recording from another", hint=hint)
    if str(label) in names:
        raise InputError(f"⟦by⟧ names {label!r}, the column of labels", hint="Sequences are told apart without them.")
    kinds: Any = {name: kind for name, kind in (declared or {}).items() if name != "*"}
    return Plan(tuple(names), str(label), *Timing.of(time, max_gap, time_columns), kinds=kinds)


def _zipped(X: Iterable[Any], y: Iterable[Any]) -> tuple[list[Any], list[Any]]:
    return list(X), list(y)


def _unzipped(pairs: Iterable[Any]) -> tuple[list[Any], list[Any]]:
    listed = list(pairs)
    bad = next((one for one in listed if not isinstance(one, (tuple, list)) or len(one) != 2), None)
    if bad is not None:
        raise InputError(f"the Bag has {quoted(bad)}", hint="Give a Bag of (x, y) pairs, or a Bag y beside X.")
    return [x for x, _ in listed], [y for _, y in listed]


# ------------------------------------------------------------------------------------------------ on workers


class Described(NamedTuple):
    """A part before it is read: how many rows or sequences, its columns and their types, its keys of sequences; and of
    other parts how often keys occur."""

    n: int
    columns: tuple[str, ...] = ()
    keys: list[Any] = []  # noqa: RUF012
    counts: tuple[int, dict[str, int]] = (0, {})


@contextmanager
def _naming(partition: int) -> Iterator[None]:
    """Let errors name the partition."""
    try:
        yield
    except InputError as error:
        raise placed(error, partition=partition) from None


def describe(part: Any, number: int, plan: Plan | None, declared: Mapping[str, str] | None) -> Described:
    with _naming(number):
        if plan is None:
            X = _pair(part)[0]
            return Described(len(X), counts=count_keys(X, declared) if len(X) else (0, {}))
        table = FrameTable(part)
        check_name(table.names, [*plan.by, plan.label, plan.time])
        keys = table.frame.select(list(plan.by)).unique(maintain_order=True)
        return Described(len(table), tuple(table.names), keys.rows())


def _pair(part: Any) -> tuple[Sequence[Any], Sequence[Any]]:
    if not isinstance(part, (tuple, list)) or len(part) != 2:
        hint = "Let each part give a pair (X, y) of lists, or a frame, and name its columns: ⟦by, label⟧."
        raise InputError(f"a part is {quoted(part)}", hint=hint)
    return part[0], part[1]


def read(part: Any, number: int, plan: Plan | None, declared: Mapping[str, str] | None, dense: set[str] | None) -> Part:
    """A part, encoded by a schema of its own."""
    with _naming(number):
        if plan is None:
            return learn_part(*_pair(part), declared, dense)._replace(number=number)
        given = plan.cut(part, labelled=True)
        return learn_part(given.X, given.y, declared, None)._replace(number=number)


# ------------------------------------------------------------------------------------------------ on the driver


def open_engine(client: Any, source: Source) -> tuple[DaskEngine, Plan | None]:
    """The parts of a source that have sequences, encoded, after a look at all of them; and how frames were cut."""
    from dask.delayed import delayed

    looks = [delayed(describe)(part, j, source.plan, source.declared) for j, part in enumerate(source.parts)]
    found = client.gather(client.compute(looks))
    _check_columns(found)
    _check_keys(found, source.plan)
    kept = [j for j, one in enumerate(found) if one.n]
    if not kept:
        raise InputError("X has no rows" if source.plan else "X has no sequences", hint="Give at least one sequence.")
    plan = source.plan
    if plan is not None and plan.columns is None:  # those of the first partition, in its order, of all
        own = (*plan.by, plan.label, plan.time)
        plan = replace(plan, columns=tuple(name for name in found[0].columns if name not in own))
    dense = None if plan else frequent_keys([found[j].counts for j in kept])
    read_part = delayed(read)
    return DaskEngine(client, [read_part(source.parts[j], j, plan, source.declared, dense) for j in kept]), plan


def _check_columns(found: Sequence[Described]) -> None:
    """Refuse partitions of other columns. Their order may differ: they are taken in that of the first partition."""
    first = found[0].columns
    for j, one in enumerate(found):
        odd = sorted(set(one.columns) ^ set(first))
        if odd:
            more = odd[0] in one.columns
            what = f"partition {j} has {'a' if more else 'no'} column {odd[0]!r}"
            what = f"{what}, where partition 0 has {'none' if more else 'it'}"
            raise InputError(what, hint="Give all partitions the same columns.")


def _check_keys(found: Sequence[Described], plan: Plan | None) -> None:
    """Refuse a sequence that lies in two partitions."""
    owner: dict[Any, int] = {}
    for j, one in enumerate(found):
        for key in one.keys:
            known = tuple(None if is_null(value) else value for value in key)
            if owner.setdefault(known, j) != j:
                assert plan is not None
                named = ", ".join(f"{name}={value!r}" for name, value in zip(plan.by, known))
                hint = "Set ⟦shuffle=True⟧, which brings sequences together, or cut the frame between them."
                raise InputError(f"the sequence {named} is cut: it is in partitions {owner[known]} and {j}", hint=hint)
