"""Half-edges and orders of nodes against plain Python."""

from __future__ import annotations

from collections import deque

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.lattice.kernels import order as kernels
from tests.examples import examples

from .lattice_cases import cases


def targets(top, i):
    """The nodes that the half-edges of node i lead to, in their order."""
    return [int(top.ends[h >> 1, 1 - (h & 1)]) for h in top.out[top.ptr[i] : top.ptr[i + 1]].tolist()]


@examples(60)
@given(cases(n_labels=1))
def test_half_edges_by_their_targets(case):
    ends, n, M = case.top.ends, case.top.n_nodes, case.top.n_edges
    order = case.rng.permutation(n).astype(np.int32)
    rank = np.empty(n, dtype=np.int32)
    rank[order] = np.arange(n)
    ptr, middle = np.empty(n + 1, dtype=np.int64), np.empty(n, dtype=np.int64)
    out, work = np.empty((2, 2 * M), dtype=np.int32)
    kernels.half_edges(ends, order, rank, ptr, out, middle, work)
    for i in range(n):
        leave = [
            (int(rank[ends[e, 1 - side]]), 2 * e + side) for e in range(M) for side in (0, 1) if ends[e, side] == i
        ]
        assert out[ptr[i] : ptr[i + 1]].tolist() == [half for _, half in sorted(leave)]
        assert middle[i] - ptr[i] == sum(place < rank[i] for place, _ in leave)
    assert ptr[0] == 0
    assert ptr[n] == 2 * M


@examples(60)
@given(cases(n_labels=1))
def test_breadth_first(case):
    top, n = case.top, case.top.n_nodes
    expected, seen, n_components = [], set(), 0
    for root in range(n):
        if root in seen:
            continue
        n_components += 1
        waiting = deque([root])
        seen.add(root)
        while waiting:
            expected.append(waiting.popleft())
            for j in targets(top, expected[-1]):
                if j not in seen:
                    seen.add(j)
                    waiting.append(j)
    order = np.empty(n, dtype=np.int32)
    assert kernels.breadth_first(top.ends, top.ptr, top.out, order, np.zeros(n, dtype=np.uint8)) == n_components
    assert order.tolist() == expected


@examples(60)
@given(cases(n_labels=1))
def test_depth_first(case):
    top, n = case.top, case.top.n_nodes
    expected = []

    def visit(i):
        if i not in expected:
            expected.append(i)
            for j in targets(top, i):
                visit(j)

    for root in range(n):
        visit(root)
    order, turn, stack = np.empty(n, dtype=np.int32), np.full(n, -1, dtype=np.int32), np.empty(n, dtype=np.int32)
    kernels.depth_first(top.ends, top.ptr, top.out, order, turn, stack)
    assert order.tolist() == expected


@examples(60)
@given(cases(n_labels=1))
def test_what_hangs_on_circles_is_peeled_off(case):
    top, n = case.top, case.top.n_nodes
    peeled, degree = np.empty((2, n), dtype=np.int32)
    removed = np.zeros(n, dtype=np.uint8)
    count = kernels.peel(top.ends, top.ptr, top.out, peeled, degree, removed)
    left = {i: set(targets(top, i)) for i in range(n)}
    for i in peeled[:count].tolist():  # each has one neighbour left when its turn comes
        assert len(left[i]) == 1
        for j in left.pop(i):
            left[j].discard(i)
    assert all(len(others) != 1 for others in left.values())
    assert np.flatnonzero(removed).tolist() == sorted(peeled[:count].tolist())


@examples(60)
@given(cases(n_labels=1), st.data())
def test_weights_of_edges_rise(case, data):
    top, n = case.top, case.top.n_nodes
    rank = np.array(data.draw(st.permutations(range(n))), dtype=np.int32)
    removed = np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    weights = np.arange(1.0, top.n_edges + 1) / top.n_edges
    inside = ~removed[top.ends].any(axis=1)
    ends = np.sort(rank[top.ends[inside]], axis=1)
    sums = [np.bincount(side, weights[inside], n)[side] for side in ends.T]
    expected = np.ones(top.n_edges)
    expected[inside] = weights[inside] / np.maximum(*sums)
    total = kernels.raise_weights(top.ends, rank, removed, weights, np.empty((2, n)))
    np.testing.assert_array_equal(weights, expected)
    assert np.isclose(total, expected[inside].sum())
