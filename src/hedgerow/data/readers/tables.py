"""Data frames in, through narwhals: pandas, polars and pyarrow tables by one path."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from hedgerow.data.readers.columns import BadValue, booleans, check_finite, column_of, objects, read_columns, shared
from hedgerow.data.readers.grouping import Kinds, cut
from hedgerow.data.rows import is_null, plain_text
from hedgerow.data.sequences import Kind, Sequences, number_type
from hedgerow.data.vectors import is_vector
from hedgerow.errors import InputError, among, placed
from hedgerow.legend import FLOAT, AnyArray


def sequences(
    frame: Any,
    by: str | Sequence[str],
    label: str | None = None,
    *,
    columns: Sequence[str] | None = None,
    constant: Sequence[str] = (),
    kinds: Kinds | None = None,
) -> tuple[Sequences, AnyArray | None]:
    """Cut a data frame into sequences.

    Parameters
    ----------
    frame : pandas or polars DataFrame, pyarrow Table, or another eager frame that narwhals knows
        One row per position.
    by : str or list of str
        The group column, or several: rows with equal values are one sequence. They keep their order and need not be
        adjacent; sequences come in the order of their first rows.
    label : str, optional
        The column of labels, str or int; a null is an unlabelled position.
    columns : sequence of str, optional
        The columns to use as features. Default: all but `by` and `label`.
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
    return cut(FrameTable(frame), by, label, columns, constant, kinds)


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
            self.frame = nw.from_native(frame, eager_only=True)
            self.names = list(self.frame.columns)
        except (TypeError, nw.exceptions.NarwhalsError) as error:
            hint = "Collect it first." if hasattr(frame, "collect") else f"narwhals says: {error}"
            raise InputError(f"{type(frame).__name__} is not a data frame in memory", hint=hint) from error
        unnamed = next((name for name in self.names if not isinstance(name, str)), None)
        if unnamed is not None:
            raise InputError(f"the column name {unnamed!r} is not text", hint="Rename the columns first.")

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
        elif dtype in (nw.List, nw.Array):
            lists = series.to_list()
            vectors = any(is_vector(value) for value in lists)
            column = column_of(lists if vectors else [[] if is_null(value) else list(value) for value in lists])
        elif dtype in (nw.Object, nw.Unknown):
            column = column_of(series.to_list())
        else:
            hint = "Turn it into numbers or text, or leave it out with ⟦columns=⟧."
            raise InputError(f"a column of {dtype} cannot be a feature", column=name, path=self.path, hint=hint)
        if kind is not None and column[0] != kind:
            raise InputError(f"holds {column[0]} values, not {kind}", column=name, path=self.path)
        return column


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
