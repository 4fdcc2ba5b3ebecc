"""L-BFGS and OWL-QN against other optimisers, on problems that are not chains."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from hedgerow.training.monitor import Monitor
from hedgerow.training.whole import lbfgs as lbfgs_module
from hedgerow.training.whole.lbfgs import curvature_scale, lbfgs


class Logistic:
    """The loss of a logistic regression; convex, and smooth."""

    def __init__(self, seed: int, n_samples: int = 60, n_features: int = 12, spread: float = 1.0) -> None:
        rng = np.random.default_rng(seed)
        self.X = rng.normal(size=(n_samples, n_features)) * np.exp(spread * rng.normal(size=n_features))
        self.y = np.where(rng.random(n_samples) < 0.5 + 0.4 * np.tanh(self.X[:, 0]), 1.0, -1.0)
        self.n_features = n_features
        self.n_calls = 0

    def __call__(self, weights: np.ndarray) -> tuple[float, np.ndarray]:
        self.n_calls += 1
        margins = self.y * (self.X @ weights)
        slope = -self.y / (1.0 + np.exp(np.minimum(margins, 500)))
        return float(np.logaddexp(0.0, -margins).sum()), self.X.T @ slope


def run(problem, l1=0.0, l2=0.0, scale=None, start=None, **options) -> tuple[np.ndarray, Monitor]:
    start = np.zeros(problem.n_features) if start is None else start
    with Monitor(**{"max_iter": 5000, "tol": 1e-13} | options) as monitor:
        weights = lbfgs(problem, start, monitor, l1=l1, l2=l2, scale=scale)
    return weights, monitor


def scipy_optimum(problem, l2: float) -> np.ndarray:
    def penalised(weights):
        value, gradient = problem(weights)
        return value + l2 * weights @ weights, gradient + 2 * l2 * weights

    options = {"maxiter": 5000, "ftol": 1e-16, "gtol": 1e-10}
    return minimize(penalised, np.zeros(problem.n_features), jac=True, method="L-BFGS-B", options=options).x


def proximal_optimum(problem, l1: float, l2: float) -> np.ndarray:
    """Accelerated proximal gradient with restarts: slow, and plainly right."""
    step = 1.0 / (0.25 * np.linalg.norm(problem.X, 2) ** 2 + 2 * l2)
    weights = ahead = np.zeros(problem.n_features)
    momentum = 1.0
    for _ in range(20000):
        gradient = problem(ahead)[1] + 2 * l2 * ahead
        moved = ahead - step * gradient
        new = np.sign(moved) * np.maximum(np.abs(moved) - step * l1, 0.0)
        if (ahead - new) @ (new - weights) > 0:
            momentum, ahead = 1.0, weights
            continue
        next_momentum = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        ahead = new + (momentum - 1) / next_momentum * (new - weights)
        if np.abs(new - weights).max() < 1e-13:
            break
        weights, momentum = new, next_momentum
    return new


def value(problem, weights, l1, l2) -> float:
    return problem(weights)[0] + l2 * float(weights @ weights) + l1 * float(np.abs(weights).sum())


@pytest.mark.parametrize("l2", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("seed", range(3))
def test_l2_finds_the_optimum_of_scipy(seed, l2):
    problem = Logistic(seed)
    weights, monitor = run(problem, l2=l2)
    assert monitor.outcome == "converged"
    np.testing.assert_allclose(weights, scipy_optimum(problem, l2), rtol=0, atol=1e-5)


@pytest.mark.parametrize(("l1", "l2"), [(0.5, 0.0), (2.0, 0.0), (1.0, 0.5), (200.0, 0.0)])
@pytest.mark.parametrize("seed", range(3))
def test_l1_finds_the_optimum_of_proximal_gradient(seed, l1, l2):
    problem = Logistic(seed, spread=0.5)
    expected = proximal_optimum(problem, l1, l2)
    weights, monitor = run(problem, l1=l1, l2=l2)
    assert monitor.outcome == "converged"
    np.testing.assert_allclose(value(problem, weights, l1, l2), value(problem, expected, l1, l2), rtol=1e-9)
    np.testing.assert_allclose(weights, expected, rtol=0, atol=1e-4)
    assert np.count_nonzero(weights) == np.count_nonzero(np.abs(expected) > 1e-9)
    if l1 == 200.0:
        assert not weights.any()


@settings(max_examples=25)
@given(seed=st.integers(0, 10**6), l1=st.sampled_from([0.0, 0.7]), l2=st.sampled_from([0.0, 0.1, 3.0]))
def test_the_loss_falls_at_every_step(seed, l1, l2):
    problem = Logistic(seed, spread=2.0)
    _, monitor = run(problem, l1=l1, l2=l2, tol=1e-8)
    losses = [monitor.start_loss, *(step.loss for step in monitor.history)]
    assert np.all(np.diff(losses) < 0)


def test_the_scale_does_not_change_the_optimum(rng):
    problem = Logistic(7)
    plain, _ = run(problem, l2=0.2)
    scaled, _ = run(problem, l2=0.2, scale=np.exp(rng.normal(size=problem.n_features)))
    np.testing.assert_allclose(plain, scaled, rtol=0, atol=2e-5)
    sparse, _ = run(problem, l1=1.0)
    sparse_scaled, _ = run(problem, l1=1.0, scale=np.exp(rng.normal(size=problem.n_features)))
    np.testing.assert_allclose(sparse, sparse_scaled, rtol=0, atol=1e-5)


def test_a_start_at_the_optimum_is_left_alone():
    problem = Logistic(8)
    optimum, _ = run(problem, l2=0.5)
    weights, monitor = run(problem, l2=0.5, start=optimum, tol=1e-9)
    assert (monitor.outcome, monitor.n_iter) == ("converged", 0)
    np.testing.assert_array_equal(weights, optimum)


@pytest.mark.parametrize("tol", [1e-2, 1e-4, 1e-6])
@pytest.mark.parametrize("l1", [0.0, 1.0])
def test_a_small_gap_is_a_true_bound(l1, tol):
    """Where the bound from the curvature ends training, the loss is as near to the minimum as it says."""
    problem = Logistic(9)
    best = value(problem, run(problem, l1=l1, l2=1.0)[0], l1, 1.0)
    weights, _ = run(problem, l1=l1, l2=1.0, tol=tol)
    found = value(problem, weights, l1, 1.0)
    assert best - 1e-12 <= found <= best * (1 + 2 * tol)


def test_a_quadratic_takes_few_iterations(rng):
    curvatures = np.geomspace(1, 100, 8)
    target = rng.normal(size=8)

    class Quadratic:
        n_features = 8

        def __call__(self, w):
            return float(0.5 * curvatures @ (w - target) ** 2), curvatures * (w - target)

    weights, monitor = run(Quadratic(), scale=1 / np.sqrt(curvatures))
    np.testing.assert_allclose(weights, target, rtol=0, atol=1e-6)
    assert monitor.n_iter < 30


def test_no_weights_at_all():
    class Constant:
        n_features = 0

        def __call__(self, weights):
            return 3.0, np.zeros(0)

    weights, monitor = run(Constant())
    assert weights.shape == (0,)
    assert monitor.outcome == "converged"
    assert monitor.kept.loss == 3.0


def test_a_loss_that_is_not_a_number_is_an_error():
    class Broken:
        n_features = 2

        def __call__(self, weights):
            return float("nan"), np.ones(2)

    with pytest.raises(FloatingPointError, match="the loss became nan"):
        run(Broken())


@pytest.mark.parametrize(("slope", "outcome"), [(1e-5, "converged"), (1.0, "stuck")])
def test_noise_at_the_level_of_the_arithmetic_ends_training(slope, outcome):
    """A gradient that does not fit the value: no step lowers the loss, and that is the end, not an endless loop."""

    class Flat:
        n_features = 3
        n_calls = 0

        def __call__(self, weights):
            self.n_calls += 1
            return 1.0, np.full(3, slope)

    problem = Flat()
    weights, monitor = run(problem)
    assert monitor.outcome == outcome
    assert not weights.any()
    assert problem.n_calls < 40


def test_curvature_scale_is_the_same_in_other_units():
    frequency, square = np.array([4.0, 100.0]), np.array([1.0, 9.0])
    for l2 in (0.0, 1.0):
        expected = 1 / np.sqrt(square * np.sqrt(frequency / 4) + 2 * l2)
        np.testing.assert_allclose(curvature_scale(frequency, square, 4, l2), expected, rtol=1e-12)
    small = curvature_scale(frequency, square * 1e-12, 4, 0.0)
    np.testing.assert_allclose(small, curvature_scale(frequency, square, 4, 0.0) * 1e6, rtol=1e-12)


def test_curvature_that_misleads_is_forgotten(monkeypatch):
    """A direction that does not go down is no proof of a minimum: training goes on from the gradient alone."""

    class Misleading(lbfgs_module._Curvature):
        def apply(self, vector):
            return -vector if len(self.pairs) == 3 else super().apply(vector)

    problem = Logistic(11)
    expected, _ = run(problem, l2=0.5)
    monkeypatch.setattr(lbfgs_module, "_Curvature", Misleading)
    weights, monitor = run(problem, l2=0.5)
    assert monitor.n_iter > 6
    np.testing.assert_allclose(weights, expected, rtol=0, atol=1e-4)
