"""Small graphs with scores, and messages at any stage, for the tests of the kernels of lattices."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st

from hedgerow.lattice.graphs import Topology
from tests.lattice.made import full_edges, random_potentials


class Case(NamedTuple):
    """nodes (n, K), edges (M or 1, K, K), also one per edge, rho (M,), log messages (2M, K), and a generator."""

    top: Topology
    nodes: np.ndarray
    edges: np.ndarray
    each: np.ndarray
    rho: np.ndarray
    messages: np.ndarray
    rng: np.random.Generator

    @property
    def graph(self):
        return self.nodes, self.each, self.top.ends

    def visits(self, *, back):
        """What a kernel needs to go back or forth (low, high, begin, end, step), and who sends along what."""
        top = self.top
        low, high = (top.ptr[:-1], top.middle) if back else (top.middle, top.ptr[1:])
        begin, end, step = (top.n_nodes - 1, -1, -1) if back else (0, top.n_nodes, 1)
        sends = [(int(i), top.out[low[i] : high[i]].tolist()) for i in top.order[slice(None, None, step)]]
        return (low, high, begin, end, step), sends

    def awake(self):
        """Some nodes have news."""
        return (self.rng.random((2, self.top.n_nodes)) < 0.7).astype(np.uint8)


@st.composite
def cases(draw, *, n_labels=None):
    """A graph, connected or not, with or without a circle; all rho are alike, or not."""
    rng = np.random.default_rng(draw(st.integers(0, 2**31)))
    K = draw(st.integers(1, 4)) if n_labels is None else n_labels
    share, acyclic, shared = draw(st.sampled_from([0.3, 0.8])), draw(st.booleans()), draw(st.booleans())
    potentials = random_potentials(rng, draw(st.integers(1, 7)), K, share=share, acyclic=acyclic, shared=shared)
    top = potentials.topology
    rho = np.full(top.n_edges, draw(st.sampled_from([np.nan, 0.5, 0.7, 1.0])))
    rho = np.where(np.isnan(rho), rng.uniform(0.3, 1.0, size=top.n_edges), rho)
    messages = rng.normal(size=(2 * top.n_edges, K))
    messages -= messages.max(axis=1, keepdims=True)
    return Case(top, potentials.node_scores, potentials.edge_scores, full_edges(potentials), rho, messages, rng)
