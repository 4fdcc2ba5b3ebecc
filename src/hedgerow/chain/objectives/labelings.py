"""True labelings: what they score, that the potentials allow them, and what parts another labeling from them."""

from __future__ import annotations

import numpy as np

from hedgerow.chain.edges.tables import tables_of
from hedgerow.chain.inference import best_labelings, check_legal
from hedgerow.chain.potentials import ChainPotentials, Truth
from hedgerow.legend import AnyArray, FloatArray, IndexArray


def check_legal_truth(potentials: ChainPotentials, truth: Truth) -> None:
    """Raise an error where the known labels and allowed sets of a sequence fit no legal labeling."""
    edges, partial = tables_of(potentials), potentials.partly_labelled(truth.labels)
    if len(partial):
        check_legal(potentials.fitting(partial, truth)[0])
    edges.true_scores(potentials, truth.labels)


def best_truth(potentials: ChainPotentials, truth: Truth) -> tuple[AnyArray, FloatArray]:
    """The best labeling that the known labels and allowed sets leave, (n,), and its scores, (s,).

    Of equal ones as `best_labelings` chooses. Where none is legal, an error.
    """
    edges, partial = tables_of(potentials), potentials.partly_labelled(truth.labels)
    labels = truth.labels
    if len(partial):
        part, rows = potentials.fitting(partial, truth)
        labels = labels.copy()
        labels[rows], _ = best_labelings(part)
    return labels, edges.true_scores(potentials, labels)


def difference(
    potentials: ChainPotentials, labels: AnyArray, truth: AnyArray, slopes: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """slopes · (indicator of the nodes and edges of `labels` − that of `truth`); both (n,), slopes (s,)."""
    spread = np.repeat(slopes, np.diff(potentials.offsets))
    differs = (labels != truth) & (spread != 0.0)
    rows = np.flatnonzero(differs)
    nodes, edges = zero_gradients(potentials)
    into = differs.copy()  # the edges into a position that differs, and into the one after it
    into[1:] |= differs[:-1]
    touched = np.flatnonzero(into & (potentials.first[:-1] == 0))
    add_labeling(labels, spread, rows, touched, nodes, edges)
    add_labeling(truth, -spread, rows, touched, nodes, edges)
    return nodes, edges


def zero_gradients(potentials: ChainPotentials) -> tuple[FloatArray, FloatArray]:
    """Zeros for the nodes (n, K) and for the edges (K, K) or (K, n, K)."""
    shape = potentials.node_scores.shape
    return np.zeros(shape), np.zeros(tables_of(potentials).gradient_shape(shape[0]))


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
