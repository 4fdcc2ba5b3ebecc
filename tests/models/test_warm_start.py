"""warm_start: training goes on from the weights that are there, matched by the names of features and labels."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from hedgerow import LinearCRF, load
from hedgerow.datasets import make_sequences

from .corpora import COLUMNS, X_SMALL, Y_SMALL, rich_corpus


def test_at_the_optimum_there_is_nothing_to_do():
    X, y = make_sequences(40, random_state=1)
    model = LinearCRF(warm_start=True, tol=1e-10).fit(X, y)
    weights, loss, history = model.weights_, model.loss_, model.history_
    model.set_params(tol=1e-8).fit(X, y)
    assert (model.n_iter_, model.outcome_) == (0, "converged")
    np.testing.assert_array_equal(model.weights_, weights)
    np.testing.assert_allclose(model.loss_, loss, rtol=1e-12)
    assert model.history_ == history
    assert model.best_iteration_ == len(history)


def test_the_history_goes_on():
    X, y = make_sequences(40, random_state=2)
    model = LinearCRF(warm_start=True, max_iter=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, y)
        first = model.history_
        model.fit(X, y)
    assert model.n_iter_ == 3
    assert [step.iteration for step in model.history_] == [1, 2, 3, 4, 5, 6]
    assert model.history_[:3] == first
    assert model.history_[3].loss < first[-1].loss
    assert model.best_iteration_ == 6
    finished = LinearCRF(tol=1e-10).fit(X, y)
    model.set_params(max_iter=500, tol=1e-10).fit(X, y)
    np.testing.assert_allclose(model.loss_, finished.loss_, rtol=1e-8)


def test_without_it_training_begins_anew():
    model = LinearCRF(warm_start=True).fit(X_SMALL, Y_SMALL)
    weights = model.weights_.copy()
    model.set_params(warm_start=False).fit(X_SMALL, Y_SMALL)
    assert model.n_iter_ == len(model.history_) > 0
    np.testing.assert_array_equal(model.weights_, weights)


def test_new_features_and_labels_are_matched_by_name():
    parameters = {"window": 1, "l2": 0.01, "tol": 1e-10}
    model = LinearCRF(warm_start=True, **parameters).fit(X_SMALL, Y_SMALL)
    X, y = [["a", "new", "cat"], *X_SMALL], [["D", "B", "N"], *Y_SMALL]
    model.fit(X, y)
    assert model.classes_.tolist() == ["A", "B", "D", "N", "V"]
    cold = LinearCRF(**parameters).fit(X, y)
    np.testing.assert_allclose(model.loss_, cold.loss_, rtol=1e-7)
    own = model.history_[-model.n_iter_ :]
    assert own[0].loss < 0.5 * cold.history_[0].loss
    assert model.n_iter_ < cold.n_iter_


def test_carried_weights_predict_the_same():
    """All of it: nodes, transitions and label pairs survive labels and features that come in between."""
    from hedgerow.models.crf.linear_layout import carry_over

    X, y = rich_corpus(30, seed=1)
    parameters = {"columns": COLUMNS, "window": 1, "transition_columns": ["word", "language"]}
    old = LinearCRF(**parameters).fit(X, y)
    more = rich_corpus(5, seed=2)[0]
    new = LinearCRF(**parameters).fit([*X, *more], [*y, *([["A-new"] * len(x) for x in more])])
    weights = carry_over(old.schema_, old.layout_, old.weights_, new.schema_, new.layout_)
    assert np.isin(old.weights_[old.weights_ != 0], weights).all()
    assert np.count_nonzero(weights) == np.count_nonzero(old.weights_)
    new.weights_ = weights
    forbidden = [[{"B-X", "I-X", "O"}] * len(x) for x in X]
    for ours, theirs in zip(new.predict_proba(X, known=forbidden), old.predict_proba(X)):
        np.testing.assert_allclose(ours[:, 1:], theirs, rtol=0, atol=1e-9)


def test_nothing_in_common():
    from hedgerow.models.crf.linear_layout import carry_over

    old = LinearCRF().fit([["a", "b"]], [["x", "y"]])
    new = LinearCRF().fit([["c", "d"]], [["u", "v"]])
    weights = carry_over(old.schema_, old.layout_, old.weights_, new.schema_, new.layout_)
    assert not weights.any()
    empty = LinearCRF().fit([[{}, {}]], [["x", "y"]])
    weights = carry_over(empty.schema_, empty.layout_, empty.weights_, old.schema_, old.layout_)
    assert np.count_nonzero(weights) == np.count_nonzero(empty.weights_)
    back = carry_over(old.schema_, old.layout_, old.weights_, empty.schema_, empty.layout_)
    assert len(back) == empty.layout_.n_weights


def test_a_model_from_a_file_goes_on(tmp_path):
    X, y = make_sequences(40, random_state=3)
    LinearCRF(warm_start=True, tol=1e-10).fit(X, y).save(tmp_path / "model")
    model = load(tmp_path / "model").set_params(tol=1e-8).fit(X, y)
    assert model.n_iter_ == 0


def test_a_start_that_nothing_beats_is_kept():
    X, y = make_sequences(160, random_state=1, n_tokens=40, concentration=1.5, mean_length=6)
    held_out = {"X_val": X[40:], "y_val": y[40:]}
    model = LinearCRF(l2=0.1, pairs="all", warm_start=True, n_iter_no_change=5).fit(X[:40], y[:40], **held_out)
    weights, score, n_before = model.weights_, model.score(X[40:], y[40:]), len(model.history_)
    model.fit(X[:40], [labels[::-1] for labels in y[:40]], **held_out)  # wrong labels: it only gets worse
    assert (model.outcome_, model.n_iter_, model.best_iteration_) == ("early_stopping", 5, n_before)
    assert max(step.score for step in model.history_[n_before:]) < score == model.score(X[40:], y[40:])
    np.testing.assert_array_equal(model.weights_, weights)
