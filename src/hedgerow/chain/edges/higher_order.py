"""What the two forms of edges of higher order share: scores of given labelings, and of labels given those around them.

A label takes part in its own score and in those of the n labels after it. So positions that are n+1 apart can be
changed at once, and a labeling that has label k at each of them tells what k scores at all: (n+1)·K labelings do.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator

import numpy as np

from hedgerow.chain.edges.unfolding import FoldedMessages
from hedgerow.chain.potentials import ChainPotentials, Edges, Gradients
from hedgerow.chain.workspace import Workspace
from hedgerow.legend import AnyArray, BoolArray, FloatArray, IndexArray


class HigherOrderEdges(Edges):
    """Edges whose scores look at more labels before than one."""

    __slots__ = ()

    @abstractmethod
    def values_along(
        self, potentials: ChainPotentials, labels: AnyArray, values: FloatArray | None = None
    ) -> FloatArray:
        """What the edges score at each position of a labeling (n,), all of it known. values : in place of the scores,
        shaped as gradients"""

    @abstractmethod
    def add_along(
        self, potentials: ChainPotentials, labels: AnyArray, weights: FloatArray, gradient: FloatArray
    ) -> None:
        """Add weights (n,) to a gradient of edges, where a labeling (n,) passes; not where it has no label."""

    def messages(self, potentials: ChainPotentials, workspace: Workspace | None) -> FoldedMessages:
        return FoldedMessages(self.unfolded(potentials), workspace)

    def position_scores(self, potentials: ChainPotentials, labels: AnyArray) -> FloatArray:
        known = labels >= 0
        labels = np.where(known, labels, 0)
        nodes = potentials.node_scores[np.arange(len(labels)), labels]
        return np.where(known, nodes + self.values_along(potentials, labels), 0.0)

    def subtract_labeling(
        self, potentials: ChainPotentials, labels: AnyArray, weights: FloatArray, gradients: Gradients
    ) -> None:
        node_gradient, edge_gradient = gradients
        rows = np.flatnonzero(labels >= 0)
        node_gradient[rows, labels[rows]] -= weights[rows]
        self.add_along(potentials, labels, -weights, edge_gradient)

    def add_neighbours(
        self, scores: FloatArray, potentials: ChainPotentials, labels: AnyArray, values: FloatArray | None = None
    ) -> None:
        for label, rows, reached, inside, changed in _changes(potentials, labels):
            along = self.values_along(potentials, changed, values)
            scores[rows, label] += np.where(inside, along[np.where(inside, reached, 0)], 0.0).sum(axis=0)

    def neighbour_gradient(self, potentials: ChainPotentials, labels: AnyArray, excess: FloatArray) -> FloatArray:
        gradient: FloatArray = np.zeros(self.gradient_shape(potentials.n_positions))
        for label, rows, reached, inside, changed in _changes(potentials, labels):
            weights = np.zeros(len(labels))
            weights[reached[inside]] = np.broadcast_to(excess[rows, label], reached.shape)[inside]
            self.add_along(potentials, changed, weights, gradient)
        return gradient


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
