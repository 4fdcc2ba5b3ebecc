"""Filtering: the labels of a chain whose positions come one by one, given what has come so far.

What came before a position is known by one message, P(y_{t−1} | x_1 … x_{t−1}), which is the score of a first position
like any other. So each step is one of a short chain: that message, and the positions that are not yet done. Messages
are logarithms: what is all but impossible now may be the only way to what comes. A chain of higher order is unfolded:
its labels are the histories then, which what is told is folded over.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from hedgerow.chain import kernels
from hedgerow.chain.edges import PositionEdges, SharedEdges, TableEdges
from hedgerow.chain.edges.unfolding import Moves
from hedgerow.chain.inference import node_marginals
from hedgerow.chain.potentials import ChainPotentials, Edges
from hedgerow.chain.short import ShortChain, is_plain
from hedgerow.legend import INDEX, AnyArray, BoolArray, FloatArray

_LONGEST = 64  # of chains whose buffers are kept
_FIRST: AnyArray = np.array([1, 1], dtype=np.uint8)  # where sequences start: of a position alone, and after a message
_SECOND: AnyArray = np.array([1, 0, 1], dtype=np.uint8)


class Position(NamedTuple):
    """The scores (K,) of a position, and the edges that lead to it: one table for all, or those of one position.

    moves : of a chain of higher order, whose histories these scores are of
    """

    nodes: FloatArray
    edges: Edges
    moves: Moves | None = None

    @classmethod
    def of(cls, potentials: ChainPotentials, i: int) -> Position:
        """Position i of potentials of any order."""
        unfolded = potentials.edges.unfolded(potentials)
        chain, moves = (potentials, None) if unfolded is None else (unfolded.chain, unfolded.moves)
        return cls(chain.node_scores[i], chain.edges.take(np.array([i])), moves)

    def restrict(self, allowed: BoolArray) -> Position:
        """With these labels (K,) alone."""
        if self.moves is not None:
            allowed = self.moves.spread(allowed[None])[0] > 0.0
        return self._replace(nodes=np.where(allowed, self.nodes, -np.inf))

    def fold(self, probs: FloatArray) -> FloatArray:
        """Probabilities (m, K) of labels, of those of what scores are of."""
        return probs if self.moves is None else self.moves.fold(probs)


class Filter:
    """P(y_t | x_1 … x_{t+lag}) of a chain, position by position, in memory that does not grow.

    pending : the positions whose labels are not yet told
    """

    def __init__(self, n_labels: int, lag: int) -> None:
        self.n_labels, self.lag = n_labels, lag
        self.pending: deque[Position] = deque()
        self._message: FloatArray | None = None  # log P of the labels of the last position that was told, and of the
        self._newest: FloatArray | None = None  # last one that came, each given all before it
        self._chain: ShortChain | None = None

    def push(self, position: Position) -> FloatArray | None:
        """The probabilities (K,) of the labels of the position `lag` before this one; None where there is none.

        Where no legal labeling leads to it, it is refused, and has not come.
        """
        newest = self._forward(position, self._newest)
        self.pending.append(position)
        self._newest = newest
        if len(self.pending) <= self.lag:
            return None
        if self.lag == 0:
            self.pending.clear()
            self._message = newest
            told: FloatArray = np.exp(newest)
            told /= told.sum()
        else:
            told = self._marginals(self.pending)[0].copy()
            self._message = self._forward(self.pending.popleft(), self._message)
        [labels] = position.fold(told[None])
        return np.asarray(labels)

    def _forward(self, position: Position, message: FloatArray | None) -> FloatArray:
        """log P of the labels (K,) of a position given what came before, but for a constant: the largest is 0."""
        if message is None:
            nodes, first = position.nodes[None], _FIRST
        else:
            nodes, first = np.array([message, position.nodes]), _SECOND
        log_alpha: FloatArray = np.empty(nodes.shape)
        tops: FloatArray = np.empty(len(nodes))
        assert isinstance(position.edges, TableEdges)
        scores_to = position.edges.scores_to
        if position.edges.per_position and message is not None:  # none leads to the message, whatever stands there
            scores_to = np.concatenate([scores_to, scores_to], axis=1)
        kernels.log_chain.forward(nodes, scores_to, first, log_alpha, tops, 0, len(nodes))
        if not log_alpha[-1].max() > -np.inf:
            potentials = self._chain_of(nodes, [position])
            if not (position.nodes < np.inf).all():  # nor is NaN
                potentials.refuse_scores(len(nodes) - 1)
            potentials.edges.check_legal(potentials)
        last: FloatArray = log_alpha[-1]
        return last

    def state(self) -> tuple[Any, ...]:
        """All that it knows, for `restore`."""
        return self.pending.copy(), self._message, self._newest

    def restore(self, state: tuple[Any, ...]) -> None:
        self.pending, self._message, self._newest = state

    def finish(self, last: Position | None = None) -> FloatArray:
        """Those (m, K) of all that are left; `last` in place of the last position, where that changes at the end."""
        if last is not None and self.pending:
            self.pending[-1] = last
        rest = np.empty((0, self.n_labels))
        if self.pending:
            rest = self.pending[0].fold(self._marginals(self.pending).copy())
        self.pending.clear()
        self._message = self._newest = None
        return rest

    def _marginals(self, positions: Sequence[Position]) -> FloatArray:
        """P (m, K) of the labels of some positions that follow the message."""
        before = [] if self._message is None else [self._message]
        n, edges = len(before) + len(positions), positions[-1].edges
        if n <= _LONGEST and isinstance(edges, SharedEdges) and is_plain(edges):
            if self._chain is None:
                self._chain = ShortChain(len(positions[-1].nodes), _LONGEST)
            scores = self._chain.scores(n)
            for t, nodes in enumerate([*before, *(one.nodes for one in positions)]):
                scores[t] = nodes
            probs = self._chain.node_probs(edges, n)
            if probs is not None:
                return probs[len(before) :]
        nodes = np.array([*before, *(one.nodes for one in positions)])
        return node_marginals(self._chain_of(nodes, positions))[len(before) :]

    def _chain_of(self, nodes: FloatArray, positions: Sequence[Position]) -> ChainPotentials:
        """A chain of some positions; where nodes are one more, a message is the first of them."""
        edges, n = positions[-1].edges, len(nodes)
        if edges.per_position:
            none = [np.zeros((nodes.shape[1], 1, nodes.shape[1]))] * (n - len(positions))
            tables = [one.edges.scores_to for one in positions if isinstance(one.edges, PositionEdges)]
            edges = PositionEdges.from_scores(np.concatenate([*none, *tables], axis=1))
        return ChainPotentials(nodes, np.array([0, n], dtype=INDEX), edges)
