"""All trees of a model as flat arrays, and their scores."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hedgerow import kernels
from hedgerow.legend import INDEX, AnyArray, FloatArray, IndexArray
from hedgerow.trees.binning import BinnedData, Binning
from hedgerow.trees.growing import Tree


@dataclass(frozen=True)
class Ensemble:
    """Tree i·K + k is of iteration i and label k: nodes[ptr[j]:ptr[j+1]], values alike; children count from ptr[j]."""

    n_labels: int
    ptr: IndexArray
    nodes: IndexArray
    values: FloatArray

    @classmethod
    def of(cls, n_labels: int, trees: list[Tree]) -> Ensemble:
        sizes = [len(tree.values) for tree in trees]
        ptr = np.concatenate([[0], np.cumsum(sizes)]).astype(INDEX)
        nodes = np.concatenate([np.empty((0, 5), dtype=INDEX), *(tree.nodes for tree in trees)])
        return cls(n_labels, ptr, nodes, np.concatenate([np.empty(0), *(tree.values for tree in trees)]))

    @property
    def n_iterations(self) -> int:
        return (len(self.ptr) - 1) // self.n_labels

    def tree(self, iteration: int, label: int) -> Tree:
        j = iteration * self.n_labels + label
        return Tree(self.nodes[self.ptr[j] : self.ptr[j + 1]], self.values[self.ptr[j] : self.ptr[j + 1]])


def add_trees(
    binning: Binning,
    data: BinnedData,
    places: IndexArray,
    first: AnyArray,
    trees: list[Tree],
    edge_scores: FloatArray,
    node_scores: FloatArray,
) -> None:
    """Add trees, tree j of label j mod K, to edge scores (K, n, K) [to, t, from] and to the ⊥ scores (n, K)."""
    K = len(edge_scores)
    stack, taken = np.empty((K + 1, 2), dtype=INDEX), np.empty(K, dtype=np.uint8)
    start = np.ascontiguousarray(node_scores.T)
    for j, tree in enumerate(trees):
        kernels.boosting.add_tree(
            data.bins, places, first, binning.streams, tree.nodes, tree.values, stack, taken,
            edge_scores[j % K], start[j % K],
        )  # fmt: skip
    node_scores[:] = start.T
