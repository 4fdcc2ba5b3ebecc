"""Adaptive regularization of weights, AROW (Crammer, Kulesza and Dredze 2009), with a variance for each weight.

With Φ, ℓ and d as in `passive_aggressive`, and variances σ: α = (ℓ + d)/(γ + Σ σΦ²), w += ασΦ, 1/σ += Φ²/γ.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from hedgerow.legend import FloatArray, IndexArray
from hedgerow.linear import kernels
from hedgerow.trainers import AROW
from hedgerow.training.online.batches import Batches
from hedgerow.training.online.state import TrainerState


class AdaptiveSteps:
    """Steps on the mistakes of batches of the objective `perceptron`; those of a batch are mended together.

    The loss is how much the true labelings lacked to a margin of one for each wrong label when they were scored.
    """

    caution = 1.0
    KEPT: ClassVar[tuple[str, ...]] = ("x", "variance", "n_steps")

    def __init__(self, batches: Batches, trainer: AROW, start: FloatArray) -> None:
        self.batches = batches
        self.trainer = trainer
        self.x = batches.working.pack(start)
        self.variance: FloatArray = np.where(batches.working.real, float(trainer.variance), 0.0)
        self.n_steps = 0

    def step(self, sequences: IndexArray) -> float:
        batches, gamma = self.batches, float(self.trainer.gamma)
        loss = batches.evaluate(sequences, self.x)
        loss += batches.margin(1.0)
        spread = gamma
        for part in batches.touched():
            spread += kernels.updates.squared_length(*part, self.variance, batches.gradient)
        for part in batches.touched():
            kernels.updates.adapt(*part, self.x, batches.gradient, self.variance, loss / spread, gamma)
        self.n_steps += 1
        return loss

    def weights(self) -> FloatArray:
        return self.batches.working.unpack(self.x)

    def keep(self, state: TrainerState) -> None:
        state.keep(self.batches.working, "variance", self.variance, float(self.trainer.variance))
        state.numbers = {"n_steps": self.n_steps}

    def recall(self, state: TrainerState) -> None:
        state.recall(self.batches.working, "variance", self.variance)
        self.n_steps = int(state.numbers["n_steps"])

    def resume(self) -> None:
        """What these sequences take from the variances tells what those before them would have taken, of weights that
        are there."""
        batches, start, real = self.batches, self.x.copy(), self.variance > 0.0
        precision = 1.0 / self.variance[real]
        for sequences in batches.order(0):
            self.step(sequences)
        share = np.where(start[real] != 0.0, batches.n_before / batches.n_sequences, 0.0)
        self.variance[real] = 1.0 / (precision + share * (1.0 / self.variance[real] - precision))
        self.x, self.n_steps = start, batches.n_before // batches.batch_size
