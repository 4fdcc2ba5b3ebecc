"""Tables in files: CSV and TSV by the standard library, Parquet by pyarrow."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import numpy as np

from hedgerow.data.readers.columns import BadValue, booleans, check_finite, is_number, objects, refuse_slips, shared
from hedgerow.data.readers.grouping import Kinds, Names, as_names, cut, group_rows
from hedgerow.data.readers.source import Source, check_width, read_lines
from hedgerow.data.readers.tables import FrameTable
from hedgerow.data.readers.times import Clock, Timing, read_times
from hedgerow.data.sequences import Kind, Sequences
from hedgerow.errors import InputError, MissingExtraError
from hedgerow.legend import FLOAT, AnyArray

Format = Literal["csv", "tsv", "parquet"]
_SUFFIXES: dict[str, Format] = {".csv": "csv", ".tsv": "tsv", ".tab": "tsv", ".parquet": "parquet"}
_TRUTH = {"true": True, "false": False}


def read_table(
    source: Source,
    by: Names = None,
    label: str | None = None,
    *,
    time: str | None = None,
    max_gap: Any = None,
    time_columns: Sequence[str] = (),
    format: Format | None = None,
    columns: Sequence[str] | None = None,
    constant: Sequence[str] = (),
    kinds: Kinds | None = None,
    allow_missing: bool = True,
    encoding: str = "utf-8",
) -> tuple[Sequences, AnyArray | None]:
    """Read a CSV, TSV or Parquet file, one row per position, and cut it into sequences.

    Parameters
    ----------
    source : path, or for CSV and TSV an open file or an iterable of lines
        CSV and TSV have a header line. TSV knows no quotes.
    format : "csv", "tsv" or "parquet", optional
        By default the end of the file's name tells.
    by, label, time, max_gap, time_columns, columns, constant : as in `hedgerow.sequences`
    kinds : mapping of column to kind, optional
        CSV has no types. By default a column is numeric where all its values are numbers, boolean where all are true
        or false, and categorical elsewhere; an empty field is a missing value. A column declared "attributes" is cut
        at spaces. Declare what a later file might show differently: words that all happen to be numbers.
    allow_missing : bool, default True
        False refuses a missing number and names its line. `LinearCRF` refuses it too, and does not know the line.
    encoding : str

    Returns
    -------
    X : Sequences
    y : object array of S lists (of str, from CSV and TSV), or None where label is None
    """
    table, timing = _open(source, format, encoding), Timing.of(time, max_gap, time_columns)
    return cut(table, by, label, columns, constant, kinds, timing=timing, allow_missing=allow_missing)[:2]


def label_table(
    source: Source,
    y: Iterable[Sequence[Any]],
    target: str | os.PathLike[str] | Any,
    by: Names = None,
    *,
    time: str | None = None,
    max_gap: Any = None,
    name: str = "predicted",
    format: Format | None = None,
    encoding: str = "utf-8",
) -> None:
    """Write a table file again with one more column, the labels of the sequences that read_table cut it into.

    `target` is a path, or an open file: of text for CSV and TSV, of bytes for Parquet.
    """
    table = _open(source, format, encoding)
    if name in table.names:
        raise InputError(f"there is a column {name!r} already", path=table.path, hint="Give another name.")
    order = group_rows(table, as_names(by), Timing.of(time, max_gap, ()))[0]
    flat = [label for sequence in y for label in sequence]
    if len(flat) != len(order):
        raise InputError(f"has {len(order)} rows where {len(flat)} labels were given", path=table.path)
    labels: AnyArray = np.empty(len(flat), dtype=object)
    labels[order] = objects(flat)
    if isinstance(table, FrameTable):
        import pyarrow.parquet

        pyarrow.parquet.write_table(table.frame.to_native().append_column(name, [labels.tolist()]), target)
    elif isinstance(target, (str, os.PathLike)):
        with open(target, "w", encoding=encoding, newline="") as file:
            table.write(file, name, labels.tolist())
    else:
        table.write(target, name, labels.tolist())


def table_lines(
    source: Source, by: Names, *, time: str | None, max_gap: Any, format: Format, encoding: str
) -> list[list[int]]:
    """The line of each position of the sequences that `read_table` cuts a file into; none of Parquet."""
    table = _open(source, format, encoding)
    order, offsets, _ = group_rows(table, as_names(by), Timing.of(time, max_gap, ()))
    lines = [table.line(row) or 0 for row in order.tolist()]
    return [lines[begin:end] for begin, end in pairwise(offsets.tolist())] if format != "parquet" else []


def _open(source: Source, format: Format | None, encoding: str) -> TextTable | FrameTable:
    path = os.fspath(source) if isinstance(source, (str, os.PathLike)) else None
    if format is None:
        suffix = Path(path or "").suffix.lower()
        if suffix not in _SUFFIXES:
            hint = f"Give ⟦format=⟧, or a file that ends in {', '.join(_SUFFIXES)}."
            raise InputError("cannot tell the format of the table", path=path, hint=hint)
        format = _SUFFIXES[suffix]
    if format == "parquet":
        return FrameTable(_read_parquet(source, path), path)
    if format not in ("csv", "tsv"):
        raise InputError(f"{format!r} is not a format of tables", hint="Formats are csv, tsv and parquet.")
    return TextTable(*read_lines(source, encoding), format)


def _read_parquet(source: Any, path: str | None) -> Any:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise MissingExtraError("pyarrow", "parquet", "reading Parquet") from None
    try:
        table = pyarrow.parquet.read_table(source)
        check_width(table.num_columns, path)
        table.validate(full=True)  # texts that are not UTF-8, and whatever else a file may promise and not hold
    except (OSError, pyarrow.ArrowException, TypeError) as error:
        raise InputError(f"cannot be read as Parquet: {error}", path=path) from error
    return table


class TextTable:
    """A CSV or TSV file as a `Table`."""

    def __init__(self, path: str | None, lines: list[str], format: Format) -> None:
        self.path = path
        self.format = format
        rows = list(self._rows(lines))
        if not rows:
            raise InputError("has no header", path=path, hint="The first line names the columns.")
        self.names = rows[0][1]
        check_width(len(self.names), path)
        self._places = {name: j for j, name in enumerate(self.names)}
        if len(set(self.names)) < len(self.names) or "" in self.names:
            raise InputError("two columns have one name, or one has none", path=path, line=rows[0][0])
        self.lines = [number for number, _ in rows[1:]]
        self.rows = [fields for _, fields in rows[1:]]
        for number, fields in zip(self.lines, self.rows):
            if len(fields) != len(self.names):
                what = f"expected {len(self.names)} columns, as in the header, and found {len(fields)}"
                raise InputError(what, path=self.path, line=number)

    def _rows(self, lines: list[str]) -> Iterator[tuple[int, list[str]]]:
        """The fields of every row that is not blank, with the number of its last line."""
        if self.format == "tsv":
            yield from ((i, line.split("\t")) for i, line in enumerate(lines, start=1) if line.strip())
            return
        reader = csv.reader((f"{line}\n" for line in lines), strict=True)
        try:
            yield from ((reader.line_num, fields) for fields in reader if fields)
        except csv.Error as error:
            raise InputError(f"is not valid CSV: {error}", path=self.path, line=reader.line_num) from error

    def __len__(self) -> int:
        return len(self.rows)

    def times(self, name: str) -> Clock:
        return read_times(self.values(name))

    def line(self, row: int) -> int | None:
        return self.lines[row]

    def values(self, name: str) -> list[str | None]:
        place = self._places[name]
        return shared([fields[place] or None for fields in self.rows])

    def column(self, name: str, kind: Kind | None) -> tuple[Kind, AnyArray]:
        values = self.values(name)
        kind = kind or _guess(values)
        if kind == "attributes":
            return kind, objects([(value or "").split() for value in values])
        if kind == "numeric":
            return kind, _as_numbers(values)
        if kind == "boolean":
            wrong = next((row for row, v in enumerate(values) if v is not None and v.lower() not in _TRUTH), None)
            if wrong is not None:
                raise BadValue(wrong, f"{values[wrong]!r} is not true or false")
            return kind, booleans([None if value is None else _TRUTH[value.lower()] for value in values])
        return kind, objects(values)

    def write(self, file: Any, name: str, labels: list[Any]) -> None:
        """Write the table with one more column."""
        rows = ([*fields, label] for fields, label in zip(self.rows, labels))
        if self.format == "csv":
            csv.writer(file, lineterminator="\n").writerows([[*self.names, name], *rows])
            return
        file.writelines("\t".join(map(str, row)) + "\n" for row in [[*self.names, name], *rows])


def _guess(values: list[str | None]) -> Kind:
    """The kind of the values. One that is no number among numbers is refused: it is a slip more often than a word."""
    present = [value for value in values if value is not None]
    wrong = [value for value in present if not is_number(value)]
    if present and not wrong:
        return "numeric"
    if present and all(value.lower() in _TRUTH for value in present):
        return "boolean"
    refuse_slips(values, wrong, "Leave the field empty")
    return "categorical"


def _as_numbers(values: list[str | None]) -> AnyArray:
    for row, value in enumerate(values):
        if value is not None and not is_number(value):
            raise BadValue(row, f"{value!r} is not a number")
    numbers = np.array([np.nan if value is None else float(value) for value in values], dtype=FLOAT)
    check_finite(numbers)
    return numbers
