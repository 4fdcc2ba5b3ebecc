"""The loss by its definition, its gradient by differences and by the printed formula, weights, and errors."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.chain.edges import chain_from_scores
from hedgerow.chain.objectives import log_likelihood, pseudo_likelihood
from hedgerow.chain.potentials import Truth
from hedgerow.errors import InputError
from tests.reference import pseudo_likelihood as slow
from tests.reference.cases import cases, make_case
from tests.reference.enumeration import enumerate_chunk


@settings(max_examples=80)
@given(case=cases(max_labels=3, max_length=4, max_sequences=3), seed=st.integers(0, 999))
def test_loss_equals_its_definition(case, seed):
    weights = np.random.default_rng(seed).random(len(case.offsets) - 1)
    with np.errstate(divide="ignore"):
        expected = float(np.dot(slow.loss(*case.arrays, case.labels), weights))
    found = pseudo_likelihood(case.potentials(), Truth(case.labels, weights=weights))
    if np.isfinite(expected):  # at a scale of 1000 a probability may be 0
        np.testing.assert_allclose(found.loss, expected, rtol=1e-9, atol=1e-9)


def test_the_definition_equals_enumeration(rng):
    """P(y_t | the others) from the table of all labelings."""
    case = make_case(rng, 3, [4, 1, 3], per_position=True)
    found = slow.conditional(*case.arrays, case.labels)
    for every, begin in zip(enumerate_chunk(*case.arrays), case.offsets):
        length = every.shape[0]
        truth = case.labels[begin : begin + length]
        for t in range(length):
            others = np.delete(np.arange(length), t)
            same = (every.labelings[:, others] == truth[others]).all(axis=1)
            probs = np.array([every.probs[same & (every.labelings[:, t] == v)].sum() for v in range(3)])
            np.testing.assert_allclose(found[begin + t], probs / probs.sum(), rtol=1e-9)


@pytest.mark.parametrize("per_position", [False, True])
@pytest.mark.parametrize("forbidden", [0.0, 0.4])
def test_gradient_equals_differences(rng, per_position, forbidden):
    case = make_case(rng, 3, [4, 1, 3], forbidden=forbidden, per_position=per_position)
    weights = np.array([1.0, 0.5, 2.0])

    def loss(node, edges):
        return pseudo_likelihood(chain_from_scores(node, edges, case.offsets), Truth(case.labels, weights=weights))

    at = loss(case.node, case.edges)
    step = 1e-5
    for which, gradient in ((0, at.node_gradient), (1, at.edge_gradient)):
        for cell in np.ndindex(gradient.shape):
            moved = []
            for sign in (1.0, -1.0):
                arrays = [case.node.copy(), case.edges.copy()]
                arrays[which][cell] += sign * step
                moved.append(loss(*arrays).loss)
            difference = (moved[0] - moved[1]) / (2 * step)
            np.testing.assert_allclose(gradient[cell], difference, rtol=1e-5, atol=1e-7)


def test_gradient_equals_the_formula(rng):
    """I(k'=y_{t−1})·[p_t(k) − I(k=y_t)] + I(t≥2)·I(k=y_t)·[p_{t−1}(k') − I(k'=y_{t−1})]; a start: the first."""
    case = make_case(rng, 3, [4, 1, 3], per_position=True)
    found = pseudo_likelihood(case.potentials(), Truth(case.labels))
    probs, y = slow.conditional(*case.arrays, case.labels), case.labels
    for t in range(8):
        if t in case.offsets:
            np.testing.assert_allclose(found.node_gradient[t], probs[t] - (np.arange(3) == y[t]), atol=1e-12)
            np.testing.assert_array_equal(found.edge_gradient[:, t], 0.0)
            continue
        for k in range(3):
            for u in range(3):
                first = (u == y[t - 1]) * (probs[t, k] - (k == y[t]))
                second = (k == y[t]) * (probs[t - 1, u] - (u == y[t - 1]))
                np.testing.assert_allclose(found.edge_gradient[k, t, u], first + second, atol=1e-12)


def test_shared_edges_sum_the_gradients_of_positions(rng):
    case = make_case(rng, 4, [5, 2, 1])
    own = np.broadcast_to(case.edges.T[:, None], (4, 8, 4))
    shared = pseudo_likelihood(case.potentials(), Truth(case.labels))
    each = pseudo_likelihood(chain_from_scores(case.node, own, case.offsets), Truth(case.labels))
    assert shared.loss == pytest.approx(each.loss, rel=1e-12)
    np.testing.assert_allclose(shared.edge_gradient, each.edge_gradient.sum(axis=1).T, atol=1e-12)


def test_one_position_has_the_likelihood(rng):
    case = make_case(rng, 3, [1, 1, 1])
    one, other = (f(case.potentials(), Truth(case.labels)) for f in (pseudo_likelihood, log_likelihood))
    assert one.loss == pytest.approx(other.loss, rel=1e-12)
    np.testing.assert_allclose(one.node_gradient, other.node_gradient, atol=1e-12)


class TestErrors:
    def test_an_unknown_label(self):
        potentials = chain_from_scores(np.zeros((5, 2)), np.zeros((2, 2)), [0, 2, 5])
        with pytest.raises(InputError, match="pseudo-likelihood needs every label") as caught:
            pseudo_likelihood(potentials, Truth(np.array([0, 1, 0, -1, 0])))
        assert (caught.value.sequence, caught.value.position) == (1, 1)

    def test_a_truth_that_is_forbidden(self):
        stay = np.where(np.eye(2, dtype=bool), 0.0, -np.inf)
        potentials = chain_from_scores(np.zeros((5, 2)), stay, [0, 2, 5])
        with pytest.raises(InputError, match="from 1 to 0") as caught:
            pseudo_likelihood(potentials, Truth(np.array([0, 0, 1, 1, 0])))
        assert (caught.value.sequence, caught.value.position) == (1, 2)

    def test_labels_and_weights_that_do_not_fit(self):
        potentials = chain_from_scores(np.zeros((5, 2)), np.zeros((2, 2)), [0, 2, 5])
        with pytest.raises(InputError, match="as many labels"):
            pseudo_likelihood(potentials, Truth(np.array([0])))
        with pytest.raises(InputError, match="as many weights"):
            pseudo_likelihood(potentials, Truth(np.zeros(5, dtype=int), weights=np.ones(3)))
