"""The averaged perceptron (Collins 2002): a step of size one on each mistake, and the average of all weights."""

from __future__ import annotations

import numpy as np

from hedgerow.legend import FloatArray
from hedgerow.trainers.batches import Batches
from hedgerow.trainers.monitor import Monitor
from hedgerow.trainers.online import Observe, train
from hedgerow.trainers.sgd import Descent


def averaged_perceptron(
    batches: Batches, weights: FloatArray, monitor: Monitor, *, observe: Observe | None = None
) -> FloatArray:
    """The average of the weights after every batch since the start, or those that the monitor keeps.

    Meant for batches of the objective `perceptron`; Collins' own has one sequence a batch. A batch that is labelled
    right costs the search for its labels and nothing else. The average does not depend on the size of a step, so there
    is no gain to choose. The loss is how far the best labelings were above the true ones when they were found.
    """

    def make(start: FloatArray, gain: float) -> Descent:
        return Descent(batches, start, 0.0, gain, average=True, restart=np.inf)

    # At zero weights, where all labelings are equal, the loss is 0 and yet the worst.
    return train(batches, weights, monitor, make, l2=0.0, gain=1.0, observe=observe, start_loss=np.nan)
