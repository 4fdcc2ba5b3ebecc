"""Updates of the weights that a batch touched: its runs of `width` slots, and its single slots. See `online`.

Every update clears the gradient that it used. `real` is 0 in slots that belong to no weight, which must stay 0.
Divisions by NumPy's function do not look for a 0 first, which would keep a loop from being vectorised.
"""

import math

import numpy as np

from hedgerow.jit import kernel


@kernel
def descend_averaged(runs, n_runs, width, slots, n_slots, real, x, grad, step, total, weight):
    """δ = −step · grad; x += δ, total += weight · δ. IN real uint8[X]; OUT x, grad, total float64[X]."""
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
def squared_length(runs, n_runs, width, slots, n_slots, scale, grad):
    """Σ scale · grad² over the touched weights. IN scale [X], 0 where there is no weight; grad float64[X]."""
    total = 0.0
    for q in range(n_runs):
        a = runs[q]
        g, s = grad[a : a + width], scale[a : a + width]
        for k in range(width):
            total += s[k] * g[k] * g[k]
    for q in range(n_slots):
        j = slots[q]
        total += scale[j] * grad[j] * grad[j]
    return total


@kernel
def adapt(runs, n_runs, width, slots, n_slots, x, grad, variance, step, gamma):
    """x −= step · variance · grad;  1/variance += grad²/gamma. OUT x, grad, variance float64[X], which is 0 where there
    is no weight."""
    for q in range(n_runs):
        a = runs[q]
        w, g, v = x[a : a + width], grad[a : a + width], variance[a : a + width]
        for k in range(width):
            w[k] -= step * v[k] * g[k]
            v[k] = np.divide(v[k], 1.0 + v[k] * g[k] * g[k] / gamma)
            g[k] = 0.0
    for q in range(n_slots):
        j = slots[q]
        x[j] -= step * variance[j] * grad[j]
        variance[j] = np.divide(variance[j], 1.0 + variance[j] * grad[j] * grad[j] / gamma)
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
            w[k] = np.divide(-z[k], stiffness * math.sqrt(s[k]) + penalty)
    for q in range(n_slots):
        j = slots[q]
        x[j] = np.divide(-pull[j], stiffness * math.sqrt(square[j]) + penalty)


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


@kernel
def adam(
    runs, n_runs, width, slots, n_slots, real, x, grad, mean, square, last, now, gain, beta, beta2, penalty
):  # fmt: skip
    """mean ← β·mean + (1−β)·g, square ← β₂·square + (1−β₂)·g², x −= gain · mean / √square, for touched weights.

    IN   now: the number of this step; gain: with the corrections of the two means; penalty: 2·l2·b/m, which a weight
         bears for every step since its last one
    OUT  x, grad, mean, square float64[X]; last int32[X]: the step that touched a weight last
    """
    for q in range(n_runs):
        a = runs[q]
        w, g, r = x[a : a + width], grad[a : a + width], real[a : a + width]
        m, s, l = mean[a : a + width], square[a : a + width], last[a : a + width]
        for k in range(width):
            d = r[k] * g[k] + penalty * (now - l[k]) * w[k]
            m[k] += (1.0 - beta) * (d - m[k])
            s[k] += (1.0 - beta2) * (d * d - s[k])
            w[k] -= gain * np.divide(m[k], math.sqrt(s[k]) + 1e-12)
            l[k] = now
            g[k] = 0.0
    for q in range(n_slots):
        j = slots[q]
        d = grad[j] + penalty * (now - last[j]) * x[j]
        mean[j] += (1.0 - beta) * (d - mean[j])
        square[j] += (1.0 - beta2) * (d * d - square[j])
        x[j] -= gain * np.divide(mean[j], math.sqrt(square[j]) + 1e-12)
        last[j] = now
        grad[j] = 0.0


@kernel
def meta_descend(
    runs, n_runs, width, slots, n_slots, real, x, grad, product, v, gain, last,
    now, cooled, meta_gain, decay, most, penalty,
):  # fmt: skip
    """Stochastic meta-descent, (19)–(21) of Vishwanathan et al. 2006, of the touched weights:

        η ← η · min(most, max(½, 1 − μ g v)),   w ← w − η g,   v ← λ v − η (g + λ H v).

    IN   now: the number of this step; cooled: a factor of all gains; meta_gain μ, decay λ; most: what a gain may
         be multiplied by; penalty: 2·l2·b/m, which a
         weight bears for every step since its last one
    OUT  x, grad, product (H v), v, gain float64[X]; last int32[X]: the step that touched a weight last
    """
    for q in range(n_runs):
        a = runs[q]
        w, g, r, h = x[a : a + width], grad[a : a + width], real[a : a + width], product[a : a + width]
        y, e, l = v[a : a + width], gain[a : a + width], last[a : a + width]
        for k in range(width):
            idle = penalty * (now - l[k])
            d = r[k] * g[k] + idle * w[k]
            e[k] *= min(most, max(0.5, 1.0 - meta_gain * d * y[k]))
            w[k] -= cooled * e[k] * d
            y[k] = decay * y[k] - cooled * e[k] * (d + decay * (r[k] * h[k] + idle * y[k]))
            l[k] = now
            g[k] = 0.0
            h[k] = 0.0
    for q in range(n_slots):
        j = slots[q]
        idle = penalty * (now - last[j])
        d = grad[j] + idle * x[j]
        gain[j] *= min(most, max(0.5, 1.0 - meta_gain * d * v[j]))
        x[j] -= cooled * gain[j] * d
        v[j] = decay * v[j] - cooled * gain[j] * (d + decay * (product[j] + idle * v[j]))
        last[j] = now
        grad[j] = 0.0
        product[j] = 0.0
