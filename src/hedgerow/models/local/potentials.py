"""Chains of local probabilities: P(label | labels before it, input) of every position as potentials.

The score of a labeling is then its log-probability, and what all labelings add up to is 1. Constraints take labels out
before a position's probabilities are made to add up to 1, so that this holds with them too, but where they lead into a
dead end. Right to left, a position's label depends on those after it, and the same edges are read the other way.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np

from hedgerow.chain.edges import HistoryTables, PositionEdges, SharedEdges
from hedgerow.chain.potentials import ChainPotentials
from hedgerow.chain.structure.history_table import HistoryTable
from hedgerow.chain.structure.states import StateSpace
from hedgerow.legend import CODE, BoolArray, CodeArray, FloatArray, IndexArray
from hedgerow.models.local.rows import Rows

Run = tuple[int, ...]


def log_softmax(scores: FloatArray) -> FloatArray:
    """Scores (…, K) less the log of the sum of their exponentials; −inf stays, also where all are."""
    top = scores.max(axis=-1, keepdims=True)
    top[np.isneginf(top)] = 0.0
    with np.errstate(divide="ignore"):
        total = np.log(np.exp(scores - top).sum(axis=-1, keepdims=True))
    total[np.isneginf(total)] = 0.0
    logs: FloatArray = scores - top - total
    return logs


class Legality:
    """Which labels the constraints leave at each position of a chunk, given the one before it in the model's order.

    space : the legal moves, from left to right
    backward : whether the model goes from right to left
    """

    def __init__(self, space: StateSpace, offsets: IndexArray, *, backward: bool) -> None:
        self.backward = backward
        first, last = offsets[:-1], offsets[1:] - 1
        self.begins, self.ends = (last, first) if backward else (first, last)  # in the order of the model
        starts, stops = space.start_scores, space.end_scores
        self._first, self._last = (stops, starts) if backward else (starts, stops)
        moves = space.edge_scores
        self.moves: FloatArray = moves.T if backward else moves  # [before, label], in the order of the model
        self._ends_at: BoolArray = np.zeros(int(offsets[-1]), dtype=bool)
        self._ends_at[self.ends] = True

    def at_begins(self) -> FloatArray:
        """(s, K): 0 for labels that may stand where a sequence begins, −inf for others."""
        mask: FloatArray = np.repeat(self._first[None], len(self.begins), axis=0)
        mask[self.ends == self.begins] += self._last
        return mask

    def at_ends(self, rows: IndexArray) -> FloatArray:
        """(m, K): the same of positions, by whether a sequence ends there."""
        return np.where(self._ends_at[rows][:, None], self._last, 0.0)


def order_zero(rows: Rows, offsets: IndexArray, space: StateSpace, first_sequence: int) -> ChainPotentials:
    """Positions by themselves. Constraints rule out labelings, and their edges have no other score."""
    n = int(offsets[-1])
    nodes = log_softmax(rows.scores(np.arange(n), np.empty((n, 0), dtype=CODE)))
    edges = SharedEdges.from_scores(space.edge_scores)
    potentials = ChainPotentials(nodes, offsets, edges, sequence_base=first_sequence)
    if not space.is_full():
        potentials.add_start_end(space.start_scores, space.end_scores)
    return potentials


def order_one(
    rows: Rows, offsets: IndexArray, space: StateSpace, first_sequence: int, *, backward: bool
) -> ChainPotentials:
    """log P(to | from, x) as the edge of `to`; from right to left, log P(from | to, x) as the edge of `to`."""
    n, K = int(offsets[-1]), len(space.start)
    legal = Legality(space, offsets, backward=backward)
    nodes: FloatArray = np.zeros((n, K))
    begun: CodeArray = np.full((len(legal.begins), 1), K, dtype=CODE)
    nodes[legal.begins] = log_softmax(rows.scores(legal.begins, begun) + legal.at_begins())
    inner = np.setdiff1d(np.arange(n), legal.begins, assume_unique=True)
    scored = rows.after_each(inner, ()) + legal.moves + legal.at_ends(inner)[:, None]
    edges: FloatArray = np.zeros((K, n, K))
    if backward:
        edges[:, inner + 1] = log_softmax(scored).transpose(1, 0, 2)
    else:
        edges[:, inner] = log_softmax(scored).transpose(2, 0, 1)
    return ChainPotentials(nodes, offsets, PositionEdges.from_scores(edges), sequence_base=first_sequence)


def order_many(
    rows: Rows, offsets: IndexArray, space: StateSpace, first_sequence: int, order: int, *, backward: bool
) -> ChainPotentials:
    """The same of two labels and more, as scores of labels after histories.

    From right to left, P of a label is a score of it and of the labels after it. It stands where the last of these
    does, with the others as the history before that.
    """
    n, K = int(offsets[-1]), len(space.start)
    table = HistoryTable.full(K, order)
    scores: FloatArray = np.zeros((K, n, table.n_histories))
    bases = np.cumsum([0, *(K**d for d in range(order + 1))])
    place = np.arange(n) - np.repeat(offsets[:-1], np.diff(offsets))
    legal = Legality(space, offsets, backward=backward)
    if not backward:
        for depth in range(order + 1):
            here = np.flatnonzero(place == depth if depth < order else place >= order)
            scores[:, here, bases[depth] : bases[depth + 1]] = _after_runs(rows, legal, here, order, depth)
    else:
        here = np.flatnonzero(place >= order)
        scores[:, here, bases[order] :] = _before_runs(rows, legal, here - order, order, order)
        for back in range(order):  # of the last positions, which see ⊥
            for depth in range(back, order + 1):
                last = offsets[1:] - 1
                last = last[place[last] == depth if depth < order else place[last] >= order]
                added = _before_runs(rows, legal, last - back, order, back)
                ids = slice(bases[depth], bases[depth + 1])
                scores[:, last, ids] += added[:, :, np.arange(K**depth) % K**back]
    nodes: FloatArray = np.zeros((n, K))
    return ChainPotentials(nodes, offsets, HistoryTables(table, scores), sequence_base=first_sequence)


def _runs(rows: Rows, legal: Legality, at: IndexArray, order: int, length: int) -> Iterator[tuple[Run, FloatArray]]:
    """log P of the labels of positions that see so many labels and then ⊥: for each run of the labels beyond the
    nearest one, (m, K, K) [position, nearest, label]. Of length 0 one (m, 1, K), and no run."""
    K = len(legal.moves)
    if length == 0:
        begun: CodeArray = np.full((len(at), order), K, dtype=CODE)
        which = np.searchsorted(legal.begins, at)
        yield (), log_softmax(rows.scores(at, begun) + legal.at_begins()[which])[:, None]
        return
    for older in product(range(K), repeat=length - 1):
        scores = rows.after_each(at, (*older, *(K,) * (order - length)))
        yield older, log_softmax(scores + legal.moves + legal.at_ends(at)[:, None])


def _after_runs(rows: Rows, legal: Legality, at: IndexArray, order: int, length: int) -> FloatArray:
    """(K, m, K^length) [label, position, run]: log P(label | run of labels before it), the newest its lowest digit."""
    K = len(legal.moves)
    table: FloatArray = np.empty((K, len(at), K**length))
    for older, logs in _runs(rows, legal, at, order, length):
        begin = sum(label * K ** (i + 1) for i, label in enumerate(older))
        table[:, :, begin : begin + logs.shape[1]] = logs.transpose(2, 0, 1)
    return table


def _before_runs(rows: Rows, legal: Legality, at: IndexArray, order: int, length: int) -> FloatArray:
    """(K, m, K^length) [last label, position, labels before that]: log P(label | run of labels after it). The label
    itself is the oldest of those before the last one, and so the highest digit."""
    K = len(legal.moves)
    table: FloatArray = np.empty((K, len(at), K**length))
    for older, logs in _runs(rows, legal, at, order, length):
        if length < 2:  # the label is the last one itself, or the one before it
            table[:] = logs[:, 0].T[:, :, None] if length == 0 else logs.transpose(1, 0, 2)
            continue
        begin = sum(label * K ** (length - 3 - i) for i, label in enumerate(older[:-1]))
        nearest, label = K ** (length - 2) * np.arange(K), K ** (length - 1) * np.arange(K)
        ids = begin + nearest[:, None] + label
        table[older[-1]][:, ids] = logs
    return table
