"""A labeling of a graph, and better ones near by."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hedgerow.lattice import kernels
from hedgerow.lattice.scores import Potentials
from hedgerow.legend import CODE, CodeArray, FloatArray

MAX_ROUNDS = 1000  # of iterated conditional modes, which ends much sooner: every round raises the score


class Labeling(NamedTuple):
    """labels int32[n], their score, and whether the search came to an end by itself."""

    labels: CodeArray
    score: float
    converged: bool


def improve(potentials: Potentials, labels: CodeArray) -> Labeling:
    """Change one label at a time while that raises the score: iterated conditional modes."""
    top, improved = potentials.topology, labels.astype(CODE)
    field: FloatArray = np.empty(potentials.n_labels)
    graph = potentials.node_scores, potentials.edge_scores, top.ends, top.ptr, top.out, top.order
    for _ in range(MAX_ROUNDS):
        if kernels.search.improve(*graph, 0, top.n_nodes, improved, field) == 0:
            return Labeling(improved, potentials.score(improved), True)
    return Labeling(improved, potentials.score(improved), False)
