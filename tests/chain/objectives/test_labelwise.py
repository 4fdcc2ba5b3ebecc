"""Labelwise accuracy: the count of errors that it approaches, 003's own recursions, and its soft maximum."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.chain.decoding import posterior
from hedgerow.chain.edges import chain_from_scores
from hedgerow.chain.objectives import make_objective
from hedgerow.chain.objectives.labelwise import Labelwise
from hedgerow.chain.potentials import Truth
from tests.reference import chain as reference
from tests.reference import labelwise as slow
from tests.reference import objectives as table
from tests.reference.cases import make_case


def rivals(probs, labels):
    """The best wrong label of each position."""
    wrong = np.where(np.arange(probs.shape[1]) == labels[:, None], -1.0, probs)
    return np.argmax(wrong, axis=1)


@pytest.mark.parametrize("per_position", [False, True])
def test_equal_to_the_recursions_of_the_paper(rng, per_position):
    """(16)–(22) for y* = y and for y* = ỹ, with the term of the quotient rule."""
    case = make_case(rng, 4, [12, 1, 7], scale=1.5, per_position=per_position)
    probs, rows = reference.node_probs(*case.arrays), np.arange(20)
    other = rivals(probs, case.labels)
    sharpness = 6.0
    q = 1.0 / (1.0 + np.exp(-sharpness * (probs[rows, case.labels] - probs[rows, other])))
    slopes = sharpness * q * (1.0 - q)
    right, wrong = (slow.gradient(*case.arrays, target, slopes) for target in (case.labels, other))
    found = Labelwise(sharpness)(case.potentials(), Truth(case.labels))
    assert found.loss == pytest.approx((1.0 - q).sum(), rel=1e-10)
    np.testing.assert_allclose(found.node_gradient, wrong[0] - right[0], rtol=1e-8, atol=1e-12)
    pairs = wrong[1] - right[1]
    expected = pairs if per_position else pairs.sum(axis=1).T
    np.testing.assert_allclose(found.edge_gradient, expected, rtol=1e-8, atol=1e-12)


def test_the_recursions_give_the_other_losses_too(rng):
    """Footnote 5: log(x) is the pointwise loss, x the expected accuracy."""
    case = make_case(rng, 3, [9, 4])
    true_probs = reference.node_probs(*case.arrays)[np.arange(13), case.labels]
    for name, slopes in (("pointwise", 1.0 / true_probs), ("expected_accuracy", np.ones(13))):
        nodes, pairs = slow.gradient(*case.arrays, case.labels, slopes)
        found = make_objective(name, n_labels=3)(case.potentials(), Truth(case.labels))
        np.testing.assert_allclose(found.node_gradient, -nodes, rtol=1e-8, atol=1e-12)
        np.testing.assert_allclose(found.edge_gradient, -pairs.sum(axis=1).T, rtol=1e-8, atol=1e-12)


def test_the_recursions_equal_the_table(rng):
    """One oracle against the other."""
    case = make_case(rng, 3, [4, 1, 3])
    for target, slopes in ((case.labels, rng.random(8)), (rng.integers(3, size=8), rng.normal(size=8))):
        nodes, pairs = slow.gradient(*case.arrays, target, slopes)
        position = iter(zip(case.offsets[:-1], case.offsets[1:]))

        def rule(chunk, position=position, target=target, slopes=slopes):
            begin, end = next(position)
            own = (np.arange(3) == target[begin:end, None]) * slopes[begin:end, None]
            return 0.0, chunk.from_marginals(own)

        _, expected, expected_pairs = table.loss_and_gradient(rule, *case.arrays, case.labels)
        np.testing.assert_allclose(nodes, expected, rtol=1e-9, atol=1e-13)
        np.testing.assert_allclose(pairs.sum(axis=1).T, expected_pairs, rtol=1e-9, atol=1e-13)


@settings(max_examples=20)
@given(seed=st.integers(0, 9999), K=st.integers(2, 5), softness=st.sampled_from([None, 1e5]))
def test_approaches_the_number_of_errors(seed, K, softness):
    rng = np.random.default_rng(seed)
    case = make_case(rng, K, [20, 1, 9], scale=2.0)
    potentials = case.potentials()
    errors = (posterior(potentials) != case.labels).sum()
    losses = [Labelwise(s, softness)(potentials, Truth(case.labels)).loss for s in (1e1, 1e3, 1e6)]
    distance = np.abs(np.array(losses) - errors)
    assert distance[2] < 0.05
    assert distance[2] <= distance[0]


def test_a_steep_step_overflows_nowhere(rng):
    case = make_case(rng, 3, [6], scale=3.0)
    found = Labelwise(1e300)(case.potentials(), Truth(case.labels))
    assert found.loss == (posterior(case.potentials()) != case.labels).sum()
    assert np.isfinite(found.node_gradient).all()


def test_two_labels_have_no_softness(rng):
    """The soft maximum of one wrong label is that label."""
    case = make_case(rng, 2, [7, 3])
    hard = Labelwise(5.0)(case.potentials(), Truth(case.labels))
    hard_nodes = hard.node_gradient.copy()
    soft = Labelwise(5.0, 0.3)(case.potentials(), Truth(case.labels))
    assert soft.loss == pytest.approx(hard.loss, rel=1e-12)
    np.testing.assert_allclose(soft.node_gradient, hard_nodes, rtol=1e-9, atol=1e-13)


def test_the_soft_maximum_is_bounded(rng):
    """It exceeds the maximum by at most log(K − 1) / s, so the loss is larger, and tends to the hard one."""
    case = make_case(rng, 5, [30], scale=2.0)
    hard = Labelwise(5.0)(case.potentials(), Truth(case.labels)).loss
    soft = [Labelwise(5.0, s)(case.potentials(), Truth(case.labels)).loss for s in (1.0, 10.0, 100.0, 1e4)]
    assert sorted(soft, reverse=True) == soft
    assert soft[-1] == pytest.approx(hard, rel=1e-3)
    assert soft[-1] >= hard


def test_of_equal_rivals_the_lowest():
    potentials = chain_from_scores(np.zeros((1, 3)), np.zeros((3, 3)))
    found = Labelwise(4.0)(potentials, Truth(np.array([1])))
    c = 4.0 * 0.25 * np.array([1.0, -1.0, 0.0])  # d loss / d P: the rival of label 1 is label 0
    np.testing.assert_allclose(found.node_gradient[0], (c - c.sum() / 3.0) / 3.0, rtol=1e-12, atol=1e-15)
