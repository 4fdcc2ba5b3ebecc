"""Max-margin with the slack rescaled (003, formula 6): loss max_y Δ(y) (1 − score of the truth + score(y)), at least 0.

Δ(y) is the Hamming distance from the truth, or the sum of costs[y_t, ·] in whole numbers; gradient Δ · (best − truth).
Where labels are not known the truth is the best labeling among the allowed, and they add nothing to Δ. The search is
exact, and for sequences of some hundred positions; an error says where one is too long for it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hedgerow.chain.inference import Workspace
from hedgerow.chain.inference.known import checked_labels, spread_weights
from hedgerow.chain.objectives.labelings import cost_rows, difference
from hedgerow.chain.objectives.result import LossAndGradient
from hedgerow.chain.objectives.slack_search import steepest_labelings
from hedgerow.chain.objectives.truth import best_truth
from hedgerow.chain.potentials import ChainPotentials
from hedgerow.errors import InputError
from hedgerow.legend import AnyArray, BoolArray, FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class SlackMargin:
    """The objective with costs (K, K) [true, predicted], whole numbers."""

    costs: FloatArray

    def __post_init__(self) -> None:
        if (self.costs != np.round(self.costs)).any():
            raise InputError("costs of slack_margin must be whole numbers", hint="Scale and round them, or use margin")

    def __call__(
        self,
        potentials: ChainPotentials,
        labels: AnyArray,
        *,
        allowed: BoolArray | None = None,
        weights: FloatArray | None = None,
        workspace: Workspace | None = None,
    ) -> LossAndGradient:
        """The loss of a chunk and a subgradient by every score. Arguments as `Objective` has them."""
        labels = checked_labels(potentials, labels)
        spread_weights(potentials, weights)
        truth, scores = best_truth(potentials, labels, allowed)
        found, values, heights = steepest_labelings(potentials, cost_rows(self.costs, labels), truth, scores)
        slopes = heights if weights is None else heights * weights
        loss = float((values if weights is None else values * weights).sum())
        return LossAndGradient(loss, *difference(potentials, found, truth, slopes))
