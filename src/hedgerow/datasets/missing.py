"""Values taken out of a corpus, with a seed: to try what a model does where some are missing."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from hedgerow.data.readers.columns import objects
from hedgerow.data.sequences import Sequences, described
from hedgerow.errors import InputError
from hedgerow.legend import AnyArray, BoolArray

UNITS = ("value", "position")
_TOKEN = "token"  # the one column of a corpus of tokens

Name = Hashable  # of a column: a str, or a number in an array
Table = dict[Name, AnyArray]  # column → (N,) values of all sequences, one after the other


def make_missing(
    X: Any, rate: float, *, unit: str = "value", columns: Sequence[Name] | None = None, random_state: int = 0
) -> Any:
    """The corpus with a share of its values missing, completely at random. X itself stays as it is.

    Values go missing in their columns, before any window is made: a letter that is missing is so in all windows that
    reach it. What is missing already does not count, and stays so.

    Parameters
    ----------
    X : Sequences, or a list of sequences
        A sequence of the list is a list of tokens, a list of dicts, or an array (positions, columns) of numbers. A
        value that goes missing is None, or NaN among numbers. A key that a dict does not have is missing already.
    rate : float, from 0 to 1
        The share of the values that go missing, or of the positions; to the nearest whole number of them.
    unit : "value" or "position"
        Whether single values go missing, or all values of a position at once (a lost frame of a sensor).
    columns : the columns that lose values; by default all
    random_state : int

    Returns
    -------
    X, in the form in which it came. Arrays of whole numbers become floats.
    """
    table = _read(X)
    names = _choose(table, rate, unit, columns)
    rng = np.random.default_rng(random_state)
    known = np.array([_is_known(table[name]) for name in names])
    lost = np.zeros(known.shape, dtype=bool)
    if unit == "position":
        lost[:, _draw(np.any(known, axis=0), rate, rng)] = True
    else:
        lost.ravel()[_draw(known.ravel(), rate, rng)] = True
    return _write(X, dict(zip(names, lost)))


def _choose(table: Table, rate: float, unit: str, columns: Sequence[Name] | None) -> list[Name]:
    """Check the parameters; the columns that lose values."""
    if not 0.0 <= rate <= 1.0:
        raise InputError(f"rate={rate!r}", hint="Give a share from 0 to 1.")
    if unit not in UNITS:
        raise InputError(f"unit={unit!r}", hint=f"Known are {', '.join(map(repr, UNITS))}.")
    chosen = list(table if columns is None else columns)
    for column in chosen:
        if column not in table:
            hint = f"X has the columns {', '.join(map(repr, table))}."
            raise InputError("there is no such column", hint=hint, column=str(column))
    if not chosen:
        raise InputError("no column is left to lose values", hint="Name one in ⟦columns⟧, or leave them out.")
    return chosen


def _draw(known: BoolArray, rate: float, rng: np.random.Generator) -> AnyArray:
    """The numbers of those that go missing: a share of the known ones."""
    times = np.where(known, rng.exponential(size=len(known)), np.inf)
    return np.argsort(times, kind="stable")[: round(rate * int(known.sum()))]


def _is_known(values: AnyArray) -> BoolArray:
    """(N,), whether a value is there."""
    if values.dtype.kind == "f":
        return ~np.isnan(values)
    return np.array([value is not None and value == value for value in values.tolist()], dtype=bool)


# ------------------------------------------------------------------------------------------------ forms of a corpus


def _read(X: Any) -> Table:
    """The values of a corpus, column by column."""
    if isinstance(X, Sequences):
        held = X.compact()[0]
        return {name: held[name] for name, kind in X.kinds.items() if name in held and kind != "attributes"}
    if not isinstance(X, (list, tuple, np.ndarray)) or not len(X):
        raise InputError(f"X is {described(X)}", hint="Give a list of sequences, or Sequences.")
    if all(isinstance(x, np.ndarray) for x in X):
        if any(x.ndim != 2 or x.dtype.kind not in "fiub" for x in X):
            raise InputError("a sequence is an array that is not (positions, columns) of numbers")
        values = np.concatenate([np.asarray(x, dtype=np.float64) for x in X])
        return {c: values[:, c] for c in range(values.shape[1])}
    positions = [position for x in X for position in x]
    if all(isinstance(position, dict) for position in positions):
        names = dict.fromkeys(name for position in positions for name in position)
        return {name: _column([position.get(name) for position in positions]) for name in names}
    if all(position is None or isinstance(position, (str, int)) for position in positions):
        return {_TOKEN: _column(positions)}
    hint = "An attribute that is not there is not missing: give columns, by dicts or by Sequences."
    raise InputError("X has positions that are neither tokens nor dicts nor rows of numbers", hint=hint)


def _column(values: list[Any]) -> AnyArray:
    """Numbers as floats, NaN where there is none; anything else as objects."""
    if all(value is None or (isinstance(value, (int, float)) and not isinstance(value, bool)) for value in values):
        return np.array([np.nan if value is None else value for value in values], dtype=np.float64)
    return objects(values)


def _write(X: Any, lost: dict[Name, BoolArray]) -> Any:
    """The corpus without the values that are lost, in the form in which it came."""
    if isinstance(X, Sequences):
        columns, offsets, constants = X.compact()
        for name, lost_here in lost.items():
            assert isinstance(name, str)
            nothing: Any = np.nan if columns[name].dtype.kind == "f" else None
            columns[name] = np.where(lost_here, nothing, columns[name])
        return Sequences(columns, offsets, X.kinds, constants)
    damaged, t = [], 0
    for x in X:
        lost_in_x = {name: lost_here[t : t + len(x)] for name, lost_here in lost.items()}
        t += len(x)
        damaged.append(_write_sequence(x, lost_in_x))
    return damaged


def _write_sequence(x: Any, lost: dict[Name, BoolArray]) -> Any:
    if isinstance(x, np.ndarray):
        damaged = np.array(x, dtype=np.float64)
        for c, is_lost in lost.items():
            damaged[is_lost, c] = np.nan  # type: ignore[index]
        return damaged
    if _TOKEN in lost and not (len(x) and isinstance(x[0], dict)):
        return [None if is_lost else token for token, is_lost in zip(x, lost[_TOKEN])]
    return [
        position | {name: None for name, is_lost in lost.items() if is_lost[r] and name in position}
        for r, position in enumerate(x)
    ]
