"""Cross-validation of sequences: what scikit-learn does as it is, and what hedgerow adds."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn.model_selection as sk
from sklearn.base import BaseEstimator

from hedgerow import Sequences, metrics
from hedgerow.errors import InputError
from hedgerow.model_selection import cross_val_predict, train_test_split


class Frequency(BaseEstimator):
    """Predicts the label a token had most often, by counts smoothed with `prior`; unknown tokens by all labels."""

    def __init__(self, prior: float = 0.1) -> None:
        self.prior = prior

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Frequency:
        weights = np.ones(len(X)) if sample_weight is None else sample_weight
        self.classes_ = sorted({label for labels in y for label in labels})
        self.counts_: defaultdict[Any, Counter[str]] = defaultdict(Counter)
        for x, labels, weight in zip(X, y, weights, strict=True):
            for token, label in zip(x, labels, strict=True):
                self.counts_[word(token)][label] += weight
        self.n_sequences_ = len(X)
        return self

    def predict_proba(self, X: Any) -> list[np.ndarray]:
        return [np.array([self._probs(token) for token in x]) for x in X]

    def predict_marginals(self, X: Any) -> list[list[dict[str, float]]]:
        return [[dict(zip(self.classes_, p.tolist())) for p in probs] for probs in self.predict_proba(X)]

    def predict(self, X: Any) -> np.ndarray:
        predictions = np.empty(len(X), dtype=object)
        for i, probs in enumerate(self.predict_proba(X)):
            predictions[i] = [self.classes_[k] for k in probs.argmax(axis=1)]
        return predictions

    def score(self, X: Any, y: Any) -> float:
        return metrics.label_accuracy(y, self.predict(X))

    def _probs(self, token: Any) -> np.ndarray:
        counts = np.array([self.counts_[word(token)][label] + self.prior for label in self.classes_])
        return counts / counts.sum()


def word(token: Any) -> str:
    return token["word"] if isinstance(token, dict) else token


def object_array(items: list[Any]) -> np.ndarray:
    array = np.empty(len(items), dtype=object)
    for i, item in enumerate(items):
        array[i] = item
    return array


def as_sequences(X: list[list[str]]) -> Sequences:
    words = np.array([token for x in X for token in x], dtype=object)
    offsets = np.concatenate([[0], np.cumsum([len(x) for x in X])])
    return Sequences({"word": words}, offsets, {"word": "categorical"})


CONTAINERS = {"list": list, "object array": object_array, "Sequences": as_sequences}


@pytest.fixture(params=["ragged", "equal lengths"])
def corpus(request: pytest.FixtureRequest, rng: np.random.Generator) -> tuple[list[Any], list[Any]]:
    """24 sequences; a token's label is mostly its own letter."""
    lengths = rng.integers(1, 7, size=24) if request.param == "ragged" else np.full(24, 3)
    y = [[str(label) for label in rng.choice(["B-x", "I-x", "O"], size=length)] for length in lengths]
    X = [[f"{label}{rng.integers(3)}" if rng.random() < 0.8 else "?" for label in labels] for labels in y]
    return X, y


@pytest.fixture(params=list(CONTAINERS))
def container(request: pytest.FixtureRequest) -> Any:
    return CONTAINERS[request.param]


# What the documentation says that scikit-learn does with sequences, and what it does not.


@pytest.mark.parametrize("y_container", [list, object_array])
def test_cross_val_score_takes_sequences(corpus: Any, container: Any, y_container: Any) -> None:
    X, y = corpus
    expected = []
    for train, test in sk.KFold(4).split(X):
        model = Frequency().fit([X[i] for i in train], [y[i] for i in train])
        expected.append(metrics.span_f1([y[i] for i in test], model.predict([X[i] for i in test])))
    scores = sk.cross_val_score(
        Frequency(), container(X), y_container(y), cv=4, scoring=metrics.span_f1_scorer, error_score="raise"
    )
    np.testing.assert_allclose(scores, expected, rtol=1e-12)


def test_scores_without_a_scorer_and_with_groups(corpus: Any, container: Any) -> None:
    X, y = corpus
    groups = np.repeat(np.arange(6), 4)
    scores = sk.cross_val_score(Frequency(), container(X), y, groups=groups, cv=sk.GroupKFold(3), error_score="raise")
    assert len(scores) == 3
    assert np.all(scores > 0.5)


def test_grid_search_with_scorers(corpus: Any, container: Any) -> None:
    X, y = corpus
    scoring = {
        "accuracy": metrics.label_accuracy_scorer,
        "f1": metrics.label_f1_scorer,
        "spans": metrics.span_f1_scorer,
        "sequences": metrics.sequence_accuracy_scorer,
    }
    search = sk.GridSearchCV(
        Frequency(), {"prior": [1e6, 0.1]}, scoring=scoring, refit="accuracy", cv=3, error_score="raise"
    )
    search.fit(container(X), y)
    assert search.predict(container(X)).shape == (24,)
    for name in scoring:
        assert np.all(np.isfinite(search.cv_results_[f"mean_test_{name}"]))
    assert search.best_score_ == max(search.cv_results_["mean_test_accuracy"])


def test_scorers_travel_to_processes(corpus: Any) -> None:
    X, y = corpus
    options = {"scoring": metrics.label_f1_scorer, "cv": 3, "error_score": "raise"}
    here = sk.cross_val_score(Frequency(), X, y, **options)
    there = sk.cross_val_score(Frequency(), X, y, n_jobs=2, **options)
    np.testing.assert_array_equal(here, there)


def test_what_scikit_learn_cannot_do() -> None:
    # Should one of these begin to work, docs/model-selection.md is to be changed.
    X = [["a", "b"], ["a"], ["b"], ["b", "a", "a"]]
    with pytest.raises((ValueError, TypeError)):
        sk.cross_val_predict(Frequency(), X, X, cv=2, method="predict_proba")
    with pytest.raises(ValueError, match="multi-label"):
        sk.cross_val_score(Frequency(), X, X, cv=2, scoring="accuracy", error_score="raise")
    with pytest.raises(ValueError, match="inhomogeneous"):
        sk.cross_val_score(Frequency(), X, X, cv=sk.StratifiedKFold(2), error_score="raise")


# cross_val_predict


def by_hand(X: list[Any], y: list[Any], method: str, splits: Any) -> list[Any]:
    out: list[Any] = [None] * len(X)
    for train, test in splits:
        model = Frequency().fit([X[i] for i in train], [y[i] for i in train])
        for i, item in zip(test, getattr(model, method)([X[i] for i in test]), strict=True):
            out[i] = item
    return out


@pytest.mark.parametrize("method", ["predict", "predict_proba", "predict_marginals"])
def test_predictions_come_in_the_order_of_X(corpus: Any, container: Any, method: Any) -> None:
    X, y = corpus
    cv = sk.KFold(4, shuffle=True, random_state=0)
    predictions = cross_val_predict(Frequency(), container(X), y, cv=cv, method=method)
    expected = by_hand(X, y, method, cv.split(X))
    assert len(predictions) == len(X)
    for ours, theirs in zip(predictions, expected, strict=True):
        if method == "predict_proba":
            np.testing.assert_array_equal(ours, theirs)
        else:
            assert ours == theirs
    if method == "predict":
        assert isinstance(predictions, np.ndarray)
        assert predictions.shape == (24,)
        assert sk.cross_val_predict(Frequency(), X, y, cv=cv).tolist() == predictions.tolist()
    else:
        assert isinstance(predictions, list)


def test_groups_stay_together(corpus: Any) -> None:
    X, y = corpus
    groups = np.arange(24) % 4
    predictions = cross_val_predict(Frequency(), X, y, cv=sk.GroupKFold(2), groups=groups)
    assert predictions.tolist() == by_hand(X, y, "predict", sk.GroupKFold(2).split(X, groups=groups))


def test_two_jobs_give_the_same(corpus: Any) -> None:
    X, y = corpus
    one = cross_val_predict(Frequency(), as_sequences(X), y, cv=3)
    two = cross_val_predict(Frequency(), as_sequences(X), y, cv=3, n_jobs=2)
    assert one.tolist() == two.tolist()


def test_the_estimator_is_not_fitted(corpus: Any) -> None:
    X, y = corpus
    model = Frequency()
    cross_val_predict(model, X, y)
    assert not hasattr(model, "classes_")


def test_weights_are_cut_with_the_sequences() -> None:
    X = [["w"], ["w"], ["w"], ["w"], ["w"], ["w"]]
    y = [["a"], ["b"], ["a"], ["b"], ["b"], ["a"]]
    weights = [1.0, 9.0, 1.0, 1.0, 1.0, 9.0]
    predictions = cross_val_predict(Frequency(), X, y, cv=3, sample_weight=weights)
    # Left out in turn: {0, 1}, where a weighs 10 to 2; {2, 3}, 10 to 10; {4, 5}, where b weighs 10 to 2.
    assert predictions.tolist() == [["a"], ["a"], ["a"], ["a"], ["b"], ["b"]]


def test_columns_agree_where_a_part_lacks_a_label() -> None:
    X = [["w", "v"], ["w"], ["w"], ["v"]]
    y = [["c", "a"], ["c"], ["b"], ["b"]]
    probs = cross_val_predict(Frequency(prior=0.0), X, y, cv=2, method="predict_proba")
    # The model for the first two sequences knows b only, the other one a and c.
    np.testing.assert_array_equal(probs[0], [[0, 1, 0], [0, 1, 0]])
    np.testing.assert_array_equal(probs[1], [[0, 1, 0]])
    np.testing.assert_array_equal(probs[2], [[0, 0, 1]])
    np.testing.assert_array_equal(probs[3], [[1, 0, 0]])


def test_cross_val_predict_refuses() -> None:
    X = [["a"], ["b"], ["a"], ["b"]]
    with pytest.raises(InputError, match="method is 'decision_function'"):
        cross_val_predict(Frequency(), X, X, method="decision_function")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="X has 4 sequences and y has 3 items"):
        cross_val_predict(Frequency(), X, X[:3])
    with pytest.raises(InputError, match="X has 4 sequences and sample_weight has 1 items"):
        cross_val_predict(Frequency(), X, X, sample_weight=[1.0])
    with pytest.raises(InputError, match="sequence 0: is in 0 test parts"):
        cross_val_predict(Frequency(), X, X, cv=[([0, 1], [2, 3])])
    with pytest.raises(InputError, match="sequence 2: is in 2 test parts"):
        cross_val_predict(Frequency(), X, X, cv=[([0, 1], [2, 3]), ([3], [0, 1, 2])])


# train_test_split


def test_the_cut_is_that_of_scikit_learn(corpus: Any, container: Any) -> None:
    X, y = corpus
    whole = container(X)
    X_train, X_test, y_train, y_test = train_test_split(whole, y, test_size=0.3, random_state=7)
    expected = sk.train_test_split(X, y, test_size=0.3, random_state=7)
    assert type(X_train) is type(X_test) is type(whole)
    listed = [[[word(token) for token in x] for x in part] for part in (X_train, X_test)]
    assert [*listed, y_train, y_test] == expected


def test_sizes_and_seeds(corpus: Any) -> None:
    X, y = corpus
    assert len(train_test_split(X, y)[1]) == 6
    assert len(train_test_split(X, y, test_size=5)[1]) == 5
    assert train_test_split(X, y, random_state=0)[0] == train_test_split(X, y, random_state=0)[0]
    assert train_test_split(X, y, random_state=0)[0] != train_test_split(X, y, random_state=1)[0]


def test_a_group_is_never_cut(corpus: Any) -> None:
    _, y = corpus
    groups = [f"document {i % 8}" for i in range(24)]
    numbers = list(range(24))
    train, test, _, y_test = train_test_split(numbers, y, test_size=0.25, groups=groups, random_state=0)
    assert {groups[i] for i in train}.isdisjoint({groups[i] for i in test})
    assert sorted(train + test) == numbers
    assert len({groups[i] for i in test}) == 2
    assert y_test == [y[i] for i in test]


def test_other_containers_keep_their_kind(corpus: Any) -> None:
    X, y = corpus
    labels = pd.Series(y, index=np.arange(24)[::-1])
    X_train, _, y_train, _ = train_test_split(tuple(X), labels, random_state=0)
    assert isinstance(y_train, pd.Series)
    assert [len(x) for x in X_train] == [len(labels) for labels in y_train]


def test_train_test_split_refuses() -> None:
    with pytest.raises(InputError, match="X has 2 sequences and groups has 1 items"):
        train_test_split([["a"], ["b"]], [["a"], ["b"]], groups=[0])
