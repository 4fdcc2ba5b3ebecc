"""Where the numbers of a column are cut into bins, as their sequences count."""

from __future__ import annotations

import numpy as np

from hedgerow.data.dataset import Column, Dataset
from hedgerow.legend import FLOAT, AnyArray, FloatArray, IndexArray


def inside_places(dataset: Dataset) -> IndexArray:
    """The padded place, as the dataset has it, of every position."""
    lengths = np.diff(dataset.offsets)
    shift: IndexArray = np.repeat(dataset.start - dataset.offsets[:-1], lengths)
    return shift + np.arange(dataset.n_positions)


def column_weights(dataset: Dataset, column: Column) -> FloatArray | None:
    """What each value of a column counts, (N,) or (S,); None where all count the same."""
    weights = dataset.spread_weights()
    return dataset.weight_seq if column.constant and weights is not None else weights


def column_numbers(dataset: Dataset, column: Column, values: AnyArray) -> tuple[FloatArray, FloatArray | None]:
    """The numbers of a column that are there, and what each of them counts."""
    weights = column_weights(dataset, column)
    if weights is not None and not column.constant:
        values = values[inside_places(dataset)]
    known = ~np.isnan(values)
    numbers, counted = values[known].astype(FLOAT), None if weights is None else weights[known]
    if np.isnan(column.fill):
        return numbers, counted
    return np.append(numbers, column.fill), None if counted is None else np.append(counted, 1.0)


def quantiles_of(values: FloatArray, weights: FloatArray | None, max_bins: int) -> FloatArray:
    """Upper ends of the bins but the last: half-way between values where these are few, else quantiles. What is rounded
    to single precision later stays in its bin, where that can tell the values apart.

    weights : what each value counts, or None; as many as a value counts, so many times it stands among the others
    """
    distinct = np.unique(values)
    if len(distinct) <= max_bins:
        between = distinct[:-1] / 2 + distinct[1:] / 2
        below, above = distinct[:-1], distinct[1:]
        inside = (between < above) & (between < in_single(above))  # there may be no number between
        between = np.where(inside, between, below)
        return np.where((in_single(below) > between) & (in_single(below) < above), in_single(below), between)
    shares = np.linspace(0, 1, max_bins + 1)[1:-1]
    edges: FloatArray
    if weights is None:
        edges = np.quantile(values, shares, method="lower")
    else:
        order = np.argsort(values, kind="stable")
        up_to = np.cumsum(weights[order])
        places = np.searchsorted(up_to, shares * (up_to[-1] - min(1.0, weights.min())), side="right")
        edges = values[order[np.minimum(places, len(order) - 1)]]
    edges = np.unique(edges)
    above = np.append(distinct, np.inf)[np.searchsorted(distinct, edges, side="right")]
    return np.where(in_single(edges) < above, np.maximum(edges, in_single(edges)), edges)


def in_single(values: FloatArray) -> FloatArray:
    """Values rounded to single precision; infinite where they leave its range."""
    with np.errstate(over="ignore"):
        return values.astype(np.float32).astype(FLOAT)
