"""Virtual evidence: its value is that of the marginals, its gradient that of fixed messages, by differences."""

from __future__ import annotations

import sys
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.chain.edges import chain_from_scores
from hedgerow.chain.objectives import BOOSTED, NAMES, make_objective, pointwise, pseudo_likelihood, virtual_evidence
from hedgerow.chain.potentials import Truth
from tests.reference import virtual_evidence as slow
from tests.reference.cases import cases, make_case


def parts(case):
    """Node and edge scores of each sequence, and its slice."""
    shared = case.edges.ndim == 2
    for begin, end in pairwise(case.offsets):
        rows = slice(int(begin), int(end))
        node = case.node[rows]
        edges = np.repeat(case.edges[None], len(node), 0) if shared else case.edges[:, rows].transpose(1, 2, 0)
        yield node, edges, rows


@settings(max_examples=40, deadline=None)
@given(case=cases(max_labels=3, max_length=4, max_sequences=3), seed=st.integers(0, 999))
def test_the_value_is_that_of_the_pointwise_likelihood(case, seed):
    """The messages of a chain are exact, so that a label given them has its marginal probability."""
    weights = np.random.default_rng(seed).random(len(case.offsets) - 1)
    found = virtual_evidence(case.potentials(), Truth(case.labels, weights=weights))
    expected = pointwise(case.potentials(), Truth(case.labels, weights=weights))
    if expected.loss < 500:  # a probability of less than 1e-290 counts as that
        np.testing.assert_allclose(found.loss, expected.loss, rtol=1e-7, atol=1e-7)
    assert np.isfinite(found.node_gradient).all()
    assert np.isfinite(found.edge_gradient).all()


@pytest.mark.parametrize("per_position", [False, True])
@pytest.mark.parametrize("sets", [False, True])
def test_the_gradient_is_that_of_fixed_messages(rng, per_position, sets):
    case = make_case(rng, 3, [4, 1, 3], per_position=per_position)
    labels, allowed = case.labels.copy(), None
    if sets:
        labels[[1, 6]] = -1
        allowed = np.ones((8, 3), dtype=bool)
        allowed[1, 0] = False
    right = np.arange(3) == labels[:, None]
    right[labels < 0] = True if allowed is None else allowed[labels < 0]
    weights = np.array([1.0, 0.5, 2.0])
    messages = [slow.send_messages(node, edges) for node, edges, _ in parts(case)]

    def loss(node, edges):
        moved = type(case)(**{**vars(case), "node": node, "edges": edges})
        own = zip(parts(moved), messages, weights)
        return sum(w * slow.loss(n, e, right[rows], sent) for (n, e, rows), sent, w in own)

    found = virtual_evidence(case.potentials(), Truth(labels, allowed=allowed, weights=weights))
    np.testing.assert_allclose(found.loss, loss(case.node, case.edges), rtol=1e-9)
    step = 1e-5
    for which, gradient in ((0, found.node_gradient), (1, found.edge_gradient)):
        for cell in np.ndindex(gradient.shape):
            moved = []
            for sign in (1.0, -1.0):
                arrays = [case.node.copy(), case.edges.copy()]
                arrays[which][cell] += sign * step
                moved.append(loss(*arrays))
            difference = (moved[0] - moved[1]) / (2 * step)
            np.testing.assert_allclose(gradient[cell], difference, rtol=1e-5, atol=1e-7)


def test_it_is_not_the_gradient_of_the_value(rng):
    """Nor that of the pseudo-likelihood, whose neighbours are the true ones."""
    case = make_case(rng, 3, [5], per_position=False)
    own = virtual_evidence(case.potentials(), Truth(case.labels))
    for other in (pointwise, pseudo_likelihood):
        assert np.abs(own.edge_gradient - other(case.potentials(), Truth(case.labels)).edge_gradient).max() > 1e-3


def test_messages_that_are_sure_are_true_neighbours(rng):
    """Where neighbours are certain and right, their evidence is what the pseudo-likelihood looks at."""
    case = make_case(rng, 3, [3], per_position=False)
    node = case.node.copy()
    node[[0, 2], case.labels[[0, 2]]] += 200.0
    potentials = chain_from_scores(node, case.edges, case.offsets)
    soft, hard = (objective(potentials, Truth(case.labels)) for objective in (virtual_evidence, pseudo_likelihood))
    np.testing.assert_allclose(soft.node_gradient[1], hard.node_gradient[1], rtol=1e-9)


def test_pieces_do_not_matter(rng, monkeypatch):
    case = make_case(rng, 3, [4, 1, 3, 2], per_position=False)
    whole = virtual_evidence(case.potentials(), Truth(case.labels))
    monkeypatch.setattr(sys.modules[virtual_evidence.__module__], "_PIECE", 20)
    cut = virtual_evidence(case.potentials(), Truth(case.labels))
    np.testing.assert_allclose(cut.loss, whole.loss, rtol=1e-12)
    np.testing.assert_allclose(cut.node_gradient, whole.node_gradient, rtol=1e-12)
    np.testing.assert_allclose(cut.edge_gradient, whole.edge_gradient, rtol=1e-12)


def test_it_is_known_by_its_name_and_apart_from_the_others():
    assert set(BOOSTED).isdisjoint(NAMES)
    assert make_objective("virtual_evidence", n_labels=2) is virtual_evidence
