"""L-BFGS with L2, and its orthant-wise form (OWL-QN) with L1, in scaled variables.

Features differ in frequency by a factor of 10⁵, and the curvature of the loss with them; plain L-BFGS spends its first
iterations learning that. Here w = s·v, with s from the frequencies, and L-BFGS works on v. On chunking this reaches
the loss of CRFsuite's 50th iteration in 26 iterations (benchmarks/linear_vs_crfsuite.py prints the number).
"""

from __future__ import annotations

from collections import deque

import numpy as np

from hedgerow.legend import AnyArray, FloatArray
from hedgerow.training import kernels
from hedgerow.training.monitor import Monitor
from hedgerow.training.whole.descent import Evaluate, Problem, finish, first_step, search


def curvature_scale(frequency: FloatArray, square: FloatArray, n_labels: int, l2: float) -> FloatArray:
    """The scale of each variable: 1/√D with D = square·√(frequency/K) + 2·l2.

    frequency, square : (W,), how often the feature of a weight is seen, and the mean square of its values (1 where
        they are all 1)

    The loss at zero weights has the curvature square·frequency·(K−1)/K² on the diagonal. The square root of the
    frequency works better: a frequent feature is soon explained by the others, and its curvature falls. The values
    stay squared, so that a column in other units trains the same.
    """
    scale: FloatArray = 1.0 / np.sqrt(square * np.sqrt(frequency / n_labels) + 2.0 * l2)
    return scale


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
    point = problem.at(weights / scale)
    if monitor.begin(point.value, weights, problem.gap(point)):
        return weights
    curvature = _Curvature(memory)
    while True:
        direction = curvature.apply(-point.slope)
        if l1:
            direction[direction * point.slope >= 0] = 0.0
        step = 1.0 if curvature.known else first_step(problem, direction)
        found = search(problem, point, direction, step)
        if found is None and curvature.known:  # what was learnt misleads: go straight down
            curvature = _Curvature(memory)
            continue
        if found is None:
            finish(monitor, point)
            return monitor.weights(problem.weights(point))
        curvature.learn(found.variables - point.variables, found.gradient - point.gradient)
        point = found
        if monitor.step(point.value, problem.weights(point), problem.gap(point)):
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
