"""Labels given those around them, in chains of higher order: what a label scores where all others stay.

A label takes part in its own score and in those of the n labels after it. So positions that are n+1 apart can be
changed at once, and a labeling that has label k at each of them tells what k scores at all: (n+1)·K labelings do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from hedgerow.chain.potentials import ChainPotentials
from hedgerow.legend import AnyArray, BoolArray, FloatArray, IndexArray


def add_neighbours(
    scores: FloatArray, potentials: ChainPotentials, labels: AnyArray, score: Callable[[AnyArray], FloatArray]
) -> None:
    """Add to scores (n, K) what the edges score where a label is changed. score : of a labeling (n,), by position."""
    for label, rows, reached, inside, changed in _changes(potentials, labels):
        values = score(changed)
        scores[rows, label] += np.where(inside, values[np.where(inside, reached, 0)], 0.0).sum(axis=0)


def neighbour_gradient(
    potentials: ChainPotentials, labels: AnyArray, excess: FloatArray, add: Callable[[AnyArray, FloatArray], None]
) -> None:
    """Pull excess (n, K), derivatives by what `add_neighbours` adds, back. add : weights (n,) to a labeling's edges."""
    for label, rows, reached, inside, changed in _changes(potentials, labels):
        weights = np.zeros(len(labels))
        weights[reached[inside]] = np.broadcast_to(excess[rows, label], reached.shape)[inside]
        add(changed, weights)


def _changes(
    potentials: ChainPotentials, labels: AnyArray
) -> Iterator[tuple[int, IndexArray, IndexArray, BoolArray, AnyArray]]:
    """A label; the rows (m,) that have it; the positions (n+1, m) whose scores look at each of these rows, and whether
    they are of its sequence; the labeling."""
    reach = potentials.edges.order + 1
    ends = np.repeat(potentials.offsets[1:], np.diff(potentials.offsets))
    for first in range(min(reach, len(labels))):
        rows = np.arange(first, len(labels), reach)
        reached = rows + np.arange(reach)[:, None]
        inside = reached < ends[rows]
        for label in range(potentials.n_labels):
            changed = labels.copy()
            changed[rows] = label
            yield label, rows, reached, inside, changed
