"""The kernels of labels given their neighbours against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.chain.edges import PositionEdges
from hedgerow.chain.kernels import pseudo
from tests.examples import examples
from tests.reference.cases import cases, make_case

from .test_chain import first_flags


def neighbours(case):
    """(n, K): edge_t(y_{t−1}, v) + edge_{t+1}(v, y_{t+1}), by a loop."""
    n, K = case.node.shape
    first, sums = first_flags(case.offsets), np.zeros((n, K))
    for t in range(n):
        for v in range(K):
            if not first[t]:
                y = case.labels[t - 1]
                sums[t, v] += case.edges[y, v] if case.edges.ndim == 2 else case.edges[v, t, y]
            if not first[t + 1]:
                y = case.labels[t + 1]
                sums[t, v] += case.edges[v, y] if case.edges.ndim == 2 else case.edges[y, t + 1, v]
    return sums


def table_to(case):
    return case.edges if case.edges.ndim == 3 else np.ascontiguousarray(case.edges.T)[:, None]


@examples(60)
@given(case=cases(), cut=st.integers(0, 9))
def test_neighbours(case, cut):
    n = len(case.node)
    first, scores, cut = first_flags(case.offsets), case.node.copy(), min(cut, n)
    for t0, t1 in ((0, cut), (cut, n)):
        pseudo.add_neighbours(table_to(case), case.labels, first, scores, t0, t1)
    np.testing.assert_allclose(scores, case.node + neighbours(case), rtol=1e-12)


@pytest.mark.parametrize("forbidden", [0.0, 0.5])
def test_neighbours_by_exponentials(rng, forbidden):
    case = make_case(rng, 4, [5, 1, 3], scale=20.0, forbidden=forbidden, per_position=True)
    edges = PositionEdges.from_scores(case.edges)
    scores = case.node.copy()
    pseudo.add_neighbour_logs(edges.exps, edges.shifts, case.labels, first_flags(case.offsets), scores, 0, len(scores))
    np.testing.assert_allclose(scores, case.node + neighbours(case), rtol=1e-12, atol=1e-12)


def test_normalise_and_turn(rng):
    exps, probs, totals = rng.random((5, 4)), np.empty((5, 3)), np.empty(5)
    pseudo.normalise(exps, probs, totals, 0, 5)
    np.testing.assert_allclose(totals, exps[:, :3].sum(axis=1), rtol=1e-12)
    np.testing.assert_allclose(probs, exps[:, :3] / totals[:, None], rtol=1e-12)
    along, weights = rng.normal(size=(5, 3)), rng.random(5)
    turned = along.copy()
    pseudo.turn(probs, turned, weights, 0, 5)
    expected = weights[:, None] * probs * (along - (probs * along).sum(axis=1, keepdims=True))
    np.testing.assert_allclose(turned, expected, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("per_position", [False, True])
@examples(40)
@given(data=st.data())
def test_edges(per_position, data):
    """The transpose of `add_neighbours`: Σ gradient · C = Σ d · (what C adds to the scores)."""
    case = data.draw(cases(per_position=per_position))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    n = len(case.node)
    excess, direction = rng.normal(size=case.node.shape), rng.normal(size=table_to(case).shape)
    first, gradient, moved = first_flags(case.offsets), np.zeros(direction.shape), np.zeros(case.node.shape)
    pseudo.add_edges(excess, case.labels, first, gradient, 0, n)
    pseudo.add_neighbours(direction, case.labels, first, moved, 0, n)
    np.testing.assert_allclose((gradient * direction).sum(), (excess * moved).sum(), rtol=1e-9, atol=1e-9)
