"""Trainings that die after a write of their checkpoint, and what must be the same when they go on."""

from __future__ import annotations

import copy
import warnings
from typing import Any

from hedgerow import Checkpoint
from hedgerow.estimators.files import pack_model


class Died(Exception):
    """The training ends here, as if it had been killed."""


class Mortal(Checkpoint):
    """A checkpoint that is written after every iteration and stage, and after so many writes dies; None: never."""

    def __init__(self, path: Any, lives: int | None = None) -> None:
        self.lives, self.writes = lives, 0
        super().__init__(path, every=0.0)

    def _write(self) -> None:
        super()._write()
        self.writes += 1
        if self.writes == self.lives:
            raise Died


def bits(model: Any) -> Any:
    """All that a model has learnt, and how its training went but for the time."""
    header, tensors = pack_model(model)
    arrays = {name: (array.dtype, array.shape, array.tobytes()) for name, array in sorted(tensors.items())}
    steps = [(step.iteration, step.loss, step.score, step.stage) for step in model.history_]
    for board in (header["state"].get("leaderboard") or []) if isinstance(header["state"], dict) else []:
        board.pop("seconds", None)
    return header, arrays, steps, model.n_iter_, model.best_iteration_, model.loss_, model.outcome_


def fitted(model: Any, data: tuple[Any, ...], checkpoint: Any = None, **more: Any) -> Any:
    """A copy of the model, fitted."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return copy.deepcopy(model).fit(*data, checkpoint=checkpoint, **more)


def live_and_die(model: Any, data: tuple[Any, ...], path: Any, lives: int = 1, **more: Any) -> tuple[Any, int]:
    """The model after a training that dies again and again, each time after so many writes; and how often it died."""
    for n in range(2000):
        try:
            return fitted(model, data, Mortal(path, lives), **more), n
        except Died:
            assert path.exists()
    raise AssertionError("it never ends")
