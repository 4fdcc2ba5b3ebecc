"""Sums over bags against the positions that bags have, one by one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.models.future import kernels
from tests.reference.future import bags

LENGTHS = st.lists(st.integers(0, 7), max_size=5)


def offsets_of(lengths):
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


@given(LENGTHS, st.integers(1, 9), st.integers(0, 10**6))
def test_sums_are_those_of_the_positions_in_each_bag(lengths, reach, seed):
    offsets = offsets_of(lengths)
    values = np.random.default_rng(seed).normal(size=offsets[-1])
    for backward, add in ((False, kernels.bags.sum_ahead), (True, kernels.bags.sum_behind)):
        sums = np.full(len(values), np.nan)
        add(values, offsets, reach, sums)
        literal = [sum(values[s] for s in bag) for bag in bags(offsets, reach, backward=backward)]
        np.testing.assert_allclose(sums, literal, rtol=1e-12, atol=1e-13)


@given(LENGTHS, st.integers(1, 9), st.integers(0, 10**6))
def test_one_way_is_the_transpose_of_the_other(lengths, reach, seed):
    """Σ_t a_t Σ_{s ∈ B_t} b_s = Σ_s b_s Σ_{t: s ∈ B_t} a_t."""
    offsets = offsets_of(lengths)
    a, b = np.random.default_rng(seed).normal(size=(2, offsets[-1]))
    ahead, behind = np.empty_like(a), np.empty_like(a)
    kernels.bags.sum_ahead(b, offsets, reach, ahead)
    kernels.bags.sum_behind(a, offsets, reach, behind)
    np.testing.assert_allclose(a @ ahead, b @ behind, rtol=1e-10, atol=1e-12)


def test_an_empty_bag_is_a_true_zero():
    values, sums = np.array([1e300, 1.0, 0.1]), np.empty(3)
    kernels.bags.sum_ahead(values, np.array([0, 3]), 2, sums)
    assert sums.tolist() == [1.1, 0.1, 0.0]


@pytest.mark.parametrize("reach", [1, 1000])
def test_the_cost_does_not_grow_with_the_reach_nor_the_error_with_the_length(reach):
    rng = np.random.default_rng(0)
    values, sums = rng.random(200_000), np.empty(200_000)
    kernels.bags.sum_ahead(values, np.array([0, 200_000]), reach, sums)
    ends = np.concatenate([[0.0], np.cumsum(values.astype(np.longdouble))])
    t = np.arange(0, 200_000, 997)
    exact = ends[np.minimum(t + 1 + reach, 200_000)] - ends[t + 1]
    np.testing.assert_allclose(sums[t], exact.astype(float), rtol=1e-9, atol=1e-9)
