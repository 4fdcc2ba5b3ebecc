"""What a column holds at one place of a corpus, as text for people."""

from __future__ import annotations

import numpy as np

from hedgerow.data.dataset import OUTSIDE_COLUMN, Column, Dataset
from hedgerow.data.derived import number_row
from hedgerow.legend import FIRST_VALUE, MISSING, OUTSIDE


def value_text(dataset: Dataset, column: Column, sequence: int, position: int) -> str:
    """The value of a column at a position of a sequence, or beyond its ends, where it is "outside"."""
    length = int(dataset.offsets[sequence + 1] - dataset.offsets[sequence])
    if not (column.constant or 0 <= position < length):
        return "outside"
    if column.kind == "numeric":
        return number_text(_number(dataset, column, sequence, position))
    columns = dataset.schema.of("categorical", "boolean", constant=column.constant)
    row = [one.name for one in columns].index(column.name)
    place = int(dataset.start[sequence]) + position
    return code_text(column, int(dataset.seq_codes[row, sequence] if column.constant else dataset.codes[row, place]))


def code_text(column: Column, code: int) -> str:
    """What a code of a column stands for."""
    if column.name == OUTSIDE_COLUMN:
        return "outside" if code == OUTSIDE else "inside"
    if code in (MISSING, OUTSIDE):
        return "missing" if code == MISSING else "outside"
    if column.vocabulary is None:
        return "true" if code > FIRST_VALUE else "false"
    return repr(column.vocabulary.name(code - FIRST_VALUE))


def number_text(number: float) -> str:
    return "missing" if np.isnan(number) else f"{number:.6g}"


def _number(dataset: Dataset, column: Column, sequence: int, position: int) -> float:
    if column.constant:
        names = [one.name for one in dataset.schema.of("numeric", constant=True)]
        return float(dataset.seq_numeric[names.index(column.name), sequence])
    row, low = number_row(dataset, column, sequence, sequence + 1)
    number = float(row[int(dataset.start[sequence]) + position - low])
    return column.fill if np.isnan(number) else number
