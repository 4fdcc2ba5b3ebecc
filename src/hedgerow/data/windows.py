"""An encoded corpus under another window: nothing is read or coded a second time.

A window is no more than the offsets at which columns are read, the gap between sequences that they need, and the
column that says what lies outside. So a model of another window costs a copy of the arrays, where encoding costs a walk
through the values of the corpus in Python.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from hedgerow.data.columns import window_offsets
from hedgerow.data.dataset import OUTSIDE_COLUMN, Column, Dataset, Schema, Vocabulary, Window, padded_places
from hedgerow.legend import CODE, INDEX, MISSING, OUTSIDE


def with_window(dataset: Dataset, schema: Schema) -> Dataset:
    """The corpus by a schema that `windowed` made of its own."""
    if dataset.schema is schema:
        return dataset
    if dataset.schema == schema:  # windows that come to the same, where nothing has one
        return replace(dataset, schema=schema)
    start, places, size = padded_places(dataset.offsets, schema.gap)
    _, old, _ = padded_places(dataset.offsets, dataset.schema.gap)
    kept = [not is_outside(column) for column in dataset.schema.of("categorical", "boolean")]
    added = any(map(is_outside, schema.columns))
    codes = np.full((sum(kept) + added, size), OUTSIDE, dtype=CODE)
    codes[: sum(kept), places] = dataset.codes[np.flatnonzero(kept)][:, old]
    if added:  # the last of the columns that positions have, as `settle` puts it
        codes[-1, places] = MISSING
    numeric = np.full((len(dataset.numeric), size), np.nan, dtype=dataset.numeric.dtype)
    numeric[:, places] = dataset.numeric[:, old]
    n_own = np.zeros(size, dtype=INDEX)
    n_own[places] = np.diff(dataset.attr_ptr)[old]
    attr_ptr = np.concatenate([[0], np.cumsum(n_own)]).astype(INDEX)
    return replace(dataset, schema=schema, start=start, codes=codes, numeric=numeric, attr_ptr=attr_ptr)


def windowed(schema: Schema, window: Window) -> Schema:
    """The schema of the same columns under another window, as `learn` makes it for that window."""
    columns = [column for column in schema.columns if not is_outside(column)]
    named = [(column, column.name if column.derived is None else column.derived.source) for column in columns]
    own = [replace(column, offsets=window_offsets(window, name)) for column, name in named if not column.constant]
    attribute_offsets = window_offsets(window, "*") if schema.n_attributes else (0,)
    reads = {o for column in own if column.kind == "numeric" for o in column.offsets}
    beside = tuple(sorted({*reads, *attribute_offsets} - {0}))
    if beside:
        own.append(Column(OUTSIDE_COLUMN, "categorical", beside, Vocabulary([])))
    constants = [column for column in columns if column.constant]
    return replace(schema, columns=(*own, *constants), attribute_offsets=attribute_offsets, window=window)


def is_outside(column: Column) -> bool:
    """Whether a column is the one that the encoder makes, of what lies outside."""
    return column.name == OUTSIDE_COLUMN and not column.constant


def same_columns(one: Schema, other: Schema) -> bool:
    """Whether two schemas differ in nothing but their windows: a corpus by one is, `with_window`, one by the other."""
    bare = [
        [replace(column, offsets=()) for column in schema.columns if not is_outside(column)] for schema in (one, other)
    ]
    same = one.labels == other.labels and one.declared == other.declared and one.attributes == other.attributes
    return same and bare[0] == bare[1] and all(map(_in_order, (one, other)))


def _in_order(schema: Schema) -> bool:
    """Whether what lies outside comes last among the columns of positions, and once."""
    outside = [is_outside(column) for column in schema.columns if not column.constant]
    return not any(outside[:-1])
