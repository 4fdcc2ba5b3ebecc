"""Messages along chains of neighbouring labels that stay, so that more than marginals can be made from them.

The scaled messages of a chunk live in a workspace. A sequence in which one of them underflows has messages in the log
domain instead.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hedgerow.chain import kernels
from hedgerow.chain.potentials import ChainPotentials
from hedgerow.chain.workspace import Workspace, run_slices
from hedgerow.legend import FloatArray

if TYPE_CHECKING:
    from hedgerow.chain.edges.tables import TableEdges


def log_forward(potentials: ChainPotentials, edge_scores: FloatArray) -> tuple[FloatArray, FloatArray]:
    """log α of a chunk, (n, K), with the largest of each position taken out, and those, (n,).

    edge_scores (K, n | 1, K) [to, position, from].
    """
    n, K = potentials.node_scores.shape
    log_alpha, tops = np.empty((n, K)), np.empty(n)
    chain = potentials.node_scores, edge_scores, potentials.first
    run_slices(kernels.log_chain.forward, n, 40 * K * K, *chain, log_alpha, tops)
    return log_alpha, tops


def log_backward(potentials: ChainPotentials, edge_scores: FloatArray) -> tuple[FloatArray, FloatArray]:
    """log β of a chunk, as `log_forward` gives log α."""
    n, K = potentials.node_scores.shape
    log_beta, tops = np.empty((n, K)), np.empty(n)
    chain = potentials.node_scores, edge_scores, potentials.first
    run_slices(kernels.log_chain.backward, n, 40 * K * K, *chain, log_beta, tops, back=True)
    return log_beta, tops


def total_log_sum(log_alpha: FloatArray, tops: FloatArray) -> float:
    """log Z of one sequence, from what `log_forward` gives."""
    return float(np.log(np.exp(log_alpha[-1]).sum()) + tops.sum())


@dataclass(frozen=True, slots=True)
class LogMessages:
    """The messages of one sequence in the log domain, as `log_forward` and `log_backward` give them.

    edge_scores : (K, T | 1, K) [to, position, from]
    log_alpha, log_beta : (T, K), the largest of each position taken out
    alpha_tops, beta_tops : (T,), those
    log_probs : (T, K), log P_t(v)
    """

    potentials: ChainPotentials
    edge_scores: FloatArray
    log_alpha: FloatArray
    alpha_tops: FloatArray
    log_beta: FloatArray
    beta_tops: FloatArray
    log_probs: FloatArray

    @classmethod
    def from_sequence(cls, one: ChainPotentials, edge_scores: FloatArray) -> LogMessages:
        """Those of a chunk of one sequence."""
        log_alpha, alpha_tops = log_forward(one, edge_scores)
        log_beta, beta_tops = log_backward(one, edge_scores)
        log_probs = log_alpha + log_beta
        log_probs -= log_probs.max(axis=1, keepdims=True)
        log_probs -= np.log(np.exp(log_probs).sum(axis=1, keepdims=True))
        return cls(one, edge_scores, log_alpha, alpha_tops, log_beta, beta_tops, log_probs)

    @property
    def log_partition(self) -> float:
        return total_log_sum(self.log_alpha, self.alpha_tops)

    def node_probs(self) -> FloatArray:
        """P_t(v), (T, K), divided by their sum, so that it is 1 to the last digit."""
        sums = self.log_alpha + self.log_beta
        probs: FloatArray = np.exp(sums - sums.max(axis=1, keepdims=True))
        probs /= probs.sum(axis=1, keepdims=True)
        return probs

    def edge_probs(self) -> FloatArray:
        """P_t(u, v) as (to, T, from); summed, (to, 1, from), for shared edges."""
        one, probs = self.potentials, np.zeros(self.edge_scores.shape)
        n, K = one.node_scores.shape
        chain, logs = (one.node_scores, self.edge_scores, one.first), (self.log_alpha, self.alpha_tops, self.log_beta)
        run_slices(kernels.log_chain.edge_probs, n, 60 * K * K, *chain, *logs, probs)
        return probs

    def covariance(
        self, terms: FloatArray, edge_direction: FloatArray | None
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The covariances of the nodes (T, K) and of the edges (to, T | 1, from), and the marginals of the edges, which
        are left 0 where there is no direction for them. terms (T, K), as in `Messages.covariance`."""
        one, scores = self.potentials, self.edge_scores
        n, K = one.node_scores.shape
        cells = 30 * K * K
        direction, edge_probs = np.zeros(scores.shape), np.zeros(scores.shape)
        if edge_direction is not None:
            direction[:] = edge_direction if edge_direction.ndim == 3 else edge_direction.T[:, None]
            edge_probs = self.edge_probs()
        centred, past, future = np.empty((3, n, K))
        moved = direction * edge_probs
        chain = one.node_scores, scores, one.first
        ahead, behind = (self.log_beta, self.beta_tops), (self.log_alpha, self.alpha_tops)
        probs = np.exp(self.log_probs)
        given = *chain, *behind, probs, direction, terms, centred, past, future
        run_slices(kernels.log_covariance.centre, n, cells, *given)
        run_slices(kernels.log_covariance.forward, n, cells, *chain, *ahead, past, moved)
        run_slices(kernels.log_covariance.backward, n, cells, *chain, *behind, future, moved, back=True)
        return past + future - centred, moved, edge_probs


@dataclass(frozen=True, slots=True)
class Covariance:
    """Cov(indicator, S) of every node and edge, S = Σ_t c_t(y_t) + Σ_t C_t(y_{t−1}, y_t) along a labeling.

    node : (n, K), Σ_v = 0 at each position
    edges : (K, K) [from, to], summed over the chunk, for shared edges; (K, n, K) [to, position, from] for others
    edge_marginals : as `edges`, Σ_t P_t(u, v) or P_t(u, v); None where the direction has no edges
    """

    node: FloatArray
    edges: FloatArray
    edge_marginals: FloatArray | None = None


@dataclass(frozen=True, slots=True)
class Messages:
    """The messages of a chunk, in a workspace: alpha, node_exp (β'), node_probs. The next call overwrites them.

    log_partition : (s,)
    redone : the sequences that the scaled pass cannot carry. Their node_probs are right; their alpha and β' are 0.
    """

    potentials: ChainPotentials
    edges: TableEdges
    work: Workspace
    log_partition: FloatArray
    redone: dict[int, LogMessages]

    def redo(self, i: int) -> None:
        """Put sequence i on messages in the log domain, where it is not on them already."""
        if i not in self.redone:
            rows = self.potentials.rows(i)
            self.redone[i] = logs = self.edges.log_messages(self.potentials, i)
            self.work.node_probs[rows] = np.exp(logs.log_probs)
            self.work.alpha[rows] = 0.0  # what the scaled pass made of it must not enter any sum
            self.work.node_exp[rows] = 0.0
            self.log_partition[i] = logs.log_partition

    def covariance(
        self, terms: FloatArray, edge_direction: FloatArray | None = None, weights: FloatArray | None = None
    ) -> Covariance:
        """The covariances with S, each sequence times its weight (s,). The messages are used up.

        c is given as terms (n, K) = c_t(v) P_t(v), which stay finite where a label is all but impossible; the edge
        direction C is (K, K) [from, to] or (K, n, K) [to, position, from].
        """
        work, edges, potentials = self.work, self.edges, self.potentials
        work.reserve_moments()
        cells, forward, backward = edges.moment_recursions(edge_direction)
        rows = work.moment_rows(potentials.first, terms)
        run_slices(forward, len(terms), cells, rows)
        run_slices(backward, len(terms), cells, rows, back=True)
        spread = None if weights is None else potentials.spread_weights(weights)
        if spread is not None and not edges.per_position:  # sums over a chunk cannot be weighted afterwards
            work.node_exp *= spread[:, None]
            work.future *= spread[:, None]
        moved, probs = edges.sum_edges(work, moments=True), None
        if edge_direction is not None:
            probs = edges.sum_edges(work, moments=False)
            for to, along, pairs in zip(moved, edge_direction, probs):
                to += along * pairs
        for i, logs in self.redone.items():
            span = potentials.rows(i)
            direction = None if edge_direction is None else edges.rows_of(edge_direction, span)
            work.moved[span], one_moved, one_probs = logs.covariance(terms[span], direction)
            weight = 1.0 if weights is None else weights[i]
            edges.put_sequence(moved, one_moved, span, weight)
            if probs is not None:
                edges.put_sequence(probs, one_probs, span, weight)
        if spread is not None:
            work.moved *= spread[:, None]
            edges.weigh(moved, spread)
            if probs is not None:
                edges.weigh(probs, spread)
        return Covariance(work.moved, moved, probs)
