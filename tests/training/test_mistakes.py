"""The passive-aggressive algorithm and AROW against literal ones, which move every weight in every step."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.chain.objectives import perceptron
from hedgerow.trainers import AROW, PassiveAggressive
from tests.reference import online_trainers as literal
from tests.training.online_problems import problems, run, small_problem

PASSIVE = [
    {},
    {"slack": "none", "average": False},
    {"slack": "squared", "aggressiveness": 0.3},
    {"aggressiveness": 0.05, "count_errors": False},
]


@settings(max_examples=40)
@given(problems(perceptron), st.sampled_from(PASSIVE))
def test_passive_aggressive_is_the_literal_one(problem, options):
    start = np.zeros(problem.layout.n_weights)
    expected = literal.passive_aggressive(problem, start, 2, **options)[-1]
    np.testing.assert_allclose(run(PassiveAggressive, problem, 2, **options), expected, rtol=1e-8, atol=1e-8)


@settings(max_examples=40)
@given(problems(perceptron), st.sampled_from([{}, {"variance": 0.2, "gamma": 3.0}]))
def test_arow_is_the_literal_one(problem, options):
    start = np.zeros(problem.layout.n_weights)
    expected = literal.arow(problem, start, 2, **options)[-1]
    np.testing.assert_allclose(run(AROW, problem, 2, **options), expected, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("options", [*PASSIVE[1:], {"slack": "squared"}], ids=str)
def test_each_setting_of_passive_aggressive_changes_the_weights(options):
    problem = small_problem(perceptron)
    assert not np.allclose(run(PassiveAggressive, problem, 3), run(PassiveAggressive, problem, 3, **options))


@pytest.mark.parametrize("options", [{"variance": 0.2}, {"gamma": 3.0}], ids=str)
def test_each_setting_of_arow_changes_the_weights(options):
    problem = small_problem(perceptron)
    assert not np.allclose(run(AROW, problem, 3), run(AROW, problem, 3, **options))


def test_a_step_without_slack_reaches_the_margin():
    """What defines the algorithm: after it, the truth is ahead of what was found by the margin."""
    problem = small_problem(perceptron)
    problem.batch_size = problem.n_sequences
    start = np.random.default_rng(0).normal(size=problem.layout.n_weights)
    (batch,) = problem.order(0)
    loss, gradient = problem.gradient(start, batch)
    after = run(PassiveAggressive, problem, 1, start, slack="none", average=False, count_errors=False)
    n_wrong = sum(count > 0 for _, count in problem.mistakes(start, batch))
    assert n_wrong > 1
    np.testing.assert_allclose(gradient @ (after - start) + loss, -n_wrong, rtol=1e-9)
