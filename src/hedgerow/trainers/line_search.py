"""How far to go along the trees of an iteration: one step for all labels, and never one that raises the loss."""

from __future__ import annotations

import numpy as np

from hedgerow.objectives.log_likelihood import log_likelihood
from hedgerow.objectives.pseudo_likelihood import pseudo_likelihood
from hedgerow.trainers.boosting import Booster
from hedgerow.trainers.evaluation import Objective
from hedgerow.trainers.monitor import Monitor

MAX_HALVINGS = 20  # beyond them a step moves nothing: the trees are dropped
FURTHEST = 4.0  # how many times longer, or ten times shorter, than the first trial a step may be
NEAREST = 0.1
SHORTEST = 1e-3  # the first trial is never shorter: a step that failed must not end all that follow


def boost(
    booster: Booster,
    monitor: Monitor,
    *,
    pseudo_likelihood_steps: int = 0,
    guarded: bool = False,
    search: LineSearch | None = None,
) -> None:
    """Add iterations until the monitor says stop; its `validate` may read `booster.iterations`.

    The first steps follow the pseudo-likelihood, all others the likelihood, whose loss is the one reported. A guarded
    step is halved until the loss of its objective does not rise.
    """
    loss = booster.evaluate()
    done = monitor.begin(loss)
    while not done:
        pseudo = len(booster.iterations) < pseudo_likelihood_steps
        objective = pseudo_likelihood if pseudo else log_likelihood
        before = booster.evaluate(objective) if pseudo else loss
        booster.step(None if search is None else search.scale)
        if search is not None:
            loss = search(booster, objective, before)
        elif guarded:
            loss = halve(booster, objective, before)
        if pseudo or not (guarded or search):
            loss = booster.evaluate()
        done = monitor.step(loss)


def halve(booster: Booster, objective: Objective, before: float) -> float:
    """Halve the last step until the loss is not above `before`; return the loss."""
    loss = booster.evaluate(objective)
    for _ in range(MAX_HALVINGS):
        if loss <= before:
            return loss
        booster.rescale(booster.scale / 2.0)
        loss = booster.evaluate(objective)
    if loss > before:
        booster.rescale(0.0)
        loss = booster.evaluate(objective)
    return loss


class LineSearch:
    """Finds the step of each iteration with two evaluations, at times three: by the parabola through the loss before,
    its slope there, and the loss at the step of the iteration before, which is the first trial.

    scale : the step to try first in the next iteration
    """

    def __init__(self) -> None:
        self.scale = 1.0

    def __call__(self, booster: Booster, objective: Objective, before: float) -> float:
        """Change the last step, which was `scale`, to a good one; return the loss with it."""
        slope, first = booster.slope(), self.scale
        loss = booster.evaluate(objective)
        if slope >= 0.0:  # there is nowhere to go
            return loss
        bend = loss - before - slope * first
        best = -slope * first**2 / (2.0 * bend) if bend > 0.0 else np.inf
        second = min(max(best, NEAREST * first), FURTHEST * first)
        booster.rescale(second)
        other = booster.evaluate(objective)
        if other > loss:
            booster.rescale(first)
            other = halve(booster, objective, before)
        elif other > before:
            other = halve(booster, objective, before)
        self.scale = max(booster.scale, SHORTEST)
        return other
