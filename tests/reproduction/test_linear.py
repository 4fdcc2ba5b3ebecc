"""The linear model beside the trees."""

from __future__ import annotations

import numpy as np
import pytest

from hedgerow import LinearCRF
from hedgerow.metrics import label_accuracy
from reproduction.linear import conjunctions, linear_curve, tune_linear, variance_to_l2

from .tiny import tiny_problem


def test_all_conjunctions_of_a_window():
    assert conjunctions(["G", "V"], 1) == [["+0=G"], ["+0=V"]]
    assert conjunctions(["G", "V"], 3)[0] == [
        "-1=-", "+0=G", "+1=V", "-1=-,+0=G", "-1=-,+1=V", "+0=G,+1=V", "-1=-,+0=G,+1=V",
    ]  # fmt: skip
    assert [len(row) for row in conjunctions(list("GVAC"), 7)] == [127] * 4


def test_the_penalty_of_a_variance():
    """exp(−w²/2σ²) is a penalty of w²/2σ²."""
    w = 1.7
    assert variance_to_l2(5.0) * w**2 == pytest.approx(-np.log(np.exp(-(w**2) / (2 * 5.0))))


def test_a_hopeless_variance_is_not_chosen():
    problem = tiny_problem()
    chosen = tune_linear(
        lambda l2: LinearCRF(window=1, l2=l2), (1e-9, 1.0), problem.X[:20], problem.y[:20], n_folds=2, seed=0
    )
    assert chosen == 1.0


def test_a_curve_ends_where_training_does():
    problem = tiny_problem()
    X, y, X_test, y_test = problem.X[:20], problem.y[:20], problem.X[20:], [list(row) for row in problem.y[20:]]
    y_test[0][0] = "never"
    curve = linear_curve(LinearCRF(window=1), X, y, X_test, y_test)
    end = label_accuracy(y_test, LinearCRF(window=1).fit(X, y).predict(X_test))
    assert curve.accuracies[-1] == pytest.approx(end)
    assert len(curve.seconds) == len(curve.accuracies) > 3
