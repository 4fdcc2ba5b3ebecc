"""Max-margin with the margin rescaled (003, formula 5): loss max_y [Δ(y) + score(y)] − score of the truth.

Δ(y) is the Hamming distance from the truth, or the sum of costs[y_t, ·]; gradient best − truth. Where labels are not
known the truth is the best labeling among the allowed, and they add nothing to Δ. Of equal labelings the one that
`best_labelings` gives, also where the truth is one of them: any of them gives a subgradient.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from hedgerow.chain.inference import Workspace, best_labelings
from hedgerow.chain.inference.known import checked_labels, spread_weights
from hedgerow.chain.objectives.labelings import cost_rows, difference
from hedgerow.chain.objectives.result import LossAndGradient
from hedgerow.chain.objectives.truth import best_truth
from hedgerow.chain.potentials import ChainPotentials
from hedgerow.legend import AnyArray, BoolArray, FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Margin:
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
        """The loss of a chunk and a subgradient by every score. Arguments as `Objective` has them."""
        labels = checked_labels(potentials, labels)
        costly = replace(potentials, node_scores=potentials.node_scores + cost_rows(self.costs, labels))
        return beyond_truth(potentials, costly, labels, allowed, weights)


def beyond_truth(
    potentials: ChainPotentials,
    costly: ChainPotentials,
    labels: AnyArray,
    allowed: BoolArray | None,
    weights: FloatArray | None,
) -> LossAndGradient:
    """Loss max of the scores of `costly` − score of the truth by `potentials`, and best − truth."""
    spread_weights(potentials, weights)
    truth, scores = best_truth(potentials, labels, allowed)
    found, best = best_labelings(costly)
    slopes = np.ones(potentials.n_sequences) if weights is None else weights
    loss = float((slopes * np.maximum(best - scores, 0.0)).sum())  # the truth is among them; rounding could tell else
    return LossAndGradient(loss, *difference(potentials, found, truth, slopes))
