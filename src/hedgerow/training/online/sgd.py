"""Stochastic gradient descent: a fixed gain, or one that falls; weights at the end, or averaged.

With g the gradient of a batch of b out of m sequences, a step is

    w ← w − η_t (g + 2·l2·(b/m)·w).

The weights that a batch does not touch only shrink, all by the same factor. So they are kept as w = c·u: the factor c
changes at every step, u only where a batch touches it, and the result is that of the full sum.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from hedgerow.legend import FloatArray, IndexArray
from hedgerow.training import kernels
from hedgerow.training.online.batches import Batches, Diverged
from hedgerow.training.online.learners import Make
from hedgerow.training.online.state import TrainerState

SMALLEST = 1e-9  # of the factor c: beyond it, digits of u would be lost
FAR = 4.0  # a feature whose mean square is so far from 1 has a unit of its own
SNAPSHOTS = 16
CAUTION = 0.5  # a gain that stays has to serve the end of training too, where steps should be smaller
SLOWEST = 0.1  # of r: a small penalty should not keep the gain from falling


def annealed(batches: Batches, l2: float, schedule: str, square: FloatArray | None) -> Make:
    """Learners whose gain falls from the first one.

    With r = 2·l2·gain, the share by which the penalty shrinks weights in a first pass, and at least 1/10, and p the
    passes so far, the schedule "inverse" is gain / (1 + r·p). With "published" r is the number of batches of a pass, so
    that it is gain / t at the t-th step. "averaged" is gain / (1 + r·p)^¾, and the result is the
    average of weights since pass ½, 1, 2, 4, 8 …, whichever is the last: falling slower it is faster, and the average
    takes out the noise (Polyak and Juditsky 1992).
    """
    scale = None if square is None else unit_scale(square)
    average = schedule not in ("inverse", "published")
    power = 0.75 if average else 1.0

    def make(start: FloatArray, gain: float) -> Descent:
        steps = batches.n_corpus / batches.batch_size
        rate = steps if schedule == "published" else falling_rate(l2, gain)
        return Descent(batches, l2, start, gain, rate=rate, power=power, average=average, scale=scale)

    return make


def falling_rate(l2: float, gain: float) -> float:
    """r of `annealed`."""
    return max(2.0 * l2 * gain, SLOWEST)


def unit_scale(square: FloatArray) -> FloatArray | None:
    """Factors of the gain for features in units of their own, 1/square where that is far from 1; None where none is.

    square : (W,), the mean square of the values of each weight's feature
    """
    odd = (square < 1.0 / FAR) | (square > FAR)
    return np.where(odd, 1.0 / square, 1.0) if odd.any() else None


class Descent:
    """w = c·u on the way, with the gain η_t = gain / (1 + rate·passes)^power.

    With `average`, the result is the average of the weights at SNAPSHOTS moments a pass, or after every batch where
    there are fewer, since pass ½, 1, 2, 4 …: the weights of neighbouring batches hardly differ, and few moments serve.
    """

    KEPT: ClassVar[tuple[str, ...]] = ("u", "c", "seen", "average")

    def __init__(
        self,
        batches: Batches,
        l2: float,
        start: FloatArray,
        gain: float,
        *,
        rate: float = 0.0,
        power: float = 1.0,
        average: bool = False,
        scale: FloatArray | None = None,
    ) -> None:
        self.batches = batches
        self.l2 = l2
        self.gain, self.rate, self.power = gain, rate, power
        self.caution = CAUTION if rate == 0.0 else 1.0
        self.u = batches.working.pack(start)
        self.c = 1.0
        self.seen = 0
        self.average = Average(batches) if average else None
        self.odd = None if scale is None else _OddGains(batches, scale)

    def step(self, sequences: IndexArray) -> float:
        batches = self.batches
        passes = self.seen / batches.n_corpus
        gain = self.gain / (1.0 + self.rate * passes) ** self.power
        share = 2.0 * gain * self.l2 * len(sequences) / batches.n_corpus
        if share >= 1.0:
            raise Diverged("the penalty turned the weights round")
        shrunk = self.c * (1.0 - share)
        if self.odd is not None:
            self.odd.note(self.u)
        loss = batches.descend(sequences, self.u, self.c, gain / shrunk)
        if self.odd is not None:
            self.odd.scale(self.u, share)
        self.c = shrunk
        if self.c < SMALLEST:
            self.u *= self.c
            self.c = 1.0
        self.seen += len(sequences)
        if self.average is not None:
            self.average.note(self.u, self.c, passes)
        return loss

    def weights(self) -> FloatArray:
        x = self.c * self.u
        return self.batches.working.unpack(x if self.average is None else self.average.read(x))

    def keep(self, state: TrainerState) -> None:
        state.numbers = {"seen": self.seen}
        if self.average is not None:
            self.average.keep(state, self.c * self.u)

    def recall(self, state: TrainerState) -> None:
        self.seen = int(state.numbers["seen"])
        if self.average is not None:
            self.average.recall(state, self.u)

    def resume(self) -> None:
        self.seen = self.batches.n_before
        if self.average is not None:
            self.average.resume(self.u)


class Average:
    """The average of the weights at some moments since the last restart."""

    KEPT: ClassVar[tuple[str, ...]] = ("sum", "n", "n_steps", "restart")

    def __init__(self, batches: Batches) -> None:
        self.batches = batches
        self.every = max(1, batches.n_batches // SNAPSHOTS)
        self.sum: FloatArray = np.zeros(batches.working.size)
        self.n = self.n_steps = 0
        self.restart = 0.5

    def note(self, u: FloatArray, factor: float, passes: float) -> None:
        """After a step that began when so many passes were over."""
        if passes >= self.restart:
            self.sum[:] = 0.0
            self.n = 0
            self.restart *= 2.0
        self.n_steps += 1
        if self.n_steps % self.every == 0:
            kernels.vectors.add_scaled(u, factor, self.sum)
            self.n += 1

    def read(self, x: FloatArray) -> FloatArray:
        """The average; x, the weights themselves, where no moment came yet."""
        return self.sum / self.n if self.n else x

    def keep(self, state: TrainerState, x: FloatArray) -> None:
        """x, the weights themselves, are no longer known from their average. The restart is kept in sequences: later
        passes, over a corpus that has grown, are longer."""
        state.keep(self.batches.working, "raw", x)
        state.keep(self.batches.working, "sum", self.sum)
        state.numbers |= {"n": self.n, "n_steps": self.n_steps, "restart": self.restart * self.batches.n_corpus}

    def recall(self, state: TrainerState, x: FloatArray) -> None:
        state.recall(self.batches.working, "raw", x)
        state.recall(self.batches.working, "sum", self.sum)
        self.n, self.n_steps = int(state.numbers["n"]), int(state.numbers["n_steps"])
        self.restart = state.numbers["restart"] / self.batches.n_corpus

    def resume(self, x: FloatArray) -> None:
        """As if x had been the weights for the half of the sequences that came before."""
        self.n_steps = self.batches.n_before // self.batches.batch_size
        self.n = max(1, self.n_steps // self.every // 2)
        self.sum = self.n * x
        self.restart = 1.0


class _OddGains:
    """Weights with a gain of their own, s·η. They are few, and every step shrinks them: w ← w / (1 + s·2η·l2·b/m)."""

    def __init__(self, batches: Batches, scale: FloatArray) -> None:
        factors = batches.working.pack(scale)
        self.slots: IndexArray = np.flatnonzero((factors != 1.0) & (batches.working.real > 0))
        self.factors = factors[self.slots]
        self.before: FloatArray = np.zeros(len(self.slots))

    def note(self, u: FloatArray) -> None:
        """Before a step."""
        self.before = u[self.slots]

    def scale(self, u: FloatArray, share: float) -> None:
        """After a step with the common gain, which shrinks weights by `share`: make it that of these weights."""
        change = u[self.slots] - self.before
        u[self.slots] = self.before / ((1.0 + self.factors * share) * (1.0 - share)) + self.factors * change
