"""Means, ranges and tests."""

from __future__ import annotations

import pytest

from hedgerow.metrics import mcnemar, two_proportions
from reproduction.comparison import Difference, Spread, against_published, between, spread
from reproduction.contenders import Labelling

from .tiny import tiny_problem

SEEDS = (0, 1, 2)


def labelling(problem, seed, n_wrong, first=0):
    """The truth, but for some labels from the first-th on."""
    predicted = [list(labels) for labels in problem.truth(seed)]
    places = [(i, t) for i, labels in enumerate(predicted) for t in range(len(labels))]
    for i, t in places[first : first + n_wrong]:
        predicted[i][t] = "wrong"
    return Labelling(predicted, 1.0, [{}])


def test_a_spread_is_mean_and_range():
    problem = tiny_problem()
    n = sum(map(len, problem.truth(0)))
    found = spread(problem, SEEDS, [labelling(problem, seed, wrong) for seed, wrong in zip(SEEDS, (24, 48, 72))])
    assert n == 240
    assert found.each == pytest.approx((90, 80, 70))
    assert (found.mean, found.low, found.high) == pytest.approx((80, 70, 90))
    assert str(found) == "80.00 (70.00–90.00)"
    assert str(Spread.of([64.526])) == "64.53"


@pytest.mark.parametrize("redrawn", [False, True])
def test_our_decisions_count_once_where_the_test_part_is_one(redrawn):
    problem = tiny_problem(redrawn=redrawn)
    found = against_published(problem, SEEDS, Spread.of([80.0, 82.0, 84.0]), 75.0)
    n = 3 * 240 if redrawn else 240
    assert found.difference == pytest.approx(7.0)
    assert found.p_value == two_proportions(round(0.82 * n), n, 180, 240).p_value


def test_seeds_with_one_test_part_are_tested_each_by_itself():
    problem = tiny_problem()
    first = [labelling(problem, seed, 10) for seed in SEEDS]
    second = [labelling(problem, seed, wrong, first=100) for seed, wrong in zip(SEEDS, (10, 30, 60))]
    found = between(problem, SEEDS, first, second)
    each = [mcnemar(problem.truth(0), a.predicted, b.predicted).p_value for a, b in zip(first, second)]
    assert found.each == tuple(each)
    assert found.p_value == sorted(each)[1]
    assert found.difference == pytest.approx(100 * (0 + 20 + 50) / 3 / 240)


def test_seeds_with_their_own_test_parts_are_tested_together():
    problem = tiny_problem(redrawn=True)
    first = [labelling(problem, seed, 5) for seed in SEEDS]
    second = [labelling(problem, seed, 15, first=100) for seed in SEEDS]
    found = between(problem, SEEDS, first, second)
    assert found.each == ()
    # 45 decisions for the first alone, 15 for the second: (|45 − 15| − 1)² / 60
    alone = mcnemar(problem.truth(0), first[0].predicted, second[0].predicted).p_value
    assert found.p_value < alone
    assert found.verdict == "better"


@pytest.mark.parametrize(
    ("difference", "p_value", "verdict", "text"),
    [
        (1.0, 0.01, "better", "+ p=0.010"),
        (-1.0, 0.0001, "worse", "− p<0.001"),
        (-1.0, 0.05, "alike", "= p=0.050"),
        (2.0, 0.2, "alike", "= p=0.200"),
    ],
)
def test_a_verdict_needs_five_percent(difference, p_value, verdict, text):
    found = Difference(difference, p_value)
    assert (found.verdict, str(found)) == (verdict, text)
    assert found.to_dict()["verdict"] == verdict
