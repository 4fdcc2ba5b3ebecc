"""FutureFeatureMEMM: it finds what is ahead, its potentials are its loss, and it is an estimator like the others."""

from __future__ import annotations

import itertools
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV

from hedgerow import MEMM, FutureFeatureMEMM, InputError, ModelFileError, load
from hedgerow.chain.edges import chain_from_scores
from hedgerow.chain.inference import marginals
from hedgerow.data.encoding import learn
from hedgerow.datasets import make_future
from hedgerow.datasets.future import any_ahead, pattern_of_future
from hedgerow.estimators.files import pack_model, unpack_model
from hedgerow.models.future import estimator as future_feature_memm
from hedgerow.training.deadline import Deadline
from tests.models.local_models import local

FEW = {"window": 0, "n_estimators": 8, "max_future_features": 3, "early_stopping": False, "l2_regularization": 2.0}


def reversed_rows(X, y):
    """The same sequences from right to left."""
    return [list(row)[::-1] for row in X], [list(row)[::-1] for row in y]


def sentences(n, seed, marks=("?", "!", ".")):
    """Words that say nothing, and a mark in a later place; the label of every word before it is its mark's."""
    rng = np.random.default_rng(seed)
    names = {"?": "question", "!": "call", ".": "statement"}
    X, y = [], []
    for _ in range(n):
        mark = marks[int(rng.integers(len(marks)))]
        words = [f"w{w}" for w in rng.integers(5, size=int(rng.integers(3, 9)))]
        X.append([*words, mark])
        y.append([names[mark]] * (len(words) + 1))
    return X, y


# ------------------------------------------------------------------------------------------------ what it finds


@pytest.mark.parametrize(("kind", "n"), [("or", 150), ("extra", 250)])
def test_it_finds_the_pattern_ahead(kind, n):
    X, y = make_future(kind, n + 50, random_state=1)
    model = FutureFeatureMEMM(order=0, window=0, random_state=0).fit(X[:n], y[:n])
    assert model.score(X[n:], y[n:]) > 0.99
    assert local(MEMM, estimator="trees", order=0, n_estimators=20).fit(X[:n], y[:n]).score(X[n:], y[n:]) < 0.9
    pattern = pattern_of_future(X[n:])
    found = np.concatenate(model.predict_patterns(X[n:])).max(axis=1) > 0.5
    assert (found == pattern).mean() > 0.97
    bags = np.concatenate(model.predict_features(X[n:])).max(axis=1) > 0.5
    assert (bags == any_ahead(pattern, X[n:].offsets)).mean() > 0.95


def test_xor_is_solved():
    """The thesis' hardest data, as it has it: 400, 200 and 100 sequences."""
    X, y = make_future("xor", 700, random_state=0)
    model = FutureFeatureMEMM(order=0, window=0).fit(X[:400], y[:400], X_val=X[400:600], y_val=y[400:600])
    assert model.score(X[600:], y[600:]) >= 0.999
    assert model.n_features_ == len(model.scorer_.features) >= 1


def test_labels_each_have_features_of_their_own():
    """Three labels, whose evidence stands at the end of the sentence; with a bag to the end it is always ahead."""
    X, y = sentences(120, 0)
    model = FutureFeatureMEMM(order=0, window=0, bag=None, n_estimators=20, early_stopping=False).fit(X[:80], y[:80])
    assert model.score(X[80:], y[80:]) > 0.99
    assert len({feature.label for feature in model.scorer_.features}) >= 2
    blind = local(MEMM, estimator="trees", window=0, order=0, n_estimators=20).fit(X[:80], y[:80])
    assert blind.score(X[80:], y[80:]) < 0.7
    near = FutureFeatureMEMM(order=0, window=0, bag=1, n_estimators=20, early_stopping=False).fit(X[:80], y[:80])
    assert near.score(X[80:], y[80:]) < 0.8


def test_the_features_of_all_labels_are_columns_for_the_trees_of_each():
    """Each label's features are found by themselves; in the next round a tree may ask for those of another label."""
    X, y = sentences(120, 0)
    model = FutureFeatureMEMM(
        order=0, window=0, bag=None, n_estimators=20, early_stopping=False, l2_regularization=2.0
    ).fit(X, y)
    own, K = model.scorer_, len(model.classes_)
    label_of = {own.binning_.names.index(f"(future {j + 1})"): one.label for j, one in enumerate(own.features)}
    asked = set()
    for j in range(own.ensemble_.n_trees):
        streams = own.ensemble_.tree(j).nodes[:, 0]
        columns = own.binning_.streams[0, streams[streams >= 0]]
        asked |= {(j % K, label_of[c]) for c in columns.tolist() if c in label_of}
    assert any(tree != feature for tree, feature in asked)


def test_one_label_has_nothing_to_find():
    model = FutureFeatureMEMM(**FEW).fit([["a", "b"], ["b"]], [["x", "x"], ["x"]])
    assert (model.n_features_, model.predict([["a", "c"]]).tolist()) == (0, [["x", "x"]])


def test_a_pattern_for_either_of_two_labels():
    """Of two labels a pattern may speak for the first as well as for the second."""
    X, y = sentences(100, 1, marks=("?", "."))
    first = FutureFeatureMEMM(order=0, bag=None, **FEW).fit(X, y)
    swapped = [[{"question": "z", "statement": "a"}[v] for v in row] for row in y]
    second = FutureFeatureMEMM(order=0, bag=None, **FEW).fit(X, swapped)
    assert first.score(X, y) == second.score(X, swapped) == 1.0


def test_neither_direction_alone_is_enough():
    """Hao 2009, section 5.1: of e1 e2 e3 the label of e2 is l2 by what is before it, l3 by what is after, and l1."""
    moves = np.full((3, 3), 0.05) + 0.85 * np.eye(3)
    seen = np.array([[0.45, 0.1, 0.45], [0.8, 0.1, 0.1], [0.1, 0.1, 0.8]])  # [label, observation]

    def middle(first, last):
        """P(label of e2 | the observations first … last)."""
        potentials = chain_from_scores(np.log(seen.T[first : last + 1]), np.log(moves))
        return marginals(potentials).node_probs[1 - first]

    forward, backward, both = middle(0, 1), middle(1, 2), middle(0, 2)
    np.testing.assert_allclose(forward, np.array([0.045, 0.07475, 0.01525]) / 0.135, rtol=1e-9)
    np.testing.assert_allclose(backward, np.array([0.45, 0.1525, 0.7475]) / 1.35, rtol=1e-9)
    assert (forward.argmax(), backward.argmax(), both.argmax()) == (1, 2, 0)


# ------------------------------------------------------------------------------------------------ what it is


@pytest.mark.parametrize("direction", ["left_to_right", "right_to_left"])
@pytest.mark.parametrize("order", [0, 1, 2])
def test_the_loss_is_that_of_the_potentials(order, direction):
    X, y = make_future("or", 40, 12, random_state=2)
    model = FutureFeatureMEMM(order=order, direction=direction, **FEW).fit(X, y)
    logs = model.log_probability(X, y)
    np.testing.assert_allclose(model.loss_, -logs.sum(), rtol=1e-8)
    probs = model.predict_proba(X)
    np.testing.assert_allclose(np.concatenate(probs).sum(axis=1), 1.0, rtol=1e-9)
    one = FutureFeatureMEMM(order=order, direction=direction, **FEW).fit(X, y)
    assert (one.log_probability(X, y) == logs).all()


@pytest.mark.parametrize("order", [0, 1])
def test_right_to_left_is_left_to_right_of_the_reversed(order):
    X, y = make_future("or", 40, 12, random_state=2)
    back_X, back_y = reversed_rows(X, y)
    ahead = FutureFeatureMEMM(order=order, **FEW).fit(list(X), y)
    behind = FutureFeatureMEMM(order=order, direction="right_to_left", **FEW).fit(back_X, back_y)
    assert ahead.n_features_ == behind.n_features_ >= 1
    np.testing.assert_allclose(behind.log_probability(back_X, back_y), ahead.log_probability(X, y), rtol=1e-6)


def test_a_sequence_alone_is_predicted_as_among_others():
    X, y = make_future("or", 40, 12, random_state=2)
    model = FutureFeatureMEMM(**FEW).fit(X, y)
    together = model.predict_proba(X)
    for i in (0, 7):
        np.testing.assert_allclose(model.predict_proba(X[i : i + 1])[0], together[i], rtol=1e-12)
    assert model.predict(X, decoder="greedy")[3] == model.predict(X[3:4], decoder="greedy")[0]
    threads = model.set_params(n_jobs=2).predict_proba(X)
    assert all((a == b).all() for a, b in zip(threads, together))


def test_without_a_feature_it_is_a_memm_of_trees():
    """tol forbids every feature; what is left are trees on windows and last labels."""
    X, y = make_future("or", 40, 12, random_state=2)
    model = FutureFeatureMEMM(window=0, tol=0.9, n_estimators=3, early_stopping=False).fit(X, y)
    assert model.n_features_ == 0
    assert model.predict_features(X)[0].shape == (12, 0)
    assert model.predict_patterns(X)[0].shape == (12, 0)
    assert model.best_iteration_ == 3


def test_weights_are_repetitions():
    X, y = make_future("or", 30, 12, random_state=4)
    rows, labels = list(X), list(y)
    twice = FutureFeatureMEMM(order=0, **FEW).fit(rows + rows[:10], labels + labels[:10])
    weighted = FutureFeatureMEMM(order=0, **FEW).fit(rows, labels, sample_weight=[2.0] * 10 + [1.0] * 20)
    np.testing.assert_allclose(weighted.loss_, twice.loss_, rtol=1e-6)
    np.testing.assert_allclose(weighted.log_probability(rows, labels), twice.log_probability(rows, labels), atol=1e-5)
    none = FutureFeatureMEMM(order=0, **FEW).fit(rows, labels, sample_weight=[0.0] * 10 + [1.0] * 20)
    rest = FutureFeatureMEMM(order=0, **FEW).fit(rows[10:], labels[10:])
    np.testing.assert_allclose(none.loss_, rest.loss_, rtol=1e-6)


def test_labels_that_are_not_known():
    X, y = make_future("or", 60, 12, random_state=5)
    gaps = [[None if (i + t) % 7 == 0 else v for t, v in enumerate(row)] for i, row in enumerate(y)]
    model = FutureFeatureMEMM(order=0, **FEW).fit(X, gaps)
    np.testing.assert_allclose(model.loss_, -model.log_probability(X, gaps).sum(), rtol=1e-8)
    assert model.score(X, y) > 0.9
    sets = [[{0, 1} if v is None else v for v in row] for row in gaps]
    np.testing.assert_allclose(FutureFeatureMEMM(order=0, **FEW).fit(X, sets).loss_, model.loss_, rtol=1e-9)
    with pytest.raises(InputError, match="no position has a label"):
        FutureFeatureMEMM(**FEW).fit([["a", "b"]], [[None, "x"]])


@pytest.mark.parametrize("missing", ["learned", "weighting", "surrogate", "impute", "indicator"])
def test_missing_values(missing):
    """Numbers with gaps; the pattern is a large number ahead."""
    rng = np.random.default_rng(6)
    values = rng.random((60, 10, 2))
    y = [[int((row[t + 1 : t + 4, 0] > 0.8).any()) for t in range(10)] for row in values]
    values[rng.random(values.shape) < 0.1] = np.nan
    X = list(values)
    model = FutureFeatureMEMM(order=0, bag=3, missing=missing, **FEW).fit(X[:40], y[:40])
    assert model.score(X[40:], y[40:]) > 0.8
    np.testing.assert_allclose(model.loss_, -model.log_probability(X[:40], y[:40]).sum(), rtol=1e-6)


def test_constraints_and_decoders():
    X, y = sentences(60, 2)
    never = [("question", "call"), ("call", "question")]
    model = FutureFeatureMEMM(constraints=never, bag=None, **FEW).fit(X, y)
    for decoder in ("viterbi", "posterior", "greedy", "beam"):
        assert len(model.predict(X[:5], decoder=decoder)) == 5
    assert all(pair not in set(pairwise(row)) for row in model.predict(X) for pair in never)


def test_sparse_attributes_and_windows():
    """Many words, as attributes, with a window: a column of the future stands before the sparse ones."""
    rng = np.random.default_rng(7)
    X = [[[f"a{i}" for i in rng.integers(400, size=3)] for _ in range(8)] for _ in range(60)]
    y = [["yes" if any("a7" in own or "a8" in own for own in row[t + 1 :]) else "no" for t in range(8)] for row in X]
    for row in X[::2]:
        row[5].append("a7")
    y = [["yes" if any("a7" in own or "a8" in own for own in row[t + 1 :]) else "no" for t in range(8)] for row in X]
    model = FutureFeatureMEMM(order=1, bag=None, **FEW | {"window": 1}).fit(X, y)
    np.testing.assert_allclose(model.loss_, -model.log_probability(X, y).sum(), rtol=1e-8)
    assert model.score(X, y) > 0.95


# ------------------------------------------------------------------------------------------------ training


def test_early_stopping_holds_out_or_takes_what_is_given():
    X, y = make_future("or", 80, 12, random_state=8)
    own = FutureFeatureMEMM(order=0, window=0, n_estimators=15, random_state=0).fit(X, y)
    assert own.outcome_ in ("early_stopping", "n_estimators")
    assert all(step.score is not None for step in own.history_)
    given = FutureFeatureMEMM(order=0, window=0, n_estimators=15).fit(X[:65], y[:65], X_val=X[65:], y_val=y[65:])
    dataset = learn(X[:65], y[:65])
    encoded = FutureFeatureMEMM(order=0, window=0, n_estimators=15).fit(dataset, X_val=given.encode(X[65:], y[65:]))
    assert (given.log_probability(X, y) == encoded.log_probability(X, y)).all()
    assert given.best_iteration_ <= given.n_iter_
    alone = FutureFeatureMEMM(order=0, window=0, n_estimators=5, early_stopping=False).fit(X, y)
    assert all(step.score is None for step in alone.history_)


def test_the_last_training_is_on_all_sequences():
    X, y = make_future("or", 80, 12, random_state=8)
    options = {"order": 0, "window": 0, "n_estimators": 15, "random_state": 0, "calibrate": False}
    all_of_them, part = (FutureFeatureMEMM(**options, refit=refit).fit(X, y) for refit in (True, False))
    assert (all_of_them.refitted_, part.refitted_) == (True, False)
    np.testing.assert_allclose(all_of_them.loss_, -all_of_them.log_probability(X, y).sum(), rtol=1e-8)
    assert part.loss_ < -part.log_probability(X, y).sum() - 1e-6  # that of nine tenths
    assert all_of_them.n_features_ == part.n_features_ >= 1
    assert all_of_them.best_iteration_ == part.best_iteration_
    for name in ("n_iter_", "outcome_"):
        assert getattr(all_of_them, name) == getattr(part, name)
    assert [step.score for step in all_of_them.history_] == [step.score for step in part.history_]
    given = FutureFeatureMEMM(**options).fit(X[:65], y[:65], X_val=X[65:], y_val=y[65:])
    assert not given.refitted_
    assert not FutureFeatureMEMM(**options, early_stopping=False).fit(X, y).refitted_


def test_a_last_training_that_is_interrupted_leaves_the_first(monkeypatch):
    X, y = make_future("or", 40, 12, random_state=8)
    options = {"order": 0, "window": 0, "n_estimators": 5, "random_state": 0}
    first = FutureFeatureMEMM(**options, refit=False).fit(X, y)
    whole = future_feature_memm.train

    def train(model, dataset, held_out, rounds=None):
        found = whole(model, dataset, held_out, rounds)
        return found if rounds is None else replace(found, outcome="interrupted")

    monkeypatch.setattr(future_feature_memm, "train", train)
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        model = FutureFeatureMEMM(**options).fit(X, y)
    assert (model.outcome_, model.refitted_) == ("interrupted", False)
    assert (model.log_probability(X, y) == first.log_probability(X, y)).all()


def test_held_out_sequences_count_once_each():
    """Weights are for training: those of the held-out sequences do not say when to stop."""
    X, y = make_future("or", 60, 12, random_state=8)
    options = {"order": 0, "window": 0, "n_estimators": 10, "refit": False, "random_state": 0}
    plain = FutureFeatureMEMM(**options).fit(X, y)
    held = np.random.RandomState(0).permutation(60)[:6]
    weights = np.ones(60)
    weights[held] = 3.0  # of weight 0 they would not be there, and others be held out
    assert (FutureFeatureMEMM(**options).fit(X, y, weights).log_probability(X, y) == plain.log_probability(X, y)).all()


WRONG = [
    {"order": -1}, {"bag": 0}, {"bag": 2.5}, {"max_future_features": 0}, {"direction": "up"}, {"n_estimators": 0},
    {"max_leaf_nodes": 1}, {"feature_steps": 0}, {"feature_bins": 1}, {"initial_score": np.inf}, {"max_step": 0.0},
    {"max_weight": -1.0}, {"tol": -1e-3}, {"missing": "no"}, {"decoder": "none"}, {"categorical": "all"},
    {"transitions": "some"}, {"l2_regularization": -1.0}, {"n_iter_no_change": 0}, {"learning_rate": 0.0},
    {"learning_rate": 1.5}, {"early_stopping": "no"}, {"refit": "auto"},
]  # fmt: skip


@pytest.mark.parametrize("wrong", WRONG, ids=lambda wrong: next(iter(wrong)))
def test_parameters_that_make_no_sense(wrong):
    with pytest.raises(InputError, match=next(iter(wrong))):
        FutureFeatureMEMM(**wrong).fit([["a"]], [["x"]])


# ------------------------------------------------------------------------------------------------ an estimator


def test_grid_search():
    X, y = sentences(30, 3)
    search = GridSearchCV(FutureFeatureMEMM(order=0, bag=None, **FEW), {"max_leaf_nodes": [2, 4]}, cv=2).fit(X, y)
    assert search.best_score_ > 0.5
    assert clone(search.best_estimator_).get_params() == search.best_estimator_.get_params()


@pytest.mark.parametrize("missing", ["learned", "weighting"])
def test_a_file_holds_all_of_it(tmp_path, missing):
    X, y = sentences(60, 4)
    model = FutureFeatureMEMM(order=2, bag=None, missing=missing, random_state=0, **FEW | {"window": 1}).fit(X, y)
    assert model.n_features_ >= 2
    model.save(tmp_path / "m.hedgerow")
    again = load(tmp_path / "m.hedgerow")
    assert again.get_params() == model.get_params()
    assert (again.n_features_, again.refitted_) == (model.n_features_, False)
    assert (again.log_probability(X, y) == model.log_probability(X, y)).all()
    assert again.predict(X).tolist() == model.predict(X).tolist()
    assert (again.predict_features(X)[0] == model.predict_features(X)[0]).all()


DAMAGE = {
    "order": lambda h: h.update(order=77),
    "bag": lambda h: h["scorer"].update(bag=0),
    "columns": lambda h: h["scorer"].update(n_columns=1),
    "label": lambda h: h["scorer"]["features"][0].update(label=3),
    "weight": lambda h: h["scorer"]["features"][0].update(weight=float("inf")),
    "n_trees": lambda h: h["scorer"]["features"][0].update(n_trees=10**6),
    "lost trees": lambda h: h["scorer"]["features"].pop(),
    "backward": lambda h: h.update(backward="yes"),
    "refitted": lambda h: h.update(refitted=1),
}


@pytest.mark.parametrize("what", DAMAGE)
def test_a_header_that_is_not_sound(what):
    X, y = sentences(40, 4)
    model = FutureFeatureMEMM(order=1, bag=None, **FEW).fit(X, y)
    header, tensors = pack_model(model)
    assert header["state"]["scorer"]["features"]
    DAMAGE[what](header["state"])
    with pytest.raises(ModelFileError):
        unpack_model(header, tensors)


def test_a_feature_that_asks_for_a_label_is_refused():
    X, y = sentences(40, 4)
    model = FutureFeatureMEMM(order=1, bag=None, **FEW).fit(X, y)
    header, tensors = pack_model(model)
    nodes = tensors["scorer.lower.ensemble.nodes"].copy()
    splits = np.flatnonzero(nodes[:, 0] >= 0)
    nodes[splits[0], :3] = -1, 0, 0
    with pytest.raises(ModelFileError, match="previous label"):
        unpack_model(header, tensors | {"scorer.lower.ensemble.nodes": nodes})


def test_the_thesis_own_training():
    """Whole steps, no λ, one value against the rest; on its own sequences it is right nearly everywhere."""
    X, y = make_future("or", 260, random_state=1)
    model = FutureFeatureMEMM.paper(order=0, n_estimators=60).fit(X[:120], y[:120], X_val=X[120:180], y_val=y[120:180])
    assert (model.learning_rate, model.l2_regularization, model.max_leaf_nodes, model.bag) == (1.0, 0.0, 10, 6)
    assert model.score(X[180:], y[180:]) > 0.97
    assert FutureFeatureMEMM.paper(order=2, bag=3).bag == 3


def test_a_deadline_ends_training():
    ticks = itertools.count()
    with Deadline(8.0, lambda: float(next(ticks))).applied():
        model = FutureFeatureMEMM(window=0, n_estimators=50, early_stopping=False).fit(*make_future("or", 12))
    assert model.outcome_ == "time_budget"
    assert 1 <= model.n_iter_ < 10
