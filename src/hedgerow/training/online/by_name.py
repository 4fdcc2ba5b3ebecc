"""The online trainers by their names."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from hedgerow.legend import FloatArray
from hedgerow.training.monitor import Monitor
from hedgerow.training.online.adagrad import adagrad
from hedgerow.training.online.adam import adam
from hedgerow.training.online.averaged_perceptron import averaged_perceptron
from hedgerow.training.online.batches import Batches
from hedgerow.training.online.sgd import annealed_sgd, sgd, unit_scale
from hedgerow.training.online.smd import smd
from hedgerow.training.online.state import TrainerState


def train_online(
    name: str,
    batches: Batches,
    weights: FloatArray,
    monitor: Monitor,
    *,
    l2: float,
    gain: float | str,
    square: FloatArray,
    options: Mapping[str, Any] = MappingProxyType({}),
    state: TrainerState | None = None,
) -> FloatArray:
    """Train by the trainer of this name; the weights that the monitor keeps.

    Each takes what it has a use for. `square`, (W,), is the mean square of the values of each weight's feature;
    `options` are those of this trainer alone.
    """
    given: dict[str, Any] = {"l2": l2, "gain": gain, "state": state, **options}
    match name:
        case "sgd":
            return sgd(batches, weights, monitor, **given)
        case "annealed_sgd":
            return annealed_sgd(batches, weights, monitor, **given, scale=unit_scale(square))
        case "adagrad":
            return adagrad(batches, weights, monitor, **given, square=square)
        case "adam":
            return adam(batches, weights, monitor, **given)
        case "smd":
            return smd(batches, weights, monitor, **given)
        case "averaged_perceptron":
            return averaged_perceptron(batches, weights, monitor, state=state)
    raise AssertionError(f"no online trainer is called {name!r}")
