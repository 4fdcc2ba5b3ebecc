"""Means over independent draws: 95 % confidence intervals, and whether two of them differ."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from reproduction.comparison import Difference

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Interval:
    """A mean over draws, and half the width of its confidence interval by Student's t; NaN where there is one draw."""

    mean: float
    half: float
    each: tuple[float, ...]

    @classmethod
    def of(cls, values: Sequence[float]) -> Interval:
        n = len(values)
        half = math.nan
        if n > 1:
            half = _quantile((1 + CONFIDENCE) / 2, n - 1) * statistics.stdev(values) / math.sqrt(n)
        return cls(statistics.fmean(values), half, tuple(values))

    def __str__(self) -> str:
        return f"{self.mean:.2f}" if math.isnan(self.half) else f"{self.mean:.2f} ± {self.half:.2f}"

    def to_dict(self) -> dict[str, Any]:
        own = asdict(self)
        return {**own, "half": None if math.isnan(self.half) else self.half}


def paired(first: Sequence[float], second: Sequence[float]) -> Difference:
    """The t-test for two contenders on the same draws. One draw, or draws that all differ alike, proves nothing."""
    gaps = [a - b for a, b in zip(first, second, strict=True)]
    mean, n = statistics.fmean(gaps), len(gaps)
    spread = statistics.stdev(gaps) if n > 1 else 0.0
    if spread == 0.0:
        return Difference(mean, 1.0)
    return Difference(mean, 2 * _tail(abs(mean) / (spread / math.sqrt(n)), n - 1))


def unpaired(first: Sequence[float], second: Sequence[float]) -> Difference:
    """Welch's t-test, which takes the draws of the two as independent: it asks whether the means differ by more than
    draws do, as two confidence intervals side by side ask."""
    mean = statistics.fmean(first) - statistics.fmean(second)
    if min(len(first), len(second)) < 2:
        return Difference(mean, 1.0)
    parts = [statistics.variance(own) / len(own) for own in (first, second)]
    if sum(parts) == 0.0:
        return Difference(mean, 1.0)
    freedom = sum(parts) ** 2 / sum(part**2 / (len(own) - 1) for part, own in zip(parts, (first, second)))
    return Difference(mean, 2 * _tail(abs(mean) / math.sqrt(sum(parts)), freedom))


def _quantile(p: float, freedom: float) -> float:
    from scipy.special import stdtrit

    return float(stdtrit(freedom, p))


def _tail(t: float, freedom: float) -> float:
    from scipy.special import stdtr

    return float(stdtr(freedom, -t))
