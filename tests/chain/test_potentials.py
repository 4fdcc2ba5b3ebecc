from __future__ import annotations

import numpy as np
import pytest

from hedgerow.chain.potentials import ChainPotentials, PositionEdges, SharedEdges
from hedgerow.errors import InputError
from tests.reference.cases import make_case


def test_shared_edges(rng):
    scores = rng.normal(size=(5, 5))
    scores[1, 3] = -np.inf
    edges = SharedEdges.from_scores(scores)
    assert edges.forbids
    assert edges.exps.shape == (8, 8)
    np.testing.assert_array_equal(edges.exps[:5, :5], np.exp(scores - edges.shift))
    np.testing.assert_array_equal(edges.exps_to, edges.exps.T)
    np.testing.assert_array_equal(edges.scores_to[:, 0], scores.T)
    assert not edges.exps[5:].any()
    assert edges.exps.max() == 1.0
    assert not SharedEdges.from_scores(np.zeros((2, 2))).forbids
    assert SharedEdges.from_scores(np.full((2, 2), -np.inf)).shift == 0.0


def test_few_arcs_become_lists(rng):
    scores = np.where(rng.random((40, 40)) < 0.05, 0.0, -np.inf)
    assert SharedEdges.from_scores(scores).arcs is not None
    assert SharedEdges.from_scores(scores, sparse=False).arcs is None
    assert SharedEdges.from_scores(np.zeros((40, 40))).arcs is None
    lists = SharedEdges.from_scores(scores).arcs
    assert list(zip(lists.out_from, lists.out_to)) == list(zip(*np.nonzero(scores == 0.0)))


def test_start_and_end_scores():
    potentials = ChainPotentials.from_scores(np.zeros((6, 2)), np.zeros((2, 2)), [0, 1, 3, 6])
    potentials.add_start_end(np.array([1.0, 2.0]), np.array([10.0, 20.0]))
    assert potentials.node_scores[:, 0].tolist() == [11.0, 1.0, 10.0, 1.0, 0.0, 10.0]
    assert potentials.node_scores[:, 1].tolist() == [22.0, 2.0, 20.0, 2.0, 0.0, 20.0]


@pytest.mark.parametrize("per_position", [False, True])
def test_sequences_of_a_chunk(rng, per_position):
    case = make_case(rng, 3, [2, 4, 1, 3], per_position=per_position)
    potentials = case.potentials()
    part, rows = potentials.take(np.array([3, 1]))
    assert rows.tolist() == [7, 8, 9, 2, 3, 4, 5]
    assert part.offsets.tolist() == [0, 3, 7]
    np.testing.assert_array_equal(part.node_scores, case.node[rows])
    assert part.place(4) == (1, 1)  # row 4 of the part is position 1 of sequence 1
    one = potentials.sequence(3)
    np.testing.assert_array_equal(one.node_scores, case.node[7:10])
    assert one.place(2) == (3, 2)
    if per_position:
        np.testing.assert_array_equal(part.edges.scores, case.edges[:, rows])
        np.testing.assert_array_equal(one.edges.scores, case.edges[:, 7:10])


def test_restrict_copies(rng):
    potentials = make_case(rng, 3, [4]).potentials()
    allowed = rng.random((4, 3)) < 0.5
    less = potentials.restrict(allowed)
    np.testing.assert_array_equal(np.isneginf(less.node_scores), ~allowed)
    assert np.isfinite(potentials.node_scores).all()
    with pytest.raises(InputError, match="allowed has shape"):
        potentials.restrict(allowed[:2])


def test_force(rng):
    potentials = make_case(rng, 3, [4]).potentials().force(np.array([-1, 2, 0, -1]))
    possible = np.isfinite(potentials.node_scores).tolist()
    assert possible == [[True] * 3, [False, False, True], [True, False, False], [True] * 3]


def test_arrays_that_do_not_fit_together():
    with pytest.raises(InputError, match="do not fit edges of 3"):
        ChainPotentials.from_scores(np.zeros((4, 2)), np.zeros((3, 3)))
    with pytest.raises(InputError, match="offsets must run"):
        ChainPotentials.from_scores(np.zeros((4, 2)), np.zeros((2, 2)), [0, 3])
    with pytest.raises(InputError, match="no positions") as caught:
        ChainPotentials.from_scores(np.zeros((4, 2)), np.zeros((2, 2)), [0, 3, 3, 4])
    assert caught.value.sequence == 1
    with pytest.raises(InputError, match="table"):
        SharedEdges.from_scores(np.zeros((2, 3)))
    with pytest.raises(InputError, match="to, positions, from"):
        PositionEdges.from_scores(np.zeros((2, 4, 3)))


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_edge_scores_that_are_no_numbers(wrong):
    table = np.zeros((2, 4, 2))
    table[1, 3, 0] = wrong
    with pytest.raises(InputError, match="row 3 is NaN"):
        PositionEdges.from_scores(table)
    with pytest.raises(InputError, match="NaN"):
        SharedEdges.from_scores(table[:, 3])
