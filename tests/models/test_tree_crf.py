"""TreeCRF: it learns, stops at the best iteration, goes on, obeys constraints, and does not depend on threads."""

from __future__ import annotations

import os
import pickle
import signal
from dataclasses import replace
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV

from hedgerow import LinearCRF, TreeCRF, load
from hedgerow.data.encoding import encode, learn
from hedgerow.datasets import make_sequences
from hedgerow.errors import HedgerowWarning, InputError
from hedgerow.metrics import label_accuracy
from hedgerow.models.crf.tree_form import has_words
from hedgerow.training import memory
from hedgerow.training.monitor import Monitor

from .corpora import COLUMNS, X_SMALL, Y_SMALL, partial_labels, rich_corpus

NOISY = {"n_tokens": 30, "concentration": 0.7, "mean_length": 7}
PAPER = {
    "learning_rate": 1.0,
    "leaves": "mean",
    "categorical": "one_against_rest",
    "scoring": "accuracy",
    "decoder": "viterbi",
}
SHORT = {"n_estimators": 6, "max_leaf_nodes": 6, "l2_regularization": 2.0, "early_stopping": False} | PAPER


@pytest.fixture(scope="module")
def data():
    X, y = make_sequences(220, random_state=1, **NOISY)
    return X[:120], y[:120], X[120:], y[120:]


@pytest.fixture(scope="module")
def fitted(data):
    return TreeCRF(window=1, **SHORT).fit(data[0], data[1])


def same_trees(one: TreeCRF, other: TreeCRF) -> bool:
    pairs = [(getattr(one.ensemble_, name), getattr(other.ensemble_, name)) for name in ("ptr", "nodes", "values")]
    return all(np.array_equal(a, b) for a, b in pairs)


# ------------------------------------------------------------------------------------------------ training


def test_learns_what_one_position_shows(data):
    X, y, X_test, y_test = data
    model = TreeCRF(l2_regularization=2.0, random_state=0).fit(X, y)
    majority = max(np.mean([label == name for labels in y_test for label in labels]) for name in model.classes_)
    assert model.score(X_test, y_test) > majority + 0.2
    assert model.score(X_test, y_test) > LinearCRF(l2=1.0).fit(X, y).score(X_test, y_test) - 0.05


def test_learns_an_interaction_that_a_linear_chain_cannot():
    """The label is the exclusive or of two flags."""
    rng = np.random.default_rng(0)
    flags = rng.integers(0, 2, size=(200, 6, 2))
    X = [[{"a": bool(a), "b": bool(b)} for a, b in rows] for rows in flags]
    y = [["x" if a != b else "y" for a, b in rows] for rows in flags]
    model = TreeCRF(n_estimators=40, l2_regularization=1.0, early_stopping=False).fit(X[:100], y[:100])
    assert model.score(X[100:], y[100:]) == 1.0
    assert LinearCRF().fit(X[:100], y[:100]).score(X[100:], y[100:]) < 0.7


def test_the_loss_falls_at_every_small_step(data):
    model = TreeCRF(n_estimators=25, learning_rate=0.2, l2_regularization=5.0, early_stopping=False).fit(
        data[0], data[1]
    )
    assert np.all(np.diff([step.loss for step in model.history_]) < 0)
    assert model.loss_ == model.history_[-1].loss
    assert -model.log_probability(data[0], data[1]).sum() == pytest.approx(model.loss_, rel=1e-9)


@pytest.mark.parametrize("metric", ["accuracy", "label_f1", "log_likelihood", label_accuracy])
def test_the_best_iteration_is_kept(metric, data):
    X, y, X_val, y_val = data
    options = {"l2_regularization": 2.0, "max_leaf_nodes": 8, "n_estimators": 200, "calibrate": False}
    model = TreeCRF(scoring=metric, n_iter_no_change=5, tol=0.0, **options).fit(X, y, X_val=X_val, y_val=y_val)
    scores = [step.score for step in model.history_]
    ties = [i for i, score in enumerate(scores, 1) if score == max(scores)]
    assert model.outcome_ == "early_stopping"
    assert model.best_iteration_ == model.ensemble_.n_iterations == ties[-1]
    assert model.n_iter_ == ties[0] + 5
    again = TreeCRF(**options | {"n_estimators": ties[-1]}, edges=model.edges_, early_stopping=False).fit(X, y)
    assert same_trees(model, again)
    expected = model.log_probability(X_val, y_val).sum() if metric == "log_likelihood" else None
    if metric in ("accuracy", label_accuracy):
        expected = model.score(X_val, y_val)
    if expected is not None:
        np.testing.assert_allclose(max(scores), expected, rtol=1e-10)


def test_a_part_is_held_out_by_default(data):
    X, y, _, _ = data
    model = TreeCRF(n_estimators=5, random_state=3, n_iter_no_change=4, **PAPER).fit(X, y)
    assert all(step.score is not None for step in model.history_)
    from_dataset = TreeCRF(n_estimators=5, random_state=3, n_iter_no_change=4, **PAPER).fit(learn(X, y))
    assert [step.score for step in model.history_] == [step.score for step in from_dataset.history_]
    other = TreeCRF(n_estimators=5, random_state=4, n_iter_no_change=4, **PAPER).fit(X, y)
    assert [step.loss for step in model.history_] != [step.loss for step in other.history_]


def test_what_was_held_out_is_trained_on_in_the_end(data):
    X, y, _, _ = data
    options = {"n_estimators": 30, "random_state": 3, "n_iter_no_change": 4, "validation_folds": 1, "edges": "joint"}
    again, once = (TreeCRF(refit=refit, **options).fit(X, y) for refit in (True, False))
    assert [step.score for step in again.history_] == [step.score for step in once.history_]
    assert again.best_iteration_ == once.best_iteration_ == again.ensemble_.n_iterations
    assert (again.outcome_, again.n_iter_) == (once.outcome_, once.n_iter_)
    plain = TreeCRF(n_estimators=again.best_iteration_, early_stopping=False, random_state=3, edges="joint").fit(X, y)
    assert same_trees(again, plain)
    assert again.loss_ == plain.loss_
    assert not same_trees(again, once)


def test_ctrl_c_while_training_again_keeps_the_first_model(data, monkeypatch):
    X, y, _, _ = data
    options = {"window": 0, "n_estimators": 12, "random_state": 3, "validation_folds": 1, "edges": "joint"}
    once = TreeCRF(refit=False, **options).fit(X, y)
    begin, runs = Monitor.begin, iter(range(2))

    def interrupted(monitor, *given):
        if next(runs) == 1:
            os.kill(os.getpid(), signal.SIGINT)
        return begin(monitor, *given)

    monkeypatch.setattr(Monitor, "begin", interrupted)
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        model = TreeCRF(**options).fit(X, y)
    assert model.outcome_ == "interrupted"
    assert same_trees(model, once)


@pytest.mark.parametrize("n_jobs", [2, 3])
def test_threads_do_not_change_a_bit(n_jobs, data):
    X, y, X_test, _ = data
    one, two = (TreeCRF(window=1, random_state=0, n_estimators=12, n_jobs=n).fit(X, y) for n in (None, n_jobs))
    assert same_trees(one, two)
    assert [(s.loss, s.score) for s in one.history_] == [(s.loss, s.score) for s in two.history_]
    for a, b in zip(one.predict_proba(X_test), two.predict_proba(X_test)):
        np.testing.assert_array_equal(a, b)


def test_every_kind_of_column():
    X, y = rich_corpus(60, seed=1)
    model = TreeCRF(columns=COLUMNS, window=1, l2_regularization=1.0, n_estimators=30, early_stopping=False).fit(X, y)
    assert model.score(X, y) > 0.95


# ------------------------------------------------------------------------------------------------ prediction


def test_a_sequence_alone_is_labelled_as_among_others(fitted, data):
    X_test = data[2]
    together = fitted.predict(X_test)
    probs = fitted.predict_proba(X_test)
    for i in (0, 1, 7, len(X_test) - 1):
        assert fitted.predict([X_test[i]])[0] == together[i]
        np.testing.assert_array_equal(fitted.predict_proba([X_test[i]])[0], probs[i])


def test_a_dataset_is_labelled_as_its_sequences(fitted, data):
    dataset = fitted.encode(data[2])
    assert fitted.predict(dataset).tolist() == fitted.predict(data[2]).tolist()


def test_all_that_a_chain_model_can_do(fitted, data):
    X = data[2][:5]
    best = fitted.predict_k_best(X, k=3)
    for labels, ranked in zip(fitted.predict(X), best):
        assert ranked[0][0] == labels
        np.testing.assert_allclose(fitted.log_probability([X[best.index(ranked)]], [labels]), np.log(ranked[0][1]))
    for probs in fitted.predict_proba(X):
        np.testing.assert_allclose(probs.sum(axis=1), 1.0)
    assert (fitted.entropy(X) >= 0).all()
    assert len(fitted.sample(X, n_samples=2, random_state=0)) == 2
    known = [[None] * len(x) for x in X]
    known[0][0] = "L2"
    assert fitted.predict(X, known=known)[0][0] == "L2"
    assert fitted.predict(X, decoder="posterior").shape == (5,)
    span = fitted.span_probability(X, [(1, 0, ["L0"])])
    np.testing.assert_allclose(span, fitted.predict_proba(X)[1][0, 0])


@pytest.mark.parametrize("metric", [None, "log_likelihood", label_accuracy])
def test_staged_score(metric, fitted, data):
    _, _, X_test, y_test = data
    scores = list(fitted.staged_score(X_test, y_test, metric))
    assert len(scores) == fitted.ensemble_.n_iterations
    for n in (1, 4, 6):
        fewer = TreeCRF(window=1, **SHORT | {"n_estimators": n}).fit(data[0], data[1])
        truth = fewer.log_probability(X_test, y_test).sum() if metric == "log_likelihood" else None
        expected = fewer.score(X_test, y_test) if truth is None else truth
        assert scores[n - 1] == pytest.approx(expected, rel=1e-10)


# ------------------------------------------------------------------------------------------------ going on


def test_warm_start_adds_iterations(data):
    X, y, _, _ = data
    model = TreeCRF(window=1, warm_start=True, **SHORT | {"n_estimators": 3}).fit(X, y)
    model.set_params(n_estimators=6).fit(X, y)
    whole = TreeCRF(window=1, **SHORT).fit(X, y)
    assert (model.n_iter_, model.ensemble_.n_iterations) == (3, 6)
    assert [step.iteration for step in model.history_] == [1, 2, 3, 4, 5, 6]
    np.testing.assert_array_equal(model.ensemble_.nodes, whole.ensemble_.nodes)
    np.testing.assert_allclose(model.ensemble_.values, whole.ensemble_.values, rtol=1e-6)
    assert model.fit(X, y).n_iter_ == 0
    with pytest.raises(InputError, match="n_estimators is 2 and the model has 6"):
        model.set_params(n_estimators=2).fit(X, y)


def test_a_warm_start_may_be_the_best(data):
    X, y, X_val, y_val = data
    options = {"l2_regularization": 2.0, "warm_start": True, "n_iter_no_change": 5}
    model = TreeCRF(n_estimators=300, scoring="log_likelihood", **options).fit(X, y, X_val=X_val, y_val=y_val)
    trees, best = model.ensemble_, model.best_iteration_
    model.fit(X, y, X_val=X_val, y_val=y_val)
    assert model.best_iteration_ == best
    np.testing.assert_array_equal(model.ensemble_.values, trees.values)


def test_a_warm_start_needs_the_same_labels(data):
    model = TreeCRF(warm_start=True, **SHORT).fit(data[0], data[1])
    with pytest.raises(InputError, match="label 'new'"):
        model.set_params(n_estimators=9).fit([["w1", "w2"]], [["new", "L1"]])
    with pytest.raises(InputError, match="another schema"):
        model.fit(learn(data[0][:3], data[1][:3]))


def test_ctrl_c_keeps_the_best_so_far(data):
    X, y, X_val, y_val = data
    calls = iter(range(1, 10_000))

    def metric(true, predicted):
        if next(calls) == 5:  # the metric is tried once before training
            os.kill(os.getpid(), signal.SIGINT)
        return label_accuracy(true, predicted)

    model = TreeCRF(calibrate=False, scoring=metric, n_iter_no_change=100)
    with pytest.warns(ConvergenceWarning, match="interrupted after 4 iterations") as caught:
        model.fit(X, y, X_val=X_val, y_val=y_val)
    assert caught[0].filename == __file__
    assert (model.outcome_, model.n_iter_) == ("interrupted", 4)
    assert model.score(X_val, y_val) == max(step.score for step in model.history_)


# ------------------------------------------------------------------------------------------------ what is given


def test_weight_two_is_the_sequence_twice():
    X, y = make_sequences(20, random_state=3)
    heavy = TreeCRF(**SHORT).fit(X, y, sample_weight=[2.0] * 5 + [1.0] * 15)
    twice = TreeCRF(**SHORT).fit(X[:5] + X, y[:5] + y)
    assert heavy.loss_ == pytest.approx(twice.loss_, rel=1e-6)
    for a, b in zip(heavy.predict_proba(X), twice.predict_proba(X)):
        np.testing.assert_allclose(a, b, atol=1e-6)


def test_weight_two_is_the_sequence_twice_but_for_rounded_curvatures():
    X, y = make_sequences(20, random_state=3)
    # With longer steps some are too long, and where these are cut depends on rounded sums.
    newton = SHORT | {"leaves": "newton", "learning_rate": 0.3}
    heavy = TreeCRF(**newton).fit(X, y, sample_weight=[2.0] * 5 + [1.0] * 15)
    twice, once = TreeCRF(**newton).fit(X[:5] + X, y[:5] + y), TreeCRF(**newton).fit(X, y)
    assert heavy.loss_ == pytest.approx(twice.loss_, rel=1e-4)
    assert once.loss_ != pytest.approx(twice.loss_, rel=1e-2)


def test_partial_labels():
    X, y = rich_corpus(60, seed=5)
    model = TreeCRF(columns=COLUMNS, random_state=0, l2_regularization=1.0).fit(X, partial_labels(y, seed=6))
    assert model.score(X, y) > 0.8
    sets = [[{label} for label in labels] for labels in y]
    one, other = (TreeCRF(columns=COLUMNS, **SHORT).fit(X, labels) for labels in (y, sets))
    assert one.loss_ == pytest.approx(other.loss_, rel=1e-6)


@pytest.mark.parametrize("options", [{"constraints": "iob2"}, {"transitions": "forbid_unseen"}])
def test_forbidden_transitions(options):
    X, y = rich_corpus(60, seed=5)
    model = TreeCRF(columns=COLUMNS, **SHORT, **options).fit(X[:30], y[:30])
    for labels in model.predict(X):
        assert labels[0] != "I-X"
        assert all(b != "I-X" or a != "O" for a, b in pairwise(labels))
    assert not model.space_.transitions[2, 1]
    with pytest.raises(InputError, match="forbid"):
        TreeCRF(columns=COLUMNS, **SHORT, constraints="iob2").fit([X[0]], [["I-X"] * len(y[0])])


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("n_estimators", 0),
        ("max_leaf_nodes", 1),
        ("max_leaf_nodes", 2.5),
        ("l2_regularization", -1.0),
        ("learning_rate", "fast"),
        ("learning_rate", 0.0),
        ("max_bins", 254),
        ("edges", "both"),
        ("leaves", "median"),
        ("init", "linear"),
        ("init", 3),
        ("pseudo_likelihood_steps", -1),
        ("min_samples_leaf", -1),
        ("max_features", 0.0),
        ("max_features", 1.5),
        ("min_frequency", "often"),
        ("categorical", "all"),
        ("subsample", 0.0),
        ("subsample_by", "labels"),
        ("trim", 2.0),
        ("trees_per_step", 0),
        ("n_bags", -1),
        ("transitions", "observed"),
        ("decoder", "magic"),
        ("scoring", "magic"),
        ("n_iter_no_change", 0),
        ("validation_fraction", 1.0),
        ("n_jobs", 0),
        ("verbose", "loud"),
        ("random_state", "seed"),
    ],
)
def test_parameters_that_cannot_be_meant(parameter, value):
    with pytest.raises(InputError, match=parameter if parameter not in ("decoder", "scoring") else "magic"):
        TreeCRF(**{parameter: value}).fit(X_SMALL, Y_SMALL)


def test_parameters_that_do_not_go_together():
    with pytest.raises(InputError, match="newton"):
        TreeCRF(leaves="newton", l2_regularization=0).fit(X_SMALL, Y_SMALL)
    with pytest.raises(InputError, match="warm_start is not supported with bags"):
        TreeCRF(n_bags=2, warm_start=True).fit(X_SMALL, Y_SMALL)
    with pytest.raises(InputError, match="sequence 0, position 1: pseudo-likelihood needs every label"):
        TreeCRF(**SHORT, pseudo_likelihood_steps=1).fit(X_SMALL, [["D", None], *Y_SMALL[1:]])


def test_a_held_out_dataset(data):
    X, y, X_val, y_val = data
    dataset = learn(X, y)
    plain = TreeCRF(n_estimators=5).fit(X, y, X_val=X_val, y_val=y_val)
    model = TreeCRF(n_estimators=5).fit(dataset, X_val=encode(dataset.schema, X_val, y_val))
    assert same_trees(plain, model)


def test_flat_arrays_with_lengths():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(90, 2)), rng.integers(0, 2, 90)
    model = TreeCRF(n_estimators=3, random_state=0).fit(X, y, lengths=[3] * 30)
    assert [len(labels) for labels in model.predict(X[:6], lengths=[4, 2])] == [4, 2]


# ------------------------------------------------------------------------------------------------ multi-output trees


class TestMultiOutput:
    SETTINGS: ClassVar[dict[str, Any]] = {
        "multi_strategy": "multi_output_tree", "n_estimators": 8, "early_stopping": False, "window": 1,
    }  # fmt: skip

    def test_an_iteration_has_one_tree(self, data):
        model = TreeCRF(**self.SETTINGS).fit(data[0], data[1])
        assert (model.ensemble_.n_trees, model.ensemble_.n_iterations, model.edges_) == (8, 8, "shared")
        assert model.ensemble_.values.shape[1] == len(model.classes_)

    def test_auto_is_for_many_labels(self):
        X = [[str((3 * i + t) % 20) for t in range(6)] for i in range(40)]
        for n, vectors in ((6, False), (7, True)):
            y = [[int(x) % n for x in word] for word in X]
            model = TreeCRF(n_estimators=2, early_stopping=False, edges="shared").fit(X, y)
            assert model.ensemble_.vectors == vectors
            if vectors:
                plain = TreeCRF(n_estimators=2, early_stopping=False, multi_strategy="one_output_per_tree").fit(X, y)
                sparse = [[{"x": x, "*": [x]} for x in word] for word in X]
                for other in (plain, TreeCRF(n_estimators=2, early_stopping=False).fit(sparse, y)):
                    assert (other.ensemble_.vectors, other.ensemble_.n_trees) == (False, 2 * n)

    def test_a_warm_start_goes_on(self, data):
        X, y = data[0], data[1]
        model = TreeCRF(**self.SETTINGS | {"n_estimators": 3}, warm_start=True).fit(X, y)
        model.set_params(n_estimators=8).fit(X, y)
        whole = TreeCRF(**self.SETTINGS).fit(X, y)
        np.testing.assert_array_equal(model.ensemble_.nodes, whole.ensemble_.nodes)
        with pytest.raises(InputError, match="another form"):
            model.set_params(n_estimators=9, multi_strategy="one_output_per_tree").fit(X, y)

    @pytest.mark.parametrize(("order", "transitions"), [(2, "all"), (2, "forbid_unseen"), (1, "forbid_unseen")])
    def test_histories_and_forbidden_moves(self, order, transitions, data):
        X, y, X_test, y_test = data
        model = TreeCRF(**self.SETTINGS, order=order, transitions=transitions, learning_rate=0.5).fit(X, y)
        assert -model.log_probability(X, y).sum() == pytest.approx(model.loss_, rel=1e-9)
        assert model.score(X_test, y_test) > 0.6

    def test_weight_two_is_the_sequence_twice(self, data):
        X, y = data[0][:30], data[1][:30]
        twice = TreeCRF(**self.SETTINGS).fit([*X, *X[:9]], [*y, *y[:9]])
        weighted = TreeCRF(**self.SETTINGS).fit(X, y, sample_weight=np.where(np.arange(30) < 9, 2.0, 1.0))
        np.testing.assert_allclose(weighted.ensemble_.values[:9], twice.ensemble_.values[:9], atol=1e-3)

    @pytest.mark.parametrize(
        "options",
        [{"edges": "joint"}, {"order": 0}, {"leaves": "mean"}, {"learning_rate": "line_search"}, {"trim": 0.1},
         {"trees_per_step": 2}, {"missing": "weighting"}, {"objective": "margin"}],
    )  # fmt: skip
    def test_what_it_is_not_for(self, options):
        with pytest.raises(InputError, match=r"multi_output_tree.*is not available with"):
            TreeCRF(multi_strategy="multi_output_tree", **options).fit(X_SMALL, Y_SMALL)

    @pytest.mark.parametrize("n_jobs", [1, 3])
    def test_rare_values_of_a_column_of_very_many_are_one(self, n_jobs):
        rng = np.random.default_rng(3)
        X = [[f"w{int(400 * x**3):03d}" for x in rng.random(12)] for _ in range(80)]
        y = [["ab"[int(word[1:]) % 2] + str(len(words) % 2) for word in words] for words in X]
        settings = self.SETTINGS | {"init": "zero", "n_jobs": n_jobs}
        model = TreeCRF(**settings).fit(X, y)
        kept, common = model.binning_.item_source[0], model.schema_.columns[0].vocabulary.names()
        assert (len(kept), len(common) > 260) == (255, True)
        names = {common[code - 2] for code in kept[2:]}
        plain = [[word if word in names else "~" for word in words] for words in X]
        other = TreeCRF(**settings).fit(plain, y)
        assert other.binning_.item_source == (None,)
        np.testing.assert_array_equal(model.ensemble_.values, other.ensemble_.values)
        for a, b in zip(model.predict_proba(X), other.predict_proba(plain)):
            np.testing.assert_array_equal(a, b)

    def test_attributes_are_not_for_it(self):
        X = [[{"word": word, "parts": [word[:1], word[-1:]]} for word in words] for words in X_SMALL]
        with pytest.raises(InputError, match="'\\*' has too many values"):
            TreeCRF(**self.SETTINGS).fit(X, Y_SMALL)


# ------------------------------------------------------------------------------------------------ ways to train

WAYS = {
    "shared": {"edges": "shared", "l2_regularization": 1.0},
    "newton": {"leaves": "newton"},
    "line search": {"learning_rate": "line_search"},
    "long steps": {"learning_rate": 8.0},
    "constant": {"init": "constant"},
    "shared constant": {"init": "constant", "edges": "shared"},
    "pseudo-likelihood": {"pseudo_likelihood_steps": 2},
    "sample of sequences": {"subsample": 0.5},
    "sample of positions": {"subsample": 0.5, "subsample_by": "positions"},
    "trimmed": {"trim": 0.1},
    "forest": {"trees_per_step": 4, "max_features": 0.5, "subsample": 0.6},
    "subsets": {"categorical": "subset"},
    "large leaves": {"min_samples_leaf": 30},
    "linear": {"init": LinearCRF(l2=1.0)},
    "shared linear": {"init": LinearCRF(l2=1.0), "edges": "shared"},
    "bags": {"n_bags": 3},
    "shared bags": {"n_bags": 2, "edges": "shared"},
    "multi": {"multi_strategy": "multi_output_tree", "leaves": "newton", "learning_rate": 0.5},
    "multi drawn": {"multi_strategy": "multi_output_tree", "leaves": "newton", "max_features": 0.5, "subsample": 0.7},
    "multi bags": {"multi_strategy": "multi_output_tree", "leaves": "newton", "n_bags": 2},
    "multi linear": {"multi_strategy": "multi_output_tree", "leaves": "newton", "init": LinearCRF(l2=1.0)},
}


def ways(name):
    return {"window": 1, "random_state": 0} | SHORT | {"n_estimators": 5} | WAYS[name]


@pytest.mark.parametrize("name", WAYS)
def test_every_way_learns(name, data):
    """The loss falls, files and copies predict the same, a sequence alone is labelled as among others, threads and the
    seed decide nothing they should not."""
    X, y, X_test, y_test = data
    model = TreeCRF(**ways(name)).fit(X, y)
    base = np.log(3) * sum(map(len, y))
    assert model.loss_ < 0.9 * base
    assert -model.log_probability(X, y).sum() == pytest.approx(model.loss_, rel=1e-9)
    assert model.score(X_test, y_test) > 0.45
    probs = model.predict_proba(X_test[:20])
    np.testing.assert_array_equal(model.predict_proba(X_test[7:8])[0], probs[7])
    other = TreeCRF(**ways(name), n_jobs=2).fit(X, y)
    assert same_trees(model, other)
    assert model.loss_ == other.loss_
    for copied in (pickle.loads(pickle.dumps(model)), clone(model).fit(X, y)):
        np.testing.assert_array_equal(np.concatenate(copied.predict_proba(X_test[:20])), np.concatenate(probs))
    scores = list(model.staged_score(X_test, y_test))
    assert len(scores) == model.ensemble_.n_iterations
    assert scores[-1] == pytest.approx(model.score(X_test, y_test))


@pytest.mark.parametrize("name", WAYS)
def test_a_way_is_a_way_of_its_own(name, data):
    """An option that did nothing would give the trees of the plain fit."""
    plain = TreeCRF(**{"window": 1, "random_state": 0} | SHORT | {"n_estimators": 5}).fit(data[0], data[1])
    assert not same_trees(plain, TreeCRF(**ways(name)).fit(data[0], data[1]))


@pytest.mark.parametrize("name", ["newton", "line search", "long steps", "multi"])
def test_long_steps_never_raise_the_loss(name, data):
    model = TreeCRF(**ways(name) | {"n_estimators": 25}).fit(data[0], data[1])
    assert np.all(np.diff([step.loss for step in model.history_]) <= 0)


@pytest.mark.parametrize(
    "name", ["sample of sequences", "sample of positions", "forest", "bags", "multi drawn", "multi bags"]
)
def test_draws_follow_the_seed(name, data):
    one, other = (TreeCRF(**ways(name) | {"random_state": seed}).fit(data[0], data[1]) for seed in (0, 1))
    assert not same_trees(one, other)


def test_min_frequency():
    X = [[{"a": [f"t{i}", "common"]}, {"a": ["common"]}] for i in range(30)]
    y = [["x", "y"]] * 30
    model = TreeCRF(min_frequency=2, **SHORT).fit(X, y)
    assert model.binning_.n_bins[-1] == 1
    assert TreeCRF(**SHORT).fit(X, y).binning_.n_bins[-1] == 31


def test_max_bins():
    rng = np.random.default_rng(0)
    X = list(rng.normal(size=(20, 5, 1)))
    y = [["x" if value > 0 else "y" for value in rows[:, 0]] for rows in X]
    assert TreeCRF(max_bins=4, **SHORT).fit(X, y).binning_.n_bins == (6,)


# ------------------------------------------------------------------------------------------------ shared edges


def test_shared_edges_learn_transitions():
    """Tokens say nothing; the next label is always the other one."""
    X, y = [["w"] * 6] * 40, [["a", "b"] * 3, ["b", "a"] * 3] * 20
    model = TreeCRF(edges="shared", n_estimators=60, l2_regularization=1.0, early_stopping=False).fit(X, y)
    known = [["a", None, None, None, None, None]]
    assert model.predict([X[0]], known=known)[0] == ["a", "b"] * 3
    total = model.edge_tables_.sum(axis=0)
    assert (np.diag(total) < -1).all()
    assert model.edge_tables_.shape == (60, 2, 2)


@pytest.mark.parametrize("leaves", ["mean", "newton"])
def test_shared_edges_learn_transitions_of_many_labels(leaves):
    """Steps divided by all positions, not by those after a label, leave it at −3.06 a label, where guessing is −3.4."""
    y = [[f"{(s + t) % 30:02d}" for t in range(10)] for s in range(30)] * 2
    X = [["w"] * 10] * 60
    options = {"learning_rate": 0.3, "l2_regularization": 1.0, "n_estimators": 40}
    model = TreeCRF(edges="shared", leaves=leaves, early_stopping=False, **options).fit(X, y)
    assert model.log_probability(X, y).mean() / 10 > -0.5  # the first of ten alone costs 0.34


def test_shared_edges_obey_constraints():
    X, y = rich_corpus(60, seed=5)
    model = TreeCRF(columns=COLUMNS, **SHORT, edges="shared", constraints="iob2").fit(X, y)
    assert not model.edge_tables_[:, 2, 1].any()
    for labels in model.predict(X):
        assert all(b != "I-X" or a != "O" for a, b in pairwise(["O", *labels]))


# ------------------------------------------------------------------------------------------------ a linear start


class TestLinearStart:
    def test_trees_add_to_it(self, data):
        X, y, _, _ = data
        linear = LinearCRF(l2=1.0).fit(X, y)
        model = TreeCRF(init=linear, **SHORT | {"learning_rate": 1e-12}).fit(X, y)
        np.testing.assert_allclose(model.log_probability(X, y), linear.log_probability(X, y), atol=1e-6)
        assert model.history_[0].loss == pytest.approx(-linear.log_probability(X, y).sum(), rel=1e-6)
        grown = TreeCRF(init=linear, window=1, **SHORT).fit(X, y)
        assert grown.loss_ < model.loss_ - 5.0
        np.testing.assert_array_equal(grown.linear_.weights_, linear.weights_)

    def test_its_window_is_its_own(self, data):
        X, y, X_test, _ = data
        linear = LinearCRF(window=2).fit(X, y)
        model = TreeCRF(init=linear, window=1, **SHORT).fit(X, y)
        encoded = model.encode(X_test)
        assert model.predict(encoded).tolist() == model.predict(X_test).tolist()
        assert model.predict(x for x in X_test).tolist() == model.predict(X_test).tolist()
        with pytest.raises(InputError, match="not trained on this Dataset's columns"):
            model.predict(encode(model.schema_, X_test))
        with pytest.raises(InputError, match="not trained on this Dataset's columns"):
            TreeCRF(init=linear, **SHORT).fit(learn(X, y, window=1))

    def test_a_dataset_with_its_columns(self, data):
        X, y, _, _ = data
        dataset = learn(X, y, window=1)
        linear = LinearCRF().fit(dataset)
        one, other = (
            TreeCRF(init=linear, **SHORT | more).fit(*given)
            for given, more in (((dataset,), {}), ((X, y), {"window": 1}))
        )
        assert same_trees(one, other)

    def test_one_that_is_not_fitted_is_fitted_first(self, data):
        X, y, _, _ = data
        init = LinearCRF(l2=0.5)
        model = TreeCRF(init=init, **SHORT).fit(X, y)
        assert not hasattr(init, "weights_")
        fitted = TreeCRF(init=LinearCRF(l2=0.5).fit(X, y), **SHORT).fit(X, y)
        assert same_trees(model, fitted)

    def test_held_out_sequences_are_read_by_both(self, data):
        X, y, X_val, y_val = data
        model = TreeCRF(init=LinearCRF(window=1), n_estimators=8, scoring="log_likelihood", calibrate=False)
        model.fit(X, y, X_val=X_val, y_val=y_val)
        best = max(step.score for step in model.history_)
        np.testing.assert_allclose(best, model.log_probability(X_val, y_val).sum(), rtol=1e-9)

    def test_its_constraints_hold_too(self):
        X, y = rich_corpus(40, seed=5)
        linear = LinearCRF(columns=COLUMNS, constraints="iob2").fit(X, y)
        model = TreeCRF(init=linear, columns=COLUMNS, **SHORT).fit(X, y)
        assert not model.space_.transitions[2, 1]
        i = next(i for i, labels in enumerate(y) if len(labels) > 1)
        bad = [["O", "I-X", *labels[2:]] if j == i else labels for j, labels in enumerate(y)]
        with pytest.raises(InputError, match="from 'O' to 'I-X', which the constraints forbid"):
            TreeCRF(init=linear, columns=COLUMNS, **SHORT).fit(X, bad)

    def test_edges_of_each_position(self, data):
        X, y, _, _ = data
        linear = LinearCRF(transition_columns=["token"]).fit(X, y)
        model = TreeCRF(init=linear, **SHORT).fit(X, y)
        assert -model.log_probability(X, y).sum() == pytest.approx(model.loss_, rel=1e-9)
        with pytest.raises(InputError, match="edges='shared' cannot stand"):
            TreeCRF(init=linear, edges="shared", **SHORT).fit(X, y)

    @pytest.fixture
    def words(self, data, monkeypatch):
        """The same, where 30 values are words."""
        monkeypatch.setattr("hedgerow.models.crf.tree_form.WORDS", 20)
        return data

    @pytest.mark.parametrize("more", [{}, {"early_stopping": True, "n_iter_no_change": 2}], ids=["all", "folds"])
    def test_words_have_one(self, more, words):
        """On all sequences, and in every fold."""
        X, y, X_test, _ = words
        settings = {"n_estimators": 4, "early_stopping": False, "window": 1, "random_state": 0} | more
        model = TreeCRF(**settings).fit(X, y)
        own = {"init": LinearCRF(window=1, max_iter=30), "edges": "shared", "l2_regularization": 1.0}
        same = TreeCRF(**settings, **own).fit(X, y)
        assert same_trees(model, same)
        assert model.edges_ == "shared"
        np.testing.assert_array_equal(model.linear_.weights_, same.linear_.weights_)
        assert (model.init, clone(model).init) == ("auto", "auto")
        assert model.predict(model.encode(X_test)).tolist() == same.predict(X_test).tolist()
        for a, b in zip(model.predict_proba(X_test), same.predict_proba(X_test)):
            np.testing.assert_array_equal(a, b)

    def test_weights_below_need_not_converge(self, words, monkeypatch):
        model = TreeCRF(n_estimators=2, early_stopping=False, window=1, random_state=0)
        assert model.fit(*words[:2]).linear_.max_iter == 30
        monkeypatch.setattr("hedgerow.models.crf.paired.FIRST_ITERATIONS", 3)
        linear = model.fit(*words[:2]).linear_
        assert (linear.n_iter_, linear.outcome_) == (3, "max_iter")

    @pytest.mark.parametrize(
        "more",
        [{"init": "zero"}, {"order": 0}, {"order": 2}, {"n_bags": 2}, {"objective": "margin"}, TreeCRF.paper("2004")],
        ids=repr,
    )
    def test_where_words_have_none(self, more, words):
        model = more if isinstance(more, TreeCRF) else TreeCRF(**more)
        assert model.set_params(n_estimators=2, early_stopping=False).fit(*words[:2]).linear_ is None

    def test_few_values_have_none(self, data):
        assert TreeCRF(n_estimators=2, early_stopping=False).fit(*data[:2]).linear_ is None

    @pytest.mark.parametrize(("n_labels", "chosen"), [(2, "joint"), (7, "shared")])
    def test_runs_of_letters_are_not_taken_for_words_where_labels_are_few(self, n_labels, chosen, monkeypatch):
        """A label goes on from the one before, or ends it, as letters say; pairs of letters are many values."""
        monkeypatch.setattr("hedgerow.models.crf.tree_form.WORDS", 20)
        rng = np.random.default_rng(0)
        letters = [rng.integers(8, size=(12, 2)) for _ in range(120)]
        X = [[{"a": f"a{a}", "b": f"b{b}", "ab": f"{a}{b}"} for a, b in rows] for rows in letters]
        y = [(np.cumsum(rows[:, 0] // 4 ^ rows[:, 1] // 4) % n_labels).tolist() for rows in letters]
        settings = {"window": 0, "validation_folds": 2, "n_iter_no_change": 5, "n_estimators": 60, "random_state": 0}
        model = TreeCRF(**settings).fit(X, y)
        assert (model.edges_, model.linear_ is None) == (chosen, chosen == "joint")
        assert model.refitted_
        if chosen == "joint":
            same = TreeCRF(edges="joint", init="zero", **settings).fit(X, y)
            assert same_trees(model, same)
            for a, b in zip(model.predict_proba(X), same.predict_proba(X)):
                np.testing.assert_array_equal(a, b)

    @pytest.mark.parametrize("n", [200, 201, 500, 501])
    @pytest.mark.parametrize("kind", ["column", "attributes"])
    def test_how_many_values_are_words(self, kind, n):
        values = [f"w{i}" for i in range(n)]
        X = [values] if kind == "column" else [[[value] for value in values]]
        schema = learn(X, [["a"] * n]).schema
        assert (schema.n_attributes > 0) == (kind == "attributes")
        assert has_words(TreeCRF(), schema) == (n > (200 if kind == "column" else 500))

    def test_folds_start_as_the_first_one_does(self, words, monkeypatch):
        """Whatever each of them, with fewer values, would say by itself."""
        said = iter([True])
        monkeypatch.setattr("hedgerow.models.crf.paired.has_words", lambda *given: next(said))
        settings = {"n_estimators": 3, "n_iter_no_change": 2, "validation_folds": 2, "random_state": 0}
        model = TreeCRF(window=0, **settings).fit(*words[:2])
        assert model.refitted_
        assert model.linear_ is not None

    def test_one_recording_of_words(self, words):
        """Labels of the blocks that stop training are hidden from weights, too."""
        X, y = ([[one for part in parts for one in part]] for parts in words[:2])
        model = TreeCRF(n_estimators=4, n_iter_no_change=2, random_state=0, refit=False, window=0).fit(X, y)
        whole = LinearCRF(window=0).fit(X, y)
        assert model.linear_ is not None
        assert not np.array_equal(model.linear_.weights_, whole.weights_)

    def test_words_beside_numbers_that_are_missing_later(self, words):
        X = [[{"word": word, "size": float(t)} for t, word in enumerate(one)] for one in words[0]]
        model = TreeCRF(n_estimators=2, early_stopping=False).fit(X, words[1])
        assert model.linear_ is not None
        assert np.isfinite(model.predict_proba([[{"word": X[0][0]["word"], "size": None}]])[0]).all()

    def test_words_go_on(self, words, tmp_path):
        """From a file, too, which holds weights, trees and "auto"."""
        X, y, X_test, _ = words
        model = TreeCRF(n_estimators=2, early_stopping=False, warm_start=True).fit(X, y)
        model.save(tmp_path / "model")
        loaded = load(tmp_path / "model")
        assert loaded.init == "auto"
        for a, b in zip(loaded.predict_proba(X_test), model.predict_proba(X_test)):
            np.testing.assert_array_equal(a, b)
        whole = TreeCRF(n_estimators=5, early_stopping=False).fit(X, y)
        for one in (model, loaded):
            assert same_trees(one.set_params(n_estimators=5).fit(X, y), whole)

    def test_other_labels(self, data):
        X, y, _, _ = data
        linear = LinearCRF().fit(X_SMALL, Y_SMALL)
        with pytest.raises(InputError, match="has other labels than y"):
            TreeCRF(init=linear, **SHORT).fit(X, y)


# ------------------------------------------------------------------------------------------------ bags


def test_bags_are_averaged(data):
    """By hand: weights for how often a sequence was drawn, the sequences never drawn to stop by, and the mean."""
    X, y, _, _ = data
    bagged = TreeCRF(
        n_bags=2, n_estimators=15, l2_regularization=2.0, scoring="log_likelihood", n_iter_no_change=3, random_state=5,
        edges="joint",
    )  # fmt: skip
    bagged.fit(X, y)
    assert bagged.best_iteration_ == bagged.ensemble_.n_iterations
    assert len(bagged.history_) == bagged.n_iter_ >= bagged.best_iteration_
    assert [step.iteration for step in bagged.history_].count(1) == 2
    values = []
    seed = int(np.random.RandomState(5).randint(2**31 - 1))
    for b in range(2):
        drawn = np.bincount(np.random.default_rng([seed, b]).integers(len(X), size=len(X)), minlength=len(X))
        inside, outside = np.flatnonzero(drawn), np.flatnonzero(drawn == 0)
        dataset = learn(X, y)
        model = TreeCRF(
            n_estimators=15, l2_regularization=2.0, scoring="log_likelihood", n_iter_no_change=3, edges="joint"
        )
        model.fit(replace(dataset.take(inside), weight_seq=drawn[inside].astype(float)), X_val=dataset.take(outside))
        values.append(model.ensemble_.values / 2)
    np.testing.assert_allclose(bagged.ensemble_.values, np.concatenate(values), atol=1e-12)


def test_a_bag_that_leaves_nothing_out():
    with pytest.raises(InputError, match="holds every one of the 1 sequences"):
        TreeCRF(n_bags=2, window=0, random_state=0).fit([["a"]], [["x"]])


# ------------------------------------------------------------------------------------------------ the papers


def test_papers():
    early = TreeCRF.paper("2004", max_leaf_nodes=10, window=3)
    assert (early.pseudo_likelihood_steps, early.l2_regularization, early.learning_rate) == (3, 0.0, 1.0)
    assert (early.early_stopping, early.max_leaf_nodes, early.window) == (False, 10, 3)
    late = TreeCRF.paper("2009", l2_regularization=5.0)
    assert (late.pseudo_likelihood_steps, late.l2_regularization, late.max_leaf_nodes) == (0, 5.0, 100)
    assert not late.early_stopping
    with pytest.raises(InputError, match="there is no paper '2010'"):
        TreeCRF.paper("2010")


def test_the_first_paper_step_by_step(data):
    """Three steps by the pseudo-likelihood, then the likelihood, each of the whole gradient and with no λ."""
    X, y, _, _ = data
    model = TreeCRF.paper("2004", n_estimators=4, max_leaf_nodes=5).fit(X, y)
    plain = TreeCRF(n_estimators=4, max_leaf_nodes=5, l2_regularization=0.0, early_stopping=False).fit(X, y)
    assert not np.array_equal(model.ensemble_.nodes[:20], plain.ensemble_.nodes[:20])
    assert model.n_iter_ == 4


# ------------------------------------------------------------------------------------------------ scikit-learn


def test_grid_search(data):
    X, y, X_test, y_test = data
    search = GridSearchCV(TreeCRF(**SHORT), {"max_leaf_nodes": [2, 8], "window": [0, 1]}, cv=2).fit(X[:40], y[:40])
    assert search.best_estimator_.score(X_test, y_test) == search.score(X_test, y_test)


def test_what_is_not_fitted_says_so(data):
    with pytest.raises(NotFittedError):
        TreeCRF().predict(data[0])
    with pytest.raises(NotFittedError):
        list(TreeCRF().staged_score(data[0], data[1]))


def test_a_very_long_sequence_is_refused_before_it_is_scored(fitted, data, monkeypatch):
    monkeypatch.setattr(memory, "memory_limit", lambda: 8 * 3 * 9 * 50)
    fitted.predict([data[2][0]])
    with pytest.raises(InputError, match="edges='joint' keeps 3² scores for each of 60 positions"):
        fitted.predict([["w1"] * 60])


# ------------------------------------------------------------------------------------------------ traps


def test_an_attribute_named_twice_counts_once():
    rng = np.random.default_rng(0)
    shown = rng.integers(0, 2, (10, 6))
    y = [["x" if s else "y" for s in row] for row in shown]
    once, thrice = (
        TreeCRF(**SHORT).fit([[["a"] * n + ["b"] if s else ["b"] for s in row] for row in shown], y) for n in (1, 3)
    )
    assert same_trees(once, thrice)
    np.testing.assert_array_equal(once.ensemble_.counts, thrice.ensemble_.counts)


def test_very_many_codes_in_a_wide_window():
    rng = np.random.default_rng(0)
    X = [[f"w{v}" for v in rng.integers(0, 300, 12)] for _ in range(60)]
    y = [[f"l{int(w[1:]) % 8}" for w in x] for x in X]
    model = TreeCRF(window=3, **SHORT | {"max_leaf_nodes": 20}).fit(X, y)
    assert -model.log_probability(X, y).sum() == pytest.approx(model.loss_, rel=1e-9)


def test_shared_edges_take_hundreds_of_labels(tmp_path):
    X = [[f"w{i}" for i in range(j, j + 29)] for j in range(0, 261, 29)]
    y = [[int(w[1:]) for w in x] for x in X]
    model = TreeCRF(edges="shared", **SHORT | {"n_estimators": 1, "categorical": "subset"}).fit(X, y)
    assert len(model.classes_) > 256
    model.save(tmp_path / "m.hedgerow")
    assert load(tmp_path / "m.hedgerow").predict(X[:2]).tolist() == model.predict(X[:2]).tolist()


def test_the_linear_model_below_is_a_copy(data):
    X, y, X_test, _ = data
    below = LinearCRF(max_iter=5, tol=1.0).fit(X, y)
    model = TreeCRF(init=below, **SHORT).fit(X, y)
    before = model.predict_proba(X_test)
    below.fit(X, [labels[::-1] for labels in y])
    np.testing.assert_array_equal(np.concatenate(model.predict_proba(X_test)), np.concatenate(before))


def test_leaves_without_rows_and_weights_that_are_none(data):
    X, y, _, _ = data
    one = TreeCRF(**SHORT | {"l2_regularization": 0.0, "subsample": 0.1}, random_state=0)
    one.fit(X[:8], y[:8], sample_weight=[1.0] + [0.0] * 7)
    assert np.isfinite(one.ensemble_.values).all()
    with pytest.raises(InputError, match="every weight is 0"):
        TreeCRF(**SHORT).fit(X, y, sample_weight=np.zeros(len(X)))


def test_neighbouring_and_huge_numbers_can_be_saved(tmp_path):
    values = [0.3]
    for _ in range(3):
        values.append(float(np.nextafter(values[-1], 1.0)))
    X = [np.array(values)[:, None]] * 6
    y = [["x", "y", "x", "y"]] * 6
    model = TreeCRF(**SHORT).fit(X, y)
    model.save(tmp_path / "m.hedgerow")
    assert load(tmp_path / "m.hedgerow").predict(X[:1]).tolist() == model.predict(X[:1]).tolist()


def test_held_out_labels_that_are_forbidden_do_not_count():
    X, y = [["a", "b", "a"]] * 6, [["x", "y", "x"]] * 6
    model = TreeCRF(transitions="forbid_unseen", n_estimators=4)
    with pytest.warns(HedgerowWarning, match="1 of 2 held-out"):
        model.fit(X, y, X_val=X[:2], y_val=[["x", "x", "x"], y[0]])
    assert all(np.isfinite(step.score) for step in model.history_)
    with pytest.raises(InputError, match="forbidden"):
        model.fit(X, y, X_val=X[:1], y_val=[["x", "x", "x"]])


def test_auto_decodes_by_what_must_hold():
    assert TreeCRF()._decoder_name() == "posterior"
    assert TreeCRF(constraints="iob2")._decoder_name() == "viterbi"
    assert TreeCRF(constraints="iob2", decoder="posterior")._decoder_name() == "posterior"


def test_going_on_needs_the_same_columns_and_window(data):
    X, y, _, _ = data
    model = TreeCRF(warm_start=True, window=1, **SHORT).fit(X, y)
    with pytest.raises(InputError, match="nothing that the model reads"):
        model.set_params(n_estimators=8).fit([[{"other": token} for token in x] for x in X], y)
    with pytest.raises(InputError, match="window is 2"):
        model.set_params(window=2).fit(X, y)


def test_a_node_that_drew_no_feature_looks_at_all(data):
    model = TreeCRF(**SHORT | {"max_features": 0.01}, random_state=0).fit(data[0], data[1])
    assert np.all(np.diff(model.ensemble_.ptr) > 1)
