"""The covariance kernels of every form of edges against the table of all labelings, whole and cut into calls."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.chain.inference import covariance
from hedgerow.chain.kernels import covariance as dense
from hedgerow.chain.workspace import Workspace
from tests.chain.objectives.laws import FORMS, in_form
from tests.examples import examples
from tests.reference import covariance as slow
from tests.reference.cases import make_case


@st.composite
def problems(draw):
    """A small chunk in some form, and a direction for its nodes and edges."""
    form = draw(st.sampled_from(FORMS))
    case = make_case(
        np.random.default_rng(draw(st.integers(0, 2**32 - 1))),
        draw(st.integers(1, 4)),
        draw(st.lists(st.integers(1, 4), min_size=1, max_size=3)),
        scale=draw(st.sampled_from([0.0, 1.0, 5.0])),
        forbidden=draw(st.sampled_from([0.0, 0.4, 0.8])),
        per_position=form == "position",
    )
    rng = np.random.default_rng(draw(st.integers(0, 999)))
    return case, form, rng.normal(size=case.node.shape), rng.normal(size=case.edges.shape)


@examples(100)
@given(problem=problems(), edges=st.booleans())
def test_equal_to_the_table(problem, edges):
    case, form, nodes, pairs = problem
    expected = slow.covariance(*case.arrays, nodes, pairs if edges else 0.0 * pairs)
    found = covariance(in_form(form, *case.arrays), nodes, pairs if edges else None)
    np.testing.assert_allclose(found.node, expected[0], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found.edges, expected[1], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("edges", [False, True])
def test_calls_may_be_cut_anywhere(rng, monkeypatch, form, edges):
    """A call leaves its state in the arrays: pieces of three positions give the same bits."""
    case = make_case(rng, 3, [5, 1, 9, 2], per_position=form == "position")
    nodes, pairs = rng.normal(size=case.node.shape), rng.normal(size=case.edges.shape)
    potentials = in_form(form, *case.arrays)
    whole = covariance(potentials, nodes, pairs if edges else None)
    calls = []

    def pieces(n, _, *, first=0, back=False):
        calls.append(n)
        cut = [(t0, min(t0 + 3, n)) for t0 in range(first, n, 3)]
        return cut[::-1] if back else cut

    monkeypatch.setattr("hedgerow.chain.workspace.slices", pieces)
    cut = covariance(potentials, nodes, pairs if edges else None)
    assert calls
    np.testing.assert_array_equal(cut.node, whole.node)
    np.testing.assert_allclose(cut.edges, whole.edges, rtol=1e-12, atol=1e-14)  # sums of four against sums of three


@examples(50)
@given(problem=problems())
def test_padding_and_impossible_labels_stay_zero(problem):
    """What is not a label, and what no labeling passes, has no past and no future."""
    case, form, nodes, pairs = problem
    work = Workspace()
    covariance(in_form(form, *case.arrays), nodes, pairs, workspace=work)
    K = case.node.shape[1]
    for rows in (work.past, work.future):
        np.testing.assert_array_equal(rows[:, K:], 0.0)
        assert (rows[:, :K][work.node_probs == 0.0] == 0.0).all()


def test_what_should_be_zero_does_not_add_up(rng):
    """Also where the probabilities of a position have strayed from a sum of 1, as they do along a sequence."""
    case = make_case(rng, 3, [5000])
    work = Workspace()
    nodes = rng.normal(size=case.node.shape)
    covariance(case.potentials(), nodes, workspace=work)
    work.node_probs *= 1.0 + 1e-9 * rng.random((5000, 1))
    edges, first = case.potentials().edges, case.potentials().first
    dense.past(edges.exps_to, work.moment_rows(first, nodes * work.node_probs), 0, 5000)
    np.testing.assert_allclose(work.moved.sum(axis=1), 0.0, rtol=0, atol=1e-15)
