"""Where the numbers of a column are cut into bins, as their sequences count."""

from __future__ import annotations

import numpy as np

from hedgerow.data.dataset import Column, Dataset
from hedgerow.legend import FLOAT, INDEX, AnyArray, CodeArray, FloatArray, IndexArray

MAX_CUTS = 7  # of the values of an attribute


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
    ordered = np.sort(values)
    distinct = ordered[np.append(True, ordered[1:] != ordered[:-1])[: len(ordered)]]
    few = len(distinct) <= max_bins
    shares = np.linspace(0, 1, max_bins + 1)[1:-1]
    cuts: FloatArray  # the largest value of each bin but the last
    if few:
        cuts = distinct[:-1]
    elif weights is None:
        cuts = np.unique(ordered[np.floor((len(ordered) - 1) * shares).astype(INDEX)])
    else:
        order = np.argsort(values, kind="stable")
        up_to = np.cumsum(weights[order])
        places = np.searchsorted(up_to, shares * (up_to[-1] - min(1.0, weights.min())), side="right")
        cuts = np.unique(values[order[np.minimum(places, len(order) - 1)]])
    above = np.append(distinct, np.inf)[np.searchsorted(distinct, cuts, side="right")]
    between = cuts / 2 + above / 2 if few else cuts
    between = np.where((between < above) & (between < in_single(above)), between, cuts)  # there may be no number there
    return np.where((in_single(cuts) > between) & (in_single(cuts) < above), in_single(cuts), between)


def in_single(values: FloatArray) -> FloatArray:
    """Values rounded to single precision; infinite where they leave its range."""
    with np.errstate(over="ignore"):
        return values.astype(np.float32).astype(FLOAT)


def attribute_items(
    ids: CodeArray, values: FloatArray | None, weights: FloatArray | None, n_attributes: int, min_frequency: float
) -> tuple[CodeArray, FloatArray]:
    """The items of attributes that are frequent enough: one that says "there", and some by their values."""
    counts, counted = np.bincount(ids, minlength=n_attributes), np.bincount(ids, weights, n_attributes)
    kept = np.flatnonzero((counts > 0) & (counted >= min_frequency)).astype(np.int32)
    if values is None:
        return kept, np.full(len(kept), np.nan)
    order, ends = np.lexsort((values, ids)), np.cumsum(counts)
    sources: list[int] = []
    cuts: list[float] = []
    for a in kept:
        own = order[ends[a] - counts[a] : ends[a]]
        quantiles = quantiles_of(values[own], None if weights is None else weights[own], MAX_CUTS + 1)[:MAX_CUTS]
        sources += [int(a)] * (1 + len(quantiles))
        cuts += [np.nan, *quantiles.tolist()]
    return np.array(sources, dtype=np.int32), np.array(cuts)
