"""Linear scores: how they and their gradients pass through the weights of sparse features and numbers, and the chain of
node weights, weights of transitions or of histories, and, where asked for, weights of label pairs by feature. And the
loss of a corpus and its gradient at given weights: all that a trainer sees of the data."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hedgerow.chain.edges import HistoryEdges, SharedEdges
from hedgerow.chain.objectives.result import Objective
from hedgerow.chain.potentials import ChainPotentials, Edges, Truth
from hedgerow.chain.structure.histories import Histories
from hedgerow.chain.structure.states import StateSpace
from hedgerow.chain.workspace import Workspace
from hedgerow.data.dataset import Dataset
from hedgerow.errors import InputError
from hedgerow.legend import CODE, INDEX, CodeArray, FloatArray, IndexArray
from hedgerow.linear import kernels
from hedgerow.linear.index import Reads, WeightIndex
from hedgerow.parallel import Lanes, plan_chunks

# A row with at least this many weights also stands in the dense table: adding a whole row of K weights is then
# cheaper than as many entries. Chosen on chunking with 22 labels, where 10 was slower in a first trial.
TABLE_SIZE = 6
# Compiled features are kept between evaluations up to this many bytes; beyond it a chunk is compiled each time anew,
# which costs about half as much again as the evaluation itself.
KEPT_BYTES = 2 << 30


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
            constants = ChunkFeatures(numbers, numbers, *lists_of_them, None, None, dataset.seq_numeric)
        entries = None
        if weighted:
            entries = self._lists(dataset.codes, places, (none, none, none), dataset, weighted=True)[2:]
        return ChunkFeatures(places, sequences - first, *lists, entries, constants, dataset.numeric)

    def _lists(
        self,
        codes: CodeArray,
        places: IndexArray,
        streams: tuple[IndexArray, IndexArray, IndexArray],
        attributes: Dataset | None,
        *,
        weighted: bool = False,
    ) -> tuple[CodeArray, CodeArray, CodeArray, CodeArray, FloatArray]:
        """What `list_features` lists; with `weighted` every feature as entries, with the values of attributes."""
        index, known = self.index, self.index.streams
        none, codes_of_none, nothing = np.empty(0, dtype=INDEX), np.empty(0, dtype=CODE), np.empty(0)
        reads: tuple[Any, ...] = none, codes_of_none, nothing, none, none
        if attributes is not None:
            values = attributes.attr_val if weighted else nothing
            reads = attributes.attr_ptr, attributes.attr_id, values, known.attr_shift, known.attr_base
        in_table = np.full_like(self.table_row, -1) if weighted else self.table_row
        fixed = codes, places, *streams, *reads, index.row_ptr, in_table, index.slot_label, index.n_outputs
        n_table, n_entries = kernels.sparse.list_features(*fixed, *(codes_of_none,) * 4, nothing)
        ptr, table = np.empty(len(places) + 1, dtype=CODE), np.empty(n_table, dtype=CODE)
        cell, slot = np.empty(n_entries, dtype=CODE), np.empty(n_entries, dtype=CODE)
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
            self.add_numbers(chunk.numbers, chunk.places, reads, number_weights, scores)

    def add_numbers(
        self, numbers: FloatArray, places: IndexArray, reads: Reads, number_weights: FloatArray, scores: FloatArray
    ) -> None:
        """Add what the numbers at some places score to (n, M)."""
        kernels.sparse.gather_numbers(numbers, places, *reads, number_weights, scores)

    def new_gradient(self) -> tuple[FloatArray, FloatArray]:
        """An accumulator for `pull`: of the slots, and of the table."""
        return np.zeros(self.index.n_weights), np.zeros_like(self.table)

    def pull(self, chunk: ChunkFeatures, gradient: FloatArray, into: tuple[FloatArray, FloatArray]) -> None:
        """Add the gradient with respect to the scores (n, M) to an accumulator."""
        streams = self.index.streams
        self._scatter(chunk, streams.number_reads, self._number_slots, gradient, into)
        if chunk.constants is not None:
            begin = np.flatnonzero(np.diff(chunk.sequences, prepend=-1))
            sums = np.add.reduceat(gradient, begin, axis=0)
            self._scatter(chunk.constants, streams.constant_reads, self._constant_slots, sums, into)

    def _scatter(
        self,
        chunk: ChunkFeatures,
        reads: Reads,
        number_slots: IndexArray,
        gradient: FloatArray,
        into: tuple[FloatArray, FloatArray],
    ) -> None:
        cells = gradient.reshape(-1)
        kernels.sparse.scatter(chunk.ptr, chunk.table, chunk.cell, chunk.slot, gradient, cells, *into)
        if chunk.weighted is not None:
            kernels.sparse.scatter_weighted(*chunk.weighted, cells, into[0])
        if len(number_slots):
            sums = np.zeros(number_slots.shape)
            kernels.sparse.scatter_numbers(chunk.numbers, chunk.places, *reads, gradient, sums)
            has = number_slots >= 0
            into[0][number_slots[has]] += sums[has]

    def finish(self, accumulator: tuple[FloatArray, FloatArray]) -> FloatArray:
        """The gradient of the weights that an accumulator holds."""
        grad, table = accumulator
        kernels.sparse.drain_table(self.table_rows, self.index.row_ptr, self.index.slot_label, table, grad)
        return grad


def _dense_slots(index: WeightIndex, rows: IndexArray) -> IndexArray:
    """int64[len(rows), M]: the slot of each weight of some rows, −1 where a pair has none."""
    slots = np.full((len(rows), index.n_outputs), -1, dtype=INDEX)
    for i, row in enumerate(rows):
        row_slots = np.arange(index.row_ptr[row], index.row_ptr[row + 1])
        slots[i, index.slot_label[row_slots]] = row_slots
    return slots


def _dense(weights: FloatArray, slots: IndexArray) -> FloatArray:
    return np.where(slots >= 0, weights[slots], 0.0) if len(weights) else np.zeros(slots.shape)


# ------------------------------------------------------------------------------------------------ chains


@dataclass(frozen=True)
class ChainLayout:
    """One vector of weights holds, in this order, nodes, transitions and label pairs by feature.

    arc_from, arc_to : int64[A], the transitions that have a weight; none where there are histories
    pairs : the weights of label pairs, output `to·K + from`; None where no feature scores pairs
    pair_columns : the columns whose features score pairs, sorted
    histories : of chains of order 2 and more. Each of their arcs has a weight, and scores that and the weights of the
        arcs it backs off to: a weight for every seen run of labels
    n_arcs : how many transitions, or arcs of histories, have a weight
    """

    nodes: WeightIndex
    arc_from: IndexArray
    arc_to: IndexArray
    space: StateSpace
    pairs: WeightIndex | None = None
    pair_columns: tuple[str, ...] = ()
    histories: Histories | None = None
    n_labels: int = field(init=False)
    n_arcs: int = field(init=False)
    n_weights: int = field(init=False)

    def __post_init__(self) -> None:
        n_arcs = len(self.arc_from) if self.histories is None else self.histories.n_arcs
        n_pairs = 0 if self.pairs is None else self.pairs.n_weights
        object.__setattr__(self, "n_labels", self.nodes.n_outputs)
        object.__setattr__(self, "n_arcs", n_arcs)
        object.__setattr__(self, "n_weights", self.nodes.n_weights + n_arcs + n_pairs)

    def split(self, weights: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Views of the node, transition and pair weights."""
        n, a = self.nodes.n_weights, self.n_arcs
        return weights[:n], weights[n : n + a], weights[n + a :]

    def edge_table(self, arcs: FloatArray) -> FloatArray:
        """(K, K) [from, to]: the transition weights, 0 where a transition has none, −inf where it is forbidden."""
        table = self.space.edge_scores.copy()
        table[self.arc_from, self.arc_to] += arcs
        return table


@dataclass(frozen=True)
class ChainFeatures:
    """The compiled features of a chunk, and the offsets of its sequences from its first position."""

    offsets: IndexArray
    first_sequence: int
    nodes: ChunkFeatures
    pairs: ChunkFeatures | None


class LinearChain:
    """From weights to potentials and back. `load` the weights first; then any number of threads may use it."""

    def __init__(self, layout: ChainLayout) -> None:
        self.layout = layout
        self.nodes = LinearScorer(layout.nodes)
        self.pairs = LinearScorer(layout.pairs) if layout.pairs is not None else None
        space = layout.space
        self.start_scores = None if space.start.all() else space.start_scores
        self.end_scores = None if space.end.all() else space.end_scores

    def load(self, weights: FloatArray) -> None:
        nodes, arcs, pairs = self.layout.split(weights)
        histories = self.layout.histories
        edges = self.layout.edge_table(arcs) if histories is None else histories.add_back_off(arcs)
        self.nodes.load(nodes)
        if self.pairs is not None:
            self.pairs.load(pairs)
        self.edges: Edges
        if histories is not None:
            self.edges = HistoryEdges.from_scores(histories, edges)
        else:
            self.edges = SharedEdges.from_scores(edges)

    def compile(self, dataset: Dataset, first: int, last: int) -> ChainFeatures:
        offsets = dataset.offsets[first : last + 1] - dataset.offsets[first]
        pairs = self.pairs.compile(dataset, first, last) if self.pairs is not None else None
        return ChainFeatures(offsets, first, self.nodes.compile(dataset, first, last), pairs)

    def potentials(self, chunk: ChainFeatures, buffer: FloatArray | None = None) -> ChainPotentials:
        """The potentials of a chunk. Node scores are written into `buffer` (≥ n, K) where it is given."""
        n, K = chunk.nodes.n_positions, self.layout.n_labels
        scores = np.empty((n, K)) if buffer is None or len(buffer) < n else buffer[:n]
        self.nodes.score(chunk.nodes, scores)
        edges = self.edges
        if self.pairs is not None and chunk.pairs is not None:
            pair_scores = np.empty((n, K * K))
            self.pairs.score(chunk.pairs, pair_scores)
            edges = edges.at_positions(pair_scores.reshape(n, K, K).transpose(1, 0, 2))
        potentials = ChainPotentials(scores, chunk.offsets, edges, sequence_base=chunk.first_sequence)
        potentials.add_start_end(self.start_scores, self.end_scores)
        return potentials


class ChainGradient:
    """The gradient of a chain's weights, summed over chunks. One a lane."""

    def __init__(self, chain: LinearChain) -> None:
        self.chain = chain
        K, histories = chain.layout.n_labels, chain.layout.histories
        self.nodes = chain.nodes.new_gradient()
        self.edges: FloatArray = np.zeros((K, K) if histories is None else histories.n_arcs)
        self.pairs = chain.pairs.new_gradient() if chain.pairs is not None else None

    def clear(self) -> None:
        for array in (*self.nodes, self.edges, *(self.pairs or ())):
            array.fill(0.0)

    def add(self, chunk: ChainFeatures, nodes: FloatArray, edges: FloatArray) -> None:
        """Add a gradient with respect to node scores (n, K) and edge scores (K, K), (K, n, K) [to, t, from] or (A,)."""
        self.chain.nodes.pull(chunk.nodes, nodes, self.nodes)
        if edges.ndim < 3:
            self.edges += edges
            return
        self.edges += edges.sum(axis=1).T
        if self.chain.pairs is not None and chunk.pairs is not None and self.pairs is not None:
            n = edges.shape[1]
            by_position = np.ascontiguousarray(edges.transpose(1, 0, 2)).reshape(n, -1)
            self.chain.pairs.pull(chunk.pairs, by_position, self.pairs)

    def write(self, out: FloatArray) -> None:
        """Add what was summed to a vector laid out as the weights are."""
        layout = self.chain.layout
        nodes, arcs, pairs = layout.split(out)
        nodes += self.chain.nodes.finish(self.nodes)
        if layout.histories is not None:
            arcs += layout.histories.pull_back_off(self.edges)
        else:
            arcs += self.edges[layout.arc_from, layout.arc_to]
        if self.chain.pairs is not None and self.pairs is not None:
            pairs += self.chain.pairs.finish(self.pairs)


class _Seat:
    """What a thread needs to work on a lane: sums, messages, scores."""

    def __init__(self, chain: LinearChain, widest: int) -> None:
        self.gradient, self.workspace = ChainGradient(chain), Workspace()
        self.scores: FloatArray = np.empty((widest, chain.layout.n_labels))


class Evaluation:
    """The loss of a labelled corpus under a linear chain. Use inside `with Lanes(...)`: bits do not depend on it."""

    def __init__(self, chain: LinearChain, dataset: Dataset, objective: Objective, lanes: Lanes) -> None:
        self.chain, self.dataset, self.objective, self.lanes = chain, dataset, objective, lanes
        self.plan = plan_chunks(dataset.offsets)
        self.n_evaluations, self.n_chunks = 0, len(self.plan) - 1
        self._kept: list[ChainFeatures | None] = [None] * self.n_chunks
        self._kept_bytes = 0
        widest = int(np.diff(dataset.offsets[self.plan]).max())
        self._free = deque(_Seat(chain, widest) for _ in range(lanes.n_threads))
        self._taken: dict[int, _Seat] = {}
        self._losses: FloatArray = np.zeros(self.n_chunks)
        self._total: FloatArray = np.empty(0)

    def __call__(self, weights: FloatArray) -> tuple[float, FloatArray]:
        """The loss and its gradient with respect to the weights."""
        self.n_evaluations += 1
        self.chain.load(weights)
        self._total = np.zeros(self.chain.layout.n_weights)
        self.lanes.run(self._work, self.n_chunks, self._finish)
        return float(self._losses.sum()), self._total

    def _work(self, lane: int, c: int) -> None:
        first, last, data = int(self.plan[c]), int(self.plan[c + 1]), self.dataset
        if lane not in self._taken:
            self._taken[lane] = self._free.popleft()
            self._taken[lane].gradient.clear()
        seat, chunk = self._taken[lane], self._kept[c]
        if chunk is None:
            chunk = self.chain.compile(data, first, last)
            size = chunk.nodes.n_bytes + (chunk.pairs.n_bytes if chunk.pairs is not None else 0)
            if self._kept_bytes + size <= KEPT_BYTES:
                self._kept[c], self._kept_bytes = chunk, self._kept_bytes + size
        potentials = self.chain.potentials(chunk, seat.scores)
        rows = slice(int(data.offsets[first]), int(data.offsets[last]))
        assert data.labels is not None
        truth = Truth(data.labels, data.allowed, data.weight_seq).take(rows, slice(first, last))
        result = self.objective(potentials, truth, seat.workspace)
        self._losses[c] = result.loss
        seat.gradient.add(chunk, result.node_gradient, result.edge_gradient)

    def _finish(self, lane: int) -> None:
        """Add what a lane summed, in the order of the lanes, and free its seat."""
        if lane in self._taken:
            seat = self._taken.pop(lane)
            seat.gradient.write(self._total)
            self._free.append(seat)
