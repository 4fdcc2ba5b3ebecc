"""The statistics of the arena, beside scipy's, published values and sums by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests

from benchmarks.arena.significance import critical_difference, errors_by_sequence, friedman, holm, rank
from hedgerow.metrics.significance import permutation_test


@pytest.mark.parametrize(("k", "q"), [(2, 1.960), (4, 2.569), (5, 2.728), (10, 3.164)])
def test_critical_differences_are_those_of_demsar(k, q):
    assert critical_difference(k, 14) == pytest.approx(q * math.sqrt(k * (k + 1) / (6 * 14)), abs=1e-3)


@pytest.mark.parametrize("decimals", [8, 1])  # with one decimal there are ties
def test_friedman_is_scipys_with_the_correction_of_iman_and_davenport(rng, decimals):
    scores = np.round(rng.random((9, 4)) + np.array([0.0, 0.1, 0.2, 0.3]), decimals)
    n, k = scores.shape
    chi2 = stats.friedmanchisquare(*scores.T).statistic
    expected = stats.f.sf((n - 1) * chi2 / (n * (k - 1) - chi2), k - 1, (k - 1) * (n - 1))
    assert friedman(stats.rankdata(scores, axis=1)) == pytest.approx(expected)


def test_ranks_share_ties_and_those_without_a_score_come_last():
    scores = {
        "one": {"A": 0.9, "B": 0.8, "C": 0.8, "D": -math.inf},
        "two": {"A": 0.7, "B": 0.9, "C": -math.inf, "D": -math.inf},
    }
    found = rank(scores)
    assert found.ranks == {"A": 1.5, "B": 1.75, "C": 3.0, "D": 3.75}
    assert list(found.ranks) == ["A", "B", "C", "D"]
    assert found.n_tasks == 2


def test_ranks_need_the_same_contenders_everywhere():
    with pytest.raises(ValueError, match="same contenders"):
        rank({"one": {"A": 1.0, "B": 0.5}, "two": {"A": 1.0}})


def test_ranks_that_agree_everywhere_leave_no_doubt():
    table = np.tile([1.0, 2.0, 3.0], (6, 1))
    assert friedman(table) == 0.0
    assert friedman(np.full((6, 3), 2.0)) == 1.0


def test_few_sequences_try_every_sign(rng):
    first, second = rng.integers(0, 6, 9), rng.integers(0, 4, 9)
    gaps = first - second
    expected = stats.permutation_test(
        (gaps,), np.sum, permutation_type="samples", n_resamples=np.inf, alternative="two-sided"
    )
    assert permutation_test(first, second) == pytest.approx(expected.pvalue)


def test_many_sequences_draw_signs(rng):
    gaps = rng.normal(0.2, 1.0, 200)
    z = abs(gaps.sum()) / math.sqrt((gaps**2).sum())
    assert permutation_test(gaps, np.zeros(200), n_resamples=20_000) == pytest.approx(2 * stats.norm.sf(z), abs=0.015)


def test_equal_errors_differ_in_nothing():
    assert permutation_test([1, 2, 3], [1, 2, 3]) == 1.0


def test_positions_of_one_sequence_are_one_piece_of_evidence():
    """Thirty errors more in a single sequence prove nothing."""
    assert permutation_test([30, 0, 1, 0], [0, 0, 1, 0]) == 1.0


def test_holm_is_that_of_statsmodels(rng):
    p_values = rng.random(7) ** 3
    assert holm(p_values) == pytest.approx(multipletests(p_values, method="holm")[1])
    assert holm([]) == []


def test_errors_are_means_over_the_seeds_that_test_a_sequence():
    runs = [
        {"sequences": [4, 7], "wrong": [2, 0], "redrawn": False, "seed": 0},
        {"sequences": [7, 9], "wrong": [3, 1], "redrawn": False, "seed": 1},
    ]
    assert errors_by_sequence(runs) == {(4, 0): 2.0, (7, 0): 1.5, (9, 0): 1.0}


def test_other_data_have_other_sequences():
    runs = [{"sequences": [0, 1], "wrong": [2, 0], "redrawn": True, "seed": seed} for seed in (0, 1)]
    assert sorted(errors_by_sequence(runs).values()) == [0.0, 0.0, 2.0, 2.0]


def test_blocks_of_a_recording_count_one_by_one():
    runs = [{"sequences": [1], "wrong": [2, 0, 4], "redrawn": False, "seed": 0}]
    assert sorted(errors_by_sequence(runs).values()) == [0.0, 2.0, 4.0]
