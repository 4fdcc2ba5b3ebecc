"""What the losses have in common that compare the best labeling with the truth: gradient best − truth."""

from __future__ import annotations

import numpy as np

from hedgerow.chain.potentials import ChainPotentials, PositionEdges
from hedgerow.legend import UNLABELLED, AnyArray, FloatArray, IndexArray


def difference(
    potentials: ChainPotentials, found: AnyArray, truth: AnyArray, slopes: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """slopes · (indicator of the nodes and edges of `found` − that of `truth`); both (n,), slopes (s,) a sequence."""
    spread = np.repeat(slopes, np.diff(potentials.offsets))
    differs = (found != truth) & (spread != 0.0)
    rows = np.flatnonzero(differs)
    nodes, edges = zero_gradients(potentials)
    into = differs.copy()  # the edges into a position that differs, and into the one after it
    into[1:] |= differs[:-1]
    touched = np.flatnonzero(into & (potentials.first()[:-1] == 0))
    add_labeling(found, spread, rows, touched, nodes, edges)
    add_labeling(truth, -spread, rows, touched, nodes, edges)
    return nodes, edges


def zero_gradients(potentials: ChainPotentials) -> tuple[FloatArray, FloatArray]:
    """Zeros for the nodes (n, K) and for the edges (K, K) or (K, n, K)."""
    n, K = potentials.node_scores.shape
    shape = (K, n, K) if isinstance(potentials.tables, PositionEdges) else (K, K)
    return np.zeros((n, K)), np.zeros(shape)


def add_labeling(
    labels: AnyArray,
    spread: FloatArray,
    node_rows: IndexArray,
    edge_rows: IndexArray,
    nodes: FloatArray,
    edges: FloatArray,
) -> None:
    """Add spread (n,) to the nodes of a labeling (n,) at some rows and to its edges into some rows, in place."""
    nodes[node_rows, labels[node_rows]] += spread[node_rows]
    before, here = labels[edge_rows - 1], labels[edge_rows]
    if edges.ndim == 3:
        edges[here, edge_rows, before] += spread[edge_rows]
    else:
        K = len(edges)
        cells = before.astype(np.int64) * K + here
        edges += np.bincount(cells, weights=spread[edge_rows], minlength=K * K).reshape(K, K)


def cost_rows(costs: FloatArray, labels: AnyArray) -> FloatArray:
    """(n, K): what each label costs beside the true one; 0 where that is not known."""
    rows: FloatArray = costs[labels]
    rows[labels == UNLABELLED] = 0.0
    return rows
