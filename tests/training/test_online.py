"""What online trainers share: one step of the monitor a pass, gains that are too large, Ctrl-C, watching."""

from __future__ import annotations

import contextlib
import logging
import os
import signal

import numpy as np
import pytest

from hedgerow.chain.objectives import log_likelihood, perceptron
from hedgerow.errors import InputError
from hedgerow.trainers import AROW, SGD, SMD, AdaGrad, Adam, AnnealedSGD, AveragedPerceptron, PassiveAggressive
from hedgerow.training.monitor import Monitor
from hedgerow.training.online import passes as online
from hedgerow.training.online.batches import Diverged
from tests.training.online_problems import run, small_problem, train

MISTAKES = [AveragedPerceptron, PassiveAggressive, AROW]  # without a gain, and without a penalty
TRAINERS = [SGD, AnnealedSGD, AdaGrad, Adam, SMD, *MISTAKES]


def start(trainer, monitor, **options):
    problem = small_problem(perceptron if trainer in MISTAKES else log_likelihood)
    if trainer not in MISTAKES:
        options = {"l2": 1.0, "gain": 0.05} | options
    weights = train(trainer, problem.batches(), np.zeros(problem.layout.n_weights), monitor, **options)
    return problem, weights


@pytest.mark.parametrize("trainer", TRAINERS)
def test_the_monitor_hears_of_every_pass(trainer):
    with Monitor(max_iter=7, tol=0.0) as monitor:
        problem, weights = start(trainer, monitor)
    assert (monitor.n_iter, monitor.outcome) == (7, "max_iter")
    assert np.isfinite([step.loss for step in monitor.history]).all()
    assert np.isfinite(weights).all()
    if trainer not in MISTAKES:
        np.testing.assert_allclose(monitor.start_loss, problem.penalised(np.zeros(len(weights)), 1.0), rtol=1e-9)


def test_the_loss_of_a_pass_is_the_running_one():
    with Monitor(max_iter=1, tol=0.0) as monitor:
        problem, weights = start(SGD, monitor)
    running, w = 0.0, np.zeros(len(weights))
    for batch in problem.order(0):
        loss, gradient = problem.gradient(w, batch)
        running += loss
        w = w - 0.05 * (gradient + 2.0 * len(batch) / 12 * w)
    np.testing.assert_allclose(monitor.history[0].loss, running + w @ w, rtol=1e-10)


@pytest.mark.parametrize("trainer", TRAINERS)
def test_the_same_seed_gives_the_same_bits(trainer):
    results = []
    for _ in range(2):
        with Monitor(max_iter=3, tol=0.0) as monitor:
            results.append(start(trainer, monitor)[1])
    np.testing.assert_array_equal(*results)


@pytest.mark.parametrize("trainer", TRAINERS)
def test_training_ends_when_the_loss_no_longer_falls(trainer):
    with Monitor(max_iter=500, tol=1e-2) as monitor:
        start(trainer, monitor)
    assert monitor.outcome == "converged"
    assert 10 <= monitor.n_iter < 500


@pytest.mark.parametrize("trainer", TRAINERS)
def test_the_best_pass_is_kept(trainer):
    scores = iter([0.1, 0.5, 0.4, 0.3, 0.2])
    seen = []

    def validate(weights):
        seen.append(weights.copy())
        return next(scores)

    with Monitor(max_iter=50, tol=0.0, validate=validate, n_iter_no_change=3) as monitor:
        weights = start(trainer, monitor)[1]
    assert (monitor.outcome, monitor.n_iter, monitor.kept.iteration) == ("early_stopping", 5, 2)
    np.testing.assert_array_equal(weights, seen[1])


@pytest.mark.parametrize("trainer", TRAINERS)
def test_whoever_watches_sees_every_batch(trainer):
    seen = []
    with Monitor(max_iter=2, tol=0.0) as monitor:
        weights = start(trainer, monitor, observe=lambda passes, get: seen.append((passes, get())))[1]
    np.testing.assert_allclose([passes for passes, _ in seen], np.arange(1, 7) / 3, rtol=1e-12)
    np.testing.assert_array_equal(seen[-1][1], weights)
    assert not np.array_equal(seen[-2][1], weights)


def test_passes_that_chose_the_gain_are_counted():
    passes = []
    with Monitor(max_iter=1, tol=0.0) as monitor:
        start(SGD, monitor, gain="auto", observe=lambda p, get: passes.append(p))
    assert passes[0] > 10  # so small a corpus is gone through again and again
    np.testing.assert_allclose(np.diff(passes), 1 / 3, rtol=1e-9)


def test_ctrl_c_ends_a_pass_early_and_keeps_the_weights():
    seen = []

    def observe(passes, get):
        seen.append(get())
        if len(seen) == 4:
            os.kill(os.getpid(), signal.SIGINT)

    with Monitor(max_iter=100, tol=0.0) as monitor:
        weights = start(SGD, monitor, observe=observe)[1]
    assert (monitor.outcome, monitor.n_iter, len(seen)) == ("interrupted", 2, 4)
    np.testing.assert_array_equal(weights, seen[-1])
    assert 0.3 < monitor.history[1].loss / monitor.history[0].loss < 3.0  # told by a third of the sequences


@pytest.mark.parametrize("trainer", [SGD, AnnealedSGD, SMD])
def test_a_gain_that_is_too_large_is_an_error(trainer):
    with pytest.raises(InputError, match="is too large") as error, Monitor(max_iter=30, tol=0.0) as monitor:
        start(trainer, monitor, gain=1e200, l2=0.0)
    assert "gain='auto'" in str(error.value)


@pytest.mark.parametrize("trainer", [AdaGrad, Adam])
def test_a_huge_gain_never_gives_a_model_that_is_no_number(trainer):
    weights = np.zeros(1)
    with Monitor(max_iter=5, tol=0.0) as monitor, contextlib.suppress(InputError):  # the error is one of the two ways
        weights = start(trainer, monitor, gain=1e150)[1]
    assert np.isfinite(weights).all()


def test_training_begins_again_where_an_automatic_gain_was_too_large(caplog, monkeypatch):
    problem = small_problem()
    made = []

    class Fragile:
        caution = 1.0

        def __init__(self, start, gain):
            self.start, self.gain, self.n = start, gain, 0
            made.append(self)

        def step(self, sequences):
            self.n += 1
            if self.gain > 0.3 and self.n > 4:
                raise Diverged("a test")
            return 1.0

        def weights(self):
            return self.start + self.gain

    monkeypatch.setattr(online, "find_gain", lambda *a, **k: 1.0)
    monkeypatch.setattr(online, "_start_loss", lambda *a: 9.0)
    with Monitor(max_iter=3, tol=0.0) as monitor, caplog.at_level(logging.WARNING, logger="hedgerow"):
        weights = online.train(problem.batches(), np.zeros(3), monitor, Fragile, l2=0.0, gain="auto", observe=None)
    assert [learner.gain for learner in made] == [1.0, 0.25]
    np.testing.assert_array_equal(made[1].start, 0.0)
    np.testing.assert_array_equal(weights, 0.25)
    assert len(caplog.messages) == 1


@pytest.mark.parametrize("caution", [1.0, 0.25])
def test_a_gain_that_stays_is_chosen_with_caution(caution, monkeypatch):
    made = []

    class Careful:
        def __init__(self, start, gain):
            self.caution = caution
            made.append(gain)

        def step(self, sequences):
            return 1.0

        def weights(self):
            return np.zeros(3)

    monkeypatch.setattr(online, "find_gain", lambda *a, **k: 8.0)
    monkeypatch.setattr(online, "_start_loss", lambda *a: 9.0)
    problem = small_problem()
    for gain, expected in (("auto", 8.0 * caution), (5.0, 5.0)):
        with Monitor(max_iter=1, tol=0.0) as monitor:
            options = {"l2": 0.0, "gain": gain, "observe": None}
            online.train(problem.batches(), np.zeros(3), monitor, Careful, **options)
        assert made[-1] == expected


def test_halving_ends(monkeypatch):
    monkeypatch.setattr(online, "_start_loss", lambda *a: 9.0)

    class Hopeless:
        caution = 1.0

        def __init__(self, start, gain):
            pass

        def step(self, sequences):
            raise Diverged("a test")

        def weights(self):
            raise AssertionError

    problem = small_problem()
    with pytest.raises(InputError, match="is too large: a test in pass 1"), Monitor(max_iter=3, tol=0.0) as monitor:
        online.train(problem.batches(), np.zeros(3), monitor, Hopeless, l2=0.0, gain="auto", observe=None)


@pytest.mark.parametrize("gain", [0.0, -1.0, np.nan, np.inf, "large"])
def test_a_gain_that_cannot_be_meant(gain):
    with pytest.raises(InputError, match="gain="):
        run(SGD, small_problem(), 1, gain=gain)
