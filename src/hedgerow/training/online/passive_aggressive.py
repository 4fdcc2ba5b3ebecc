"""The passive-aggressive algorithm (Crammer, Dekel, Keshet, Shalev-Shwartz and Singer 2006).

With Φ the features of the truth minus those of the labeling that was found, ℓ the score that the latter has more, and a
margin of √d for d wrong labels, the step w += τΦ has τ = (ℓ + √d)/‖Φ‖², at most C (PA-I), or with ‖Φ‖² + 1/(2C) below
(PA-II).
"""

from __future__ import annotations

from typing import ClassVar

from hedgerow.legend import FloatArray, IndexArray
from hedgerow.linear import kernels
from hedgerow.trainers import PassiveAggressive
from hedgerow.training.online.averaged_perceptron import AveragedSteps
from hedgerow.training.online.batches import Batches
from hedgerow.training.online.state import TrainerState


class PassiveAggressiveSteps:
    """Steps on the mistakes of batches of the objective `perceptron`; those of a batch are mended together.

    The loss is how much the true labelings lacked to the margin when they were scored, 0 where no label was wrong.
    """

    caution = 1.0
    KEPT: ClassVar[tuple[str, ...]] = ("steps",)

    def __init__(self, batches: Batches, trainer: PassiveAggressive, start: FloatArray) -> None:
        self.batches = batches
        self.trainer = trainer
        self.steps = AveragedSteps(batches, start)

    def step(self, sequences: IndexArray) -> float:
        batches = self.batches
        loss = batches.evaluate(sequences, self.steps.x)
        loss += batches.margin(0.5 if self.trainer.count_errors else 0.0)
        square = 0.0
        for part in batches.touched():
            square += kernels.updates.squared_length(*part, batches.working.real, batches.gradient)
        self.steps.move(self._size(loss, square) if square else 0.0)  # all that differs may have no weights
        return loss

    def _size(self, loss: float, square: float) -> float:
        """τ."""
        C = self.trainer.aggressiveness
        if self.trainer.slack == "squared":
            return loss / (square + 0.5 / C)
        return min(C, loss / square) if self.trainer.slack == "linear" else loss / square

    def weights(self) -> FloatArray:
        return self.steps.weights() if self.trainer.average else self.batches.working.unpack(self.steps.x)

    def keep(self, state: TrainerState) -> None:
        self.steps.keep(state)

    def recall(self, state: TrainerState) -> None:
        self.steps.recall(state)

    def resume(self) -> None:
        self.steps.resume()
