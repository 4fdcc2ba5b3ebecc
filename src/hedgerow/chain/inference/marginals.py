"""Marginals of a chunk by scaled forward-backward; sequences it cannot carry are redone in the log domain."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hedgerow.chain import kernels
from hedgerow.chain.inference import histories, history_tables, passes
from hedgerow.chain.inference.forward import (
    checked,
    faint_sequences,
    log_backward,
    log_forward,
    scaled_log_partition,
    total_log_sum,
)
from hedgerow.chain.inference.workspace import Workspace, slices
from hedgerow.chain.potentials import ChainPotentials, HistoryEdges, HistoryTables, PositionEdges
from hedgerow.legend import FloatArray


@dataclass(frozen=True, slots=True)
class Marginals:
    """What forward-backward gives for a chunk.

    log_partition : (s,), log Z of every sequence
    node_probs : (n, K), P_t(v)
    edges : for shared edges (K, K) [from, to], Σ_t P_t(u, v) over the chunk, each sequence times its weight;
        for per-position edges (K, n, K) [to, position, from], P_t(u, v), 0 at first positions;
        for histories (A,), Σ_t P_t(a) over the chunk, each sequence times its weight;
        for tables of histories (K, n, H) [to, position, history], P_t(h, v)
    """

    log_partition: FloatArray
    node_probs: FloatArray
    edges: FloatArray

    @property
    def edge_sums(self) -> FloatArray:
        """(K, K) [from, to], for shared edges."""
        if self.edges.ndim != 2:
            raise TypeError("per-position edges have edge_probs, not edge_sums")
        return self.edges

    @property
    def edge_probs(self) -> FloatArray:
        """(K, n, K) [to, position, from], for per-position edges."""
        if self.edges.ndim != 3:
            raise TypeError("shared edges have edge_sums, not edge_probs")
        return self.edges


def marginals(
    potentials: ChainPotentials, workspace: Workspace | None = None, weights: FloatArray | None = None
) -> Marginals:
    """log Z and marginals.

    With a workspace, node_probs lives in it and the next call overwrites it. `weights` (s,) enter the sums of shared
    edges and of histories, which no caller could weight afterwards, and nothing else.
    """
    if isinstance(potentials.edges, HistoryEdges):
        found = histories.marginals(potentials, workspace, weights)
        return Marginals(found.log_partition, found.node_probs, found.arc_sums)
    if isinstance(potentials.edges, HistoryTables):
        own = history_tables.marginals(potentials)
        return Marginals(own.log_partition, own.node_probs, own.probs)
    work = workspace or Workspace()
    first = potentials.first()
    passes.forward(potentials, first, work)
    passes.backward(potentials, first, work)
    values = scaled_log_partition(potentials, first, work)
    faint = faint_sequences(potentials, work, both_ways=True)
    for i in faint:  # what the scaled pass made of them must not enter the sums
        work.node_exp[potentials.rows(i)] = 0.0
    per_position = isinstance(potentials.edges, PositionEdges)
    if weights is not None and not per_position:
        work.node_exp *= np.repeat(weights, np.diff(potentials.offsets))[:, None]
    edges = passes.edge_marginals(potentials, work)
    for i in faint:
        rows = potentials.rows(i)
        values[i], work.node_probs[rows], probs = _log_marginals(potentials.sequence(i))
        if per_position:
            edges[:, rows] = probs
        else:
            edges += probs[:, 0].T if weights is None else weights[i] * probs[:, 0].T
    return Marginals(checked(values, potentials), work.node_probs, edges)


def _log_marginals(one: ChainPotentials) -> tuple[float, FloatArray, FloatArray]:
    """log Z, node and edge marginals (to, n, from; summed, (to, 1, from), for shared edges) of one sequence."""
    edge_scores = one.tables.scores_to
    n, K = one.node_scores.shape
    log_alpha, tops = log_forward(one)
    log_beta, _ = log_backward(one)
    first, edge_probs = one.first(), np.zeros(edge_scores.shape)
    for t0, t1 in slices(n, 60 * K * K):
        kernels.log_chain.edge_probs(one.node_scores, edge_scores, first, log_alpha, tops, log_beta, edge_probs, t0, t1)
    node_probs = np.exp(log_alpha + log_beta - (log_alpha + log_beta).max(axis=1, keepdims=True))
    node_probs /= node_probs.sum(axis=1, keepdims=True)
    return total_log_sum(log_alpha, tops), node_probs, edge_probs
