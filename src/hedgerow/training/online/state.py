"""What an online trainer keeps beside the weights, so that a later call can go on where one ended."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from hedgerow.legend import AnyArray, FloatArray
from hedgerow.linear.working import WorkingLayout


@dataclass
class TrainerState:
    """Sums, averages and gains of the weights, and how far training has come. Empty before the first call.

    gain : the gain that was taken, or that is to be taken; NaN where it has to be found
    vectors : by name, (W,) each, laid out as the weights are
    fills : by name, what a weight that is new begins with
    numbers : by name
    resumes : whether the weights come from earlier sequences, of which nothing else is known
    """

    gain: float = np.nan
    vectors: dict[str, FloatArray] = field(default_factory=dict)
    fills: dict[str, float] = field(default_factory=dict)
    numbers: dict[str, float] = field(default_factory=dict)
    resumes: bool = False

    def keep(self, working: WorkingLayout, name: str, x: AnyArray, fill: float = 0.0) -> None:
        """Take over a working vector."""
        self.vectors[name] = working.unpack(x).astype(np.float64, copy=False)
        self.fills[name] = fill

    def recall(self, working: WorkingLayout, name: str, x: AnyArray) -> None:
        """Write a vector into a working vector. Places that are no weights stay as they are."""
        working.write(self.vectors[name], x)

    def moved(self, move: Callable[[FloatArray, float], FloatArray]) -> TrainerState:
        """The state for another layout of the weights: `move(vector, fill)` gives a vector there."""
        vectors = {name: move(vector, self.fills[name]) for name, vector in self.vectors.items()}
        return replace(self, vectors=vectors, fills=dict(self.fills), numbers=dict(self.numbers))
