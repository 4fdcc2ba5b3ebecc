"""The times of rows: a column of dates, of ISO texts or of numbers, as numbers that can be sorted and subtracted."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, NamedTuple

import numpy as np

from hedgerow.data.readers.columns import BadValue, is_null, objects
from hedgerow.data.rows import NUMBERS
from hedgerow.data.sequences import Kind
from hedgerow.errors import InputError
from hedgerow.legend import FLOAT, INDEX, AnyArray, FloatArray, IndexArray

TIME_COLUMNS = ("elapsed", "hour", "weekday")
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}
_WORDS = {"sec": "s", "second": "s", "min": "min", "minute": "min", "hour": "h", "day": "d", "week": "w"}
_GAP = re.compile(r"\s*(\d+(?:\.\d*)?)\s*([a-z]+)\s*", re.IGNORECASE)
_EPOCH, _TICK = datetime(1970, 1, 1), timedelta(microseconds=1)


class Timing(NamedTuple):
    """What is said of time: its column, the longest gap within a sequence, and what becomes a column of it."""

    time: str | None = None
    max_gap: str | float | None = None
    columns: tuple[str, ...] = ()

    @classmethod
    def of(cls, time: Any, max_gap: Any, columns: Any) -> Timing:
        """What users give, checked. A timedelta as `max_gap` becomes text."""
        names = (columns,) if isinstance(columns, str) else tuple(columns or ())
        if time is None and (max_gap is not None or names):
            given = "max_gap" if max_gap is not None else "time_columns"
            raise InputError(f"⟦{given}⟧ goes with ⟦time⟧", hint="Name the column of times: ⟦time='timestamp'⟧.")
        unknown = next((name for name in names if name not in TIME_COLUMNS), None)
        if unknown is not None:
            raise InputError(f"⟦time_columns⟧ has {unknown!r}", hint=f"Known are {', '.join(TIME_COLUMNS)}.")
        if isinstance(max_gap, np.timedelta64):
            max_gap = f"{max_gap / np.timedelta64(1, 's'):.9f}s"
        elif isinstance(max_gap, timedelta):
            max_gap = f"{max_gap.total_seconds():.9f}s"
        if max_gap is not None:
            _read_gap(max_gap)
        return cls(None if time is None else str(time), max_gap, names)


def _read_gap(given: Any) -> tuple[float, bool]:
    """A gap, and whether it is of seconds."""
    if isinstance(given, NUMBERS) and not isinstance(given, bool) and 0 < given < np.inf:
        return float(given), False
    written = _GAP.fullmatch(given) if isinstance(given, str) else None
    unit = written[2].lower() if written else ""
    unit = unit if unit in _UNITS else _WORDS.get(unit.removesuffix("s"), "")
    if written is None or not unit or float(written[1]) == 0.0:
        hint = f"Give a number with a unit, such as '5min' or '2h'; units are {', '.join(_UNITS)}."
        raise InputError(f"⟦max_gap⟧ is {given!r}", hint=f"{hint} Where times are numbers, give a number above 0.")
    return float(written[1]) * _UNITS[unit], True


class Clock(NamedTuple):
    """The times of N rows.

    ticks : (N,) int64 or float64, which rise with time
    second : how many ticks a second has; None where times are numbers of an unknown unit
    hours, days : (N,) of the clock on the wall, 0–23 and 0–6; None where times are numbers
    """

    ticks: AnyArray
    second: float | None = None
    hours: AnyArray | None = None
    days: AnyArray | None = None

    def longest(self, max_gap: str | float) -> float:
        """A gap in ticks."""
        gap, has_unit = _read_gap(max_gap)
        if has_unit == (self.second is not None):
            return gap * (self.second or 1.0)
        what = "has a unit, and times are numbers" if has_unit else "has no unit, and times are dates"
        hint = "Give a number, in the unit of the times." if has_unit else "Give a unit, as in '5min'."
        raise InputError(f"⟦max_gap={max_gap!r}⟧ {what}", hint=hint)

    def column(self, name: str, order: IndexArray, offsets: IndexArray) -> tuple[Kind, AnyArray]:
        """One of TIME_COLUMNS, for rows in an order that is cut at offsets: seconds (or whatever the unit is) since the
        row before, 0 for the first of a sequence; the hour and the day of the week as categories."""
        if name == "elapsed":
            elapsed: FloatArray = np.diff(self.ticks[order], prepend=self.ticks[order[:1]]).astype(FLOAT)
            elapsed[offsets[:-1]] = 0.0
            return "numeric", elapsed / (self.second or 1.0)
        values = self.hours if name == "hour" else self.days
        if values is None:
            what = f"times are numbers, so that there is no {name}"
            raise InputError(what, hint="Turn them into dates, or leave it out of ⟦time_columns⟧.")
        names = objects([str(h) for h in range(24)] if name == "hour" else _DAYS)
        return "categorical", names[values[order]]


def read_times(values: Sequence[Any]) -> Clock:
    """Times that are given as Python's values: numbers, texts that are numbers or ISO dates, or dates."""
    missing = next((row for row, value in enumerate(values) if is_null(value)), None)
    if missing is not None:
        raise BadValue(missing, "has no time", "Every row has a time where ⟦time⟧ is given; leave the row out.")
    for read in (_as_numbers, _as_dates):
        clock = read(values)
        if clock is not None:
            return clock
    row, value = next((row, value) for row, value in enumerate(values) if _as_date(value) is None)
    hint = "Times are dates, ISO texts such as 2024-05-01 12:00:00, or numbers; pandas.to_datetime reads others."
    raise BadValue(row, f"{value!r} is not a time", hint)


def _as_numbers(values: Sequence[Any]) -> Clock | None:
    if any(not isinstance(value, (str, *NUMBERS)) or isinstance(value, bool) for value in values):
        return None
    try:
        ticks = np.array([float(value) for value in values], dtype=FLOAT)
    except ValueError:
        return None
    return number_clock(ticks)


def number_clock(ticks: AnyArray) -> Clock:
    """The times that numbers are."""
    ticks = ticks.astype(INDEX if ticks.dtype.kind in "iu" else FLOAT, copy=False)
    bad = np.flatnonzero(~np.isfinite(ticks))
    if len(bad):
        raise BadValue(int(bad[0]), f"the time is {ticks[bad[0]]}", "Times are finite.")
    return Clock(ticks)


def _as_dates(values: Sequence[Any]) -> Clock | None:
    dates = [_as_date(value) for value in values]
    if any(one is None for one in dates):
        return None
    aware = [one.tzinfo is not None for one in dates]  # type: ignore[union-attr]
    if any(aware) and not all(aware):
        raise BadValue(aware.index(not aware[0]), "some times have a time zone, and others have none", "Give all one.")
    ticks = [_ticks(one) for one in dates]  # type: ignore[arg-type]
    wall: list[Callable[[datetime], int]] = [lambda one: one.hour, datetime.weekday]
    hours, days = (np.array([f(one) for one in dates], dtype=INDEX) for f in wall)  # type: ignore[arg-type]
    return Clock(np.array(ticks, dtype=INDEX), 1e6, hours, days)


def _as_date(value: Any) -> datetime | None:
    if isinstance(value, datetime):
        return value
    if isinstance(value, date):
        return datetime.combine(value, time())
    try:
        return datetime.fromisoformat(value.strip()) if isinstance(value, str) else None
    except ValueError:
        return None


def _ticks(one: datetime) -> int:
    naive = one if one.tzinfo is None else one.astimezone(UTC).replace(tzinfo=None)
    return (naive - _EPOCH) // _TICK
