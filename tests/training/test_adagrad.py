"""AdaGrad: quotients taken late are those of the literal version, and it converges."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.chain.objectives import log_likelihood, pseudo_likelihood
from hedgerow.trainers import AdaGrad
from tests.models.corpora import Loss
from tests.reference import online_trainers as literal
from tests.training.online_problems import Problem, excess, problems, run, small_problem


@settings(max_examples=40)
@given(problems(), st.sampled_from([0.0, 0.3, 3.0]), st.booleans(), st.integers(0, 10**6))
def test_it_is_the_literal_version(problem, l2, units, seed):
    rng = np.random.default_rng(seed)
    start = 0.1 * rng.normal(size=problem.layout.n_weights)
    square = np.exp(2.0 * rng.normal(size=len(start))) if units else None
    found = run(AdaGrad, problem, 3, start, l2=l2, gain=0.3, square=square)
    unit = np.ones(len(start)) if square is None else np.where((square < 0.25) | (square > 4.0), square, 1.0)
    expected = literal.adagrad(problem, start, 3, l2=l2, gain=0.3, unit=unit)[-1]
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("objective", [log_likelihood, pseudo_likelihood])
def test_it_reaches_the_optimum(objective):
    problem = small_problem(objective)
    assert excess(problem, run(AdaGrad, problem, 600, l2=2.0), 2.0) < 1e-6


def test_units_do_not_matter():
    """The steps of a weight are the same size, whatever the unit of its feature."""
    rng = np.random.default_rng(4)
    sizes = [rng.normal(size=4).round(2) for _ in range(20)]
    y = [["a" if x > 0 else "b" for x in own] for own in sizes]
    losses = []
    for unit in (1.0, 1000.0):
        loss = Loss([[{"size": unit * x, "word": str(i)} for i, x in enumerate(own)] for own in sizes], y)
        problem = Problem(loss.layout, loss.dataset)
        weights = run(AdaGrad, problem, 10, gain=0.3, square=loss.statistics.square)
        losses.append(problem.gradient(weights)[0])
    np.testing.assert_allclose(losses[1], losses[0], rtol=0.05)
