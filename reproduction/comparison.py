"""Means over seeds, and whether a difference is more than chance."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from hedgerow.metrics import label_accuracy, mcnemar, two_proportions
from reproduction.contenders import Labelling
from reproduction.problems import Problem
from reproduction.settings import LEVEL


@dataclass(frozen=True)
class Spread:
    """Accuracies in percent over seeds: mean, lowest, highest, and each."""

    mean: float
    low: float
    high: float
    each: tuple[float, ...]

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        return cls(statistics.fmean(values), min(values), max(values), tuple(values))

    def __str__(self) -> str:
        if len(self.each) == 1:
            return f"{self.mean:.2f}"
        return f"{self.mean:.2f} ({self.low:.2f}–{self.high:.2f})"

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Difference:
    """A comparison of accuracies.

    difference : in percentage points, of the first less the second
    p_value : two-sided; the median over seeds where every seed was tested by itself
    each : the p-values of the seeds, where there are several
    """

    difference: float
    p_value: float
    each: tuple[float, ...] = ()

    @property
    def verdict(self) -> str:
        """ "better", "worse" or "alike", of the first."""
        if self.p_value >= LEVEL:
            return "alike"
        return "better" if self.difference > 0 else "worse"

    def __str__(self) -> str:
        sign = {"better": "+", "worse": "−", "alike": "="}[self.verdict]
        p = "p<0.001" if self.p_value < 0.001 else f"p={self.p_value:.3f}"
        return f"{sign} {p}"

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "verdict": self.verdict}


def spread(problem: Problem, seeds: Sequence[int], labellings: Sequence[Labelling]) -> Spread:
    """The accuracy of one contender, seed by seed."""
    return Spread.of([100 * label_accuracy(problem.truth(seed), own.predicted) for seed, own in zip(seeds, labellings)])


def against_published(problem: Problem, seeds: Sequence[int], own: Spread, published: float) -> Difference:
    """The two-proportion test of our mean against a published accuracy, in percent.

    The published figure stands for a test set of the size of one of ours. Ours counts as one test set too where all
    seeds label the same sequences, and as all of them together where each seed draws its own.
    """
    sizes = [sum(map(len, problem.truth(seed))) for seed in seeds]
    n_published = round(statistics.fmean(sizes))
    n_own = sum(sizes) if problem.redrawn else n_published
    found = two_proportions(round(own.mean / 100 * n_own), n_own, round(published / 100 * n_published), n_published)
    return Difference(own.mean - published, found.p_value)


def between(
    problem: Problem, seeds: Sequence[int], first: Sequence[Labelling], second: Sequence[Labelling]
) -> Difference:
    """McNemar's test on labels, of two of our own contenders.

    Seeds that draw their own test sequences are tested together. Seeds that label the same ones are tested each by
    itself, and the median p-value is reported.
    """
    truths = [problem.truth(seed) for seed in seeds]
    gaps = [
        100 * (label_accuracy(truth, a.predicted) - label_accuracy(truth, b.predicted))
        for truth, a, b in zip(truths, first, second)
    ]
    if problem.redrawn:
        together = [
            [row for rows in part for row in rows]
            for part in (truths, [a.predicted for a in first], [b.predicted for b in second])
        ]
        return Difference(statistics.fmean(gaps), mcnemar(*together).p_value)
    each = tuple(mcnemar(truth, a.predicted, b.predicted).p_value for truth, a, b in zip(truths, first, second))
    return Difference(statistics.fmean(gaps), statistics.median(each), each)
