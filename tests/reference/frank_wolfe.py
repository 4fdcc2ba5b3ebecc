"""The plain twin of `kernels/frank_wolfe.py`: every labeling listed, every block of the dual a dense vector.

A sequence is the features (L, W) of its L legal labelings, their costs (L,), the number of the true one, and a weight.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hedgerow.legend import FloatArray


class Labelings(NamedTuple):
    features: FloatArray
    costs: FloatArray
    truth: int
    weight: float


class Dual:
    """blocks (S, W): w_i, whose sum is w; costs (S,): c_i Σ_Y α(Y) Δ(Y); average, average_cost: over the steps."""

    def __init__(self, sequences: list[Labelings], l2: float) -> None:
        self.sequences, self.l2 = sequences, l2
        self.blocks: FloatArray = np.zeros((len(sequences), sequences[0].features.shape[1]))
        self.costs: FloatArray = np.zeros(len(sequences))
        self.average, self.average_cost, self.n_steps = self.weights, 0.0, 0

    @property
    def weights(self) -> FloatArray:
        total: FloatArray = self.blocks.sum(axis=0)
        return total

    def loss(self, weights: FloatArray) -> float:
        """Σ_i c_i max_Y [cost(Y) + score(Y) − score of the truth] + l2·‖w‖²."""
        total = self.l2 * float(weights @ weights)
        for one in self.sequences:
            scores = one.features @ weights
            total += one.weight * float((one.costs + scores).max() - scores[one.truth])
        return total

    def value(self, weights: FloatArray, cost: float) -> float:
        """The dual: Σ_i c_i Σ_Y α(Y) Δ(Y) − l2·‖w‖²."""
        return float(cost - self.l2 * weights @ weights)

    def best(self, i: int) -> FloatArray:
        """(L,): cost + score of every labeling of sequence i, less the score of the truth."""
        one = self.sequences[i]
        found: FloatArray = one.costs + (one.features - one.features[one.truth]) @ self.weights
        return found

    def step(self, i: int, best: int) -> None:
        """Move block i towards one of its best labelings, as far as the dual rises."""
        one, w = self.sequences[i], self.weights
        moves = one.features[one.truth] - one.features
        ahead = one.weight / (2.0 * self.l2) * moves[best] - self.blocks[i]
        dearer = one.weight * one.costs[best] - self.costs[i]
        rise = dearer - 2.0 * self.l2 * w @ ahead
        bend = 2.0 * self.l2 * ahead @ ahead
        share = 0.0 if rise <= 0.0 else 1.0 if bend <= rise else rise / bend
        self.blocks[i] += share * ahead
        self.costs[i] += share * dearer
        self.n_steps += 1
        fresh = 2.0 / (self.n_steps + 1)  # so step k counts k
        self.average = (1.0 - fresh) * self.average + fresh * self.weights
        self.average_cost = (1.0 - fresh) * self.average_cost + fresh * float(self.costs.sum())
