"""Labelwise accuracy: loss Σ_t w (1 − Q(P_t(y_t) − P_t(ỹ_t))), Q(x) = 1 / (1 + e^{−λx}), ỹ_t the best wrong label.

As the sharpness λ grows the loss becomes the number of labels that posterior decoding gets wrong. It is not convex:
start from the solution of a likelihood, or from counts, with a small λ, and raise it.

A set A of allowed labels counts as Σ_{v∈A} P_t(v), against the best label outside it; a position of which nothing is
known, or where no label is wrong, adds nothing. Of equally probable wrong labels the lowest is ỹ_t.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hedgerow.chain import kernels
from hedgerow.chain.inference import Workspace
from hedgerow.chain.objectives.marginal import MarginalTruth, marginal_truth
from hedgerow.chain.objectives.result import LossAndGradient
from hedgerow.chain.objectives.step import smoothed_errors
from hedgerow.chain.potentials import ChainPotentials
from hedgerow.legend import CODE, AnyArray, BoolArray, FloatArray


@dataclass(frozen=True, slots=True)
class Labelwise:
    """The objective with its sharpness λ.

    softness : None, or s > 0: (1/s) log Σ_{v wrong} e^{s P_t(v)} in place of P_t(ỹ_t). It has no kinks, and exceeds the
        maximum by at most log(K − 1) / s.
    """

    sharpness: float = 15.0
    softness: float | None = None

    def __call__(
        self,
        potentials: ChainPotentials,
        labels: AnyArray,
        *,
        allowed: BoolArray | None = None,
        weights: FloatArray | None = None,
        workspace: Workspace | None = None,
    ) -> LossAndGradient:
        """The loss of a chunk and its gradient with respect to every score. Arguments as `Objective` has them."""
        truth = marginal_truth(potentials, labels, allowed, weights, workspace)
        if self.softness is None:
            return truth.result(self._hard(truth))
        return truth.result(self._soft(truth, self.softness))

    def _hard(self, truth: MarginalTruth) -> float:
        """The loss, with its terms, where the best wrong label alone counts."""
        n = len(truth.labels)
        margins, rival = np.empty(n), np.empty(n, dtype=CODE)
        given = truth.probs, truth.labels, truth.allowed
        for t0, t1 in truth.pieces:
            kernels.labelwise.rivals(*given, margins, rival, t0, t1)
        losses, slopes = smoothed_errors(margins, self.sharpness)
        slopes *= truth.weights
        for t0, t1 in truth.pieces:
            kernels.labelwise.rival_terms(*given, rival, slopes, truth.terms, t0, t1)
        return float((truth.weights * losses)[rival >= 0].sum())

    def _soft(self, truth: MarginalTruth, softness: float) -> float:
        """The loss, with its terms, where every wrong label counts by its share."""
        work, n = truth.state.work, len(truth.labels)
        exps, tops, margins, totals = work.past, np.empty(n), np.empty(n), np.empty(n)
        given = truth.probs, truth.labels, truth.allowed
        for t0, t1 in truth.pieces:
            kernels.labelwise.wrong_scores(*given, softness, truth.terms, t0, t1)
            kernels.chain.exponentials(truth.terms, exps, tops, work.scratch, work.scratch_bits, t0, t1)
            kernels.labelwise.soft_margins(*given, exps, margins, totals, t0, t1)
        has_loss = totals > 0.0
        margins -= (tops + np.log(np.where(has_loss, totals, 1.0))) / softness
        losses, slopes = smoothed_errors(margins, self.sharpness)
        slopes *= truth.weights
        for t0, t1 in truth.pieces:
            kernels.labelwise.soft_terms(*given, exps, totals, slopes, truth.terms, t0, t1)
        return float((truth.weights * losses)[has_loss].sum())
