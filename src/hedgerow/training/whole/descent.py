"""What the trainers of smooth losses share: the loss in scaled variables, and a search along a direction."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hedgerow.legend import FloatArray
from hedgerow.training import kernels
from hedgerow.training.monitor import Monitor, check_loss

Evaluate = Callable[[FloatArray], tuple[float, FloatArray]]

ARMIJO = 1e-4
CURVATURE = 0.9
MAX_TRIALS = 30
ROUNDING = 1e-15  # a smaller share of the loss is lost in its sum
STEEP = 1e-6  # a slope that promises such a share of the loss is no minimum


class Point:
    """Variables v, the penalised value, the gradient of its smooth part, and the (pseudo-)gradient of the whole."""

    def __init__(self, variables: FloatArray, value: float, gradient: FloatArray, penalty: FloatArray | None) -> None:
        self.variables = variables
        self.value = value
        self.gradient = gradient
        self.slope = gradient if penalty is None else _pseudo_gradient(variables, gradient, penalty)


class Problem:
    """loss(w) + l2·‖w‖² + penalty·|v| as a function of v, where w = scale·v; penalty None: no L1."""

    def __init__(self, evaluate: Evaluate, penalty: FloatArray | None, l2: float, scale: FloatArray) -> None:
        self.evaluate = evaluate
        self.penalty = penalty
        self.l2 = l2
        self.scale = scale

    def weights(self, point: Point) -> FloatArray:
        return point.variables * self.scale

    def gap(self, point: Point) -> float:
        """How far the value is from the minimum at most: it curves by 2·l2 everywhere, so by ‖slope‖²/(4·l2). Where the
        loss is not convex that is a measure of the slope, and no bound."""
        if self.l2 == 0:
            return np.inf
        slope = point.slope / self.scale
        return float(kernels.vectors.dot(slope, slope)) / (4.0 * self.l2)

    def at(self, variables: FloatArray) -> Point:
        weights = variables * self.scale
        loss, gradient = self.evaluate(weights)
        check_loss(loss, weights)
        value = loss + self.l2 * kernels.vectors.dot(weights, weights)
        kernels.vectors.add_scaled(weights, 2.0 * self.l2, gradient)
        gradient *= self.scale
        if self.penalty is not None:
            value += kernels.vectors.dot(self.penalty, np.abs(variables))
        return Point(variables, value, gradient, self.penalty)


def finish(monitor: Monitor, point: Point) -> None:
    """No step lowers the loss: the limit of the arithmetic, or a kink where training began."""
    promised = 0.5 * kernels.vectors.dot(point.slope, point.slope)
    stuck = monitor.n_iter == 0 and promised > STEEP * abs(point.value)
    monitor.finish("stuck" if stuck else "converged")


def _pseudo_gradient(variables: FloatArray, gradient: FloatArray, penalty: FloatArray) -> FloatArray:
    """The slope of loss + penalty·|v| in its steepest direction (Andrew and Gao 2007, eq. 4)."""
    shrunk = np.sign(gradient) * np.maximum(np.abs(gradient) - penalty, 0.0)
    return np.where(variables != 0.0, gradient + np.sign(variables) * penalty, shrunk)


def first_step(problem: Problem, direction: FloatArray) -> float:
    """A step to try where nothing is known of the curvature: no weight moves by more than 0.1."""
    return min(1.0, 0.1 / max(float(np.abs(problem.scale * direction).max(initial=0.0)), 1e-12))


def search(problem: Problem, point: Point, direction: FloatArray, step: float) -> Point | None:
    """A point along the direction that meets the weak Wolfe conditions (with L1: that lowers the value enough)."""
    low, high = 0.0, np.inf
    slope = kernels.vectors.dot(point.slope, direction)
    if slope >= 0:
        return None
    sparse = problem.penalty is not None
    best: Point | None = None
    for _ in range(MAX_TRIALS):
        variables = point.variables + step * direction
        fall = step * slope
        if -fall <= ROUNDING * abs(point.value):
            return best
        if sparse:
            variables[variables * _orthant(point) < 0] = 0.0
            fall = kernels.vectors.dot(point.slope, variables - point.variables)
        trial = problem.at(variables)
        if trial.value >= point.value + ARMIJO * fall:  # the sum may round to the value itself
            high = step
            step = _shorter(point.value, slope, trial.value, low, step)
            if best is not None and high - low < 1e-3 * high:
                return best
        elif not sparse and kernels.vectors.dot(trial.gradient, direction) < CURVATURE * slope:
            best, low = trial, step
            step = 2.0 * step if high == np.inf else 0.5 * (low + high)
        else:
            return trial
    return best


def _orthant(point: Point) -> FloatArray:
    """The signs that a step may not change: of the variables, and of the way down where they are 0."""
    return np.where(point.variables != 0.0, np.sign(point.variables), -np.sign(point.slope))


def _shorter(value: float, slope: float, trial: float, low: float, step: float) -> float:
    """The minimum of the parabola through what is known, kept between a tenth and a half of the way back."""
    fitted = -slope * step * step / (2.0 * (trial - value - slope * step))
    return low + min(max(fitted - low, 0.1 * (step - low)), 0.5 * (step - low))
