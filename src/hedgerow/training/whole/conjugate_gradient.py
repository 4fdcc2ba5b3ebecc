"""Nonlinear conjugate gradients: Polak and Ribière's update, with restarts, in the scaled variables of L-BFGS.

    d ← −g + β d,   β = max(0, g·(g − g_before) / g_before·g_before)

It keeps one direction where L-BFGS keeps a dozen vectors, and needs a more exact search along it: about two evaluations
an iteration. L-BFGS is faster where its memory is no matter; this is the baseline that papers compare with.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hedgerow.legend import FloatArray
from hedgerow.training import kernels
from hedgerow.training.checkpoint import checked, restoring
from hedgerow.training.monitor import Monitor
from hedgerow.training.whole.lbfgs import ARMIJO, MAX_TRIALS, ROUNDING, Evaluate, Point, Problem, first_step

FLAT = 0.1  # a search ends where the slope is this share of what it was: directions stay nearly conjugate
ORTHOGONAL = 0.2  # Powell's restart: neighbouring gradients that share more than this have lost conjugacy
FURTHEST = 10.0  # how many times longer than the last a trial may be


def conjugate_gradient(
    evaluate: Evaluate, weights: FloatArray, monitor: Monitor, *, l2: float = 0.0, scale: FloatArray | None = None
) -> FloatArray:
    """Minimise loss(w) + l2·‖w‖² from `weights`; the weights that the monitor keeps."""
    problem = Problem(evaluate, None, l2, np.ones(len(weights)) if scale is None else scale)
    point, saved, ended = problem.begin(weights, monitor)
    if ended is not None:
        return ended
    direction, straight = -point.gradient, True
    step = first_step(problem, direction)
    if saved is not None:
        with restoring():
            before = checked(saved["before"], (point.gradient, point.gradient, float, float), "before")
            direction, straight, step = _onwards(point, *before)

    def state(ended: bool) -> dict[str, Any]:
        return problem.state(point, ended, before=[before.gradient, direction, slope, step])

    while True:
        reached = _search(problem, point, direction, step)
        if reached is None and not straight:  # conjugacy is lost: go straight down
            direction, straight = -point.gradient, True
            step = first_step(problem, direction)
            continue
        if reached is None:
            return problem.finish(monitor, point)
        before, slope = point, kernels.vectors.dot(point.gradient, direction)
        point, step = reached
        if monitor.step(point.value, problem.weights(point), problem.gap(point), state):
            return monitor.weights(problem.weights(point))
        direction, straight, step = _onwards(point, before.gradient, direction, slope, step)


def _onwards(
    point: Point, before: FloatArray, direction: FloatArray, slope: float, step: float
) -> tuple[FloatArray, bool, float]:
    """The next direction, whether it is the gradient alone, and the first trial: it lowers the loss as much as the
    last step did, by the slopes alone. before : the gradient where that step began"""
    direction, straight = _next_direction(point, before, direction)
    ahead = kernels.vectors.dot(point.gradient, direction)
    return direction, straight, step * (slope / ahead if ahead < 0.0 else 1.0)


def _next_direction(point: Point, before: FloatArray, direction: FloatArray) -> tuple[FloatArray, bool]:
    """The next direction, and whether it is the gradient alone."""
    square = kernels.vectors.dot(point.gradient, point.gradient)
    shared = kernels.vectors.dot(point.gradient, before)
    factor = (square - shared) / kernels.vectors.dot(before, before)
    if factor > 0.0 and abs(shared) < ORTHOGONAL * square:
        turned = factor * direction - point.gradient
        if kernels.vectors.dot(point.gradient, turned) < 0.0:
            return turned, False
    return -point.gradient, True


def _search(problem: Problem, point: Point, direction: FloatArray, step: float) -> tuple[Point, float] | None:
    """A point along the direction that meets the strong Wolfe conditions, and the step to it.

    Between a step that is too short and one that is too long, the next trial is where a straight line through their
    slopes is zero.
    """
    slope = kernels.vectors.dot(point.gradient, direction)
    short, short_slope = 0.0, slope
    long, long_slope = np.inf, np.inf
    best: tuple[Point, float] | None = None
    for _ in range(MAX_TRIALS):
        if -step * slope <= ROUNDING * abs(point.value):
            return best
        trial = problem.at(point.variables + step * direction)
        trial_slope = kernels.vectors.dot(trial.gradient, direction)
        falls = trial.value < point.value + ARMIJO * step * slope
        if falls and (best is None or trial.value < best[0].value):
            best = trial, step
        if falls and abs(trial_slope) <= FLAT * abs(slope):
            return trial, step
        reach = step - short
        if falls and trial_slope < 0.0:
            growth = trial_slope / (short_slope - trial_slope) if short_slope < trial_slope else FURTHEST
            short, short_slope = step, trial_slope
            if long == np.inf:
                step += reach * min(growth, FURTHEST)
                continue
        else:
            long, long_slope = step, trial_slope
        share = short_slope / (short_slope - long_slope) if long_slope > 0.0 else 0.5
        step = short + (long - short) * min(max(share, 0.1), 0.9)
    return best
