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

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from hedgerow.chain import kernels
from hedgerow.chain.edges.messages import Messages
from hedgerow.chain.edges.unfolding import FoldedMessages
from hedgerow.chain.objectives.labelings import check_legal_truth, in_pieces
from hedgerow.chain.objectives.result import LossAndGradient
from hedgerow.chain.potentials import ChainPotentials, Truth
from hedgerow.chain.workspace import Workspace, run_slices
from hedgerow.legend import CODE, BoolArray, FloatArray

_SMALLEST = 1e-290  # a probability under this has lost digits, and is found again in the log domain


@dataclass(frozen=True, slots=True)
class MarginalTruth:
    """A chunk's marginals beside its truth.

    weights : (n,), of each position's sequence
    """

    messages: Messages | FoldedMessages
    truth: Truth
    weights: FloatArray

    @property
    def probs(self) -> FloatArray:
        """(n, K), P_t(v)."""
        return self.messages.work.node_probs

    @property
    def right(self) -> BoolArray:
        """bool (n, K), what the true labels may be."""
        return self.messages.potentials.permitted(self.truth)

    @property
    def terms(self) -> FloatArray:
        """(n, K), to be filled with c_t(v) P_t(v)."""
        return self.messages.work.terms

    def run(self, kernel: Callable[..., None], *given: Any) -> None:
        """Call a kernel that reads a row of probabilities a few times for all positions."""
        run_slices(kernel, len(self.probs), 20 * (self.probs.shape[1] + 1), self.probs, *given)

    def result(self, loss: float) -> LossAndGradient:
        """The loss with its gradient, from the terms."""
        moved = self.messages.covariance(self.terms)
        return LossAndGradient(loss, moved.node, moved.edges)


def _marginal_truth(potentials: ChainPotentials, truth: Truth, workspace: Workspace | None) -> MarginalTruth:
    """Check the truth and find the marginals. An impossible truth is an error."""
    truth, spread = potentials.check_truth(truth)
    check_legal_truth(potentials, truth)
    messages = potentials.edges.messages(potentials, workspace)
    messages.work.reserve_moments()
    return MarginalTruth(messages, truth, spread)


def pointwise(potentials: ChainPotentials, truth: Truth, workspace: Workspace | None = None) -> LossAndGradient:
    """The loss of a chunk and its gradient with respect to every score."""
    return in_pieces(_pointwise, potentials, truth, workspace)


def _pointwise(potentials: ChainPotentials, truth: Truth, workspace: Workspace | None) -> LossAndGradient:
    chunk = _marginal_truth(potentials, truth, workspace)
    labels, allowed = chunk.truth.labels, chunk.truth.allowed
    sets = np.empty((0, potentials.n_labels), dtype=bool) if allowed is None else np.ascontiguousarray(allowed)
    true_probs = np.empty(len(labels))
    chunk.run(kernels.labelwise.pointwise, labels, sets.view(np.uint8), chunk.weights, true_probs, chunk.terms)
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
    log_probs = np.where(chunk.right[rows], chunk.messages.redone[i].log_probs, -np.inf)
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
        return in_pieces(self._of_piece, potentials, truth, workspace)

    def _of_piece(self, potentials: ChainPotentials, truth: Truth, workspace: Workspace | None) -> LossAndGradient:
        chunk = _marginal_truth(potentials, truth, workspace)
        chunk.run(kernels.labelwise.expected_costs, chunk.right, self.costs, chunk.weights, chunk.terms)
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
        return in_pieces(self._of_piece, potentials, truth, workspace)

    def _of_piece(self, potentials: ChainPotentials, truth: Truth, workspace: Workspace | None) -> LossAndGradient:
        chunk = _marginal_truth(potentials, truth, workspace)
        if self.softness is None:
            return chunk.result(self._hard(chunk))
        return chunk.result(self._soft(chunk, self.softness))

    def _hard(self, chunk: MarginalTruth) -> float:
        """The loss, with its terms, where the best wrong label alone counts."""
        n, right = len(chunk.probs), chunk.right
        margins, rival = np.empty(n), np.empty(n, dtype=CODE)
        chunk.run(kernels.labelwise.rivals, right, margins, rival)
        losses, slopes = smoothed_errors(margins, self.sharpness)
        slopes *= chunk.weights
        chunk.run(kernels.labelwise.rival_terms, right, rival, slopes, chunk.terms)
        return float((chunk.weights * losses)[rival >= 0].sum())

    def _soft(self, chunk: MarginalTruth, softness: float) -> float:
        """The loss, with its terms, where every wrong label counts by its share."""
        work, n, right = chunk.messages.work, len(chunk.probs), chunk.right
        exps, tops, margins, totals = work.past, np.empty(n), np.empty(n), np.empty(n)
        chunk.run(kernels.labelwise.wrong_scores, right, softness, chunk.terms)
        exponents = chunk.terms, exps, tops, work.scratch, work.scratch_bits
        run_slices(kernels.chain.exponentials, n, 20 * (right.shape[1] + 1), *exponents)
        chunk.run(kernels.labelwise.soft_margins, right, exps, margins, totals)
        has_loss = totals > 0.0
        margins -= (tops + np.log(np.where(has_loss, totals, 1.0))) / softness
        losses, slopes = smoothed_errors(margins, self.sharpness)
        slopes *= chunk.weights
        chunk.run(kernels.labelwise.soft_terms, right, exps, totals, slopes, chunk.terms)
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
