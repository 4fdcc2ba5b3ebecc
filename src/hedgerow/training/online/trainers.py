"""Online training of the weights of chains, by the settings of a trainer."""

from __future__ import annotations

from functools import partial

from hedgerow.legend import FloatArray
from hedgerow.trainers import AROW, SGD, SMD, AdaGrad, Adam, AnnealedSGD, GainTrainer, OnlineTrainer, PassiveAggressive
from hedgerow.training.monitor import Monitor
from hedgerow.training.online.adagrad import AdaptiveGains
from hedgerow.training.online.adam import SparseAdam
from hedgerow.training.online.arow import AdaptiveSteps
from hedgerow.training.online.averaged_perceptron import AveragedSteps
from hedgerow.training.online.batches import Batches
from hedgerow.training.online.learners import Make
from hedgerow.training.online.passes import Observe, train
from hedgerow.training.online.passive_aggressive import PassiveAggressiveSteps
from hedgerow.training.online.sgd import Descent, annealed
from hedgerow.training.online.smd import meta_descent
from hedgerow.training.online.state import TrainerState


def train_online(
    trainer: OnlineTrainer,
    batches: Batches,
    weights: FloatArray,
    monitor: Monitor,
    *,
    l2: float = 0.0,
    square: FloatArray | None = None,
    observe: Observe | None = None,
    state: TrainerState | None = None,
) -> FloatArray:
    """Minimise the loss + l2·‖w‖²; the weights that the monitor keeps.

    `square`, (W,), is the mean square of the values of each weight's feature: some trainers take features in units of
    their own into account.
    """
    make, tune = _learners(trainer, batches, l2, square)
    if isinstance(trainer, GainTrainer):
        gain, penalty = trainer.gain, l2
    else:  # who learns from mistakes has no gain, and no penalty
        gain, penalty = 1.0, 0.0
    return train(batches, weights, monitor, make, l2=penalty, gain=gain, observe=observe, tune=tune, state=state)


def _learners(
    trainer: OnlineTrainer, batches: Batches, l2: float, square: FloatArray | None
) -> tuple[Make, Make | None]:
    """What makes the learners of a trainer; and those that try gains, where they are others."""
    match trainer:
        case SGD():
            return partial(Descent, batches, l2), None
        case AnnealedSGD(schedule=schedule):
            return annealed(batches, l2, schedule, square), None
        case AdaGrad():
            return partial(AdaptiveGains, batches, l2, square=square), None
        case Adam():
            return partial(SparseAdam, batches, l2), None
        case SMD():
            names = ("meta_gain", "gain_decay", "lazy", "schedule", "max_growth")
            return meta_descent(batches, l2, **{name: getattr(trainer, name) for name in names})
        case PassiveAggressive():
            return lambda start, gain: PassiveAggressiveSteps(batches, trainer, start), None
        case AROW():
            return lambda start, gain: AdaptiveSteps(batches, trainer, start), None
        case _:
            return lambda start, gain: AveragedSteps(batches, start), None
