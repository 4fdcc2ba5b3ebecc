"""Adam (Kingma and Ba 2015) for sparse gradients: the means of a weight move only when a batch touches it.

With g the gradient of the loss and of the penalty of all steps since the weight's last one, and t the step's number,

    mean ← β·mean + (1−β)·g,   square ← β₂·square + (1−β₂)·g²,
    w ← w − η_t · (mean / (1−βᵗ)) / √(square / (1−β₂ᵗ)),   η_t = gain / √(1 + passes).

The dense form would go on moving a weight by its old mean while nothing touches it; this one does not, which is an
approximation, and what is commonly meant by Adam for sparse features. The gain falls, so that training settles.
"""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from hedgerow.legend import CODE, CodeArray, FloatArray, IndexArray
from hedgerow.linear import kernels
from hedgerow.training.online.batches import Batches
from hedgerow.training.online.state import TrainerState

BETA, BETA2 = 0.9, 0.999


class SparseAdam:
    caution = 1.0
    KEPT: ClassVar[tuple[str, ...]] = ("x", "mean", "square", "last", "n_steps", "seen")

    def __init__(self, batches: Batches, l2: float, start: FloatArray, gain: float) -> None:
        self.batches = batches
        self.l2 = l2
        self.gain = gain
        self.x = batches.working.pack(start)
        self.mean: FloatArray = np.zeros(len(self.x))
        self.square: FloatArray = np.zeros(len(self.x))
        self.last: CodeArray = np.zeros(len(self.x), dtype=CODE)
        self.n_steps = 0
        self.seen = 0

    def step(self, sequences: IndexArray) -> float:
        batches = self.batches
        loss = batches.evaluate(sequences, self.x)
        passes = self.seen / batches.n_corpus
        self.n_steps += 1
        corrected = math.sqrt(1.0 - BETA2**self.n_steps) / (1.0 - BETA**self.n_steps)
        gain = self.gain / math.sqrt(1.0 + passes) * corrected
        penalty = 2.0 * self.l2 * len(sequences) / batches.n_corpus
        for part in batches.touched():
            kernels.updates.adam(
                *part, batches.working.real, self.x, batches.gradient,
                self.mean, self.square, self.last, self.n_steps, gain, BETA, BETA2, penalty,
            )  # fmt: skip
        self.seen += len(sequences)
        return loss

    def weights(self) -> FloatArray:
        return self.batches.working.unpack(self.x)

    def keep(self, state: TrainerState) -> None:
        for name, x in (("mean", self.mean), ("square", self.square), ("last", self.last)):
            state.keep(self.batches.working, name, x)
        state.numbers = {"seen": self.seen, "n_steps": self.n_steps}

    def recall(self, state: TrainerState) -> None:
        for name, x in (("mean", self.mean), ("square", self.square), ("last", self.last)):
            state.recall(self.batches.working, name, x)
        self.seen, self.n_steps = int(state.numbers["seen"]), int(state.numbers["n_steps"])

    def resume(self) -> None:
        self.seen = self.batches.n_before
