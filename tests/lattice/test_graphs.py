"""Items: what a graph and a grid are, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.errors import InputError
from hedgerow.lattice import graph, grid
from hedgerow.lattice.graphs import Topology, grid_directions

from .made import random_potentials

PAIR = [[0, 1]]


@given(st.integers(1, 5), st.integers(1, 5), st.integers(1, 3), st.sampled_from([4, 8]))
@settings(max_examples=40)
def test_a_grid_joins_all_neighbours_once(height, width, channels, neighbours):
    image = np.arange(height * width * channels, dtype=float).reshape(height, width, channels)
    own = grid(image, neighbours=neighbours)
    found = {tuple(pair) for pair in own.topology.ends.tolist()}
    places = [(i, j) for i in range(height) for j in range(width)]
    wanted = set()
    for a, (i, j) in enumerate(places):
        for b, (k, l) in enumerate(places):
            near = abs(i - k) + abs(j - l) == 1 or (neighbours == 8 and max(abs(i - k), abs(j - l)) == 1)
            if a < b and near:
                wanted.add((a, b))
    assert found == wanted
    assert own.n_edges == len(wanted)
    assert np.array_equal(own.node_features, image.reshape(-1, channels))
    assert own.shape == (height, width)


@pytest.mark.parametrize(("neighbours", "count"), [(6, 3 * 4 * 9), (26, None)])
def test_a_volume(neighbours, count):
    own = grid(np.zeros((3, 3, 4)), ndim=3, neighbours=neighbours)
    assert own.shape == (3, 3, 4)
    degree = np.diff(own.topology.ptr).reshape(own.shape)
    assert degree[1, 1, 1] == neighbours
    assert grid(np.zeros((3, 3, 4, 2)), ndim=3).node_features.shape == (36, 2)


def test_directions_of_a_grid_are_told_apart():
    assert grid_directions(2, 4) == [(0, 1), (1, 0)]
    assert grid_directions(2, 8) == [(0, 1), (1, -1), (1, 0), (1, 1)]
    own = grid(np.zeros((3, 4)), neighbours=8)
    steps = own.topology.ends[:, 1] - own.topology.ends[:, 0]
    assert {int(d): set(steps[own.directions == d].tolist()) for d in range(4)} == {0: {1}, 1: {3}, 2: {4}, 3: {5}}


def test_half_edges_leave_the_nodes_they_should(rng):
    for acyclic in (False, True):
        top = random_potentials(rng, 9, 2, acyclic=acyclic).topology
        rank = np.empty(9, dtype=int)
        rank[top.order] = np.arange(9)
        for i in range(9):
            own = top.out[top.ptr[i] : top.ptr[i + 1]]
            assert all(top.ends[h >> 1, h & 1] == i for h in own)
            targets = np.array([top.ends[h >> 1, 1 - (h & 1)] for h in own], dtype=int)
            before = top.out[top.ptr[i] : top.middle[i]]
            assert (rank[targets] < rank[i]).sum() == len(before)
            if acyclic:
                assert len(before) <= 1
        assert top.is_acyclic == acyclic or top.n_edges == 9 - top.n_components


def test_components_are_counted():
    assert Topology.of(5, np.array([[0, 1], [2, 3]])).n_components == 3
    assert Topology.of(3, np.array([[0, 1], [1, 2], [2, 0]])).is_acyclic is False


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: graph([[1.0], [2.0]], [[0, 2]]), r"edge 0 joins \(0, 2\).*0 to 1"),
        (lambda: graph([[1.0], [2.0]], [[-1, 0]]), r"edge 0 joins \(-1, 0\)"),
        (lambda: graph([[1.0], [2.0]], [[1, 1]]), "edge 0 joins node 1 with itself"),
        (lambda: graph([1.0, 2.0, 3.0], [[0, 1], [1, 2], [1, 0]]), r"the edge \(0, 1\) stands more than once"),
        (lambda: graph([[1.0], [2.0]], [[0.0, 1.0]]), "edges is an array of float64"),
        (lambda: graph([[1.0], [2.0]], [0, 1]), "of the shape"),
        (lambda: graph(np.empty((0, 2)), []), "no nodes"),
        (lambda: graph([["a"], ["b"]], PAIR), "does not hold numbers"),
        (lambda: graph([[1.0], [np.inf]], PAIR), "infinite number"),
        (lambda: graph([[1.0], [2.0]], PAIR, [[1.0], [2.0]]), "1 edges and 2 rows of edge_features"),
        (lambda: graph([[1.0], [2.0]], PAIR, directions=[-1]), "directions go from -1"),
        (lambda: graph([[1.0], [2.0]], PAIR, directions=[0.5]), "directions is an array of float64"),
        (lambda: graph(np.zeros((2, 2, 2)), PAIR), "has the shape"),
        (lambda: grid(np.zeros((0, 4))), "no pixels"),
        (lambda: grid(np.zeros(4)), r"has the shape \(4,\)"),
        (lambda: grid(np.zeros((3, 3)), neighbours=6), "no 6 neighbours"),
        (lambda: grid(np.zeros((3, 3)), ndim=4), "ndim is 4"),
        (lambda: grid(np.zeros((3, 3)), edge_features=np.zeros((3, 1))), "12 edges and 3 rows"),
        (lambda: grid([["x"]]), "does not hold numbers"),
    ],
)
def test_what_is_no_graph_is_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()


def test_a_graph_says_what_it_is():
    assert repr(grid(np.zeros((2, 3)))) == "Graph(2×3 nodes, 7 edges, 1 features)"
    one = graph([1.0, 2.0], PAIR, [0.5], directions=[3])
    assert one.edge_features.shape == (1, 1)
    assert one.directions.tolist() == [3]
