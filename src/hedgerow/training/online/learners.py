"""What an online trainer is made of: a corpus cut into batches, and a learner that steps from batch to batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import ClassVar, Protocol

import numpy as np

from hedgerow.legend import FloatArray, IndexArray
from hedgerow.training.online.state import TrainerState


class BatchSource(Protocol):
    """What passes, and the search for a gain, need of a corpus of sequences (or graphs) that is cut into batches.

    passes : the sequences that were evaluated so far, over those at hand
    KEPT : the attributes that a checkpoint keeps between two passes
    """

    passes: float
    KEPT: ClassVar[tuple[str, ...]]

    @property
    def lengths(self) -> IndexArray:
        """The positions of each sequence at hand."""

    @property
    def n_corpus(self) -> int:
        """The sequences that penalties and passes are shares of: those at hand, and those that came before."""

    @property
    def flat_at_zero(self) -> bool:
        """Whether the loss is smallest with weights of 0, where all labelings tie, and so says nothing there."""

    def order(self, number: int) -> Iterator[IndexArray]:
        """The batches of a pass."""

    def sample_loss(self, weights: FloatArray) -> float:
        """The loss of the whole corpus, without a penalty, as a sample tells."""

    def clear(self) -> None:
        """Forget what is left of a batch that was given up."""


class Learner(Protocol):
    """Weights on the way, and how a batch changes them.

    caution : the share of the gain that is best at the start of training which is best for all of it
    KEPT : the attributes that a checkpoint keeps between two passes
    """

    caution: float
    KEPT: ClassVar[tuple[str, ...]]

    def step(self, sequences: IndexArray) -> float:
        """Learn from some sequences; their loss before, without a penalty."""

    def weights(self) -> FloatArray:
        """(W,): what the trainer would return now."""


class LastingLearner(Learner, Protocol):
    """A learner that can go on where another one ended. Training with a state needs such ones."""

    def keep(self, state: TrainerState) -> None:
        """Leave in a state what a later learner, made from these weights, needs to go on."""

    def recall(self, state: TrainerState) -> None:
        """Go on with what an earlier learner left."""

    def resume(self) -> None:
        """Go on from weights that the sequences before these made, of which nothing else is known: steps should be
        those of a learner that has seen them."""


def shuffled_batches(items: IndexArray, batch_size: int, seed: int, number: int) -> Iterator[IndexArray]:
    """The batches of pass `number`: some items by their numbers, in an order of its own."""
    order = np.random.default_rng([seed, number]).permutation(items)
    return (order[i : i + batch_size] for i in range(0, len(order), batch_size))


# From weights (W,) and a gain.
Make = Callable[[FloatArray, float], Learner]
