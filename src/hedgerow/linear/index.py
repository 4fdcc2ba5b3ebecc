"""Which (feature, output) pairs have a weight, and where it stands in the vector of weights."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hedgerow.data.dataset import Dataset
from hedgerow.legend import CODE, INDEX, BoolArray, CodeArray, FloatArray, IndexArray
from hedgerow.linear import kernels
from hedgerow.linear.streams import Streams


@dataclass(frozen=True)
class WeightIndex:
    """The weights of a linear scorer with M outputs (K labels, or K² label pairs): slots, grouped by row.

    row_ptr     int64[R+1]  the slots of row r are row_ptr[r] … row_ptr[r+1]-1
    slot_label  int32[W]    the output that the slot's weight adds to
    """

    streams: Streams
    n_outputs: int
    row_ptr: IndexArray
    slot_label: CodeArray

    def __post_init__(self) -> None:
        for array in (self.row_ptr, self.slot_label):  # always frozen: a kernel compiles again for a read-only array
            array.flags.writeable = False

    @property
    def n_weights(self) -> int:
        return len(self.slot_label)

    def slot_rows(self) -> IndexArray:
        """int64[W]: the row of each slot."""
        return np.repeat(np.arange(self.streams.n_rows, dtype=INDEX), np.diff(self.row_ptr))


def index_weights(
    dataset: Dataset,
    streams: Streams,
    where: IndexArray,
    labels: CodeArray,
    n_outputs: int,
    *,
    min_frequency: float = 0.0,
    all_pairs: bool = False,
) -> tuple[WeightIndex, FloatArray]:
    """Give a weight to the (feature, output) pairs seen in training, and count how often each is seen.

    `where` int64[n] are flat positions and `labels` int32[n] the outputs seen there. A pair seen less often than
    `min_frequency` gets no weight; with `all_pairs` a feature gets a weight for every output, and the threshold is for
    the feature. A value other than 0 counts one, whatever its size; the value 0 counts nothing, though without a
    threshold a pair seen with it alone has a weight.
    """
    sequences = np.searchsorted(dataset.offsets, where, side="right") - 1
    places = where + (dataset.start - dataset.offsets[:-1])[sequences]
    pointers, slots, totals = [np.zeros(1, dtype=INDEX)], [], []
    n_slots = 0
    for _, n_rows, which, rows, values in streams.observations(dataset, dataset.schema, places, sequences):
        row_ptr, slot, total = _group(rows, labels[which], (values != 0).astype(np.float64), n_rows, n_outputs)
        if all_pairs:
            row_ptr, slot, total = _complete(row_ptr, slot, total, n_outputs, min_frequency)
        elif min_frequency > 0:
            row_ptr, slot, total = _keep(row_ptr, slot, total, total >= min_frequency)
        pointers.append(row_ptr[1:] + n_slots)
        slots.append(slot)
        totals.append(total)
        n_slots += len(slot)
    none: CodeArray = np.empty(0, dtype=CODE)
    index = WeightIndex(streams, n_outputs, np.concatenate(pointers), np.concatenate([none, *slots]))
    return index, np.concatenate([np.empty(0), *totals])


def _group(
    rows: IndexArray, labels: CodeArray, ones: FloatArray, n_rows: int, n_outputs: int
) -> tuple[IndexArray, CodeArray, FloatArray]:
    """The pairs of one stream: pointers of its rows, and output and count of each pair. `ones` are 0 or 1."""
    row_ptr = np.empty(n_rows + 1, dtype=INDEX)
    count = np.empty(max(n_rows, n_outputs) + 1, dtype=INDEX)
    order = np.empty((2, len(rows)), dtype=INDEX)
    slot_label, slot_total = np.empty(len(rows), dtype=CODE), np.empty(len(rows))
    n = kernels.sparse.group_pairs(rows, labels, ones, n_outputs, count, order, row_ptr, slot_label, slot_total)
    return row_ptr, slot_label[:n].copy(), slot_total[:n].copy()


def _keep(
    row_ptr: IndexArray, slot: CodeArray, total: FloatArray, kept: BoolArray
) -> tuple[IndexArray, CodeArray, FloatArray]:
    running = np.concatenate([[0], np.cumsum(kept)]).astype(INDEX)
    return running[row_ptr], slot[kept], total[kept]


def _complete(
    row_ptr: IndexArray, slot: CodeArray, total: FloatArray, n_outputs: int, min_frequency: float
) -> tuple[IndexArray, CodeArray, FloatArray]:
    """Every output for every row that is seen often enough."""
    rows = np.repeat(np.arange(len(row_ptr) - 1), np.diff(row_ptr))
    frequency = np.bincount(rows, weights=total, minlength=len(row_ptr) - 1)
    kept = np.diff(row_ptr) > 0
    kept &= frequency >= min_frequency
    place = np.cumsum(kept) - 1
    dense = np.zeros((int(kept.sum()), n_outputs))
    seen = kept[rows]
    dense[place[rows[seen]], slot[seen]] = total[seen]
    pointer = np.concatenate([[0], np.cumsum(kept) * n_outputs]).astype(INDEX)
    return pointer, np.tile(np.arange(n_outputs, dtype=CODE), len(dense)), dense.ravel()
