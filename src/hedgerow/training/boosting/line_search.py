"""How far to go along the trees of an iteration: one step for all labels, and never one that raises the loss."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol, cast

import numpy as np

from hedgerow.chain.objectives.log_likelihood import log_likelihood
from hedgerow.training.checkpoint import checked, restoring
from hedgerow.training.monitor import Monitor

MAX_HALVINGS = 20  # beyond them a step moves nothing: the trees are dropped
FURTHEST = 4.0  # how many times longer, or ten times shorter, than the first trial a step may be
NEAREST = 0.1
SHORTEST = 1e-3  # the first trial is never shorter: a step that failed must not end all that follow
HALF = 0.5  # a step that raised the loss is cut to this share of it at most, and
LONGER = 1.25  # so many times longer than the one before is the next


Objective = Callable[..., Any]  # a loss that the booster can evaluate


class Boosting(Protocol):
    """The state of boosting on sequences or graphs: `evaluate`, then `step`, adds an iteration.

    scale : the step of the last one
    """

    scale: float

    @property
    def iterations(self) -> Sequence[Any]:
        """What was added, the first iteration first."""

    def evaluate(self, objective: Any) -> float:
        """The loss, and for `step` its gradient by every score."""

    def step(self, scale: float | None = None) -> Any:
        """Grow trees to the gradient and add them, times `scale`, or else the learning rate."""

    def rescale(self, scale: float) -> None:
        """Take another step in the direction of the last one, instead of it."""

    def state(self, ended: bool) -> Any:
        """What a checkpoint keeps; where training has ended, the iterations alone."""

    def restore(self, state: Any, objective: Any) -> None:
        """Go on from such a state, as if this objective had just been evaluated."""


class SlopedBoosting(Boosting, Protocol):
    """Boosting that knows how steep its last step was, which a line search asks for."""

    def slope(self) -> float:
        """The derivative of the loss by the size of the last step, where it has none."""


class Phase(NamedTuple):
    """So many iterations that follow an objective; None: all that are left."""

    objective: Objective
    n_iterations: int | None = None


def boost(
    booster: Boosting,
    monitor: Monitor,
    *,
    phases: Sequence[Phase] = (Phase(log_likelihood),),
    guarded: bool = False,
    max_halvings: int = MAX_HALVINGS,
    search: LineSearch | Guard | None = None,
) -> None:
    """Add iterations until the monitor says stop; its `validate` may read `booster.iterations`.

    The phases count the iterations that the booster has already. The loss reported is that of the last phase. A guarded
    step is halved until the loss of its objective does not rise, or dropped after `max_halvings`.
    """
    final = phases[-1].objective
    saved = monitor.resume()
    if saved is None:
        loss = booster.evaluate(final)
        done = monitor.begin(loss)
    else:
        with restoring():
            loss, scale = checked([saved["loss"], saved["scale"]], (float, float), "loss")
            done = monitor.done
            booster.restore(saved["booster"], final)
        if search is not None:
            search.scale = scale

    def state(ended: bool) -> dict[str, Any]:
        return {"loss": loss, "booster": booster.state(ended), "scale": 1.0 if search is None else search.scale}

    while not done:
        objective = _objective_at(phases, len(booster.iterations))
        before = loss if objective is final else booster.evaluate(objective)
        booster.step(None if search is None else search.scale)
        if search is not None:
            loss = search(cast(SlopedBoosting, booster), objective, before)
        elif guarded:
            loss = halve(booster, objective, before, max_halvings)
        if objective is not final or not (guarded or search):
            loss = booster.evaluate(final)
        done = monitor.step(loss, state=state)


def _objective_at(phases: Sequence[Phase], iteration: int) -> Objective:
    """The objective that an iteration follows."""
    for objective, n in phases[:-1]:
        if n is None or iteration < n:
            return objective
        iteration -= n
    return phases[-1].objective


def halve(booster: Boosting, objective: Objective, before: float, max_halvings: int = MAX_HALVINGS) -> float:
    """Halve the last step until the loss is not above `before`; return the loss."""
    loss = booster.evaluate(objective)
    for _ in range(max_halvings):
        if loss <= before:
            return loss
        booster.rescale(booster.scale / 2.0)
        loss = booster.evaluate(objective)
    if loss > before:
        booster.rescale(0.0)
        loss = booster.evaluate(objective)
    return loss


class Guard:
    """Leaves a step alone that does not raise the loss. One that does is cut to where a parabola through the loss
    before, its slope there and the loss now has its minimum, or in half where the slope is not known; the steps after
    it grow back to full length.

    scale : the step to try first in the next iteration
    """

    def __init__(self, full: float) -> None:
        self.full = self.scale = full

    def __call__(self, booster: SlopedBoosting, objective: Objective, before: float) -> float:
        """Shorten the last step where it must be; return the loss with it."""
        slope, tried = booster.slope(), booster.scale
        loss = booster.evaluate(objective)
        if loss > before:
            bend = loss - before - slope * tried
            share = -slope * tried / (2.0 * bend) if bend > 0.0 else HALF
            booster.rescale(tried * min(max(share, NEAREST), HALF))
            loss = halve(booster, objective, before)
        self.scale = min(self.full, LONGER * max(booster.scale, SHORTEST * self.full))
        return loss


class LineSearch:
    """Finds the step of each iteration with two evaluations, at times three: by the parabola through the loss before,
    its slope there, and the loss at the step of the iteration before, which is the first trial.

    scale : the step to try first in the next iteration
    """

    def __init__(self) -> None:
        self.scale = 1.0

    def __call__(self, booster: SlopedBoosting, objective: Objective, before: float) -> float:
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
