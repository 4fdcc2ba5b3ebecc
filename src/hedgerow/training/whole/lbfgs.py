"""L-BFGS with L2, and its orthant-wise form (OWL-QN) with L1, in scaled variables.

Features differ in frequency by a factor of 10⁵, and the curvature of the loss with them; plain L-BFGS spends its first
iterations learning that. Here w = s·v, with s from the frequencies, and L-BFGS works on v. On chunking this reaches
the loss of CRFsuite's 50th iteration in 26 iterations (benchmarks/linear_vs_crfsuite.py prints the number).

The loss in scaled variables, and the search along a direction, serve the other trainers of smooth losses, too.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from hedgerow.errors import NumbersError
from hedgerow.legend import AnyArray, FloatArray
from hedgerow.training import kernels
from hedgerow.training.checkpoint import checked, fill, restore, restoring, state_of
from hedgerow.training.monitor import Monitor

Evaluate = Callable[[FloatArray], tuple[float, FloatArray]]

ARMIJO = 1e-4
CURVATURE = 0.9
MAX_TRIALS = 30
ROUNDING = 1e-15  # a smaller share of the loss is lost in its sum
STEEP = 1e-6  # a slope that promises such a share of the loss is no minimum


def curvature_scale(frequency: FloatArray, square: FloatArray | None, n_labels: int, l2: float) -> FloatArray:
    """The scale of each variable: 1/√D with D = square·√(frequency/K) + 2·l2.

    frequency, square : (W,), how often the feature of a weight is seen, and the mean square of its values; None:
        they are all 1

    The loss at zero weights has the curvature square·frequency·(K−1)/K² on the diagonal. The square root of the
    frequency works better: a frequent feature is soon explained by the others, and its curvature falls. The values
    stay squared, so that a column in other units trains the same.
    """
    return 1.0 / np.sqrt((1.0 if square is None else square) * np.sqrt(frequency / n_labels) + 2.0 * l2)


def lbfgs(
    evaluate: Evaluate,
    weights: FloatArray,
    monitor: Monitor,
    *,
    l1: float = 0.0,
    l2: float = 0.0,
    scale: FloatArray | None = None,
    memory: int = 6,
) -> FloatArray:
    """Minimise loss(w) + l2·‖w‖² + l1·‖w‖₁ from `weights`; the weights that the monitor keeps."""
    scale = np.ones(len(weights)) if scale is None else scale
    problem = Problem(evaluate, l1 * scale if l1 else None, l2, scale)
    curvature = _Curvature(memory)
    point, saved, ended = problem.begin(weights, monitor)
    if ended is not None:
        return ended
    if saved is not None:
        with restoring():
            vector = np.empty(len(weights), dtype=np.float32)
            pairs = checked(saved["pairs"], [(vector, vector, float)], "pairs")
            curvature.pairs.extend(tuple(pair) for pair in pairs)
            curvature.first_scale = checked(saved["first_scale"], float, "first_scale")

    def state(ended: bool) -> dict[str, Any]:
        return problem.state(point, ended, pairs=list(curvature.pairs), first_scale=curvature.first_scale)

    while True:
        direction = curvature.apply(-point.slope)
        if l1:
            direction[direction * point.slope >= 0] = 0.0
        step = 1.0 if curvature.known else first_step(problem, direction)
        reached = search(problem, point, direction, step)
        if reached is None and curvature.known:  # what was learnt misleads: go straight down
            curvature = _Curvature(memory)
            continue
        if reached is None:
            return problem.finish(monitor, point)
        # What is not needed any more holds the two differences: vectors of all weights are most of a trainer's memory.
        np.subtract(reached.variables, point.variables, out=direction)
        curvature.learn(direction, np.subtract(reached.gradient, point.gradient, out=point.gradient))
        point = reached
        if monitor.step(point.value, problem.weights(point), problem.gap(point), state):
            return monitor.weights(problem.weights(point))


class _Curvature:
    """The inverse Hessian as the last few steps show it (Nocedal 1980).

    Steps are kept in single precision: they are half of a trainer's memory, and only guide the search.
    """

    def __init__(self, memory: int) -> None:
        self.pairs: deque[tuple[AnyArray, AnyArray, float]] = deque(maxlen=memory)
        self.first_scale = 1.0

    @property
    def known(self) -> bool:
        return len(self.pairs) > 0

    def learn(self, moved: FloatArray, turned: FloatArray) -> None:
        product = kernels.vectors.dot(moved, turned)
        square = kernels.vectors.dot(turned, turned)
        if product > 1e-12 * square:
            if len(self.pairs) == self.pairs.maxlen:  # before there is one more
                self.pairs.popleft()
            self.pairs.append((moved.astype(np.float32), turned.astype(np.float32), product))
            self.first_scale = product / square

    def apply(self, vector: FloatArray) -> FloatArray:
        """H·vector by the two-loop recursion; changes the vector."""
        factors = []
        for moved, turned, product in reversed(self.pairs):
            factors.append(kernels.vectors.dot(moved, vector) / product)
            kernels.vectors.add_scaled(turned, -factors[-1], vector)
        vector *= self.first_scale
        for (moved, turned, product), factor in zip(self.pairs, reversed(factors)):
            kernels.vectors.add_scaled(moved, factor - kernels.vectors.dot(turned, vector) / product, vector)
        return vector


# ------------------------------------------------------------------------------------------------ along a direction


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

    def begin(self, weights: FloatArray, monitor: Monitor) -> tuple[Point, Any, FloatArray | None]:
        """Where training begins; or the point, and the state of the trainer, where it goes on from a checkpoint. And
        the weights, where nothing is left to do."""
        saved = monitor.resume()
        if saved is None:
            point = self.at(weights / self.scale)
            return point, None, weights if monitor.begin(point.value, weights, self.gap(point)) else None
        with restoring():
            point = self._restored(saved)
        return point, saved, monitor.weights(self.weights(point)) if monitor.done else None

    def state(self, point: Point, ended: bool, **more: Any) -> dict[str, Any]:
        """What a checkpoint keeps of a point, of what the loss keeps between evaluations, and of a trainer."""
        if ended:
            return {"variables": point.variables}
        taken = {"variables": point.variables, "value": point.value, "gradient": point.gradient} | more
        return taken | {"loss": state_of(self.evaluate, getattr(self.evaluate, "KEPT", ()))}

    def _restored(self, saved: Any) -> Point:
        """The point again; at the end of training its variables alone."""
        variables: FloatArray = np.empty(len(self.scale))
        gradient: FloatArray = np.zeros(len(self.scale))
        fill(variables, saved["variables"], "variables")
        if "gradient" in saved:
            fill(gradient, saved["gradient"], "gradient")
            restore(self.evaluate, getattr(self.evaluate, "KEPT", ()), saved["loss"])
        return Point(variables, checked(saved.get("value", np.nan), float, "value"), gradient, self.penalty)

    def at(self, variables: FloatArray) -> Point:
        weights = variables * self.scale
        loss, gradient = self.evaluate(weights)
        if not np.isfinite(loss):  # a fault of the numerics: say so at once
            raise NumbersError(f"the loss became {loss} (largest weight {np.abs(weights).max():.3g})")
        value = loss + self.l2 * kernels.vectors.dot(weights, weights)
        kernels.vectors.add_scaled(weights, 2.0 * self.l2, gradient)
        gradient *= self.scale
        if self.penalty is not None:
            value += kernels.vectors.dot(self.penalty, np.abs(variables))
        return Point(variables, value, gradient, self.penalty)

    def finish(self, monitor: Monitor, point: Point) -> FloatArray:
        """No step lowers the loss: the limit of the arithmetic, or a kink where training began. The weights kept."""
        promised = 0.5 * kernels.vectors.dot(point.slope, point.slope)
        stuck = monitor.n_iter == 0 and promised > STEEP * abs(point.value)
        monitor.finish("stuck" if stuck else "converged")
        return monitor.weights(self.weights(point))


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
            # No step changes signs: of the variables, and of the way down where they are 0.
            signs = np.where(point.variables != 0.0, np.sign(point.variables), -np.sign(point.slope))
            variables[variables * signs < 0] = 0.0
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


def _shorter(value: float, slope: float, trial: float, low: float, step: float) -> float:
    """The minimum of the parabola through what is known, kept between a tenth and a half of the way back."""
    fitted = -slope * step * step / (2.0 * (trial - value - slope * step))
    return low + min(max(fitted - low, 0.1 * (step - low)), 0.5 * (step - low))
