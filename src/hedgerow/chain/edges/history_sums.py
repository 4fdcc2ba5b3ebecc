"""Sums over the labelings of chains of histories: log Z, marginals and samples, from a backward pass for each sequence.

Messages are divided by the largest of each position; a sequence with one that is too small for that is done in logs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.chain import kernels
from hedgerow.chain.edges.history_rows import BackwardRows, HistoryBuffers, groups, pieces
from hedgerow.chain.potentials import ChainPotentials
from hedgerow.chain.workspace import Workspace, run_slices
from hedgerow.legend import CodeArray, FloatArray

if TYPE_CHECKING:
    from hedgerow.chain.edges.histories import HistoryEdges


class HistorySums:
    """The potentials of a chunk with their exponentials."""

    def __init__(self, edges: HistoryEdges, potentials: ChainPotentials, workspace: Workspace | None) -> None:
        edges.check_scores(potentials)
        self.edges, self.potentials = edges, potentials
        (n, K), self.work = potentials.node_scores.shape, workspace or Workspace()
        self.buffers = self.work.other(HistoryBuffers)
        self.buffers.reserve(potentials, edges.histories)
        self.work.reserve(n, K)
        run_slices(self.work.exponentiate, n, 20 * K, potentials.node_scores)

    def log_partition(self, weights: FloatArray, arc_sums: FloatArray) -> FloatArray:
        """log Z of each sequence, (s,). With weights (s,) also node_probs of the workspace and the arc sums (A,)."""
        potentials, work, buffers, edges = self.potentials, self.work, self.buffers, self.edges
        h, n = edges.histories, potentials.n_sequences
        totals: FloatArray = np.ones(n)
        in_logs: dict[int, float] = {}
        model = potentials.node_scores, work.node_exp, edges.scores, edges.exps, potentials.offsets
        into = buffers.rows, work.scale, totals, weights, buffers.alpha, work.node_probs, arc_sums
        rest: tuple[Any, ...] = h.walk, *into, buffers.scratch
        for first, last in groups(h, potentials.offsets, len(buffers.rows)):
            i = first
            while i < last:
                if last > first + 1:
                    i = kernels.histories.sums(*model, i, last, *rest)
                if i < last:  # it is long, or some message is too small to be scaled
                    one = self.sequence(i)
                    if isinstance(one, _ScaledSequence):
                        totals[i] = one.total
                    else:
                        in_logs[i] = one.log_partition
                    if len(weights):
                        one.forward(float(weights[i]), arc_sums)
                    i += 1
        # log Z = log β(⊥) + Σ_t (log c_t + top_t + shift)
        with np.errstate(divide="ignore", invalid="ignore"):  # of sequences in logs, whose c_t are logarithms
            logs = np.add.reduceat(np.log(work.scale) + work.top, potentials.offsets[:-1])
            values: FloatArray = np.log(totals) + logs + np.diff(potentials.offsets) * edges.shift
        values[list(in_logs)] = list(in_logs.values())
        return values

    def sequence(self, i: int) -> _ScaledSequence | _LogSequence:
        """Sequence i after its backward pass: scaled, or in logs where a message is too small for that."""
        scaled = _ScaledSequence(self, self.potentials.rows(i))
        if scaled.is_sound:
            return scaled
        logs = _LogSequence(self, self.potentials.rows(i))
        if np.isneginf(logs.log_partition):
            self.edges.refuse_illegal(self.potentials, i)
        return logs


class _Sequence:
    """One sequence after its backward pass."""

    def __init__(self, chunk: HistorySums, place: slice) -> None:
        self.potentials, self.edges = chunk.potentials, chunk.edges
        self.work, self.buffers = chunk.work, chunk.buffers
        self.begin, self.end = place.start, place.stop
        self.rows = BackwardRows(self._fill, self.buffers.rows, self.begin, self.end)

    def _fill(self, rows: FloatArray, base: int, t0: int, t1: int) -> bool:
        """As BackwardRows asks for."""
        raise NotImplementedError

    def forward(self, weight: float, arc_sums: FloatArray) -> None:
        """Fill node_probs of the workspace, and add weight · P to the arc sums (A,)."""
        raise NotImplementedError

    def sample(self, uniforms: FloatArray, labels: CodeArray) -> None:
        """Draw the labels of this sequence, for each row of uniforms (m, n), into labels (m, n)."""
        h = self.edges.histories
        states = np.full(len(labels), h.start)
        model = self.potentials.node_scores, self.edges.scores, h.walk
        for base, stop in self.rows.blocks():
            log_rows = self._log_rows(stop - base)
            for m in range(len(labels)):
                into = uniforms[m], labels[m], self.buffers.scratch, base, int(states[m])
                states[m] = kernels.log_histories.sample(*model, log_rows, *into, base, stop)

    def _log_rows(self, n_rows: int) -> FloatArray:
        """The logarithms of the first rows of the buffer."""
        return self.rows.buffer


class _ScaledSequence(_Sequence):
    """Its messages are divided by the largest of each position; `is_sound` where none is too small for that."""

    def __init__(self, chunk: HistorySums, place: slice) -> None:
        super().__init__(chunk, place)
        self.is_sound = self.rows.sweep()
        if self.is_sound:
            edges, work, h = self.edges, self.work, self.edges.histories
            at_start = work.node_exp[self.begin], work.scale[self.begin], edges.exps, h.walk
            self.total = kernels.histories.start_sum(*at_start, self.buffers.rows[0], self.buffers.scratch)
            self.is_sound = self.total >= kernels.histories.UNDERFLOW

    def _fill(self, rows: FloatArray, base: int, t0: int, t1: int) -> bool:
        edges, work, h = self.edges, self.work, self.edges.histories
        model = self.potentials.node_scores, work.node_exp, edges.scores, edges.exps, h.walk
        for p0, p1 in reversed(pieces(h.size, t0, t1)):
            if kernels.histories.backward(*model, rows, work.scale, self.buffers.scratch, base, self.end, p0, p1):
                return False
        return True

    def forward(self, weight: float, arc_sums: FloatArray) -> None:
        edges, work, h, alpha = self.edges, self.work, self.edges.histories, self.buffers.alpha
        alpha[:] = 0.0
        alpha[h.start] = 1.0 / self.total
        for base, stop in self.rows.blocks():
            into = self.rows.buffer, work.scale, weight, alpha, work.node_probs, arc_sums, self.buffers.scratch
            for t0, t1 in pieces(h.size, base, stop):
                kernels.histories.forward(work.node_exp, edges.exps, h.walk, *into, base, t0, t1)

    def _log_rows(self, n_rows: int) -> FloatArray:
        with np.errstate(divide="ignore"):
            logs: FloatArray = np.log(self.rows.buffer[:n_rows])
        return logs


class _LogSequence(_Sequence):
    """In the log domain."""

    def __init__(self, chunk: HistorySums, place: slice) -> None:
        super().__init__(chunk, place)
        self.rows.sweep()
        h, first, buffers = self.edges.histories, self.potentials.node_scores[self.begin], self.buffers
        given = h.start, first, self.edges.scores, h.walk, buffers.rows[0], buffers.scratch
        self._at_start = kernels.log_histories.history_sum(*given)

    def _fill(self, rows: FloatArray, base: int, t0: int, t1: int) -> bool:
        h, scale, scratch = self.edges.histories, self.work.scale, self.buffers.scratch
        model = self.potentials.node_scores, self.edges.scores, h.walk
        for p0, p1 in reversed(pieces(h.n_states * h.n_labels, t0, t1)):
            kernels.log_histories.backward(*model, rows, scale, scratch, base, self.end, p0, p1)
        return True

    @property
    def log_partition(self) -> float:
        return float(self._at_start + self.work.scale[self.begin : self.end].sum())

    def forward(self, weight: float, arc_sums: FloatArray) -> None:
        h, alpha = self.edges.histories, self.buffers.alpha
        alpha[:] = 0.0  # here the probabilities themselves
        alpha[h.start] = 1.0
        model = self.potentials.node_scores, self.edges.scores, h.walk
        for base, stop in self.rows.blocks():
            into = self.rows.buffer, weight, alpha, self.work.node_probs, arc_sums, self.buffers.scratch
            for t0, t1 in pieces(h.n_states * h.n_labels, base, stop):
                kernels.log_histories.forward(*model, *into, base, t0, t1)
