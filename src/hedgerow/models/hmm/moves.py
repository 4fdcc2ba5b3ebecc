"""What a hidden Markov model knows of its labels: P(label | the labels before), from counts and with smoothing.

A history of n labels is drawn towards the next shorter one: so many observations are added to its own that are spread
as those of the shorter history are, and at last as all labels are. Order 1 is a table and a row for the start; other
orders are histories, each with an arc for every label.

What is added to the counts is settled once, from the labels that are known. So training by expectation-maximisation
climbs one and the same penalised likelihood, Σ (counts + added) · log P.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hedgerow.chain.edges import HistoryEdges, SharedEdges
from hedgerow.chain.inference import Workspace, marginals
from hedgerow.chain.potentials import ChainPotentials, Edges
from hedgerow.chain.structure.histories import Histories
from hedgerow.chain.structure.states import StateSpace
from hedgerow.data.dataset import Dataset
from hedgerow.data.labels import allowed_labels
from hedgerow.legend import BoolArray, FloatArray
from hedgerow.models.hmm import kernels
from hedgerow.parallel import cut_chunks
from hedgerow.training.counting import count_known_moves


@dataclass(frozen=True)
class MoveScores:
    """log P(label | history), and the form in which inference reads it.

    rows : (H, K), a row for each history
    edges : the same for inference
    start : (K,), what the first label scores beside the edges; None where these have the start
    """

    rows: FloatArray
    edges: Edges
    start: FloatArray | None


class TableMoves:
    """Order 1. The first row of counts is the start, row 1 + u is what follows label u."""

    def __init__(self, space: StateSpace) -> None:
        self.legal: BoolArray = np.concatenate([space.start[None], space.transitions])

    def scores(self, rows: FloatArray) -> MoveScores:
        """rows (K+1, K), log-probabilities."""
        return MoveScores(rows, SharedEdges.from_scores(rows[1:]), rows[0])

    def known(self, dataset: Dataset, weights: FloatArray) -> FloatArray:
        """(K+1, K), how often labels that are known follow each other; weights (S,)."""
        assert dataset.labels is not None
        first = dataset.labels[dataset.offsets[:-1]]
        known = first >= 0
        starts = np.bincount(first[known], weights=weights[known], minlength=dataset.n_labels)
        moves = count_known_moves(dataset, np.repeat(weights, np.diff(dataset.offsets)))
        return np.concatenate([starts[None].astype(np.float64), moves])

    def expected(
        self, potentials: ChainPotentials, weights: FloatArray, work: Workspace
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """log Z (s,), node probabilities (n, K), and the counts of moves, of a chunk; weights (s,)."""
        result = marginals(potentials, work, weights)
        starts = (result.node_probs[potentials.offsets[:-1]] * weights[:, None]).sum(axis=0)
        return result.log_partition, result.node_probs, np.concatenate([starts[None], result.edges])

    def added(self, counts: FloatArray, smoothing: float) -> FloatArray:
        """(K+1, K), what smoothing adds to each row: the shares of all labels."""
        share = _normal(counts.sum(axis=0) + smoothing / counts.shape[1], np.ones(counts.shape[1], dtype=bool))
        return smoothing * np.tile(share, (len(counts), 1))


class HistoryMoves:
    """Order 0, or above 1. Each history that training shows has a row."""

    def __init__(self, histories: Histories) -> None:
        self.histories = histories
        self.legal: BoolArray = histories.legal.reshape(-1, histories.n_labels)

    def scores(self, rows: FloatArray) -> MoveScores:
        """rows (H, K), log-probabilities."""
        return MoveScores(rows, HistoryEdges.from_scores(self.histories, rows.ravel()), None)

    def known(self, dataset: Dataset, weights: FloatArray) -> FloatArray:
        """(H, K), how often each label follows each history. What is not known is taken as any label that is possible,
        one as likely as the other."""
        K = dataset.n_labels
        counts: FloatArray = np.zeros(self.legal.shape)
        assert dataset.labels is not None
        if (dataset.labels >= 0).all():
            follows = self.histories.arc_next.reshape(counts.shape)
            kernels.hmm.count_arcs(dataset.labels, dataset.offsets, weights, self.histories.start, follows, counts)
            return counts
        edges = HistoryEdges.from_scores(self.histories, np.zeros(self.histories.n_arcs))
        for chunk in cut_chunks(dataset.offsets):
            mask, shares = allowed_labels(dataset, chunk.rows), weights[chunk.first : chunk.last]
            nodes = np.zeros((int(chunk.offsets[-1]), K))
            potentials = ChainPotentials(nodes, chunk.offsets, edges, sequence_base=chunk.first)
            expected = marginals(potentials if mask is None else potentials.restrict(mask), None, shares)
            counts += expected.edges.reshape(counts.shape)
        return counts

    def expected(
        self, potentials: ChainPotentials, weights: FloatArray, work: Workspace
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """As in TableMoves."""
        result = marginals(potentials, None, weights)
        return result.log_partition, result.node_probs, result.edges.reshape(self.legal.shape)

    def added(self, counts: FloatArray, smoothing: float) -> FloatArray:
        """(H, K), what is added to each row: what was seen after longer histories, which is seen after this one too;
        and, for smoothing, the shares of the next shorter history."""
        h = self.histories
        everything = h.pull_back_off(counts.ravel()).reshape(counts.shape)
        added = everything - counts
        rows = np.empty(counts.shape)
        shorter = np.full(counts.shape, 1.0 / counts.shape[1])
        lengths = h.lengths
        for length in range(int(lengths.max(initial=0)) + 1):
            at = np.flatnonzero(lengths == length)
            if length:
                shorter[at] = rows[h.back_off[at]]
            added[at] += smoothing * shorter[at]
            seen = everything[at] + smoothing * shorter[at]
            rows[at] = _normal(np.where(seen.sum(axis=1, keepdims=True) > 0, seen, shorter[at]), self.legal[at])
        # A history that nothing was added to has to have some row; its weight is nothing beside any count.
        none = (counts + added).sum(axis=1) <= 0
        added[none] = 1e-12 * rows[none]
        return added


Moves = TableMoves | HistoryMoves


def make_moves(dataset: Dataset, order: int, space: StateSpace) -> Moves:
    """The moves of a chain of some order."""
    if order == 1:
        return TableMoves(space)
    assert dataset.labels is not None
    return HistoryMoves(
        complete(Histories.observed(dataset.labels, dataset.offsets, dataset.n_labels, order, space=space))
    )


def estimate(moves: Moves, counts: FloatArray) -> MoveScores:
    """The moves that make counts (H, K), with what is added to them, most probable."""
    with np.errstate(divide="ignore"):
        return moves.scores(np.log(_normal(counts, moves.legal)))


def log_likelihood(scores: MoveScores, counts: FloatArray) -> float:
    """log P of counted moves (H, K). Those that are illegal have no part in it."""
    return float((counts * np.where(np.isfinite(scores.rows), scores.rows, 0.0)).sum())


def complete(histories: Histories) -> Histories:
    """The same histories, each with an arc for every label: all of them need a probability.

    A label that was not seen after a history leads to where it leads after the next shorter one.
    """
    K, S = histories.n_labels, histories.n_states
    follows = np.empty((S, K), dtype=np.int64)
    legal = np.empty((S, K), dtype=bool)
    for s in range(S):  # a history comes after the one it backs off to
        below = int(histories.back_off[s])
        if below >= 0:
            follows[s], legal[s] = follows[below], legal[below]
        arcs = slice(int(histories.arc_ptr[s]), int(histories.arc_ptr[s + 1]))
        follows[s, histories.arc_label[arcs]] = histories.arc_next[arcs]
        legal[s, histories.arc_label[arcs]] = histories.legal[arcs]
    return Histories.linked(
        n_labels=K,
        order=histories.order,
        start=histories.start,
        labels=histories.labels,
        back_off=histories.back_off.astype(np.int64),
        arc_state=np.repeat(np.arange(S), K),
        arc_label=np.tile(np.arange(K), S),
        arc_next=follows.ravel(),
        legal=legal.ravel(),
    )


def _normal(counts: FloatArray, legal: BoolArray) -> FloatArray:
    """Rows of counts (…, K) as probabilities of the legal labels; equal ones where there are no counts, and 0 where no
    label is legal."""
    rows = np.where(legal, counts, 0.0)
    total = rows.sum(axis=-1, keepdims=True)
    rows = np.where(total > 0, rows, legal)
    total = rows.sum(axis=-1, keepdims=True)
    return rows / np.where(total > 0, total, 1.0)
