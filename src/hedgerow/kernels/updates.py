"""Updates of the weights that a batch touched: its runs of `width` slots, and its single slots. See `online`.

Every update clears the gradient that it used. `real` is 0 in slots that belong to no weight, which must stay 0.
"""

from __future__ import annotations

import math

from hedgerow.kernels._jit import kernel, part


@kernel
def descend(runs, n_runs, width, slots, n_slots, real, x, grad, step):
    """x −= step · grad. IN real float64[X]; OUT x, grad float64[X]."""
    for q in range(n_runs):
        a = runs[q]
        w, g, r = x[a : a + width], grad[a : a + width], real[a : a + width]
        for k in range(width):
            w[k] -= step * r[k] * g[k]
            g[k] = 0.0
    for q in range(n_slots):
        j = slots[q]
        x[j] -= step * grad[j]
        grad[j] = 0.0


@kernel
def descend_averaged(runs, n_runs, width, slots, n_slots, real, x, grad, step, total, weight):
    """δ = −step · grad; x += δ, total += weight · δ. OUT x, grad, total float64[X]."""
    for q in range(n_runs):
        a = runs[q]
        w, g, r, s = x[a : a + width], grad[a : a + width], real[a : a + width], total[a : a + width]
        for k in range(width):
            d = step * r[k] * g[k]
            w[k] -= d
            s[k] -= weight * d
            g[k] = 0.0
    for q in range(n_slots):
        j = slots[q]
        d = step * grad[j]
        x[j] -= d
        total[j] -= weight * d
        grad[j] = 0.0


@kernel
def settle(runs, n_runs, width, slots, n_slots, x, pull, square, stiffness, penalty):
    """x = −pull / (stiffness · √square + penalty): the weights of AdaGrad at this moment. OUT x float64[X].

    IN   pull, square float64[X], square above 0; stiffness: one over the gain; penalty: its curvature so far
    """
    for q in range(n_runs):
        a = runs[q]
        w, z, s = x[a : a + width], pull[a : a + width], square[a : a + width]
        for k in range(width):
            w[k] = -z[k] / (stiffness * math.sqrt(s[k]) + penalty)
    for q in range(n_slots):
        j = slots[q]
        x[j] = -pull[j] / (stiffness * math.sqrt(square[j]) + penalty)


@kernel
def adagrad(runs, n_runs, width, slots, n_slots, real, x, grad, pull, square, stiffness):
    """square' = square + g²;  pull += g − stiffness · (√square' − √square) · x. OUT grad, pull, square float64[X]."""
    for q in range(n_runs):
        a = runs[q]
        w, g, r = x[a : a + width], grad[a : a + width], real[a : a + width]
        z, s = pull[a : a + width], square[a : a + width]
        for k in range(width):
            d = r[k] * g[k]
            more = s[k] + d * d
            z[k] += d - stiffness * (math.sqrt(more) - math.sqrt(s[k])) * w[k]
            s[k] = more
            g[k] = 0.0
    for q in range(n_slots):
        j = slots[q]
        d = grad[j]
        more = square[j] + d * d
        pull[j] += d - stiffness * (math.sqrt(more) - math.sqrt(square[j])) * x[j]
        square[j] = more
        grad[j] = 0.0


@part
def _adam(j, d, x, mean, square, last, now, gain, beta, beta2, penalty):
    """Adam's step of weight j with the gradient d of the loss, and the penalty of every step since its last."""
    d += penalty * (now - last[j]) * x[j]
    last[j] = now
    mean[j] += (1.0 - beta) * (d - mean[j])
    square[j] += (1.0 - beta2) * (d * d - square[j])
    x[j] -= gain * mean[j] / (math.sqrt(square[j]) + 1e-12)


@kernel
def adam(
    runs, n_runs, width, slots, n_slots, real, x, grad, mean, square, last, now, gain, beta, beta2, penalty
):  # fmt: skip
    """mean ← β·mean + (1−β)·g, square ← β₂·square + (1−β₂)·g², x −= gain · mean / √square, for touched weights.

    IN   now: the number of this step; gain: with the corrections of the two means; penalty: 2·l2·b/m
    OUT  x, grad, mean, square float64[X]; last int32[X]: the step that touched a weight last
    """
    for q in range(n_runs):
        for j in range(runs[q], runs[q] + width):
            if real[j] > 0.0:
                _adam(j, grad[j], x, mean, square, last, now, gain, beta, beta2, penalty)
            grad[j] = 0.0
    for q in range(n_slots):
        j = slots[q]
        _adam(j, grad[j], x, mean, square, last, now, gain, beta, beta2, penalty)
        grad[j] = 0.0


@part
def _meta(j, g, h, x, v, gain, last, now, cooled, meta_gain, decay, penalty):
    """(19)–(21) of weight j, with the gradient g of the loss and its Hessian times v."""
    idle = penalty * (now - last[j])
    last[j] = now
    g += idle * x[j]
    h += idle * v[j]
    gain[j] *= max(0.5, 1.0 - meta_gain * g * v[j])
    step = cooled * gain[j]
    x[j] -= step * g
    v[j] = decay * v[j] - step * (g + decay * h)


@kernel
def meta_descend(
    runs, n_runs, width, slots, n_slots, real, x, grad, product, v, gain, last,
    now, cooled, meta_gain, decay, penalty,
):  # fmt: skip
    """Stochastic meta-descent, (19)–(21) of Vishwanathan et al. 2006, of the touched weights:

        η ← η · max(½, 1 − μ g v),   w ← w − η g,   v ← λ v − η (g + λ H v).

    IN   now: the number of this step; cooled: a factor of all gains; meta_gain μ, decay λ; penalty: 2·l2·b/m, which a
         weight bears for every step since its last one
    OUT  x, grad, product (H v), v, gain float64[X]; last int32[X]: the step that touched a weight last
    """
    for q in range(n_runs):
        for j in range(runs[q], runs[q] + width):
            if real[j] > 0.0:
                _meta(j, grad[j], product[j], x, v, gain, last, now, cooled, meta_gain, decay, penalty)
            grad[j] = 0.0
            product[j] = 0.0
    for q in range(n_slots):
        j = slots[q]
        _meta(j, grad[j], product[j], x, v, gain, last, now, cooled, meta_gain, decay, penalty)
        grad[j] = 0.0
        product[j] = 0.0
