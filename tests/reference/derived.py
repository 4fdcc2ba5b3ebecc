"""Lags, differences and rolling values of one sequence, literally: the twin of `data/kernels/derived.py`."""

from __future__ import annotations

import math
from collections.abc import Sequence


def lag(x: Sequence[float], t: int, span: int) -> float:
    return x[t - span] if t >= span else math.nan


def difference(x: Sequence[float], t: int, span: int) -> float:
    return x[t] - x[t - span] if t >= span else math.nan


def known(x: Sequence[float], t: int, span: int) -> list[float]:
    """The values of the last `span` positions, without those that are missing."""
    return [value for value in x[max(0, t + 1 - span) : t + 1] if not math.isnan(value)]


def rolling_mean(x: Sequence[float], t: int, span: int) -> float:
    values = known(x, t, span)
    return sum(values, 0.0) / len(values) if values else math.nan


def rolling_std(x: Sequence[float], t: int, span: int) -> float:
    values, mean = known(x, t, span), rolling_mean(x, t, span)
    return math.sqrt(sum(((value - mean) * (value - mean) for value in values), 0.0) / len(values)) if values else mean


def rolling_min(x: Sequence[float], t: int, span: int) -> float:
    return min(known(x, t, span), default=math.nan)


def rolling_max(x: Sequence[float], t: int, span: int) -> float:
    return max(known(x, t, span), default=math.nan)


FUNCTIONS = {f.__name__: f for f in (lag, difference, rolling_mean, rolling_std, rolling_min, rolling_max)}


def derive(name: str, x: Sequence[float], span: int) -> list[float]:
    """What a feature has at every position of a sequence; what is not finite is missing."""
    values = [FUNCTIONS[name](x, t, span) for t in range(len(x))]
    return [value if math.isfinite(value) else math.nan for value in values]
