"""The initial gain, found by trying: nobody has to tune it.

A trial trains from the start on a twentieth of the corpus with one gain, and sums the losses of its batches, each
before the step that it led to. Such a loss is honest: no batch was seen before it was counted. Trials go up and down by
factors of four while the loss falls, then by two. Together they cost about half a pass, and `Batches.passes` counts it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from itertools import count
from typing import TYPE_CHECKING

import numpy as np

from hedgerow import kernels
from hedgerow.legend import FloatArray
from hedgerow.trainers.batches import Batches, Diverged

if TYPE_CHECKING:
    from hedgerow.trainers.online import Learner

log = logging.getLogger("hedgerow")

SHARE = 0.05  # of the positions, in a trial
LEAST_POSITIONS = 5000  # a small corpus is gone through again and again until a trial has seen so many
LEAST_STEPS = 2
FIRST = 0.1
LIMIT = 4.0**12  # how far from the first gain the search goes


def find_gain(
    batches: Batches,
    start: FloatArray,
    make: Callable[[FloatArray, float], Learner],
    *,
    l2: float,
    first: float = FIRST,
) -> float:
    """The gain, a power of two times `first`, with the lowest loss in a trial."""
    before = batches.passes
    losses: dict[float, float] = {}

    def loss(gain: float) -> float:
        if gain not in losses:
            losses[gain] = _trial(batches, make(start, gain), l2)
        return losses[gain]

    best = first
    while best > first / LIMIT and not np.isfinite(loss(best)):
        best /= 4.0
    for factor in (4.0, 0.25):
        while first / LIMIT < best < first * LIMIT and loss(best * factor) < loss(best):
            best *= factor
    best = min((best, best * 2.0, best / 2.0), key=loss)
    log.info("gain %.3g, found in %d trials that cost %.2f passes", best, len(losses), batches.passes - before)
    return best


def _trial(batches: Batches, learner: Learner, l2: float) -> float:
    """The loss of the batches of a trial, and its share of the penalty; inf where the gain is too large."""
    lengths = np.diff(batches.dataset.offsets)
    wanted = max(SHARE * lengths.sum(), LEAST_POSITIONS)
    total, positions, sequences, steps = 0.0, 0, 0, 0
    try:
        for number in count():
            for chosen in batches.order(number):
                total += learner.step(chosen)
                positions += int(lengths[chosen].sum())
                sequences += len(chosen)
                steps += 1
                if positions >= wanted and steps >= LEAST_STEPS:
                    weights = learner.weights()
                    penalty = l2 * float(kernels.vectors.dot(weights, weights))
                    loss = total + penalty * sequences / batches.n_sequences
                    return loss if np.isfinite(loss) else np.inf
    except Diverged:
        batches.clear()
    return np.inf
