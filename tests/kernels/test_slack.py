"""The search by cost against all labelings, and the bounds."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.chain.kernels import slack
from tests.examples import examples
from tests.reference import chain as reference
from tests.reference.cases import make_case


@examples(80)
@given(
    seed=st.integers(0, 2**32 - 1),
    K=st.integers(1, 3),
    T=st.integers(1, 5),
    per_position=st.booleans(),
    forbidden=st.sampled_from([0.0, 0.4]),
    cut=st.integers(0, 5),
)
def test_best_of_every_cost(seed, K, T, per_position, forbidden, cut):
    rng = np.random.default_rng(seed)
    case = make_case(rng, K, [T], forbidden=forbidden, per_position=per_position)
    costs = rng.integers(0, 3, size=(T, K))
    edges = case.edges if per_position else case.edges.T[:, None]
    edges = np.ascontiguousarray(edges)
    reached = np.cumsum(costs.max(axis=1))
    size = int(reached[-1]) + 1
    lowest = int(rng.integers(size))
    least = np.maximum(lowest - (reached[-1] - reached), 0)
    best, cut = np.empty((T, K, size)), min(cut, T)
    for t0, t1 in ((0, cut), (cut, T)):
        slack.search(case.node, edges, costs, least, reached, best, t0, t1)
    every = reference.labelings(K, T)
    scores = np.array([reference.score(*case.arrays, y)[0] for y in every])
    heights = costs[np.arange(T), every].sum(axis=1)
    for h in range(lowest, size):
        expected = scores[heights == h].max(initial=-np.inf)
        np.testing.assert_allclose(best[-1, :, h].max(), expected, rtol=1e-12, atol=1e-12)
        if expected > -np.inf:
            labels = np.empty(T, dtype=np.int32)
            state = int(np.argmax(best[-1, :, h])), h
            for t0, t1 in ((cut, T), (0, cut)):
                state = slack.trace(edges, costs, best, *state, labels, t0, t1)
            assert costs[np.arange(T), labels].sum() == h
            np.testing.assert_allclose(reference.score(*case.arrays, labels)[0], expected, rtol=1e-12, atol=1e-12)


def test_tighten(rng):
    sizes, begins = np.array([3, 1, 5]), np.array([0, 3, 4])
    slopes, rests = rng.random(3), 2.0 * rng.random(3)
    before = rng.normal(size=9) + 1.0
    bounds, tallest, place = before.copy(), np.empty(3), np.empty(3, dtype=np.int64)
    slack.tighten(sizes, begins, slopes, rests, bounds, tallest, place)
    for i in range(3):
        h = np.arange(sizes[i])
        own = np.minimum(before[begins[i] : begins[i] + sizes[i]], h * (rests[i] - slopes[i] * h))
        np.testing.assert_allclose(bounds[begins[i] : begins[i] + sizes[i]], own, rtol=1e-12, atol=1e-15)
        assert (tallest[i], place[i]) == (bounds[begins[i] + place[i]], np.argmax(own))
