"""The automatic gain: it works for small corpora and any unit, it costs little, and it says what it costs."""

from __future__ import annotations

import logging
from functools import partial

import numpy as np
import pytest

from hedgerow.chain.objectives import log_likelihood
from hedgerow.trainers import SGD
from hedgerow.training.online import gain as module
from hedgerow.training.online.batches import Batches
from hedgerow.training.online.gain import find_gain
from hedgerow.training.online.sgd import Descent
from tests.models.corpora import X_SMALL, Y_SMALL, Loss, rich_corpus
from tests.training.online_problems import Problem, run


def make(batches, l2=1.0):
    return partial(Descent, batches, l2)


def corpus(n, unit=1.0):
    X, y = rich_corpus(n, seed=8)
    rows = [[{"word": row.get("word", ""), "size": unit * row["size"]} for row in item.positions] for item in X]
    return Loss(rows, y)


def test_a_corpus_of_three_sentences():
    loss = Loss(X_SMALL[:3], Y_SMALL[:3])
    problem = Problem(loss.layout, loss.dataset)
    before = problem.penalised(np.zeros(loss.n_weights), 0.1)
    assert problem.penalised(run(SGD, problem, 20, l2=0.1), 0.1) < 0.3 * before


@pytest.mark.parametrize("unit", [1e-4, 1.0, 1e4])
def test_numbers_in_any_unit(unit):
    loss = corpus(200, unit)
    problem = Problem(loss.layout, loss.dataset)
    before = problem.penalised(np.zeros(loss.n_weights), 1e-3)
    assert problem.penalised(run(SGD, problem, 10, l2=1e-3), 1e-3) < 0.8 * before


def test_no_other_power_of_four_is_better():
    loss = corpus(100)
    batches = Batches(loss.layout, loss.dataset, log_likelihood)
    start = np.zeros(loss.n_weights)
    gain = find_gain(batches, start, make(batches), l2=1.0)
    losses = [module._trial(batches, make(batches)(start, gain * factor), 1.0) for factor in (0.25, 0.5, 1, 2, 4)]
    assert np.argmin(losses) == 2


def test_the_cost_is_counted_and_told(caplog):
    loss = corpus(3000)
    batches = Batches(loss.layout, loss.dataset, log_likelihood)
    with caplog.at_level(logging.INFO, logger="hedgerow"):
        gain = find_gain(batches, np.zeros(loss.n_weights), make(batches), l2=1.0)
    n_trials = int(caplog.messages[0].split(" trials")[0].split()[-1])
    assert f"gain {gain:.3g}, found in {n_trials} trials that cost {batches.passes:.2f} passes" == caplog.messages[0]
    share = module.LEAST_POSITIONS / loss.dataset.n_positions
    np.testing.assert_allclose(batches.passes, n_trials * share, rtol=0.1)


def test_one_long_sequence_is_tried_twice_a_trial():
    loss = Loss([["a", "b"] * 4000], [["x", "y"] * 4000])
    batches = Batches(loss.layout, loss.dataset, log_likelihood)
    module._trial(batches, make(batches)(np.zeros(loss.n_weights), 1e-4), 1.0)
    assert batches.passes == module.LEAST_STEPS == 2


def test_a_first_gain_that_is_far_too_large():
    loss = corpus(50, unit=1e6)
    batches = Batches(loss.layout, loss.dataset, log_likelihood)
    gain = find_gain(batches, np.zeros(loss.n_weights), make(batches, l2=100.0), l2=100.0)
    assert gain < 0.1
    assert not batches.gradient.any()


def test_it_does_not_depend_on_the_weights_at_the_start():
    """At the optimum no step makes the loss smaller, and yet training may go on from there with other sequences."""
    loss = corpus(100)
    problem = Problem(loss.layout, loss.dataset)
    starts = np.zeros(loss.n_weights), np.random.default_rng(0).normal(size=loss.n_weights)
    gains = [find_gain(problem.batches(), start, make(problem.batches()), l2=1.0) for start in starts]
    assert gains[0] == gains[1]
