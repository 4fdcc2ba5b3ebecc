"""Callbacks are told of every iteration of a fit, and may end it; `verbose` tells the same where no one keeps a log."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from hedgerow import HMM, IOHMM, InputError, LinearCRF, TreeCRF
from hedgerow.datasets import make_sequences, make_shapes
from hedgerow.lattice import LatticeCRF

X, Y = make_sequences(24, mean_length=5, random_state=0)


@pytest.mark.parametrize(
    "model",
    [
        LinearCRF(window=0, max_iter=6, tol=0.0),
        LinearCRF(window=0, trainer="adagrad", max_iter=4, tol=0.0, random_state=0),
        TreeCRF(window=0, n_estimators=4, early_stopping=False),
        IOHMM(max_iter=3, n_init=1, random_state=0),
    ],
    ids=lambda model: f"{type(model).__name__} {getattr(model, 'trainer', '')}",
)
def test_every_iteration_is_told(model):
    told = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, Y, callbacks=told.append)
    losses = [step.loss for step in told]
    assert set(losses) >= {step.loss for step in model.history_}
    assert len(told) >= model.n_iter_ > 0


def test_one_that_returns_true_ends_training_with_the_best_so_far():
    steps = []

    def stop(step):
        steps.append(step)
        return step.iteration >= 3

    with pytest.warns(ConvergenceWarning, match="interrupted after 3 iterations"):
        model = LinearCRF(window=0, tol=0.0).fit(X, Y, callbacks=[stop, lambda step: None])
    assert (model.n_iter_, model.outcome_) == (3, "interrupted")
    assert len(steps) == 3
    plain = LinearCRF(window=0, tol=0.0, max_iter=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        plain.fit(X, Y)
    np.testing.assert_array_equal(model.weights_, plain.weights_)


def test_truth_alone_stops():
    """A function may return what it likes: a logger's result is no wish."""
    model = LinearCRF(window=0).fit(X, Y, callbacks=[lambda step: 1, lambda step: "yes"])
    assert model.outcome_ == "converged"


def test_what_compares_windows_is_not_told():
    """Else a wish to stop would end a model that is thrown away, and the window with it."""
    told = []
    model = LinearCRF().fit(X, Y, callbacks=told.append)
    assert [step.iteration for step in told] == list(range(1, model.n_iter_ + 1))
    with pytest.warns(ConvergenceWarning, match="interrupted after 2"):
        stopped = LinearCRF().fit(X, Y, callbacks=[lambda step: np.bool_(step.iteration >= 2)])
    assert stopped.window_ == model.window_


def test_they_end_with_the_fit():
    told = []
    HMM().fit(X, Y, callbacks=told.append)
    n = len(told)
    LinearCRF(window=0).fit(X, Y)
    assert len(told) == n


def test_held_out_scores_are_told():
    told = []
    LinearCRF(window=0, early_stopping=True, random_state=0).fit(X, Y, callbacks=told.append)
    assert all(step.score is not None for step in told)


def test_lattices():
    told = []
    images, masks = make_shapes(2, size=8, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = LatticeCRF(max_iter=3).fit(images, masks, callbacks=told.append)
    assert [step.loss for step in told[-3:]] == [step.loss for step in model.history_]  # after those of its start


def test_what_is_no_function():
    with pytest.raises(InputError, match="callbacks holds 3, which is not a function"):
        LinearCRF().fit(X, Y, callbacks=[3])


def test_verbose_prints_where_no_one_keeps_a_log(capsys, caplog):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        LinearCRF(window=0, max_iter=2, verbose=1).fit(X, Y)
        assert "iteration 2  loss " in capsys.readouterr().err
        with caplog.at_level("INFO", logger="hedgerow"):
            LinearCRF(window=0, max_iter=2, verbose=1).fit(X, Y)
    assert "iteration 2  loss " in caplog.text
    assert "iteration 2" not in capsys.readouterr().err
