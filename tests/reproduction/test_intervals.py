"""Confidence intervals and paired tests."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
import scipy.stats

from reproduction.intervals import Interval, paired, unpaired
from reproduction.resampling import gap_interval


def test_an_interval_is_students():
    values = [79.1, 80.4, 79.9, 78.8, 80.0]
    found = Interval.of(values)
    low, high = scipy.stats.t.interval(0.95, 4, loc=np.mean(values), scale=scipy.stats.sem(values))
    assert (found.mean - found.half, found.mean + found.half) == pytest.approx((low, high), rel=1e-9)
    assert str(found) == "79.64 ± 0.83"


def test_one_draw_has_no_interval():
    found = Interval.of([79.0])
    assert math.isnan(found.half)
    assert str(found) == "79.00"
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["half"] is None


def test_a_paired_test_looks_at_the_differences():
    first, second = [80.1, 70.2, 90.3, 60.3], [80.0, 70.0, 90.0, 60.0]
    found = paired(first, second)
    assert found.difference == pytest.approx(0.225)
    assert found.p_value == pytest.approx(scipy.stats.ttest_rel(first, second).pvalue, rel=1e-6)
    assert found.verdict == "better"
    assert paired(second, first).verdict == "worse"


def test_an_unpaired_test_is_welchs():
    first, second = [80.1, 80.4, 80.0, 80.9], [79.0, 78.1, 79.9]
    found = unpaired(first, second)
    assert found.p_value == pytest.approx(scipy.stats.ttest_ind(first, second, equal_var=False).pvalue, rel=1e-6)
    assert found.difference == pytest.approx(np.mean(first) - np.mean(second))


def test_means_that_draws_hide_are_told_apart_by_pairs():
    first, second = [80.1, 70.2, 90.3, 60.3], [80.0, 70.0, 90.0, 60.0]
    assert unpaired(first, second).verdict == "alike"
    assert paired(first, second).verdict == "better"


@pytest.mark.parametrize("values", [[1.0], [1.0, 1.0]])
@pytest.mark.parametrize("test", [paired, unpaired])
def test_draws_that_prove_nothing(values, test):
    assert test(values, [0.0] * len(values)).verdict == "alike"


def test_resampled_intervals_cover_the_difference_of_shares(rng):
    totals = rng.integers(50, 200, size=400)
    first = rng.binomial(totals, 0.80).astype(float)
    second = rng.binomial(totals, 0.75).astype(float)
    low, high = gap_interval(first, second, totals)
    gap = 100 * (first.sum() - second.sum()) / totals.sum()
    assert low < gap < high
    assert 0.3 < high - low < 3.0  # √(0.8·0.2/N + 0.75·0.25/N), N = 50,000, times 4, is 1.1 points
    assert gap_interval(first, second, totals) == (low, high)
