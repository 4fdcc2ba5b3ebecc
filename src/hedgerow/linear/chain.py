"""The chain of linear scores: node weights, weights of transitions or of histories, and, where asked for, weights of
label pairs by feature. And the loss of a corpus and its gradient at given weights: all that a trainer sees of it."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

import numpy as np

from hedgerow.chain.edges import HistoryEdges, SharedEdges
from hedgerow.chain.objectives.result import Objective
from hedgerow.chain.potentials import ChainPotentials, Edges, Truth
from hedgerow.chain.structure.histories import Histories
from hedgerow.chain.structure.states import StateSpace
from hedgerow.chain.workspace import Workspace
from hedgerow.data.dataset import Dataset
from hedgerow.legend import FloatArray, IndexArray
from hedgerow.linear.index import WeightIndex
from hedgerow.linear.scorer import MANY, ChunkFeatures, LinearScorer
from hedgerow.parallel import CHUNK_POSITIONS, MAX_LANES, Lanes, plan_chunks

# Compiled features are kept between evaluations up to this many bytes; beyond it a chunk is compiled each time anew,
# which costs about half as much again as the evaluation itself.
KEPT_BYTES = 2 << 30
MOST_SCORES = 1 << 17  # of a long chunk


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

    def plan(self, offsets: IndexArray) -> IndexArray:
        """The chunks of a corpus. With many numbers they are longer, if all lanes then have work: their products take
        as long, and what a call costs beside them counts less often."""
        many = CHUNK_POSITIONS * len(self.nodes.streams.num_column) >= MANY and self.pairs is None
        longer = min(4 * CHUNK_POSITIONS, MOST_SCORES // self.n_labels, int(offsets[-1]) // (2 * MAX_LANES))
        return plan_chunks(offsets, longer) if many and longer > CHUNK_POSITIONS else plan_chunks(offsets)

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

    def __init__(
        self, chain: LinearChain, dataset: Dataset, objective: Objective, lanes: Lanes, plan: IndexArray | None = None
    ) -> None:
        """plan : the chunks, where they are those of a larger corpus"""
        self.chain, self.dataset, self.objective, self.lanes = chain, dataset, objective, lanes
        for scorer in filter(None, (chain.nodes, chain.pairs)):
            scorer.allow_single()
        self.plan = chain.layout.plan(dataset.offsets) if plan is None else plan
        self.n_evaluations, self.n_chunks = 0, len(self.plan) - 1
        self._kept: list[ChainFeatures | None] = [None] * self.n_chunks
        self._kept_bytes = 0
        widest = int(np.diff(dataset.offsets[self.plan]).max())
        self._free = deque(_Seat(chain, widest) for _ in range(lanes.n_threads))
        self._taken: dict[int, _Seat] = {}
        self.losses: FloatArray = np.zeros(self.n_chunks)
        self._total: FloatArray = np.empty(0)

    def __call__(self, weights: FloatArray) -> tuple[float, FloatArray]:
        """The loss and its gradient with respect to the weights."""
        self.n_evaluations += 1
        self.chain.load(weights)
        self._total = np.zeros(self.chain.layout.n_weights)
        self.lanes.run(self._work, self.n_chunks, self._finish)
        return float(self.losses.sum()), self._total

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
        self.losses[c] = result.loss
        seat.gradient.add(chunk, result.node_gradient, result.edge_gradient)

    def _finish(self, lane: int) -> None:
        """Add what a lane summed, in the order of the lanes, and free its seat."""
        if lane in self._taken:
            seat = self._taken.pop(lane)
            seat.gradient.write(self._total)
            self._free.append(seat)
