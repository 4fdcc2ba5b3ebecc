"""Data frames in, through narwhals: pandas, polars and pyarrow tables by one path."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from hedgerow.data.readers.columns import (
    BadValue,
    booleans,
    check_finite,
    column_of,
    is_number,
    objects,
    read_columns,
    refuse_slips,
    shared,
)
from hedgerow.data.readers.grouping import Kinds, Names, cut
from hedgerow.data.readers.times import Clock, Timing, number_clock, read_times
from hedgerow.data.rows import is_null, plain_text
from hedgerow.data.sequences import Kind, Sequences, is_vector, number_type
from hedgerow.errors import InputError, among, placed
from hedgerow.legend import FLOAT, AnyArray


def sequences(
    frame: Any,
    by: Names = None,
    label: str | None = None,
    *,
    time: str | None = None,
    max_gap: Any = None,
    time_columns: Sequence[str] = (),
    columns: Sequence[str] | None = None,
    constant: Sequence[str] = (),
    kinds: Kinds | None = None,
) -> tuple[Sequences, AnyArray | None]:
    """Cut a data frame into sequences.

    Parameters
    ----------
    frame : pandas or polars DataFrame, pyarrow Table, or another eager frame that narwhals knows
        One row per position.
    by : str or list of str, optional
        The group column, or several: rows with equal values are one sequence. They keep their order and need not be
        adjacent; sequences come in the order of their first rows. Without it the frame is one recording.
    label : str, optional
        The column of labels, str, int or bool; a null is an unlabelled position.
    time : str, optional
        The column of times: dates, ISO texts or numbers. Rows of a sequence are sorted by it; two that have one time
        are an error. It is no feature itself.
    max_gap : str, number or timedelta, optional
        A sequence is cut where more time passes between two rows: "5min", "2h", or a number where times are numbers.
    time_columns : sequence of "elapsed", "hour", "weekday"
        What becomes a feature of the time: seconds since the row before (0 for the first of a sequence), the hour of
        the day and the day of the week, as categories. The columns are called "elapsed of …" and so on.
    columns : sequence of str, optional
        The columns to use as features. Default: all but `by`, `label` and `time`.
    constant : sequence of str
        Features of the whole sequence: columns with one value in each group, stored once.
    kinds : mapping of column to "categorical", "numeric", "boolean" or "attributes", optional
        The kind of a column where its dtype would say another: "categorical" for integers that are codes.

    Returns
    -------
    X : Sequences
        Numbers are numeric (null is NaN); booleans boolean; strings, categoricals and enums categorical; lists of
        strings attributes; vectors, arrays or lists of d numbers each, d numeric columns: vector[0], vector[1], …
    y : object array of S lists, or None where label is None
    """
    timing = Timing.of(time, max_gap, time_columns)
    return cut(FrameTable(frame), by, label, columns, constant, kinds, timing=timing)[:2]


def frame_columns(frames: Sequence[Any], first: int) -> tuple[dict[str, AnyArray], dict[str, Kind]]:
    """The columns and kinds of data frames that are a sequence each and have the same columns, one after the other;
    `first` is the number of the first, for messages."""
    tables = [FrameTable(frame) for frame in frames]
    table = tables[0]
    if len(tables) > 1:
        import narwhals as nw

        table = FrameTable(nw.concat([one.frame for one in tables], how="vertical"))

    def place(bad: BadValue, name: str) -> InputError:
        error = among(bad, [0, *accumulate(map(len, (one.frame for one in tables)))], bad.row, column=name)
        return placed(error, sequence=first + (error.sequence or 0))

    return read_columns(table.names, lambda name: table.column(name, None), place)


class FrameTable:
    """A data frame as a `Table`."""

    path: str | None = None

    def __init__(self, frame: Any, path: str | None = None) -> None:
        import narwhals as nw

        self.path = path
        try:
            self.frame = nw.from_native(_named(frame), eager_only=True)
            self.names = list(self.frame.columns)
        except (TypeError, nw.exceptions.NarwhalsError) as error:
            hint = "Collect it first." if hasattr(frame, "collect") else f"narwhals says: {error}"
            raise InputError(f"{type(frame).__name__} is not a data frame in memory", hint=hint) from error

    def __len__(self) -> int:
        return len(self.frame)

    def times(self, name: str) -> Clock:
        import narwhals as nw

        series = self.frame[name]
        dtype = series.dtype
        if series.null_count() > 0 or not (dtype.is_numeric() or dtype in (nw.Datetime, nw.Date, nw.Duration)):
            return read_times(series.to_list())
        if dtype.is_numeric():
            return number_clock(series.to_numpy())
        if dtype == nw.Duration:
            return Clock(series.dt.total_microseconds().to_numpy(), 1e6)
        if dtype == nw.Date:
            series = series.cast(nw.Datetime("us"))
        fine = getattr(series.dtype, "time_unit", "us") == "ns"
        ticks = series.dt.timestamp("ns" if fine else "us").to_numpy()
        return Clock(ticks, 1e9 if fine else 1e6, series.dt.hour().to_numpy(), series.dt.weekday().to_numpy() - 1)

    def line(self, row: int) -> int | None:
        return None

    def values(self, name: str) -> list[Any]:
        values: list[Any] = self.frame[name].to_list()
        return values

    def column(self, name: str, kind: Kind | None) -> tuple[Kind, AnyArray]:
        import narwhals as nw

        series = self.frame[name]
        dtype = series.dtype
        if kind == "categorical":
            return kind, objects(shared([None if is_null(value) else plain_text(value) for value in series.to_list()]))
        if dtype.is_numeric():
            column: tuple[Kind, AnyArray] = "numeric", _numbers(series)
        elif dtype == nw.Boolean:
            values = [None if is_null(value) else bool(value) for value in series.to_list()]
            column = "boolean", booleans(values)
            if kind == "numeric":  # None becomes NaN
                column = "numeric", np.array(values, dtype=FLOAT)
        elif dtype in (nw.String, nw.Categorical, nw.Enum):
            column = "categorical", _strings(series)
            if dtype == nw.String and kind is None:  # of a file in which one cell was no number
                refuse_slips(
                    column[1].tolist(), _words(column[1].tolist()), "Give None", "⟦kinds⟧, or columns of a model"
                )
        elif dtype in (nw.List, nw.Array):
            lists = series.to_list()
            vectors = any(is_vector(value) for value in lists)
            column = column_of(lists if vectors else [[] if is_null(value) else list(value) for value in lists])
        elif dtype in (nw.Object, nw.Unknown):
            column = column_of(series.to_list())
        else:
            hint = "Turn it into numbers or text, or leave it out."
            if dtype in (nw.Datetime, nw.Date, nw.Duration):
                hint = f"If rows stand in its order, give ⟦time={name!r}⟧; else turn it into numbers, or leave it out."
            raise InputError(f"a column of {dtype} cannot be a feature", column=name, path=self.path, hint=hint)
        if kind is not None and column[0] != kind:
            raise InputError(f"holds {column[0]} values, not {kind}", column=name, path=self.path)
        return column


def _named(frame: Any) -> Any:
    """The frame, with text for names of columns where they are whole numbers, as pandas has them; each must be one."""
    if hasattr(frame, "collect"):  # a lazy one says its names after some work, and is refused in a moment
        return frame
    named: Any = getattr(frame, "column_names", None)  # pyarrow has other `columns`
    names = list(getattr(frame, "columns", ()) if named is None else named)
    texts = [str(name) if isinstance(name, (str, int, np.integer)) else name for name in names]
    odd = next((name for name in texts if not isinstance(name, str)), None)
    if odd is not None:
        raise InputError(f"the column name {odd!r} is not text", hint="Rename the columns first.")
    if len(set(texts)) < len(texts):
        twice = next(name for name in texts if texts.count(name) > 1)
        raise InputError("two columns have this name", column=twice, hint="Rename or drop one of them.")
    return frame.set_axis(texts, axis=1) if texts != names else frame


def _words(values: list[Any]) -> list[str]:
    """The texts that are no numbers; all of them where few are: then they are what the column is of."""
    distinct = {value for value in values if value is not None}
    words = {value for value in distinct if not is_number(value)}
    return [] if len(words) == len(distinct) else [value for value in values if value in words]


def _numbers(series: Any) -> AnyArray:
    import narwhals as nw

    numbers = (series.cast(nw.Float64) if series.null_count() > 0 else series).to_numpy()
    numbers = np.ascontiguousarray(numbers, dtype=number_type(numbers))
    check_finite(numbers)
    return numbers


def _strings(series: Any) -> AnyArray:
    values = [None if is_null(value) else value for value in series.to_list()]
    for row, value in enumerate(values):
        if value is not None and not isinstance(value, str):
            hint = 'Declare ⟦kinds={"…": "categorical"}⟧ to read every value as text.'
            raise BadValue(row, f"the category {value!r} is not text", hint)
    return objects(shared(values))
