"""Tasks that are drawn from a model which is known, and with it the accuracy of the best labelling there is."""

from __future__ import annotations

import numpy as np

from benchmarks.arena.tasks.task import TASKS, Asked, Task, fixed
from hedgerow.data.sequences import Sequences
from reproduction.slides import tasks as drawn

STAY, FLIP = 0.9, 0.1
LENGTH = 20


@TASKS.add("made: labels")
def labels_beside_labels(asked: Asked) -> Task:
    """A hidden Markov model, drawn anew for each seed: nothing but labels relates positions."""
    return _drawn(asked, drawn.neighbouring_labels(*_sizes(asked), asked.seed))


@TASKS.add("made: inputs")
def inputs_beside_the_position(asked: Asked) -> Task:
    """Labels by a softmax of the token and its neighbours: nothing but inputs relates positions."""
    return _drawn(asked, drawn.neighbouring_inputs(*_sizes(asked), asked.seed))


@TASKS.add("made: interaction")
def interaction(asked: Asked) -> Task:
    """A label that tends to stay, and two coins that say by being alike or not, right nine times of ten, what it is:
    neither says anything alone."""
    n, m = _sizes(asked)
    rng = np.random.default_rng([asked.seed, 3])
    labels = (np.cumsum(rng.random((n + m, LENGTH)) >= STAY, axis=1) + rng.integers(2, size=(n + m, 1))) % 2
    first = rng.integers(2, size=labels.shape)
    shown = labels ^ (rng.random(labels.shape) < FLIP)
    columns = {"first": first.ravel() == 1, "second": (first ^ shown).ravel() == 1}
    X = Sequences(columns, LENGTH * np.arange(n + m + 1), dict.fromkeys(columns, "boolean"))
    y = [[str(label) for label in row] for row in labels]
    return Task(X, y, fixed(n, m), redrawn=True, best=_best(shown[n:], labels[n:]))


def _best(shown: np.ndarray, labels: np.ndarray) -> float:
    """Accuracy of the posterior of the model itself, by forward and backward sums."""
    moves = np.array([[STAY, 1 - STAY], [1 - STAY, STAY]])
    seen = np.array([[1 - FLIP, FLIP], [FLIP, 1 - FLIP]])  # [label, shown], symmetric
    forward, backward = np.empty((2, *shown.shape, 2))
    forward[:, 0], backward[:, -1] = seen[shown[:, 0]], 1.0
    for t in range(1, shown.shape[1]):
        forward[:, t] = forward[:, t - 1] @ moves * seen[shown[:, t]]
        backward[:, -1 - t] = (backward[:, -t] * seen[shown[:, -t]]) @ moves.T
    return float(((forward * backward).argmax(axis=2) == labels).mean())


def _sizes(asked: Asked) -> tuple[int, int]:
    return asked.size(400, 80), asked.size(400, 80)


def _drawn(asked: Asked, task: drawn.Task) -> Task:
    parts = fixed(len(task.X), len(task.X_test))
    return Task(
        [*task.X, *task.X_test], [*task.y, *task.y_test], parts, window=task.window, redrawn=True, best=task.best
    )
