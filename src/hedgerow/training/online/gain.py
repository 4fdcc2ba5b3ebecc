"""The initial gain, found by trying: nobody has to tune it.

A trial trains from the start on a twentieth of the corpus with one gain, and sums the losses of the second half of its
batches, each before the step that it led to. Such a loss is honest: no batch was seen before it was counted. Trials go
up and down by factors of four while the loss falls, then by two. Together they cost a third of a pass on a large
corpus, and `Batches.passes` counts it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from itertools import chain, count

import numpy as np

from hedgerow.legend import FloatArray
from hedgerow.training import kernels
from hedgerow.training.online.batches import Diverged
from hedgerow.training.online.learners import BatchSource, Learner, Make

log = logging.getLogger("hedgerow")

SHARE = 0.05  # of the positions, in a trial
LEAST_POSITIONS = 5000  # a small corpus is gone through again and again until a trial has seen so many
LEAST_STEPS, MOST_STEPS = 2, 200  # of a trial; the most only where that is no part of a pass
FIRST = 0.1
LIMIT = 4.0**12  # how far from the first gain the search goes
TINY, HELPS, HARM = 1e-3, 0.99, 1.5  # a tiny gain should lower the loss to this share; another may raise it so much


def find_gain(
    batches: BatchSource, start: FloatArray, make: Make, *, l2: float, stop: Callable[[], bool] = lambda: False
) -> float:
    """The gain, a power of two times FIRST, with the lowest loss in a trial.

    Trials begin with weights of 0 whatever the start is: from a good one, no gain makes the loss of so few steps lower.
    Where none does from 0 either, the largest is taken that does no harm. `stop` ends the search with the best so far.
    """
    if batches.flat_at_zero:  # all gains give the same labels
        return 1.0
    before = batches.passes
    losses: dict[float, float] = {}

    def loss(gain: float) -> float:
        if gain not in losses:
            losses[gain] = np.inf if stop() else _trial(batches, make(np.zeros_like(start), gain), l2)
        return losses[gain]

    if loss(FIRST) == 0.0:  # nothing to learn
        return FIRST

    best = FIRST
    while best > FIRST / LIMIT and not np.isfinite(loss(best)):
        best /= 4.0
    for factor in (4.0, 0.25):
        while FIRST / LIMIT < best < FIRST * LIMIT and loss(best * factor) < loss(best):
            best *= factor
    best = min((best, best * 2.0, best / 2.0), key=loss)
    if best < FIRST * TINY and loss(best) > HELPS * loss(FIRST / LIMIT):
        best = max(gain for gain, harm in losses.items() if harm <= HARM * loss(FIRST / LIMIT))
    log.info("gain %.3g, found in %d trials that cost %.2f passes", best, len(losses), batches.passes - before)
    return best


def _trial(batches: BatchSource, learner: Learner, l2: float) -> float:
    """The loss of the second half of the batches of a trial, and a share of the penalty; inf where the gain is too
    large."""
    lengths = batches.lengths
    wanted = max(SHARE * lengths.sum(), LEAST_POSITIONS)
    losses: list[float] = []
    positions = sequences = 0
    try:
        for chosen in chain.from_iterable(batches.order(number) for number in count()):
            losses.append(learner.step(chosen))
            positions += int(lengths[chosen].sum())
            sequences += len(chosen)
            enough = positions >= wanted or (len(losses) >= MOST_STEPS and sequences >= len(lengths))
            if enough and len(losses) >= LEAST_STEPS:
                break
        weights = learner.weights()
    except Diverged:
        batches.clear()
        return np.inf
    penalty = l2 * float(kernels.vectors.dot(weights, weights))
    loss = sum(losses[len(losses) // 2 :]) + 0.5 * penalty * sequences / batches.n_corpus
    return loss if np.isfinite(loss) else np.inf
