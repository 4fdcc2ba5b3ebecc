"""The linear model beside the trees."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hedgerow import LinearCRF
from hedgerow.metrics import label_accuracy
from reproduction.linear import (
    baseline,
    conjunctions,
    fit_to_end,
    linear_curve,
    mallet,
    tune_iterations,
    tune_linear,
    variance_to_l2,
)

from .tiny import SETTINGS, tiny_problem


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


def test_the_baseline_scores_pairs_of_labels_and_mallet_finds_features():
    problem = tiny_problem()
    X, y = problem.X[:12], problem.y[:12]
    plain = baseline(1, 0.1, X, y).fit(X, y)
    assert plain.layout_.pairs is not None
    assert plain.layout_.pairs.n_weights > plain.layout_.nodes.n_weights
    found = fit_to_end(mallet(1, 0.1, 0, 20), X, y)
    assert found.n_iter_ <= 20
    assert max(map(len, found.induced_.sets())) > 1


def test_iterations_are_chosen_by_cross_validation():
    problem = tiny_problem()
    settings = replace(SETTINGS, inner_folds=2)
    chosen = tune_iterations(
        lambda l2: LinearCRF(window=1, l2=l2, max_iter=10), (1e-9, 1.0), problem.X[:20], problem.y[:20], settings, 0
    )
    assert chosen.variance == 1.0
    assert 1 <= chosen.n_iterations <= 10
    assert 0 < chosen.accuracy <= 1


def test_a_curve_ends_where_training_does():
    problem = tiny_problem()
    X, y, X_test, y_test = problem.X[:20], problem.y[:20], problem.X[20:], [list(row) for row in problem.y[20:]]
    y_test[0][0] = "never"
    curve = linear_curve(LinearCRF(window=1), X, y, X_test, y_test)
    end = label_accuracy(y_test, LinearCRF(window=1).fit(X, y).predict(X_test))
    assert curve.accuracies[-1] == pytest.approx(end)
    assert len(curve.seconds) == len(curve.accuracies) > 3
