"""The features of batches of sequences: from a working vector of weights to the scores of a batch, and back."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from hedgerow.chain.edges import HistoryEdges, SharedEdges
from hedgerow.chain.potentials import ChainPotentials, Edges
from hedgerow.chain.workspace import padded_width
from hedgerow.data.dataset import Dataset
from hedgerow.data.derived import number_rows
from hedgerow.legend import CODE, INDEX, AnyArray, CodeArray, FloatArray, IndexArray
from hedgerow.linear import kernels
from hedgerow.linear.chain import ChainLayout
from hedgerow.linear.index import WeightIndex
from hedgerow.linear.working import SpreadIndex, WorkingLayout
from hedgerow.parallel import plan_chunks

BLOCK_POSITIONS = 20_000  # listed at once: far less than 0.2 s

Lists = tuple[IndexArray, CodeArray, FloatArray, IndexArray, CodeArray, CodeArray, FloatArray]
# The weights that a batch touched: runs, how many, their width; slots, how many. As kernels.updates takes them.
Touched = tuple[CodeArray, int, int, CodeArray, int]


class RowReader:
    """The weight rows of positions, read from a Dataset into buffers.

    ptr, row, value : as kernels.online.read_rows writes them
    valued : whether some values are not 1
    """

    def __init__(self, dataset: Dataset, index: WeightIndex) -> None:
        self.dataset = dataset
        self.lengths: IndexArray = np.diff(dataset.offsets)
        streams = index.streams
        numbers = len(streams.num_column) + len(streams.seq_num_column)
        self.valued = numbers > 0 or (dataset.attr_val is not None and len(streams.attr_shift) > 0)
        self.counts: IndexArray = np.zeros(streams.n_rows, dtype=INDEX)
        self.row: IndexArray = np.empty(0, dtype=INDEX)
        self.value: FloatArray = np.empty(0)
        self._index, self._reads = index, () if dataset.schema.features else _reads(dataset, index)

    def read(self, sequences: IndexArray) -> int:
        """Read some sequences; how many rows they have in all."""
        self.ptr: IndexArray = np.empty(int(self.lengths[sequences].sum()) + 1, dtype=INDEX)
        fixed: tuple[Any, ...] = (sequences, self.dataset.start, self.lengths, *self._reads, self.ptr)
        if self.dataset.schema.features:  # derived at these sequences alone
            part = self.dataset.take(sequences)
            each: IndexArray = np.arange(len(sequences), dtype=INDEX)
            fixed = (each, part.start, self.lengths[sequences], *_reads(part, self._index), self.ptr)
        nowhere: tuple[Any, ...] = (*fixed, self.row[:0], self.value[:0])
        n_rows: int = kernels.online.read_rows(*nowhere)
        if n_rows > len(self.row):
            self.row, self.value = np.empty(n_rows + n_rows // 4, dtype=INDEX), np.empty(n_rows + n_rows // 4)
        if n_rows:
            fixed += (self.row, self.value)
            kernels.online.read_rows(*fixed)
        return n_rows

    def blocks(self) -> Iterator[tuple[int, int]]:
        """Read the whole corpus in pieces: the first position of each, and how many rows it has."""
        for first, last in pairwise(plan_chunks(self.dataset.offsets, BLOCK_POSITIONS)):
            yield int(self.dataset.offsets[first]), self.read(np.arange(first, last, dtype=INDEX))

    def count(self) -> IndexArray:
        """int64[R]: how often each row is read in the corpus."""
        for _, n_rows in self.blocks():
            np.add.at(self.counts, self.row[:n_rows], 1)
        return self.counts


class FeatureLists:
    """What the positions of a corpus have, as lists that kernels read. `open` a batch, then use the rest.

    Lists of the whole corpus are kept where they need no more than `kept_bytes`; else each batch is listed by itself.

    begin, length : int64[m], where the sequences of the batch are in the lists
    lists : spread_ptr, spread, spread_value, entry_ptr, entry_slot, entry_label, entry_value (see kernels.online)
    touched : the weights that `touch` noted, those at the slots `always` among them
    """

    def __init__(self, reader: RowReader, spread: SpreadIndex, kept_bytes: int, always: slice = slice(0, 0)) -> None:
        self.reader = reader
        self.spread = spread
        self._n_always = always.stop - always.start
        # One more than there can be: the kernel writes before it counts.
        self._runs: CodeArray = np.empty(spread.n_spread + 1, dtype=CODE)
        self._slots: CodeArray = np.empty(self._n_always + spread.n_slots + 1, dtype=CODE)
        self._slots[: self._n_always] = np.arange(always.start, always.stop)
        self.touched: Touched = (self._runs, 0, spread.index.n_outputs, self._slots, 0)
        wide = spread.n_slots_of == spread.index.n_outputs
        n_spread = int(reader.counts[wide].sum())
        n_entries = int((reader.counts * spread.n_slots_of)[~wide].sum())
        n = reader.dataset.n_positions
        self.n_bytes = 16 * n + (12 if reader.valued else 4) * n_spread + (16 if reader.valued else 8) * n_entries
        self.kept = self.n_bytes <= kept_bytes
        if self.kept:
            self.lists = self._new_lists(n, n_spread, n_entries)
            q = e = 0
            for first, _ in reader.blocks():
                q, e = self._list(self.lists, first, q, e)

    def open(self, sequences: IndexArray) -> None:
        """Turn to a batch."""
        self.length: IndexArray = self.reader.lengths[sequences]
        if self.kept:
            self.begin: IndexArray = self.reader.dataset.offsets[sequences]
            return
        self.begin = np.cumsum(self.length) - self.length
        self.reader.read(sequences)
        n_spread, n_entries = self._list(_no_lists(), 0, 0, 0)
        self.lists = self._new_lists(int(self.length.sum()), n_spread, n_entries)
        self._list(self.lists, 0, 0, 0)

    def gather(
        self, x: FloatArray, factor: float, start: FloatArray, end: FloatArray, scores: FloatArray, first: AnyArray
    ) -> None:
        """Write the scores (≥ n, M) of the batch at the weights factor·x, and where its sequences begin."""
        kernels.online.gather(self.begin, self.length, *self.lists, x, factor, start, end, scores, first)

    def touch(self, active: AnyArray, stamp: CodeArray, mark: int) -> None:
        """Note the weights of the positions that are active."""
        spread_ptr, spread, _, entry_ptr, entry_slot, _, _ = self.lists
        n_runs, n_slots = kernels.online.touch(
            self.begin, self.length, active, spread_ptr, spread, entry_ptr, entry_slot,
            stamp, mark, self._runs, self._slots, self._n_always,
        )  # fmt: skip
        self.touched = self._runs, n_runs, self.spread.index.n_outputs, self._slots, n_slots

    def scatter(self, active: AnyArray, rows: FloatArray, gradient: FloatArray) -> None:
        kernels.online.scatter(self.begin, self.length, active, *self.lists, rows, gradient)

    def descend(self, active: AnyArray, rows: FloatArray, real: AnyArray, x: FloatArray, step: float) -> None:
        kernels.online.descend(self.begin, self.length, active, *self.lists, rows, real, x, step)

    def _list(self, lists: Lists, t0: int, q0: int, e0: int) -> tuple[int, int]:
        spread, reader = self.spread, self.reader
        rows = (reader.ptr, reader.row, reader.value, spread.first_slot, spread.n_slots_of, spread.label_of)
        ends: tuple[int, int] = kernels.online.list_rows(
            *rows, spread.index.n_outputs, spread.origin, *lists, t0, q0, e0
        )
        return ends

    def _new_lists(self, n: int, n_spread: int, n_entries: int) -> Lists:
        return (
            np.zeros(n + 1, dtype=INDEX),
            np.empty(n_spread, dtype=CODE),
            np.empty(n_spread if self.reader.valued else 0),
            np.zeros(n + 1, dtype=INDEX),
            np.empty(n_entries, dtype=CODE),
            np.empty(n_entries, dtype=CODE),
            np.empty(n_entries if self.reader.valued else 0),
        )


def _no_lists() -> Lists:
    ptr, none, nothing = np.empty(0, dtype=INDEX), np.empty(0, dtype=CODE), np.empty(0)
    return ptr, none, nothing, ptr, none, none, nothing


def _reads(dataset: Dataset, index: WeightIndex) -> tuple[Any, ...]:
    """The arrays that `read_rows` reads, in its order."""
    s = index.streams
    return (
        dataset.codes, s.column, s.shift, s.base,
        dataset.attr_ptr, dataset.attr_id, np.empty(0) if dataset.attr_val is None else dataset.attr_val,
        s.attr_shift, s.attr_base,
        number_rows(dataset, 0, len(dataset))[0], *s.number_reads, s.num_base,
        dataset.seq_codes, s.seq_column, s.seq_base,
        dataset.seq_numeric, s.seq_num_column, s.seq_num_center, s.seq_num_scale, s.seq_num_base,
    )  # fmt: skip


class BatchChain:
    """A linear chain on one batch at a time. `open` a batch, `score` it, `touch` its weights, `pull` its gradient.

    n : positions of the batch
    offsets : int64[m+1] of its sequences
    scores : float64[≥ n, K], node scores; first : uint8[≥ n+1], 1 where a sequence starts
    edges : the tables of the transitions, or the scores of arcs of histories
    active : uint8[≥ n], the positions whose weights `touch` and `pull` count
    """

    def __init__(self, layout: ChainLayout, dataset: Dataset, kept_bytes: int) -> None:
        nodes = RowReader(dataset, layout.nodes)
        pairs = None if layout.pairs is None else RowReader(dataset, layout.pairs)
        working = WorkingLayout(layout, nodes.count(), None if pairs is None else pairs.count())
        self.working = working
        self.dataset = dataset
        self._parts = [FeatureLists(nodes, working.nodes, kept_bytes, working.arcs)]  # of nodes, and of pairs
        if pairs is not None and working.pairs is not None:
            self._parts.append(FeatureLists(pairs, working.pairs, kept_bytes - self._parts[0].n_bytes))
        self.edges: EdgeTables | ArcScores = EdgeTables(working) if layout.histories is None else ArcScores(working)
        self._start, self._end = layout.space.start_scores, layout.space.end_scores
        self._nothing: FloatArray = np.zeros(layout.n_labels)
        self._stamp: CodeArray = np.zeros(working.size, dtype=CODE)
        self._mark = 0
        self._capacity = -1
        self.n = 0

    @property
    def per_position(self) -> bool:
        """Whether positions have edge scores of their own."""
        return len(self._parts) > 1

    @property
    def tables(self) -> EdgeTables:
        """The tables of a chain of order 1 or 0."""
        assert isinstance(self.edges, EdgeTables)
        return self.edges

    def touched(self) -> list[Touched]:
        """The weights that `touch` noted: of nodes and transitions, and of pairs."""
        return [part.touched for part in self._parts]

    def open(self, sequences: IndexArray) -> int:
        """Turn to a batch; the number of its positions."""
        self.sequences = sequences
        for part in self._parts:
            part.open(sequences)
        self.length = self._parts[0].length
        self.begin: IndexArray = self.dataset.offsets[sequences]
        self.n = int(self.length.sum())
        if self.n > self._capacity:
            self._capacity = self.n + self.n // 4
            self.scores: FloatArray = np.empty((self._capacity, self.working.layout.n_labels))
            self.first: AnyArray = np.empty(self._capacity + 1, dtype=np.uint8)
            self.active: AnyArray = np.empty(self._capacity, dtype=np.uint8)
        return self.n

    @property
    def offsets(self) -> IndexArray:
        return np.concatenate([[0], np.cumsum(self.length)]).astype(INDEX)

    def rows(self) -> IndexArray:
        """int64[n]: the flat positions of the batch."""
        return np.repeat(self.begin - self.offsets[:-1], self.length) + np.arange(self.n, dtype=INDEX)

    def score(self, x: FloatArray, factor: float = 1.0) -> None:
        """Node scores and edge tables at the weights factor·x."""
        self._parts[0].gather(x, factor, self._start, self._end, self.scores, self.first)
        self.edges.load(x, factor)

    def finite(self, x: FloatArray) -> bool:
        """Whether all scores are numbers, or −inf because a label may not come first or last."""
        numbers = np.isfinite(self.scores[: self.n])
        if not numbers.all():
            ends = self.offsets
            numbers[ends[:-1]] |= np.isneginf(self._start)
            numbers[ends[1:] - 1] |= np.isneginf(self._end)
        return bool(numbers.all() and np.isfinite(x[self.working.arcs]).all())

    def potentials(self, x: FloatArray, factor: float = 1.0) -> ChainPotentials:
        """The potentials of the batch; `score` it first. They share their arrays with this one."""
        edges = self.edges.edges()
        if self.per_position:
            edges = edges.at_positions(self._pair_scores(x, factor))
        return ChainPotentials(self.scores[: self.n], self.offsets, edges, sequence_numbers=self.sequences)

    def direction(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """x as a direction of the scores: of nodes (n, K), and of edges, shaped as their gradient."""
        nodes: FloatArray = np.empty((self.n, self.working.layout.n_labels))
        self._parts[0].gather(x, 1.0, self._nothing, self._nothing, nodes, self.first)
        edges = self.edges.direction(x)
        if self.per_position:
            edges = np.ascontiguousarray(self._pair_scores(x, 1.0) + edges.T[:, None, :])
        return nodes, edges

    def _pair_scores(self, x: FloatArray, factor: float) -> FloatArray:
        """(K, n, K) [to, position, from]: what the features of a position add to its edges."""
        K = self.working.layout.n_labels
        scores, nothing = np.empty((self.n, K * K)), np.zeros(K * K)
        self._parts[1].gather(x, factor, nothing, nothing, scores, self.first)
        return scores.reshape(self.n, K, K).transpose(1, 0, 2)

    def touch(self) -> None:
        """Note the weights of the active positions."""
        self._mark += 1
        if self._mark == np.iinfo(CODE).max:
            self._stamp[:], self._mark = 0, 1
        for part in self._parts:
            part.touch(self.active, self._stamp, self._mark)

    def pull(self, nodes: FloatArray, pairs: FloatArray | None, gradient: FloatArray) -> None:
        """Add the gradient of the scores of nodes (≥ n, K) and of pairs (n, K²), at the active positions."""
        for part, rows in zip(self._parts, (nodes, pairs)):
            if rows is not None:
                part.scatter(self.active, rows, gradient)

    def descend(self, nodes: FloatArray, pairs: FloatArray | None, x: FloatArray, step: float) -> None:
        """Take step times what `pull` would add from the weights x at once."""
        for part, rows in zip(self._parts, (nodes, pairs)):
            if rows is not None:
                part.descend(self.active, rows, self.working.real, x, step)

    def pull_arcs(self, edges: FloatArray, gradient: FloatArray) -> FloatArray | None:
        """Add the gradient of the transitions, from that of the edge scores: (K, K), (K, n, K) [to, position, from], or
        (A,) of arcs.

        Returns what is left for the pairs (n, K²).
        """
        gradient[self.working.arcs] += self.edges.pull(edges if edges.ndim < 3 else edges.sum(axis=1).T)
        return None if edges.ndim < 3 else np.ascontiguousarray(edges.transpose(1, 0, 2)).reshape(self.n, -1)


class EdgeTables:
    """The transition weights of a working vector as tables: scores (K, K) [from, to] and exponentials.

    exps, exps_to : (P, P), exp(table − shift) as [from, to] and as [to, from], padded with zeros
    arc_of : int32 (K, K), the number of each transition among those with a weight, −1 where it has none
    """

    def __init__(self, working: WorkingLayout) -> None:
        layout = working.layout
        K = layout.n_labels
        width = padded_width(K)
        self._arcs = working.arcs
        self._cells: IndexArray = layout.arc_from * K + layout.arc_to
        self.table: FloatArray = layout.edge_table(np.zeros(len(layout.arc_from)))
        self._flat = self.table.reshape(-1)
        self.exps: FloatArray = np.zeros((width, width))
        self.exps_to: FloatArray = np.zeros((width, width))
        self._shifted: FloatArray = np.empty(K * K)
        self._square = self._shifted.reshape(K, K)
        self.arc_of: CodeArray = np.full((K, K), -1, dtype=CODE)
        self.arc_of[layout.arc_from, layout.arc_to] = np.arange(len(layout.arc_from))
        self.shift = 0.0

    def load(self, x: FloatArray, factor: float) -> None:
        """The table at the weights factor·x."""
        self.shift = kernels.online.load_edges(x, self._arcs.start, factor, self._cells, self._flat, self._shifted)

    def exponentiate(self) -> None:
        """The exponentials of the table."""
        np.exp(self._shifted, out=self._shifted)
        kernels.online.spread_edges(self._square, self.exps, self.exps_to)

    def direction(self, x: FloatArray) -> FloatArray:
        """(K, K): 0 where a transition has no weight."""
        table: FloatArray = np.zeros(self.table.shape)
        table.reshape(-1)[self._cells] = x[self._arcs]
        return table

    def edges(self) -> Edges:
        """The edges of the table."""
        return SharedEdges.from_scores(self.table)

    def pull(self, table: FloatArray) -> FloatArray:
        """The gradient of the transitions with a weight, from that of the table (K, K)."""
        return table.reshape(-1)[self._cells]


class ArcScores:
    """The weights of arcs of histories in a working vector, as EdgeTables has those of transitions; scores (A,)."""

    def __init__(self, working: WorkingLayout) -> None:
        histories = working.layout.histories
        assert histories is not None
        self._histories, self._arcs = histories, working.arcs
        self._scores: FloatArray = np.zeros(histories.n_arcs)

    def load(self, x: FloatArray, factor: float) -> None:
        """The scores at the weights factor·x."""
        self._scores = self.direction(x)
        self._scores *= factor

    def direction(self, x: FloatArray) -> FloatArray:
        """(A,), x as a direction of the scores."""
        return self._histories.add_back_off(x[self._arcs])

    def edges(self) -> Edges:
        """The edges of the scores."""
        return HistoryEdges.from_scores(self._histories, self._scores)

    def pull(self, gradient: FloatArray) -> FloatArray:
        """The gradient of the weights, from that of the scores (A,)."""
        return self._histories.pull_back_off(gradient)
