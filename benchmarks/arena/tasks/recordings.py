"""Long single recordings, cut from other tasks: one sequence trains and one is tested.

Errors are counted by blocks of a recording for the paired tests, for there is but one sequence.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from benchmarks.arena.tasks.made import labels_beside_labels
from benchmarks.arena.tasks.public import chorales, home_a, protein
from benchmarks.arena.tasks.task import TASKS, Asked, Task, end_to_end, fixed, join
from hedgerow.legend import IndexArray


@TASKS.add("recording: home A")
def recording_home(asked: Asked) -> Task:
    """Days of home A end to end: those that home A never tests, then those that it tests; errors by the hour."""
    task = home_a(asked)
    n = asked.size(len(task.y), 12)
    return recording(task, np.arange(0, n, 2), np.arange(1, n, 2), block=60)


@TASKS.add("recording: protein")
def recording_protein(asked: Asked) -> Task:
    """Training proteins end to end, then test proteins end to end; errors by 100 residues."""
    task = protein(asked)
    return recording(task, *task.parts[0], block=100)


@TASKS.add("recording: chorales")
def recording_chorales(asked: Asked) -> Task:
    """Chorales end to end; errors by 50 events."""
    task = chorales(asked)
    return recording(task, *task.parts[0], block=50)


@TASKS.add("recording: made")
def recording_made(asked: Asked) -> Task:
    """The sequences of a hidden Markov model end to end; errors by 50 positions."""
    task = labels_beside_labels(asked)
    return replace(recording(task, *task.parts[0], block=50), best=None)


def recording(task: Task, train: IndexArray, test: IndexArray, block: int) -> Task:
    """These sequences of a task as two recordings."""
    (X, y), (X_test, y_test) = (end_to_end(task.X, task.y, places) for places in (train, test))
    return replace(task, X=join(X, X_test), y=[y, y_test], parts=fixed(1, 1), tested=None, block=block)
