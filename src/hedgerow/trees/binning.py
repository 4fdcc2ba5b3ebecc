"""Columns as small bins: codes as they are, numbers by quantiles, learnt once per model and used at every prediction.

Columns of at most 256 bins are dense: a byte a place. Columns of more codes, and attributes, are sparse: each code or
attribute is an item of its own, and a place lists the items that stand there. An attribute with values has more items
than one: "there", and "more than c" for a few values c. Where trees need dense columns, the commonest codes of those
of more are gathered: they have a bin each, and all others share the last.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import accumulate, chain
from typing import Any, NamedTuple

import numpy as np

from hedgerow.data.dataset import OUTSIDE_COLUMN, Column, Dataset, Schema
from hedgerow.data.derived import number_row
from hedgerow.errors import InputError
from hedgerow.legend import FIRST_VALUE, INDEX, MISSING, OUTSIDE, AnyArray, CodeArray, FloatArray, IndexArray
from hedgerow.trees import kernels
from hedgerow.trees.bins import BinnedData as BinnedData
from hedgerow.trees.bins import item_places, postings_of
from hedgerow.trees.nodes import CODES, ITEMS, KIND, MAX_BINS, N_SPECIAL, ORDERED
from hedgerow.trees.quantiles import attribute_items, column_numbers, column_weights, inside_places, quantiles_of

MAX_VALUES = 253  # of a numeric column, so that missing and outside fit into a byte with them
ATTRIBUTES = "*"  # what the group of all attributes is called
_GROUP_FROM = 1000  # positions: fewer are not worth the search for equal windows


class Stored(NamedTuple):
    """A column and where a Dataset keeps it: row `row` of codes, numeric, seq_codes or seq_numeric (group 0 to 3). A
    derived one is of group 1, and has no row."""

    column: Column
    group: int
    row: int


@dataclass(frozen=True)
class Binning:
    """How each column becomes bins or items. Columns are numbered dense ones first.

    names, kinds : of every column; the attributes together are one column, ATTRIBUTES
    n_bins : bins of a dense column, items of a sparse one
    thresholds : upper ends of the bins of a numeric column, else None
    item_source : of a sparse column, the code or attribute behind each item, rising; of a gathered one, the code of
        each bin but the last; else None
    item_cut : of a sparse column, the value that an attribute must exceed, NaN where it need only be there; else None
    offsets : the lowest offset and the width of each column's window
    """

    names: tuple[str, ...]
    kinds: tuple[int, ...]
    n_bins: tuple[int, ...]
    thresholds: tuple[FloatArray | None, ...]
    item_source: tuple[CodeArray | None, ...]
    item_cut: tuple[FloatArray | None, ...]
    offsets: tuple[tuple[int, int], ...]

    @cached_property
    def n_dense(self) -> int:
        return sum(kind != ITEMS for kind in self.kinds)

    @cached_property
    def streams(self) -> IndexArray:
        """int64[6, ·]: the streams, with the fields of `trees.nodes`."""
        rows = []
        n_items = 0
        for c, (low, width) in enumerate(self.offsets):
            kind, size, missing_bin = self.kinds[c], self.n_bins[c], self._missing_bin(c)
            for o in range(low, low + width):
                rows.append((c, o, n_items if kind == ITEMS else 0, size, kind, missing_bin))
                n_items += size if kind == ITEMS else 0
        table: IndexArray = np.array(rows, dtype=INDEX).reshape(-1, 6)
        return np.ascontiguousarray(table.T)

    def _missing_bin(self, c: int) -> int:
        """The bin or item of column c that stands for no value. An absent attribute is a value, and so is inside."""
        if self.kinds[c] == ORDERED:
            return self.n_bins[c] - N_SPECIAL
        if self.names[c] in (ATTRIBUTES, OUTSIDE_COLUMN):
            return -1
        source = self.item_source[c]
        kept = source is None or (len(source) > 0 and source[0] == MISSING)
        return 0 if kept else -1  # MISSING is the first code, and the first item where it is one

    @cached_property
    def blocks(self) -> IndexArray:
        """int64[C, 7]: the dense columns, with the fields of `trees.nodes`."""
        rows, base, stream = [], 0, 0
        for c in range(self.n_dense):
            low, width = self.offsets[c]
            stride = 1 if width == 1 else -(-width // 4) * 4  # whole vectors of four words
            rows.append((self.n_bins[c], low, width, stride, base, self.kinds[c], stream))
            base, stream = base + self.n_bins[c] * stride, stream + width
        return np.array(rows, dtype=INDEX).reshape(-1, 7)

    @cached_property
    def margin(self) -> int:
        """Places before and after all others, so that no read of a window leaves the arrays."""
        return 3 + max((max(abs(low), abs(low + width - 1)) for low, width in self.offsets), default=0)


def learn_binning(
    dataset: Dataset,
    max_bins: int = MAX_VALUES,
    min_frequency: float = 1,
    *,
    keep_missing: bool = False,
    gather: bool = False,
) -> Binning:
    """Choose bins for every column of a training corpus; sparse items rarer than `min_frequency` are left out.

    keep_missing : keep the item for no value of a sparse column however rare it is, for trees in which that is none
    gather : whether columns of very many codes become dense
    """
    dense, sparse = split_columns(dataset.schema)
    numbers = (one for one in dense if one.column.kind == "numeric")
    edges = (
        quantiles_of(*column_numbers(dataset, one.column, column_values(dataset, one)), max_bins) for one in numbers
    )
    counts = (count_codes(dataset, one, least=max(1, np.ceil(min_frequency)) if keep_missing else 0) for one in sparse)
    items = partial(_attribute_items, dataset, min_frequency)
    return assemble(dataset, edges, counts, items, min_frequency, gather=gather)


def count_codes(dataset: Dataset, stored: Stored, least: float = 0) -> AnyArray:
    """How often each code of a column stands at a position; `least` is added to that for no value."""
    values = column_values(dataset, stored)
    inside = values if stored.column.constant else values[inside_places(dataset)]
    counts: AnyArray = np.bincount(inside, column_weights(dataset, stored.column), stored.column.n_codes)
    counts[MISSING] += least
    return counts


def assemble(
    corpus: Any, edges: Iterator[Any], counts: Iterator[Any], items: Callable[[], Any], least: float, *, gather: bool
) -> Binning:
    """A Binning, with what a corpus says of its columns, one after the other. edges : upper ends of bins of numbers;
    counts : of columns of very many codes, how often each stands inside of sequences; items : those of attributes"""
    schema = corpus.schema
    dense, sparse = ([stored.column for stored in part] for part in split_columns(schema))
    entries: list[tuple[Any, ...]] = []
    for column in dense:
        window = window_of(column.offsets)
        if column.kind == "numeric":
            ends = next(edges)
            entries.append((column.name, ORDERED, len(ends) + 1 + N_SPECIAL, ends, None, None, window))
        else:
            entries.append((column.name, CODES, column.n_codes, None, None, None, window))
    known = corpus.n_sequences, least
    entries += [_bins_of_codes(column, next(counts), *known, gather=gather) for column in sparse]
    if schema.n_attributes:
        source, cuts = items()
        entries.append((ATTRIBUTES, ITEMS, len(source), None, source, cuts, window_of(schema.attribute_offsets)))
    if not entries:
        raise InputError("there is no column to split on")
    return Binning(*(tuple(part) for part in zip(*entries)))


def _bins_of_codes(
    column: Column, counts: AnyArray, n_sequences: int, min_frequency: float, *, gather: bool
) -> tuple[Any, ...]:
    """What a Binning has of a column of very many codes."""
    counts[OUTSIDE] = n_sequences if len(column.offsets) > 1 else 0
    kept = np.flatnonzero((counts > 0) & (counts >= min_frequency)).astype(np.int32)
    if not gather:
        return column.name, ITEMS, len(kept), None, kept, np.full(len(kept), np.nan), window_of(column.offsets)
    values = kept[kept >= FIRST_VALUE]
    common = values[np.argsort(-counts[values], kind="stable")[: MAX_BINS - 1 - FIRST_VALUE]]
    source = np.sort(np.append(common, [MISSING, OUTSIDE])).astype(np.int32)
    return column.name, CODES, len(source) + 1, None, source, None, window_of(column.offsets)


def split_columns(schema: Schema) -> tuple[list[Stored], list[Stored]]:
    """The columns that trees split on, in the order of their numbers: dense ones, then sparse ones of very many codes.

    The dense ones mark what is outside by themselves, so the column that does it for attributes is there for these.
    """
    marked = schema.n_attributes > 0
    stored = []
    for g, columns in enumerate(schema.groups()):
        rows = accumulate((column.derived is None for column in columns), initial=0)
        stored += [Stored(column, g, row) for column, row in zip(columns, rows)]
    kept = [one for one in stored if one.column.name != OUTSIDE_COLUMN or marked]
    wide = [one.column.kind != "numeric" and one.column.n_codes > MAX_BINS for one in kept]
    return [one for one, w in zip(kept, wide) if not w], [one for one, w in zip(kept, wide) if w]


def column_values(dataset: Dataset, stored: Stored) -> AnyArray:
    """The values of a column, as the dataset has them; those of a derived one are computed, and nobody keeps them."""
    if stored.group == 1:
        return number_row(dataset, stored.column)[0]
    groups: tuple[AnyArray, ...] = (dataset.codes, dataset.numeric, dataset.seq_codes, dataset.seq_numeric)
    values: AnyArray = groups[stored.group][stored.row]
    return values


def window_of(offsets: tuple[int, ...]) -> tuple[int, int]:
    """The lowest offset and the width. (outside) is not read at 0, where it says nothing; here it may be."""
    return offsets[0], offsets[-1] - offsets[0] + 1


def _attribute_items(dataset: Dataset, min_frequency: float) -> tuple[CodeArray, FloatArray]:
    weights = dataset.spread_weights()
    if weights is not None:
        weights = np.repeat(weights, np.diff(dataset.attr_ptr)[inside_places(dataset)])
    return attribute_items(dataset.attr_id, dataset.attr_val, weights, dataset.schema.n_attributes, min_frequency)


def bin_dataset(binning: Binning, dataset: Dataset, *, postings: bool) -> BinnedData:
    """The bins of a corpus; with `postings` also where each code and item stands, for growing."""
    margin = binning.margin
    inside = inside_places(dataset)
    place = (inside + margin).astype(np.int32)
    size = int(dataset.offsets[-1]) + dataset.schema.gap * (dataset.n_sequences + 1) + 2 * margin
    sparse = [*chain(*split_columns(dataset.schema))][binning.n_dense :] if binning.n_dense < len(binning.names) else []
    bins = _dense_bins(binning, dataset, inside, place, size)
    first: AnyArray = np.zeros(size, dtype=np.uint8)
    first[place[dataset.offsets[:-1]]] = 1
    items, item_ptr = _sparse_items(binning, dataset, sparse, place, size, margin)
    n_sparse = int((binning.streams[KIND] == ITEMS).sum())
    nothing: tuple[CodeArray, IndexArray] = np.empty(0, np.int32), np.zeros((0, 0), INDEX)
    by_code = postings_of(binning, bins) if postings else nothing
    by_item = item_places(binning, items, item_ptr) if postings else nothing
    columns = kernels.state.Columns(
        bins, binning.blocks, margin, binning.streams, n_sparse, *by_code, items, item_ptr, *by_item
    )
    alone = BinnedData(columns, place, first, columns, place, place, first)
    return group_windows(binning, alone) if postings else alone


class _Reads(NamedTuple):
    """Where the dense columns of a schema become bins.

    outside : uint8[C], the bin of what is outside
    others : those that are not stored numbers of positions, with their columns
    numbers : `lines` to `missing` of `kernels.numbers`
    """

    schema: Schema
    outside: AnyArray
    others: list[tuple[int, Stored]]
    numbers: tuple[AnyArray, ...]


def _reads(binning: Binning, schema: Schema) -> _Reads:
    """Made when a schema is first seen: for one position it takes longer than all the rest."""
    kept: _Reads | None = binning.__dict__.get("_reads")
    if kept is not None and kept.schema is schema:
        return kept
    dense, n_bins = list(enumerate([*chain(*split_columns(schema))][: binning.n_dense])), binning.n_bins
    numbers = [(c, one) for c, one in dense if one.group == 1 and one.column.derived is None]
    read = {c for c, _ in numbers}
    ends = [() if (edges := binning.thresholds[c]) is None else edges for c, _ in numbers]
    made = _Reads(
        schema,
        np.array([n_bins[c] - 1 if binning.kinds[c] == ORDERED else OUTSIDE for c, _ in dense], dtype=np.uint8),
        [(c, one) for c, one in dense if c not in read],
        (
            np.array([one.row for _, one in numbers], dtype=INDEX),
            np.array([c for c, _ in numbers], dtype=INDEX),
            np.concatenate([np.empty(0), *ends]),
            np.cumsum([0, *map(len, ends)], dtype=INDEX),
            np.array([one.column.fill for _, one in numbers], dtype=np.float64),
            np.array([n_bins[c] - N_SPECIAL for c, _ in numbers], dtype=INDEX),
        ),
    )
    binning.__dict__["_reads"] = made  # as a cached property would, though by the schema
    return made


def _dense_bins(binning: Binning, dataset: Dataset, inside: IndexArray, place: CodeArray, size: int) -> AnyArray:
    reads = _reads(binning, dataset.schema)
    bins: AnyArray = np.empty((len(reads.outside), size), dtype=np.uint8)
    bins[:] = reads.outside[:, None]
    if len(reads.numbers[0]):
        kernels.numbers.bin_numbers(dataset.numeric, *reads.numbers, inside, place, bins)
    for c, one in reads.others:
        column, values, edges = one.column, column_values(dataset, one), binning.thresholds[c]
        if column.constant:
            values = np.repeat(values, np.diff(dataset.offsets))
        else:
            values = values[inside]
        if (source := binning.item_source[c]) is not None:
            bin_ = np.minimum(np.searchsorted(source, values), len(source) - 1)
            bins[c, place] = np.where(source[bin_] == values, bin_, len(source))
        elif edges is None:
            bins[c, place] = values
        else:
            if not np.isnan(column.fill):
                values = np.where(np.isnan(values), column.fill, values)
            bin_ = np.searchsorted(edges, values, side="left")
            bins[c, place] = np.where(np.isnan(values), binning.n_bins[c] - N_SPECIAL, bin_)
    return bins


def _sparse_items(
    binning: Binning, dataset: Dataset, sparse: list[Stored], place: CodeArray, size: int, margin: int
) -> tuple[CodeArray, IndexArray]:
    """items int32[], item_ptr int64[G, P+1]: the items of each sparse column that stand at each place."""
    lists: list[CodeArray] = [np.empty(0, dtype=np.int32)]
    ptr: IndexArray = np.zeros((len(binning.names) - binning.n_dense, size + 1), dtype=INDEX)
    n = 0
    for g in range(len(ptr)):
        if g < len(sparse):
            column, values = sparse[g].column, column_values(dataset, sparse[g])
            source = np.full(size, OUTSIDE, dtype=np.int64)
            sequence = np.repeat(np.arange(dataset.n_sequences), np.diff(dataset.offsets))
            source[place] = values[sequence] if column.constant else values[place - margin]
            counts, weights, n_sources = np.ones(size, dtype=INDEX), None, column.n_codes
        else:
            source, weights = dataset.attr_id.astype(np.int64), dataset.attr_val
            counts = np.zeros(size, dtype=INDEX)
            counts[margin : size - margin] = np.diff(dataset.attr_ptr)
            n_sources = dataset.schema.n_attributes
        items, per_place = _expand(binning, binning.n_dense + g, source, weights, counts, n_sources)
        lists.append(items)
        ptr[g, 1:] = np.cumsum(per_place)
        ptr[g] += n
        n += len(items)
    return np.concatenate(lists), ptr


def _expand(
    binning: Binning, c: int, source: AnyArray, weights: FloatArray | None, counts: IndexArray, n_sources: int
) -> tuple[CodeArray, IndexArray]:
    """Codes or attributes as the items they stand for; how many there are at each place."""
    of_item, cut = binning.item_source[c], binning.item_cut[c]
    assert of_item is not None
    assert cut is not None
    low = np.searchsorted(of_item, np.arange(n_sources + 1))
    repeats = (low[1:] - low[:-1])[source]
    entry = np.repeat(np.arange(len(source)), repeats)
    items = low[source[entry]] + np.arange(len(entry)) - np.repeat(np.cumsum(repeats) - repeats, repeats)
    if weights is not None:
        over = np.isnan(cut[items]) | (weights[entry] > cut[items])
        entry, items = entry[over], items[over]
    where = np.repeat(np.arange(len(counts)), counts)[entry]
    key = where * max(1, len(of_item)) + items
    if np.any(key[1:] <= key[:-1]):  # a place may name an attribute twice, and has its items once
        where, items = np.divmod(np.unique(key), max(1, len(of_item)))
    per_place: IndexArray = np.bincount(where, minlength=len(counts)).astype(INDEX)
    return items.astype(np.int32), per_place


def group_windows(binning: Binning, alone: BinnedData) -> BinnedData:
    """Grow trees on one copy of equal windows, where that halves the rows: no tree can tell them apart."""
    columns, place, first = alone.columns, alone.place, alone.first
    if len(place) < _GROUP_FROM or columns.n_sparse or not len(columns.blocks):
        return alone
    hashes: IndexArray = np.zeros(len(place), dtype=INDEX)
    kernels.boosting.hash_windows(columns.bins, columns.blocks, place, first, hashes)
    if 2 * np.count_nonzero(np.diff(np.sort(hashes), prepend=-1)) > len(place):
        return alone
    _, which, group = np.unique(hashes, return_index=True, return_inverse=True)
    others = place[which][group]
    streams = ((c, o) for c, (low, width) in enumerate(binning.offsets) for o in range(low, low + width))
    if any((columns.bins[c, place + o] != columns.bins[c, others + o]).any() for c, o in streams):
        return alone  # two windows have one hash
    low = min(lowest for lowest, _ in binning.offsets)
    span = max(lowest + width for lowest, width in binning.offsets) - low
    source = place[which][:, None] + np.arange(low, low + span)
    margin = binning.margin
    bins: AnyArray = np.zeros((len(columns.bins), len(which) * span + 2 * margin + span), dtype=np.uint8)
    bins[:, margin : margin + len(which) * span] = columns.bins[:, source.ravel()]
    places = (margin - low + span * np.arange(len(which))).astype(np.int32)
    firsts: AnyArray = np.zeros(bins.shape[1], dtype=np.uint8)
    firsts[places] = first[place[which]]
    postings, posting_ptr = postings_of(binning, bins)
    growing = columns._replace(bins=bins, postings=postings, posting_ptr=posting_ptr)
    return BinnedData(columns, place, first, growing, places, places[group], firsts, grouped=True)
