"""Objectives in which labels have weights w > 0.

Likelihoods see scores less log w of each label of a labeling. What they fit to the data is exp(score) / Π_t w(y_t), and
so the scores themselves are those of p(y | x) · Π_t w(y_t), made to add up to 1. It stays convex, and with weights
that are all the same nothing changes. Sums over positions multiply the term of a position by w of its true label, and
costs of mistakes are multiplied by w of the true label (`make_objective`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from hedgerow.chain.objectives.result import Curvature, Curved, LossAndGradient, Objective
from hedgerow.chain.potentials import ChainPotentials, Gradients, Truth
from hedgerow.chain.workspace import Workspace
from hedgerow.legend import FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Tilted:
    """A likelihood of scores less log w; weights (K,)."""

    objective: Objective
    weights: FloatArray

    def __call__(
        self, potentials: ChainPotentials, truth: Truth, workspace: Workspace | None = None
    ) -> LossAndGradient:
        """The loss of a chunk and its gradient with respect to every score."""
        return self.objective(potentials.shifted(-np.log(self.weights)), truth, workspace)

    def curvature(self, plain: Curvature) -> Curvature:
        """The same of a Hessian times a direction."""

        def curved(
            potentials: ChainPotentials, truth: Truth, direction: Gradients, workspace: Workspace | None = None
        ) -> Curved:
            return plain(potentials.shifted(-np.log(self.weights)), truth, direction, workspace)

        return curved


@dataclass(frozen=True, slots=True, eq=False)
class LabelWeighted:
    """A sum over positions, each of which counts w of its true label; weights (K,)."""

    objective: Objective
    weights: FloatArray

    def __call__(
        self, potentials: ChainPotentials, truth: Truth, workspace: Workspace | None = None
    ) -> LossAndGradient:
        """The loss of a chunk and its gradient with respect to every score."""
        return self.objective(potentials, replace(truth, label_weights=self.weights), workspace)
