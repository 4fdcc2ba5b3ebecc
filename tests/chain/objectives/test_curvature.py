"""Hessians times a direction: differences of gradients, the complex step, the table, and what belongs to a Hessian."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.chain.inference import Workspace
from hedgerow.chain.objectives import CURVATURES, log_likelihood, pseudo_likelihood
from hedgerow.chain.potentials import Truth
from tests.reference import covariance as slow
from tests.reference.cases import cases, make_case

from .laws import FORMS, hide, in_form, potentials_of

BOTH = (log_likelihood, pseudo_likelihood)


def directions(case, rng):
    return rng.normal(size=case.node.shape), rng.normal(size=case.edges.shape)


@pytest.mark.parametrize("objective", BOTH)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("share", [0.0, 0.5])
def test_equal_to_differences_of_gradients(rng, objective, form, share):
    case = make_case(rng, 4, [6, 1, 9], scale=1.5, forbidden=0.3, per_position=form == "position")
    labels, allowed = hide(case, rng, share if objective is log_likelihood else 0.0)
    along = directions(case, rng)
    truth = Truth(labels, allowed, np.array([1.0, 0.5, 2.0]))
    found = CURVATURES[objective](potentials_of(case, form), truth, along)

    def gradients(step):
        at = in_form(form, case.node + step * along[0], case.edges + step * along[1], case.offsets)
        result = objective(at, truth)
        return np.concatenate([result.node_gradient.ravel(), result.edge_gradient.ravel()])

    def difference(h):
        return (gradients(h) - gradients(-h)) / (2 * h)

    expected = (4 * difference(5e-4) - difference(1e-3)) / 3
    products = np.concatenate([found.node_product.ravel(), found.edge_product.ravel()])
    np.testing.assert_allclose(products, expected, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("objective", BOTH)
@settings(max_examples=40)
@given(case=cases(max_labels=4, max_length=5), seed=st.integers(0, 99))
def test_the_gradient_comes_along(objective, case, seed):
    """At any scale: loss and gradient are those of the objective, and the products are finite."""
    rng = np.random.default_rng(seed)
    labels, allowed = hide(case, rng, 0.3 if objective is log_likelihood else 0.0)
    truth = Truth(labels, allowed, rng.random(len(case.offsets) - 1))
    work = Workspace()
    found = CURVATURES[objective](case.potentials(), truth, directions(case, rng), workspace=work)
    plain = objective(case.potentials(), truth)
    np.testing.assert_allclose(found.loss, plain.loss, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found.node_gradient, plain.node_gradient, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(found.edge_gradient, plain.edge_gradient, rtol=1e-8, atol=1e-10)
    assert np.isfinite(found.node_product).all()
    assert np.isfinite(found.edge_product).all()
    np.testing.assert_allclose(found.node_product.sum(axis=1), 0.0, rtol=0, atol=1e-10)


@pytest.mark.parametrize("form", FORMS)
def test_equal_to_the_complex_step(rng, form):
    """(12) of 004: nothing is subtracted there, so all digits count."""
    case = make_case(rng, 5, [40, 1, 17], scale=2.0, forbidden=0.2, per_position=form == "position")
    along = directions(case, rng)
    nodes, pairs = slow.complex_step(*case.arrays, *along)
    found = CURVATURES[log_likelihood](potentials_of(case, form), Truth(case.labels), along)
    np.testing.assert_allclose(found.node_product, nodes, rtol=1e-9, atol=1e-12)
    expected = pairs if form == "position" else pairs.sum(axis=1).T
    np.testing.assert_allclose(found.edge_product, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("objective", BOTH)
def test_symmetric_and_never_negative(rng, objective):
    case = make_case(rng, 3, [7, 2], per_position=True)
    one, other = directions(case, rng), directions(case, rng)

    def times(along, with_direction):
        found = CURVATURES[objective](case.potentials(), Truth(case.labels), along)
        inner = found.edge_product * with_direction[1]
        return (found.node_product * with_direction[0]).sum() + inner.sum()

    for pairs in (one[1], other[1]):
        pairs[:, case.offsets[:-1]] = 0.0
    assert times(one, other) == pytest.approx(times(other, one), rel=1e-9)
    assert times(one, one) > 0.0


@pytest.mark.parametrize("objective", BOTH)
def test_a_chunk_is_its_sequences(rng, objective):
    case = make_case(rng, 3, [5, 1, 8])
    along = directions(case, rng)
    potentials = case.potentials()
    together = CURVATURES[objective](potentials, Truth(case.labels), along)
    sums = np.zeros((3, 3))
    for i in range(3):
        rows = potentials.rows(i)
        alone = CURVATURES[objective](potentials.sequence(i), Truth(case.labels[rows]), (along[0][rows], along[1]))
        np.testing.assert_allclose(alone.node_product, together.node_product[rows], rtol=1e-10, atol=1e-13)
        sums += alone.edge_product
    np.testing.assert_allclose(together.edge_product, sums, rtol=1e-10, atol=1e-13)
