"""Intervals by resampling whole sequences: labels of one sequence depend on each other, sequences do not."""

from __future__ import annotations

import numpy as np

from hedgerow.legend import FloatArray, IndexArray

N_RESAMPLES = 2_000


def gap_interval(
    first: FloatArray, second: FloatArray, totals: IndexArray, *, seed: int = 0, level: float = 0.95
) -> tuple[float, float]:
    """The interval of the difference of two shares, in percentage points: Σ first / Σ totals − Σ second / Σ totals.

    first, second, totals : (S,) what two labelers have right in each sequence, and how many labels it has
    """
    rng = np.random.default_rng(seed)
    drawn = rng.integers(0, len(totals), (N_RESAMPLES, len(totals)))
    gaps = 100 * (first - second)[drawn].sum(axis=1) / totals[drawn].sum(axis=1)
    low, high = np.quantile(gaps, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)
