"""The best labeling of a graph: by max-product, iterated conditional modes, or a graph cut."""

from __future__ import annotations

from importlib import import_module

import numpy as np

from hedgerow.errors import InputError, MissingExtraError
from hedgerow.lattice.inference.infer import Inference, propagate
from hedgerow.lattice.inference.labelings import Labeling, improve
from hedgerow.lattice.scores import Potentials
from hedgerow.legend import CODE

SEARCHES = ("max_product", "icm", "graph_cut")


def search(potentials: Potentials, method: str, inference: Inference) -> Labeling:
    """A labeling with a high score, by the search of this name.

    "max_product" takes the labels of max-product belief propagation, exact without a circle, and improves them by
    "icm", iterated conditional modes, which by itself begins with the best label of each node. "graph_cut" is exact,
    for two labels whose edges favour equal ones.
    """
    if method == "graph_cut":
        return graph_cut(potentials)
    if method == "icm":
        return improve(potentials, potentials.node_scores.argmax(axis=1))
    passing, report = propagate(potentials, inference, maximise=True)
    return improve(potentials, passing.node_probs().argmax(axis=1))._replace(converged=report.converged)


def is_submodular(potentials: Potentials) -> bool:
    """Whether a graph cut finds the best labeling: two labels, and no edge that favours different ones."""
    if potentials.n_labels != 2:
        return False
    table = potentials.edge_scores
    rounding = 1e-12 * float(np.abs(table).max(initial=0.0))
    return bool(np.all(table[:, 0, 0] + table[:, 1, 1] >= table[:, 0, 1] + table[:, 1, 0] - rounding))


def graph_cut(potentials: Potentials) -> Labeling:
    """The best labeling of two, by a minimum cut; needs PyMaxflow."""
    try:
        maxflow = import_module("maxflow")
    except ImportError as error:
        raise MissingExtraError("PyMaxflow", "lattice", "a graph cut") from error
    if not is_submodular(potentials):
        hint = "A graph cut takes two labels and edges that favour equal ones; use 'max_product'."
        raise InputError("the edges favour different labels, or there are not two of these", hint=hint)
    top = potentials.topology
    nodes = np.where(np.isneginf(potentials.node_scores), -_beyond(potentials), potentials.node_scores)
    tables = np.broadcast_to(potentials.edge_scores, (top.n_edges, 2, 2))
    tail, head = top.ends.T
    # Energies: label 1 costs `cost` more than 0 at a node, and an edge costs `apart` where its ends are (0, 1).
    cost = nodes[:, 0] - nodes[:, 1]
    apart = tables[:, 0, 0] + tables[:, 1, 1] - tables[:, 0, 1] - tables[:, 1, 0]
    cost = cost + np.bincount(tail, weights=tables[:, 0, 0] - tables[:, 1, 0], minlength=top.n_nodes)
    cost = cost + np.bincount(head, weights=tables[:, 1, 0] - tables[:, 1, 1], minlength=top.n_nodes)
    network = maxflow.GraphFloat(top.n_nodes, top.n_edges)
    places = network.add_nodes(top.n_nodes)
    if top.n_edges:
        network.add_edges(tail, head, np.maximum(apart, 0.0), np.zeros(top.n_edges))
    network.add_grid_tedges(places, np.maximum(cost, 0.0), np.maximum(-cost, 0.0))
    network.maxflow()
    labels = np.asarray(network.get_grid_segments(places)).astype(CODE)
    return Labeling(labels, potentials.score(labels), True)


def _beyond(potentials: Potentials) -> float:
    """More than any difference of two labelings' scores at one node."""
    finite = np.where(np.isneginf(potentials.node_scores), 0.0, potentials.node_scores)
    degree = int(np.diff(potentials.topology.ptr).max(initial=0))
    return (
        1.0 + 2.0 * float(np.abs(finite).max()) + 4.0 * degree * float(np.abs(potentials.edge_scores).max(initial=0.0))
    )
