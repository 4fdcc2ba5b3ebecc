"""Losses against enumeration, and their gradients against differences of these very losses."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.lattice.inference.infer import Inference
from hedgerow.lattice.objectives import log_likelihood, margin, pseudo_likelihood
from hedgerow.lattice.scores import Potentials
from tests.reference import lattice as reference

from .made import drawn_potentials, grid_potentials, parts, random_potentials

METHODS = ("loopy", "tree_reweighted", "mean_field")
STEP = 1e-5


def drawn_labels(rng, potentials, known=1.0):
    labels = rng.integers(potentials.n_labels, size=potentials.topology.n_nodes).astype(np.int32)
    labels[rng.random(len(labels)) > known] = -1
    return labels


def check_gradient(loss, potentials, *, atol, n_checks=8, seed=0):
    """Central differences of loss(potentials).loss at some scores."""
    rng = np.random.default_rng(seed)
    found = loss(potentials)
    for which, gradient in ((0, found.node_gradient), (1, found.edge_gradient)):
        scores = (potentials.node_scores, potentials.edge_scores)[which]
        if not scores.size:
            continue
        for flat in rng.integers(scores.size, size=n_checks):
            values = []
            for sign in (1, -1):
                moved = [potentials.node_scores, potentials.edge_scores]
                moved[which] = scores.copy()
                moved[which].ravel()[flat] += sign * STEP
                values.append(loss(Potentials(potentials.topology, *moved)).loss)
            assert gradient.ravel()[flat] == pytest.approx((values[0] - values[1]) / (2 * STEP), abs=atol)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("known", [1.0, 0.6])
def test_the_gradient_of_the_likelihood_is_that_of_its_value(rng, method, known):
    potentials = grid_potentials(rng, (4, 5), 3, scale=0.4)
    labels = drawn_labels(rng, potentials, known)
    inference = Inference(method, tol=1e-13, max_updates=5000)
    check_gradient(lambda p: log_likelihood(p, labels, inference), potentials, atol=1e-6)


@given(drawn_potentials(acyclic=True), st.sampled_from([1.0, 0.5]))
@settings(max_examples=40)
def test_the_likelihood_is_exact_without_a_circle(potentials, known):
    labels = drawn_labels(np.random.default_rng(0), potentials, known)
    found = log_likelihood(potentials, labels, Inference())
    whole = reference.enumerate_labelings(*parts(potentials))
    part = reference.enumerate_labelings(*parts(potentials.restrict(labels)))
    assert found.loss == pytest.approx(whole.log_partition - part.log_partition, abs=1e-9)
    np.testing.assert_allclose(found.node_gradient, whole.node_probs - part.node_probs, atol=1e-9)
    np.testing.assert_allclose(found.edge_gradient, whole.edge_probs - part.edge_probs, atol=1e-9)


@given(drawn_potentials(acyclic=False, max_nodes=6), st.sampled_from([1.0, 0.5]))
@settings(max_examples=40)
def test_the_pseudo_likelihood_is_that_of_the_twin(potentials, known):
    labels = drawn_labels(np.random.default_rng(1), potentials, known)
    ones = np.ones(len(labels))
    weights = np.random.default_rng(2).integers(3, size=len(labels)).astype(float)
    for found, counts in (
        (pseudo_likelihood(potentials, labels), ones),
        (pseudo_likelihood(potentials, labels, weights), weights),
    ):
        twin = reference.pseudo_likelihood(*parts(potentials), labels, counts)
        assert found.loss == pytest.approx(twin, abs=1e-9)


@pytest.mark.parametrize("known", [1.0, 0.6])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_gradient_of_the_pseudo_likelihood(rng, known, weighted):
    potentials = random_potentials(rng, 8, 3)
    labels = drawn_labels(rng, potentials, known)
    weights = 2.0 * rng.random(8) if weighted else None
    check_gradient(lambda p: pseudo_likelihood(p, labels, weights), potentials, atol=1e-6)


@given(drawn_potentials(acyclic=True))
@settings(max_examples=40)
def test_the_margin_is_exact_without_a_circle(potentials):
    labels = drawn_labels(np.random.default_rng(2), potentials)
    found = margin(potentials, labels, Inference())
    nodes = potentials.node_scores + 1.0
    nodes[np.arange(len(labels)), labels] -= 1.0
    augmented = Potentials(potentials.topology, nodes, potentials.edge_scores)
    best = reference.enumerate_labelings(*parts(augmented)).best_score
    assert found.loss == pytest.approx(best - potentials.score(labels), abs=1e-9)
    assert found.loss >= 0.0
    assert float((found.node_gradient * potentials.node_scores).sum()) == pytest.approx(
        found.loss - _wrong(found) - float((found.edge_gradient * parts(potentials)[1]).sum()), abs=1e-8
    )


def _wrong(found):
    """The wrong labels of the labeling that the gradient has against the truth."""
    return float(np.maximum(found.node_gradient, 0.0).sum())


def test_the_margin_with_labels_left_open(rng):
    potentials = random_potentials(rng, 6, 2, acyclic=True)
    labels = drawn_labels(rng, potentials, 0.5)
    labels[0] = 1
    found = margin(potentials, labels, Inference())
    truth = reference.enumerate_labelings(*parts(potentials.restrict(labels))).best_score
    nodes = potentials.node_scores.copy()
    known = labels >= 0
    nodes[known] += 1.0
    nodes[known, labels[known]] -= 1.0
    best = reference.enumerate_labelings(nodes, *parts(potentials)[1:]).best_score
    assert found.loss == pytest.approx(best - truth, abs=1e-9)


def test_earlier_states_change_nothing_but_the_time(rng):
    potentials = grid_potentials(rng, (6, 6), 2, scale=0.5)
    labels = drawn_labels(rng, potentials, 0.7)
    inference = Inference(tol=1e-12, max_updates=1000)
    first = log_likelihood(potentials, labels, inference)
    again = log_likelihood(potentials, labels, inference, first.states)
    assert again.loss == pytest.approx(first.loss, abs=1e-9)
    np.testing.assert_allclose(again.node_gradient, first.node_gradient, atol=1e-9)
