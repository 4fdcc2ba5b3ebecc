"""Bins of a corpus whose parts lie elsewhere: the same as `learn_binning` chooses of the whole, and parts as bins.

Quantiles are exact, and no column is brought together for them. A number is found by its rank: every part samples its
numbers evenly, which bounds the number of that rank from both sides, and then gives those between the bounds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from hedgerow.data.dataset import Column, Dataset, Schema, padded_places
from hedgerow.data.parts.corpus import SharedCorpus, join, join_ends, whole_part
from hedgerow.legend import FLOAT, INDEX, AnyArray, CodeArray, FloatArray, IndexArray
from hedgerow.trees.binning import (
    Binning,
    Stored,
    assemble,
    bin_dataset,
    column_values,
    count_codes,
    group_windows,
    learn_binning,
    split_columns,
)
from hedgerow.trees.bins import BinnedData, item_places, postings_of
from hedgerow.trees.quantiles import in_single, quantiles_of

SAMPLED = 16_384  # numbers that a part gives of a column: twice that share of it lies between two bounds
AT_ONCE = 1 << 23  # numbers that all parts give: the columns are asked for some at a time


def learn_shared_binning(corpus: SharedCorpus, max_bins: int, min_frequency: float, *, gather: bool = False) -> Binning:
    """As `learn_binning`, of all parts. Where some sequences count more, one column after another is brought together,
    for sums of weights depend on their order."""
    sparse = split_columns(corpus.schema)[1]
    items = partial(_attribute_items, corpus, min_frequency)
    edges: Iterator[Any] = _numeric_edges(corpus, max_bins)
    counts: Iterator[Any] = iter(())
    if corpus.varied:
        alone = (corpus.together(stored.column) for stored in numeric_columns(corpus.schema))
        edges = (learn_binning(column, max_bins).thresholds[0] for column in alone)
        counts = (_count_codes(corpus.together(stored.column)) for stored in sparse)
    elif sparse:
        ends = np.cumsum([stored.column.n_codes for stored in sparse])
        counts = iter(np.split(corpus.added(_count_codes), ends[:-1]))
    return assemble(corpus, edges, counts, items, min_frequency, gather=gather)


def _count_codes(dataset: Dataset) -> IndexArray:
    """How often each code of the sparse columns stands at a position, one column after the other."""
    return np.concatenate([count_codes(dataset, stored) for stored in split_columns(dataset.schema)[1]])


def _attribute_items(corpus: SharedCorpus, min_frequency: float) -> tuple[CodeArray, FloatArray]:
    """As that of `binning`. The attributes of all positions are brought together."""
    alone = replace(corpus, schema=replace(corpus.schema, columns=()))
    whole = learn_binning(join(alone.each(whole_part)), min_frequency=min_frequency)
    source, cuts = whole.item_source[0], whole.item_cut[0]
    assert source is not None
    assert cuts is not None
    return source, cuts


# ------------------------------------------------------------------------------------------------ numbers


class Sample(NamedTuple):
    """The numbers of a column in a part: how many; all that differ, where these are few, else None; and some of them
    in order, those at `_places` in the order of all."""

    n: int
    distinct: FloatArray | None
    numbers: FloatArray


def _places(n: int) -> IndexArray:
    return np.arange(n) if n <= SAMPLED else np.linspace(0, n - 1, SAMPLED).astype(INDEX)


class Between(NamedTuple):
    """Of pairs of bounds: how many numbers are up to the lower ones; and those above them and up to the upper ones,
    each once with how often it is there: those of pair r are at ends[r] … ends[r+1]."""

    n_below: IndexArray
    ends: IndexArray
    numbers: FloatArray
    counts: IndexArray


def _numeric_edges(corpus: SharedCorpus, max_bins: int) -> Iterator[FloatArray]:
    """The upper ends of the bins of each numeric column that trees split on, as `quantiles_of` gives them."""
    columns = [stored.column for stored in numeric_columns(corpus.schema)]
    n_once = max(1, AT_ONCE // (SAMPLED * corpus.engine.n_parts))
    for first in range(0, len(columns), n_once):
        yield from _edges_of(corpus, columns[first : first + n_once], first, max_bins)


def _edges_of(corpus: SharedCorpus, columns: Sequence[Column], first: int, max_bins: int) -> list[FloatArray]:
    """Those of some columns, from the first on."""
    found = corpus.each(_samples, max_bins, first, len(columns))
    shares = np.linspace(0, 1, max_bins + 1)[1:-1]
    edges: list[FloatArray] = []
    ranks: dict[int, IndexArray] = {}
    bounds: dict[int, FloatArray] = {}
    for j, column in enumerate(columns):
        parts = [part[j] for part in found]
        if not np.isnan(column.fill):
            parts.append(_sample(np.array([column.fill]), max_bins))
        few = [part.distinct for part in parts if part.distinct is not None]
        values = np.unique(np.concatenate(few)) if few else np.empty(0)
        edges.append(quantiles_of(values, None, max_bins) if len(values) <= max_bins else values)
        if len(few) < len(parts) or len(values) > max_bins:
            ranks[j] = np.floor(shares * (sum(part.n for part in parts) - 1)).astype(INDEX)
            bounds[j] = _bounds(ranks[j], parts)
    answers = corpus.each(_between, bounds, first) if bounds else []
    for j, own in ranks.items():
        parts_of = [answer[j] for answer in answers]
        if not np.isnan(columns[j].fill):
            parts_of.append(_between_of(np.array([columns[j].fill]), bounds[j]))
        edges[j] = np.unique([_edge(int(rank), r, parts_of) for r, rank in enumerate(own)])
    return edges


def numeric_columns(schema: Schema) -> list[Stored]:
    """The columns of numbers that trees split on."""
    return [stored for stored in split_columns(schema)[0] if stored.column.kind == "numeric"]


def _ordered(dataset: Dataset, j: int) -> FloatArray:
    """The numbers of a column, in order, without what absent ones mean."""
    values = column_values(dataset, numeric_columns(dataset.schema)[j])
    return np.sort(values[~np.isnan(values)]).astype(FLOAT)


def _samples(dataset: Dataset, max_bins: int, first: int, n: int) -> list[Sample]:
    return [_sample(_ordered(dataset, j), max_bins) for j in range(first, first + n)]


def _sample(ordered: FloatArray, max_bins: int) -> Sample:
    distinct = ordered[np.flatnonzero(np.diff(ordered, prepend=np.nan) != 0)]
    few = distinct if len(distinct) <= max_bins else None
    return Sample(len(ordered), few, ordered[_places(len(ordered))])


def _bounds(ranks: IndexArray, parts: Sequence[Sample]) -> FloatArray:
    """(R, 2): the number of each rank, from 0, is above the first and at most the second, also in single precision.

    Up to a sample a part has at least as many numbers as its place says, and fewer than up to the next one: so many are
    at most beyond.
    """
    every = np.concatenate([part.numbers for part in parts])
    steps = np.concatenate([np.diff(_places(part.n), prepend=-1) for part in parts])
    order = np.argsort(every, kind="stable")
    ordered, up_to = every[order], np.cumsum(steps[order])
    beyond = sum(int(np.diff(_places(part.n)).max(initial=1)) - 1 for part in parts)
    whole = up_to[np.searchsorted(ordered, ordered, side="right") - 1]  # all samples of the same size
    high = ordered[np.searchsorted(up_to, ranks + 1)]
    below = np.searchsorted(whole + beyond, ranks, side="right") - 1
    low = np.where(below >= 0, ordered[np.maximum(below, 0)], -np.inf)
    rounded = in_single(high)
    return np.column_stack([low, np.where(rounded < np.inf, np.maximum(high, rounded), high)])


def _between(dataset: Dataset, bounds: dict[int, FloatArray], first: int) -> dict[int, Between]:
    return {j: _between_of(_ordered(dataset, first + j), own) for j, own in bounds.items()}


def _between_of(ordered: FloatArray, bounds: FloatArray) -> Between:
    ends = np.searchsorted(ordered, bounds, side="right")
    ends[np.isneginf(bounds[:, 0]), 0] = 0
    begins = np.flatnonzero(np.diff(ordered, prepend=np.nan) != 0)  # of each number that differs from the one before
    low, high = np.searchsorted(begins, ends.T)
    kept: IndexArray = np.concatenate([np.arange(a, b) for a, b in zip(low, high)])
    counts = np.diff(begins, append=len(ordered))[kept]
    return Between(ends[:, 0], np.cumsum([0, *(high - low)]), ordered[begins[kept]], counts)


def _edge(rank: int, r: int, parts: Sequence[Between]) -> float:
    """The number of a rank among all, which is between the bounds r; in single precision where no other is up to it."""
    runs = [slice(part.ends[r], part.ends[r + 1]) for part in parts]
    numbers = np.concatenate([part.numbers[run] for part, run in zip(parts, runs)])
    order = np.argsort(numbers, kind="stable")
    up_to = np.cumsum(np.concatenate([part.counts[run] for part, run in zip(parts, runs)])[order])
    below = sum(int(part.n_below[r]) for part in parts)
    edge = float(numbers[order[np.searchsorted(up_to, rank - below + 1)]])
    rounded = float(in_single(np.array(edge)))
    return rounded if edge < rounded < np.inf and not ((numbers > edge) & (numbers <= rounded)).any() else edge


# ------------------------------------------------------------------------------------------------ bins of parts


def bin_piece(dataset: Dataset, binning: Binning, below: Callable[[Dataset], Any] | None = None) -> BinnedPiece:
    """Sequences of a part as bins. below : what trees stand on"""
    assert dataset.labels is not None
    data, start = bin_dataset(binning, dataset, postings=False), None if below is None else below(dataset)
    return BinnedPiece(dataset.offsets, dataset.labels, dataset.allowed, data, dataset.weight_seq, start)


class BinnedPiece(NamedTuple):
    """Sequences as bins: those of their places, without a margin, and what else is resident of them."""

    offsets: IndexArray
    labels: CodeArray
    allowed: AnyArray | None
    data: BinnedData
    weights: FloatArray | None = None
    below: Any = None


def join_labels(pieces: Sequence[BinnedPiece], nothing: Dataset) -> Dataset:
    """The sequences of pieces with their labels and without columns: all that training reads beside bins.

    nothing : a corpus of the same schema
    """
    allowed = None
    if any(piece.allowed is not None for piece in pieces):
        free = [(len(piece.labels), nothing.n_labels) for piece in pieces]
        own = [np.ones(n, dtype=bool) if p.allowed is None else p.allowed for p, n in zip(pieces, free)]
        allowed = np.concatenate(own)
    offsets = join_ends([piece.offsets for piece in pieces])
    start = padded_places(offsets, nothing.schema.gap)[0]
    labels = np.concatenate([piece.labels for piece in pieces])
    weights = None if pieces[0].weights is None else np.concatenate([piece.weights for piece in pieces])
    return replace(nothing, offsets=offsets, start=start, labels=labels, allowed=allowed, weight_seq=weights)


def join_bins(binning: Binning, pieces: Sequence[BinnedPiece], gap: int, *, growing: bool = True) -> BinnedData:
    """The bins of sequences end to end, as `bin_dataset` makes them of one corpus."""
    margin, offsets = binning.margin, join_ends([piece.offsets for piece in pieces])
    n_sequences = len(offsets) - 1
    size = int(offsets[-1]) + gap * (n_sequences + 1) + 2 * margin
    first = pieces[0].data
    bins: AnyArray = np.empty((len(first.bins), size), dtype=np.uint8)
    starts: AnyArray = np.zeros(size, dtype=np.uint8)
    bins[:, :margin] = bins[:, size - margin :] = first.bins[:, :1]
    n_groups = len(first.columns.item_ptr)
    lists: list[list[CodeArray]] = [[] for _ in range(n_groups)]
    counts: IndexArray = np.zeros((n_groups, size), dtype=INDEX)
    places, at = [], margin
    for j, piece in enumerate(pieces):
        data, begin = piece.data, margin + (gap if j else 0)  # the gap before it is that behind the piece before
        end = data.bins.shape[1] - margin
        to = at + end - begin
        bins[:, at:to], starts[at:to] = data.bins[:, begin:end], data.first[begin:end]
        places.append(data.place + (at - begin))
        for g in range(n_groups):
            ptr = data.columns.item_ptr[g]
            counts[g, at:to] = np.diff(ptr)[begin:end]
            lists[g].append(data.columns.items[ptr[begin] : ptr[end]])
        at = to
    items, item_ptr = _join_items(lists, counts)
    place = np.concatenate(places).astype(np.int32)
    columns = first.columns._replace(bins=bins, items=items, item_ptr=item_ptr)
    if not growing:
        return BinnedData(columns, place, starts, columns, place, place, starts)
    by_code, by_item = postings_of(binning, bins), item_places(binning, items, item_ptr)
    columns = columns._replace(
        postings=by_code[0], posting_ptr=by_code[1], item_places=by_item[0], item_place_ptr=by_item[1]
    )
    return group_windows(binning, BinnedData(columns, place, starts, columns, place, place, starts))


def _join_items(lists: list[list[CodeArray]], counts: IndexArray) -> tuple[CodeArray, IndexArray]:
    """Items of all pieces, group by group."""
    ptr: IndexArray = np.zeros((len(lists), counts.shape[1] + 1), dtype=INDEX)
    joined: list[CodeArray] = [np.empty(0, dtype=np.int32)]
    n = 0
    for g, own in enumerate(lists):
        joined.extend(own)
        ptr[g, 1:] = np.cumsum(counts[g])
        ptr[g] += n
        n += int(counts[g].sum())
    return np.concatenate(joined), ptr
