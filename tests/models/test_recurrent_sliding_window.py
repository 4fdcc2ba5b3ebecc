"""RecurrentSlidingWindow: directions, what it is trained on, and how it decodes."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from hedgerow import MEMM, RecurrentSlidingWindow, SlidingWindow
from hedgerow.datasets import make_sequences
from tests.models.local_models import local

X, Y = make_sequences(60, mean_length=5, random_state=4)


def turned(rows):
    return [row[::-1] for row in rows]


@pytest.mark.parametrize("history", [1, 2])
@pytest.mark.parametrize("classifier", ["linear", "trees", LogisticRegression()], ids=["linear", "trees", "user"])
def test_right_to_left_is_left_to_right_of_turned_sequences(classifier, history):
    few = {"estimator": classifier, "order": history, "n_estimators": 8, "early_stopping": False, "window": 0}
    left = local(RecurrentSlidingWindow, **few).fit(turned(X), turned(Y))
    right = local(RecurrentSlidingWindow, direction="right_to_left", **few).fit(X, Y)
    for decoder in ("greedy", "beam", "viterbi", "posterior"):
        assert right.predict(X, decoder=decoder).tolist() == turned(left.predict(turned(X), decoder=decoder))
    for ours, theirs in zip(right.predict_proba(X), left.predict_proba(turned(X))):
        np.testing.assert_allclose(ours, theirs[::-1], atol=1e-9)
    np.testing.assert_allclose(right.log_probability(X, Y), left.log_probability(turned(X), turned(Y)), rtol=1e-9)


@pytest.mark.parametrize("classifier", ["linear", "trees"])
def test_with_true_labels_it_is_a_memm(classifier):
    few = {"n_estimators": 8, "early_stopping": False, "window": 1}
    recurrent = local(RecurrentSlidingWindow, estimator=classifier, **few).fit(X, Y)
    memm = local(MEMM, estimator=classifier, **few).fit(X, Y)
    for ours, theirs in zip(recurrent.predict_proba(X), memm.predict_proba(X)):
        np.testing.assert_array_equal(ours, theirs)
    assert recurrent.predict(X).tolist() == memm.predict(X, decoder="greedy").tolist()
    assert recurrent.predict(X, decoder="viterbi").tolist() == memm.predict(X, decoder="viterbi").tolist()


@pytest.mark.parametrize("classifier", ["linear", "trees", LogisticRegression()], ids=["linear", "trees", "user"])
@pytest.mark.parametrize("direction", ["left_to_right", "right_to_left"])
def test_greedy_takes_the_most_probable_label_after_those_it_took(classifier, direction):
    model = local(
        RecurrentSlidingWindow,
        estimator=classifier,
        direction=direction,
        window=1,
        n_estimators=8,
        early_stopping=False,
    ).fit(X, Y)
    backward = direction == "right_to_left"
    labels = model.classes_.tolist()
    for row in X[:6]:
        given: list = [None] * len(row)
        for t in range(len(row) - 1, -1, -1) if backward else range(len(row)):
            # P(label at t | those given) = P(those and it) / P(those), all later ones summed out
            logs = [model.log_probability([row], [[*given[:t], label, *given[t + 1 :]]])[0] for label in labels]
            given[t] = labels[int(np.argmax(logs))]
        assert model.predict([row])[0] == given


class Echo:
    """Sequences whose first token alone tells the labels: each repeats the one before, and tokens are misleading."""

    def __init__(self, n: int, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.X, self.Y = [], []
        for _ in range(n):
            label = int(rng.integers(2))
            self.X.append([f"first {label if rng.random() < 0.9 else 1 - label}", *["then"] * 6])
            self.Y.append([f"L{label}"] * 7)


@pytest.mark.parametrize("classifier", ["linear", "trees"])
def test_labels_are_carried_along(classifier):
    train, test = Echo(80, 0), Echo(40, 1)
    few = {"window": 0, "estimator": classifier, "n_estimators": 20, "early_stopping": False}
    assert local(RecurrentSlidingWindow, **few).fit(train.X, train.Y).score(test.X, test.Y) > 0.85
    backward = local(RecurrentSlidingWindow, direction="right_to_left", **few).fit(train.X, train.Y)
    assert backward.score(test.X, test.Y) < 0.75  # it has decided before it sees the one token that tells
    assert local(SlidingWindow, **few).fit(train.X, train.Y).score(test.X, test.Y) < 0.75


def test_predicted_labels_are_what_training_sees():
    rng = np.random.default_rng(0)
    # The label is told by the token, and the label before it repeats it in training, where it is true.
    labels = [[str(v) for v in np.repeat(rng.integers(2, size=8), 2)] for _ in range(60)]
    tokens = [[v if rng.random() < 0.75 else str(1 - int(v)) for v in row] for row in labels]
    teacher = local(RecurrentSlidingWindow, estimator="linear", l2=0.1, random_state=0).fit(tokens[:40], labels[:40])
    predicted = local(RecurrentSlidingWindow, estimator="linear", l2=0.1, training="predicted", random_state=0)
    predicted.fit(tokens[:40], labels[:40])
    assert teacher.estimator_.weights_.tolist() != predicted.estimator_.weights_.tolist()

    def trust(model):
        """How much more probable a label is after itself."""
        names = [f"after {v}" for v in "01"]
        weights = {(feature, label): w for feature, label, w in model.estimator_.feature_weights()}
        return sum(weights.get((f"after {v}", v), 0.0) for v in "01") - sum(
            weights.get((name, v), 0.0) for name in names for v in "01" if name[-1] != v
        )

    assert trust(predicted) < trust(teacher)
    again = local(RecurrentSlidingWindow, estimator="linear", l2=0.1, training="predicted", random_state=0, n_jobs=2)
    again.fit(tokens[:40], labels[:40])
    np.testing.assert_array_equal(again.estimator_.weights_, predicted.estimator_.weights_)


def test_a_beam_is_at_least_as_probable_as_greed():
    model = local(RecurrentSlidingWindow, estimator="linear", order=2, window=1).fit(X[:40], Y[:40])
    greedy, beam = (model.log_probability(X, model.predict(X, decoder=d)) for d in ("greedy", "beam"))
    assert np.all(beam >= greedy - 1e-9)
    assert np.any(beam > greedy + 1e-9)
