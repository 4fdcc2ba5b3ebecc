"""Chains of higher order as chains of order 1, whose labels are the histories after each position.

A labeling is one walk through these states, with the same score. So what has recursions over neighbouring labels
alone, as covariances have, serves every order: unfold the potentials, fold what comes out. It costs a move for every
label after every history, backing off or not, where sums of their own cost the arcs that were seen.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from hedgerow.chain.edges.messages import Covariance, LogMessages
from hedgerow.chain.edges.tables import TableEdges, tables_of
from hedgerow.chain.potentials import ChainPotentials, Gradients
from hedgerow.chain.workspace import Workspace
from hedgerow.legend import AnyArray, BoolArray, CodeArray, FloatArray, IndexArray


@dataclass(frozen=True, slots=True)
class Moves:
    """From history to history, S of them: M moves, and K more from before the first label.

    n_labels : K
    last : (S,), the label that ends a history; below 0 where it has none
    source, target, label : (M,), the histories that a move joins, and its label, which is the last of the target
    cell : (M,), the score that a move has, by its number among all; of tables of histories the source
    start, start_labels, start_cells : the histories after one label, those labels, and cells as of moves
    """

    n_labels: int
    last: CodeArray
    source: IndexArray
    target: IndexArray
    label: IndexArray
    cell: IndexArray
    start: IndexArray
    start_labels: IndexArray
    start_cells: IndexArray

    @property
    def ended(self) -> BoolArray:
        """(S,): whether a history ends with a label."""
        return self.last >= 0

    def spread(self, values: AnyArray, fill: float = 0.0) -> FloatArray:
        """(n, S): values (n, K) of the last label of each history."""
        return np.where(self.ended, values[:, self.last], fill)

    def fold(self, values: FloatArray) -> FloatArray:
        """(n, K): values (n, S) added up by the last label of each history."""
        order = np.argsort(self.last, kind="stable")[np.count_nonzero(~self.ended) :]
        labels, begins = np.unique(self.last[order], return_index=True)
        folded: FloatArray = np.zeros((len(values), self.n_labels))
        folded[:, labels] = np.add.reduceat(values[:, order], begins, axis=1)
        return folded

    def fold_logs(self, values: FloatArray) -> FloatArray:
        """The same of logarithms."""
        tops: FloatArray = np.full((len(values), self.n_labels), -np.inf)
        for state in np.flatnonzero(self.ended):
            np.maximum(tops[:, self.last[state]], values[:, state], out=tops[:, self.last[state]])
        tops = np.where(tops > -np.inf, tops, 0.0)
        with np.errstate(divide="ignore"):
            return tops + np.log(self.fold(np.exp(values - self.spread(tops))))


class Unfolded(ABC):
    """Potentials of order n, unfolded. A form of edges has its own.

    chain : the same chunk as a chain of order 1
    """

    def __init__(self, potentials: ChainPotentials, moves: Moves) -> None:
        self.potentials, self.moves = potentials, moves
        self.firsts = potentials.offsets[:-1]
        nodes = moves.spread(potentials.node_scores, -np.inf)
        nodes[self.firsts] = -np.inf
        begin = potentials.node_scores[np.ix_(self.firsts, moves.start_labels)] + self.start_values(self.scores)
        nodes[np.ix_(self.firsts, moves.start)] = begin
        numbers = np.array([potentials.sequence_number(i) for i in range(potentials.n_sequences)])
        edges = self.make_edges()
        self.chain = ChainPotentials(nodes, potentials.offsets, edges, sequence_numbers=numbers)

    @property
    @abstractmethod
    def scores(self) -> FloatArray:
        """The scores of the edges, shaped as their gradient."""

    @abstractmethod
    def make_edges(self) -> TableEdges:
        """The edges between histories."""

    @abstractmethod
    def start_values(self, values: FloatArray) -> FloatArray:
        """What of the values of edges is for the moves before the first label, (s | 1, start)."""

    @abstractmethod
    def spread_edges(self, values: FloatArray) -> FloatArray:
        """Values of edges as those of the chain's; 0 where there is no move."""

    @abstractmethod
    def fold_edges(self, nodes: FloatArray, edges: FloatArray) -> FloatArray:
        """Values of the chain's nodes (n, S), of which the first of each sequence count, and edges as the edges'."""

    def fold(self, nodes: FloatArray, edges: FloatArray) -> Gradients:
        """Gradients of the chain as those of the potentials."""
        return self.moves.fold(nodes), self.fold_edges(nodes, edges)


class StateWorkspace(Workspace):
    """The buffers of an unfolded chain, beside those of the potentials."""


@dataclass(frozen=True, slots=True)
class FoldedLogs:
    """The log marginals (T, K) of one sequence, and the messages of its unfolded chain."""

    log_probs: FloatArray
    unfolded: LogMessages


class FoldedMessages:
    """Messages of a chain of higher order, as `Messages` are of order 1: those of the unfolded chain.

    work : a workspace with node_probs (n, K)
    redone : the sequences that have messages in the log domain
    """

    def __init__(self, unfolded: Unfolded, workspace: Workspace | None) -> None:
        self.unfolded, self.potentials = unfolded, unfolded.potentials
        self.work, chain = workspace or Workspace(), unfolded.chain
        self._inner = tables_of(chain).messages(chain, self.work.other(StateWorkspace))
        self.work.reserve(*self.potentials.node_scores.shape)
        self.work.node_probs[:] = unfolded.moves.fold(self._inner.work.node_probs)
        self.redone: dict[int, FoldedLogs] = {}
        for i in self._inner.redone:
            self.redo(i)

    @property
    def log_partition(self) -> FloatArray:
        return self._inner.log_partition

    def redo(self, i: int) -> None:
        """Put sequence i on messages in the log domain, where it is not on them already."""
        if i not in self.redone:
            self._inner.redo(i)
            logs, rows = self._inner.redone[i], self.potentials.rows(i)
            self.redone[i] = FoldedLogs(self.unfolded.moves.fold_logs(logs.log_probs), logs)
            self.work.node_probs[rows] = self.unfolded.moves.fold(np.exp(logs.log_probs))

    def covariance(
        self, terms: FloatArray, edge_direction: FloatArray | None = None, weights: FloatArray | None = None
    ) -> Covariance:
        """As `Messages.covariance`, with terms, direction and result in the form of these potentials."""
        unfolded, inner = self.unfolded, self._inner
        states, along = self._shares() * unfolded.moves.spread(terms), None
        if edge_direction is not None:
            along = unfolded.spread_edges(edge_direction)
            begins = np.ix_(unfolded.firsts, unfolded.moves.start)
            states[begins] += unfolded.start_values(edge_direction) * inner.work.node_probs[begins]
        moved = inner.covariance(states, along, weights)
        nodes, edges = unfolded.fold(moved.node, moved.edges)
        if moved.edge_marginals is None:
            return Covariance(nodes, edges)
        spread = self.potentials.spread_weights(weights)[:, None]
        return Covariance(nodes, edges, unfolded.fold_edges(spread * inner.work.node_probs, moved.edge_marginals))

    def _shares(self) -> FloatArray:
        """(n, S): P(history | its last label) at each position."""
        moves, probs = self.unfolded.moves, self._inner.work.node_probs
        whole = moves.spread(self.work.node_probs)
        shares: FloatArray = np.divide(probs, whole, out=np.zeros(probs.shape), where=whole > 0.0)
        for i, logs in self.redone.items():
            own, label = logs.unfolded.log_probs, moves.spread(logs.log_probs, -np.inf)
            possible = own > -np.inf
            shares[self.potentials.rows(i)] = np.exp(np.where(possible, own, -np.inf) - np.where(possible, label, 0.0))
        return shares
