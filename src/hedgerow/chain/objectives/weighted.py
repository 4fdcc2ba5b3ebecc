"""Objectives in which labels have weights w > 0.

Sums over positions multiply the term of a position by w of its true label, and costs of mistakes are multiplied by w of
the true label (`make_objective`). A likelihood fits the distribution, in which nothing is a mistake: with it weights
belong to what is made of the probabilities of labels (`decoding.tilted`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from hedgerow.chain.objectives.result import LossAndGradient, Objective
from hedgerow.chain.potentials import ChainPotentials, Truth
from hedgerow.chain.workspace import Workspace
from hedgerow.legend import FloatArray


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
