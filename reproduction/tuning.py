"""Parameters by cross-validation within the training part: the test part is never looked at."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import joblib
import numpy as np

from hedgerow.errors import InputError
from hedgerow.legend import FloatArray, IndexArray
from hedgerow.models.crf.tree import TreeCRF
from reproduction.curves import right_by_iteration
from reproduction.problems import Part, folds, take
from reproduction.settings import DECODERS

Parameters = Mapping[str, Any]
Make = Callable[..., TreeCRF]


@dataclass(frozen=True)
class Choice:
    """What the cross-validation prefers, and its accuracy there. `last`: it is the longest run that was tried."""

    parameters: Parameters
    decoder: str
    n_iterations: int
    accuracy: float
    last: bool


@dataclass(frozen=True)
class Curves:
    """Accuracies of a cross-validation: (grid, decoders, iterations)."""

    grid: tuple[Parameters, ...]
    decoders: tuple[str, ...]
    accuracies: FloatArray

    def best(self, decoder: str | None = None) -> Choice:
        """The best point: of one decoder, or of all. Of equals the first: fewer iterations, the earlier parameters."""
        rows = self.accuracies.copy()
        if decoder is not None:
            rows[:, [d for d, name in enumerate(self.decoders) if name != decoder]] = -np.inf
        g, d, m = np.unravel_index(int(np.argmax(rows)), rows.shape)
        return Choice(
            parameters=self.grid[g],
            decoder=self.decoders[d],
            n_iterations=int(m) + 1,
            accuracy=float(rows[g, d, m]),
            last=int(m) + 1 == rows.shape[2],
        )


def tune(
    make: Make,
    grid: Sequence[Parameters],
    X: Any,
    y: Sequence[Sequence[Any]],
    *,
    n_folds: int,
    seed: int,
    n_jobs: int = 1,
    decoders: tuple[str, ...] = DECODERS,
    groups: IndexArray | None = None,
) -> Curves:
    """Cross-validate a boosted model on (X, y), whole sequences at a time.

    Parameters
    ----------
    make : called with the parameters of a grid point, gives a model to fit, which runs its iterations to the end
    grid : what to try
    X, y : the training part
    n_folds, seed : of the folds
    n_jobs : processes
    groups : as `folds` has it
    """
    if not grid:
        raise InputError("the grid is empty")
    parts = folds(len(y), n_folds, seed, groups)
    jobs = [(parameters, part) for parameters in grid for part in parts]
    counts = joblib.Parallel(n_jobs=n_jobs)(
        joblib.delayed(_count_right)(make(**parameters), X, y, part, decoders) for parameters, part in jobs
    )
    right = np.array(counts).reshape(len(grid), len(parts), len(decoders), -1).sum(axis=1)
    return Curves(tuple(grid), decoders, right / sum(len(labels) for labels in y))


def _count_right(
    model: TreeCRF, X: Any, y: Sequence[Sequence[Any]], part: Part, decoders: tuple[str, ...]
) -> IndexArray:
    """Right labels of the fold left out: (decoders, iterations)."""
    model.fit(take(X, part.train), take(y, part.train))
    return right_by_iteration(model, take(X, part.test), take(y, part.test), decoders)
