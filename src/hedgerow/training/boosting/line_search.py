"""How far to go along the trees of an iteration: one step for all labels, and never one that raises the loss."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from hedgerow.chain.objectives.log_likelihood import log_likelihood
from hedgerow.training.boosting.chain import Booster
from hedgerow.training.evaluation import Objective
from hedgerow.training.monitor import Monitor

MAX_HALVINGS = 20  # beyond them a step moves nothing: the trees are dropped
FURTHEST = 4.0  # how many times longer, or ten times shorter, than the first trial a step may be
NEAREST = 0.1
SHORTEST = 1e-3  # the first trial is never shorter: a step that failed must not end all that follow


class Phase(NamedTuple):
    """So many iterations that follow an objective; None: all that are left."""

    objective: Objective
    n_iterations: int | None = None


def boost(
    booster: Booster,
    monitor: Monitor,
    *,
    phases: Sequence[Phase] = (Phase(log_likelihood),),
    guarded: bool = False,
    search: LineSearch | None = None,
) -> None:
    """Add iterations until the monitor says stop; its `validate` may read `booster.iterations`.

    The phases count the iterations that the booster has already. The loss reported is that of the last phase. A guarded
    step is halved until the loss of its objective does not rise.
    """
    final = phases[-1].objective
    loss = booster.evaluate(final)
    done = monitor.begin(loss)
    while not done:
        objective = _objective_at(phases, len(booster.iterations))
        before = loss if objective is final else booster.evaluate(objective)
        booster.step(None if search is None else search.scale)
        if search is not None:
            loss = search(booster, objective, before)
        elif guarded:
            loss = halve(booster, objective, before)
        if objective is not final or not (guarded or search):
            loss = booster.evaluate(final)
        done = monitor.step(loss)


def _objective_at(phases: Sequence[Phase], iteration: int) -> Objective:
    """The objective that an iteration follows."""
    for objective, n in phases[:-1]:
        if n is None or iteration < n:
            return objective
        iteration -= n
    return phases[-1].objective


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
