"""The updates of touched weights in plain NumPy, with the names of the kernels: new arrays are returned.

`at` are the touched weights. What no batch touches keeps its value.
"""

from __future__ import annotations

import numpy as np

from hedgerow.legend import AnyArray, FloatArray


def descend_averaged(
    at: AnyArray, x: FloatArray, grad: FloatArray, step: float, total: FloatArray, weight: float
) -> tuple[FloatArray, FloatArray]:
    """x and total."""
    new = x.copy()
    new[at] -= step * grad[at]
    return new, total + weight * (new - x)


def squared_length(at: AnyArray, scale: AnyArray, grad: FloatArray) -> float:
    return float((scale[at] * grad[at] ** 2).sum())


def adapt(
    at: AnyArray, x: FloatArray, grad: FloatArray, variance: FloatArray, step: float, gamma: float
) -> tuple[FloatArray, FloatArray]:
    """x and variance."""
    new, narrower = x.copy(), variance.copy()
    new[at] -= step * variance[at] * grad[at]
    narrower[at] = 1 / (1 / variance[at] + grad[at] ** 2 / gamma)
    return new, narrower


def settle(
    at: AnyArray, x: FloatArray, pull: FloatArray, square: FloatArray, stiffness: float, penalty: float
) -> FloatArray:
    new = x.copy()
    new[at] = -pull[at] / (stiffness * np.sqrt(square[at]) + penalty)
    return new


def adagrad(
    at: AnyArray, x: FloatArray, grad: FloatArray, pull: FloatArray, square: FloatArray, stiffness: float
) -> tuple[FloatArray, FloatArray]:
    """pull and square."""
    new_pull, new_square = pull.copy(), square.copy()
    new_square[at] += grad[at] ** 2
    sigma = stiffness * (np.sqrt(new_square) - np.sqrt(square))
    new_pull[at] += grad[at] - sigma[at] * x[at]
    return new_pull, new_square


def adam(
    at: AnyArray,
    x: FloatArray,
    grad: FloatArray,
    mean: FloatArray,
    square: FloatArray,
    idle: AnyArray,
    gain: float,
    beta: float,
    beta2: float,
    penalty: float,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """x, mean and square; `idle` says how many steps' penalty each weight bears."""
    g = grad + penalty * idle * x
    new_x, new_mean, new_square = x.copy(), mean.copy(), square.copy()
    new_mean[at] = (beta * mean + (1 - beta) * g)[at]
    new_square[at] = (beta2 * square + (1 - beta2) * g**2)[at]
    new_x[at] -= gain * new_mean[at] / (np.sqrt(new_square[at]) + 1e-12)
    return new_x, new_mean, new_square


def meta_descend(
    at: AnyArray,
    x: FloatArray,
    grad: FloatArray,
    product: FloatArray,
    v: FloatArray,
    gain: FloatArray,
    idle: AnyArray,
    cooled: float,
    meta_gain: float,
    decay: float,
    most: float,
    penalty: float,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """x, v and gain, (19)–(21); `idle` as in `adam`; a gain is multiplied by at most `most`."""
    g, h = grad + penalty * idle * x, product + penalty * idle * v
    new_gain, new_x, new_v = gain.copy(), x.copy(), v.copy()
    new_gain[at] *= np.clip(1.0 - meta_gain * g[at] * v[at], 0.5, most)
    step = cooled * new_gain
    new_x[at] -= step[at] * g[at]
    new_v[at] = (decay * v - step * (g + decay * h))[at]
    return new_x, new_v, new_gain
