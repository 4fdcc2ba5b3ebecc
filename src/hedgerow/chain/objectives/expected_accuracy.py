"""Expected accuracy: loss Σ_t w (1 − P_t(y_t)), the number of labels that are expected to be wrong.

With costs (K, K) [true, predicted] it is Σ_t w Σ_v costs[y_t, v] P_t(v), the cost to be expected. A set A of allowed
labels costs what the cheapest of them does; a position of which nothing is known adds nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from hedgerow.chain import kernels
from hedgerow.chain.inference import Workspace
from hedgerow.chain.objectives.marginal import marginal_truth
from hedgerow.chain.objectives.result import LossAndGradient
from hedgerow.chain.potentials import ChainPotentials
from hedgerow.legend import AnyArray, BoolArray, FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class ExpectedAccuracy:
    """The objective with costs (K, K) [true, predicted]."""

    costs: FloatArray

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
        given = truth.probs, truth.labels, truth.allowed, self.costs, truth.weights
        for t0, t1 in truth.pieces:
            kernels.labelwise.expected_costs(*given, truth.terms, t0, t1)
        return truth.result(float(truth.terms.sum()))
