from __future__ import annotations

import numpy as np
import pytest

from hedgerow.chain.edges import PositionEdges, SharedEdges, chain_from_scores
from hedgerow.chain.potentials import ChainPotentials, Truth
from hedgerow.errors import InputError
from tests.reference.cases import make_case


def test_shared_edges(rng):
    scores = rng.normal(size=(5, 5))
    scores[1, 3] = -np.inf
    edges = SharedEdges.from_scores(scores)
    assert edges.exps.shape == (8, 8)
    np.testing.assert_array_equal(edges.exps[:5, :5], np.exp(scores - edges.shift))
    np.testing.assert_array_equal(edges.exps_to, edges.exps.T)
    np.testing.assert_array_equal(edges.scores_to[:, 0], scores.T)
    assert not edges.exps[5:].any()
    assert edges.exps.max() == 1.0
    assert SharedEdges.from_scores(np.full((2, 2), -np.inf)).shift == 0.0


def test_few_arcs_become_lists(rng):
    scores = np.where(rng.random((40, 40)) < 0.05, 0.0, -np.inf)
    assert SharedEdges.from_scores(scores).arcs is not None
    assert SharedEdges.from_scores(scores, sparse=False).arcs is None
    assert SharedEdges.from_scores(np.zeros((40, 40))).arcs is None
    lists = SharedEdges.from_scores(scores).arcs
    out_from = np.repeat(np.arange(40), np.diff(lists.out.ptr))
    assert list(zip(out_from, lists.out.ends)) == list(zip(*np.nonzero(scores == 0.0)))


def test_start_and_end_scores():
    potentials = chain_from_scores(np.zeros((6, 2)), np.zeros((2, 2)), [0, 1, 3, 6])
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
        np.testing.assert_array_equal(part.edges.scores_to, case.edges[:, rows])
        np.testing.assert_array_equal(one.edges.scores_to, case.edges[:, 7:10])


def test_restrict_copies(rng):
    potentials = make_case(rng, 3, [4]).potentials()
    allowed = rng.random((4, 3)) < 0.5
    less = potentials.restrict(allowed)
    np.testing.assert_array_equal(np.isneginf(less.node_scores), ~allowed)
    assert np.isfinite(potentials.node_scores).all()
    with pytest.raises(InputError, match="allowed has shape"):
        potentials.restrict(allowed[:2])


def test_known_labels(rng):
    potentials = make_case(rng, 3, [4]).potentials()
    possible = potentials.permitted(Truth(np.array([-1, 2, 0, -1]))).tolist()
    assert possible == [[True] * 3, [False, False, True], [True, False, False], [True] * 3]


def test_arrays_that_do_not_fit_together():
    with pytest.raises(InputError, match="do not fit edges of 3"):
        chain_from_scores(np.zeros((4, 2)), np.zeros((3, 3)))
    with pytest.raises(InputError, match="offsets must run"):
        chain_from_scores(np.zeros((4, 2)), np.zeros((2, 2)), [0, 3])
    with pytest.raises(InputError, match="no positions") as caught:
        chain_from_scores(np.zeros((4, 2)), np.zeros((2, 2)), [0, 3, 3, 4])
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


@pytest.fixture
def chunk():
    """Sequences 7 and 8, of three and of two positions, with two labels."""
    edges = SharedEdges.from_scores(np.zeros((2, 2)))
    return ChainPotentials(np.zeros((5, 2)), np.array([0, 3, 5]), edges, 7)


def test_labels_are_checked_and_stay_as_they_are(chunk):
    assert chunk.check_labels([0, -1, 1, 1, 0]).tolist() == [0, -1, 1, 1, 0]
    assert chunk.check_labels([0, 0, 1, 1, 0], complete=True).tolist() == [0, 0, 1, 1, 0]


@pytest.mark.parametrize(
    ("labels", "complete", "what", "place"),
    [
        ([0, 0, 1, 2, 0], False, "label 2 is not one of 0 … 1, nor −1 for unknown", (8, 0)),
        ([0, -2, 1, 1, 0], False, "label -2 is not one of 0 … 1, nor −1 for unknown", (7, 1)),
        ([0, 0, 1, 1, -1], True, "label -1 is not one of 0 … 1$", (8, 1)),
        ([0, 0, 1], False, r"5 positions need as many labels, not shape \(3,\)", (None, None)),
    ],
)
def test_a_label_that_does_not_exist(chunk, labels, complete, what, place):
    with pytest.raises(InputError, match=what) as caught:
        chunk.check_labels(labels, complete=complete)
    assert (caught.value.sequence, caught.value.position) == place


def test_weights_are_those_of_the_sequence(chunk):
    assert chunk.spread_weights(None).tolist() == [1.0] * 5
    assert chunk.spread_weights(np.array([2.0, 0.5])).tolist() == [2.0, 2.0, 2.0, 0.5, 0.5]
    with pytest.raises(InputError, match="2 sequences need as many weights"):
        chunk.spread_weights(np.ones(5))


def test_what_an_unknown_label_may_be(chunk):
    labels = np.array([0, 1, 1, -1, 0])
    assert chunk.partly_labelled(labels).tolist() == [1]
    assert chunk.permitted(Truth(labels))[3:].tolist() == [[True, True], [True, False]]
    allowed = np.zeros((5, 2), dtype=bool)
    allowed[3, 1] = True
    part, rows = chunk.fitting(np.array([1]), Truth(labels, allowed))
    assert rows.tolist() == [3, 4]
    assert np.isfinite(part.node_scores).tolist() == [[False, True], [True, False]]
    assert part.sequence_number(0) == 8
