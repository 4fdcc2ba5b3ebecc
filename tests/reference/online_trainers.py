"""Online trainers as they are written down: every weight moves in every step, and averages add up all weights.

A problem has `n_sequences`, `order(pass)` with the batches of a pass, and `gradient(weights, batch)`, the loss of a
batch and its gradient, without a penalty. Each trainer returns the weights after every pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol

import numpy as np

from hedgerow.legend import AnyArray, FloatArray, IndexArray


class Problem(Protocol):
    n_sequences: int

    def order(self, number: int) -> Iterator[IndexArray]: ...

    def gradient(self, weights: FloatArray, batch: IndexArray) -> tuple[float, FloatArray]: ...


class MistakeProblem(Problem, Protocol):
    def mistakes(self, weights: FloatArray, batch: IndexArray) -> list[tuple[float, int]]:
        """Of each sequence of a batch its weight, and how many labels of the best labeling are wrong."""


def sgd(problem: Problem, start: FloatArray, n_passes: int, *, l2: float, gain: float) -> list[FloatArray]:
    return _descend(problem, start, n_passes, l2, lambda passes: gain)


def annealed_sgd(
    problem: Problem,
    start: FloatArray,
    n_passes: int,
    *,
    l2: float,
    gain: float,
    rate: float,
    averaged: bool,
    scale: FloatArray | None = None,
) -> list[FloatArray]:
    """gain / (1 + rate·p), or that to the power ¾ and the average of the weights since pass ½, 1, 2, 4 …

    For corpora of less than two batches a moment that enters the average: all enter it.
    """
    power = 0.75 if averaged else 1.0
    restarts = [0.5 * 2.0**i for i in range(20)] if averaged else None
    return _descend(problem, start, n_passes, l2, lambda p: gain / (1 + rate * p) ** power, restarts, scale)


def averaged_perceptron(problem: Problem, start: FloatArray, n_passes: int) -> list[FloatArray]:
    return _descend(problem, start, n_passes, 0.0, lambda passes: 1.0, [np.inf])


def passive_aggressive(
    problem: MistakeProblem,
    start: FloatArray,
    n_passes: int,
    *,
    slack: str = "linear",
    aggressiveness: float = 1.0,
    count_errors: bool = True,
    average: bool = True,
) -> list[FloatArray]:
    """Crammer and others 2006, figure 1: the truth shall beat what was found by √(wrong labels), or by 1."""
    w, kept, results = start.copy(), [], []
    for number in range(n_passes):
        for batch in problem.order(number):
            loss, g = problem.gradient(w, batch)
            for weight, n_wrong in problem.mistakes(w, batch):
                if n_wrong:
                    loss += weight * (np.sqrt(n_wrong) if count_errors else 1.0)
            square = float(g @ g)
            if loss and square:
                tau = {
                    "none": loss / square,
                    "linear": min(aggressiveness, loss / square),
                    "squared": loss / (square + 1 / (2 * aggressiveness)),
                }[slack]
                w = w - tau * g
            kept.append(w)
        results.append(np.mean(kept, axis=0) if average else w)
    return results


def arow(
    problem: MistakeProblem, start: FloatArray, n_passes: int, *, variance: float = 1.0, gamma: float = 1.0
) -> list[FloatArray]:
    """Crammer, Kulesza and Dredze 2009, figure 1, with the diagonal of Σ: the truth shall beat what was found by the
    number of wrong labels."""
    w, spread, results = start.copy(), np.full(len(start), variance), []
    for number in range(n_passes):
        for batch in problem.order(number):
            loss, g = problem.gradient(w, batch)
            loss += sum(weight * n_wrong for weight, n_wrong in problem.mistakes(w, batch))
            beta = 1 / (float(g @ (spread * g)) + gamma)
            w = w - loss * beta * spread * g
            spread = 1 / (1 / spread + g**2 / gamma)
        results.append(w)
    return results


def _descend(
    problem: Problem,
    start: FloatArray,
    n_passes: int,
    l2: float,
    gain: Callable[[float], float],
    restarts: list[float] | None = None,
    scale: FloatArray | None = None,
) -> list[FloatArray]:
    """The average of all weights since the last restart where there are restarts, else the last weights."""
    w, seen, m = start.copy(), 0, problem.n_sequences
    kept: list[FloatArray] = []
    results = []
    for number in range(n_passes):
        for batch in problem.order(number):
            if restarts is not None and seen / m >= restarts[0]:
                restarts, kept = restarts[1:], []
            _, g = problem.gradient(w, batch)
            eta, penalty = gain(seen / m), 2 * l2 * len(batch) / m
            plain = w - eta * (g + penalty * w)
            own = plain if scale is None else w / (1 + scale * eta * penalty) - scale * eta * g
            w = plain if scale is None else np.where(scale == 1.0, plain, own)
            kept.append(w)
            seen += len(batch)
        results.append(w if restarts is None else np.mean(kept, axis=0))
    return results


def adagrad(
    problem: Problem, start: FloatArray, n_passes: int, *, l2: float, gain: float, unit: FloatArray
) -> list[FloatArray]:
    """The minimum of all that was seen, from the list of all gradients, curvatures and weights so far.

    unit : the mean square of the feature of each weight; curvatures are those of the weight times √unit
    """
    w, seen, m = start.copy(), 0, problem.n_sequences
    total: FloatArray = np.ones(len(w))
    curvatures, centres, gradients = [unit / gain], [start], [np.zeros(len(start))]
    results = []
    for number in range(n_passes):
        for batch in problem.order(number):
            _, g = problem.gradient(w, batch)
            more = total + g**2 / unit
            curvatures.append(unit * (np.sqrt(more) - np.sqrt(total)) / gain)
            total = more
            centres.append(w)
            gradients.append(g)
            seen += len(batch)
            pulled = np.sum([s * c for s, c in zip(curvatures, centres)], axis=0) - np.sum(gradients, axis=0)
            w = pulled / (np.sum(curvatures, axis=0) + 2 * l2 * seen / m)
        results.append(w)
    return results


def adam(
    problem: Problem,
    touched: Callable[[IndexArray, FloatArray], AnyArray],
    start: FloatArray,
    n_passes: int,
    *,
    l2: float,
    gain: float,
    beta: float = 0.9,
    beta2: float = 0.999,
) -> list[FloatArray]:
    """The lazy form; touched(batch, w) says which weights move."""
    w, seen, m, t = start.copy(), 0, problem.n_sequences, 0
    mean, square, last = np.zeros(len(w)), np.zeros(len(w)), np.zeros(len(w))
    results = []
    for number in range(n_passes):
        for batch in problem.order(number):
            t += 1
            at = touched(batch, w)
            g = problem.gradient(w, batch)[1] + 2 * l2 * len(batch) / m * (t - last) * w
            mean = np.where(at, beta * mean + (1 - beta) * g, mean)
            square = np.where(at, beta2 * square + (1 - beta2) * g**2, square)
            with np.errstate(invalid="ignore"):
                moved = mean / (1 - beta**t) / (np.sqrt(square / (1 - beta2**t)) + 1e-12 / np.sqrt(1 - beta2**t))
            w = np.where(at, w - gain / np.sqrt(1 + seen / m) * moved, w)
            last = np.where(at, t, last)
            seen += len(batch)
        results.append(w)
    return results


def smd(
    problem: Problem,
    product: Callable[[FloatArray, IndexArray, FloatArray], FloatArray],
    start: FloatArray,
    n_passes: int,
    *,
    l2: float,
    gain: float,
    meta_gain: float,
    gain_decay: float,
    rate: float = 0.0,
) -> list[FloatArray]:
    """(16)–(21); product(weights, batch, v) is the Hessian of the loss of a batch times v.

    All gains and the meta-gain are divided by (1 + rate·p)^¾, p the passes so far.
    """
    w, seen, m = start.copy(), 0, problem.n_sequences
    v, eta = np.zeros(len(w)), np.full(len(w), gain)
    results = []
    for number in range(n_passes):
        for batch in problem.order(number):
            penalty = 2 * l2 * len(batch) / m
            g = problem.gradient(w, batch)[1] + penalty * w
            hv = product(w, batch, v) + penalty * v
            cooled = (1 + rate * seen / m) ** -0.75
            eta = eta * np.clip(1 - cooled * meta_gain * g * v, 0.5, 2.0)
            step = cooled * eta
            w = w - step * g
            v = gain_decay * v - step * (g + gain_decay * hv)
            seen += len(batch)
        results.append(w)
    return results


def finite_product(gradient: Callable[[FloatArray, Any], tuple[float, FloatArray]], step: float = 1e-6) -> Any:
    """A Hessian-vector product by central differences of a gradient."""

    def product(weights: FloatArray, batch: IndexArray, v: FloatArray) -> FloatArray:
        size = step / max(float(np.abs(v).max()), 1e-300)
        if not v.any():
            return np.zeros(len(v))
        ahead, behind = gradient(weights + size * v, batch)[1], gradient(weights - size * v, batch)[1]
        return (ahead - behind) / (2 * size)

    return product
