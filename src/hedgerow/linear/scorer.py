"""The linear scorer: how scores and gradients pass through the weights of sparse features and numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hedgerow.data.dataset import Dataset, Schema, locate, padded_places
from hedgerow.errors import InputError
from hedgerow.legend import CODE, INDEX, CodeArray, FloatArray, IndexArray
from hedgerow.linear import kernels
from hedgerow.linear.index import WeightIndex, index_weights

__all__ = ["ChunkFeatures", "LinearScorer", "WeightIndex", "check_numbers", "index_weights"]

# A row with at least this many weights also stands in the dense table: adding a whole row of K weights is then
# cheaper than as many entries. Chosen on chunking with 22 labels, where 10 was slower in a first trial.
TABLE_SIZE = 6


@dataclass(frozen=True)
class ChunkFeatures:
    """What the positions of a chunk have: table rows and entries, weighted entries, places for the numbers."""

    places: IndexArray
    sequences: IndexArray
    ptr: CodeArray
    table: CodeArray
    cell: CodeArray
    slot: CodeArray
    weighted: tuple[CodeArray, CodeArray, FloatArray] | None
    constants: ChunkFeatures | None
    numbers: FloatArray

    @property
    def n_positions(self) -> int:
        return len(self.ptr) - 1

    @property
    def n_bytes(self) -> int:
        """The memory of the lists."""
        lists = (self.places, self.sequences, self.ptr, self.table, self.cell, self.slot, *(self.weighted or ()))
        return sum(array.nbytes for array in lists)


class LinearScorer:
    """Scores from weights. `load` the weights, then `score` chunks; `pull` takes gradients back to the weights."""

    def __init__(self, index: WeightIndex) -> None:
        self.index = index
        sizes = np.diff(index.row_ptr)
        self.table_rows: IndexArray = np.flatnonzero(sizes >= TABLE_SIZE).astype(INDEX)
        self.table_row: CodeArray = np.full(len(sizes), -1, dtype=CODE)
        self.table_row[self.table_rows] = np.arange(len(self.table_rows), dtype=CODE)
        self.table: FloatArray = np.zeros((len(self.table_rows), index.n_outputs))
        self.weights: FloatArray = np.zeros(index.n_weights)
        self._number_slots = _dense_slots(index, index.streams.num_base)
        self._constant_slots = _dense_slots(index, index.streams.seq_num_base)

    def load(self, weights: FloatArray) -> None:
        """Use these weights from now on."""
        self.weights = weights.view()
        self.weights.flags.writeable = False  # as those of a memory-mapped model are: one compiled form serves both
        kernels.sparse.fill_table(self.table_rows, self.index.row_ptr, self.index.slot_label, self.weights, self.table)

    def compile(self, dataset: Dataset, first: int, last: int) -> ChunkFeatures:
        """The features of sequences first … last-1 of a dataset."""
        streams = self.index.streams
        lengths = np.diff(dataset.offsets[first : last + 1])
        if int(lengths.sum()) * self.index.n_outputs > np.iinfo(CODE).max:
            raise InputError(
                f"sequences {first} … {last - 1} are too long for {self.index.n_outputs} scores a position"
            )
        sequences = np.repeat(np.arange(first, last, dtype=INDEX), lengths)
        begin = dataset.offsets[first:last] - dataset.offsets[first]
        places = np.repeat(dataset.start[first:last] - begin, lengths) + np.arange(len(sequences), dtype=INDEX)
        weighted = dataset.attr_val is not None and len(streams.attr_shift) > 0
        lists = self._lists(
            dataset.codes, places, (streams.column, streams.shift, streams.base), None if weighted else dataset
        )
        constants = None
        if len(streams.seq_column) or len(streams.seq_num_column):
            own = np.arange(first, last, dtype=INDEX)
            nowhere = np.zeros_like(streams.seq_column)
            found = self._lists(dataset.seq_codes, own, (streams.seq_column, nowhere, streams.seq_base), None)
            constants = ChunkFeatures(own, own, *found, None, None, dataset.seq_numeric)
        entries = self._weighted(dataset, places) if weighted else None
        return ChunkFeatures(places, sequences - first, *lists, entries, constants, dataset.numeric)

    def _lists(
        self,
        codes: CodeArray,
        places: IndexArray,
        streams: tuple[IndexArray, IndexArray, IndexArray],
        attributes: Dataset | None,
    ) -> tuple[CodeArray, CodeArray, CodeArray, CodeArray]:
        index, own = self.index, self.index.streams
        none = np.empty(0, dtype=INDEX)
        reads = (
            (none, np.empty(0, dtype=CODE), none, none)
            if attributes is None
            else (attributes.attr_ptr, attributes.attr_id, own.attr_shift, own.attr_base)
        )
        n_table, n_entries = kernels.sparse.count_features(
            codes, places, *streams, *reads, index.row_ptr, self.table_row
        )
        ptr, table = np.empty(len(places) + 1, dtype=CODE), np.empty(n_table, dtype=CODE)
        cell, slot = np.empty(n_entries, dtype=CODE), np.empty(n_entries, dtype=CODE)
        kernels.sparse.list_features(
            codes, places, *streams, *reads,
            index.row_ptr, self.table_row, index.slot_label, index.n_outputs, ptr, table, cell, slot,
        )  # fmt: skip
        return ptr, table, cell, slot

    def _weighted(self, dataset: Dataset, places: IndexArray) -> tuple[CodeArray, CodeArray, FloatArray]:
        index, streams = self.index, self.index.streams
        fixed = (places, dataset.attr_ptr, dataset.attr_id, dataset.attr_val, streams.attr_shift, streams.attr_base)
        rest = (index.row_ptr, index.slot_label, index.n_outputs)
        none, nothing = np.empty(0, dtype=CODE), np.empty(0)
        n = kernels.sparse.list_weighted(*fixed, *rest, none, none, nothing)
        cell, slot, value = np.empty(n, dtype=CODE), np.empty(n, dtype=CODE), np.empty(n)
        if n:
            kernels.sparse.list_weighted(*fixed, *rest, cell, slot, value)
        return cell, slot, value

    def score(self, chunk: ChunkFeatures, scores: FloatArray) -> None:
        """Write the scores (n, M) of a chunk."""
        cells = scores.reshape(-1)
        kernels.sparse.gather(chunk.ptr, chunk.table, chunk.cell, chunk.slot, self.weights, self.table, scores, cells)
        if chunk.weighted is not None:
            kernels.sparse.gather_weighted(*chunk.weighted, self.weights, cells)
        streams = self.index.streams
        if len(streams.num_column):
            weights = _dense(self.weights, self._number_slots)
            kernels.sparse.gather_numbers(chunk.numbers, chunk.places, *streams.number_reads, weights, scores)
        if chunk.constants is not None:
            scores += self._score_constants(chunk.constants)[chunk.sequences]

    def _score_constants(self, chunk: ChunkFeatures) -> FloatArray:
        own = np.empty((chunk.n_positions, self.index.n_outputs))
        cells, streams = own.reshape(-1), self.index.streams
        kernels.sparse.gather(chunk.ptr, chunk.table, chunk.cell, chunk.slot, self.weights, self.table, own, cells)
        if len(streams.seq_num_column):
            weights = _dense(self.weights, self._constant_slots)
            kernels.sparse.gather_numbers(chunk.numbers, chunk.places, *streams.constant_reads, weights, own)
        return own

    def new_gradient(self) -> tuple[FloatArray, FloatArray]:
        """An accumulator for `pull`: of the slots, and of the table."""
        return np.zeros(self.index.n_weights), np.zeros_like(self.table)

    def pull(self, chunk: ChunkFeatures, gradient: FloatArray, into: tuple[FloatArray, FloatArray]) -> None:
        """Add the gradient with respect to the scores (n, M) to an accumulator."""
        cells, streams = gradient.reshape(-1), self.index.streams
        kernels.sparse.scatter(chunk.ptr, chunk.table, chunk.cell, chunk.slot, gradient, cells, *into)
        if chunk.weighted is not None:
            kernels.sparse.scatter_weighted(*chunk.weighted, cells, into[0])
        if len(streams.num_column):
            sums = np.zeros((len(streams.num_column), self.index.n_outputs))
            kernels.sparse.scatter_numbers(chunk.numbers, chunk.places, *streams.number_reads, gradient, sums)
            _add_dense(into[0], self._number_slots, sums)
        if chunk.constants is not None:
            begin = np.flatnonzero(np.diff(chunk.sequences, prepend=-1))
            self._pull_constants(chunk.constants, np.add.reduceat(gradient, begin, axis=0), into)

    def _pull_constants(self, chunk: ChunkFeatures, gradient: FloatArray, into: tuple[FloatArray, FloatArray]) -> None:
        cells, streams = gradient.reshape(-1), self.index.streams
        kernels.sparse.scatter(chunk.ptr, chunk.table, chunk.cell, chunk.slot, gradient, cells, *into)
        if len(streams.seq_num_column):
            sums = np.zeros((len(streams.seq_num_column), self.index.n_outputs))
            kernels.sparse.scatter_numbers(chunk.numbers, chunk.places, *streams.constant_reads, gradient, sums)
            _add_dense(into[0], self._constant_slots, sums)

    def finish(self, accumulator: tuple[FloatArray, FloatArray]) -> FloatArray:
        """The gradient of the weights that an accumulator holds."""
        grad, table = accumulator
        kernels.sparse.drain_table(self.table_rows, self.index.row_ptr, self.index.slot_label, table, grad)
        return grad


def _dense_slots(index: WeightIndex, rows: IndexArray) -> IndexArray:
    """int64[len(rows), M]: the slot of each weight of some rows, −1 where a pair has none."""
    slots = np.full((len(rows), index.n_outputs), -1, dtype=INDEX)
    for i, row in enumerate(rows):
        own = np.arange(index.row_ptr[row], index.row_ptr[row + 1])
        slots[i, index.slot_label[own]] = own
    return slots


def _dense(weights: FloatArray, slots: IndexArray) -> FloatArray:
    return np.where(slots >= 0, weights[slots], 0.0) if len(weights) else np.zeros(slots.shape)


def _add_dense(grad: FloatArray, slots: IndexArray, sums: FloatArray) -> None:
    has = slots >= 0
    grad[slots[has]] += sums[has]


def check_numbers(dataset: Dataset, schema: Schema) -> None:
    """Refuse missing numbers: a linear score has no value for them. An absent one that means 0 adds nothing."""
    _, places, _ = padded_places(dataset.offsets, schema.gap)
    for column, numbers in zip(schema.of("numeric"), dataset.numeric):
        bad = np.flatnonzero(np.isnan(numbers[places])) if np.isnan(column.fill) else np.empty(0)
        if len(bad):
            _refuse_missing(column.name, *locate(dataset.offsets, int(bad[0])))
    for column, numbers in zip(schema.of("numeric", constant=True), dataset.seq_numeric):
        bad = np.flatnonzero(np.isnan(numbers)) if np.isnan(column.fill) else np.empty(0)
        if len(bad):
            _refuse_missing(column.name, int(bad[0]), None)


def _refuse_missing(column: str, sequence: int, position: int | None) -> None:
    raise InputError(
        "a number is missing, and a linear model has no score for that",
        hint="Let the model fill it in: ⟦missing='impute'⟧, or 'indicator', which adds a flag that says so.",
        sequence=sequence,
        position=position,
        column=column,
    )
