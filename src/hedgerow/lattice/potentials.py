"""The scores of one graph: of each label at each node, and of each pair of labels along each edge."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hedgerow.errors import InputError
from hedgerow.lattice import kernels
from hedgerow.lattice.inference.topology import Topology
from hedgerow.legend import UNLABELLED, CodeArray, FloatArray


@dataclass(frozen=True, eq=False)
class Potentials:
    """node_scores (n, K), −inf where a label is impossible; edge_scores (M, K, K) [tail, head], or (1, K, K) for all.

    Edge scores are finite: no pair of labels is impossible.
    """

    topology: Topology
    node_scores: FloatArray
    edge_scores: FloatArray

    def __post_init__(self) -> None:
        n, M, K = self.topology.n_nodes, self.topology.n_edges, self.n_labels
        if self.node_scores.shape != (n, K) or self.edge_scores.shape not in ((M, K, K), (1, K, K)):
            shapes = f"{self.node_scores.shape} and {self.edge_scores.shape}"
            raise InputError(f"scores of the shapes {shapes} do not fit {n} nodes and {M} edges")

    @property
    def n_labels(self) -> int:
        return int(self.node_scores.shape[1])

    def score(self, labels: CodeArray) -> float:
        """The score of a labeling (n,)."""
        return float(kernels.search.labeling_score(self.node_scores, self.edge_scores, self.topology.ends, labels))

    def restrict(self, labels: CodeArray) -> Potentials:
        """The same with every label but the given one impossible, where one is given (n,)."""
        scores = self.node_scores.copy()
        known = labels != UNLABELLED
        scores[known] = -np.inf
        scores[known, labels[known]] = self.node_scores[known, labels[known]]
        return Potentials(self.topology, scores, self.edge_scores)

    def steepness(self) -> float:
        """How far, at any node, the logarithms of its messages can be apart in all."""
        top = self.topology
        work = np.empty(len(self.edge_scores))
        return float(kernels.messages.steepness(self.edge_scores, top.ptr, top.out, work))
