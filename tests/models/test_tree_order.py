"""TreeCRF of order 0 and of orders above 1, with shared and with joint edges."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from hedgerow import LinearCRF, TreeCRF, load
from hedgerow.chain.edges import HistoryEdges, HistoryTables
from hedgerow.chain.objectives import BOOSTED
from hedgerow.datasets import make_missing
from hedgerow.errors import HedgerowWarning, InputError
from hedgerow.explain import rules
from hedgerow.models.crf.parameters import TREE_OBJECTIVES
from hedgerow.training import memory

from .corpora import rich_corpus
from .test_order import made

OWN = {"window": 0, "n_estimators": 60, "random_state": 0, "max_leaf_nodes": 8, "l2_regularization": 5.0}


def noisy(order, n, seed):
    """Parity of the last labels, where the token is "x"; where it is "z" it is the other way round."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(n):
        tokens = rng.choice(["x", "z"], size=20).tolist()
        labels = rng.integers(2, size=order).tolist()
        for t in range(order, 20):
            labels.append((sum(labels[-order:]) + (tokens[t] == "z") + int(rng.random() < 0.05)) % 2)
        X.append(tokens)
        y.append(["ab"[v] for v in labels])
    return X, y


@pytest.fixture(scope="module", params=["shared", "joint"])
def model(request):
    X, y = rich_corpus(40, seed=3)
    own = TreeCRF(order=2, edges=request.param, columns={"tags": "attributes"}, **OWN)
    return own.set_params(n_estimators=5, early_stopping=False).fit(X, y)


@pytest.mark.parametrize(("order", "edges"), [(1, "joint"), (2, "shared"), (2, "joint"), (3, "shared"), (3, "joint")])
def test_it_learns_what_one_order_less_cannot(order, edges):
    X, y = made(order, 60, seed=order, length=20)
    X_new, y_new = made(order, 20, seed=100 + order, length=20)
    right = TreeCRF(order=order, edges=edges, **OWN).fit(X, y)
    short = TreeCRF(order=order - 1, edges=edges, **OWN).fit(X, y)
    per_label = [float(m.log_probability(X_new, y_new).sum() / 400) for m in (right, short)]
    assert per_label[0] > (-0.55 if (order, edges) == (3, "joint") else -0.4)  # greedy splits are slow to see parity
    assert per_label[1] < -0.6


def test_joint_trees_see_the_input_and_every_label_before():
    X, y = noisy(2, 80, seed=1)
    X_new, y_new = noisy(2, 20, seed=2)
    joint, shared = (TreeCRF(order=2, edges=edges, **OWN).fit(X, y) for edges in ("joint", "shared"))
    assert joint.log_probability(X_new, y_new).sum() / 400 > -0.45
    assert shared.log_probability(X_new, y_new).sum() / 400 < -0.6
    asked = {c.text for rule in rules(joint, n=30) for c in rule.conditions}
    assert any("previous labels" in text for text in asked)


def test_probabilities_by_enumeration(model):
    kind = HistoryEdges if model.edges == "shared" else HistoryTables
    x = next(x for x in rich_corpus(12, seed=77)[0] if len(x) == 3)
    potentials = model._potentials(model.encode([x]), 0, 1)
    assert isinstance(potentials.edges, kind)
    every = [list(labels) for labels in itertools.product(model.classes_.tolist(), repeat=3)]
    log_probs = model.log_probability([x] * len(every), every)
    assert np.exp(log_probs).sum() == pytest.approx(1.0, rel=1e-9)
    best = every[int(np.argmax(log_probs))]
    assert model.predict([x], decoder="viterbi")[0] == best
    assert model.predict([x], decoder="beam")[0] == best
    assert model.predict_k_best([x], k=2)[0][0][0] == best
    first = [labels[0] == model.classes_[0] for labels in every]
    np.testing.assert_allclose(model.predict_proba([x])[0][0, 0], np.exp(log_probs)[first].sum(), rtol=1e-9)


def test_files_keep_the_model(model, tmp_path):
    X, y = rich_corpus(8, seed=5)
    model.save(tmp_path / "m")
    other = load(tmp_path / "m")
    assert other.order_ == 2
    for mine, theirs in zip(model.predict_proba(X), other.predict_proba(X)):
        np.testing.assert_array_equal(mine, theirs)
    assert list(other.staged_score(X, y)) == list(model.staged_score(X, y))


def test_what_training_adds_is_what_prediction_walks(model):
    X, y = rich_corpus(40, seed=3)
    assert model.loss_ == pytest.approx(-model.log_probability(X, y).sum(), rel=1e-8)


def test_a_warm_start_goes_on(model):
    X, y = rich_corpus(40, seed=3)
    own = model.get_params()
    whole = TreeCRF(**{**own, "n_estimators": 8}).fit(X, y)
    parts = TreeCRF(**{**own, "warm_start": True}).fit(X, y).set_params(n_estimators=8).fit(X, y)
    for mine, theirs in zip(whole.predict_proba(X), parts.predict_proba(X)):
        np.testing.assert_allclose(mine, theirs, rtol=1e-7)
    with pytest.raises(InputError, match="another form"):
        parts.set_params(order=3, n_estimators=9).fit(X, y)


def test_weights_and_partial_labels(model):
    X, y = noisy(2, 20, seed=6)
    y = [[*labels[:-1], None] for labels in y]
    own = {**model.get_params(), "columns": None, "leaves": "mean"}  # curvatures are rounded, and not twice as large
    twice = TreeCRF(**own).fit([*X, *X[:10]], [*y, *y[:10]])
    once = TreeCRF(**own).fit(X, y, sample_weight=np.where(np.arange(20) < 10, 2.0, 1.0))
    for mine, theirs in zip(twice.predict_proba(X), once.predict_proba(X)):
        np.testing.assert_allclose(mine, theirs, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("edges", ["shared", "joint"])
def test_constraints_and_unseen_runs(edges):
    X, y = rich_corpus(30, seed=4)
    own = {**OWN, "n_estimators": 3, "early_stopping": False, "columns": {"tags": "attributes"}}
    model = TreeCRF(order=2, edges=edges, constraints="iob2", **own).fit(X, y)
    assert model.log_probability(X[:1], [["I-X"] * len(y[0])])[0] == -np.inf
    X, y = [["x"] * 4] * 2, [["a", "b", "a", "b"], ["b", "a", "b", "a"]]
    del own["columns"]
    strict = TreeCRF(order=2, edges=edges, transitions="forbid_unseen", **own).fit(X, y)
    assert strict.log_probability(X[:1], [["a", "b", "b", "a"]])[0] == -np.inf
    assert strict.predict(X[:1], known=[["b", None, None, None]], decoder="viterbi")[0] == ["b", "a", "b", "a"]


def test_held_out_sequences_that_are_forbidden_do_not_count():
    X, y = [["x"] * 4] * 3, [["a", "b", "a", "b"], ["b", "a", "b", "a"], ["a", "a", "b", "b"]]
    model = TreeCRF(order=2, edges="shared", transitions="forbid_unseen", **OWN)
    with pytest.warns(HedgerowWarning, match="1 of 3 held-out sequences"):
        model.fit(X[:2], y[:2], X_val=X, y_val=y)


@pytest.mark.parametrize("edges", ["shared", "joint"])
def test_order_zero_has_no_transitions(edges):
    X, y = rich_corpus(30, seed=7)
    own = {**OWN, "n_estimators": 4, "columns": {"tags": "attributes"}}
    model = TreeCRF(order=0, edges=edges, early_stopping=False, **own).fit(X, y)
    assert model.edge_tables_.shape == (4, 0)
    potentials = model._potentials(model.encode(X), 0, len(X))
    probs = np.exp(potentials.node_scores)
    probs /= probs.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(np.concatenate(model.predict_proba(X)), probs, rtol=1e-9)
    margin = TreeCRF(order=0, objective="margin", early_stopping=False, **own).fit(X, y)
    assert margin.score(X, y) > 0.5


@pytest.mark.parametrize(
    ("parameters", "complaint"),
    [
        ({"order": -1}, "order is -1"),
        ({"order": 2, "objective": "virtual_evidence"}, "objective='virtual_evidence' is not available for order=2"),
        ({"order": 0, "init": "constant"}, "init='constant' is for order 1 and more, and order is 0"),
        ({"order": 2, "init": LinearCRF()}, "a linear model as init is for order 1, and order is 2"),
    ],
)
def test_what_is_refused(parameters, complaint):
    with pytest.raises(InputError) as caught:
        TreeCRF(**parameters).fit([["x"]] * 20, [["a"], ["b"]] * 10)
    assert str(caught.value).startswith(complaint)


FEW = {**OWN, "n_estimators": 12, "early_stopping": False}


@pytest.mark.parametrize("edges", ["shared", "joint"])
@pytest.mark.parametrize("objective", [name for name in TREE_OBJECTIVES if name not in BOOSTED])
def test_every_objective_learns_at_order_two(objective, edges):
    """Each label is that of two positions before, and only the first two are to be seen."""
    y = [[a, b] * 4 for a in "ab" for b in "ab" for _ in range(8)]
    X = [[*labels[:2], *["x"] * 6] for labels in y]
    # Gradients of the slack margin are times a number of errors, and whole steps of the classification error go to and
    # fro, so that last bits decide how far they get: shorter steps, and more of them.
    step, n = {"slack_margin": (0.1, 30), "classification_error": (0.5, 24)}.get(objective, (1.0, 12))
    own = {"edges": edges, "objective": objective, "likelihood_steps": 6, "learning_rate": step, "n_estimators": n}
    model, short = (TreeCRF(**FEW | own | {"order": order}).fit(X, y) for order in (2, 1))
    assert model.score(X, y) > max(0.95, short.score(X, y))
    assert model.loss_ <= model.history_[6].loss


@pytest.mark.parametrize("edges", ["shared", "joint"])
def test_steps_of_the_pseudo_likelihood_and_a_constant_start(edges):
    X, y = made(2, 40, seed=3, length=12)
    plain, pseudo, constant = (
        TreeCRF(order=2, edges=edges, **{**FEW, "n_estimators": 3, **more}).fit(X, y)
        for more in ({}, {"pseudo_likelihood_steps": 3}, {"init": "constant"})
    )
    assert not np.allclose(plain.predict_proba(X)[0], pseudo.predict_proba(X)[0], atol=1e-6)
    assert pseudo.loss_ < pseudo.history_[0].loss
    # Nothing is to be seen but the labels: the constant is all there is to learn.
    assert constant.history_[0].loss < 0.5 * plain.history_[0].loss
    assert constant.loss_ == pytest.approx(constant.history_[0].loss, rel=0.01)


@pytest.mark.parametrize("edges", ["shared", "joint"])
def test_files_and_warm_starts_keep_the_constant(edges, tmp_path):
    X, y = made(2, 20, seed=3, length=10)
    own = {**FEW, "n_estimators": 2, "init": "constant", "class_weight": {"a": 2.0}}
    model = TreeCRF(order=2, edges=edges, warm_start=True, **own).fit(X, y)
    model.save(tmp_path / "m")
    for mine, theirs in zip(model.predict_proba(X), load(tmp_path / "m").predict_proba(X)):
        np.testing.assert_array_equal(mine, theirs)
    whole = TreeCRF(order=2, edges=edges, **own | {"n_estimators": 4}).fit(X, y)
    model.set_params(n_estimators=4).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X)[0], whole.predict_proba(X)[0], rtol=1e-7)


@pytest.mark.parametrize("missing", ["weighting", "surrogate"])
def test_missing_values_go_with_histories(missing):
    """Where nothing is missing the trees are those of "learned"; where something is, more is right than by chance."""
    X, y = noisy(2, 40, seed=1)
    own = {**FEW, "n_estimators": 30, "order": 2, "edges": "joint", "leaves": "mean", "learning_rate": 1.0}
    learned, whole = (TreeCRF(**own | {"missing": way}).fit(X, y) for way in ("learned", missing))
    np.testing.assert_allclose(learned.predict_proba(X)[0], whole.predict_proba(X)[0], rtol=1e-6)
    damaged = make_missing(X, 0.2, random_state=0)
    model = TreeCRF(**own | {"missing": missing}).fit(damaged, y)
    assert model.loss_ == pytest.approx(-model.log_probability(damaged, y).sum(), rel=1e-6)
    assert model.loss_ < 0.9 * model.history_[0].loss


def test_the_first_paper_has_an_order():
    X, y = made(2, 30, seed=2, length=12)
    model = TreeCRF.paper("2004", order=2, n_estimators=8).fit(X, y)
    assert (model.edges_, model.order_) == ("joint", 2)
    assert model.log_probability(X, y).sum() / 360 > -0.5


def test_trees_do_not_stand_on_a_linear_model_of_higher_order():
    X, y = rich_corpus(10, seed=7)
    below = LinearCRF(order=2, columns={"tags": "attributes"})
    with pytest.raises(InputError, match="linear model of order 2"):
        TreeCRF(init=below, early_stopping=False, columns={"tags": "attributes"}).fit(X, y)


def test_memory_is_planned(monkeypatch):
    monkeypatch.setattr(memory, "memory_limit", lambda: 1000)
    what = r"keeps 14 arcs \(2 labels after 7 histories\) for each of 20 positions.*a lower order"
    with pytest.raises(InputError, match=what):
        TreeCRF(order=2, edges="joint", early_stopping=False).fit([["x"]] * 20, [["a"], ["b"]] * 10)
