"""Stochastic meta-descent: (16)–(21) to the letter, the lazy form near it, and convergence when annealed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.chain.objectives import log_likelihood, perceptron, pseudo_likelihood
from hedgerow.datasets import make_sequences
from hedgerow.errors import InputError
from hedgerow.trainers import SGD, SMD
from hedgerow.training.monitor import Monitor
from hedgerow.training.online.batches import Batches
from hedgerow.training.online.trainers import train_online
from tests.models.corpora import Loss
from tests.reference import online_trainers as literal
from tests.training.online_problems import excess, problems, run, small_problem


@settings(max_examples=30)
@given(problems(), st.sampled_from([0.0, 0.3]), st.sampled_from([1.0, 0.8]), st.integers(0, 10**6))
def test_the_exact_form_is_the_literal_version(problem, l2, decay, seed):
    start = 0.1 * np.random.default_rng(seed).normal(size=problem.layout.n_weights)
    options = {"l2": l2, "gain": 0.01, "meta_gain": 0.2, "gain_decay": decay}
    found = run(SMD, problem, 3, start, lazy=False, schedule="plain", **options)
    expected = literal.smd(problem, problem.product, start, 3, **options)[-1]
    np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-7)


def test_the_hessian_is_that_of_differences():
    problem = small_problem()
    start = np.full(problem.layout.n_weights, 0.1)
    options = {"l2": 0.5, "gain": 0.02, "meta_gain": 0.1, "gain_decay": 0.9}
    product = literal.finite_product(problem.gradient)
    expected = literal.smd(problem, product, start, 2, **options)[-1]
    found = run(SMD, problem, 2, start, lazy=False, schedule="plain", **options)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-7)


def test_without_a_penalty_the_lazy_form_is_exact_where_every_batch_touches_all():
    problem = small_problem()
    problem.batch_size = problem.n_sequences
    options = {"l2": 0.7, "gain": 0.02}
    exact, lazy = (run(SMD, problem, 5, lazy=lazy, **options) for lazy in (False, True))
    np.testing.assert_allclose(lazy, exact, rtol=1e-12, atol=1e-12)


def test_the_lazy_form_is_near_the_exact_one():
    problem = small_problem()
    exact, lazy = (run(SMD, problem, 10, l2=1.0, gain=0.05, lazy=lazy) for lazy in (False, True))
    assert 0.0 < np.abs(lazy - exact).max() < 0.05 * np.abs(exact).max()


def test_meta_gain_zero_is_plain_descent():
    problem = small_problem()
    found = run(SMD, problem, 5, l2=0.5, gain=0.05, meta_gain=0.0, lazy=False, schedule="plain")
    np.testing.assert_allclose(found, run(SGD, problem, 5, l2=0.5, gain=0.05), rtol=1e-9, atol=1e-9)


def test_gains_learn():
    """From a gain that is far too small, gains that grow get further than gains that do not."""
    problem = small_problem()
    grown = run(SMD, problem, 20, l2=1.0, gain=0.002, meta_gain=0.5, schedule="plain")
    assert excess(problem, grown, 1.0) < 0.7 * excess(problem, run(SGD, problem, 20, l2=1.0, gain=0.002), 1.0)


@pytest.mark.parametrize("objective", [log_likelihood, pseudo_likelihood])
@pytest.mark.parametrize("lazy", [True, False])
def test_annealed_it_reaches_the_optimum(objective, lazy):
    problem = small_problem(objective)
    weights = run(SMD, problem, 1000, l2=2.0, lazy=lazy, schedule="annealed")
    assert excess(problem, weights, 2.0) < 1e-6


@pytest.mark.parametrize(("n_passes", "share"), [(1, 0.5), (2, 1.0), (3, 1.0)])
def test_the_average_is_that_of_the_last_pass(n_passes, share):
    """Every schedule takes the same steps; what comes out is the mean of where they led in the last pass."""
    problem, options = small_problem(), {"l2": 0.5, "gain": 0.05}
    problem.batch_size = 2
    steps = []
    last = run(SMD, problem, n_passes, schedule="plain", observe=lambda _, get: steps.append(get()), **options)
    n_batches = len(problem.order(0))
    assert n_batches % 2 == 0
    expected = np.mean(steps[-int(share * n_batches) :], axis=0)
    found = run(SMD, problem, n_passes, schedule="averaged", **options)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(run(SMD, problem, n_passes, **options), found)  # as it comes
    assert not np.allclose(found, last)


def test_a_gain_that_stops_weights_is_not_taken():
    """On these sequences the gain with the lowest loss in a trial stops some weights for good."""
    X, y = make_sequences(300, n_labels=4, n_tokens=200, mean_length=12, concentration=0.4, random_state=2)
    loss = Loss(X[:150], y[:150])
    batches = Batches(loss.layout, loss.dataset, log_likelihood, seed=1)
    with Monitor(max_iter=10, tol=0.0, plateau=False) as monitor:
        weights = train_online(SMD(), batches, np.zeros(loss.n_weights), monitor, l2=0.3)
    assert loss(weights)[0] + 0.3 * float(weights @ weights) < 1_000  # it is over 1,700 there, and 663 at the optimum


def test_objectives_without_a_hessian_are_refused():
    with pytest.raises(InputError, match="Hessian") as error:
        run(SMD, small_problem(perceptron), 1)
    assert "log_likelihood and pseudo_likelihood" in str(error.value)
