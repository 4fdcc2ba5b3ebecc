"""Perceptron: loss max_y score(y) − score of the truth, gradient best − truth.

Where labels are not known the truth is the best labeling among the allowed. Of equal labelings the one that
`best_labelings` gives, also where the truth is one of them: so a start from zeros, where all are equal, learns.
"""

from __future__ import annotations

from hedgerow.chain.inference import Workspace
from hedgerow.chain.inference.known import checked_labels
from hedgerow.chain.objectives.margin import beyond_truth
from hedgerow.chain.objectives.result import LossAndGradient
from hedgerow.chain.potentials import ChainPotentials
from hedgerow.legend import AnyArray, BoolArray, FloatArray


def perceptron(
    potentials: ChainPotentials,
    labels: AnyArray,
    *,
    allowed: BoolArray | None = None,
    weights: FloatArray | None = None,
    workspace: Workspace | None = None,
) -> LossAndGradient:
    """The loss of a chunk and a subgradient by every score. Arguments as `Objective` has them."""
    return beyond_truth(potentials, potentials, checked_labels(potentials, labels), allowed, weights)
