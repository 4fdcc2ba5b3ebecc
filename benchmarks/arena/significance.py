"""Who is better: mean ranks over tasks, with Friedman's test and Nemenyi's critical difference, and paired tests on the
errors of sequences. Neighbouring positions are not independent: a test that counts positions would find too much.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

LEVEL = 0.05


class Ranking(NamedTuple):
    """Mean ranks of contenders, 1 the best, over `n_tasks`.

    p_value : Friedman's, of ranks that differ no more than by chance, with Iman and Davenport's correction
    critical : two mean ranks that lie farther apart differ at 5 %, by Nemenyi's test
    """

    ranks: dict[str, float]
    n_tasks: int
    p_value: float
    critical: float


def rank(scores: Mapping[str, Mapping[str, float]]) -> Ranking:
    """Rank by scores, task → contender → score, greater is better; −inf for one that gave none comes last.

    Every task has the same contenders, two at least.
    """
    from scipy.stats import rankdata

    names = list(next(iter(scores.values())))
    if len(names) < 2 or any(set(own) != set(names) for own in scores.values()):
        raise ValueError("every task needs the same contenders, two at least")
    table = np.array([rankdata([-own[name] for name in names]) for own in scores.values()])
    means = table.mean(axis=0)
    order = np.argsort(means, kind="stable")
    ranks = {names[j]: float(means[j]) for j in order}
    return Ranking(ranks, len(table), friedman(table), critical_difference(len(names), len(table)))


def friedman(ranks: np.ndarray) -> float:
    """The p-value of ranks (tasks, contenders), with the correction for ties, by the F distribution of Iman and
    Davenport (1980), for Friedman's own χ² finds too little. NaN of one task."""
    from scipy.stats import f

    n, k = ranks.shape
    if n < 2:
        return math.nan
    spread = ((ranks - (k + 1) / 2) ** 2).sum()
    if spread == 0.0:
        return 1.0
    between = n * ((ranks.mean(axis=0) - (k + 1) / 2) ** 2).sum()
    rest = spread - between
    if rest <= 1e-12:
        return 0.0
    return float(f.sf((n - 1) * between / rest, k - 1, (k - 1) * (n - 1)))


def critical_difference(n_contenders: int, n_tasks: int, level: float = LEVEL) -> float:
    """Nemenyi's (Demšar 2006): q · sqrt(k(k+1) / 6n), with q of the studentised range divided by √2."""
    from scipy.stats import studentized_range

    k = n_contenders
    q = float(studentized_range.ppf(1 - level, k, np.inf)) / math.sqrt(2)
    return q * math.sqrt(k * (k + 1) / (6 * n_tasks))


# ------------------------------------------------------------------------------------------------ by sequence


def errors_by_sequence(runs: Sequence[Mapping[str, Any]]) -> dict[tuple[int, int], float]:
    """The mean errors of each test sequence over seeds that test it; of each block, where a recording is cut."""
    sums: dict[tuple[int, int], list[float]] = {}
    for found in runs:
        whole = len(found["sequences"]) == len(found["wrong"])
        keys = [(i, 0) for i in found["sequences"]] if whole else [(0, j) for j in range(len(found["wrong"]))]
        if found["redrawn"]:  # another seed has other data, and so other sequences of the same number
            keys = [(i, 1 + found["seed"] + 1_000 * j) for i, j in keys]
        for key, wrong in zip(keys, found["wrong"], strict=True):
            sums.setdefault(key, []).append(wrong)
    return {key: float(np.mean(values)) for key, values in sums.items()}


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's correction for several tests, in the order given."""
    order = np.argsort(p_values, kind="stable")
    adjusted = np.empty(len(p_values))
    least = 0.0
    for place, j in enumerate(order):
        least = max(least, min(1.0, (len(p_values) - place) * p_values[j]))
        adjusted[j] = least
    return adjusted.tolist()
