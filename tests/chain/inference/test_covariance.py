"""Covariances along a direction: the complex step, messages that underflow, weights, workspaces and errors."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.chain.edges import chain_from_scores
from hedgerow.chain.inference import Workspace, covariance, marginals
from hedgerow.errors import InputError
from tests.chain.objectives.laws import FORMS, in_form
from tests.examples import examples
from tests.reference import chain as reference
from tests.reference import covariance as slow
from tests.reference.cases import Case, cases, make_case


def directions(case, rng):
    return rng.normal(size=case.node.shape), rng.normal(size=case.edges.shape)


def summed(case, pairs):
    """(K, n, K) as the edges of the case are: summed for shared ones."""
    return pairs if case.edges.ndim == 3 else pairs.sum(axis=1).T


def test_the_complex_step_equals_the_table(rng):
    """One oracle against the other."""
    for per_position in (False, True):
        case = make_case(rng, 3, [4, 1, 3], forbidden=0.3, per_position=per_position)
        along = directions(case, rng)
        nodes, pairs = slow.complex_step(*case.arrays, *along)
        expected = slow.covariance(*case.arrays, *along)
        np.testing.assert_allclose(nodes, expected[0], rtol=1e-10, atol=1e-14)
        np.testing.assert_allclose(summed(case, pairs), expected[1], rtol=1e-10, atol=1e-14)


def test_complex_marginals_of_real_scores(rng):
    case = make_case(rng, 4, [6, 1, 3], forbidden=0.3, per_position=True)
    nodes, pairs = slow.complex_marginals(*case.arrays)
    np.testing.assert_allclose(nodes, reference.node_probs(*case.arrays), rtol=1e-10, atol=1e-14)
    np.testing.assert_allclose(pairs, reference.edge_probs(*case.arrays), rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("form", FORMS)
def test_equal_to_the_complex_step(rng, form):
    """On sequences too long for any table."""
    case = make_case(rng, 7, [80, 1, 33], scale=2.0, forbidden=0.3, per_position=form == "position")
    along = directions(case, rng)
    nodes, pairs = slow.complex_step(*case.arrays, *along)
    found = covariance(in_form(form, *case.arrays), *along)
    np.testing.assert_allclose(found.node, nodes, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found.edges, summed(case, pairs), rtol=1e-9, atol=1e-12)


@examples(60)
@given(case=cases(max_labels=4, max_length=4, max_sequences=3), seed=st.integers(0, 99), edges=st.booleans())
def test_any_scale_equals_the_table(case, seed, edges):
    """Up to a thousand, where scaled messages are lost: those sequences are redone in the log domain."""
    nodes, pairs = directions(case, np.random.default_rng(seed))
    expected = slow.covariance(*case.arrays, nodes, pairs if edges else 0.0 * pairs)
    found = covariance(case.potentials(), nodes, pairs if edges else None)
    np.testing.assert_allclose(found.node, expected[0], rtol=1e-7, atol=1e-10)
    np.testing.assert_allclose(found.edges, expected[1], rtol=1e-7, atol=1e-10)


def underflowing_case(rng, per_position):
    """Two labels that never mix, one better at first and the other later: scaled messages lose the second."""
    steps = np.concatenate([np.tile([10.0, 0.0], (100, 1)), np.tile([0.0, 10.02], (100, 1))])
    easy = rng.normal(size=(30, 2))
    node = np.concatenate([easy, steps, easy])
    edges = np.where(np.eye(2, dtype=bool), 0.3, -np.inf)
    if per_position:
        edges = np.repeat(edges.T[:, None], len(node), axis=1)
    return Case(node, edges, np.array([0, 30, 230, 260]), np.zeros(len(node), dtype=int))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("edges", [False, True])
def test_sequences_that_underflow(rng, form, edges):
    """Beside others in a chunk, with weights. Two labelings a sequence: Cov = p (1 − p) times their difference."""
    case = underflowing_case(rng, form == "position")
    potentials = in_form(form, *case.arrays)
    assert list(potentials.edges.messages(potentials, None).redone) == [1]
    nodes, pairs = directions(case, rng)
    weights = np.array([0.5, 2.0, 3.0])
    found = covariance(potentials, nodes, pairs if edges else None, weights=weights)
    expected_edges = np.zeros(found.edges.shape)
    for i, weight in enumerate(weights):
        rows = potentials.rows(i)
        scores = case.node[rows].sum(axis=0)
        p = 1.0 / (1.0 + np.exp(scores[1] - scores[0]))
        along = nodes[rows].sum(axis=0)
        inner = np.arange(rows.start + 1, rows.stop)
        if edges:
            own = pairs[:, inner] if form == "position" else np.repeat(pairs.T[:, None], len(inner), axis=1)
            along = along + np.array([own[v, :, v].sum() for v in (0, 1)])
        move = weight * p * (1.0 - p) * (along[0] - along[1])
        np.testing.assert_allclose(found.node[rows], np.tile([move, -move], (len(inner) + 1, 1)), rtol=1e-7)
        for v, sign in ((0, 1.0), (1, -1.0)):
            if form == "position":
                expected_edges[v, inner, v] = sign * move
            else:
                expected_edges[v, v] += sign * move * len(inner)
    np.testing.assert_allclose(found.edges, expected_edges, rtol=1e-7, atol=1e-10)


@pytest.mark.parametrize("form", FORMS)
def test_edge_marginals_come_along(rng, form):
    case = make_case(rng, 3, [5, 2, 7], per_position=form == "position")
    potentials, weights = in_form(form, *case.arrays), np.array([1.0, 0.25, 3.0])
    found = covariance(potentials, *directions(case, rng), weights=weights)
    expected = marginals(potentials, None, weights).edges
    if form == "position":
        expected = expected * np.repeat(weights, np.diff(case.offsets))[:, None]
    np.testing.assert_allclose(found.edge_marginals, expected, rtol=1e-12, atol=1e-15)


def test_laws(rng):
    """A direction that is the same for all labels of a position moves nothing; covariances are symmetric."""
    case = make_case(rng, 4, [6, 3], per_position=True)
    potentials = case.potentials()
    flat = covariance(potentials, np.repeat(rng.normal(size=(9, 1)), 4, axis=1))
    np.testing.assert_allclose(flat.node, 0.0, rtol=0, atol=1e-14)
    one, other = directions(case, rng), directions(case, rng)
    for array in (one[1], other[1]):
        array[:, case.offsets[:-1]] = 0.0
    found = covariance(potentials, *one), covariance(potentials, *other)
    crossed = (found[0].node * other[0]).sum() + (found[0].edges * other[1]).sum()
    back = (found[1].node * one[0]).sum() + (found[1].edges * one[1]).sum()
    assert crossed == pytest.approx(back, rel=1e-10)
    assert (found[0].node * one[0]).sum() + (found[0].edges * one[1]).sum() > 0.0


def test_a_workspace_changes_nothing(rng):
    work = Workspace()
    for K, lengths in ((3, [4, 2]), (5, [9]), (3, [1]), (3, [300, 4])):
        case = make_case(rng, K, lengths)
        along = directions(case, rng)
        kept, fresh = covariance(case.potentials(), *along, workspace=work), covariance(case.potentials(), *along)
        np.testing.assert_array_equal(kept.node, fresh.node)
        np.testing.assert_array_equal(kept.edges, fresh.edges)


def test_directions_that_do_not_fit():
    potentials = chain_from_scores(np.zeros((5, 2)), np.zeros((2, 2)))
    with pytest.raises(InputError, match="does not fit nodes"):
        covariance(potentials, np.zeros((5, 3)))
    with pytest.raises(InputError, match="does not fit edges"):
        covariance(potentials, np.zeros((5, 2)), np.zeros((2, 5, 2)))
