"""Pointwise likelihood where the true labels are all but impossible."""

from __future__ import annotations

import numpy as np
import pytest

from hedgerow.chain.edges import chain_from_scores
from hedgerow.chain.inference import log_partition
from hedgerow.chain.objectives import log_likelihood, pointwise
from hedgerow.chain.potentials import Truth
from tests.reference.cases import make_case

from .laws import FORMS, in_form


def test_one_position_has_the_likelihood(rng):
    case = make_case(rng, 3, [1, 1, 1])
    one, other = pointwise(case.potentials(), Truth(case.labels)), log_likelihood(case.potentials(), Truth(case.labels))
    assert one.loss == pytest.approx(other.loss, rel=1e-12)
    np.testing.assert_allclose(one.node_gradient, other.node_gradient, rtol=1e-10, atol=1e-13)


def test_labels_that_are_sure_of_each_other(rng):
    """Edges that only allow to stay: one label decides all, and T of them count T times."""
    stay = np.where(np.eye(2, dtype=bool), 0.0, -np.inf)
    node = rng.normal(size=(6, 2))
    potentials = chain_from_scores(node, stay)
    labels = np.ones(6, dtype=int)
    assert pointwise(potentials, Truth(labels)).loss == pytest.approx(
        6 * log_likelihood(potentials, Truth(labels)).loss, rel=1e-10
    )


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("gap", [500.0, 660.0, 700.0, 800.0, 5000.0])
def test_probabilities_that_are_not_floats(rng, form, gap):
    """P_t(y_t) = e^{−gap}: the loss and the gradient are those of sums restricted to the label, in the log domain."""
    case = make_case(rng, 3, [4, 3, 5], per_position=form == "position")
    node = case.node.copy()
    node[5, case.labels[5]] -= gap
    potentials = in_form(form, node, case.edges, case.offsets)
    found = pointwise(potentials, Truth(case.labels, weights=np.array([1.0, 0.5, 2.0])))
    loss, nodes, pairs = 0.0, np.zeros(node.shape), np.zeros(case.edges.shape)
    for t, weight in enumerate(np.repeat([1.0, 0.5, 2.0], [4, 3, 5])):
        labels = np.full(12, -1)
        labels[t] = case.labels[t]
        one = log_likelihood(in_form(form, node, case.edges, case.offsets), Truth(labels))
        loss += weight * one.loss
        nodes += weight * one.node_gradient
        pairs += weight * one.edge_gradient
    assert found.loss == pytest.approx(loss, rel=1e-10)
    assert found.loss > 0.4 * gap
    np.testing.assert_allclose(found.node_gradient, nodes, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(found.edge_gradient, pairs, rtol=1e-8, atol=1e-10)


def test_an_allowed_set_that_is_all_but_impossible(rng):
    """log of Σ_{v∈A} P_t(v), where each of them is e^{−900} or so."""
    node = rng.normal(size=(5, 4))
    node[2, 1:3] -= 900.0
    edges = rng.normal(size=(4, 4))
    allowed = np.ones((5, 4), dtype=bool)
    allowed[2] = [False, True, True, False]
    potentials = chain_from_scores(node, edges)
    found = pointwise(potentials, Truth(np.full(5, -1), allowed=allowed))
    inside = log_partition(potentials.restrict(allowed))[0]
    assert found.loss == pytest.approx(log_partition(potentials)[0] - inside, rel=1e-12)
    np.testing.assert_allclose(
        found.node_gradient,
        log_likelihood(potentials, Truth(np.full(5, -1), allowed=allowed)).node_gradient,
        rtol=1e-9,
        atol=1e-12,
    )
