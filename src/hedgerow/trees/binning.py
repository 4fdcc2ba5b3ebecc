"""Columns as small bins: codes as they are, numbers by quantiles, learnt once a model and used at every prediction."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hedgerow.data.dataset import OUTSIDE_COLUMN, Column, Dataset, Schema
from hedgerow.errors import InputError
from hedgerow.legend import INDEX, OUTSIDE, AnyArray, CodeArray, FloatArray, IndexArray

CODES, ORDERED = 0, 1
MAX_VALUES = 253  # of a numeric column, so that missing and outside fit into a byte with them


@dataclass(frozen=True)
class Binning:
    """How each column becomes bins. `thresholds[i]` are the upper ends of the bins of a numeric column, else None."""

    names: tuple[str, ...]
    kinds: tuple[int, ...]
    n_bins: tuple[int, ...]
    thresholds: tuple[FloatArray | None, ...]
    streams: IndexArray  # int64[5, ·]: column, shift, first bin, bins, kind

    @property
    def n_hist(self) -> int:
        """The bins of all streams together."""
        return int(self.streams[3].sum())


@dataclass(frozen=True)
class BinnedData:
    """bins uint8 or uint16 [C, P] by padded position; place int64[N]; flat int32[P], −1 in a gap; first bool[N]."""

    bins: AnyArray
    place: IndexArray
    flat: CodeArray
    first: AnyArray
    postings: CodeArray
    posting_ptr: IndexArray


def learn_binning(dataset: Dataset, max_bins: int = MAX_VALUES) -> Binning:
    """Choose bins for every column of a training corpus."""
    schema = dataset.schema
    if len(schema.attributes):
        raise InputError(
            "TreeCRF does not take sparse attributes yet",
            hint="Give single-valued columns, or use LinearCRF.",
        )
    names: list[str] = []
    kinds: list[int] = []
    n_bins: list[int] = []
    thresholds: list[FloatArray | None] = []
    shifts: list[tuple[int, ...]] = []
    for column, values in _columns(dataset):
        names.append(column.name)
        shifts.append(column.offsets)
        if column.kind == "numeric":
            known = values[~np.isnan(values)]
            edges = _quantiles(known if np.isnan(column.fill) else np.append(known, column.fill), max_bins)
            kinds.append(ORDERED)
            n_bins.append(len(edges) + 3)
            thresholds.append(edges)
        else:
            kinds.append(CODES)
            n_bins.append(column.n_codes)
            thresholds.append(None)
    if not names:
        raise InputError("there is no column to split on")
    reads = [(c, o) for c, offsets in enumerate(shifts) for o in offsets]
    own = np.array([n_bins[c] for c, _ in reads], dtype=INDEX)
    streams = np.stack(
        [
            np.array([c for c, _ in reads], dtype=INDEX),
            np.array([o for _, o in reads], dtype=INDEX),
            np.cumsum(own) - own,
            own,
            np.array([kinds[c] for c, _ in reads], dtype=INDEX),
        ]
    )
    return Binning(tuple(names), tuple(kinds), tuple(n_bins), tuple(thresholds), streams)


def _columns(dataset: Dataset) -> list[tuple[Column, AnyArray]]:
    """The columns that trees split on, with their stored values; windows mark what is outside by themselves."""
    schema: Schema = dataset.schema
    found: list[tuple[Column, AnyArray]] = []
    groups: list[tuple[list[Column], AnyArray]] = [
        (schema.of("categorical", "boolean"), dataset.codes),
        (schema.of("numeric"), dataset.numeric),
        (schema.of("categorical", "boolean", constant=True), dataset.seq_codes),
        (schema.of("numeric", constant=True), dataset.seq_numeric),
    ]
    for columns, values in groups:
        found.extend((c, row) for c, row in zip(columns, values) if c.name != OUTSIDE_COLUMN)
    return found


def _quantiles(values: FloatArray, max_bins: int) -> FloatArray:
    """Upper ends of the bins but the last: half-way between values where these are few, else quantiles."""
    distinct = np.unique(values)
    if len(distinct) <= max_bins:
        return (distinct[:-1] + distinct[1:]) / 2
    edges: FloatArray = np.unique(np.quantile(values, np.linspace(0, 1, max_bins + 1)[1:-1], method="lower"))
    return edges


def bin_dataset(binning: Binning, dataset: Dataset, *, postings: bool) -> BinnedData:
    """The bins of a corpus; with `postings` also where each code stands, for growing."""
    size = dataset.numeric.shape[1] if dataset.numeric.size else dataset.attr_ptr.shape[0] - 1
    lengths = np.diff(dataset.offsets)
    place = np.repeat(dataset.start - dataset.offsets[:-1], lengths) + np.arange(dataset.n_positions)
    sequence = np.repeat(np.arange(dataset.n_sequences), lengths)
    bins = np.empty((len(binning.names), size), dtype=np.uint8 if max(binning.n_bins) <= 256 else np.uint16)
    for c, (column, values) in enumerate(_columns(dataset)):
        outside = binning.n_bins[c] - 1 if binning.kinds[c] == ORDERED else OUTSIDE
        bins[c] = outside
        inside = values[sequence] if column.constant else values[place]
        if binning.kinds[c] == ORDERED and not np.isnan(column.fill):
            inside = np.where(np.isnan(inside), column.fill, inside)
        edges = binning.thresholds[c]
        if edges is None:
            bins[c, place] = inside
        else:
            found = np.searchsorted(edges, inside, side="left")
            bins[c, place] = np.where(np.isnan(inside), binning.n_bins[c] - 2, found)
    flat: CodeArray = np.full(size, -1, dtype=np.int32)
    flat[place] = np.arange(dataset.n_positions)
    first = np.zeros(dataset.n_positions, dtype=bool)
    first[dataset.offsets[:-1]] = True
    lists, ptr = _postings(binning, bins, place) if postings else (np.empty(0, np.int32), np.zeros((0, 0), INDEX))
    return BinnedData(bins, place, flat, first, lists, ptr)


def _postings(binning: Binning, bins: AnyArray, place: IndexArray) -> tuple[CodeArray, IndexArray]:
    """Padded places of each code of the code columns, inside sequences; a numeric column has none."""
    ptr = np.zeros((len(bins), max(binning.n_bins) + 1), dtype=INDEX)
    lists: list[CodeArray] = [np.empty(0, dtype=np.int32)]
    n = 0
    for c, kind in enumerate(binning.kinds):
        ptr[c] = n
        if kind == CODES:
            own = bins[c, place]
            counts = np.bincount(own, minlength=ptr.shape[1] - 1)
            lists.append(place[np.argsort(own, kind="stable")].astype(np.int32))
            ptr[c, 1:] += np.cumsum(counts)
            n += len(own)
    return np.concatenate(lists), ptr
