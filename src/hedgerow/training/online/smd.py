"""Stochastic meta-descent (Vishwanathan, Schraudolph, Schmidt and Murphy 2006): gains that learn.

With g the gradient of a batch of b out of m sequences and of its share (b/m)·l2·‖w‖² of the penalty, H its Hessian, and
products taken weight by weight, a step is (19)–(21) of the paper, with v = 0 at the start:

    η ← η · min(m, max(½, 1 − μ·g·v)),   w ← w − η·g,   v ← λ·v − η·(g + λ·H v).

The bound m, 2 by default, is ours: without it (`max_growth=None`, as published) one step may multiply a gain by any
number, and on long sequences training diverges.
η is the vector of gains, v how the weights depend on them, and H v comes from the same pass as g, at two to three times
its cost. The penalty makes every weight move in every step, and so does the exact form: a step costs as much as there
are weights. In the lazy form a step moves what its batch touches, and a weight bears the penalty of all steps since its
last one at once; its gain and its v stay as they were. That is an approximation, and it costs what it touches.

Gains need not fall, so the weights never converge: they keep moving with the noise of the batches, and where the
last step led is chance. The average over the last pass is not.
"""

from __future__ import annotations

from functools import partial
from math import floor
from typing import ClassVar

import numpy as np

from hedgerow.chain.objectives import CURVATURES
from hedgerow.errors import InputError
from hedgerow.legend import CODE, CodeArray, FloatArray, IndexArray
from hedgerow.linear import kernels
from hedgerow.linear.batches import Touched
from hedgerow.training.online.batches import Batches, Diverged
from hedgerow.training.online.learners import Make
from hedgerow.training.online.sgd import CAUTION, Average, falling_rate
from hedgerow.training.online.state import TrainerState

MAX_GROWTH = 2.0  # of a gain, in one step
COLLAPSED = 1e-5  # a gain that falls to this share of its first value within a trial


def meta_descent(
    batches: Batches,
    l2: float,
    *,
    meta_gain: float,
    gain_decay: float,
    lazy: bool,
    schedule: str,
    max_growth: float | None = MAX_GROWTH,
) -> tuple[Make, Make]:
    """Learners by stochastic meta-descent, and those that try gains.

    gain_decay : λ, from 0 to 1; how long v remembers
    lazy : whether a step moves only the weights that its batch touches
    max_growth : what a step may multiply a gain by; None for any number
    schedule : "averaged" or "auto", "plain", "annealed"
        "plain" is the paper's, and the result is where the last step led. "averaged" takes the same steps, and the
        result is the average of the weights over the last pass, or over the second half of the first. "annealed"
        multiplies all gains, and μ, by 1 / (1 + r·p)^¾, and averages as annealed descent does with its schedule
        "averaged". It alone converges: in the others the noise of the batches in time also wears down the gains of the
        weights that it moves most.
    """
    if batches.objective not in CURVATURES:
        names = " and ".join(sorted(objective.__name__ for objective in CURVATURES))
        raise InputError("smd needs an objective with a Hessian", hint=f"Those are {names}.")

    def learner(kind: type[MetaDescent], start: FloatArray, gain: float) -> MetaDescent:
        rate = falling_rate(l2, gain) if schedule == "annealed" else 0.0
        averages = {"plain": None, "annealed": Average}
        average = averages.get(schedule, LastPass)
        return kind(
            batches, l2, start, gain, meta_gain=meta_gain, decay=gain_decay, rate=rate, lazy=lazy,
            average=None if average is None else average(batches),
            most=np.inf if max_growth is None else float(max_growth),
        )  # fmt: skip

    return partial(learner, MetaDescent), partial(learner, MetaTrial)


class LastPass(Average):
    """The average of the weights at some moments of the pass that is under way; in the first pass, of its second half:
    in the first half weights are still far from where they go."""

    def note(self, u: FloatArray, factor: float, passes: float) -> None:
        super().note(u, factor, passes)
        if passes >= 0.5:
            self.restart = floor(passes) + 1.0


class MetaDescent:
    KEPT: ClassVar[tuple[str, ...]] = ("x", "v", "gain", "last", "n_steps", "seen", "average")

    def __init__(
        self,
        batches: Batches,
        l2: float,
        start: FloatArray,
        gain: float,
        *,
        meta_gain: float,
        decay: float,
        rate: float,
        average: Average | None,
        lazy: bool,
        most: float = MAX_GROWTH,
    ) -> None:
        self.batches = batches
        self.l2 = l2
        self.meta_gain, self.decay, self.rate, self.most = meta_gain, decay, rate, most
        self.caution = CAUTION if average is None else 1.0
        self.average = average
        self.x = batches.working.pack(start)
        self.v: FloatArray = np.zeros(len(self.x))
        self.first_gain = gain
        self.gain: FloatArray = np.full(len(self.x), gain)
        self.last: CodeArray = np.zeros(len(self.x), dtype=CODE)
        self.n_steps = 0
        self.seen = 0
        none: CodeArray = np.zeros(1, dtype=CODE)
        self._all: list[Touched] | None = None if lazy else [(none, 1, len(self.x), none, 0)]

    def step(self, sequences: IndexArray) -> float:
        batches = self.batches
        loss = batches.curve(sequences, self.x, self.v)
        passes = self.seen / batches.n_corpus
        cooled = (1.0 + self.rate * passes) ** -0.75
        penalty = 2.0 * self.l2 * len(sequences) / batches.n_corpus
        self.n_steps += 1
        for part in self._all or batches.touched():
            kernels.updates.meta_descend(
                *part, batches.working.real, self.x, batches.gradient, batches.product, self.v, self.gain, self.last,
                self.n_steps, cooled, cooled * self.meta_gain, self.decay, self.most, penalty,
            )  # fmt: skip
        self.seen += len(sequences)
        if self.average is not None:
            self.average.note(self.x, 1.0, passes)
        return loss

    def weights(self) -> FloatArray:
        x = self.x if self.average is None else self.average.read(self.x)
        return self.batches.working.unpack(x)

    def keep(self, state: TrainerState) -> None:
        working = self.batches.working
        state.keep(working, "v", self.v)
        state.keep(working, "relative gain", self.gain / self.first_gain, fill=1.0)
        state.keep(working, "last", self.last)
        state.numbers = {"seen": self.seen, "n_steps": self.n_steps}
        if self.average is not None:
            self.average.keep(state, self.x)

    def recall(self, state: TrainerState) -> None:
        working = self.batches.working
        state.recall(working, "v", self.v)
        state.recall(working, "relative gain", self.gain)
        self.gain *= self.first_gain
        state.recall(working, "last", self.last)
        self.seen, self.n_steps = int(state.numbers["seen"]), int(state.numbers["n_steps"])
        if self.average is not None:
            self.average.recall(state, self.x)

    def resume(self) -> None:
        self.seen = self.batches.n_before
        if self.average is not None:
            self.average.resume(self.x)


class MetaTrial(MetaDescent):
    """A learner that tries a gain. With one that is too large, the gains of some weights fall by half step after step
    until they are next to nothing. The loss may be low by then, but those weights will never move again."""

    def weights(self) -> FloatArray:
        if (self.gain < COLLAPSED * self.first_gain).any():
            raise Diverged("gains fell to nothing")
        return super().weights()
