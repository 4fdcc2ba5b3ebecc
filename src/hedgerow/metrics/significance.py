"""Is one labeler better than another, or is it chance?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from hedgerow.errors import InputError
from hedgerow.legend import FLOAT, UNLABELLED
from hedgerow.metrics.labelings import Labelings, code_labelings
from hedgerow.metrics.tokens import count_by_sequence, sequence_decisions

Unit = Literal["label", "sequence"]
Exact = bool | Literal["auto"]

# With fewer decisions that differ, the chi-squared approximation is poor.
_EXACT_BELOW = 25


@dataclass(frozen=True)
class McNemarResult:
    """Counts of decisions, and the two-sided p-value of "both are wrong equally often".

    statistic  chi-squared with continuity correction, or the smaller of only_a and only_b when exact
    """

    both_right: int
    only_a_right: int
    only_b_right: int
    both_wrong: int
    statistic: float
    p_value: float
    exact: bool


@dataclass(frozen=True)
class ProportionsResult:
    """Two shares, the z statistic of their difference, and its two-sided p-value."""

    proportion_a: float
    proportion_b: float
    statistic: float
    p_value: float


def mcnemar(
    y_true: Labelings, y_pred_a: Labelings, y_pred_b: Labelings, *, unit: Unit = "label", exact: Exact = "auto"
) -> McNemarResult:
    """McNemar's test on two labelings of the same sequences.

    Parameters
    ----------
    y_true, y_pred_a, y_pred_b : one item per sequence, each a list of labels
    unit : what is right or wrong: a "label" or a whole "sequence". Labels of one sequence depend on each
        other, so the p-value by label tends to be too small; sequences are independent.
    exact : True for the binomial test, False for chi-squared with continuity correction; "auto" is exact when
        fewer than 25 decisions differ.
    """
    if exact not in (True, False, "auto"):
        raise InputError(f"exact is {exact!r}", hint="It is True, False or 'auto'.")
    coded = code_labelings(y_true, y_pred_a, y_pred_b)
    true, a, b = coded.codes
    if unit == "label":
        counted = true != UNLABELLED
        right_a, right_b = true == a, true == b
    elif unit == "sequence":
        right_a, counted = sequence_decisions(true, a, coded.offsets)
        right_b, _ = sequence_decisions(true, b, coded.offsets)
    else:
        raise InputError(f"unit is {unit!r}", hint="It is 'label' or 'sequence'.")
    # Each decision falls into one of four cells, numbered 2·(A right) + (B right).
    cells = np.bincount((2 * right_a + right_b)[counted], minlength=4)
    both_wrong, only_b, only_a, both_right = cells.tolist()
    use_exact = only_a + only_b < _EXACT_BELOW if exact == "auto" else bool(exact)
    statistic, p_value = _binomial(only_a, only_b) if use_exact else _chi_squared(only_a, only_b)
    return McNemarResult(both_right, only_a, only_b, both_wrong, statistic, p_value, use_exact)


def two_proportions(successes_a: int, n_a: int, successes_b: int, n_b: int) -> ProportionsResult:
    """The z-test for the difference of two shares from independent samples, with the pooled variance.

    For two labelers on the same sequences `mcnemar` is the sharper test.
    """
    for name, successes, n in (("a", successes_a, n_a), ("b", successes_b, n_b)):
        if n <= 0 or not 0 <= successes <= n:
            raise InputError(f"sample {name} has {successes} successes of {n}", hint="Needs 0 ≤ successes ≤ n, n > 0.")
    share_a, share_b = successes_a / n_a, successes_b / n_b
    pooled = (successes_a + successes_b) / (n_a + n_b)
    variance = pooled * (1 - pooled) * (1 / n_a + 1 / n_b)
    z = (share_a - share_b) / math.sqrt(variance) if variance > 0 else 0.0
    return ProportionsResult(share_a, share_b, z, math.erfc(abs(z) / math.sqrt(2)))


@dataclass(frozen=True)
class SequenceTestResult:
    """Errors per sequence of two labelers, and the two-sided p-value of "neither makes more"."""

    mean_errors_a: float
    mean_errors_b: float
    p_value: float


def sequence_test(
    y_true: Labelings, y_pred_a: Labelings, y_pred_b: Labelings, *, n_resamples: int = 9_999, random_state: int = 0
) -> SequenceTestResult:
    """Do two labelers make as many errors? A permutation test on the wrong labels of each sequence.

    Sequences are independent where their labels are not, and it works, too, where no sequence is all right. All signs
    of the differences are tried where there are few, else `n_resamples` draws of them.
    """
    coded = code_labelings(y_true, y_pred_a, y_pred_b)
    true, *predicted = coded.codes
    labelled = true != UNLABELLED
    a, b = (count_by_sequence(labelled & (true != codes), coded.offsets) for codes in predicted)
    p_value = permutation_test(a.tolist(), b.tolist(), n_resamples, random_state)
    return SequenceTestResult(float(a.mean()), float(b.mean()), p_value)


def permutation_test(
    first: Sequence[float], second: Sequence[float], n_resamples: int = 9_999, random_state: int = 0
) -> float:
    """The p-value of two errors of each sequence: how often the sum of differences would be as large if each had either
    sign."""
    gaps = np.asarray(first, dtype=FLOAT) - np.asarray(second, dtype=FLOAT)
    gaps = gaps[gaps != 0]
    if not len(gaps):
        return 1.0
    reached = abs(gaps.sum()) * (1 - 1e-12)
    if 2 ** len(gaps) <= n_resamples:
        signs = 1 - 2 * (np.arange(2 ** len(gaps))[:, None] >> np.arange(len(gaps)) & 1)
        return float((np.abs((signs * gaps).sum(axis=1)) >= reached).mean())
    rng, hits = np.random.default_rng(random_state), 0
    for begin in range(0, n_resamples, 500):
        signs = 2 * rng.integers(0, 2, size=(min(500, n_resamples - begin), len(gaps)), dtype=np.int8) - 1
        hits += int((np.abs((signs * gaps).sum(axis=1)) >= reached).sum())
    return (hits + 1) / (n_resamples + 1)


def _binomial(only_a: int, only_b: int) -> tuple[float, float]:
    """The smaller count, and twice the tail of Binomial(only_a + only_b, 1/2) up to it."""
    from scipy.special import bdtr  # lazy: importing scipy would slow every `import hedgerow.metrics`

    smaller = min(only_a, only_b)
    return float(smaller), min(1.0, 2.0 * float(bdtr(smaller, only_a + only_b, 0.5)))


def _chi_squared(only_a: int, only_b: int) -> tuple[float, float]:
    """(|a − b| − 1)² / (a + b), not below zero, and its tail with one degree of freedom."""
    differ = only_a + only_b
    statistic = max(abs(only_a - only_b) - 1, 0) ** 2 / differ if differ else 0.0
    return statistic, math.erfc(math.sqrt(statistic / 2))
