"""SlidingWindow against scikit-learn, and with classifiers of scikit-learn."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction import DictVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import BernoulliNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC

from hedgerow import HMM, InputError, LinearCRF, SlidingWindow, TreeCRF, VirtualEvidence
from hedgerow.datasets import make_sequences
from tests.models.local_models import local

X, Y = make_sequences(60, mean_length=5, random_state=4)
TRAIN, TEST = slice(0, 45), slice(45, None)


def windows(rows):
    """The letters at t−1, t and t+1 of every position, as dicts."""
    return [
        {f"{o:+d}": row[t + o] if 0 <= t + o < len(row) else "outside" for o in (-1, 0, 1)}
        for row in rows
        for t in range(len(row))
    ]


def flat(labels):
    return [label for row in labels for label in row]


@pytest.mark.parametrize("l2", [0.05, 1.0])
def test_linear_is_multinomial_logistic_regression(l2):
    model = local(SlidingWindow, estimator="linear", window=1, l2=l2, pairs="all", tol=1e-12).fit(X[TRAIN], Y[TRAIN])
    vectorizer = DictVectorizer()
    theirs = LogisticRegression(C=1 / (2 * l2), fit_intercept=False, tol=1e-10, max_iter=2000)
    theirs.fit(vectorizer.fit_transform(windows(X[TRAIN])), flat(Y[TRAIN]))
    expected = theirs.predict_proba(vectorizer.transform(windows(X[TEST])))
    np.testing.assert_allclose(np.concatenate(model.predict_proba(X[TEST])), expected, atol=1e-5)
    assert model.classes_.tolist() == theirs.classes_.tolist()
    assert flat(model.predict(X[TEST])) == theirs.predict(vectorizer.transform(windows(X[TEST]))).tolist()


def test_it_is_a_crf_without_transitions():
    linear = local(SlidingWindow, estimator="linear", window=1).fit(X[TRAIN], Y[TRAIN])
    crf = LinearCRF(order=0, window=1).fit(X[TRAIN], Y[TRAIN])
    np.testing.assert_array_equal(linear.estimator_.weights_, crf.weights_)
    few = {"window": 1, "n_estimators": 8, "early_stopping": False}
    trees, chain = local(SlidingWindow, **few).fit(X[TRAIN], Y[TRAIN]), TreeCRF(order=0, **few).fit(X[TRAIN], Y[TRAIN])
    for ours, theirs in zip(trees.predict_proba(X[TEST]), chain.predict_proba(X[TEST])):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9)


@pytest.mark.parametrize(
    "classifier",
    [
        LogisticRegression(),
        RandomForestClassifier(n_estimators=10, random_state=0),
        BernoulliNB(),
        KNeighborsClassifier(3),
    ],
    ids=lambda c: type(c).__name__,
)
def test_a_classifier_of_scikit_learn(classifier, tmp_path):
    model = local(SlidingWindow, estimator=classifier, window=1).fit(X[TRAIN], Y[TRAIN])
    assert model.estimator_ is not classifier
    assert not hasattr(classifier, "classes_")
    assert model.score(X[TEST], Y[TEST]) > 0.5
    probs = np.concatenate(model.predict_proba(X[TEST]))
    np.testing.assert_allclose(probs.sum(axis=1), 1.0, rtol=1e-9)
    assert np.isfinite(model.loss_)
    np.testing.assert_array_equal(np.concatenate(pickle.loads(pickle.dumps(model)).predict_proba(X[TEST])), probs)
    with pytest.raises(InputError, match="a model file cannot hold a"):
        model.save(tmp_path / "model.hedgerow")
    assert not list(tmp_path.iterdir())


def test_the_matrix_holds_what_the_linear_model_sees():
    regression = LogisticRegression(C=0.5, fit_intercept=False, tol=1e-10, max_iter=2000)
    model = SlidingWindow(estimator=regression, window=1)
    linear = local(SlidingWindow, estimator="linear", window=1, l2=1.0, pairs="all", tol=1e-12)
    for one in (model, linear):
        one.fit(X[TRAIN], Y[TRAIN], sample_weight=[1.0] * 40 + [3.0] * 5)
    for ours, theirs in zip(model.predict_proba(X[TEST]), linear.predict_proba(X[TEST])):
        np.testing.assert_allclose(ours, theirs, atol=1e-4)


def test_classifiers_that_cannot_serve():
    with pytest.raises(InputError, match="no predict_proba"):
        local(SlidingWindow, estimator=LinearSVC()).fit(X, Y)
    with pytest.raises(InputError, match="takes no sample_weight"):
        local(SlidingWindow, estimator=KNeighborsClassifier()).fit(X, Y, sample_weight=[1.0] * len(X))
    with pytest.raises(InputError, match="X_val is not supported with"):
        local(SlidingWindow, estimator=LogisticRegression()).fit(X, Y, X_val=X, y_val=Y)
    for chain in (VirtualEvidence(), HMM()):
        with pytest.raises(InputError, match="classifies sequences and not rows"):
            SlidingWindow(estimator=chain).fit(X, Y)


def test_positions_do_not_see_each_others_labels():
    model = local(SlidingWindow, estimator="linear", window=0).fit(X, Y)
    rows = X[0]
    alone = [model.predict_proba([[token]])[0][0] for token in rows]
    np.testing.assert_allclose(model.predict_proba([rows])[0], alone, rtol=1e-12)
