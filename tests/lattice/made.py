"""Small random graphs for the tests."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from hypothesis import strategies as st

from hedgerow.lattice.graphs import Topology, grid_topology
from hedgerow.lattice.scores import Potentials


def random_potentials(rng, n_nodes, n_labels, *, share=0.5, scale=1.0, acyclic=False, shared=False):
    """Scores from a normal distribution on a random graph (a random forest, where `acyclic`)."""
    if acyclic:
        chosen = [(int(rng.integers(i)), i) for i in range(1, n_nodes) if rng.random() < 0.8]
        turn = rng.permutation(n_nodes)
        chosen = [(int(turn[i]), int(turn[j])) for i, j in chosen]
    else:
        chosen = [pair for pair in combinations(range(n_nodes), 2) if rng.random() < share]
    chosen = [pair[::-1] if rng.random() < 0.3 else pair for pair in chosen]
    topology = Topology.of(n_nodes, np.array(chosen, dtype=np.int64).reshape(-1, 2))
    edges = scale * rng.normal(size=(1 if shared else len(chosen), n_labels, n_labels))
    return Potentials(topology, scale * rng.normal(size=(n_nodes, n_labels)), edges)


def grid_potentials(rng, shape, n_labels, *, scale=1.0, neighbours=4):
    topology, _ = grid_topology(shape, neighbours)
    nodes = rng.normal(size=(topology.n_nodes, n_labels))
    return Potentials(topology, nodes, scale * rng.normal(size=(topology.n_edges, n_labels, n_labels)))


def full_edges(potentials):
    """(M, K, K), where one table stands for all edges too."""
    return np.broadcast_to(
        potentials.edge_scores, (potentials.topology.n_edges, *potentials.edge_scores.shape[1:])
    ).copy()


def parts(potentials):
    """nodes, edges, ends, as the reference takes them."""
    return potentials.node_scores, full_edges(potentials), potentials.topology.ends


@st.composite
def drawn_potentials(draw, *, acyclic=None, max_nodes=5, max_labels=3, scales=(0.3, 1.0, 5.0)):
    seed = draw(st.integers(0, 2**31))
    rng = np.random.default_rng(seed)
    return random_potentials(
        rng,
        draw(st.integers(1, max_nodes)),
        draw(st.integers(1, max_labels)),
        share=draw(st.sampled_from([0.0, 0.5, 1.0])),
        scale=draw(st.sampled_from(scales)),
        acyclic=draw(st.booleans()) if acyclic is None else acyclic,
        shared=draw(st.booleans()),
    )
