"""`class_weight`: what it does to the probabilities of every family, and what is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from hedgerow import (
    HMM,
    IOHMM,
    MEMM,
    BeamSearchTagger,
    FutureFeatureMEMM,
    LinearCRF,
    SlidingWindow,
    TreeCRF,
    VirtualEvidence,
    load,
)
from hedgerow.chain.inference import node_marginals
from hedgerow.chain.objectives.log_likelihood import log_likelihood
from hedgerow.chain.objectives.weighted import Tilted
from hedgerow.data.encoding import learn
from hedgerow.errors import InputError
from hedgerow.estimators.values import class_weights
from hedgerow.parallel import Lanes
from hedgerow.training.boosting.chain import Booster
from hedgerow.training.boosting.scores import Start
from hedgerow.trees.binning import bin_dataset, learn_binning

from .test_holding_out import recordings

TREES = {"l2_regularization": 1e-6, "early_stopping": False, "n_estimators": 150, "max_leaf_nodes": 2}
SAME = [["x"] * 10] * 6  # an input that says nothing
SHARES = [[label] * 10 for label in ("a", "a", "a", "b", "b", "c")]
COUNTS = np.array([30.0, 20.0, 10.0])


def with_rare_label(seed):
    """Sequences in which one label of twelve is a 1, and a number that hardly tells."""
    rng = np.random.default_rng(seed)
    y = [(rng.random(20) < 1 / 12).astype(int).tolist() for _ in range(40)]
    return [np.array(labels)[:, None] + rng.normal(scale=0.6, size=(20, 1)) for labels in y], y


def recall(model, X, y):
    found, true = np.concatenate(model.predict(X)), np.concatenate(y)
    return float((found[true == 1] == 1).mean())


@pytest.fixture(scope="module")
def corpus():
    return recordings(30, 20, np.random.default_rng(1))


# ------------------------------------------------------------------------------------------------ the weights


def test_balanced_weights_are_those_of_scikit_learn():
    from sklearn.utils.class_weight import compute_class_weight

    labels = np.concatenate(SHARES)
    expected = compute_class_weight("balanced", classes=np.array(["a", "b", "c"]), y=labels)
    np.testing.assert_allclose(class_weights("balanced", learn(SAME, SHARES)), expected, rtol=1e-15)


def test_balanced_weights_count_sequences_by_their_weight_and_unknown_labels_not_at_all():
    y = [*SHARES[:5], [None] * 9 + [{"a", "c"}]]
    weights = class_weights("balanced", learn(SAME, y, sample_weight=[1, 1, 1, 3, 3, 1]))
    np.testing.assert_allclose(weights, [90 / 60, 90 / 120, 1.0], rtol=1e-15)


def test_a_mapping_leaves_the_others_at_1():
    assert class_weights({"b": 4}, learn(SAME, SHARES)).tolist() == [1.0, 4.0, 1.0]
    assert class_weights(None, learn(SAME, SHARES)) is None


@pytest.mark.parametrize("wrong", ["equal", 3, ["a"], {"a": 0}, {"a": -1.0}, {"a": np.inf}, {"a": "1"}, {"a": True}])
@pytest.mark.parametrize("kind", [LinearCRF, TreeCRF, MEMM, HMM, IOHMM, BeamSearchTagger])
def test_what_is_no_weight_is_refused(kind, wrong):
    with pytest.raises(InputError, match="class_weight"):
        kind(class_weight=wrong).fit(SAME, SHARES)


@pytest.mark.parametrize("kind", [LinearCRF, TreeCRF, MEMM, SlidingWindow, HMM, IOHMM, BeamSearchTagger])
def test_a_label_that_training_does_not_have_is_refused(kind):
    with pytest.raises(InputError, match="names the label 'd', which was not seen"):
        kind(class_weight={"d": 2.0}).fit(4 * SAME, 4 * SHARES)  # three are held out at most


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_objectives_of_whole_labelings_and_parts_of_a_corpus_refuse_them():
    for model in (LinearCRF(objective="perceptron"), TreeCRF(objective="classification_error")):
        with pytest.raises(InputError, match="which compares whole labelings"):
            model.set_params(class_weight="balanced").fit(SAME, SHARES)
    for model in (LinearCRF(objective="slack_margin"), TreeCRF(objective="slack_margin")):
        with pytest.raises(InputError, match="class_weight='balanced' is not for objective='slack_margin'"):
            model.set_params(class_weight="balanced").fit(SAME, SHARES)
    LinearCRF(objective="slack_margin", class_weight={"c": 3}).fit(SAME, SHARES)
    with pytest.raises(InputError, match="needs all data at once"):
        LinearCRF(class_weight="balanced").partial_fit(SAME, SHARES)
    LinearCRF(class_weight={"a": 2.0}).partial_fit(SAME, SHARES)
    with pytest.raises(InputError, match="takes no sample_weight"):
        SlidingWindow(estimator=KNeighborsClassifier(), class_weight="balanced").fit(SAME, SHARES)


# ------------------------------------------------------------------------------------------------ what they do


FAMILIES = {
    "linear": LinearCRF(order=0, l2=0.0, tol=0.0),
    "linear pseudo-likelihood": LinearCRF(order=0, l2=0.0, objective="pseudo_likelihood", tol=0.0),
    "linear pointwise": LinearCRF(order=0, l2=0.0, objective="pointwise", tol=0.0),
    "linear sgd": LinearCRF(order=0, l2=0.0, trainer="adagrad", random_state=0, max_iter=300),
    "linear smd": LinearCRF(order=0, l2=0.0, trainer="smd", random_state=0, max_iter=300),
    "joint trees": TreeCRF(edges="joint", order=0, **TREES),
    "trees": TreeCRF(edges="shared", order=0, **TREES),
    "mean leaves": TreeCRF(edges="shared", order=0, leaves="mean", learning_rate=1.0, **TREES),
    "trees pointwise": TreeCRF(edges="shared", order=0, objective="pointwise", likelihood_steps=0, **TREES),
    "window": SlidingWindow(estimator=TreeCRF(**TREES)),
    "memm": MEMM(order=0, estimator=LinearCRF(l2=0.0, tol=0.0)),
    "their own": SlidingWindow(estimator=LogisticRegression(C=1e6, tol=1e-8)),
    "hmm": HMM(order=0, smoothing=0.0),
    "iohmm": IOHMM(l2=1e-6, tol=0.0, max_iter=100, random_state=0),
    "future features": FutureFeatureMEMM(
        order=0, early_stopping=False, learning_rate=1.0, l2_regularization=1e-6, tol=1e-9
    ),
}
for _model in FAMILIES.values():
    if "window" in _model.get_params():
        _model.set_params(window=0)  # the input says nothing, and none need be compared


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_probabilities_are_multiplied_by_the_weights(name):
    """Where the input says nothing, labels have their shares; balanced ones are all the same."""
    model = FAMILIES[name]
    for given, weights in ((None, np.ones(3)), ("balanced", 1.0 / COUNTS), ({"c": 5.0}, np.array([1.0, 1.0, 5.0]))):
        probs = model.set_params(class_weight=given).fit(SAME, SHARES).predict_proba([["x"]])[0][0]
        expected = COUNTS * weights / (COUNTS * weights).sum()
        np.testing.assert_allclose(probs, expected, rtol=0, atol=0.02 if name[-1] == "s" or "gd" in name else 2e-3)


@pytest.mark.parametrize(
    "model",
    [
        LinearCRF(l2=0.0, tol=1e-9),
        TreeCRF(edges="joint", max_leaf_nodes=4, early_stopping=False, n_estimators=60, init="constant"),
        TreeCRF(edges="shared", max_leaf_nodes=4, early_stopping=False, n_estimators=60),
    ],
    ids=["linear", "joint", "shared"],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_chain_is_tilted_at_every_position(model, corpus):
    """p(y | x) · Π w, made to add up to 1: what a likelihood without weights fits, with log w added to every node."""
    X, y = corpus
    X = [[{"x": x, "z": z, "always": "yes"} for x, z in rows] for rows in X]
    weights = {0: 1.0, 1: 4.0, 2: 0.5}
    plain = model.set_params(class_weight=None).fit(X, y)
    potentials = plain._potentials(plain.encode(X), 0, len(X))
    expected = node_marginals(potentials.shifted(np.log(list(weights.values()))))
    found = np.concatenate(model.set_params(class_weight=weights).fit(X, y).predict_proba(X))
    assert np.abs(found - expected).max() < (0.01 if isinstance(model, LinearCRF) else 0.35)  # trees come near it
    assert np.abs(found - expected).mean() < (1e-3 if isinstance(model, LinearCRF) else 0.06)
    model.set_params(class_weight=None)


@pytest.mark.parametrize(("edges", "order"), [("joint", 1), ("joint", 2), ("shared", 1), ("shared", 0)])
@pytest.mark.parametrize("leaves", ["mean", "newton"])
def test_trees_follow_the_tilted_likelihood(corpus, edges, order, leaves):
    dataset, weights = learn(*corpus), np.array([1.0, 4.0, 0.5])
    data, start = bin_dataset(learn_binning(dataset), dataset, postings=True), replace(Start.zero(3), order=order)
    grown = []
    with Lanes(1, 1) as lanes:
        for tilt, objective in ((np.log(weights), log_likelihood), (None, Tilted(log_likelihood, weights))):
            options = {"max_leaf_nodes": 4, "l2_regularization": 5.0, "edges": edges, "leaves": leaves}
            booster = Booster(dataset, data, lanes, start=replace(start, tilt=tilt), **options)
            losses = [booster.evaluate(objective)]
            trees = booster.step()
            losses.append(booster.evaluate(objective))
            grown.append((losses, trees))
    np.testing.assert_allclose(grown[0][0], grown[1][0], rtol=1e-9)
    for one, other in zip(grown[0][1], grown[1][1]):
        np.testing.assert_allclose(one.values, other.values, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("edges", ["joint", "shared"])
def test_weights_of_1_change_no_bit_of_trees(corpus, edges, order):
    X, y = corpus
    few = {"edges": edges, "order": order, "n_estimators": 5, "early_stopping": False, "max_leaf_nodes": 4}
    one, other = (TreeCRF(class_weight=given, **few).fit(X, y) for given in (None, {0: 1.0}))
    np.testing.assert_array_equal(one.ensemble_.values, other.ensemble_.values)


@pytest.mark.parametrize("update", ["early", "beam", "max_violation", "full"])
@pytest.mark.parametrize("ranking", ["perceptron", "trees"])
def test_a_search_finds_more_of_a_label_that_counts_more_and_weights_of_1_change_no_bit(ranking, update, tmp_path):
    X, y = with_rare_label(0)
    options = {"window": 0, "ranking": ranking, "update": update, "early_stopping": False, "random_state": 0}
    options |= {"max_iter": 20, "max_leaf_nodes": 4, "learning_rate": 0.2}
    plain, ones, balanced = (
        BeamSearchTagger(class_weight=given, **options).fit(X, y) for given in (None, {0: 1.0, 1: 1.0}, "balanced")
    )
    if ranking == "trees":
        np.testing.assert_array_equal(plain.trees_.ensemble_.values, ones.trees_.ensemble_.values)
    else:
        np.testing.assert_array_equal(plain.weights_, ones.weights_)
    others = with_rare_label(1)
    assert recall(balanced, *others) > recall(plain, *others) + 0.02
    balanced.save(tmp_path / "model")
    assert load(tmp_path / "model").class_weight == "balanced"


def test_an_iohmm_of_weights_1_is_the_same_and_balanced_ones_find_more_of_a_rare_label(tmp_path):
    X, y = with_rare_label(0)
    options = {"window": 0, "max_iter": 30, "tol": 1e-2, "random_state": 0}
    plain, ones, balanced = (
        IOHMM(class_weight=given, **options).fit(X, y) for given in (None, {0: 1.0, 1: 1.0}, "balanced")
    )
    np.testing.assert_array_equal(*(np.concatenate(model.predict_proba(X)) for model in (plain, ones)))
    others = with_rare_label(1)
    assert recall(balanced, *others) > recall(plain, *others) + 0.1
    balanced.save(tmp_path / "model")
    again = load(tmp_path / "model")
    np.testing.assert_array_equal(again.tilt_, balanced.tilt_)
    assert [list(labels) for labels in again.predict(X)] == [list(labels) for labels in balanced.predict(X)]


def test_an_iohmm_with_weights_adds_up_to_1_and_looks_no_further_ahead():
    """All labelings of a short sequence; and P(first label) is the same whatever comes later."""
    X, y = with_rare_label(0)
    model = IOHMM(class_weight={1: 6.0}, n_states=3, window=0, max_iter=10, random_state=0)
    with pytest.warns(ConvergenceWarning):
        model.fit(X, y)
    short, ways = X[0][:4], [list(labels) for labels in np.ndindex(*(2,) * 4)]
    probs = np.exp([model.log_probability([short], [labels])[0] for labels in ways])
    assert probs.sum() == pytest.approx(1.0, abs=1e-12)
    expected = probs @ np.array(ways)
    np.testing.assert_allclose(model.predict_proba([short])[0][:, 1], expected, rtol=1e-9)
    np.testing.assert_allclose(model.predict_proba([short[:1]])[0][0, 1], expected[0], rtol=1e-9)


def test_margins_ask_for_more_where_a_label_counts_more(corpus):
    X, y = corpus
    weighted = LinearCRF(objective="margin", class_weight={1: 3.0}, random_state=0).fit(X, y)
    costly = LinearCRF(objective="margin", costs={1: 3.0}, random_state=0).fit(X, y)
    np.testing.assert_array_equal(weighted.weights_, costly.weights_)
    assert (np.concatenate(weighted.predict(X)) == 1).sum() > (
        np.concatenate(LinearCRF(objective="margin", random_state=0).fit(X, y).predict(X)) == 1
    ).sum()


@pytest.mark.parametrize("objective", ["labelwise", "expected_accuracy", "virtual_evidence"])
def test_other_objectives_of_trees_find_more_of_a_label_that_counts_more(corpus, objective):
    X, y = corpus
    few = {"edges": "shared", "n_estimators": 30, "early_stopping": False, "max_leaf_nodes": 4}
    kind = VirtualEvidence if objective == "virtual_evidence" else TreeCRF
    few |= {} if kind is VirtualEvidence else {"objective": objective}
    found = [
        (np.concatenate(kind(class_weight=given, **few).fit(X, y).predict(X)) == 1).sum() for given in (None, {1: 5.0})
    ]
    assert found[1] > found[0]


# ------------------------------------------------------------------------------------------------ with held-out ones


@pytest.mark.parametrize(
    "model",
    [
        LinearCRF(early_stopping=True, validation_fraction=0.3, scoring="log_likelihood", random_state=0),
        TreeCRF(n_estimators=30, max_leaf_nodes=4, random_state=0, refit=False, validation_folds=1),
    ],
    ids=["linear", "trees"],
)
def test_held_out_scores_and_the_temperature_are_those_without_the_tilt(model, corpus, tmp_path):
    X, y = corpus
    weights = {0: 1.0, 1: 8.0, 2: 1.0}
    model.set_params(class_weight=weights).fit(X, y, X_val=X[20:], y_val=y[20:])
    best = max(step.score for step in model.history_)
    held = model.encode(X[20:])
    log_w = np.log(list(weights.values()))
    np.testing.assert_array_equal(model.tilt_, log_w)
    plain = model._potentials(held, 0, len(held)).shifted(-log_w)
    from hedgerow.chain.inference import log_probability

    assert log_probability(plain, np.concatenate(y[20:])).sum() == pytest.approx(best, rel=1e-9)
    assert model.temperature_ != 1.0
    tempered = plain.scaled(1.0 / model.temperature_).shifted(log_w)
    found = np.concatenate(model.predict_proba(X[20:]))
    np.testing.assert_allclose(found, node_marginals(tempered), rtol=1e-9, atol=1e-12)
    model.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    np.testing.assert_array_equal(np.concatenate(loaded.predict_proba(X[20:])), found)


def test_a_metric_of_labels_scores_the_model_with_the_tilt(corpus):
    X, y = corpus
    model = TreeCRF(scoring="accuracy", class_weight={1: 8.0}, n_estimators=20, calibrate=False, random_state=0)
    model.fit(X, y, X_val=X[20:], y_val=y[20:])
    assert max(step.score for step in model.history_) == pytest.approx(model.score(X[20:], y[20:]))


def test_where_weights_are_no_tilt_the_loss_at_a_temperature_counts_them(corpus):
    from hedgerow.estimators.calibration import tempered_losses

    X, y = corpus
    model = LinearCRF(objective="pointwise", class_weight={1: 8.0}, max_iter=20).fit(X, y, X_val=X[20:], y_val=y[20:])
    assert model.tilt_ is None
    model.temperature_, true = 1.0, np.concatenate(y)
    probs = np.concatenate(model.predict_proba(X))[np.arange(len(true)), true]
    losses = tempered_losses(model, model.encode(X, y))
    assert losses[2 + 8] == pytest.approx(-(np.where(true == 1, 8.0, 1.0) * np.log(probs)).sum(), rel=1e-10)


def test_threads_do_not_change_a_bit(corpus):
    X, y = corpus
    few = {"class_weight": "balanced", "n_estimators": 8, "random_state": 0}
    one, two = (TreeCRF(n_jobs=n, **few).fit(X, y) for n in (1, 2))
    np.testing.assert_array_equal(one.ensemble_.values, two.ensemble_.values)


def test_labels_that_are_no_strings_keep_their_weights_in_files(corpus, tmp_path):
    model = LinearCRF(class_weight={0: 2.0, 2: 3.0}).fit(*corpus)
    model.save(tmp_path / "model.hedgerow")
    again = load(tmp_path / "model.hedgerow")
    assert again.class_weight == {0: 2.0, 2: 3.0}
    again.fit(*corpus)


def test_viterbi_and_k_best_agree_where_scores_have_weights_and_a_temperature(corpus):
    X, y = corpus
    model = LinearCRF(class_weight={0: 4.0}, decoder="viterbi").fit(X, y)
    model.temperature_ = 0.5
    best = [labels for [(labels, _)] in model.predict_k_best(X, 1)]
    assert [list(labels) for labels in model.predict(X)] == best
    model.tilt_ = None
    assert [list(labels) for labels in model.predict(X)] != best  # so that there was something to see


def test_trees_on_a_linear_model_need_not_learn_the_weights(corpus):
    X, y = corpus
    weights = {"class_weight": {0: 20.0}, "early_stopping": False, "n_estimators": 1}
    plain = TreeCRF(init=LinearCRF(), **weights).fit(X, y)
    weighted = TreeCRF(init=LinearCRF(class_weight={0: 20.0}), **weights).fit(X, y)
    assert plain.loss_ < 1.02 * weighted.loss_


def test_staged_scores_are_those_of_training(corpus):
    X, y = corpus
    options = {"class_weight": {0: 5.0}, "max_leaf_nodes": 4, "n_estimators": 5, "tol": 0.0, "edges": "shared"}
    model = TreeCRF(**options).fit(X[:20], y[:20], X_val=X[20:], y_val=y[20:])
    scores = [step.score for step in model.history_]
    np.testing.assert_allclose(list(model.staged_score(X[20:], y[20:])), scores[: model.best_iteration_], rtol=1e-9)
