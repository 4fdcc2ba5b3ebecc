"""`TreeCRF(order="auto")`: labels that spell words have a higher order, and others have 1."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

from hedgerow import AutoLabeler, InputError, LinearCRF, TreeCRF, learn, load
from hedgerow.cli.info import describe
from hedgerow.estimators.facts import facts
from hedgerow.models.auto.candidates import Traits, first_guesses
from hedgerow.models.crf.tree_form import LEAST_COUNTED, MIXED, choose_order, label_losses

WORDS = ["stop", "spot", "post", "tops", "opts", "pots", "toss", "soot", "pest", "step", "steep", "tepee"]
QUICK: dict[str, Any] = {"window": 0, "n_estimators": 8, "max_leaf_nodes": 4, "random_state": 0}


def spelt(n: int, seed: int = 0) -> tuple[list[Any], list[Any]]:
    """Words, each letter seen as a number that says little."""
    rng = np.random.default_rng(seed)
    y = [list(WORDS[i]) for i in rng.integers(len(WORDS), size=n)]
    return [[[float("eopst".index(letter) + rng.normal())] for letter in word] for word in y], y


def drawn(n: int, seed: int = 0) -> tuple[list[Any], list[Any]]:
    """Letters that hang on the one before, and on no other."""
    rng = np.random.default_rng(seed)
    moves = rng.dirichlet(np.full(5, 0.3), size=5)
    y = []
    for _ in range(n):
        word = [int(rng.integers(5))]
        for _ in range(5):
            word.append(int(rng.choice(5, p=moves[word[-1]])))
        y.append(["eopst"[code] for code in word])
    return [[[float("eopst".index(letter) + rng.normal())] for letter in word] for word in y], y


def literal_losses(y: list[list[Any]], n_labels: int, most: int) -> list[float]:
    """`label_losses` by dicts, with sequences held out. A label None is not known: it is neither learnt nor asked."""
    learnt = [word for i, word in enumerate(y) if i % 5 != 4]
    asked = [word for i, word in enumerate(y) if i % 5 == 4]

    def runs(words: list[list[Any]], n: int) -> list[tuple[Any, ...]]:
        padded = [[*(["start"] * n), *word] for word in words]
        return [tuple(one[t : t + n + 1]) for one in padded for t in range(len(one) - n) if one[t + n] is not None]

    counts = [Counter(runs(learnt, n)) for n in range(most + 1)]
    contexts = [Counter(run[:-1] for run in runs(learnt, n)) for n in range(most + 1)]
    losses = []
    for n in range(most + 1):
        found = []
        for run in runs(asked, most):
            prob = 1.0 / n_labels
            for m in range(n + 1):
                part = run[most - m :]
                prob = (counts[m][part] + MIXED * prob) / (contexts[m][part[:-1]] + MIXED)
            found.append(-np.log(prob))
        losses.append(float(np.mean(found)))
    return losses


@pytest.mark.parametrize("gaps", [False, True])
def test_what_labels_lose_by_counts(gaps):
    _, y = spelt(60)
    if gaps:
        y = [[None if (i + t) % 7 == 0 else letter for t, letter in enumerate(word)] for i, word in enumerate(y)]
    dataset = learn([[[1.0]] * len(word) for word in y], y)
    own = label_losses(dataset.labels, dataset.offsets, dataset.n_labels, 3)
    np.testing.assert_allclose(own, literal_losses(y, dataset.n_labels, 3), rtol=1e-12)


@pytest.mark.parametrize("one", [False, True], ids=["sequences", "one recording"])
def test_words_have_a_higher_order_and_chains_of_order_1_do_not(one):
    for make, higher in ((spelt, True), (drawn, False)):
        X, y = make(400)
        if one:
            X, y = [[row for rows in X for row in rows]], [[label for labels in y for label in labels]]
        assert (choose_order(TreeCRF(), learn(X, y)) > 1) == higher


def test_few_labels_tell_nothing():
    X, y = spelt(400)
    n = int(np.searchsorted(np.cumsum([len(word) for word in y]), LEAST_COUNTED))
    assert choose_order(TreeCRF(), learn(X[:n], y[:n])) == 1
    assert choose_order(TreeCRF(), learn(X[: n + 1], y[: n + 1])) > 1


@pytest.mark.parametrize(
    "more",
    [
        {"edges": "shared"},
        {"edges": "joint"},
        {"init": "zero"},
        {"init": LinearCRF()},
        {"objective": "margin"},
        {"n_bags": 2},
        {"transitions": "forbid_unseen"},
        {"pseudo_likelihood_steps": 1},
        {"order": 1},
    ],
    ids=str,
)
def test_what_is_said_otherwise_keeps_order_1(more):
    model = TreeCRF(**QUICK | more).fit(*spelt(300))
    assert model.order_ == 1


def test_columns_of_words_keep_order_1(monkeypatch):
    monkeypatch.setattr("hedgerow.models.crf.tree_form.WORDS", 3)
    X = [[{"a": f"w{round(row[0])}"} for row in rows] for rows in spelt(300)[0]]
    assert TreeCRF(**QUICK).fit(X, spelt(300)[1]).order_ == 1


def test_the_model_is_that_of_the_order_and_better(tmp_path):
    X, y = spelt(300)
    X_test, y_test = spelt(100, seed=1)
    model = TreeCRF(**QUICK).fit(X, y)
    assert model.order == "auto"
    assert model.order_ in (2, 3)
    assert model.edges_ == "shared"
    same = TreeCRF(**QUICK, order=model.order_).fit(X, y)
    model.save(tmp_path / "model")
    for other in (same, load(tmp_path / "model")):
        for a, b in zip(model.predict_proba(X_test), other.predict_proba(X_test)):
            np.testing.assert_array_equal(a, b)
    assert load(tmp_path / "model").order == "auto"
    assert f"order {model.order_} (auto)" in describe(str(tmp_path / "model"))
    assert ("order", str(model.order_)) in list(facts(model))
    assert model.score(X_test, y_test) > TreeCRF(**QUICK, order=1).fit(X, y).score(X_test, y_test) + 0.05
    model.temperature_ = 1.0  # which the score of a stage does not know
    assert list(model.staged_score(X_test, y_test, "accuracy"))[-1] == pytest.approx(model.score(X_test, y_test))


def test_it_goes_on_with_the_order_that_it_has():
    X, y = spelt(300)
    model = TreeCRF(**QUICK | {"n_estimators": 4, "early_stopping": False, "warm_start": True}).fit(X, y)
    assert model.set_params(n_estimators=8).fit(X, y).order_ > 1
    assert model.ensemble_.n_iterations == 8
    with pytest.raises(InputError, match="trees of another form"):
        model.set_params(n_estimators=9, order=1).fit(X, y)


def test_another_fit_asks_again():
    model = TreeCRF(**QUICK).fit(*spelt(300))
    assert model.order_ > 1
    assert model.fit(*drawn(300)).order_ == 1


def test_a_wrong_order_is_refused():
    with pytest.raises(InputError, match="order"):
        TreeCRF(order="highest").fit(*spelt(20))


def test_the_search_begins_there():
    X, y = spelt(300)
    guesses = first_guesses(Traits.of(learn(X, y)))
    assert {type(model).__name__ for model in guesses} == {"TreeCRF", "LinearCRF", "HMM"}
    assert all(model.order > 1 for model in guesses)
    model = AutoLabeler(n_trials=2, cv=2, random_state=0, max_models=1).fit(X, y)
    assert all("order=" in record["model"] for record in model.leaderboard_)
