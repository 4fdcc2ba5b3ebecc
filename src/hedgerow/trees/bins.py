"""The bins of a corpus, and where each code and item stands in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.legend import INDEX, AnyArray, CodeArray, IndexArray
from hedgerow.trees.nodes import CODES, MAX_BINS

if TYPE_CHECKING:
    from hedgerow.trees.binning import Binning


@dataclass(frozen=True)
class BinnedData:
    """The bins of a corpus, for prediction or for growing.

    columns : what kernels read (see kernels.state.Columns)
    place : int32[N], the place of each position
    first : uint8[P] by place
    growing : the columns on which trees grow: the same, or one copy of each window where many are equal
    places : int32[R], the places of `growing` that stand for rows
    window_place : int32[N], the one that stands for a position, and all others with its window
    window_first : uint8[·] by place of `growing`
    grouped : whether positions share places of `growing`
    """

    columns: Any
    place: CodeArray
    first: AnyArray
    growing: Any
    places: CodeArray
    window_place: CodeArray
    window_first: AnyArray
    grouped: bool = False

    @property
    def bins(self) -> AnyArray:
        bins: AnyArray = self.columns.bins
        return bins


def postings_of(binning: Binning, bins: AnyArray) -> tuple[CodeArray, IndexArray]:
    """Places of each code of the dense code columns, those outside sequences too; a numeric column has none."""
    margin, size = binning.margin, bins.shape[1]
    ptr = np.zeros((len(bins), MAX_BINS + 1), dtype=INDEX)
    lists: list[CodeArray] = [np.empty(0, dtype=np.int32)]
    n = 0
    for c in range(len(bins)):
        ptr[c] = n
        if binning.kinds[c] == CODES:
            codes = bins[c, margin : size - margin]
            lists.append((np.argsort(codes, kind="stable") + margin).astype(np.int32))
            ptr[c, 1:] += np.cumsum(np.bincount(codes, minlength=MAX_BINS))
            n += len(codes)
    return np.concatenate(lists), ptr


def item_places(binning: Binning, items: CodeArray, item_ptr: IndexArray) -> tuple[CodeArray, IndexArray]:
    """item_places int32[], item_place_ptr int64[G, ·]: where each item of each sparse column stands."""
    sizes = binning.n_bins[binning.n_dense :]
    ptr: IndexArray = np.zeros((len(sizes), max(sizes, default=0) + 1), dtype=INDEX)
    lists: list[CodeArray] = [np.empty(0, dtype=np.int32)]
    margin, n = binning.margin, 0
    for g in range(len(sizes)):
        begin, end = item_ptr[g, 0], item_ptr[g, -1]
        where = np.repeat(np.arange(item_ptr.shape[1] - 1, dtype=np.int32), np.diff(item_ptr[g]))
        inner = (where >= margin) & (where < item_ptr.shape[1] - 1 - margin)  # no place sees beyond
        ids, where = items[begin:end][inner], where[inner]
        lists.append(where[np.argsort(ids, kind="stable")])
        ptr[g, 1:] = np.cumsum(np.bincount(ids, minlength=ptr.shape[1] - 1))
        ptr[g] += n
        n += len(ids)
    return np.concatenate(lists), ptr
