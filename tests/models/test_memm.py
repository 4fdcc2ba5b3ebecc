"""MEMM against scikit-learn on the rows that it is trained on; orders; label bias."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.feature_extraction import DictVectorizer
from sklearn.linear_model import LogisticRegression

from hedgerow import MEMM, InputError, LinearCRF
from hedgerow.datasets import make_sequences
from tests.models.local_models import local

X, Y = make_sequences(60, mean_length=5, random_state=4)


def rows(sequences, labels, order, conjoin):
    """The features of every position: its token, runs of the labels before it, and the token with the last label."""
    found = []
    for tokens, own in zip(sequences, labels):
        for t, token in enumerate(tokens):
            before = ["⊥", *own[:t]]
            features = {"token": token}
            if conjoin:
                features["both"] = f"{token} {before[-1]}"
            for length in range(1, min(order, t + 1) + 1):
                features[f"run {length}"] = " ".join(before[-length:])
            found.append(features)
    return found


@pytest.mark.parametrize(("order", "conjoin"), [(1, None), (1, "all"), (2, "all"), (3, None)])
def test_linear_is_logistic_regression_on_augmented_rows(order, conjoin):
    l2 = 0.3
    model = local(MEMM, window=0, order=order, conjoin=conjoin, l2=l2, pairs="all", tol=1e-12).fit(X[:45], Y[:45])
    vectorizer = DictVectorizer()
    theirs = LogisticRegression(C=1 / (2 * l2), fit_intercept=False, tol=1e-10, max_iter=2000)
    theirs.fit(vectorizer.fit_transform(rows(X[:45], Y[:45], order, conjoin)), [v for own in Y[:45] for v in own])
    logs = theirs.predict_log_proba(vectorizer.transform(rows(X[45:], Y[45:], order, conjoin)))
    truth = [theirs.classes_.tolist().index(v) for own in Y[45:] for v in own]
    ends = np.cumsum([0, *map(len, X[45:])])
    expected = np.add.reduceat(logs[np.arange(len(truth)), truth], ends[:-1])
    np.testing.assert_allclose(model.log_probability(X[45:], Y[45:]), expected, atol=2e-4)


def test_the_loss_is_the_local_log_likelihood():
    model = local(MEMM, l2=0.0, max_iter=20, tol=0.0)
    with pytest.warns(UserWarning, match="before it converged"):
        model.fit(X, Y)
    np.testing.assert_allclose(model.loss_, -model.log_probability(X, Y).sum(), rtol=1e-9)


def order_two(n, rng):
    """Labels that depend on the last two, and tokens that say little."""
    X, Y = [], []
    for _ in range(n):
        labels = [int(v) for v in rng.integers(2, size=2)]
        while len(labels) < 12:
            labels.append(labels[-2] if rng.random() < 0.9 else int(rng.integers(2)))
        X.append([f"t{v if rng.random() < 0.6 else 1 - v}" for v in labels])
        Y.append([f"L{v}" for v in labels])
    return X, Y


@pytest.mark.parametrize("scorer", ["linear", "trees"])
def test_order_two_learns_what_order_one_cannot(scorer):
    rng = np.random.default_rng(0)
    train, test = order_two(150, rng), order_two(60, rng)
    few = {"estimator": scorer, "n_estimators": 25, "early_stopping": False, "conjoin": None}
    logs = [local(MEMM, order=order, **few).fit(*train).log_probability(*test).mean() for order in (1, 2, 3)]
    assert logs[1] > logs[0] + 1.0
    assert abs(logs[2] - logs[1]) < 0.5  # and there is no more to learn


def rib_rob(n, rng):
    """Lafferty, McCallum and Pereira's network: rib goes 0 1 2 3, rob goes 4 5 3; r is read as 0 or 4 alike."""
    words = [("rib", ["1", "2", "3"]), ("rob", ["4", "5", "3"])]
    drawn = [words[int(rng.random() < 0.45)] for _ in range(n)]
    X = [[c if rng.random() < 0.97 else str(rng.choice(list("ribo"))) for c in word] for word, _ in drawn]
    return X, [labels for _, labels in drawn]


def test_label_bias():
    rng = np.random.default_rng(1)
    train, test = rib_rob(800, rng), rib_rob(400, rng)
    memm, crf = local(MEMM, window=0, l2=0.01).fit(*train), LinearCRF(window=0, l2=0.01).fit(*train)
    # After 4 only 5 was ever seen: whatever stands there, the MEMM gives it nearly all of the probability.
    assert memm.log_probability([["r", "i", "b"]], [["4", "5", "3"]]) > np.log(0.2)
    assert memm.predict([["r", "o", "b"]])[0] == memm.predict([["r", "i", "b"]])[0]
    assert crf.predict([["r", "o", "b"]])[0] == ["4", "5", "3"]
    assert crf.predict([["r", "i", "b"]])[0] == ["1", "2", "3"]
    assert crf.score(*test) > memm.score(*test) + 0.2


def test_many_labels_of_high_order_are_searched():
    rng = np.random.default_rng(0)
    tokens = [[f"t{v}" for v in rng.integers(12, size=5)] for _ in range(60)]
    labels = [[f"L{token[1:]}" for token in row] for row in tokens]
    model = local(MEMM, order=4, l2=0.01).fit(tokens, labels)
    assert model.score(tokens, labels) > 0.95  # by beam
    assert model.predict(tokens, decoder="greedy").tolist() == labels
    with pytest.raises(InputError, match="271,452 scores a position"):
        model.predict_proba(tokens)
    with pytest.raises(InputError, match="decoder='beam'"):
        model.predict(tokens, decoder="viterbi")


def test_forbid_unseen():
    model = local(MEMM, transitions="forbid_unseen").fit([["a", "b"]] * 3, [["x", "y"]] * 3)
    assert model.predict([["b", "b"]], decoder="greedy")[0] == ["x", "y"]
    assert model.log_probability([["b", "b"]], [["y", "y"]]) == -np.inf
