"""Those who are compared: what they are trained on, and what they are given."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hedgerow import TreeCRF
from hedgerow.metrics import label_accuracy
from reproduction import contenders
from reproduction.contenders import (
    ORIGINAL,
    SHRINKAGE,
    default_model,
    label_parts,
    lightgbm_windows,
    paper_model,
    tree_grid,
    tuned_paper,
    untuned,
)
from reproduction.settings import Settings

from .tiny import SETTINGS, tiny_problem


def test_the_grids():
    settings = Settings()
    assert tree_grid(SHRINKAGE, settings)[:2] == [
        {"l2_regularization": 0.0, "max_leaf_nodes": 100},
        {"l2_regularization": 5.0, "max_leaf_nodes": 100},
    ]
    assert tree_grid(ORIGINAL, settings)[0] == {"l2_regularization": 0.0, "max_leaf_nodes": 30}
    assert (len(tree_grid(SHRINKAGE, settings)), len(tree_grid(ORIGINAL, settings))) == (6, 4)


def test_the_default_is_the_default():
    """Nothing but the window and the seed is said."""
    model = default_model(3, 2, Settings())
    assert model.get_params() == TreeCRF(window=2, random_state=3).get_params()
    assert default_model(3, 2, Settings().quickly()).n_estimators == Settings().quickly().max_iterations


def test_paper_mode_runs_all_iterations():
    model = paper_model(1, 7, {"l2_regularization": 3.0, "max_leaf_nodes": 5})
    assert (model.early_stopping, model.n_estimators, model.l2_regularization, model.max_leaf_nodes) == (
        False,
        7,
        3.0,
        5,
    )


@pytest.mark.parametrize("contender", [tuned_paper, untuned, lightgbm_windows])
def test_a_contender_learns_and_sees_only_the_training_part(contender):
    """The labels of the test part are not even handed over: others there change nothing."""
    settings = replace(SETTINGS, max_iterations=6)
    problem = tiny_problem()
    found = label_parts(contender, problem, 0, settings)
    assert label_accuracy(problem.truth(0), found.predicted) > 0.45  # a label by chance is right for a third
    assert found.seconds > 0
    spoilt = replace(problem, y=[*problem.y[:30], *([["l1"] * 12] * 20)])
    assert label_parts(contender, spoilt, 0, settings).predicted == found.predicted


def test_parts_are_in_order():
    def same_again(X, y, X_test, seed, window, settings):
        return [["x"] * len(x) + [seed] for x in X_test], 1.0, {"n": len(X)}

    problem = tiny_problem(n_folds=3)
    found = label_parts(same_again, problem, 1, SETTINGS)
    assert [len(row) - 1 for row in found.predicted] == [len(labels) for labels in problem.truth(1)]
    assert (found.seconds, len(found.details)) == (3.0, 3)


def test_the_choice_is_trained_on_the_whole_part(monkeypatch):
    """What the cross-validation prefers becomes the final model."""
    problem = tiny_problem()
    fitted = []

    def fit_choice(choice, X, y, window):
        fitted.append((choice, len(X)))
        return _Stub(), 0.0, {}

    monkeypatch.setattr(contenders, "fit_choice", fit_choice)
    label_parts(tuned_paper, problem, 0, SETTINGS)
    ((choice, n),) = fitted
    assert n == 30
    assert choice.parameters["l2_regularization"] in SETTINGS.shrinkages
    assert 1 <= choice.n_iterations <= SETTINGS.max_iterations


class _Stub:
    def predict(self, X):
        return [["l1"] * len(x) for x in X]
