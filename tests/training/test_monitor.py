"""History, the best weights, reasons to stop, Ctrl-C and progress."""

from __future__ import annotations

import io
import logging
import os
import signal
import sys
import threading
from typing import Any

import numpy as np
import pytest

from hedgerow.training.monitor import Monitor, Step


def feed(monitor: Monitor, losses, start: float = 100.0) -> int:
    """Report losses until the monitor says stop; how many it took."""
    monitor.begin(start, np.array([-1.0]))
    for i, loss in enumerate(losses):
        if monitor.step(loss, np.array([float(i)])):
            return i + 1
    raise AssertionError("the monitor never stopped")


def test_stops_at_max_iter_and_keeps_the_last():
    monitor = Monitor(max_iter=3, tol=0.0)
    assert feed(monitor, [9.0, 8.0, 7.0, 6.0]) == 3
    assert (monitor.outcome, monitor.n_iter, monitor.kept.loss) == ("max_iter", 3, 7.0)
    assert [step.iteration for step in monitor.history] == [1, 2, 3]
    np.testing.assert_array_equal(monitor.weights(np.array([5.0])), [5.0])


def test_compares_with_the_loss_ten_iterations_ago():
    monitor = Monitor(max_iter=100, tol=0.1)
    assert feed(monitor, [50.0, *np.linspace(40, 39, 60)]) == 12  # from 50 in ten iterations is enough, from 40 is not
    assert monitor.outcome == "converged"


def test_the_start_counts_as_a_loss():
    monitor = Monitor(max_iter=100, tol=1e-3)
    assert feed(monitor, [100.0 - 1e-4 * i for i in range(50)], start=100.0) == 10


def test_a_known_gap_ends_training():
    monitor = Monitor(max_iter=100, tol=1e-3)
    assert not monitor.begin(10.0, np.zeros(1), gap=0.011)
    assert not monitor.step(8.0, np.zeros(1), gap=0.0081)
    assert monitor.step(7.0, np.zeros(1), gap=0.0069)
    assert monitor.outcome == "converged"
    at_once = Monitor(max_iter=100, tol=1e-3)
    assert at_once.begin(10.0, np.zeros(1), gap=0.009)
    assert (at_once.outcome, at_once.n_iter, at_once.kept) == ("converged", 0, Step(0, 10.0, 0.0))


def test_keeps_the_best_score_the_last_of_equal_ones():
    scores = iter([0.1, 0.5, 0.4, 0.5, 0.3, 0.2, 0.1])
    monitor = Monitor(max_iter=100, tol=0.0, validate=lambda weights: next(scores), n_iter_no_change=3)
    assert feed(monitor, np.linspace(50, 10, 20)) == 5
    assert monitor.outcome == "early_stopping"
    assert monitor.kept.iteration == 4
    np.testing.assert_array_equal(monitor.weights(np.array([-1.0])), [3.0])


def test_a_trainer_without_weights():
    """The iteration that is kept says it all."""
    scores = iter([0.1, 0.5, 0.4, 0.3])
    monitor = Monitor(max_iter=4, tol=-np.inf, validate=lambda: next(scores))
    assert not monitor.begin(9.0)
    while not monitor.step(10.0):  # a loss that does not fall ends nothing where there is no tolerance
        pass
    assert (monitor.kept.iteration, monitor.n_iter, monitor.outcome) == (2, 4, "max_iter")
    assert monitor.best_weights is None


def test_kept_weights_are_a_copy():
    monitor = Monitor(max_iter=2, tol=0.0, validate=lambda weights: -float(weights[0]))
    monitor.begin(9.0, np.zeros(1))
    weights = np.array([1.0])
    monitor.step(8.0, weights)
    weights[0] = 7.0
    monitor.step(7.0, weights)
    np.testing.assert_array_equal(monitor.weights(weights), [1.0])


def test_a_warm_start_may_be_the_best():
    scores = iter([0.6, 0.5, 0.4, 0.3])
    previous = [Step(1, 50.0, 0.1), Step(2, 40.0, 0.2)]
    options = {"max_iter": 100, "tol": 0.0, "validate": lambda weights: next(scores), "n_iter_no_change": 3}
    monitor = Monitor(previous=previous, **options)
    assert feed(monitor, [39.0, 38.0, 37.0, 36.0], start=41.0) == 3
    assert monitor.outcome == "early_stopping"
    assert (monitor.kept.iteration, monitor.kept.loss, monitor.kept.score) == (2, 41.0, 0.6)
    np.testing.assert_array_equal(monitor.weights(np.array([9.0])), [-1.0])


def test_a_warm_start_without_history_counts_from_0():
    scores = iter([0.5, 0.6, 0.4])
    monitor = Monitor(max_iter=2, tol=0.0, validate=lambda weights: next(scores), previous=[])
    feed(monitor, [9.0, 8.0])
    assert (monitor.kept.iteration, monitor.n_iter) == (1, 2)


def test_a_cold_start_is_not_scored():
    scores = iter([0.1, 0.2])
    monitor = Monitor(max_iter=2, tol=0.0, validate=lambda weights: next(scores))
    feed(monitor, [9.0, 8.0])
    assert monitor.kept.iteration == 2


def test_goes_on_from_an_earlier_history():
    previous = [Step(1, 50.0, 0.1), Step(2, 40.0, 0.2)]
    monitor = Monitor(max_iter=2, tol=0.0, previous=previous)
    feed(monitor, [30.0, 20.0], start=40.0)
    assert [step.iteration for step in monitor.history] == [1, 2, 3, 4]
    assert monitor.n_iter == 2
    assert len(previous) == 2


class TestInterrupt:
    def test_the_first_ends_training_after_the_iteration(self, caplog):
        with Monitor(max_iter=10, tol=0.0) as monitor:
            monitor.begin(10.0, np.zeros(1))
            assert not monitor.step(9.0, np.zeros(1))
            os.kill(os.getpid(), signal.SIGINT)
            assert monitor.step(8.0, np.zeros(1))
        assert monitor.outcome == "interrupted"
        assert "press Ctrl-C again" in caplog.text

    def test_the_second_is_a_keyboard_interrupt(self):
        with Monitor(max_iter=10, tol=0.0):
            os.kill(os.getpid(), signal.SIGINT)
            with pytest.raises(KeyboardInterrupt):
                os.kill(os.getpid(), signal.SIGINT)

    @pytest.mark.parametrize("error", [None, ValueError])
    def test_the_old_handler_comes_back(self, error):
        def handler(number, frame):
            raise AssertionError

        old = signal.signal(signal.SIGINT, handler)
        try:
            try:
                with Monitor(max_iter=10, tol=0.0):
                    assert signal.getsignal(signal.SIGINT) is not handler
                    if error:
                        raise error
            except ValueError:
                pass
            assert signal.getsignal(signal.SIGINT) is handler
        finally:
            signal.signal(signal.SIGINT, old)

    def test_a_job_that_ignores_it_goes_on_ignoring_it(self):
        old = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            with Monitor(max_iter=10, tol=0.0) as monitor:
                monitor.begin(10.0, np.zeros(1))
                os.kill(os.getpid(), signal.SIGINT)
                assert not monitor.step(8.0, np.zeros(1))
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
        finally:
            signal.signal(signal.SIGINT, old)

    def test_other_threads_do_not_listen(self):
        before = signal.getsignal(signal.SIGINT)
        outcomes = []

        def work():
            with Monitor(max_iter=2, tol=0.0) as monitor:
                assert signal.getsignal(signal.SIGINT) is before
                feed(monitor, [9.0, 8.0])
            outcomes.append(monitor.outcome)

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        assert outcomes == ["max_iter"]


class TestProgress:
    def test_lines_where_there_is_no_terminal(self, caplog, capfd):
        caplog.set_level(logging.INFO, logger="hedgerow")
        with Monitor(max_iter=2, tol=0.0, verbose=1, validate=lambda weights: 0.5) as monitor:
            feed(monitor, [9.0, 8.0])
        assert [record.name for record in caplog.records] == ["hedgerow", "hedgerow"]
        assert "iteration 2  loss 8.0000  score 0.5000" in caplog.text
        assert capfd.readouterr().out == ""

    @pytest.mark.parametrize("verbose", [0, 1])
    def test_compiling_is_said_before_it_begins(self, caplog, verbose):
        from hedgerow import jit as _jit

        made: dict[str, Any] = {}
        exec("def add(x): return x + 1", made)  # in no file, so in no cache either
        add = _jit.kernel(made["add"])
        caplog.set_level(logging.INFO, logger="hedgerow")
        with Monitor(max_iter=2, tol=0.0, verbose=verbose) as monitor:
            add(1)
            feed(monitor, [9.0, 8.0])
            add(1.5)
        add(1j)
        words = [record.getMessage().split()[0] for record in caplog.records]
        assert words == ["compiling", "iteration", "iteration"][: 3 * verbose]

    def test_silence_by_default(self, caplog, capfd):
        caplog.set_level(logging.DEBUG, logger="hedgerow")
        with Monitor(max_iter=2, tol=0.0) as monitor:
            feed(monitor, [9.0, 8.0])
        assert caplog.text == ""
        assert capfd.readouterr() == ("", "")

    def test_a_bar_on_a_terminal(self, monkeypatch, capfd):
        class Terminal(io.StringIO):
            def isatty(self):
                return True

        terminal = Terminal()
        monkeypatch.setattr(sys, "stderr", terminal)
        monkeypatch.setenv("TERM", "xterm")
        with Monitor(max_iter=2, tol=0.0, verbose=1) as monitor:
            monitor._say_compiling("grow")
            monitor._bar.refresh()
            assert "compiling kernels, once: grow" in terminal.getvalue()
            monitor._say_compiling("")
            feed(monitor, [9.0, 8.0])
            monitor._bar.refresh()
        assert "loss 8.0000" in terminal.getvalue()
        assert "2/2" in terminal.getvalue()
        assert capfd.readouterr().out == ""


@pytest.mark.parametrize(("least", "n_iter", "best"), [(0.0, 8, 5), (0.001, 5, 5), (0.1, 4, 4)])
def test_a_rise_that_is_too_small_does_not_go_on_with_training(least, n_iter, best):
    scores = [-100.0, -99.0, -98.999, -98.998, -98.997, *[-99.5] * 10]
    scores_left = iter(scores)
    monitor = Monitor(
        max_iter=15, tol=-np.inf, validate=lambda: next(scores_left), n_iter_no_change=3, least_rise=least
    )
    with monitor:
        monitor.begin(1.0)
        while not monitor.step(1.0):
            pass
    assert (monitor.n_iter, monitor.kept.iteration, monitor.outcome) == (n_iter, best, "early_stopping")


@pytest.mark.parametrize("least", [0.0, 0.5])
def test_any_score_is_a_rise_above_an_impossible_one(least):
    scores = iter([-np.inf, -np.inf, -1.0, -2.0, -2.0])
    with Monitor(max_iter=9, tol=-np.inf, validate=lambda: next(scores), n_iter_no_change=2, least_rise=least) as one:
        one.begin(1.0)
        for _ in range(3):
            done = one.step(1.0)
    assert not done
    assert one.kept.iteration == 3


@pytest.mark.parametrize(("unit", "n_iter"), [(0.0, 20), (100.0, 4)])
def test_a_score_near_nothing_is_compared_with_its_unit(unit, n_iter):
    scores = iter(-1.0 / 2.0 ** np.arange(20))
    options = {"max_iter": 20, "tol": -np.inf, "n_iter_no_change": 3, "least_rise": 0.01, "score_unit": unit}
    with Monitor(validate=lambda: next(scores), **options) as monitor:
        monitor.begin(1.0)
        while not monitor.step(1.0):
            pass
    assert (monitor.n_iter, monitor.kept.iteration) == (n_iter, n_iter)


@pytest.mark.parametrize(
    ("scores", "n_iter"),
    [
        ([-9.0, -8.0, -7.0, -6.0, -5.0, -4.0], 6),  # never behind
        ([-9.5, -9.5, -7.0, -6.0, -5.0, -4.0], 6),  # behind, and not after the head start
        ([-9.0, -8.0, -7.5, -6.0, -5.0, -4.0], 3),
        ([-9.0, -4.0, -7.5, -6.0, -5.0, -4.0], 3),  # it was ahead before, by chance
        ([-9.0, -8.0, -4.0, -7.0, -7.0, -7.0], 6),  # its best counts later on
        ([-9.0, -8.0, -7.0, -6.0, -6.0, -5.5], 5),  # the rival, which has ended, had -5.5 at best
    ],
)
def test_training_that_falls_behind_its_rival_ends(scores, n_iter):
    left = iter(scores)
    rival = {"rival": [-9.0, -8.0, -7.0, -6.0, -5.5, -6.0], "head_start": 3}
    with Monitor(max_iter=6, tol=-np.inf, validate=lambda: next(left), **rival) as monitor:
        monitor.begin(1.0)
        while not monitor.step(1.0):
            pass
    assert monitor.n_iter == n_iter
    assert monitor.outcome == ("behind" if n_iter < 6 else "max_iter")
