"""Plain gradient descent, the baseline of the papers: straight down, as far as the loss keeps falling.

The step is the last one; the search doubles it where the loss still falls steeply there, and shortens it where the loss
does not fall. Variables are scaled as for L-BFGS, without which it would hardly move.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hedgerow.legend import FloatArray
from hedgerow.training import kernels
from hedgerow.training.checkpoint import checked, restoring
from hedgerow.training.monitor import Monitor
from hedgerow.training.whole.lbfgs import Evaluate, Problem, first_step, search


def gradient_descent(
    evaluate: Evaluate, weights: FloatArray, monitor: Monitor, *, l2: float = 0.0, scale: FloatArray | None = None
) -> FloatArray:
    """Minimise loss(w) + l2·‖w‖² from `weights`; the weights that the monitor keeps."""
    problem = Problem(evaluate, None, l2, np.ones(len(weights)) if scale is None else scale)
    point, saved, ended = problem.begin(weights, monitor)
    if ended is not None:
        return ended
    step = first_step(problem, point.gradient)
    if saved is not None:
        with restoring():
            step = checked(saved["step"], float, "step")

    def state(ended: bool) -> dict[str, Any]:
        return problem.state(point, ended, step=step)

    while True:
        direction = -point.gradient
        reached = search(problem, point, direction, step)
        if reached is None:
            return problem.finish(monitor, point)
        moved = reached.variables - point.variables
        step = kernels.vectors.dot(moved, direction) / kernels.vectors.dot(direction, direction)
        point = reached
        if monitor.step(point.value, problem.weights(point), problem.gap(point), state):
            return monitor.weights(problem.weights(point))
