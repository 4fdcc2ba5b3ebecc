"""Stochastic gradient descent: lazy weights are those of the literal version; annealed, it converges."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.chain.objectives import log_likelihood, pseudo_likelihood
from hedgerow.errors import InputError
from hedgerow.trainers import SGD, AnnealedSGD
from hedgerow.training.online import sgd as module
from hedgerow.training.online.sgd import Average, falling_rate, unit_scale
from tests.models.corpora import Loss
from tests.reference import online_trainers as literal
from tests.training.online_problems import Problem, excess, problems, run, small_problem


def start_of(problem, seed):
    return 0.1 * np.random.default_rng(seed).normal(size=problem.layout.n_weights)


@settings(max_examples=40)
@given(problems(), st.sampled_from([0.0, 0.3, 3.0]), st.integers(0, 10**6))
def test_a_fixed_gain_is_the_literal_version(problem, l2, seed):
    start = start_of(problem, seed)
    found = run(SGD, problem, 3, start, l2=l2, gain=0.05)
    expected = literal.sgd(problem, start, 3, l2=l2, gain=0.05)[-1]
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-8)


@settings(max_examples=40)
@given(problems(), st.booleans(), st.sampled_from([0.0, 0.3]), st.booleans(), st.integers(0, 10**6))
def test_a_falling_gain_is_the_literal_version(problem, averaged, l2, odd, seed):
    start, rng = start_of(problem, seed), np.random.default_rng(seed)
    far = np.exp(rng.choice([-1.0, 1.0], len(start)) * rng.uniform(np.log(module.FAR) + 0.1, 2.5, len(start)))
    square = np.where(rng.random(len(start)) < 0.3, far, 1.0) if odd else None
    schedule = "averaged" if averaged else "inverse"
    found = run(AnnealedSGD, problem, 3, start, l2=l2, gain=0.05, schedule=schedule, square=square)
    expected = literal.annealed_sgd(
        problem,
        start,
        3,
        l2=l2,
        gain=0.05,
        rate=falling_rate(l2, 0.05),
        averaged=averaged,
        scale=None if square is None else 1.0 / square,
    )[-1]
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-8)


def test_a_factor_that_became_small_changes_nothing(monkeypatch):
    problem = small_problem()
    expected = run(AnnealedSGD, problem, 5, l2=5.0, gain=0.05)
    monkeypatch.setattr(module, "SMALLEST", 0.9)
    np.testing.assert_allclose(run(AnnealedSGD, problem, 5, l2=5.0, gain=0.05), expected, rtol=1e-10)


def test_averages_are_taken_at_some_moments_and_start_anew(monkeypatch):
    monkeypatch.setattr(module, "SNAPSHOTS", 4)
    problem = small_problem()
    problem.batch_size = 1
    batches = problem.batches()
    assert batches.n_batches == 12
    average = Average(batches)
    x = np.ones(batches.working.size)
    moments = []  # every third step
    for step in range(40):
        if step in (6, 12, 24):  # passes ½, 1, 2
            moments = []
        average.note((step + 1.0) * x, 0.5, step / 12)
        if step % 3 == 2:
            moments.append(0.5 * (step + 1.0))
        expected = np.mean(moments) if moments else -7.0
        np.testing.assert_allclose(average.read(-7.0 * x), expected, rtol=1e-12)


@pytest.mark.parametrize("objective", [log_likelihood, pseudo_likelihood])
@pytest.mark.parametrize("schedule", ["averaged", "inverse"])
def test_a_falling_gain_reaches_the_optimum(objective, schedule):
    problem = small_problem(objective)
    assert excess(problem, run(AnnealedSGD, problem, 400, l2=2.0, schedule=schedule), 2.0) < 1e-6


def test_a_fixed_gain_stays_near_it():
    problem = small_problem()
    assert 1e-6 < excess(problem, run(SGD, problem, 100, l2=2.0), 2.0) < 0.05


def test_units_do_not_matter_with_a_scale():
    """A column of numbers in thousands trains as well as the same column in units."""
    rng = np.random.default_rng(3)
    sizes = [rng.normal(size=4).round(2) for _ in range(20)]
    y = [["a" if x > 0 else "b" for x in own] for own in sizes]
    losses = {}
    for unit in (1.0, 1000.0):
        loss = Loss([[{"size": unit * x, "word": str(i)} for i, x in enumerate(own)] for own in sizes], y)
        problem = Problem(loss.layout, loss.dataset)
        square = loss.statistics.square
        assert (unit_scale(square) is not None) == (unit > 1.0)
        losses[unit] = problem.gradient(run(AnnealedSGD, problem, 30, l2=1e-3, gain=0.1, square=square))[0]
    assert losses[1000.0] < 1.1 * losses[1.0]


def test_features_in_common_units_need_no_scale():
    assert unit_scale(np.array([1.0, 0.5, 3.0])) is None
    np.testing.assert_allclose(unit_scale(np.array([1.0, 2.0, 100.0, 0.01])), [1.0, 1.0, 0.01, 100.0], rtol=1e-12)


def test_a_penalty_that_would_turn_the_weights_round():
    with pytest.raises(InputError, match="gain=10 is too large"):
        run(SGD, small_problem(), 1, l2=1.0, gain=10.0)
