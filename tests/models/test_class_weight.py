"""`class_weight`: what it does to the probabilities of every family, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from hedgerow import (
    HMM,
    IOHMM,
    MEMM,
    BeamSearchTagger,
    FutureFeatureMEMM,
    LinearCRF,
    RecurrentSlidingWindow,
    SlidingWindow,
    TreeCRF,
    VirtualEvidence,
    load,
)
from hedgerow.chain.decoding import tilted
from hedgerow.chain.inference import log_probability, node_marginals
from hedgerow.data.encoding import learn
from hedgerow.errors import HedgerowWarning, InputError
from hedgerow.estimators.values import class_weights

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


def sticky(n, seed):
    """Labels of 80, 15 and 5 %, drawn anew at three positions in ten, and a number that hardly tells them."""
    rng = np.random.default_rng(seed)
    y = []
    for _ in range(n):
        drawn, anew = rng.choice(3, size=30, p=[0.8, 0.15, 0.05]), rng.random(30) < 0.3
        anew[0] = True
        y.append(drawn[np.maximum.accumulate(np.where(anew, np.arange(30), 0))].tolist())
    return [np.array(labels)[:, None] + rng.normal(scale=1.3, size=(30, 1)) for labels in y], y


def mean_recall(model, X, y):
    found, true = np.concatenate(model.predict(X)), np.concatenate(y)
    return np.mean([(found[true == k] == k).mean() for k in range(3)])


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
    part = LinearCRF(class_weight={"a": 2.0}, random_state=0).partial_fit(SAME, SHARES)
    plain = LinearCRF(random_state=0).partial_fit(SAME, SHARES)
    np.testing.assert_array_equal(part.weights_, plain.weights_)
    expected = plain.predict_proba(SAME)[0] * [2.0, 1.0, 1.0]
    np.testing.assert_allclose(part.predict_proba(SAME)[0], expected / expected.sum(axis=1, keepdims=True))
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


QUICK = {"max_leaf_nodes": 4, "early_stopping": False, "n_estimators": 5}
CHAINS = {
    "linear": LinearCRF(max_iter=20),
    "linear pseudo-likelihood": LinearCRF(max_iter=20, objective="pseudo_likelihood"),
    "linear, order 0": LinearCRF(max_iter=20, order=0),
    "linear, order 2": LinearCRF(max_iter=20, order=2),
    "joint": TreeCRF(edges="joint", **QUICK),
    "joint, order 2": TreeCRF(edges="joint", order=2, init="constant", **QUICK),
    "shared": TreeCRF(edges="shared", init="constant", **QUICK),
    "shared, order 2": TreeCRF(edges="shared", order=2, **QUICK),
    "on weights": TreeCRF(init=LinearCRF(max_iter=20), **QUICK),
    "on weights with weights": TreeCRF(init=LinearCRF(max_iter=20, class_weight={0: 9.0}), **QUICK),
    "states": IOHMM(max_iter=10, random_state=0),
    "counts": HMM(),
    "counts, order 2": HMM(order=2),
    "rows": MEMM(estimator=LinearCRF(max_iter=20)),
    "rows by trees": MEMM(estimator=TreeCRF(**QUICK), order=2),
    "window": SlidingWindow(estimator=LinearCRF(max_iter=20)),
}


def learnt(model):
    if isinstance(model, IOHMM):
        return np.concatenate(model.parameters_)
    if isinstance(model, HMM):
        return model.parameters_.moves.rows
    model = getattr(model, "estimator_", model)
    return model.weights_ if isinstance(model, LinearCRF) else model.ensemble_.values


@pytest.mark.parametrize("name", CHAINS)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_training_knows_no_weights_and_marginals_are_multiplied_by_them(name, corpus, tmp_path):
    """All labelings of a short sequence: P(label at t) · w, made to add up to 1, wherever the labels of a position are
    asked for; what is said of whole labelings is as without weights."""
    model, (X, y) = CHAINS[name], corpus
    X = [np.nan_to_num(np.array(rows, dtype=float)) for rows in X]
    plain = clone(model).set_params(**{} if isinstance(model, HMM) else {"window": 1}).fit(X, y)
    w = np.array([1.0, 4.0, 0.5])
    weighted = clone(plain).set_params(class_weight=dict(enumerate(w))).fit(X, y)
    np.testing.assert_array_equal(learnt(weighted), learnt(plain))
    short, ways = X[0][:4], [list(labels) for labels in np.ndindex(3, 3, 3, 3)]
    whole = np.exp([weighted.log_probability([short], [labels])[0] for labels in ways])
    assert whole.sum() == pytest.approx(1.0, abs=1e-9)
    expected = np.zeros((4, 3))
    for p, labels in zip(whole, ways):
        expected[np.arange(4), labels] += p * w[labels]
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(weighted.predict_proba([short])[0], expected, rtol=1e-8)
    assert list(weighted.predict([short], decoder="posterior")[0]) == expected.argmax(axis=1).tolist()
    for seen, without in zip(weighted.sample(X[:2], 3, random_state=0), plain.sample(X[:2], 3, random_state=0)):
        assert [list(labels) for labels in seen] == [list(labels) for labels in without]
    if not isinstance(model, IOHMM):
        best = weighted.predict_k_best([short], 3)[0]
        assert [p for _, p in best] == pytest.approx(sorted(whole, reverse=True)[:3], rel=1e-8)
        assert list(weighted.predict([short], decoder="viterbi")[0]) == best[0][0]
        np.testing.assert_array_equal(weighted.entropy(X[:3]), plain.entropy(X[:3]))
        stream = weighted.stream(lag=3)
        told = np.concatenate([stream.extend(short), stream.finish()])
        np.testing.assert_allclose(told, expected, rtol=1e-8)
        why = weighted.explain(short, 2, 1, against=0)
        assert sum(part.log_odds for part in why.parts) == pytest.approx(np.log(expected[2, 1] / expected[2, 0]))
        assert [p.log_odds for p in why.parts if p.name == "weights of the labels"] == pytest.approx([np.log(4.0)])
    weighted.save(tmp_path / "model")
    again = load(tmp_path / "model")
    np.testing.assert_array_equal(again.tilt_, np.log(w))
    np.testing.assert_array_equal(again.predict_proba([short])[0], weighted.predict_proba([short])[0])


@pytest.mark.parametrize("model", [LinearCRF(), TreeCRF(random_state=0)], ids=["linear", "trees"])
def test_balanced_weights_raise_the_mean_recall_of_labels_that_come_in_runs(model):
    X, y = sticky(100, 0)
    plain, balanced = (clone(model).set_params(class_weight=given).fit(X, y) for given in (None, "balanced"))
    others = sticky(200, 1)
    assert mean_recall(balanced, *others) > mean_recall(plain, *others) + 0.05


def test_weights_far_apart_leave_numbers():
    probs = tilted(np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]]), np.array([-2000.0, 2000.0]))
    np.testing.assert_allclose(probs, [[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]], atol=1e-200)


def test_weights_that_no_labeling_sees_are_spoken_of(corpus):
    with pytest.warns(HedgerowWarning, match="class_weight changes probabilities of labels, and no labeling"):
        LinearCRF(class_weight="balanced", decoder="viterbi", max_iter=200).fit(*corpus)


@pytest.mark.parametrize("kind", [SlidingWindow, RecurrentSlidingWindow])
@pytest.mark.filterwarnings("error::hedgerow.errors.HedgerowWarning")
def test_rows_of_spans_have_weights(kind):
    """Whether labels make spans is nothing to positions by themselves, nor to the estimator of rows."""
    X, y = with_rare_label(0)
    y = [["B-x" if label else "O" for label in labels] for labels in y]
    plain, balanced = (
        kind(estimator=LinearCRF(), window=0, class_weight=given).fit(X, y) for given in (None, "balanced")
    )
    few, many = ((np.concatenate(model.predict(X)) == "B-x").sum() for model in (plain, balanced))
    assert few < many


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("estimator", [LinearCRF(), TreeCRF(**QUICK)], ids=["linear", "trees"])
def test_a_greedy_search_takes_the_label_whose_chance_times_its_weight_is_greatest(estimator, order, corpus):
    X, y = corpus
    X = [np.nan_to_num(np.array(rows, dtype=float)) for rows in X]
    w, changed = np.array([20.0, 4.0, 0.5]), 0
    options = {"estimator": estimator, "window": 1, "order": order, "training": "teacher"}
    plain, weighted = (
        RecurrentSlidingWindow(class_weight=given, **options).fit(X, y) for given in (None, dict(enumerate(w)))
    )
    for x in X[:3]:
        expected = []
        for t in range(len(x)):
            probs = plain.predict_proba([x], known=[[*expected, *[None] * (len(x) - t)]])[0][t]
            expected.append(int((probs * w).argmax()))
        assert list(weighted.predict([x])[0]) == expected
        changed += list(plain.predict([x])[0]) != expected
    assert changed


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
    assert [list(labels) for labels in again.predict(X)] == [list(labels) for labels in balanced.predict(X)]


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
    plain = clone(model).set_params(class_weight=None).fit(X, y, X_val=X[20:], y_val=y[20:])
    model.set_params(class_weight=weights).fit(X, y, X_val=X[20:], y_val=y[20:])
    np.testing.assert_array_equal(learnt(model), learnt(plain))
    best = max(step.score for step in model.history_)
    held = model.encode(X[20:])
    log_w = np.log(list(weights.values()))
    np.testing.assert_array_equal(model.tilt_, log_w)
    potentials = model._potentials(held, 0, len(held))
    assert log_probability(potentials, np.concatenate(y[20:])).sum() == pytest.approx(best, rel=1e-9)
    assert model.temperature_ == plain.temperature_ != 1.0
    expected = node_marginals(potentials.scaled(1.0 / model.temperature_)) * list(weights.values())
    found = np.concatenate(model.predict_proba(X[20:]))
    np.testing.assert_allclose(found, expected / expected.sum(axis=1, keepdims=True), rtol=1e-9, atol=1e-12)
    model.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    np.testing.assert_array_equal(np.concatenate(loaded.predict_proba(X[20:])), found)


@pytest.mark.parametrize(
    "model", [TreeCRF(n_estimators=20, random_state=0), LinearCRF(early_stopping=True, missing="indicator")]
)
def test_a_metric_of_labels_scores_the_model_with_the_tilt(model, corpus):
    X, y = corpus
    model.set_params(scoring="accuracy", class_weight={1: 8.0}, calibrate=False)
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


def test_staged_scores_are_those_of_training(corpus):
    X, y = corpus
    options = {"class_weight": {0: 5.0}, "max_leaf_nodes": 4, "n_estimators": 5, "tol": 0.0, "edges": "shared"}
    model = TreeCRF(**options).fit(X[:20], y[:20], X_val=X[20:], y_val=y[20:])
    scores = [step.score for step in model.history_]
    np.testing.assert_allclose(list(model.staged_score(X[20:], y[20:])), scores[: model.best_iteration_], rtol=1e-9)
