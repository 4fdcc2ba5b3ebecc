"""What each feature of one position adds to a linear score."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from hedgerow.data.dataset import Column, Dataset, Schema
from hedgerow.data.showing import code_text, number_text
from hedgerow.legend import INDEX, FloatArray
from hedgerow.linear.index import WeightIndex, stream_columns


class Added(NamedTuple):
    """What a feature adds: a column at an offset, what it holds there, and the score. `column` is an attribute's name
    where `value` is empty."""

    column: str
    offset: int
    value: str
    score: float


def added_scores(
    dataset: Dataset,
    index: WeightIndex,
    weights: FloatArray,
    flat: int,
    outputs: FloatArray,
    names: set[str] | None = None,
) -> Iterator[Added]:
    """What each feature of a flat position adds to Σ outputs[k] · score[k]. weights : those of the index

    names : of the columns that the index is of, as in `Streams.of`. A feature that adds nothing is left out.
    """
    where = np.array([flat], dtype=INDEX)
    columns = stream_columns(dataset.schema, names)
    for (column, offset), seen in zip(columns, index.streams.observed_at(dataset, where), strict=True):
        base, _, _, rows, values = seen
        for row, value in zip(rows.tolist(), np.broadcast_to(values, rows.shape).tolist()):
            slots = slice(*index.row_ptr[base + row : base + row + 2])
            score = value * float((weights[slots] * outputs[index.slot_label[slots]]).sum())
            if score != 0.0:
                yield Added(*_named(dataset.schema, column, row, value), score)._replace(offset=offset)


def _named(schema: Schema, column: Column | None, row: int, value: float) -> tuple[str, int, str]:
    """The name of a feature, its offset (which the caller knows), and its value."""
    if column is None:
        name = schema.attributes.names()[row]
        return name, 0, "" if value == 1.0 else number_text(value)
    if column.kind == "numeric":
        return column.name, 0, number_text(value * column.spread + column.center)
    return column.name, 0, code_text(column, row)
