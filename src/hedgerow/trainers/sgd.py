"""Stochastic gradient descent: a fixed gain, or one that falls; weights at the end, or averaged.

With g the gradient of a batch of b out of m sequences, a step is

    w ← w − η_t (g + 2·l2·(b/m)·w).

The weights that a batch does not touch only shrink, all by the same factor. So they are kept as w = c·u: the factor c
changes at every step, u only where a batch touches it, and the result is that of the full sum.
"""

from __future__ import annotations

import numpy as np

from hedgerow import kernels
from hedgerow.errors import InputError
from hedgerow.legend import FloatArray, IndexArray
from hedgerow.trainers.batches import Batches, Diverged
from hedgerow.trainers.monitor import Monitor
from hedgerow.trainers.online import Observe, train

SMALLEST = 1e-9  # of the factor c: beyond it, digits of u would be lost
SCHEDULES = ("averaged", "inverse")
FAR = 4.0  # a feature whose mean square is so far from 1 has a unit of its own
PASSES = 10.0  # without a penalty, a falling gain is half as large, or thereabouts, after so many passes


def sgd(
    batches: Batches,
    weights: FloatArray,
    monitor: Monitor,
    *,
    l2: float = 0.0,
    gain: float | str = "auto",
    observe: Observe | None = None,
) -> FloatArray:
    """Descend with a fixed gain (004, section 4); the weights that the monitor keeps."""

    def make(start: FloatArray, gain: float) -> Descent:
        return Descent(batches, start, l2, gain)

    return train(batches, weights, monitor, make, l2=l2, gain=gain, observe=observe)


def annealed_sgd(
    batches: Batches,
    weights: FloatArray,
    monitor: Monitor,
    *,
    l2: float = 0.0,
    gain: float | str = "auto",
    schedule: str = "averaged",
    scale: FloatArray | None = None,
    observe: Observe | None = None,
) -> FloatArray:
    """Descend with a gain that falls from `gain`; the weights that the monitor keeps.

    Parameters
    ----------
    schedule : "inverse" or "averaged"
        With r = 2·l2·gain, the share by which the penalty shrinks weights in a first pass (1/10 where it is less), and
        p the passes so far: "inverse" is gain / (1 + r·p). "averaged" is gain / (1 + r·p)^¾, and the result is the
        average of the weights since pass ½, 1, 2, 4, 8 …, whichever is the last: falling slower it is faster, and the
        average takes out the noise (Polyak and Juditsky 1992).
    scale : (W,), optional
        Factors of the gain, for features in units of their own; most of them should be 1.
    """
    if schedule not in SCHEDULES:
        raise InputError(f"schedule={schedule!r} is not there", hint=f"Choose one of {', '.join(SCHEDULES)}.")

    def make(start: FloatArray, gain: float) -> Descent:
        rate = falling_rate(l2, gain)
        power = 1.0 if schedule == "inverse" else 0.75
        return Descent(batches, start, l2, gain, rate=rate, power=power, average=schedule == "averaged", scale=scale)

    return train(batches, weights, monitor, make, l2=l2, gain=gain, observe=observe)


def falling_rate(l2: float, gain: float) -> float:
    """r of `annealed_sgd`."""
    return max(2.0 * l2 * gain, 1.0 / PASSES)


def unit_scale(square: FloatArray) -> FloatArray | None:
    """Factors of the gain for features in units of their own, 1/square where that is far from 1; None where none is.

    square : (W,), the mean square of the values of each weight's feature
    """
    odd = (square < 1.0 / FAR) | (square > FAR)
    return np.where(odd, 1.0 / square, 1.0) if odd.any() else None


class Descent:
    """w = c·u on the way, with the gain η_t = gain / (1 + rate·passes)^power.

    With `average`, Σ w_s over the steps since a restart is kept as C·u − total: C = Σ c_s, and total has every change
    of u times the C before it, so that only touched weights are written. Averages start anew after `restart` passes,
    twice as many, four times as many …
    """

    def __init__(
        self,
        batches: Batches,
        start: FloatArray,
        l2: float,
        gain: float,
        *,
        rate: float = 0.0,
        power: float = 1.0,
        average: bool = False,
        restart: float = 0.5,
        scale: FloatArray | None = None,
    ) -> None:
        self.batches = batches
        self.l2 = l2
        self.gain, self.rate, self.power = gain, rate, power
        self.u = batches.working.pack(start)
        self.c = 1.0
        self.seen = 0
        self.total: FloatArray | None = np.zeros(len(self.u)) if average else None
        self.C = 0.0
        self.n_summed = 0
        self.restart = restart
        self.odd = None if scale is None else _OddGains(batches, scale)

    def step(self, sequences: IndexArray) -> float:
        batches = self.batches
        passes = self.seen / batches.n_sequences
        if self.total is not None and passes >= self.restart:
            self.total[:], self.C, self.n_summed = 0.0, 0.0, 0
            self.restart *= 2.0
        loss = batches.evaluate(sequences, self.u, self.c)
        gain = self.gain / (1.0 + self.rate * passes) ** self.power
        shrink = 2.0 * gain * self.l2 * len(sequences) / batches.n_sequences
        self._shrink(shrink)
        if self.odd is not None:
            self.odd.scale(batches.gradient, self.u, shrink, self.total, self.C)
        for part in batches.touched():
            fixed = (*part, batches.working.real, self.u, batches.gradient, gain / self.c)
            if self.total is None:
                kernels.updates.descend(*fixed)
            else:
                kernels.updates.descend_averaged(*fixed, self.total, self.C)
        self.C += self.c
        self.n_summed += 1
        self.seen += len(sequences)
        return loss

    def weights(self) -> FloatArray:
        x = self.c * self.u
        if self.total is not None and self.n_summed:
            x = (self.C * self.u - self.total) / self.n_summed
        return self.batches.working.unpack(x)

    def _shrink(self, share: float) -> None:
        if share >= 1.0:
            raise Diverged("the penalty turned the weights round")
        self.c *= 1.0 - share
        if self.c < SMALLEST:
            self.u *= self.c
            self.C /= self.c
            self.c = 1.0


class _OddGains:
    """Weights with a gain of their own, s·η. They are few, and every step shrinks them: w ← w / (1 + s·2η·l2·b/m)."""

    def __init__(self, batches: Batches, scale: FloatArray) -> None:
        factors = batches.working.pack(scale)
        self.slots: IndexArray = np.flatnonzero((factors != 1.0) & (batches.working.real > 0.0))
        self.factors = factors[self.slots]

    def scale(self, gradient: FloatArray, u: FloatArray, share: float, total: FloatArray | None, C: float) -> None:
        """Scale the gradient, and turn the shrinking by 1 − share, which c has already, into that of these weights."""
        gradient[self.slots] *= self.factors
        before = u[self.slots]
        after = before / ((1.0 + self.factors * share) * (1.0 - share))
        u[self.slots] = after
        if total is not None:
            total[self.slots] += C * (after - before)
