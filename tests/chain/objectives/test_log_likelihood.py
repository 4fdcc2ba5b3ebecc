"""The loss by enumeration, its gradient by differences, partial labels, weights, and errors that name the place."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.chain.edges import chain_from_scores
from hedgerow.chain.inference import Workspace
from hedgerow.chain.objectives import log_likelihood
from hedgerow.chain.potentials import ChainPotentials, Truth
from hedgerow.errors import InputError
from tests.reference.cases import cases, make_case
from tests.reference.enumeration import enumerate_chunk


def permitted(labels, allowed, n_labels):
    """bool (n, K): what the true label may be."""
    known = np.arange(n_labels) == labels[:, None]
    free = np.ones_like(known) if allowed is None else allowed
    return np.where((labels < 0)[:, None], free, known)


def expected_loss(arrays, labels, allowed=None, weights=None):
    node, _, offsets = arrays
    may_be = permitted(labels, allowed, node.shape[1])
    losses = []
    for every, begin in zip(enumerate_chunk(*arrays), offsets):
        rows = np.arange(every.shape[0])
        fits = np.array([may_be[begin + rows, y].all() for y in every.labelings])
        losses.append(-np.log(every.probs[fits].sum()))
    return float(np.dot(losses, np.ones(len(losses)) if weights is None else weights))


def hide(case, rng, share):
    """Labels with some unknown, and sets that hold the truth."""
    labels = np.where(rng.random(len(case.labels)) < share, -1, case.labels)
    allowed = rng.random(case.node.shape) < 0.6
    allowed[np.arange(len(labels)), case.labels] = True
    return labels, allowed


@settings(max_examples=80)
@given(
    case=cases(max_labels=3, max_length=4, max_sequences=3),
    seed=st.integers(0, 999),
    share=st.sampled_from([0.0, 0.3, 1.0]),
    sets=st.booleans(),
)
def test_loss_equals_enumeration(case, seed, share, sets):
    rng = np.random.default_rng(seed)
    labels, allowed = hide(case, rng, share)
    allowed = allowed if sets else None
    weights = rng.random(len(case.offsets) - 1)
    with np.errstate(divide="ignore"):
        expected = expected_loss(case.arrays, labels, allowed, weights)
    if np.isfinite(expected):  # at a scale of 1000 the table's probabilities are 0
        found = log_likelihood(case.potentials(), Truth(labels, allowed=allowed, weights=weights))
        np.testing.assert_allclose(found.loss, expected, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("per_position", [False, True])
@pytest.mark.parametrize("share", [0.0, 0.5])
@pytest.mark.parametrize("forbidden", [0.0, 0.4])
def test_gradient_equals_differences(rng, per_position, share, forbidden):
    case = make_case(rng, 3, [4, 1, 3], forbidden=forbidden, per_position=per_position)
    labels, allowed = hide(case, rng, share)
    weights = np.array([1.0, 0.5, 2.0])

    def loss(node, edges):
        potentials = chain_from_scores(node, edges, case.offsets)
        return log_likelihood(potentials, Truth(labels, allowed=allowed, weights=weights))

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


@settings(max_examples=30)
@given(case=cases())
def test_unlabelled_sequences_have_no_loss(case):
    found = log_likelihood(case.potentials(), Truth(np.full(len(case.node), -1)))
    assert found.loss == pytest.approx(0.0, abs=1e-8)
    np.testing.assert_allclose(found.node_gradient, 0.0, rtol=0, atol=1e-9)
    np.testing.assert_allclose(found.edge_gradient, 0.0, rtol=0, atol=1e-9)


def test_a_set_of_one_is_a_label(rng):
    case = make_case(rng, 4, [5, 3])
    allowed = np.arange(4) == case.labels[:, None]
    sets = log_likelihood(case.potentials(), Truth(np.full(8, -1), allowed=allowed))
    labels = log_likelihood(case.potentials(), Truth(case.labels))
    assert sets.loss == pytest.approx(labels.loss, rel=1e-12)
    np.testing.assert_allclose(sets.node_gradient, labels.node_gradient, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(sets.edge_gradient, labels.edge_gradient, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("share", [0.0, 0.5])
def test_weight_two_is_the_sequence_twice(rng, share):
    case = make_case(rng, 3, [4, 2])
    labels, _ = hide(case, rng, share)
    heavy = log_likelihood(case.potentials(), Truth(labels, weights=np.array([2.0, 1.0])))
    twice = chain_from_scores(np.concatenate([case.node[:4], case.node]), case.edges, [0, 4, 8, 10])
    both = log_likelihood(twice, Truth(np.concatenate([labels[:4], labels])))
    assert heavy.loss == pytest.approx(both.loss, rel=1e-12)
    np.testing.assert_allclose(heavy.edge_gradient, both.edge_gradient, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(heavy.node_gradient[:4], 2 * both.node_gradient[:4], rtol=1e-10, atol=1e-12)


def test_a_workspace_changes_nothing(rng):
    case = make_case(rng, 3, [4, 2])
    labels, _ = hide(case, rng, 0.4)
    work = Workspace()
    kept, fresh = (log_likelihood(case.potentials(), Truth(labels), workspace) for workspace in (work, None))
    assert kept.loss == fresh.loss
    np.testing.assert_array_equal(kept.node_gradient, fresh.node_gradient)


class TestErrors:
    stay = np.where(np.eye(2, dtype=bool), 0.0, -np.inf)

    def potentials(self, node=None):
        base = chain_from_scores(np.zeros((5, 2)) if node is None else node, self.stay, [0, 2, 5])
        return ChainPotentials(base.node_scores, base.offsets, base.edges, sequence_base=7)

    def test_truth_over_a_forbidden_transition(self):
        with pytest.raises(InputError, match="from 1 to 0") as caught:
            log_likelihood(self.potentials(), Truth(np.array([0, 0, 1, 1, 0])))
        assert (caught.value.sequence, caught.value.position) == (8, 2)

    def test_truth_that_is_not_allowed(self):
        node = np.zeros((5, 2))
        node[1, 0] = -np.inf
        with pytest.raises(InputError, match="true label 0 is not allowed") as caught:
            log_likelihood(self.potentials(node), Truth(np.array([0, 0, 1, 1, 1])))
        assert (caught.value.sequence, caught.value.position) == (7, 1)

    def test_partial_truth_that_no_labeling_fits(self):
        with pytest.raises(InputError, match="no legal labeling") as caught:
            log_likelihood(self.potentials(), Truth(np.array([0, 0, 1, -1, 0])))
        assert (caught.value.sequence, caught.value.position) == (8, 2)

    def test_a_label_that_does_not_exist(self):
        with pytest.raises(InputError, match="label 2") as caught:
            log_likelihood(self.potentials(), Truth(np.array([0, 0, 1, 2, 1])))
        assert (caught.value.sequence, caught.value.position) == (8, 1)

    def test_too_few_labels_or_weights(self):
        with pytest.raises(InputError, match="as many labels"):
            log_likelihood(self.potentials(), Truth(np.array([0])))
        with pytest.raises(InputError, match="as many weights"):
            log_likelihood(self.potentials(), Truth(np.array([0, 0, 1, 1, 1]), weights=np.ones(3)))
