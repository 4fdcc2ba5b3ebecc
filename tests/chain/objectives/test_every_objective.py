"""Every objective by its name: against the table of all labelings, differences, and the laws that all of them keep."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.chain.edges import chain_from_scores
from hedgerow.chain.inference import Workspace
from hedgerow.chain.objectives import NAMES, make_objective
from hedgerow.chain.potentials import ChainPotentials, Truth
from hedgerow.errors import InputError
from tests.reference import objectives as slow
from tests.reference.cases import Case, cases, make_case

from .laws import FORMS, check_differences, check_gradients, hide, potentials_of, random_costs

HAMMING_RULES = {
    "log_likelihood": lambda K: slow.log_likelihood,
    "pointwise": lambda K: slow.pointwise,
    "expected_accuracy": lambda K: slow.expected_accuracy(1.0 - np.eye(K)),
    "labelwise": lambda K: slow.labelwise(4.0),
    "margin": lambda K: slow.margin(1.0 - np.eye(K)),
    "slack_margin": lambda K: slow.slack_margin(1.0 - np.eye(K)),
    "perceptron": lambda K: slow.perceptron,
    "classification_error": lambda K: slow.classification_error(4.0),
}
SOFT_RULES = {
    "labelwise": lambda: slow.labelwise(4.0, 6.0),
    "classification_error": lambda: slow.classification_error(4.0, 0.7),
}
COST_RULES = {"expected_accuracy": slow.expected_accuracy, "margin": slow.margin, "slack_margin": slow.slack_margin}
PARTIAL = tuple(name for name in NAMES if name != "pseudo_likelihood")


def make(name, K, **options):
    return make_objective(name, n_labels=K, sharpness=4.0, **options)


def test_the_table_names_every_objective():
    assert set(HAMMING_RULES) == set(PARTIAL)


@st.composite
def problems(draw, lengths=(5, 4, 3, 2)):
    """A chunk that is small enough for its table, in some form, with labels hidden and weights."""
    K = draw(st.integers(1, 4))
    longest = lengths[K - 1] + 1
    case = make_case(
        np.random.default_rng(draw(st.integers(0, 2**32 - 1))),
        K,
        draw(st.lists(st.integers(1, longest), min_size=1, max_size=3)),
        scale=draw(st.sampled_from([1.0, 3.0])),
        forbidden=draw(st.sampled_from([0.0, 0.3, 0.6])),
        per_position=draw(st.booleans()),
    )
    form = "position" if case.edges.ndim == 3 else draw(st.sampled_from(["dense", "arcs"]))
    rng = np.random.default_rng(draw(st.integers(0, 999)))
    labels, allowed = hide(case, rng, draw(st.sampled_from([0.0, 0.4, 1.0])))
    return case, form, labels, allowed if draw(st.booleans()) else None, rng.random(len(case.offsets) - 1) + 0.1, rng


@pytest.mark.parametrize("name", PARTIAL)
@settings(max_examples=40)
@given(problem=problems())
def test_loss_and_gradient_equal_the_table(name, problem):
    case, form, labels, allowed, weights, _ = problem
    K = case.node.shape[1]
    expected = slow.loss_and_gradient(HAMMING_RULES[name](K), *case.arrays, labels, allowed, weights)
    found = make(name, K)(potentials_of(case, form), Truth(labels, allowed=allowed, weights=weights))
    check_gradients(found, expected)


@pytest.mark.parametrize("name", SOFT_RULES)
@settings(max_examples=40)
@given(problem=problems())
def test_soft_maxima_equal_the_table(name, problem):
    case, form, labels, allowed, weights, _ = problem
    softness = 6.0 if name == "labelwise" else 0.7
    expected = slow.loss_and_gradient(SOFT_RULES[name](), *case.arrays, labels, allowed, weights)
    objective = make(name, case.node.shape[1], softness=softness)
    check_gradients(objective(potentials_of(case, form), Truth(labels, allowed=allowed, weights=weights)), expected)


@pytest.mark.parametrize("name", COST_RULES)
@settings(max_examples=40)
@given(problem=problems())
def test_costs_equal_the_table(name, problem):
    case, form, labels, allowed, weights, rng = problem
    K = case.node.shape[1]
    costs = random_costs(rng, K, whole=name == "slack_margin")
    if name != "slack_margin":
        costs = costs + 1e-3 * rng.random(costs.shape) * (costs > 0)  # no two labelings tie
    expected = slow.loss_and_gradient(COST_RULES[name](costs), *case.arrays, labels, allowed, weights)
    found = make(name, K, costs=costs)(potentials_of(case, form), Truth(labels, allowed=allowed, weights=weights))
    check_gradients(found, expected)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", NAMES)
def test_gradient_equals_differences(rng, name, form):
    weights = np.array([1.0, 0.5, 2.0])
    for forbidden, share in ((0.0, 0.0), (0.3, 0.5)):
        case = make_case(rng, 4, [5, 1, 7], scale=2.0, forbidden=forbidden, per_position=form == "position")
        labels, allowed = hide(case, rng, 0.0 if name == "pseudo_likelihood" else share)
        truth = Truth(labels, allowed, weights)
        for softness in (None, 0.9) if name in SOFT_RULES else (None,):
            objective = make_objective(name, n_labels=4, sharpness=1.5, softness=softness)
            check_differences(partial(objective, truth=truth), case, form, rng)


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=30)
@given(case=cases(max_labels=4, max_length=5, max_sequences=4), seed=st.integers(0, 99))
def test_a_chunk_is_its_sequences(name, case, seed):
    """Whatever the scale: the loss is a sum, and each sequence has the gradient that it has alone."""
    labels, allowed = hide(case, np.random.default_rng(seed), 0.0 if name == "pseudo_likelihood" else 0.3)
    objective = make(name, case.node.shape[1])
    potentials = case.potentials()
    together = objective(potentials, Truth(labels, allowed=allowed), workspace=Workspace())
    losses, shared = [], np.zeros(case.node.shape[1:] * 2)
    for i in range(potentials.n_sequences):
        rows = potentials.rows(i)
        alone = objective(potentials.sequence(i), Truth(labels[rows], allowed=allowed[rows]))
        losses.append(alone.loss)
        np.testing.assert_allclose(alone.node_gradient, together.node_gradient[rows], rtol=1e-9, atol=1e-11)
        if case.edges.ndim == 3:
            np.testing.assert_allclose(alone.edge_gradient, together.edge_gradient[:, rows], rtol=1e-9, atol=1e-11)
        else:
            shared += alone.edge_gradient
    np.testing.assert_allclose(together.loss, np.sum(losses), rtol=1e-9, atol=1e-10)
    if case.edges.ndim == 2:
        np.testing.assert_allclose(together.edge_gradient, shared, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=40)
@given(case=cases(max_labels=4, max_length=6), seed=st.integers(0, 99))
def test_gradients_are_finite_and_sum_to_zero(name, case, seed):
    """At scores up to a thousand and with most arcs forbidden: adding to all scores of a position changes nothing."""
    labels, allowed = hide(case, np.random.default_rng(seed), 0.0 if name == "pseudo_likelihood" else 0.3)
    found = make(name, case.node.shape[1])(case.potentials(), Truth(labels, allowed=allowed))
    assert np.isfinite(found.loss)
    assert found.loss >= -1e-9
    size = 1.0 + np.abs(found.node_gradient).max()
    np.testing.assert_allclose(found.node_gradient.sum(axis=1), 0.0, rtol=0, atol=1e-10 * size)
    assert np.isfinite(found.edge_gradient).all()
    assert (found.node_gradient[np.isneginf(case.node)] == 0.0).all()
    forbidden = np.isneginf(case.edges)
    if case.edges.ndim == 3:
        forbidden[:, case.offsets[:-1]] = True
    if name != "pseudo_likelihood":
        assert (found.edge_gradient[forbidden] == 0.0).all()


@pytest.mark.parametrize("name", PARTIAL)
def test_forms_of_edges_agree(rng, name):
    case = make_case(rng, 5, [6, 1, 9], scale=2.0, forbidden=0.3)
    labels, allowed = hide(case, rng, 0.3)
    own = Case(case.node, np.repeat(case.edges.T[:, None], len(case.node), axis=1), case.offsets, case.labels)
    objective = make(name, 5)
    dense, arcs, position = (
        objective(potentials_of(c, form), Truth(labels, allowed=allowed))
        for c, form in ((case, "dense"), (case, "arcs"), (own, "position"))
    )
    check_gradients(arcs, (dense.loss, dense.node_gradient, dense.edge_gradient))
    check_gradients(position, (dense.loss, dense.node_gradient, position.edge_gradient))
    np.testing.assert_allclose(position.edge_gradient.sum(axis=1).T, dense.edge_gradient, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("name", NAMES)
def test_weight_two_is_the_sequence_twice(rng, name):
    case = make_case(rng, 3, [4, 2])
    objective = make(name, 3)
    heavy = objective(case.potentials(), Truth(case.labels, weights=np.array([2.0, 1.0])))
    twice = chain_from_scores(np.concatenate([case.node[:4], case.node]), case.edges, [0, 4, 8, 10])
    both = objective(twice, Truth(np.concatenate([case.labels[:4], case.labels])))
    assert heavy.loss == pytest.approx(both.loss, rel=1e-12)
    np.testing.assert_allclose(heavy.edge_gradient, both.edge_gradient, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", PARTIAL)
def test_nothing_known_is_no_loss(rng, name):
    case = make_case(rng, 3, [4, 1, 2], forbidden=0.3)
    found = make(name, 3)(case.potentials(), Truth(np.full(7, -1)))
    assert found.loss == pytest.approx(0.0, abs=1e-12)
    np.testing.assert_allclose(found.node_gradient, 0.0, rtol=0, atol=1e-12)
    np.testing.assert_allclose(found.edge_gradient, 0.0, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", [name for name in PARTIAL if "margin" not in name])
def test_a_set_of_one_is_a_label(rng, name):
    """Not for margins, where a label has costs and an allowed set none."""
    case = make_case(rng, 3, [4, 1, 2])
    sets = make(name, 3)(case.potentials(), Truth(np.full(7, -1), allowed=np.arange(3) == case.labels[:, None]))
    known = make(name, 3)(case.potentials(), Truth(case.labels))
    check_gradients(sets, (known.loss, known.node_gradient, known.edge_gradient))


@pytest.mark.parametrize("name", ["pointwise", "expected_accuracy", "labelwise"])
@pytest.mark.parametrize("form", ["dense", "arcs"])
def test_long_sequences_are_stable(rng, name, form):
    """100,000 positions: the gradient of a cut piece, away from its ends, is that of the whole."""
    case = make_case(rng, 3, [100_000], scale=1.0)
    whole = make(name, 3)(potentials_of(case, form), Truth(case.labels))
    np.testing.assert_allclose(whole.node_gradient.sum(axis=1), 0.0, rtol=0, atol=1e-11)
    middle = slice(70_000, 70_400)
    piece = Case(case.node[middle], case.edges, np.array([0, 400]), case.labels[middle])
    alone = make(name, 3)(potentials_of(piece, form), Truth(piece.labels))
    np.testing.assert_allclose(whole.node_gradient[70_150:70_250], alone.node_gradient[150:250], rtol=1e-8, atol=1e-12)
    into = whole.node_gradient[1:].sum(axis=0)  # every label but the first one is entered by one edge
    np.testing.assert_allclose(whole.edge_gradient.sum(axis=0), into, rtol=0, atol=1e-7)


@pytest.mark.parametrize("name", NAMES)
def test_impossible_truths_are_refused(name):
    stay = np.where(np.eye(2, dtype=bool), 0.0, -np.inf)
    base = chain_from_scores(np.zeros((5, 2)), stay, [0, 2, 5])
    potentials = ChainPotentials(base.node_scores, base.offsets, base.edges, sequence_base=7)
    with pytest.raises(InputError, match="from 1 to 0") as caught:
        make(name, 2)(potentials, Truth(np.array([0, 0, 1, 1, 0])))
    assert (caught.value.sequence, caught.value.position) == (8, 2)
    with pytest.raises(InputError, match="as many labels"):
        make(name, 2)(potentials, Truth(np.array([0])))
    with pytest.raises(InputError, match="as many weights"):
        make(name, 2)(potentials, Truth(np.array([0, 0, 1, 1, 1]), weights=np.ones(3)))
    if name != "pseudo_likelihood":
        with pytest.raises(InputError, match="no legal labeling") as caught:
            make(name, 2)(potentials, Truth(np.array([0, 0, 1, -1, 0])))
        assert (caught.value.sequence, caught.value.position) == (8, 2)
