"""Curves by iteration, and the choice by cross-validation."""

from __future__ import annotations

import numpy as np
import pytest

from hedgerow import TreeCRF
from hedgerow.errors import InputError
from hedgerow.metrics import label_accuracy
from reproduction import tuning
from reproduction.curves import known_labels, right_by_iteration
from reproduction.tuning import Curves, tune

from .tiny import tiny_problem


def grow(n_estimators=3, **parameters):
    return TreeCRF.paper("2009", window=1, n_estimators=n_estimators, **parameters)


@pytest.mark.parametrize("decoder", ["posterior", "viterbi"])
def test_a_curve_is_what_shorter_runs_give(decoder):
    problem = tiny_problem()
    X, y, X_test, y_test = problem.X[:20], problem.y[:20], problem.X[20:], problem.y[20:]
    right = right_by_iteration(grow().fit(X, y), X_test, y_test, ("viterbi", "posterior"))
    n = sum(map(len, y_test))
    for m in (1, 2, 3):
        predicted = grow(m).fit(X, y).predict(X_test, decoder=decoder)
        assert right[("viterbi", "posterior").index(decoder), m - 1] == round(label_accuracy(y_test, predicted) * n)


def test_a_label_that_was_never_seen_is_wrong():
    problem = tiny_problem()
    model = grow().fit(problem.X[:20], problem.y[:20])
    plain = right_by_iteration(model, problem.X[20:], problem.y[20:])[0]
    predicted = model.predict(problem.X[20:], decoder="posterior")
    odd = [list(labels) for labels in problem.y[20:]]
    position = next(t for t, (a, b) in enumerate(zip(odd[0], predicted[0])) if a == b)
    odd[0][position] = "never"
    assert right_by_iteration(model, problem.X[20:], odd)[0, -1] == plain[-1] - 1


def test_known_labels():
    assert known_labels(np.array(["a", "b"]), [["a", "c"], ["b"]]) == ([["a", None], ["b"]], 2)


# axes: grid, decoder, iteration
ACCURACIES = np.array([[[0.1, 0.6, 0.6], [0.2, 0.2, 0.7]], [[0.5, 0.6, 0.4], [0.3, 0.65, 0.7]]])
CURVES = Curves(({"l2_regularization": 1.0}, {"l2_regularization": 2.0}), ("posterior", "viterbi"), ACCURACIES)


def test_the_best_of_all_and_of_one_decoder():
    """Of equals the first of the grid, with the fewest iterations."""
    best = CURVES.best()
    assert (best.parameters, best.decoder, best.n_iterations, best.accuracy) == (
        {"l2_regularization": 1.0},
        "viterbi",
        3,
        0.7,
    )
    assert best.last
    own = CURVES.best("posterior")
    assert (own.parameters, own.decoder, own.n_iterations, own.accuracy) == (
        {"l2_regularization": 1.0},
        "posterior",
        2,
        0.6,
    )
    assert not own.last


def test_cross_validation_counts_every_sequence_once():
    problem = tiny_problem()
    X, y = problem.X[:12], problem.y[:12]
    curves = tune(grow, [{"l2_regularization": 5.0}, {"l2_regularization": 50.0}], X, y, n_folds=3, seed=2)
    assert curves.accuracies.shape == (2, 2, 3)
    right = 0
    for train, test in tuning.folds(len(X), 3, 2):
        model = grow(l2_regularization=50.0).fit([X[i] for i in train], [y[i] for i in train])
        predicted = model.predict([X[i] for i in test], decoder="viterbi")
        right += sum(a == b for i, row in zip(test, predicted) for a, b in zip(y[i], row))
    np.testing.assert_allclose(curves.accuracies[1, 1, 2], right / sum(map(len, y)), rtol=1e-12)


def test_an_empty_grid():
    problem = tiny_problem()
    with pytest.raises(InputError):
        tune(grow, [], problem.X, problem.y, n_folds=2, seed=0)
