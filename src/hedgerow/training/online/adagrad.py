"""AdaGrad: every weight has a gain of its own, smaller the more it has been pulled already (Duchi et al. 2011).

With the gradients g_s of the batches so far, and G_j = G_j⁰ + Σ_s g_{s,j}² for weight j, the weights are always

    w = argmin_w  Σ_s (g_s·w) + l2·p·‖w‖² + Σ_j ½ Σ_s σ_{s,j} (w_j − w_{s,j})²,   Σ_{r≤s} σ_{r,j} = √G_{s,j} / gain,

p the passes so far: the penalty is not taken as a gradient but whole (McMahan 2011, FTRL-Proximal). The minimum is a
quotient of two sums, −pull_j / (√G_j/gain + 2·l2·p), which can be taken when a weight is next needed: no approximation.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from hedgerow.legend import FloatArray, IndexArray
from hedgerow.linear import kernels
from hedgerow.training.online.batches import Batches
from hedgerow.training.online.sgd import unit_scale
from hedgerow.training.online.state import TrainerState


class AdaptiveGains:
    """The mean square of the values of each weight's feature may be given: a weight whose feature is in a unit of its
    own, x², is trained as the weight of that feature over x would be. Without it a step has the same size in any unit.

    square : G, and for the odd weights, whose features have the mean square r, r² + r·Σ_s g_s²: √square is then as
    stiff as G of the weight in common units."""

    caution = 1.0
    KEPT: ClassVar[tuple[str, ...]] = ("x", "square", "pull", "seen")

    def __init__(
        self, batches: Batches, l2: float, start: FloatArray, gain: float, *, square: FloatArray | None = None
    ) -> None:
        self.batches = batches
        self.l2 = l2
        self.stiffness = 1.0 / gain
        self.x = batches.working.pack(start)
        self.square: FloatArray = np.ones(len(self.x))
        scale = None if square is None else unit_scale(square)
        units = self.square if scale is None else 1.0 + batches.working.pack(1.0 / scale - 1.0)
        self._odd: IndexArray = np.flatnonzero(units != 1.0)
        self._units = units[self._odd]
        self.square[self._odd] = self._units**2
        self.pull: FloatArray = -self.stiffness * np.sqrt(self.square) * self.x
        self.seen = 0

    @property
    def _penalty(self) -> float:
        return 2.0 * self.l2 * self.seen / self.batches.n_corpus

    def step(self, sequences: IndexArray) -> float:
        batches = self.batches
        loss = batches.evaluate(sequences, self.x, refresh=self._refresh if self.seen else None)
        if len(self._odd):
            self._step_odd()
        for part in batches.touched():
            kernels.updates.adagrad(
                *part, batches.working.real, self.x, batches.gradient, self.pull, self.square, self.stiffness
            )
        self.seen += len(sequences)
        return loss

    def _step_odd(self) -> None:
        """The step of the odd weights, which are few; what is left has no gradient at them."""
        odd, x = self._odd, self.x[self._odd]
        gradient, before = self.batches.gradient[odd], self.square[odd]
        self.square[odd] = before + self._units * gradient**2
        self.pull[odd] += gradient - self.stiffness * (np.sqrt(self.square[odd]) - np.sqrt(before)) * x
        self.batches.gradient[odd] = 0.0

    def weights(self) -> FloatArray:
        x: FloatArray = -self.pull / (self.stiffness * np.sqrt(self.square) + self._penalty)
        return self.batches.working.unpack(x)

    def keep(self, state: TrainerState) -> None:
        state.keep(self.batches.working, "square", self.square, fill=1.0)
        state.numbers = {"seen": self.seen}

    def recall(self, state: TrainerState) -> None:
        state.recall(self.batches.working, "square", self.square)
        self.seen = int(state.numbers["seen"])
        self.pull = -(self.stiffness * np.sqrt(self.square) + self._penalty) * self.x

    def resume(self) -> None:
        """The squares of these sequences tell what those before them would have added to weights that are there."""
        batches, start, before = self.batches, self.x.copy(), self.square.copy()
        for sequences in batches.order(0):
            self.step(sequences)
        share = batches.n_before / batches.n_sequences
        self.square = before + np.where(start != 0.0, share * (self.square - before), 0.0)
        self.x, self.seen = start, batches.n_before
        self.pull = -(self.stiffness * np.sqrt(self.square) + self._penalty) * start

    def _refresh(self) -> None:
        for part in self.batches.touched():
            kernels.updates.settle(*part, self.x, self.pull, self.square, self.stiffness, self._penalty)
