"""The averaged perceptron (Collins 2002): a step of size one on each mistake, and the average of all weights.

The average of w_1 … w_T is w_T − (Σ_t (t−1)·δ_t)/T, δ_t the change by step t: only what a mistake touches is written.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from hedgerow.legend import FloatArray, IndexArray
from hedgerow.linear import kernels
from hedgerow.training.online.batches import Batches
from hedgerow.training.online.state import TrainerState


class AveragedSteps:
    """The average of the weights after every batch since the start.

    Meant for batches of the objective `perceptron`; Collins' own has one sequence per batch. A batch that is labelled
    right costs the search for its labels and nothing else. The average does not depend on the size of a step, so there
    is no gain to choose. The loss is how far the best labelings were above the true ones when they were found.
    """

    caution = 1.0
    KEPT: ClassVar[tuple[str, ...]] = ("x", "total", "n_steps")

    def __init__(self, batches: Batches, start: FloatArray) -> None:
        self.batches = batches
        self.x = batches.working.pack(start)
        self.total: FloatArray = np.zeros(len(self.x))
        self.n_steps = 0

    def step(self, sequences: IndexArray) -> float:
        loss = self.batches.evaluate(sequences, self.x)
        self.move(1.0)
        return loss

    def move(self, size: float) -> None:
        """A step of this size against the gradient of the last batch."""
        batches = self.batches
        for part in batches.touched():
            kernels.updates.descend_averaged(
                *part, batches.working.real, self.x, batches.gradient, size, self.total, float(self.n_steps)
            )
        self.n_steps += 1

    def weights(self) -> FloatArray:
        return self.batches.working.unpack(self.x - self.total / max(self.n_steps, 1))

    def keep(self, state: TrainerState) -> None:
        state.keep(self.batches.working, "raw", self.x)
        state.keep(self.batches.working, "total", self.total)
        state.numbers = {"n_steps": self.n_steps}

    def recall(self, state: TrainerState) -> None:
        state.recall(self.batches.working, "raw", self.x)
        state.recall(self.batches.working, "total", self.total)
        self.n_steps = int(state.numbers["n_steps"])

    def resume(self) -> None:
        self.n_steps = self.batches.n_before // self.batches.batch_size
