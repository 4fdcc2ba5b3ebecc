"""VirtualEvidence: a TreeCRF that follows its neighbours' soft labels, with the same files and the same contract."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from hedgerow import InputError, TreeCRF, VirtualEvidence, load
from hedgerow.chain.objectives import pointwise
from hedgerow.chain.potentials import Truth
from hedgerow.datasets import make_sequences
from hedgerow.metrics import label_accuracy_scorer
from hedgerow.trees.nodes import LEAF

from .corpora import COLUMNS, partial_labels, rich_corpus

X, y = make_sequences(60, mean_length=6, concentration=1.0, random_state=1)
FEW = {"window": 0, "n_estimators": 8, "early_stopping": False, "l2_regularization": 2.0, "random_state": 0}


def echoes(n, seed):
    """Two labels that stay as they are, seen through noise: neighbours tell more than the position itself."""
    rng = np.random.default_rng(seed)
    rows, labels = [], []
    for _ in range(n):
        state, own, row = int(rng.integers(2)), [], []
        for _ in range(12):
            state = 1 - state if rng.random() < 0.1 else state
            own.append("ab"[state])
            row.append("ab"[state if rng.random() < 0.7 else 1 - state])
        rows.append(row)
        labels.append(own)
    return rows, labels


@pytest.mark.parametrize(("edges", "max_leaf_nodes"), [("shared", 2), ("shared", 8), ("joint", 8)])
def test_it_learns_from_its_neighbours(edges, max_leaf_nodes):
    rows, labels = echoes(200, 0)
    options = {
        "window": 0,
        "max_leaf_nodes": max_leaf_nodes,
        "n_estimators": 60,
        "random_state": 0,
        "l2_regularization": 5.0,
    }
    model = VirtualEvidence(edges=edges, **options).fit(rows[:120], labels[:120])
    alone = TreeCRF(order=0, **options).fit(rows[:120], labels[:120])
    whole = TreeCRF(edges=edges, **options).fit(rows[:120], labels[:120])
    held = rows[120:], labels[120:]
    assert model.score(*held) > alone.score(*held) + 0.05
    assert model.score(*held) > whole.score(*held) - 0.02


def test_it_is_a_tree_crf_with_another_objective():
    own = VirtualEvidence(edges="joint", **FEW).fit(X, y)
    other = TreeCRF(objective="virtual_evidence", likelihood_steps=0, **FEW).fit(X, y)
    for one, two in zip(own.predict_proba(X), other.predict_proba(X)):
        np.testing.assert_array_equal(one, two)
    assert [step.loss for step in own.history_] == [step.loss for step in other.history_]


def test_the_loss_is_that_of_the_marginals():
    model = VirtualEvidence(**FEW).fit(X, y)
    dataset = model.encode(X, y)
    found = pointwise(model._potentials(dataset, 0, len(X)), Truth(dataset.labels))
    np.testing.assert_allclose(model.history_[-1].loss, found.loss, rtol=1e-9)
    losses = [step.loss for step in model.history_]
    assert losses == sorted(losses, reverse=True)


def test_labels_that_are_not_known():
    rows, labels = rich_corpus(40, seed=1)
    model = VirtualEvidence(columns=COLUMNS, **FEW | {"window": 1}).fit(rows, partial_labels(labels, seed=2))
    assert model.score(rows, labels) > 0.7


def test_weights_are_repetitions():
    weighted = VirtualEvidence(**FEW).fit(X, y, sample_weight=np.where(np.arange(60) < 20, 2.0, 1.0))
    twice = VirtualEvidence(**FEW).fit([*X, *X[:20]], [*y, *y[:20]])
    plain = VirtualEvidence(**FEW).fit(X, y)
    np.testing.assert_allclose(twice.history_[-1].loss, weighted.history_[-1].loss, rtol=1e-3)  # gradients are rounded
    assert twice.history_[-1].loss > 1.1 * plain.history_[-1].loss


def test_a_saved_model_predicts_the_same(tmp_path):
    rows, labels = rich_corpus(30, seed=1)
    model = VirtualEvidence(columns=COLUMNS, constraints="iob2", **FEW | {"window": 1}).fit(rows, labels)
    model.save(tmp_path / "m.hedgerow")
    other = load(tmp_path / "m.hedgerow")
    assert isinstance(other, VirtualEvidence)
    assert other.get_params() == model.get_params()
    for one, two in zip(other.predict_proba(rows), model.predict_proba(rows)):
        np.testing.assert_array_equal(one, two)


def test_its_parameters_are_those_of_trees():
    own, other = (set(inspect.signature(kind).parameters) for kind in (VirtualEvidence, TreeCRF))
    assert own < other
    assert {"objective", "likelihood_steps", "order", "init"}.isdisjoint(own)
    search = GridSearchCV(
        clone(VirtualEvidence(**FEW)), {"max_leaf_nodes": [2, 4]}, cv=2, scoring=label_accuracy_scorer
    )
    assert search.fit(X, y).best_score_ > 0.2


@pytest.mark.parametrize(
    "parameters", [{"max_leaf_nodes": 1}, {"edges": "none"}, {"scoring": "no such"}, {"missing": None}]
)
def test_bad_parameters_are_refused(parameters):
    with pytest.raises(InputError):
        VirtualEvidence(**parameters).fit(X, y)
    with pytest.raises(InputError, match="order"):
        TreeCRF(objective="virtual_evidence", order=2).fit(X, y)


OWN = {"window": 0, "edges": "shared", "early_stopping": False, "learning_rate": 1.0, "l2_regularization": 2.0}


def test_steps_of_logitboost():
    """A leaf is the weighted mean of the working response (truth − P) / P(1−P), weights P(1−P), and λ beside them."""
    X, y = [["p", "q", "q"], ["q", "p"], ["q", "q", "p", "p"]], [["a", "b", "c"], ["b", "a"], ["c", "b", "a", "b"]]
    X, y = X * 5, y * 5
    model = VirtualEvidence(leaves="newton", n_estimators=1, max_leaf_nodes=2, **OWN).fit(X, y)
    tokens, labels = (np.concatenate(rows) for rows in (X, y))
    p = 1.0 / 3.0
    for k, label in enumerate("abc"):
        leaves = [
            ((labels[tokens == token] == label) - p).sum() / ((tokens == token).sum() * p * (1 - p) + 2.0)
            for token in "pq"
        ]
        tree = model.ensemble_.label_tree(0, k)
        found = tree.values[tree.nodes[:, 0] == LEAF]
        np.testing.assert_allclose(sorted(found), sorted(leaves), rtol=2e-3)  # curvatures are whole numbers of 1/4096


def test_logitboost_of_single_positions_is_that_of_the_likelihood():
    rng = np.random.default_rng(0)
    X = [[{"a": str(rng.integers(4)), "b": str(rng.integers(3))}] for _ in range(60)]
    y = [[str((int(row[0]["a"]) + int(row[0]["b"])) % 3)] for row in X]
    evidence = VirtualEvidence(leaves="newton", n_estimators=8, **OWN).fit(X, y)
    likelihood = TreeCRF(leaves="newton", n_estimators=8, **OWN).fit(X, y)
    for mine, theirs in zip(evidence.predict_proba(X), likelihood.predict_proba(X)):
        np.testing.assert_allclose(mine, theirs, rtol=1e-9)


def test_logitboost_is_not_for_joint_edges():
    with pytest.raises(InputError, match="virtual evidence with edges='shared'"):
        VirtualEvidence(leaves="newton", edges="joint").fit([["p"]] * 4, [["a"]] * 4)
