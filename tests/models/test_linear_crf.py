"""LinearCRF: training ends where it should, for every shape of data and every parameter."""

from __future__ import annotations

import copy
import pickle
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from hedgerow import LinearCRF
from hedgerow.data.encoding import learn
from hedgerow.datasets import make_sequences
from hedgerow.errors import HedgerowWarning, InputError

from .corpora import COLUMNS, X_SMALL, Y_SMALL, Loss, partial_labels, rich_corpus

TIGHT = {"tol": 1e-12, "max_iter": 3000}


def penalised(model: LinearCRF, X, y) -> float:
    weights = model.weights_
    penalty = model.l2 * float(weights @ weights) + model.l1 * float(np.abs(weights).sum())
    return -float(model.log_probability(X, y).sum()) + penalty


class TestTraining:
    def test_attributes_agree_with_each_other(self):
        X, y = make_sequences(40, random_state=1)
        model = LinearCRF(l2=0.1).fit(X, y)
        assert model.outcome_ == "converged"
        assert model.n_iter_ == len(model.history_) == model.best_iteration_
        assert model.loss_ == model.history_[-1].loss
        np.testing.assert_allclose(model.loss_, penalised(model, X, y), rtol=1e-10)
        losses = [step.loss for step in model.history_]
        assert np.all(np.diff(losses) < 0)
        assert model.classes_.tolist() == sorted({label for labels in y for label in labels})
        assert model.transition_weights_.shape == (3, 3)
        assert len(model.weights_) == model.layout_.n_weights

    @pytest.mark.parametrize("parameters", [{}, {"pairs": "all"}, {"transitions": "observed"}, {"window": (1, 0)}])
    def test_the_gradient_vanishes_at_the_optimum(self, parameters):
        X, y = rich_corpus(20, seed=1)
        model = LinearCRF(columns=COLUMNS, l2=0.3, **TIGHT, **parameters).fit(X, y)
        gradient = Loss(X, y, columns=COLUMNS, **parameters)(model.weights_)[1] + 2 * 0.3 * model.weights_
        assert np.abs(gradient).max() < 1e-4

    def test_partial_labels_train(self):
        X, y = rich_corpus(30, seed=2)
        model = LinearCRF(columns=COLUMNS, **TIGHT).fit(X, partial_labels(y, seed=3))
        np.testing.assert_allclose(model.loss_, penalised(model, X, partial_labels(y, seed=3)), rtol=1e-10)
        assert model.score(X, y) > 0.6

    def test_weights_of_sequences(self):
        X, y = make_sequences(20, random_state=2)
        weight = [1.0] * 18 + [2.0, 2.0]
        weighted = LinearCRF(**TIGHT).fit(X, y, sample_weight=weight)
        repeated = LinearCRF(**TIGHT).fit([*X, *X[18:]], [*y, *y[18:]])
        np.testing.assert_allclose(weighted.loss_, repeated.loss_, rtol=1e-10)
        for ours, theirs in zip(weighted.predict_proba(X), repeated.predict_proba(X)):
            np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-6)

    def test_threads_do_not_change_a_bit(self):
        X, y = rich_corpus(2500, seed=3)
        models = [
            LinearCRF(columns=COLUMNS, window=1, max_iter=4, n_jobs=n_jobs) for n_jobs in (None, 1, 2, 8)
        ]  # fmt: skip
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            for model in models:
                model.fit(X, y)
        for model in models[1:]:
            np.testing.assert_array_equal(model.weights_, models[0].weights_)
            assert model.loss_ == models[0].loss_
            assert model.predict(X).tolist() == models[0].predict(X).tolist()
            for ours, theirs in zip(model.predict_proba(X), models[0].predict_proba(X)):
                np.testing.assert_array_equal(ours, theirs)

    def test_fitted_twice_is_fitted_once(self):
        X, y = make_sequences(30, random_state=3)
        model = LinearCRF().fit(X, y)
        weights = model.weights_.copy()
        np.testing.assert_array_equal(model.fit(X, y).weights_, weights)
        assert len(model.history_) == model.n_iter_

    def test_l1_and_both(self):
        X, y = make_sequences(60, random_state=4)
        dense = LinearCRF(l2=0.1).fit(X, y)
        sparse = LinearCRF(l1=1.0, l2=0.1, max_iter=2000).fit(X, y)
        assert np.count_nonzero(dense.weights_) == len(dense.weights_)
        assert 0 < np.count_nonzero(sparse.weights_) < 0.8 * len(sparse.weights_)
        np.testing.assert_allclose(sparse.loss_, penalised(sparse, X, y), rtol=1e-10)

    def test_min_frequency_leaves_weights_out(self):
        counts = [LinearCRF(min_frequency=f).fit(X_SMALL, Y_SMALL).layout_.nodes.n_weights for f in (0, 2, 3, 100)]
        assert counts == [6, 3, 1, 0]  # "dog" is N three times, "the" is D twice, "barks" is V twice, three stand once

    def test_relabelling_renames_the_predictions(self):
        X, y = make_sequences(30, random_state=5)
        new = {"L0": 7, "L1": 3, "L2": 5}
        plain = LinearCRF(**TIGHT).fit(X, y)
        renamed = LinearCRF(**TIGHT).fit(X, [[new[label] for label in labels] for labels in y])
        assert renamed.classes_.tolist() == [3, 5, 7]
        expected = [[new[label] for label in labels] for labels in plain.predict(X)]
        assert renamed.predict(X).tolist() == expected
        assert all(type(label) is int for labels in renamed.predict(X) for label in labels)
        np.testing.assert_allclose(plain.loss_, renamed.loss_, rtol=1e-10)

    def test_nothing_is_printed(self, capfd):
        LinearCRF(verbose=1).fit(X_SMALL, Y_SMALL).predict(X_SMALL)
        assert capfd.readouterr().out == ""

    def test_a_long_sequence(self):
        rng = np.random.default_rng(6)
        labels = rng.integers(20, size=20_000)
        X, y = [[f"w{k}" for k in (labels * 2 + rng.integers(3, size=len(labels))) % 60]], [labels.tolist()]
        with pytest.warns(ConvergenceWarning):
            model = LinearCRF(max_iter=3).fit(X, y)
        assert model.history_[-1].loss < model.history_[0].loss
        assert len(model.predict(X)[0]) == 20_000


class TestEdges:
    def test_one_label(self):
        model = LinearCRF().fit([["a", "b"], ["c"]], [["x", "x"], ["x"]])
        assert model.predict([["a", "z"]]).tolist() == [["x", "x"]]
        assert (model.loss_, model.n_iter_, model.outcome_) == (0.0, 0, "converged")
        np.testing.assert_array_equal(model.predict_proba([["a"]])[0], [[1.0]])

    def test_one_position(self):
        model = LinearCRF().fit([["a"]], [["x"]])
        assert model.predict([["b"]]).tolist() == [["x"]]
        two = LinearCRF().fit([["a"], ["b"]], [["x"], ["y"]])
        assert two.predict([["a"], ["b"]]).tolist() == [["x"], ["y"]]

    def test_no_features_learns_the_order_of_labels(self):
        y = [["a", "b", "a", "b"]] * 5
        model = LinearCRF(l2=0.01).fit([[{}] * 4] * 5, y)
        assert model.layout_.nodes.n_weights == 0
        assert model.predict([[{}] * 4], known=[["a", None, None, None]]).tolist() == [["a", "b", "a", "b"]]

    def test_length_one_is_logistic_regression(self):
        from sklearn.linear_model import LogisticRegression

        rng = np.random.default_rng(7)
        X = rng.normal(size=(80, 3))
        X = (X - X.mean(axis=0)) / X.std(axis=0)  # as LinearCRF does itself with numbers of an array
        y = np.where(X[:, 0] + rng.normal(size=80) > 0, 1, 0)
        model = LinearCRF(l2=0.5, **TIGHT).fit([row[None] for row in X], [[int(label)] for label in y])
        # two weight vectors with the penalty l2·(‖w/2‖² + ‖w/2‖²) = l2/2·‖w‖², where scikit-learn has ‖w‖²/(2C)
        peer = LogisticRegression(C=1 / 0.5, fit_intercept=False, tol=1e-10).fit(X, y)
        ours = np.array([probs[0] for probs in model.predict_proba([row[None] for row in X])])
        np.testing.assert_allclose(ours, peer.predict_proba(X), rtol=0, atol=1e-5)

    @pytest.mark.parametrize("l2", [1e6, 1e12])
    def test_a_very_large_penalty(self, l2):
        model = LinearCRF(l2=l2).fit(X_SMALL, Y_SMALL)
        assert np.abs(model.weights_).max() < 1e-4
        np.testing.assert_allclose(model.predict_proba([["the"]])[0], np.full((1, 4), 0.25), rtol=0, atol=1e-4)

    def test_no_penalty(self):
        X, y = make_sequences(60, n_tokens=5, concentration=3.0, random_state=8)
        model = LinearCRF(l2=0.0, **TIGHT).fit(X, y)
        assert model.outcome_ == "converged"
        assert np.isfinite(model.weights_).all()
        assert model.loss_ <= LinearCRF(l2=0.01, **TIGHT).fit(X, y).loss_

    def test_no_penalty_on_separable_labels_ends(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = LinearCRF(l2=0.0, max_iter=300).fit(X_SMALL, Y_SMALL)
        assert np.isfinite(model.weights_).all()
        assert model.predict(X_SMALL).tolist() == Y_SMALL

    @pytest.mark.parametrize("unit", [1e-6, 1e6])
    def test_units_of_a_number_do_not_matter(self, unit):
        """Without a penalty a column in other units gives the same probabilities, in about as many iterations."""
        rng = np.random.default_rng(9)
        labels = [rng.integers(2, size=6) for _ in range(40)]
        X = [(row + rng.normal(size=6))[:, None] for row in labels]
        y = [row.tolist() for row in labels]
        plain = LinearCRF(l2=0.0, **TIGHT).fit(X, y)
        scaled = LinearCRF(l2=0.0, **TIGHT).fit([unit * x for x in X], y)
        np.testing.assert_allclose(scaled.loss_, plain.loss_, rtol=1e-8)
        assert scaled.n_iter_ <= 2 * plain.n_iter_ + 10
        for ours, theirs in zip(scaled.predict_proba([unit * x for x in X]), plain.predict_proba(X)):
            np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-4)

    def test_negative_numbers_count_as_often_as_positive_ones(self):
        X = [np.array([[1.0], [-1.0], [1.0], [-1.0]])]
        statistics = Loss(X, [["a", "b", "a", "b"]]).statistics
        np.testing.assert_array_equal(statistics.frequency[:2], [4.0, 4.0])
        assert statistics.square is None  # all are 1


class TestWarnings:
    def test_too_few_iterations(self):
        X, y = make_sequences(30, random_state=10)
        with pytest.warns(ConvergenceWarning, match="max_iter=2 iterations") as caught:
            model = LinearCRF(max_iter=2).fit(X, y)
        assert caught[0].filename == __file__
        assert (model.outcome_, model.n_iter_) == ("max_iter", 2)


BAD = [
    ({"l1": -1.0}, "l1 is -1.0"),
    ({"l2": float("nan")}, "l2 is nan"),
    ({"l2": "1"}, "l2 is '1'"),
    ({"tol": -1e-3}, "tol is"),
    ({"max_iter": 0}, "max_iter is 0. Give a whole number ≥ 1"),
    ({"max_iter": 2.5}, "max_iter is 2.5"),
    ({"max_iter": True}, "max_iter is True"),
    ({"min_frequency": -1}, "min_frequency is -1"),
    ({"n_iter_no_change": 0}, "n_iter_no_change is 0"),
    ({"validation_fraction": 1.0}, "validation_fraction is 1.0. Give a number > 0 and < 1"),
    ({"pairs": "some"}, "pairs is 'some'. Choose one of 'observed', 'all'"),
    ({"transitions": None}, "transitions is None"),
    ({"decoder": "greedy"}, "decoder is 'greedy'. Choose one of 'auto', 'viterbi'"),
    ({"scoring": "f3"}, "scoring is 'f3'"),
    ({"n_jobs": 0}, "n_jobs is 0"),
    ({"n_jobs": 1.5}, "n_jobs is 1.5. Give a whole number"),
    ({"window": -1}, "window is -1"),
    ({"transition_columns": "word"}, "transition_columns is the str 'word'"),
    ({"transition_columns": ["nothing"]}, "column 'nothing'"),
    ({"constraints": "chunks"}, "no scheme 'chunks'"),
    ({"constraints": [("D", "Z")]}, "the label 'Z', which is not in y"),
    ({"constraints": ["DN", "N"]}, "constraints hold 'DN'"),
    ({"columns": {"word": "text"}}, "column 'word'"),
    ({"max_iter": 10**400}, "max_iter is 1000"),
    ({"transitions": ["all"]}, "transitions is ['all']"),
    ({"constraints": 3}, "constraints is 3"),
    ({"constraints": [([1], "D")]}, "the label [1], which is not in y"),
    ({"transition_columns": 3}, "transition_columns is 3"),
    ({"transition_columns": [["word"]]}, "in transition_columns and not in the data"),
    ({"scoring": ["a"]}, "scoring is ['a']"),
    ({"scoring": "f3"}, "'boundary_f1', 'log_likelihood'; or give a scorer"),
    ({"decoder": ["a"]}, "decoder is ['a']. Choose one of 'auto', 'viterbi'"),
    ({"verbose": "x"}, "verbose is 'x'"),
    ({"random_state": "x"}, "random_state is 'x'"),
    ({"random_state": -1}, "random_state is -1"),
]


class TestErrors:
    @pytest.mark.parametrize(("parameters", "words"), BAD, ids=[str(bad[0]) for bad in BAD])
    def test_a_parameter_that_cannot_be_meant(self, parameters, words):
        model = LinearCRF(**parameters)
        with pytest.raises(InputError) as caught:
            model.fit(X_SMALL, Y_SMALL)
        assert words in str(caught.value)
        assert not hasattr(model, "classes_")

    def test_missing_labels(self):
        with pytest.raises(InputError, match="y is missing"):
            LinearCRF().fit(X_SMALL, None)
        with pytest.raises(InputError, match="no label at all"):
            LinearCRF().fit([["a"]], [[None]])

    def test_a_dataset_brings_its_labels(self):
        dataset = learn(X_SMALL, Y_SMALL, window=1)
        np.testing.assert_array_equal(
            LinearCRF().fit(dataset).weights_, LinearCRF(window=1).fit(X_SMALL, Y_SMALL).weights_
        )
        with pytest.raises(InputError, match="its own labels"):
            LinearCRF().fit(dataset, Y_SMALL)
        with pytest.raises(InputError, match="no labels"):
            LinearCRF().fit(learn(X_SMALL))
        with pytest.raises(InputError, match="its own labels"):
            LinearCRF(early_stopping=True).fit(dataset, Y_SMALL)
        with pytest.raises(InputError, match="its own lengths"):
            LinearCRF().fit(dataset, lengths=[2, 3, 4, 1])

    def test_a_dataset_must_agree_with_the_parameters(self):
        dataset = learn(X_SMALL, Y_SMALL, window=1, columns={"token": "categorical"})
        agreeing = LinearCRF(window=(1, 1), columns={"token": "categorical"}).fit(dataset)
        np.testing.assert_array_equal(agreeing.weights_, LinearCRF().fit(dataset).weights_)
        LinearCRF(window={"*": 1}).fit(dataset)
        with pytest.raises(InputError, match="window is 2 and the Dataset was made with 1"):
            LinearCRF(window=2).fit(dataset)
        with pytest.raises(InputError, match=r"window is \{'token': 2, '\*': 1\} and"):
            LinearCRF(window={"token": 2, "*": 1}).fit(dataset)
        with pytest.raises(InputError, match=r"columns is \{'token': 'attributes'\} and"):
            LinearCRF(columns={"token": "attributes"}).fit(dataset)
        with pytest.raises(InputError, match="its own lengths"):
            LinearCRF().fit(dataset, lengths=[1])

    @pytest.mark.parametrize("parameters", [{"n_jobs": 0}, {"verbose": "x"}, {"random_state": "x"}, {"scoring": "f3"}])
    def test_parameters_are_checked_before_the_corpus_is_read(self, parameters):
        X = iter(X_SMALL)
        with pytest.raises(InputError):
            LinearCRF(**parameters).fit(X, Y_SMALL)
        assert next(X) is X_SMALL[0]

    @pytest.mark.parametrize("place", ["train", "validation", "predict"])
    def test_a_missing_number(self, place):
        good, bad = [np.array([[1.0], [2.0]])], [np.array([[1.0], [np.nan]])]
        y = [["a", "b"]]
        with pytest.raises(InputError, match="sequence 0, position 1, column '0'") as caught:  # noqa: PT012
            if place == "train":
                LinearCRF().fit(bad, y)
            elif place == "validation":
                LinearCRF(scoring="log_likelihood").fit(good, y, X_val=bad, y_val=y)
            else:
                LinearCRF().fit(good, y).predict(bad)
        assert "missing" in str(caught.value)

    def test_a_failed_fit_leaves_the_model_as_it_was(self):
        model = LinearCRF().fit(X_SMALL, Y_SMALL)
        before = copy.deepcopy(vars(model))
        with pytest.raises(InputError):
            model.fit(X_SMALL, [["D"]])
        assert model.weights_.tolist() == before["weights_"].tolist()
        assert vars(model).keys() == before.keys()

    @pytest.mark.parametrize(
        "call",
        [
            lambda m: m.predict(X_SMALL),
            lambda m: m.predict_proba(X_SMALL),
            lambda m: m.predict_k_best(X_SMALL),
            lambda m: m.sample(X_SMALL),
            lambda m: m.entropy(X_SMALL),
            lambda m: m.log_probability(X_SMALL, Y_SMALL),
            lambda m: m.span_probability(X_SMALL, [(0, 0, ["D"])]),
            lambda m: m.score(X_SMALL, Y_SMALL),
            lambda m: m.encode(X_SMALL),
            lambda m: m.save("nowhere"),
            lambda m: m.feature_weights(),
        ],
    )
    def test_before_fit(self, call):
        with pytest.raises(NotFittedError):
            call(LinearCRF())


def test_feature_weights_are_named_and_sorted():
    model = LinearCRF(window=(1, 0)).fit(X_SMALL, Y_SMALL)
    weights = model.feature_weights()
    values = [weight for _, _, weight in weights]
    assert values == sorted(values, reverse=True)
    assert len(weights) == model.layout_.nodes.n_weights
    assert {label for _, label, _ in model.feature_weights("N")} == {"N"}
    named = {(name, label) for name, label, _ in weights}
    assert any("dog" in name and "[" not in name for name, label in named if label == "N")
    assert any("the" in name and "[-1]" in name for name, label in named if label == "N")


def test_weights_that_are_replaced_are_used():
    """The potentials of a model are kept between calls; new weights must reach them."""
    model = LinearCRF().fit(X_SMALL, Y_SMALL)
    before = model.predict_proba(X_SMALL)[0]
    model.weights_ = np.zeros_like(model.weights_)
    np.testing.assert_allclose(model.predict_proba(X_SMALL)[0], np.full((2, 4), 0.25), rtol=1e-12)
    assert not np.allclose(before, 0.25)


@pytest.mark.parametrize("way", [lambda m: m, copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_weights_cannot_be_written_to(way):
    """A write after a prediction would reach a part of what is kept, and give results of no model at all."""
    model = way(LinearCRF().fit(X_SMALL, Y_SMALL))
    with pytest.raises(ValueError, match="read-only"):
        model.weights_[:] = 0


def test_min_frequency_counts_negative_numbers():
    X = [[{"size": -1.5}, {"size": -2.0}], [{"size": -0.5}, {"size": -3.0}]]
    model = LinearCRF(min_frequency=2).fit(X, [["a", "b"], ["a", "b"]])
    assert {(name, label) for name, label, _ in model.feature_weights()} == {("size", "a"), ("size", "b")}


def test_measurements_are_standardised_and_units_do_not_matter():
    rng = np.random.default_rng(0)
    heart = rng.normal(70, 5, 600)
    y = (heart > 70).astype(int)
    lengths = [10] * 60
    one = LinearCRF().fit(heart[:, None], y, lengths=lengths)
    other = LinearCRF().fit(heart[:, None] * 1000 + 9, y, lengths=lengths)
    assert one.score(heart[:, None], y, lengths=lengths) > 0.98
    np.testing.assert_allclose(other.weights_, one.weights_, rtol=1e-6, atol=1e-9)
    weights = LinearCRF().fit([[{"x": 70.0}, {"x": 75.0}]], [["a", "b"]]).schema_.columns[0]
    assert (weights.center, weights.spread) == (0.0, 1.0)  # a number in a dict is a weight


def test_data_without_the_columns_of_the_model_is_refused():
    model = LinearCRF().fit([np.array([[1.0, 2.0], [2.0, 1.0]])], [["a", "b"]])
    with pytest.raises(InputError, match="no column '1'"):
        model.predict([np.array([[1.0]])])
    words = LinearCRF().fit([[{"w": "a"}, {"w": "b"}]], [["x", "y"]])
    with pytest.raises(InputError, match="no column 'w'"):
        words.predict([["a", "b"]])
    with pytest.warns(HedgerowWarning, match="nothing that the model reads"):
        words.predict([[{"W": "a"}]])
    assert len(words.predict([[{}, {"w": "new"}]])[0]) == 2
