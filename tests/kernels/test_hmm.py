"""The kernels of counted models against their twins."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.models.hmm import kernels
from tests.reference import hmm as reference


def observations(seed: int, n: int, n_rows: int, m: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 3, size=m).astype(float)
    return rng.integers(0, n_rows, size=m), rng.integers(0, n, size=m), values


@given(st.integers(0, 10**6), st.integers(1, 5), st.integers(1, 6), st.integers(0, 12), st.integers(1, 4))
def test_gather(seed, n, n_rows, m, K):
    rows, which, values = observations(seed, n, n_rows, m)
    rng = np.random.default_rng(seed + 1)
    table = np.where(rng.random((n_rows, K)) < 0.2, -np.inf, rng.normal(size=(n_rows, K)))
    ours = rng.normal(size=(n, K))
    theirs = ours.copy()
    kernels.hmm.gather(rows, which, values, table, ours)
    reference.gather(rows, which, values, table, theirs)
    np.testing.assert_array_equal(ours, theirs)


@given(st.integers(0, 10**6), st.integers(1, 5), st.integers(1, 6), st.integers(0, 12), st.integers(1, 4))
def test_scatter(seed, n, n_rows, m, K):
    rows, which, values = observations(seed, n, n_rows, m)
    rng = np.random.default_rng(seed + 1)
    probs, ours = rng.random((n, K)), rng.random((n_rows, K))
    theirs = ours.copy()
    kernels.hmm.scatter(rows, which, values, probs, ours)
    reference.scatter(rows, which, values, probs, theirs)
    np.testing.assert_allclose(ours, theirs, rtol=1e-14)


def test_gather_and_scatter_are_transposes():
    rows, which, values = observations(3, 4, 5, 9)
    rng = np.random.default_rng(4)
    table, probs = rng.normal(size=(5, 2)), rng.normal(size=(4, 2))
    scores, sums = np.zeros((4, 2)), np.zeros((5, 2))
    kernels.hmm.gather(rows, which, values, table, scores)
    kernels.hmm.scatter(rows, which, values, probs, sums)
    np.testing.assert_allclose((scores * probs).sum(), (sums * table).sum(), rtol=1e-12)


@given(st.integers(0, 10**6), st.integers(1, 4), st.integers(1, 5), st.lists(st.integers(1, 4), min_size=1, max_size=3))
def test_count_arcs(seed, K, H, lengths):
    rng = np.random.default_rng(seed)
    offsets = np.cumsum([0, *lengths])
    labels = rng.integers(0, K, size=offsets[-1]).astype(np.int32)
    follows = rng.integers(0, H, size=(H, K)).astype(np.int32)
    weights, start = rng.random(len(lengths)), int(rng.integers(H))
    ours, theirs = np.zeros((2, H, K))
    kernels.hmm.count_arcs(labels, offsets, weights, start, follows, ours)
    reference.count_arcs(labels, offsets, weights, start, follows, theirs)
    np.testing.assert_allclose(ours, theirs, rtol=1e-14)
