"""`class_weight` of the estimators on graphs."""

from __future__ import annotations

import numpy as np
import pytest

from hedgerow import load
from hedgerow.errors import InputError
from hedgerow.lattice import LatticeCRF, TreeLatticeCRF
from hedgerow.lattice.inference.infer import Inference
from hedgerow.lattice.objectives import margin

from .made import random_potentials
from .test_objectives import drawn_labels

KINDS = [LatticeCRF(l2=1e-3), TreeLatticeCRF(n_estimators=5, max_leaf_nodes=4)]
NODES = [np.zeros((6, 1))] * 4  # an input that says nothing, and no edges
LABELS = [np.array(list(labels)) for labels in ("aaaaaa", "aaaaaa", "bbbbbb", "bbbcaa")]
COUNTS = np.array([14.0, 9.0, 1.0])


def rare_spots(seed, n=12, size=10):
    """Images with few bright pixels of the label 1, hard to tell from the others."""
    rng = np.random.default_rng(seed)
    masks = [(rng.random((size, size)) < 0.08).astype(int) for _ in range(n)]
    return [mask + rng.normal(scale=0.7, size=mask.shape) for mask in masks], masks


def recall(model, X, y):
    found, true = (np.concatenate([mask.ravel() for mask in masks]) for masks in (model.predict(X), y))
    return float((found[true == 1] == 1).mean())


@pytest.mark.parametrize("objective", ["log_likelihood", "pseudo_likelihood"])
@pytest.mark.parametrize("kind", [LatticeCRF(), TreeLatticeCRF(n_estimators=5, max_leaf_nodes=4)])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_training_knows_no_weights_and_probabilities_are_multiplied_by_them(kind, objective, tmp_path):
    X, y = rare_spots(0)
    plain, weighted = (
        kind.__class__(**kind.get_params() | {"objective": objective, "class_weight": given_}).fit(X, y)
        for given_ in (None, {1: 5.0})
    )
    for a, b in zip(plain.predict_proba(X), weighted.predict_proba(X)):
        expected = a * [1.0, 5.0]
        np.testing.assert_allclose(b, expected / expected.sum(axis=-1, keepdims=True), rtol=1e-12)
    for image, probs in zip(weighted.predict(X), weighted.predict_proba(X)):
        np.testing.assert_array_equal(image, probs.argmax(axis=-1))
    searched = (model.predict(X, decoder="max_product") for model in (plain, weighted))
    for a, b in zip(*searched):
        np.testing.assert_array_equal(a, b)
    why = weighted.explain(X[0], (2, 3), 1)
    assert sum(part.log_odds for part in why.parts) == pytest.approx(why.log_odds)
    assert [p.log_odds for p in why.parts if p.name == "weights of the labels"] == pytest.approx([np.log(5.0)])
    weighted.save(tmp_path / "model")
    again = load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict_proba(X[:1])[0], weighted.predict_proba(X[:1])[0])


@pytest.mark.parametrize("known", [1.0, 0.6])
def test_a_mistake_costs_a_margin_the_weight_of_the_true_label(rng, known):
    for _ in range(20):
        potentials = random_potentials(rng, 5, 3, acyclic=True)
        labels, costs = drawn_labels(rng, potentials, known), np.array([0.5, 2.0, 7.0])
        every = np.array(list(np.ndindex(*(3,) * 5)), dtype=np.int32)
        fits = ((labels < 0) | (every == labels)).all(axis=1)
        wrong = np.where(labels < 0, 0.0, (every != labels) * costs[labels]).sum(axis=1)
        scores = np.array([potentials.score(one) for one in every])
        found = margin(potentials, labels, Inference(), costs=costs)
        assert found.loss == pytest.approx((scores + wrong).max() - scores[fits].max(), abs=1e-9)


@pytest.mark.parametrize("objective", ["log_likelihood", "pseudo_likelihood"])
@pytest.mark.parametrize("kind", [LatticeCRF(l2=1e-6, tol=0.0), TreeLatticeCRF()])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_probabilities_are_multiplied_by_the_weights(kind, objective):
    items = [(nodes, np.empty((0, 2), int)) for nodes in NODES]
    for given_, weights in ((None, np.ones(3)), ("balanced", 1.0 / COUNTS), ({"c": 5.0}, np.array([1.0, 1.0, 5.0]))):
        model = kind.set_params(class_weight=given_, objective=objective).fit(items, LABELS)
        expected = COUNTS * weights / (COUNTS * weights).sum()
        atol = 5e-3 if isinstance(kind, LatticeCRF) else 0.025  # leaves are shrunk
        np.testing.assert_allclose(model.predict_proba(items[:1])[0][0], expected, rtol=0, atol=atol)


@pytest.mark.parametrize("objective", ["log_likelihood", "pseudo_likelihood", "margin"])
@pytest.mark.parametrize("kind", KINDS, ids=["weights", "trees"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_weights_of_1_change_no_bit_and_balanced_ones_find_more_of_a_rare_label(kind, objective, tmp_path):
    X, y = rare_spots(0)
    kind = LatticeCRF(trainer="annealed_sgd", random_state=0) if objective == "margin" and kind is KINDS[0] else kind
    plain, ones, balanced = (
        kind.__class__(**kind.get_params() | {"objective": objective, "class_weight": weights}).fit(X, y)
        for weights in (None, {0: 1.0, 1: 1}, "balanced")
    )
    for a, b in zip(plain.predict_proba(X), ones.predict_proba(X)):
        np.testing.assert_array_equal(a, b)
    others = rare_spots(1)
    assert recall(balanced, *others) > recall(plain, *others) + 0.05
    ones.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.class_weight == {0: 1.0, 1: 1}  # labels that are no strings
    np.testing.assert_array_equal(again.predict_proba(X[:1])[0], ones.predict_proba(X[:1])[0])


@pytest.mark.parametrize("kind", KINDS, ids=["weights", "trees"])
def test_what_is_no_weight_is_refused(kind):
    X, y = rare_spots(0, n=3)
    for wrong, what in (("often", "class_weight is 'often'"), ({1: 0}, "the weight 0"), ({7: 2.0}, "the label 7")):
        with pytest.raises(InputError, match=what):
            kind.__class__(class_weight=wrong).fit(X, y)


def test_balanced_weights_count_items_and_nodes_by_their_weight():
    X, y = [(np.zeros((2, 1)), np.empty((0, 2), int))] * 2, [np.array(["a", "a"]), np.array(["b", "a"])]
    model = LatticeCRF(class_weight="balanced", objective="pseudo_likelihood")
    for weights, expected in (([1.0, 3.0], [8 / 10, 8 / 6]), ([[1.0, 1.0], [2.0, 0.0]], [1.0, 1.0])):
        data = model._training_graphs(X, y, weights, None, None)
        np.testing.assert_allclose(data.label_weights, expected, rtol=1e-15)
