"""Sums over the labelings of chains of histories: log partition, marginals, samples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from hedgerow.chain import kernels
from hedgerow.chain.inference.history_rows import (
    HistoryWorkspace,
    Rows,
    check_scores,
    groups,
    history_arcs,
    pieces,
    refuse_illegal,
    slow_pieces,
)
from hedgerow.chain.inference.workspace import Workspace
from hedgerow.chain.potentials import ChainPotentials
from hedgerow.errors import InputError
from hedgerow.legend import CODE, CodeArray, FloatArray


@dataclass(frozen=True, slots=True)
class HistoryMarginals:
    """What a pass back and forth gives for a chunk.

    log_partition : (s,), log Z of every sequence
    node_probs : (n, K), P_t(v)
    arc_sums : (A,), Σ_t P_t(a) over the chunk, each sequence times its weight: the use of each arc
    """

    log_partition: FloatArray
    node_probs: FloatArray
    arc_sums: FloatArray


def log_partition(potentials: ChainPotentials, workspace: Workspace | None = None) -> FloatArray:
    """log Z of every sequence of the chunk, (s,)."""
    return _Chunk(potentials, workspace).sums(np.empty(0), np.empty(0))


def marginals(
    potentials: ChainPotentials, workspace: Workspace | None = None, weights: FloatArray | None = None
) -> HistoryMarginals:
    """log Z and marginals, in time that grows with the number of arcs and of histories.

    With a workspace, node_probs lives in it and the next call overwrites it. `weights` (s,) enter the arc sums and
    nothing else.
    """
    chunk = _Chunk(potentials, workspace)
    arc_sums: FloatArray = np.zeros(potentials.arcs.histories.n_arcs)
    own = np.ones(potentials.n_sequences) if weights is None else np.asarray(weights, dtype=np.float64)
    return HistoryMarginals(chunk.sums(own, arc_sums), chunk.work.node_probs, arc_sums)


def sample(potentials: ChainPotentials, uniforms: FloatArray) -> CodeArray:
    """Draw labelings, int32 (m, n). uniforms (m, n): numbers in [0, 1), one a sample and position."""
    uniforms = np.ascontiguousarray(uniforms, dtype=np.float64)
    n = potentials.n_positions
    if uniforms.ndim != 2 or uniforms.shape[1] != n:
        raise InputError(f"uniforms must be (samples, {n} positions), not of shape {uniforms.shape}")
    chunk = _Chunk(potentials, None)
    labels = np.empty(uniforms.shape, dtype=CODE)
    for i in range(potentials.n_sequences):
        chunk.sequence(i).sample(uniforms, labels)
    return labels


def own_workspace(workspace: Workspace | None) -> HistoryWorkspace:
    """The part of a workspace that histories use."""
    if workspace is None:
        return HistoryWorkspace()
    if workspace.histories is None:
        workspace.histories = HistoryWorkspace()
    return workspace.histories


class _Chunk:
    """The potentials of a chunk with their exponentials."""

    def __init__(self, potentials: ChainPotentials, workspace: Workspace | None) -> None:
        check_scores(potentials)
        self.potentials = potentials
        self.work = own_workspace(workspace)
        self.work.reserve(potentials)
        self.work.exponentiate(potentials.node_scores)

    def sums(self, weights: FloatArray, arc_sums: FloatArray) -> FloatArray:
        """log Z of each sequence, (s,). With weights (s,) also node_probs of the workspace and the arc sums (A,)."""
        potentials, work, edges = self.potentials, self.work, self.potentials.arcs
        h, n = edges.histories, potentials.n_sequences
        totals: FloatArray = np.ones(n)
        apart: dict[int, float] = {}
        model = potentials.node_scores, work.node_exp, edges.scores, edges.exps, potentials.offsets
        into = work.rows, work.scale, totals, weights, work.alpha, work.node_probs, arc_sums
        rest: tuple[Any, ...] = history_arcs(h), *into, work.buffers
        for first, last in groups(h, potentials.offsets, len(work.rows)):
            i = first
            while i < last:
                if last > first + 1:
                    i = kernels.histories.sums(*model, i, last, *rest)
                if i < last:  # it is long, or some message is too small to be scaled
                    one = self.sequence(i)
                    if isinstance(one, _Scaled):
                        totals[i] = one.total
                    else:
                        apart[i] = one.log_partition
                    if len(weights):
                        one.forward(float(weights[i]), arc_sums)
                    i += 1
        # log Z = log β(⊥) + Σ_t (log c_t + top_t + shift)
        with np.errstate(divide="ignore", invalid="ignore"):  # of sequences apart, whose c_t are logarithms
            logs = np.add.reduceat(np.log(work.scale) + work.top, potentials.offsets[:-1])
            values: FloatArray = np.log(totals) + logs + np.diff(potentials.offsets) * edges.shift
        values[list(apart)] = list(apart.values())
        return values

    def sequence(self, i: int) -> _Scaled | _Logs:
        """Sequence i after its backward pass: scaled, or in logs where a message is too small for that."""
        begin, end = int(self.potentials.offsets[i]), int(self.potentials.offsets[i + 1])
        scaled = _Scaled(self, begin, end)
        if scaled.is_sound:
            return scaled
        logs = _Logs(self, begin, end)
        if np.isneginf(logs.log_partition):
            refuse_illegal(self.potentials, i)
        return logs


class _Scaled:
    """One sequence, its messages divided by the largest of each position."""

    def __init__(self, chunk: _Chunk, begin: int, end: int) -> None:
        self.potentials, self.work = chunk.potentials, chunk.work
        self.begin, self.end = begin, end
        edges, work = self.potentials.arcs, self.work
        self.rows = Rows(self._fill, work.rows, begin, end)
        self.is_sound = self.rows.sweep()
        if self.is_sound:
            h = edges.histories
            at_start = work.node_exp[begin], work.scale[begin], edges.exps, history_arcs(h)
            self.total = kernels.histories.start_sum(*at_start, work.rows[0], work.buffers)
            self.is_sound = self.total >= kernels.histories.UNDERFLOW

    def _fill(self, rows: FloatArray, base: int, t0: int, t1: int) -> bool:
        edges, work = self.potentials.arcs, self.work
        scores = self.potentials.node_scores, work.node_exp, edges.scores, edges.exps
        into = history_arcs(edges.histories), rows, work.scale, work.buffers
        for p0, p1 in reversed(pieces(edges.histories, t0, t1)):
            if kernels.histories.backward(*scores, *into, base, self.end, p0, p1):
                return False
        return True

    def forward(self, weight: float, arc_sums: FloatArray) -> None:
        """Fill node_probs of the workspace, and add weight · P to the arc sums."""
        edges, work = self.potentials.arcs, self.work
        h = edges.histories
        work.alpha[:] = 0.0
        work.alpha[h.start] = 1.0 / self.total
        model = work.node_exp, edges.exps, history_arcs(h)
        for base, stop in self.rows.blocks():
            into = self.rows.buffer, work.scale, weight, work.alpha, work.node_probs, arc_sums, work.buffers
            for t0, t1 in pieces(h, base, stop):
                kernels.histories.forward(*model, *into, base, t0, t1)

    def sample(self, uniforms: FloatArray, labels: CodeArray) -> None:
        """Draw the labels of this sequence, for each row of uniforms."""
        states = np.full(len(labels), self.potentials.arcs.histories.start)
        for base, stop in self.rows.blocks():
            with np.errstate(divide="ignore"):
                logs = np.log(self.rows.buffer[: stop - base])
            _draw(self.potentials, self.work, logs, base, stop, states, uniforms, labels)


class _Logs:
    """One sequence in the log domain."""

    def __init__(self, chunk: _Chunk, begin: int, end: int) -> None:
        self.potentials, self.work = chunk.potentials, chunk.work
        self.begin, self.end = begin, end
        edges, work = self.potentials.arcs, self.work
        self.rows = Rows(self._fill, work.rows, begin, end)
        self.rows.sweep()
        h = edges.histories
        self._at_start = kernels.log_histories.history_sum(
            h.start, self.potentials.node_scores[begin], edges.scores, history_arcs(h), work.rows[0], work.buffers
        )

    def _fill(self, rows: FloatArray, base: int, t0: int, t1: int) -> bool:
        edges, work = self.potentials.arcs, self.work
        model = self.potentials.node_scores, edges.scores, history_arcs(edges.histories)
        for p0, p1 in reversed(slow_pieces(edges.histories, t0, t1)):
            kernels.log_histories.backward(*model, rows, work.scale, work.buffers, base, self.end, p0, p1)
        return True

    @property
    def log_partition(self) -> float:
        return float(self._at_start + self.work.scale[self.begin : self.end].sum())

    def forward(self, weight: float, arc_sums: FloatArray) -> None:
        """As `_Scaled.forward`."""
        edges, work = self.potentials.arcs, self.work
        h = edges.histories
        work.alpha[:] = 0.0  # here the probabilities themselves
        work.alpha[h.start] = 1.0
        model = self.potentials.node_scores, edges.scores, history_arcs(h)
        for base, stop in self.rows.blocks():
            into = self.rows.buffer, weight, work.alpha, work.node_probs, arc_sums, work.buffers
            for t0, t1 in slow_pieces(edges.histories, base, stop):
                kernels.log_histories.forward(*model, *into, base, t0, t1)

    def sample(self, uniforms: FloatArray, labels: CodeArray) -> None:
        """As `_Scaled.sample`."""
        states = np.full(len(labels), self.potentials.arcs.histories.start)
        for base, stop in self.rows.blocks():
            _draw(self.potentials, self.work, self.rows.buffer, base, stop, states, uniforms, labels)


def _draw(
    potentials: ChainPotentials,
    work: HistoryWorkspace,
    log_rows: FloatArray,
    base: int,
    stop: int,
    states: CodeArray,
    uniforms: FloatArray,
    labels: CodeArray,
) -> None:
    """Draw labels base … stop−1; `states` has where each sample stands, and is moved on."""
    edges = potentials.arcs
    model = potentials.node_scores, edges.scores, history_arcs(edges.histories), log_rows
    for m in range(len(labels)):
        into = uniforms[m], labels[m], work.buffers, base, int(states[m])
        states[m] = kernels.log_histories.sample(*model, *into, base, stop)
