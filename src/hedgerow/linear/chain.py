"""The linear chain: node weights, weights of transitions or of histories, and, where asked for, weights of label pairs
by feature."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hedgerow.chain.edges import HistoryEdges, SharedEdges
from hedgerow.chain.potentials import ChainPotentials, Edges
from hedgerow.chain.structure.histories import Histories
from hedgerow.chain.structure.states import StateSpace
from hedgerow.data.dataset import Dataset
from hedgerow.legend import FloatArray, IndexArray
from hedgerow.linear.index import WeightIndex
from hedgerow.linear.scorer import ChunkFeatures, LinearScorer


@dataclass(frozen=True)
class ChainLayout:
    """One vector of weights holds, in this order, nodes, transitions and label pairs by feature.

    arc_from, arc_to : int64[A], the transitions that have a weight; none where there are histories
    pairs : the weights of label pairs, output `to·K + from`; None where no feature scores pairs
    pair_columns : the columns whose features score pairs, sorted
    histories : of chains of order 2 and more. Each of their arcs has a weight, and scores that and the weights of the
        arcs it backs off to: a weight for every seen run of labels
    """

    nodes: WeightIndex
    arc_from: IndexArray
    arc_to: IndexArray
    space: StateSpace
    pairs: WeightIndex | None = None
    pair_columns: tuple[str, ...] = ()
    histories: Histories | None = None

    @property
    def n_labels(self) -> int:
        return self.nodes.n_outputs

    @property
    def n_arcs(self) -> int:
        """How many transitions, or arcs of histories, have a weight."""
        return len(self.arc_from) if self.histories is None else self.histories.n_arcs

    @property
    def n_weights(self) -> int:
        return self.nodes.n_weights + self.n_arcs + (self.pairs.n_weights if self.pairs else 0)

    def split(self, weights: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Views of the node, transition and pair weights."""
        n, a = self.nodes.n_weights, self.n_arcs
        return weights[:n], weights[n : n + a], weights[n + a :]

    def edge_table(self, arcs: FloatArray) -> FloatArray:
        """(K, K) [from, to]: the transition weights, 0 where a transition has none, −inf where it is forbidden."""
        table = self.space.mask_edges(np.zeros((self.n_labels, self.n_labels)))
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
        self.start_scores = None if space.start.all() else space.start_scores()
        self.end_scores = None if space.end.all() else space.end_scores()

    def load(self, weights: FloatArray) -> None:
        nodes, arcs, pairs = self.layout.split(weights)
        self.nodes.load(nodes)
        self.edges = self._edges(arcs)
        if self.pairs is not None:
            self.pairs.load(pairs)

    def _edges(self, arcs: FloatArray) -> Edges:
        histories = self.layout.histories
        if histories is not None:
            return HistoryEdges.from_scores(histories, histories.add_back_off(arcs))
        return SharedEdges.from_scores(self.layout.edge_table(arcs))

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
            own = np.ascontiguousarray(edges.transpose(1, 0, 2)).reshape(n, -1)
            self.chain.pairs.pull(chunk.pairs, own, self.pairs)

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
