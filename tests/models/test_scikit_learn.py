"""LinearCRF as a scikit-learn estimator, with sequences of different lengths."""

from __future__ import annotations

import copy
import inspect
import pickle

import joblib
import numpy as np
import pytest
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline

from hedgerow import LinearCRF, Sequences
from hedgerow.datasets import make_sequences
from hedgerow.metrics import label_accuracy_scorer, label_f1_scorer, sequence_accuracy_scorer

from .corpora import COLUMNS, rich_corpus

X, y = make_sequences(40, mean_length=4, random_state=1)
EQUAL_X, EQUAL_Y = [["a", "b"], ["c", "a"], ["b", "b"], ["c", "c"]] * 3, [["x", "y"], ["y", "x"]] * 6


def object_array(rows) -> np.ndarray:
    array = np.empty(len(rows), dtype=object)
    for i, row in enumerate(rows):
        array[i] = row
    return array


def as_sequences(rows) -> Sequences:
    tokens = np.array([token for row in rows for token in row], dtype=object)
    return Sequences({"token": tokens}, np.cumsum([0, *map(len, rows)]), {"token": "categorical"})


CONTAINERS = {"list": list, "object array": object_array, "Sequences": as_sequences}


class Lower(TransformerMixin, BaseEstimator):
    """A transformer of lists of tokens; it has nothing to learn."""

    def fit(self, X, y=None):
        self.fitted_ = True
        return self

    def transform(self, X):
        return [[token.lower() for token in sequence] for sequence in X]


def test_clone_keeps_parameters_and_drops_what_was_learnt():
    model = LinearCRF(l2=0.5, window={"*": 1}, columns={"a": "numeric"}, constraints=[("x", "y")])
    copied = clone(model)
    assert copied.get_params() == model.get_params()
    assert not hasattr(clone(LinearCRF().fit(X, y)), "weights_")
    assert repr(LinearCRF(l2=0.5)) == "LinearCRF(l2=0.5)"


def test_fit_does_not_touch_its_parameters():
    columns, window, constraints = {"a": "numeric"}, {"*": (1, 0)}, [("x", "y")]
    data = [[{"a": 1.0, "b": "u"}, {"a": 2.0, "b": "v"}]] * 2, [["y", "x"], ["x", "x"]]
    model = LinearCRF(columns=columns, window=window, constraints=constraints)
    before = copy.deepcopy(model.get_params())
    model.fit(*data)
    assert model.get_params() == before
    assert model.columns is columns
    assert model.window is window
    assert model.constraints is constraints
    assert set(vars(model)) - set(before) == {name for name in vars(model) if name.endswith("_")} | (
        set(vars(model)) & {"_chain", "_kept"}
    )


def test_fit_returns_the_model_itself_and_takes_parameters_by_name():
    model = LinearCRF()
    assert model.fit(X, y) is model
    names = [p.kind for p in inspect.signature(LinearCRF).parameters.values()]
    assert set(names) == {inspect.Parameter.KEYWORD_ONLY}


@pytest.mark.parametrize("container", CONTAINERS)
def test_containers_give_the_same_model(container):
    plain, other = LinearCRF().fit(X, y), LinearCRF().fit(CONTAINERS[container](X), object_array(y))
    np.testing.assert_array_equal(plain.weights_, other.weights_)
    assert plain.predict(X).tolist() == other.predict(CONTAINERS[container](X)).tolist()


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize(
    "scoring", [None, label_accuracy_scorer, label_f1_scorer, sequence_accuracy_scorer], ids=lambda s: repr(s)
)
def test_cross_val_score(container, scoring):
    scores = cross_val_score(LinearCRF(), CONTAINERS[container](X), y, cv=3, scoring=scoring)
    expected = []
    for train, test in KFold(3).split(X):
        model = LinearCRF().fit([X[i] for i in train], [y[i] for i in train])
        held = [X[i] for i in test], [y[i] for i in test]
        expected.append(model.score(*held) if scoring is None else scoring(model, *held))
    np.testing.assert_allclose(scores, expected, rtol=1e-12)


@pytest.mark.parametrize("data", [(X, y), (EQUAL_X, EQUAL_Y)], ids=["ragged", "equal lengths"])
def test_cross_val_predict(data):
    rows, labels = data
    predicted = cross_val_predict(LinearCRF(), rows, labels, cv=3)
    for train, test in KFold(3).split(rows):
        model = LinearCRF().fit([rows[i] for i in train], [labels[i] for i in train])
        assert [predicted[i] for i in test] == model.predict([rows[i] for i in test]).tolist()


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_grid_search(n_jobs):
    grid = {"l2": [0.01, 1.0, np.float64(1e4)], "transitions": ["all", "observed"]}
    search = GridSearchCV(LinearCRF(), grid, cv=3, scoring=label_accuracy_scorer, n_jobs=n_jobs, error_score="raise")
    search.fit(X, y)
    assert search.best_params_["l2"] < 1e4
    assert search.best_score_ > 0.5
    assert search.predict(X).shape == (len(X),)
    assert search.score(X, y) == search.best_estimator_.score(X, y)


def test_weights_of_sequences_are_cut_with_them():
    weights = np.linspace(0, 1, len(X))
    scores = cross_val_score(LinearCRF(), X, y, cv=3, params={"sample_weight": weights})
    train, test = next(KFold(3).split(X))
    model = LinearCRF().fit([X[i] for i in train], [y[i] for i in train], sample_weight=weights[train])
    np.testing.assert_allclose(scores[0], model.score([X[i] for i in test], [y[i] for i in test]), rtol=1e-12)


def test_pipeline():
    upper = [[token.upper() for token in sequence] for sequence in X]
    pipeline = make_pipeline(Lower(), LinearCRF(l2=0.1)).fit(upper, y)
    assert pipeline.predict(upper).tolist() == LinearCRF(l2=0.1).fit(X, y).predict(X).tolist()
    search = GridSearchCV(pipeline, {"linearcrf__l2": [0.1, 10.0]}, cv=2, scoring=label_accuracy_scorer)
    assert search.fit(upper, y).best_params_ in ({"linearcrf__l2": 0.1}, {"linearcrf__l2": 10.0})
    assert pipeline.score(upper, y) == pipeline[-1].score(X, y)


def dump_and_load(model, tmp_path):
    joblib.dump(model, tmp_path / "model.joblib")
    return joblib.load(tmp_path / "model.joblib")


@pytest.mark.parametrize(
    "copied",
    [
        lambda m, _: pickle.loads(pickle.dumps(m)),
        lambda m, _: copy.deepcopy(m),
        lambda m, _: copy.copy(m),
        dump_and_load,
    ],
    ids=["pickle", "deepcopy", "copy", "joblib"],
)
def test_copies_predict_the_same(copied, tmp_path):
    rows, labels = rich_corpus(30, seed=1)
    parameters = {"columns": COLUMNS, "window": 1, "constraints": "iob2", "transition_columns": ["word"]}
    assert copied(LinearCRF(**parameters), tmp_path).get_params() == LinearCRF(**parameters).get_params()
    model = LinearCRF(**parameters).fit(rows, labels)
    expected = model.predict_proba(rows)
    for one in (copied(model, tmp_path), copied(copied(model, tmp_path), tmp_path)):
        for ours, theirs in zip(one.predict_proba(rows), expected):
            np.testing.assert_array_equal(ours, theirs)
        assert one.history_ == model.history_
        one.fit(rows, labels)
        np.testing.assert_array_equal(one.weights_, model.weights_)


def test_a_pickle_holds_no_potentials():
    model = LinearCRF().fit(X, y)
    before = len(pickle.dumps(model))
    model.predict(X)
    assert len(pickle.dumps(model)) == before


def test_a_copy_trained_on_leaves_the_first_alone():
    model = LinearCRF().fit(X, y)
    weights = model.weights_.copy()
    copy.copy(model).fit(EQUAL_X, EQUAL_Y)
    np.testing.assert_array_equal(model.weights_, weights)
    assert model.predict(X).tolist() == LinearCRF().fit(X, y).predict(X).tolist()
