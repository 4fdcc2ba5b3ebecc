"""Training on a few graphs at a time: plain descent, descent with a gain that falls, and stochastic meta-descent.

A graph is a large item and its weights are few, so vectors are dense, and a step is taken as the formulas say. What the
online trainers of chains share (passes, the gain found by trying, what happens when it is too large) is used as it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from hedgerow.legend import FloatArray, IndexArray
from hedgerow.trainers import SMD, AnnealedSGD, GainTrainer
from hedgerow.training.monitor import Monitor
from hedgerow.training.online.batches import SAMPLE, Diverged
from hedgerow.training.online.learners import shuffled_batches
from hedgerow.training.online.passes import train
from hedgerow.training.online.sgd import CAUTION, falling_rate

if TYPE_CHECKING:
    from hedgerow.lattice.training import GraphEvaluation

ONLINE = ("sgd", "annealed_sgd", "smd")
LARGEST = 1e6  # of a weight; beyond it training has gone astray
NUDGE = 1e-3  # of the weights along a direction, for the Hessian by differences of gradients: see `curve`


class GraphBatches:
    """Batches of the graphs of a dataset, as `training.online.learners.BatchSource` says."""

    flat_at_zero = False

    KEPT: ClassVar[tuple[str, ...]] = ("passes", "evaluation")

    def __init__(self, evaluation: GraphEvaluation, *, batch_size: int, seed: int) -> None:
        self.evaluation = evaluation
        self.batch_size = batch_size
        self.seed = seed
        self.passes = 0.0
        self.lengths = evaluation.dataset.sizes
        self.n_corpus = len(self.lengths)

    def order(self, number: int) -> Iterator[IndexArray]:
        """The batches of pass `number`, in an order of its own."""
        return shuffled_batches(np.arange(self.n_corpus), self.batch_size, self.seed, number)

    def clear(self) -> None:
        """Forget all messages: those of weights that went astray are no place to start from."""
        self.evaluation.forget()

    def sample_loss(self, weights: FloatArray) -> float:
        """The loss of the whole corpus, without a penalty, as a sample of its graphs tells."""
        sample = np.random.default_rng([self.seed]).permutation(self.n_corpus)[:SAMPLE]
        return self._evaluate(sample, weights)[0] * self.n_corpus / len(sample)

    def gradient(self, graphs: IndexArray, weights: FloatArray) -> tuple[float, FloatArray]:
        """The loss of some graphs and its gradient, without a penalty."""
        self.passes += len(graphs) / self.n_corpus
        return self._evaluate(graphs, weights)

    def curve(
        self, graphs: IndexArray, weights: FloatArray, direction: FloatArray
    ) -> tuple[float, FloatArray, FloatArray]:
        """As `gradient`, with the Hessian times a direction.

        By differences of two gradients, whose inference begins with the messages at hand and takes a few updates. The
        nudge is large enough for messages that have converged up to 1e-6.
        """
        loss, gradient = self.gradient(graphs, weights)
        size = float(np.abs(direction).max())
        if size == 0.0:
            return loss, gradient, np.zeros_like(direction)
        nudge = NUDGE / size
        _, ahead = self._evaluate(graphs, weights + nudge * direction)
        _, behind = self._evaluate(graphs, weights - nudge * direction)
        return loss, gradient, (ahead - behind) / (2.0 * nudge)

    def _evaluate(self, graphs: IndexArray, weights: FloatArray) -> tuple[float, FloatArray]:
        if not np.abs(weights).max(initial=0.0) < LARGEST:
            raise Diverged("the weights became too large")
        try:
            loss, gradient = self.evaluation.some(graphs, weights)
        except FloatingPointError as error:
            raise Diverged(str(error)) from error
        if not np.isfinite(loss):
            raise Diverged("the loss of a batch is not a number")
        return loss, gradient


class DenseDescent:
    """w ← w − η (g + 2·l2·(b/m)·w), with η = gain / (1 + rate·passes)."""

    KEPT: ClassVar[tuple[str, ...]] = ("w", "seen")

    def __init__(self, batches: GraphBatches, start: FloatArray, l2: float, gain: float, rate: float) -> None:
        self.batches, self.l2, self.gain, self.rate = batches, l2, gain, rate
        self.caution = CAUTION if rate == 0.0 else 1.0
        self.w = start.copy()
        self.seen = 0

    def step(self, sequences: IndexArray) -> float:
        share = len(sequences) / self.batches.n_corpus
        loss, gradient = self.batches.gradient(sequences, self.w)
        gain = self.gain / (1.0 + self.rate * self.seen / self.batches.n_corpus)
        self.w -= gain * (gradient + 2.0 * self.l2 * share * self.w)
        self.seen += len(sequences)
        return loss

    def weights(self) -> FloatArray:
        return self.w.copy()


class DenseMetaDescent(DenseDescent):
    """Stochastic meta-descent, equations (19) to (21) of the paper, with the bound that `online.smd` of chains has.

    η ← η · min(m, max(½, 1 − μ·g·v)),   w ← w − η·g,   v ← λ·v − η·(g + λ·H v).
    """

    KEPT: ClassVar[tuple[str, ...]] = ("w", "seen", "v", "gains")

    def __init__(self, batches: GraphBatches, start: FloatArray, l2: float, gain: float, trainer: SMD) -> None:
        super().__init__(batches, start, l2, gain, 0.0)
        self.meta_gain, self.decay, self.most = trainer.meta_gain, trainer.gain_decay, trainer.max_growth or np.inf
        self.v: FloatArray = np.zeros_like(start)
        self.gains: FloatArray = np.full(len(start), gain)

    def step(self, sequences: IndexArray) -> float:
        share = len(sequences) / self.batches.n_corpus
        loss, gradient, product = self.batches.curve(sequences, self.w, self.v)
        gradient = gradient + 2.0 * self.l2 * share * self.w
        product = product + 2.0 * self.l2 * share * self.v
        self.gains *= np.clip(1.0 - self.meta_gain * gradient * self.v, 0.5, self.most)
        self.w -= self.gains * gradient
        self.v = self.decay * self.v - self.gains * (gradient + self.decay * product)
        self.seen += len(sequences)
        return loss


def train_online(
    trainer: GainTrainer, batches: GraphBatches, weights: FloatArray, monitor: Monitor, *, l2: float
) -> FloatArray:
    """Train with the settings of a trainer; the weights that the monitor kept."""

    def plain(start: FloatArray, gain: float) -> DenseDescent:
        rate = falling_rate(l2, gain) if isinstance(trainer, AnnealedSGD) else 0.0
        if isinstance(trainer, AnnealedSGD) and trainer.schedule == "published":
            rate = batches.n_corpus / batches.batch_size
        return DenseDescent(batches, start, l2, gain, rate)

    def make(start: FloatArray, gain: float) -> DenseDescent:
        return DenseMetaDescent(batches, start, l2, gain, trainer) if isinstance(trainer, SMD) else plain(start, gain)

    return train(batches, weights, monitor, make, l2=l2, gain=trainer.gain, observe=None, tune=plain)
