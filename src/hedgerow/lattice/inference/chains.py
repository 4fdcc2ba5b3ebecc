"""A graph as a mixture of chains, for tree-reweighted messages whose bound never rises.

Each edge has a weight, its share of the mixture. Where the nodes have an order, and at no node the weights of the edges
from nodes before it add up to more than 1, nor those of the edges to nodes after it, there are chains along which the
order rises that hold each edge with just its weight, and each node with weight 1 where single nodes fill up. A visit of
a node makes all chains through it agree on its probabilities, which is the best that can be done there; in the order of
the nodes, what it needs to know of each chain is in the messages at hand. So the bound on log Z falls at every sweep.

What hangs on the circles of a graph as trees is in every chain that has the node they hang on: its edges have weight 1.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hedgerow.lattice import kernels
from hedgerow.lattice.graphs import Topology
from hedgerow.legend import CODE, AnyArray, BoolArray, CodeArray, FloatArray

ENOUGH = 0.9  # of the weight of a spanning tree: no other order is tried where the given one covers so much
GAIN = 1.01  # weights are raised as long as it makes their sum larger by so much


class Cover(NamedTuple):
    """A graph laid out in the order of the chains, and the weights (M,) of its edges."""

    topology: Topology
    weights: FloatArray


def cover(topology: Topology) -> Cover:
    """Chains that cover much: in the order the nodes have, breadth first, or depth first."""
    if topology.is_acyclic:
        return Cover(topology, np.ones(topology.n_edges))
    peeled, is_peeled = _peel(topology)
    best, best_order = _weigh(topology, topology.order, is_peeled), topology.order
    if best.sum() < ENOUGH * (topology.n_nodes - topology.n_components):
        for order in _other_orders(topology):
            weights = _weigh(topology, order, is_peeled)
            if weights.sum() > best.sum():
                best, best_order = weights, order
    if best_order is topology.order and not len(peeled):
        return Cover(topology, best)
    # Trees come after what they hang on: the first sweep back has told all they have to say when it comes to circles.
    order = np.concatenate([best_order[~is_peeled[best_order]], peeled[::-1]])
    return Cover(topology.in_order(order), best)


def _peel(topology: Topology) -> tuple[CodeArray, BoolArray]:
    """The nodes that are in no circle and between none, each after what hangs on it; and a mark for them."""
    n = topology.n_nodes
    peeled, degree = np.empty((2, n), dtype=CODE)
    removed: AnyArray = np.zeros(n, dtype=np.uint8)
    count = kernels.order.peel(topology.ends, topology.ptr, topology.out, peeled, degree, removed)
    return peeled[:count], removed.astype(bool)


def _other_orders(topology: Topology) -> list[CodeArray]:
    n, graph = topology.n_nodes, (topology.ends, topology.ptr, topology.out)
    breadth, depth = np.empty((2, n), dtype=CODE)
    kernels.order.breadth_first(*graph, breadth, np.zeros(n, dtype=np.uint8))
    kernels.order.depth_first(*graph, depth, np.full(n, -1, dtype=CODE), np.empty(n, dtype=CODE))
    return [breadth, depth]


def _weigh(topology: Topology, order: CodeArray, is_peeled: BoolArray) -> FloatArray:
    """Weights of edges (M,): 1 outside of circles, and as large as chains along the order allow inside."""
    n = topology.n_nodes
    rank: CodeArray = np.empty(n, dtype=CODE)
    rank[order] = np.arange(n, dtype=CODE)
    weights: FloatArray = np.full(topology.n_edges, 1.0 / topology.n_edges)
    sums = np.empty((2, n))
    total, risen = 0.0, 1.0
    while risen > GAIN * total:
        total, risen = risen, float(kernels.order.raise_weights(topology.ends, rank, is_peeled, weights, sums))
    return weights
