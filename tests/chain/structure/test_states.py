from __future__ import annotations

import itertools

import numpy as np
import pytest

from hedgerow.chain.edges import chain_from_scores
from hedgerow.chain.inference import log_partition
from hedgerow.chain.structure import StateSpace
from hedgerow.errors import InputError

NAMES = ["O", "B-X", "I-X", "B-Y", "I-Y"]
NAMES_S = ["O", "B-X", "I-X", "E-X", "S-X", "B-Y", "I-Y", "E-Y", "S-Y"]


def is_iob2(tags):
    """By the definition: every I goes on with a chunk of its kind."""
    before = "O"
    for tag in tags:
        if tag[0] == "I" and (before == "O" or before[1:] != tag[1:]):
            return False
        before = tag
    return True


def is_iob1(tags):
    """By the definition: B only directly after a chunk of the same kind."""
    return all(tag[0] != "B" or (before != "O" and before[1:] == tag[1:]) for before, tag in zip(["O", *tags], tags))


def is_bioes(tags):
    """By the definition: cut into O, S and B I* E of one kind."""
    inside = None
    for tag in tags:
        if inside is None:
            if tag[0] in "IE":
                return False
            inside = tag[1:] if tag[0] == "B" else None
        else:
            if tag[0] not in "IE" or tag[1:] != inside:
                return False
            inside = None if tag[0] == "E" else inside
    return inside is None


def legal(space, labels):
    moves = all(space.transitions[u, v] for u, v in itertools.pairwise(labels))
    return bool(space.start[labels[0]] and moves and space.end[labels[-1]])


@pytest.mark.parametrize(
    ("names", "scheme", "definition"),
    [
        (NAMES, "iob1", is_iob1),
        (NAMES, "iob2", is_iob2),
        (NAMES, "bio", is_iob2),
        ([name.replace("-", "_") for name in NAMES], "iob2", is_iob2),
        (["I", "O", "B"], "iob2", is_iob2),
        (NAMES_S, "bioes", is_bioes),
        (NAMES_S, "iobes", is_bioes),
        (["O", "B", "I", "E", "S"], "bioes", is_bioes),
    ],
)
def test_schemes_equal_their_definitions(names, scheme, definition):
    space = StateSpace.from_scheme(names, scheme)
    for length in (1, 2, 3, 4):
        for labels in itertools.product(range(len(names)), repeat=length):
            assert legal(space, labels) == definition([names[v] for v in labels])


def test_bilou_is_bioes_by_other_letters():
    other = [name.replace("E-", "L-").replace("S-", "U-") for name in NAMES_S]
    bilou, bioes = StateSpace.from_scheme(other, "bilou"), StateSpace.from_scheme(NAMES_S, "bioes")
    np.testing.assert_array_equal(bilou.transitions, bioes.transitions)
    np.testing.assert_array_equal(bilou.end, bioes.end)


@pytest.mark.parametrize(
    ("name", "scheme"),
    [("NP", "iob2"), ("E-X", "iob2"), ("B-", "iob2"), ("BX", "bioes"), ("O-X", "iob1"), ("", "iob1"), ("B.X", "iob2")],
)
def test_names_that_do_not_fit(name, scheme):
    with pytest.raises(InputError, match="does not fit"):
        StateSpace.from_scheme(["O", name], scheme)


def test_unknown_scheme():
    with pytest.raises(InputError, match=r"no scheme 'bmes'.*iob1"):
        StateSpace.from_scheme(["O"], "bmes")


def test_observed():
    labels = np.array([0, 1, 1, 2, -1, 0, 1])
    space = StateSpace.observed(labels, np.array([0, 3, 3, 7]), 3)  # the second sequence is empty
    assert np.argwhere(space.transitions).tolist() == [[0, 1], [1, 1]]
    assert space.start.tolist() == [True, False, True]
    assert space.end.tolist() == [False, True, False]


def test_forbid_and_intersect():
    full = StateSpace.full(3)
    assert full.is_full()
    less = full.forbid([(0, 1), (2, 2)])
    assert not less.transitions[0, 1]
    assert not less.transitions[2, 2]
    assert less.transitions.sum() == 7
    assert full.is_full()  # the first one is not changed
    both = less.intersect(StateSpace.observed(np.array([0, 1, 2]), np.array([0, 3]), 3))
    assert np.argwhere(both.transitions).tolist() == [[1, 2]]
    assert both.start.tolist() == [True, False, False]
    assert both.end.tolist() == [False, False, True]
    assert np.argwhere(less.transitions).tolist() == [[0, 0], [0, 2], [1, 0], [1, 1], [1, 2], [2, 0], [2, 1]]


def test_scores_count_the_legal_labelings():
    space = StateSpace.from_scheme(NAMES_S, "bioes")
    potentials = chain_from_scores(np.zeros((4, 9)), space.edge_scores)
    potentials.add_start_end(space.start_scores, space.end_scores)
    count = sum(is_bioes([NAMES_S[v] for v in y]) for y in itertools.product(range(9), repeat=4))
    np.testing.assert_allclose(log_partition(potentials), np.log(count), rtol=1e-12)


def test_parts_that_do_not_fit_together():
    with pytest.raises(InputError, match="do not fit"):
        StateSpace(np.ones(2, dtype=bool), np.ones((3, 3), dtype=bool), np.ones(2, dtype=bool))
    with pytest.raises(InputError, match="do not fit"):
        StateSpace.full(2).intersect(StateSpace.full(3))
    with pytest.raises(InputError, match="not between"):
        StateSpace.full(2).forbid([(0, 2)])
