"""Marginals of a chunk by scaled forward-backward; sequences it cannot carry are redone in the log domain."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hedgerow.chain.inference import histories, history_tables, passes
from hedgerow.chain.inference.forward import checked, faint_sequences, scaled_log_partition, total_log_sum
from hedgerow.chain.inference.messages import LogMessages
from hedgerow.chain.inference.workspace import Workspace
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
        sums = histories.marginals(potentials, workspace, weights)
        return Marginals(sums.log_partition, sums.node_probs, sums.arc_sums)
    if isinstance(potentials.edges, HistoryTables):
        own = history_tables.marginals(potentials)
        return Marginals(own.log_partition, own.node_probs, own.probs)
    work = workspace or Workspace()
    values, faint = _scaled_passes(potentials, work)
    for i in faint:  # what the scaled pass made of them must not enter the sums
        work.node_exp[potentials.rows(i)] = 0.0
    per_position = isinstance(potentials.edges, PositionEdges)
    if weights is not None and not per_position:
        work.node_exp *= np.repeat(weights, np.diff(potentials.offsets))[:, None]
    edges = passes.edge_marginals(potentials, work)
    for i in faint:
        rows = potentials.rows(i)
        found = LogMessages.of(potentials.sequence(i))
        values[i], work.node_probs[rows] = _of_logs(found)
        probs = found.edge_probs()
        if per_position:
            edges[:, rows] = probs
        else:
            edges += probs[:, 0].T if weights is None else weights[i] * probs[:, 0].T
    return Marginals(checked(values, potentials), work.node_probs, edges)


def node_marginals(potentials: ChainPotentials, workspace: Workspace | None = None) -> FloatArray:
    """P_t(v), (n, K), to the bit as `marginals` gives it, without what that spends on pairs of labels.

    With a workspace it lives in that, and the next call overwrites it.
    """
    if isinstance(potentials.edges, (HistoryEdges, HistoryTables)):  # there labels are summed from arcs
        return marginals(potentials, workspace).node_probs
    work = workspace or Workspace()
    values, faint = _scaled_passes(potentials, work)
    for i in faint:
        values[i], work.node_probs[potentials.rows(i)] = _of_logs(LogMessages.of(potentials.sequence(i)))
    checked(values, potentials)
    return work.node_probs


def _scaled_passes(potentials: ChainPotentials, work: Workspace) -> tuple[FloatArray, list[int]]:
    """Messages and node_probs in the workspace; log Z (s,), and the sequences that scaled sums cannot carry."""
    first = potentials.first()
    passes.forward(potentials, first, work)
    passes.backward(potentials, first, work)
    return scaled_log_partition(potentials, first, work), faint_sequences(potentials, work, both_ways=True)


def _of_logs(found: LogMessages) -> tuple[float, FloatArray]:
    """log Z, and P_t(v) (n, K), of one sequence."""
    logs = found.log_alpha + found.log_beta
    probs: FloatArray = np.exp(logs - logs.max(axis=1, keepdims=True))
    probs /= probs.sum(axis=1, keepdims=True)
    return total_log_sum(found.log_alpha, found.alpha_tops), probs
