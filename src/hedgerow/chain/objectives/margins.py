"""Losses that compare the best labeling with the truth by their scores: gradient best − truth.

    perceptron      max_y score(y) − score of the truth
    Margin          max_y [Δ(y) + score(y)] − score of the truth: the margin rescaled (003, formula 5)
    SlackMargin     max_y Δ(y) (1 − score of the truth + score(y)), at least 0: the slack rescaled (003, formula 6);
                    gradient Δ · (best − truth)

Δ(y) is the Hamming distance from the truth, or the sum of costs[y_t, ·]. Where labels are not known the truth is the
best labeling among the allowed, and they add nothing to Δ. Of equal labelings the one that `best_labelings` gives, also
where the truth is one of them: any of them gives a subgradient, and a perceptron that starts from zeros, where all are
equal, learns.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from hedgerow.chain.inference import Workspace, best_labelings
from hedgerow.chain.objectives.labelings import best_truth, difference
from hedgerow.chain.objectives.result import LossAndGradient
from hedgerow.chain.objectives.slack_search import steepest_labelings
from hedgerow.chain.potentials import ChainPotentials, Truth
from hedgerow.errors import InputError
from hedgerow.legend import UNLABELLED, AnyArray, FloatArray


def perceptron(potentials: ChainPotentials, truth: Truth, workspace: Workspace | None = None) -> LossAndGradient:
    """The loss of a chunk and a subgradient by every score."""
    return _beyond_truth(potentials, potentials, potentials.check_truth(truth)[0])


@dataclass(frozen=True, slots=True, eq=False)
class Margin:
    """The objective with costs (K, K) [true, predicted]."""

    costs: FloatArray

    def __call__(
        self, potentials: ChainPotentials, truth: Truth, workspace: Workspace | None = None
    ) -> LossAndGradient:
        """The loss of a chunk and a subgradient by every score."""
        truth, _ = potentials.check_truth(truth)
        costly = replace(potentials, node_scores=potentials.node_scores + cost_rows(self.costs, truth.labels))
        return _beyond_truth(potentials, costly, truth)


def _beyond_truth(potentials: ChainPotentials, costly: ChainPotentials, truth: Truth) -> LossAndGradient:
    """Loss max of the scores of `costly` − score of the truth by `potentials`, and best − truth."""
    true_labels, scores = best_truth(potentials, truth)
    labels, best = best_labelings(costly)
    slopes = np.ones(potentials.n_sequences) if truth.weights is None else truth.weights
    loss = float((slopes * np.maximum(best - scores, 0.0)).sum())  # the truth is among them; rounding could tell else
    return LossAndGradient(loss, *difference(potentials, labels, true_labels, slopes))


@dataclass(frozen=True, slots=True, eq=False)
class SlackMargin:
    """The objective with costs (K, K) [true, predicted], whole numbers.

    The search is exact, and for sequences of some hundred positions; an error says where one is too long for it.
    """

    costs: FloatArray

    def __post_init__(self) -> None:
        if (self.costs != np.round(self.costs)).any():
            what = "costs of slack_margin, times the weights of labels, must be whole numbers"
            raise InputError(what, hint="Scale and round them, or use margin")

    def __call__(
        self, potentials: ChainPotentials, truth: Truth, workspace: Workspace | None = None
    ) -> LossAndGradient:
        """The loss of a chunk and a subgradient by every score."""
        truth, _ = potentials.check_truth(truth)
        true_labels, scores = best_truth(potentials, truth)
        costs = cost_rows(self.costs, truth.labels)
        labels, values, slopes = steepest_labelings(potentials, costs, true_labels, scores)
        if truth.weights is not None:
            values, slopes = values * truth.weights, slopes * truth.weights
        return LossAndGradient(float(values.sum()), *difference(potentials, labels, true_labels, slopes))


def cost_rows(costs: FloatArray, labels: AnyArray) -> FloatArray:
    """(n, K): what each label costs beside the true one; 0 where that is not known."""
    rows: FloatArray = costs[labels]
    rows[labels == UNLABELLED] = 0.0
    return rows
