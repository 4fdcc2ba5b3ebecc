"""McNemar's test and the test of two proportions against scipy's distributions."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from hedgerow.errors import InputError
from hedgerow.metrics import mcnemar, two_proportions


def labelings(both: int, only_a: int, only_b: int, neither: int) -> tuple[list[list[str]], ...]:
    """y_true and two predictions with these numbers of right decisions."""
    cells = [("x", "x")] * both + [("x", "o")] * only_a + [("o", "x")] * only_b + [("o", "o")] * neither
    return [["x"] * len(cells)], [[a for a, _ in cells]], [[b for _, b in cells]]


@given(st.integers(0, 30), st.integers(0, 60), st.integers(0, 60), st.integers(1, 30))
def test_mcnemar_is_the_textbook(both: int, only_a: int, only_b: int, neither: int) -> None:
    y = labelings(both, only_a, only_b, neither)
    exact, approximate, auto = (mcnemar(*y, exact=how) for how in (True, False, "auto"))
    for result in (exact, approximate, auto):
        assert (result.both_right, result.only_a_right) == (both, only_a)
        assert (result.only_b_right, result.both_wrong) == (only_b, neither)
    differ = only_a + only_b
    tail = stats.binom.cdf(min(only_a, only_b), differ, 0.5)
    assert exact.exact
    assert exact.statistic == min(only_a, only_b)
    assert exact.p_value == pytest.approx(min(1.0, 2 * tail), rel=1e-10)
    chi2 = max(abs(only_a - only_b) - 1, 0) ** 2 / differ if differ else 0.0
    assert not approximate.exact
    assert approximate.statistic == pytest.approx(chi2)
    assert approximate.p_value == pytest.approx(stats.chi2.sf(chi2, 1), rel=1e-10)
    assert auto == (exact if differ < 25 else approximate)


def test_mcnemar_by_hand() -> None:
    # 2·(1 + 6 + 15) / 2⁶ for the exact test; (|10 − 30| − 1)² / 40 for the other.
    assert mcnemar(*labelings(5, 2, 4, 1)).p_value == pytest.approx(44 / 64)
    assert mcnemar(*labelings(0, 10, 30, 0)).statistic == pytest.approx(361 / 40)
    assert mcnemar(*labelings(3, 0, 0, 2)).p_value == 1.0
    assert mcnemar(*labelings(3, 0, 0, 2), exact=False).p_value == 1.0


def test_auto_is_exact_below_25_differences() -> None:
    assert mcnemar(*labelings(1, 10, 14, 1)).exact
    assert not mcnemar(*labelings(1, 10, 15, 1)).exact


def test_the_unit_may_be_a_sequence() -> None:
    y_true = [["a", "b"], ["a", "b"], ["a", None], [None], ["b"]]
    y_a = [["a", "b"], ["b", "a"], ["a", "a"], ["a"], ["b"]]
    y_b = [["b", "a"], ["a", "a"], ["a", "b"], ["b"], ["b"]]
    by_label = mcnemar(y_true, y_a, y_b)
    assert (by_label.both_right, by_label.only_a_right) == (2, 2)
    assert (by_label.only_b_right, by_label.both_wrong) == (1, 1)
    by_sequence = mcnemar(y_true, y_a, y_b, unit="sequence")
    assert (by_sequence.both_right, by_sequence.only_a_right) == (2, 1)
    assert (by_sequence.only_b_right, by_sequence.both_wrong) == (0, 1)


def test_mcnemar_is_symmetric() -> None:
    y_true, y_a, y_b = labelings(3, 20, 40, 2)
    there, back = mcnemar(y_true, y_a, y_b), mcnemar(y_true, y_b, y_a)
    assert there.p_value == back.p_value
    assert (there.only_a_right, there.only_b_right) == (back.only_b_right, back.only_a_right)


@given(st.integers(0, 50), st.integers(0, 80))
def test_two_proportions_is_the_chi_squared_of_the_table(a: int, b: int) -> None:
    result = two_proportions(a, 50, b, 80)
    assert (result.proportion_a, result.proportion_b) == (a / 50, b / 80)
    if (a, b) in ((0, 0), (50, 80)):
        assert (result.statistic, result.p_value) == (0.0, 1.0)
        return
    table = [[a, 50 - a], [b, 80 - b]]
    expected = stats.chi2_contingency(table, correction=False)
    assert result.statistic**2 == pytest.approx(expected.statistic, rel=1e-9, abs=1e-12)
    assert result.p_value == pytest.approx(expected.pvalue, rel=1e-9, abs=1e-12)
    assert math.copysign(1, result.statistic) == math.copysign(1, a / 50 - b / 80)


def test_errors_of_use() -> None:
    y = labelings(1, 1, 1, 1)
    with pytest.raises(InputError, match="unit is 'span'"):
        mcnemar(*y, unit="span")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="exact is 'maybe'"):
        mcnemar(*y, exact="maybe")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="sample b has 3 successes of 2"):
        two_proportions(1, 2, 3, 2)
    with pytest.raises(InputError, match="sample a has 0 successes of 0"):
        two_proportions(0, 0, 1, 2)
