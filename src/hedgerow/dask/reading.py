"""What a fit by workers is given, as parts: Dask's frames and Bags, lists of Delayed, paths of Parquet files."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from hedgerow.dask.engine import DaskEngine, check_name
from hedgerow.data.dataset import Schema
from hedgerow.data.labels import counted, is_iterable
from hedgerow.data.parts.merging import Part, count_keys, frequent_keys, learn_part
from hedgerow.data.plan import Given, Plan
from hedgerow.data.readers.columns import is_null
from hedgerow.data.readers.grouping import as_names, check_roles
from hedgerow.data.readers.tables import FrameTable
from hedgerow.data.readers.times import Timing
from hedgerow.errors import InputError, placed, quoted
from hedgerow.estimators.prepare import numbered


class Source(NamedTuple):
    """Delayed parts: frames that a plan cuts, or, where there is none, lists of sequences, of labels, and of weights
    where they are given. weight : the column of weights of a frame"""

    parts: list[Any]
    plan: Plan | None
    declared: Mapping[str, str] | None
    weight: str | None = None


def find_source(
    X: Any, y: Any, weights: Any, declared: Mapping[str, str] | None, *, shuffle: bool, **named: Any
) -> Source:
    """The parts of X, whatever it is. named : how frames are cut"""
    from dask.delayed import delayed

    if isinstance(X, (str, os.PathLike)) or _all(X, (str, os.PathLike)):
        from dask.dataframe import read_parquet

        try:
            X = read_parquet(X if isinstance(X, (str, os.PathLike)) else [os.fspath(path) for path in X])
        except (OSError, ValueError) as error:  # Dask puts words of its own before those that say why
            why = (str(error.__cause__ or error).strip() or type(error).__name__).splitlines()[-1]
            raise InputError(f"X is not read: {why}", hint="Give paths of Parquet files.") from error
    if is_dask_frame(X):
        if y is not None:
            raise InputError("X is a Dask frame, and y is given", hint="Name the column of labels: ⟦label='state'⟧.")
        plan, weight = _plan(declared, **named), _weight_name(weights)
        check_name(list(map(str, X.columns)), [*plan.by, plan.label, plan.time, weight])
        if shuffle:
            X = X.shuffle(on=list(plan.by))
        columns = _features(map(str, X.columns), plan, weight)
        return Source(list(X.to_delayed()), replace(plan, columns=columns), declared, weight)
    if shuffle:
        raise InputError("⟦shuffle⟧ is for Dask frames", hint="Leave it out: sequences of other parts are whole.")
    if hasattr(X, "to_delayed") and hasattr(X, "map_partitions"):  # a Bag
        beside = [_partitions(name, one, X) for name, one in (("y", y), ("sample_weight", weights)) if one is not None]
        gather = delayed(_unzipped if y is None else lambda *given: [*map(list, given)])
        return Source([gather(*own) for own in zip(X.to_delayed(), *beside)], None, declared)
    if isinstance(X, (list, tuple)) and X and all(hasattr(one, "__dask_graph__") for one in X):
        if y is not None:
            raise InputError("X is a list of Delayed, and y is given", hint="Let each part give a pair (X, y).")
        cut = None if named["label"] is None else _plan(declared, **named)
        if cut is None and weights is not None:
            hint = "Let each part give (X, y, weights)."
            raise InputError("X is a list of Delayed, and sample_weight is given", hint=hint)
        return Source([one if hasattr(one, "key") else delayed(one) for one in X], cut, declared, _weight_name(weights))
    hint = "Give a Dask DataFrame, a Bag, a list of Delayed, or paths of Parquet files."
    raise InputError(f"X is {quoted(type(X).__name__)}", hint=f"{hint} For data in memory there is the ordinary fit.")


def is_dask_frame(X: Any) -> bool:
    """Whether X is a Dask DataFrame."""
    return hasattr(X, "to_delayed") and hasattr(X, "columns")


def _all(X: Any, kinds: tuple[type, ...]) -> bool:
    return isinstance(X, (list, tuple)) and len(X) > 0 and all(isinstance(one, kinds) for one in X)


def _features(names: Iterable[str], plan: Plan, weight: str | None) -> tuple[str, ...]:
    """The columns of a frame that are features."""
    return tuple(name for name in names if name not in (*plan.by, plan.label, plan.time, weight))


def _weight_name(weights: Any) -> str | None:
    if weights is not None and not isinstance(weights, str):
        hint = "Name the column of weights: ⟦sample_weight='weight'⟧."
        raise InputError(f"X is frames, and sample_weight is of type {type(weights).__name__}", hint=hint)
    return weights


def _partitions(name: str, beside: Any, X: Any) -> list[Any]:
    """Those of a Bag that goes with X."""
    if not hasattr(beside, "to_delayed") or beside.npartitions != X.npartitions:
        hint = "Or give a Bag of (x, y) pairs." if name == "y" else "Give a Bag of numbers, one per sequence."
        raise InputError(f"{name} is not a Bag of as many partitions as X", hint=hint)
    return list(beside.to_delayed())


def _plan(declared: Any, *, by: Any, label: Any, time: Any, max_gap: Any, time_columns: Any) -> Plan:
    if label is None:
        raise InputError("⟦label⟧ is missing", hint="Name the column of labels: ⟦label='state'⟧.")
    names = as_names(by)
    if not names:
        hint = "Name the columns that tell sequences apart: ⟦by='machine'⟧."
        raise InputError("⟦by⟧ is missing, and partitions cannot tell one recording from another", hint=hint)
    check_roles(names, str(label))
    kinds: Any = {name: kind for name, kind in (declared or {}).items() if name != "*"}
    return Plan(tuple(names), str(label), *Timing.of(time, max_gap, time_columns), kinds=kinds)


def _unzipped(pairs: Iterable[Any], *weights: Iterable[Any]) -> list[list[Any]]:
    listed = list(pairs)
    bad = next((one for one in listed if not isinstance(one, (tuple, list)) or len(one) != 2), None)
    if bad is not None:
        raise InputError(f"the Bag has {quoted(bad)}", hint="Give a Bag of (x, y) pairs, or a Bag y beside X.")
    return [[x for x, _ in listed], [y for _, y in listed], *map(list, weights)]


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


def describe(part: Any, number: int, source: Source) -> Described:
    with _naming(number):
        if source.plan is None:
            X, _, weights = _lists(part)
            none = is_iterable(weights) and not any(map(np.any, weights))
            X = [] if none else counted(weights, X)[1][1]
            return Described(len(X), counts=count_keys(X, source.declared) if len(X) else (0, {}))
        table, plan = FrameTable(part), source.plan
        check_name(table.names, [*plan.by, plan.label, plan.time, source.weight])
        keys = table.frame.select(list(plan.by)).unique(maintain_order=True)
        n = len(table) if source.weight is None else sum(weight != 0 for weight in table.values(source.weight))
        return Described(n, tuple(table.names), keys.rows())


def _lists(part: Any) -> tuple[Any, Any, Any]:
    if not isinstance(part, (tuple, list)) or len(part) not in (2, 3):
        hint = "Let each part give a pair (X, y) of lists, or a frame, and name its columns: ⟦by, label⟧."
        raise InputError(f"a part is {quoted(part)}", hint=hint)
    return part[0], part[1], part[2] if len(part) == 3 else None


def read(part: Any, number: int, source: Source, dense: set[str] | None) -> Part:
    """A part, encoded by a schema of its own."""
    with _naming(number):
        if source.plan is None:
            X, y, weights = _lists(part)
        else:
            given = source.plan.cut(part, labelled=True)
            X, y, weights = given.X, given.y, _of_sequences(given, source)
        kept, (weights, X, y) = counted(weights, X, y)  # nothing is learnt of a sequence of weight 0
        with numbered(kept):
            return learn_part(X, y, source.declared, dense, weights)._replace(number=number, kept=kept)


def _of_sequences(given: Given, source: Source) -> list[Any] | None:
    """The weight of each sequence, which all of its rows have."""
    if source.weight is None:
        return None
    rows, offsets = np.array(given.frame[source.weight].to_list(), dtype=object)[given.order], given.X.offsets
    first = rows[offsets[:-1]]
    own = np.repeat(first, np.diff(offsets))
    bad = np.flatnonzero((rows != own) & ((rows == rows) | (own == own)))  # NaN is refused with other odd weights
    if len(bad):
        i = int(np.searchsorted(offsets, bad[0], side="right")) - 1
        hint = "Give all rows of a sequence the same weight."
        raise InputError(f"has {first[i]!r} and {rows[bad[0]]!r}", hint=hint, sequence=i, column=source.weight)
    return list(first)


# ------------------------------------------------------------------------------------------------ on the driver


def open_engine(client: Any, source: Source, schema: Schema | None = None) -> tuple[DaskEngine, Plan | None]:
    """The parts of a source that have sequences, encoded, after a look at all of them; and how frames were cut.
    schema : what says which keys are columns, where it is known"""
    from dask.delayed import delayed

    look, read_part, how = delayed(describe), delayed(read), source._replace(parts=[])
    found = client.gather(client.compute([look(part, j, how) for j, part in enumerate(source.parts)]))
    _check_columns(found)
    _check_keys(found, source.plan)
    kept = [j for j, one in enumerate(found) if one.n]
    if not kept:
        raise InputError("X has no rows" if source.plan else "X has no sequences", hint="Give at least one sequence.")
    plan = source.plan
    if plan is not None and plan.columns is None:  # those of the first partition, in its order, of all
        plan = replace(plan, columns=_features(found[0].columns, plan, source.weight))
    dense = None if plan else frequent_keys([found[j].counts for j in kept])
    if schema is not None and plan is None:
        dense = {column.name for column in schema.columns}
    how = how._replace(plan=plan)
    return DaskEngine(client, [read_part(source.parts[j], j, how, dense) for j in kept]), plan


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
