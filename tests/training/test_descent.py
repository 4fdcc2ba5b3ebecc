"""Conjugate gradients and gradient descent: the optimum of L-BFGS, by other ways; and what all three share."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.chain.objectives import log_likelihood, pseudo_likelihood
from hedgerow.linear.chain import Evaluation, LinearChain
from hedgerow.parallel import Lanes
from hedgerow.training.monitor import Monitor
from hedgerow.training.whole import conjugate_gradient as module
from hedgerow.training.whole.conjugate_gradient import conjugate_gradient
from hedgerow.training.whole.gradient_descent import gradient_descent
from hedgerow.training.whole.lbfgs import Problem, curvature_scale, first_step, lbfgs
from tests.models.corpora import COLUMNS, Loss, rich_corpus

from .test_lbfgs import Logistic, scipy_optimum, value

BOTH = pytest.mark.parametrize("train", [conjugate_gradient, gradient_descent])


def run(train, problem, l2=0.0, scale=None, start=None, **options) -> tuple[np.ndarray, Monitor]:
    start = np.zeros(problem.n_features) if start is None else start
    with Monitor(**{"max_iter": 20000, "tol": 1e-13} | options) as monitor:
        weights = train(problem, start, monitor, l2=l2, scale=scale)
    return weights, monitor


class Quadratic:
    """Σ_j curvature_j (w_j − target_j)² / 2."""

    def __init__(self, curvatures, target):
        self.curvatures, self.target = curvatures, target
        self.n_features = len(target)
        self.n_calls = 0

    def __call__(self, w):
        self.n_calls += 1
        return float(0.5 * self.curvatures @ (w - self.target) ** 2), self.curvatures * (w - self.target)


@BOTH
@pytest.mark.parametrize("objective", [log_likelihood, pseudo_likelihood])
@pytest.mark.parametrize("l2", [0.5, 5.0])
def test_corpora_have_the_optimum_of_lbfgs(train, objective, l2):
    X, y = rich_corpus(60, seed=3)
    loss = Loss(X, y, columns=COLUMNS, transition_columns=["word"])
    scale = curvature_scale(loss.statistics.frequency, loss.statistics.square, 3, l2)
    found = []
    with Lanes(None, 1) as lanes:
        evaluate = Evaluation(LinearChain(loss.layout), loss.dataset, objective, lanes)
        for one in (lbfgs, train):
            with Monitor(max_iter=20000, tol=1e-12) as monitor:
                weights = one(evaluate, np.zeros(loss.n_weights), monitor, l2=l2, scale=scale)
            assert monitor.outcome == "converged"
            found.append((monitor.kept.loss, weights))
    (expected, best), (reached, weights) = found
    np.testing.assert_allclose(reached, expected, rtol=1e-6)
    np.testing.assert_allclose(weights, best, rtol=0, atol=1e-3 * np.abs(best).max())


@BOTH
@pytest.mark.parametrize("seed", range(3))
def test_the_optimum_of_scipy(train, seed):
    problem = Logistic(seed, spread=0.5)
    weights, monitor = run(train, problem, l2=1.0)
    assert monitor.outcome == "converged"
    best = scipy_optimum(problem, 1.0)
    np.testing.assert_allclose(value(problem, weights, 0.0, 1.0), value(problem, best, 0.0, 1.0), rtol=1e-9)
    np.testing.assert_allclose(weights, best, rtol=0, atol=1e-3)


@BOTH
@settings(max_examples=25)
@given(seed=st.integers(0, 10**6), l2=st.sampled_from([0.0, 0.1, 3.0]))
def test_the_loss_falls_at_every_step(train, seed, l2):
    _, monitor = run(train, Logistic(seed), l2=l2, tol=1e-6, max_iter=200)
    losses = [monitor.start_loss, *(step.loss for step in monitor.history)]
    assert np.all(np.diff(losses) < 0)


@BOTH
def test_the_scale_does_not_change_the_optimum(train, rng):
    problem = Logistic(7, spread=0.5)
    plain, _ = run(train, problem, l2=0.5)
    scaled, _ = run(train, problem, l2=0.5, scale=np.exp(0.5 * rng.normal(size=problem.n_features)))
    np.testing.assert_allclose(plain, scaled, rtol=0, atol=1e-4)


@BOTH
def test_a_start_at_the_optimum_is_left_alone(train):
    problem = Logistic(8)
    optimum, _ = run(lbfgs, problem, l2=0.5)
    weights, monitor = run(train, problem, l2=0.5, start=optimum, tol=1e-9)
    assert (monitor.outcome, monitor.n_iter) == ("converged", 0)
    np.testing.assert_array_equal(weights, optimum)


@BOTH
def test_a_gradient_of_zero_is_the_end(train):
    """One variable: the search comes to the minimum to the last bit, and there is no direction left."""
    weights, monitor = run(train, Quadratic(np.ones(1), np.full(1, 0.5)), tol=0.0, max_iter=200)
    assert monitor.outcome == "converged"
    np.testing.assert_allclose(weights, 0.5, rtol=1e-7)


@pytest.mark.parametrize(("slope", "outcome"), [(1e-5, "converged"), (1.0, "stuck")])
@BOTH
def test_no_step_that_lowers_the_loss_is_the_end(train, slope, outcome):
    class Flat:
        n_features = 3
        n_calls = 0

        def __call__(self, weights):
            self.n_calls += 1
            return 1.0, np.full(3, slope)

    problem = Flat()
    weights, monitor = run(train, problem)
    assert monitor.outcome == outcome
    assert not weights.any()
    assert problem.n_calls < 80


@BOTH
def test_validation_keeps_the_best_weights(train):
    scores, seen = iter([0.3, 0.5, 0.2, 0.1, 0.0]), []

    def validate(weights):
        seen.append(weights)
        return next(scores)

    weights, monitor = run(train, Logistic(3), l2=0.1, validate=validate, n_iter_no_change=2)
    assert monitor.outcome == "early_stopping"
    np.testing.assert_array_equal(weights, seen[1])


def test_conjugate_directions_solve_a_quadratic_in_a_few_steps(rng):
    """Far fewer than steepest descent, which the condition number of 10⁴ would hold up for tens of thousands."""
    problem = Quadratic(np.geomspace(1, 1e4, 8), rng.normal(size=8))
    weights, monitor = run(conjugate_gradient, problem)
    np.testing.assert_allclose(weights, problem.target, rtol=0, atol=1e-5)
    assert monitor.n_iter < 60
    assert problem.n_calls < 4 * monitor.n_iter
    _, straight = run(gradient_descent, problem, max_iter=1000)
    assert straight.outcome == "max_iter"


def test_a_direction_that_misleads_is_dropped(monkeypatch):
    """Where the search finds nothing along a conjugate direction, it goes on from the gradient alone."""
    problem = Logistic(11)
    expected, _ = run(lbfgs, problem, l2=0.5)
    honest, calls = module._next_direction, []

    def misleading(point, before, direction):
        calls.append(0)
        return (point.gradient.copy(), False) if len(calls) == 3 else honest(point, before, direction)

    monkeypatch.setattr(module, "_next_direction", misleading)
    weights, monitor = run(conjugate_gradient, problem, l2=0.5)
    assert monitor.n_iter > 6
    np.testing.assert_allclose(weights, expected, rtol=0, atol=1e-4)


@settings(max_examples=50)
@given(seed=st.integers(0, 10**6), stretch=st.sampled_from([1e-3, 0.1, 1.0, 10.0, 1e3]))
def test_the_search_meets_the_strong_wolfe_conditions(seed, stretch):
    problem = Problem(Logistic(seed), None, 0.1, np.ones(12))
    point = problem.at(np.random.default_rng(seed).normal(size=12))
    direction = -point.gradient
    found = module._search(problem, point, direction, stretch * first_step(problem, direction))
    assert found is not None
    trial, step = found
    slope = point.gradient @ direction
    np.testing.assert_allclose(trial.variables, point.variables + step * direction, rtol=1e-12)
    assert trial.value <= point.value + module.ARMIJO * step * slope
    assert abs(trial.gradient @ direction) <= module.FLAT * abs(slope)
