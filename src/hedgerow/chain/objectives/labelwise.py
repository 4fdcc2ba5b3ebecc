"""Losses that are functions of the node marginals: one pass for the marginals, one back for the gradient.

    pointwise            −Σ_t w log P_t(y_t), of each label by itself, summed over all others
    expected_accuracy    Σ_t w (1 − P_t(y_t)), the number of labels that are expected to be wrong; with costs (K, K)
                         [true, predicted] Σ_t w Σ_v costs[y_t, v] P_t(v), the cost to be expected
    labelwise            Σ_t w (1 − Q(P_t(y_t) − P_t(ỹ_t))), Q(x) = 1 / (1 + e^{−λx}), ỹ_t the best wrong label

As the sharpness λ grows labelwise becomes the number of labels that posterior decoding gets wrong. It is not convex:
start from the solution of a likelihood, or from counts, with a small λ, and raise it. Of equally probable wrong labels
the lowest is ỹ_t.

A set A of allowed labels counts as Σ_{v∈A} P_t(v), in labelwise against the best label outside it, and costs what the
cheapest of its labels does. A position of which nothing is known, or where no label is wrong, adds nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hedgerow.chain import kernels
from hedgerow.chain.edges.messages import Messages
from hedgerow.chain.edges.tables import tables_of
from hedgerow.chain.objectives.labelings import check_legal_truth
from hedgerow.chain.objectives.result import LossAndGradient
from hedgerow.chain.potentials import ChainPotentials, Truth
from hedgerow.chain.workspace import Workspace, slices
from hedgerow.legend import CODE, UNLABELLED, AnyArray, FloatArray

_SMALLEST = 1e-290  # a probability under this has lost digits, and is found again in the log domain


@dataclass(frozen=True, slots=True)
class MarginalTruth:
    """A chunk's marginals beside its truth, as kernels take them.

    probs : (n, K), P_t(v)
    labels : (n,), −1 where not known
    allowed : uint8 (n, K), or (0, K) where any label is
    weights : (n,)
    terms : (n, K), to be filled with c_t(v) P_t(v)
    """

    messages: Messages
    probs: FloatArray
    labels: AnyArray
    allowed: AnyArray
    weights: FloatArray
    terms: FloatArray

    @property
    def pieces(self) -> list[tuple[int, int]]:
        """The calls to cut a kernel into that reads a row of probabilities a few times."""
        return list(slices(len(self.probs), 20 * (self.probs.shape[1] + 1)))

    def result(self, loss: float) -> LossAndGradient:
        """The loss with its gradient, from the terms."""
        moved = self.messages.covariance(self.terms)
        return LossAndGradient(loss, moved.node, moved.edges)


def _marginal_truth(potentials: ChainPotentials, truth: Truth, workspace: Workspace | None) -> MarginalTruth:
    """Check the truth and find the marginals. An impossible truth is an error."""
    truth, spread = potentials.check_truth(truth)
    check_legal_truth(potentials, truth)
    messages = tables_of(potentials).messages(potentials, workspace)
    work = messages.work
    work.reserve_moments()
    sets = np.empty((0, potentials.n_labels), dtype=np.uint8)
    if truth.allowed is not None:
        sets = np.ascontiguousarray(truth.allowed).view(np.uint8)
    return MarginalTruth(messages, work.node_probs, truth.labels, sets, spread, work.terms)


def pointwise(potentials: ChainPotentials, truth: Truth, workspace: Workspace | None = None) -> LossAndGradient:
    """The loss of a chunk and its gradient with respect to every score."""
    chunk = _marginal_truth(potentials, truth, workspace)
    true_probs = np.empty(len(chunk.labels))
    given = chunk.probs, chunk.labels, chunk.allowed, chunk.weights
    for t0, t1 in chunk.pieces:
        kernels.labelwise.pointwise(*given, true_probs, chunk.terms, t0, t1)
    small = true_probs < _SMALLEST
    if small.any():
        for lost in np.flatnonzero(np.logical_or.reduceat(small, potentials.offsets[:-1])):
            chunk.messages.redo(int(lost))
    for i in chunk.messages.redone:
        true_probs[potentials.rows(i)] = 1.0
    log_true = np.log(true_probs)
    for i in chunk.messages.redone:
        rows = potentials.rows(i)
        log_true[rows] = _log_terms(chunk, i, rows)
    return chunk.result(-float((chunk.weights * log_true).sum()))


def _log_terms(chunk: MarginalTruth, i: int, rows: slice) -> FloatArray:
    """log P_t(A) at the positions of one sequence, (T,), with the terms −w P_t(v) / P_t(A), from the log domain."""
    labels = chunk.labels[rows, None]
    right = np.arange(chunk.probs.shape[1]) == labels
    if len(chunk.allowed):
        right |= (labels == UNLABELLED) & (chunk.allowed[rows] > 0)
    else:
        right |= labels == UNLABELLED
    log_probs = np.where(right, chunk.messages.redone[i].log_probs, -np.inf)
    log_true: FloatArray = np.logaddexp.reduce(log_probs, axis=1)
    chunk.terms[rows] = -chunk.weights[rows, None] * np.exp(log_probs - log_true[:, None])
    return log_true


@dataclass(frozen=True, slots=True, eq=False)
class ExpectedAccuracy:
    """The objective with costs (K, K) [true, predicted]."""

    costs: FloatArray

    def __call__(
        self, potentials: ChainPotentials, truth: Truth, workspace: Workspace | None = None
    ) -> LossAndGradient:
        """The loss of a chunk and its gradient with respect to every score."""
        chunk = _marginal_truth(potentials, truth, workspace)
        given = chunk.probs, chunk.labels, chunk.allowed, self.costs, chunk.weights
        for t0, t1 in chunk.pieces:
            kernels.labelwise.expected_costs(*given, chunk.terms, t0, t1)
        return chunk.result(float(chunk.terms.sum()))


@dataclass(frozen=True, slots=True)
class Labelwise:
    """The objective with its sharpness λ.

    softness : None, or s > 0: (1/s) log Σ_{v wrong} e^{s P_t(v)} in place of P_t(ỹ_t). It has no kinks, and exceeds the
        maximum by at most log(K − 1) / s.
    """

    sharpness: float = 15.0
    softness: float | None = None

    def __call__(
        self, potentials: ChainPotentials, truth: Truth, workspace: Workspace | None = None
    ) -> LossAndGradient:
        """The loss of a chunk and its gradient with respect to every score."""
        chunk = _marginal_truth(potentials, truth, workspace)
        if self.softness is None:
            return chunk.result(self._hard(chunk))
        return chunk.result(self._soft(chunk, self.softness))

    def _hard(self, chunk: MarginalTruth) -> float:
        """The loss, with its terms, where the best wrong label alone counts."""
        n = len(chunk.labels)
        margins, rival = np.empty(n), np.empty(n, dtype=CODE)
        given = chunk.probs, chunk.labels, chunk.allowed
        for t0, t1 in chunk.pieces:
            kernels.labelwise.rivals(*given, margins, rival, t0, t1)
        losses, slopes = smoothed_errors(margins, self.sharpness)
        slopes *= chunk.weights
        for t0, t1 in chunk.pieces:
            kernels.labelwise.rival_terms(*given, rival, slopes, chunk.terms, t0, t1)
        return float((chunk.weights * losses)[rival >= 0].sum())

    def _soft(self, chunk: MarginalTruth, softness: float) -> float:
        """The loss, with its terms, where every wrong label counts by its share."""
        work, n = chunk.messages.work, len(chunk.labels)
        exps, tops, margins, totals = work.past, np.empty(n), np.empty(n), np.empty(n)
        given = chunk.probs, chunk.labels, chunk.allowed
        for t0, t1 in chunk.pieces:
            kernels.labelwise.wrong_scores(*given, softness, chunk.terms, t0, t1)
            kernels.chain.exponentials(chunk.terms, exps, tops, work.scratch, work.scratch_bits, t0, t1)
            kernels.labelwise.soft_margins(*given, exps, margins, totals, t0, t1)
        has_loss = totals > 0.0
        margins -= (tops + np.log(np.where(has_loss, totals, 1.0))) / softness
        losses, slopes = smoothed_errors(margins, self.sharpness)
        slopes *= chunk.weights
        for t0, t1 in chunk.pieces:
            kernels.labelwise.soft_terms(*given, exps, totals, slopes, chunk.terms, t0, t1)
        return float((chunk.weights * losses)[has_loss].sum())


def smoothed_errors(margins: FloatArray, sharpness: float) -> tuple[FloatArray, FloatArray]:
    """1 − Q(margin) with Q(x) = 1 / (1 + e^{−sharpness · x}), and its derivatives by the margins, both (m,)."""
    x = sharpness * margins
    falling = np.exp(-np.abs(x))  # of the positive side, so that nothing overflows
    small = falling / (1.0 + falling)  # the smaller one of Q and 1 − Q
    losses: FloatArray = np.where(x >= 0.0, small, 1.0 - small)
    slopes: FloatArray = small / (1.0 + falling)
    slopes *= -sharpness
    return losses, slopes
