"""Early stopping: which sequences are held out, by which metric, and which iteration is kept."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import sklearn.metrics
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from hedgerow import BeamSearchTagger, LinearCRF, TreeCRF
from hedgerow.data.encoding import encode, learn
from hedgerow.datasets import make_sequences
from hedgerow.errors import InputError
from hedgerow.metrics import label_accuracy, label_accuracy_scorer, make_scorer, span_f1

from .corpora import COLUMNS, partial_labels, rich_corpus
from .held_out import cut

NOISY = {"n_tokens": 40, "concentration": 1.5, "mean_length": 6}


@pytest.fixture(scope="module")
def data():
    X, y = make_sequences(160, random_state=1, **NOISY)
    return X[:40], y[:40], X[40:], y[40:]


def stopped_at(iteration: int, X, y, **parameters) -> LinearCRF:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return LinearCRF(max_iter=iteration, **parameters).fit(X, y)


@pytest.mark.parametrize("metric", ["accuracy", "label_f1", "sequence_accuracy", "log_likelihood", label_accuracy])
def test_the_best_iteration_is_kept(metric, data):
    X, y, X_val, y_val = data
    model = LinearCRF(l2=0.001, scoring=metric, n_iter_no_change=5, calibrate=False)
    model.fit(X, y, X_val=X_val, y_val=y_val)
    assert model.outcome_ == "early_stopping"
    scores = [step.score for step in model.history_]
    ties = [i for i, score in enumerate(scores, 1) if score == max(scores)]
    assert model.best_iteration_ == ties[-1]
    assert model.n_iter_ == ties[0] + 5
    assert model.loss_ == model.history_[model.best_iteration_ - 1].loss
    same = stopped_at(model.best_iteration_, X, y, l2=0.001)
    np.testing.assert_array_equal(model.weights_, same.weights_)
    expected = model.log_probability(X_val, y_val).sum() if metric == "log_likelihood" else None
    if metric in ("accuracy", label_accuracy):
        expected = model.score(X_val, y_val)
    if expected is not None:
        np.testing.assert_allclose(max(scores), expected, rtol=1e-12)


def test_spans_and_the_posterior_decoder():
    X, y = rich_corpus(40, seed=1)
    X_val, y_val = rich_corpus(20, seed=2)
    model = LinearCRF(columns=COLUMNS, scoring="span_f1", decoder="posterior", n_iter_no_change=3, l2=0.01)
    model.set_params(calibrate=False).fit(X, y, X_val=X_val, y_val=y_val)
    best = max(step.score for step in model.history_)
    np.testing.assert_allclose(best, span_f1(y_val, model.predict(X_val)), rtol=1e-12)


def test_a_part_is_held_out(data):
    X, y, _, _ = data
    model = LinearCRF(early_stopping=True, random_state=3, l2=0.001, n_iter_no_change=4)
    kept_X, kept_y, held_X, held_y = cut(model, X, y)
    assert len(held_X) == len(held_y) == 4
    assert len(kept_X) == 36
    pairs = [(tuple(x), tuple(labels)) for x, labels in zip([*kept_X, *held_X], [*kept_y, *held_y])]
    assert sorted(pairs) == sorted((tuple(x), tuple(labels)) for x, labels in zip(X, y))
    model.fit(X, y)
    given = LinearCRF(l2=0.001, n_iter_no_change=4).fit(kept_X, kept_y, X_val=held_X, y_val=held_y)
    np.testing.assert_array_equal(model.weights_, given.weights_)
    np.testing.assert_array_equal(model.fit(X, y).weights_, given.weights_)
    other = LinearCRF(early_stopping=True, random_state=4, l2=0.001, n_iter_no_change=4).fit(X, y)
    assert len(other.weights_) != len(model.weights_) or not np.array_equal(other.weights_, model.weights_)


def as_object_array(rows):
    array = np.empty(len(rows), dtype=object)
    array[:] = rows
    return array


@pytest.mark.parametrize("container", ["generator", "object array", "series", "Sequences"])
def test_every_container_is_cut_the_same_way(container, data):
    from hedgerow import Sequences

    X, y = data[0], data[1]
    weight = np.linspace(0.5, 1.5, len(X))
    if container == "generator":
        given = (x for x in X), (labels for labels in y), weight.tolist()
    elif container == "object array":
        given = as_object_array(X), as_object_array(y), weight
    elif container == "series":
        pandas = pytest.importorskip("pandas")
        index = np.arange(len(X))[::-1]  # positions count, not the names of the rows
        given = tuple(pandas.Series(values, index=index) for values in (X, y, weight))
    else:
        words = np.array([word for x in X for word in x], dtype=object)
        offsets = np.concatenate([[0], np.cumsum([len(x) for x in X])])
        given = Sequences({"token": words}, offsets, {"token": "categorical"}), y, weight
    plain = LinearCRF(early_stopping=True, random_state=0, l2=0.1).fit(X, y, sample_weight=weight)
    other = LinearCRF(early_stopping=True, random_state=0, l2=0.1).fit(given[0], given[1], sample_weight=given[2])
    np.testing.assert_array_equal(plain.weights_, other.weights_)


def test_a_label_that_stands_once_stays_in_training():
    X, y = [[f"w{i}"] for i in range(10)], [["a"]] * 9 + [["rare"]]
    for seed in range(10):
        model = LinearCRF(early_stopping=True, random_state=seed, validation_fraction=0.5).fit(X, y)
        assert model.classes_.tolist() == ["a", "rare"]


@pytest.mark.parametrize("metric", ["accuracy", "log_likelihood"])
def test_unlabelled_positions_do_not_count(metric):
    X, y = rich_corpus(40, seed=5)
    y = partial_labels(y, seed=6)
    model = LinearCRF(columns=COLUMNS, early_stopping=True, random_state=0, scoring=metric, validation_fraction=0.3)
    model.fit(X, y)
    _, _, X_val, y_val = cut(model, X, y)
    best = max(step.score for step in model.history_)
    if metric == "log_likelihood":
        np.testing.assert_allclose(best, model.log_probability(X_val, y_val).sum(), rtol=1e-10)
    else:
        sets = [[label if isinstance(label, set) else {label} for label in labels] for labels in y_val]
        known = [[next(iter(one)) if len(one) == 1 else None for one in labels] for labels in sets]
        np.testing.assert_allclose(best, label_accuracy(known, model.predict(X_val)), rtol=1e-12)


def test_threads_do_not_change_the_scores(data):
    X, y, X_val, y_val = data
    runs = [LinearCRF(l2=0.01, n_jobs=n_jobs).fit(X, y, X_val=X_val, y_val=y_val) for n_jobs in (1, 2)]
    assert [step.score for step in runs[0].history_] == [step.score for step in runs[1].history_]


def test_a_dataset_as_held_out_sequences(data):
    X, y, X_val, y_val = data
    dataset = learn(X, y)
    plain = LinearCRF(l2=0.01).fit(X, y, X_val=X_val, y_val=y_val)
    held_out = encode(dataset.schema, X_val, y_val)
    for given in ((dataset,), (X, y)):
        model = LinearCRF(l2=0.01).fit(*given, X_val=held_out)
        np.testing.assert_array_equal(model.weights_, plain.weights_)
        assert model.outcome_ == "early_stopping"
    with pytest.raises(InputError, match="brings its own labels"):
        LinearCRF().fit(dataset, X_val=held_out, y_val=y_val)
    with pytest.raises(InputError, match="brings its own labels"):
        LinearCRF().fit(dataset, X_val=encode(dataset.schema, X_val))
    with pytest.raises(InputError, match="another schema"):
        LinearCRF().fit(dataset, X_val=learn(X_val, y_val))


@pytest.mark.parametrize("shape", ["Dataset", "flat"])
def test_what_is_not_a_list_is_cut_like_one(shape, data):
    X, y, _, _ = data
    plain = LinearCRF(early_stopping=True, random_state=3, l2=0.01, pairs="all", min_frequency=0).fit(X, y)
    model = LinearCRF(early_stopping=True, random_state=3, l2=0.01, pairs="all", min_frequency=0)
    if shape == "Dataset":
        model.fit(learn(X, y))
    else:
        flat = [word for x in X for word in x], [label for labels in y for label in labels]
        model.fit(*flat, lengths=[len(x) for x in X])
    assert [step.score for step in model.history_] == pytest.approx([step.score for step in plain.history_])
    assert model.best_iteration_ == plain.best_iteration_


def test_a_function_sees_none_where_nothing_is_known():
    seen = []

    def metric(true, predicted):
        seen.extend(true)
        return 0.0

    X, y = [["a", "b"]] * 2, [["x", "y"]] * 2
    LinearCRF(scoring=metric, n_iter_no_change=1).fit(X, y, X_val=[["a", "b", "a"]], y_val=[["x", None, {"x", "y"}]])
    assert seen[0] == ["x", None, None]


def error_rate(true, predicted):
    return 1.0 - label_accuracy(true, predicted)


def accuracy_of_the_model(estimator, X, y):
    return label_accuracy(y, estimator.predict(X)) + 0 * len(X)


@pytest.mark.parametrize(
    "scorer",
    [
        label_accuracy_scorer,
        make_scorer(error_rate, greater_is_better=False),
        sklearn.metrics.make_scorer(label_accuracy),
        sklearn.metrics.make_scorer(error_rate, greater_is_better=False),
        accuracy_of_the_model,
        lambda estimator, X, y=None: accuracy_of_the_model(estimator, X, y),
    ],
    ids=["ours", "ours, a loss", "scikit-learn's", "scikit-learn's, a loss", "a function", "a function with a default"],
)
@pytest.mark.parametrize(
    "estimator",
    [LinearCRF(l2=0.001, n_iter_no_change=3), TreeCRF(n_estimators=6), BeamSearchTagger(max_iter=3, random_state=0)],
    ids=lambda estimator: type(estimator).__name__,
)
def test_a_scorer_counts_as_the_metric_that_it_is_made_of(estimator, scorer, data):
    """scorer(estimator, X, y), told from f(y_true, y_pred) by its arguments."""
    X, y, X_val, y_val = data
    own, plain = (clone(estimator).set_params(scoring=scoring) for scoring in (scorer, "accuracy"))
    for model in (own, plain):
        model.fit(X, y, X_val=X_val, y_val=y_val)
    ours, theirs = ([step.score for step in model.history_] for model in (own, plain))
    shift = 1.0 if np.allclose(np.add(ours, 1.0), theirs) else 0.0  # of a loss
    np.testing.assert_allclose(np.add(ours, shift), theirs, rtol=1e-12)
    assert own.best_iteration_ == plain.best_iteration_


def test_a_scorer_of_probabilities_is_refused(data):
    X, y, X_val, y_val = data
    for scorer in (lambda estimator, X, y: estimator.predict_proba(X), lambda estimator, X, y: estimator.score(X, y)):
        with pytest.raises(
            InputError, match=r"scoring asks the model for \w+, and early stopping scores labels"
        ) as caught:
            LinearCRF(scoring=scorer).fit(X, y, X_val=X_val, y_val=y_val)
        assert caught.value.parameter == "scoring"


@pytest.mark.parametrize("function", [lambda: 0.0, lambda y_true: 0.0, lambda a, b, c, d: 0.0])
def test_a_function_that_is_neither_metric_nor_scorer(function, data):
    with pytest.raises(InputError, match="scoring is a function of "):
        LinearCRF(scoring=function).fit(*data[:2])


class TestErrors:
    def test_a_metric_that_cannot_score_these_labels(self, data, monkeypatch):
        def train(*arguments, **options):
            raise AssertionError("training began")

        monkeypatch.setattr("hedgerow.models.crf.linear_training.LinearTraining.train", train)
        X, y, X_val, y_val = data
        open_ = [[None, *labels[1:]] for labels in y_val]
        with pytest.raises(InputError, match=r"scoring='span_f1' cannot score y_val: sequence 0, position 0"):
            LinearCRF(window=0, scoring="span_f1").fit(X, y, X_val=X_val, y_val=open_)

    def test_one_of_the_two(self, data):
        with pytest.raises(InputError, match="X_val and y_val go together"):
            LinearCRF().fit(data[0], data[1], X_val=data[2])

    def test_too_few_sequences(self):
        with pytest.raises(InputError, match="no sequence can be held out: there are too few, or too short ones"):
            LinearCRF(early_stopping=True).fit([["a"]], [["x"]])
        with pytest.raises(InputError, match="or each has labels of its own"):
            LinearCRF(early_stopping=True).fit([["a"], ["b"]], [["x"], ["y"]])

    def test_lengths_that_differ(self, data):
        X, y, _, _ = data
        with pytest.raises(InputError, match="X has 40 sequences and y has 39"):
            LinearCRF(early_stopping=True).fit(X, y[:-1])
        with pytest.raises(InputError, match="sample_weight has 3 entries for 40 sequences"):
            LinearCRF(early_stopping=True).fit(X, y, sample_weight=[1, 2, 3])

    def test_labels_that_training_does_not_know(self, data):
        with pytest.raises(InputError, match="sequence 0, position 0: the label 'new'"):
            LinearCRF().fit(data[0], data[1], X_val=[["w1"]], y_val=[["new"]])

    def test_a_metric_that_gives_no_number(self, data):
        X, y, X_val, y_val = data
        with pytest.raises(InputError, match="gave nan on the held-out"):
            LinearCRF(scoring=lambda true, predicted: float("nan")).fit(X, y, X_val=X_val, y_val=y_val)

    def test_an_error_in_the_metric_comes_through(self, data):
        X, y, X_val, y_val = data

        def metric(true, predicted):
            raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            LinearCRF(scoring=metric).fit(X, y, X_val=X_val, y_val=y_val)
