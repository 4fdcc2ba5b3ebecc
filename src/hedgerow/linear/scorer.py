"""How scores and their gradients pass through the weights of sparse features and numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from hedgerow.data.dataset import Dataset
from hedgerow.data.derived import number_rows
from hedgerow.errors import InputError
from hedgerow.legend import CODE, FLOAT, INDEX, AnyArray, CodeArray, FloatArray, IndexArray
from hedgerow.linear import kernels
from hedgerow.linear.index import Reads, WeightIndex

# A row with at least this many weights also stands in the dense table: adding a whole row of K weights is then
# cheaper than as many entries. Chosen on chunking with 22 labels, where 10 was slower in a first trial.
TABLE_SIZE = 6
# Numbers of so many positions are multiplied together. Longer runs of a column are read faster, until the scores leave
# the cache; a power of two would put the rows of all labels at the same places of it.
BLOCK = 520
# A chunk with at least this many numbers of single precision is trained on in it, if they are far from the ends of its
# range: less gains nothing, and has the bits of double precision. Those that are all there and have means of at most so
# many deviations are multiplied as they are stored: further means would cost digits.
MANY, FAR, NEAR = 1 << 17, 1e30, 4.0
# Table rows and cells of a chunk that has no more of either are listed in so few bytes: they are read at every pass.
SHORT = np.uint16


Sums = tuple[FloatArray, FloatArray, FloatArray, FloatArray]


@dataclass(frozen=True)
class ChunkFeatures:
    """What the positions of a chunk have: table rows and entries, weighted entries, places for the numbers. These are
    those of the corpus, and those of the chunk alone where some are `derived`. `sequences` (of the positions) and
    `number_places` are empty where nothing reads them. `clean` numbers are multiplied as they are stored."""

    sequences: IndexArray
    ptr: CodeArray
    table: AnyArray
    cell: AnyArray
    slot: CodeArray
    weighted: tuple[AnyArray, CodeArray, FloatArray] | None
    constants: ChunkFeatures | None
    numbers: FloatArray
    number_places: IndexArray
    derived: bool
    clean: bool = False

    @property
    def n_positions(self) -> int:
        return len(self.ptr) - 1

    @property
    def n_bytes(self) -> int:
        """The memory of the lists."""
        places = (self.sequences, self.number_places, *((self.numbers,) if self.derived else ()))
        lists = (self.ptr, self.table, self.cell, self.slot, *(self.weighted or ()))
        return sum(array.nbytes for array in (*places, *lists))


class LinearScorer:
    """Scores from weights. `load` the weights, then `score` chunks; `pull` takes gradients back to the weights."""

    single = False  # whether many numbers of single precision are multiplied in it, which is enough to train by

    def __init__(self, index: WeightIndex) -> None:
        self.index, sizes = index, np.diff(index.row_ptr)
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
        self.number_weights = _dense(self.weights, self._number_slots)
        self._constant_weights = _dense(self.weights, self._constant_slots)
        kernels.sparse.fill_table(self.table_rows, self.index.row_ptr, self.index.slot_label, self.weights, self.table)

    def allow_single(self) -> None:
        """Multiply many numbers in single precision from now on, unless they might be too large or small for it."""
        _, _, center, scale = self.index.streams.number_reads
        self.single = bool((np.abs(center) < FAR).all() and (scale < FAR).all() and (scale > 1.0 / FAR).all())

    def _block(self, numbers: AnyArray, n_streams: int, scores: FloatArray) -> AnyArray:
        """Room in which to multiply the numbers of a chunk with these scores."""
        return number_block(scores, numbers.dtype if self.single and len(scores) * n_streams >= MANY else FLOAT)

    def _clean(self, numbers: AnyArray, places: IndexArray) -> bool:
        """Whether the numbers of a chunk are multiplied as they are stored: many of single precision, none missing."""
        _, shift, center, scale = self.index.streams.number_reads
        many = numbers.dtype == np.float32 and len(places) * len(shift) >= MANY
        if not self.single or not many or (np.abs(center) * scale > NEAR).any():
            return False
        return not np.isnan(numbers[:, places[0] + shift.min() : places[-1] + shift.max() + 1].min())

    def compile(self, dataset: Dataset, first: int, last: int) -> ChunkFeatures:
        """The features of sequences first … last-1 of a dataset."""
        streams = self.index.streams
        lengths = np.diff(dataset.offsets[first : last + 1])
        if int(lengths.sum()) * self.index.n_outputs > np.iinfo(CODE).max:
            what = f"sequences {first} … {last - 1} are too long for {self.index.n_outputs} scores per position"
            raise InputError(what)
        sequences = np.repeat(np.arange(first, last, dtype=INDEX), lengths)
        begin = dataset.offsets[first:last] - dataset.offsets[first]
        places = np.repeat(dataset.start[first:last] - begin, lengths) + np.arange(len(sequences), dtype=INDEX)
        weighted = dataset.attr_val is not None and len(streams.attr_shift) > 0
        coded, none = (streams.column, streams.shift, streams.base), np.empty(0, dtype=INDEX)
        lists = self._lists(dataset.codes, places, coded, None if weighted else dataset)[:4]
        constants = None
        if len(streams.seq_column) or len(streams.seq_num_column):
            numbers = np.arange(first, last, dtype=INDEX)
            nowhere = np.zeros_like(streams.seq_column)
            coded = streams.seq_column, nowhere, streams.seq_base
            lists_of_them = self._lists(dataset.seq_codes, numbers, coded, None)[:4]
            constants = ChunkFeatures(none, *lists_of_them, None, None, dataset.seq_numeric, numbers, False)
        entries = None
        if weighted:
            entries = self._lists(dataset.codes, places, (none, none, none), dataset, weighted=True)[2:]
        rows, low = number_rows(dataset, first, last) if len(streams.num_column) else (dataset.numeric, 0)
        at = places - low if len(streams.num_column) else none
        sequences = none if constants is None else sequences - first
        derived = rows is not dataset.numeric
        return ChunkFeatures(sequences, *lists, entries, constants, rows, at, derived, self._clean(rows, at))

    def _lists(
        self,
        codes: CodeArray,
        places: IndexArray,
        streams: tuple[IndexArray, IndexArray, IndexArray],
        attributes: Dataset | None,
        *,
        weighted: bool = False,
    ) -> tuple[CodeArray, AnyArray, AnyArray, CodeArray, FloatArray]:
        """What `list_features` lists; with `weighted` every feature as entries, with the values of attributes."""
        index, known = self.index, self.index.streams
        none, codes_of_none, nothing = np.empty(0, dtype=INDEX), np.empty(0, dtype=CODE), np.empty(0)
        reads: tuple[Any, ...] = none, codes_of_none, nothing, none, none
        if attributes is not None:
            values = attributes.attr_val if weighted else nothing
            reads = attributes.attr_ptr, attributes.attr_id, values, known.attr_shift, known.attr_base
        in_table = np.full_like(self.table_row, -1) if weighted else self.table_row
        fixed = codes, places, *streams, *reads, index.row_ptr, in_table, index.slot_label, index.n_outputs
        most = max(len(self.table_rows), len(places) * index.n_outputs)
        short: Any = SHORT if most <= np.iinfo(SHORT).max + 1 else CODE
        neither: AnyArray = np.empty(0, dtype=short)
        nowhere = codes_of_none, neither, neither, codes_of_none, nothing
        n_table, n_entries = kernels.sparse.list_features(*fixed, *nowhere)
        ptr, table = np.empty(len(places) + 1, dtype=CODE), np.empty(n_table, dtype=short)
        cell, slot = np.empty(n_entries, dtype=short), np.empty(n_entries, dtype=CODE)
        value = np.empty(n_entries if weighted else 0)
        kernels.sparse.list_features(*fixed, ptr, table, cell, slot, value)
        return ptr, table, cell, slot, value

    def score(self, chunk: ChunkFeatures, scores: FloatArray) -> None:
        """Write the scores (n, M) of a chunk."""
        streams = self.index.streams
        self._gather(chunk, streams.number_reads, self.number_weights, scores)
        if chunk.constants is not None:
            of_sequences = np.empty((chunk.constants.n_positions, self.index.n_outputs))
            self._gather(chunk.constants, streams.constant_reads, self._constant_weights, of_sequences)
            scores += of_sequences[chunk.sequences]

    def _gather(self, chunk: ChunkFeatures, reads: Reads, number_weights: FloatArray, scores: FloatArray) -> None:
        cells = scores.reshape(-1)
        kernels.sparse.gather(chunk.ptr, chunk.table, chunk.cell, chunk.slot, self.weights, self.table, scores, cells)
        if chunk.weighted is not None:
            kernels.sparse.gather_weighted(*chunk.weighted, self.weights, cells)
        if len(number_weights):
            block = self._block(chunk.numbers, len(number_weights), scores)
            gather = kernels.numbers.gather_clean if chunk.clean else kernels.numbers.gather_numbers
            gather(chunk.numbers, chunk.number_places, *reads, number_weights, block, scores)

    def new_gradient(self) -> Sums:
        """An accumulator for `pull`: of the slots, of the table, of numbers and of constant numbers."""
        numbers = np.zeros(self._number_slots.shape), np.zeros(self._constant_slots.shape)
        return np.zeros(self.index.n_weights), np.zeros_like(self.table), *numbers

    def pull(self, chunk: ChunkFeatures, gradient: FloatArray, into: Sums) -> None:
        """Add the gradient with respect to the scores (n, M) to an accumulator."""
        streams, (slots, table, numbers, constants) = self.index.streams, into
        self._scatter(chunk, streams.number_reads, gradient, slots, table, numbers)
        if chunk.constants is not None:
            begin = np.flatnonzero(np.diff(chunk.sequences, prepend=-1))
            sums = np.add.reduceat(gradient, begin, axis=0)
            self._scatter(chunk.constants, streams.constant_reads, sums, slots, table, constants)

    def _scatter(
        self,
        chunk: ChunkFeatures,
        reads: Reads,
        gradient: FloatArray,
        slots: FloatArray,
        table: FloatArray,
        numbers: FloatArray,
    ) -> None:
        cells = gradient.reshape(-1)
        kernels.sparse.scatter(chunk.ptr, chunk.table, chunk.cell, chunk.slot, gradient, cells, slots, table)
        if chunk.weighted is not None:
            kernels.sparse.scatter_weighted(*chunk.weighted, cells, slots)
        if len(numbers):
            block = self._block(chunk.numbers, len(numbers), gradient)
            scatter = kernels.numbers.scatter_clean if chunk.clean else kernels.numbers.scatter_numbers
            scatter(chunk.numbers, chunk.number_places, *reads, gradient, block, numbers)

    def finish(self, accumulator: Sums) -> FloatArray:
        """The gradient of the weights that an accumulator holds."""
        grad, table, *numbers = accumulator
        kernels.sparse.drain_table(self.table_rows, self.index.row_ptr, self.index.slot_label, table, grad)
        for slots, sums in zip((self._number_slots, self._constant_slots), numbers):
            grad[slots[slots >= 0]] += sums[slots >= 0]
        return grad


def number_block(scores: FloatArray, dtype: Any = FLOAT) -> AnyArray:
    """Room in which numbers are multiplied, for scores (n, M), three labels at a time."""
    return np.empty((6 + scores.shape[1], min(BLOCK * 8 // np.dtype(dtype).itemsize, len(scores))), dtype=dtype)


def _dense_slots(index: WeightIndex, rows: IndexArray) -> IndexArray:
    """int64[len(rows), M]: the slot of each weight of some rows, −1 where a pair has none."""
    slots = np.full((len(rows), index.n_outputs), -1, dtype=INDEX)
    for i, row in enumerate(rows):
        row_slots = np.arange(index.row_ptr[row], index.row_ptr[row + 1])
        slots[i, index.slot_label[row_slots]] = row_slots
    return slots


def _dense(weights: FloatArray, slots: IndexArray) -> FloatArray:
    return np.where(slots >= 0, weights[slots], 0.0) if len(weights) else np.zeros(slots.shape)
