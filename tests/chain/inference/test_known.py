"""What is known of the labels of a chunk."""

from __future__ import annotations

import numpy as np
import pytest

from hedgerow.chain.inference.known import checked_labels, partial_sequences, permitted, spread_weights
from hedgerow.chain.potentials import ChainPotentials, SharedEdges
from hedgerow.errors import InputError


@pytest.fixture
def potentials():
    """Sequences 7 and 8, of three and of two positions, with two labels."""
    edges = SharedEdges.from_scores(np.zeros((2, 2)))
    return ChainPotentials(np.zeros((5, 2)), np.array([0, 3, 5]), edges, 7)


def test_labels_are_checked_and_stay_as_they_are(potentials):
    assert checked_labels(potentials, [0, -1, 1, 1, 0]).tolist() == [0, -1, 1, 1, 0]
    assert checked_labels(potentials, [0, 0, 1, 1, 0], complete=True).tolist() == [0, 0, 1, 1, 0]


@pytest.mark.parametrize(
    ("labels", "complete", "what", "place"),
    [
        ([0, 0, 1, 2, 0], False, "label 2 is not one of 0 … 1, nor −1 for unknown", (8, 0)),
        ([0, -2, 1, 1, 0], False, "label -2 is not one of 0 … 1, nor −1 for unknown", (7, 1)),
        ([0, 0, 1, 1, -1], True, "label -1 is not one of 0 … 1$", (8, 1)),
        ([0, 0, 1], False, r"5 positions need as many labels, not shape \(3,\)", (None, None)),
    ],
)
def test_a_label_that_does_not_exist(potentials, labels, complete, what, place):
    with pytest.raises(InputError, match=what) as caught:
        checked_labels(potentials, labels, complete=complete)
    assert (caught.value.sequence, caught.value.position) == place


def test_weights_are_those_of_the_sequence(potentials):
    assert spread_weights(potentials, None).tolist() == [1.0] * 5
    assert spread_weights(potentials, np.array([2.0, 0.5])).tolist() == [2.0, 2.0, 2.0, 0.5, 0.5]
    with pytest.raises(InputError, match="2 sequences need as many weights"):
        spread_weights(potentials, np.ones(5))


def test_what_an_unknown_label_may_be(potentials):
    labels = np.array([0, 1, 1, -1, 0])
    assert partial_sequences(potentials, labels).tolist() == [False, True]
    part, rows = potentials.take(np.array([1]))
    assert permitted(part, labels[rows], None, rows).tolist() == [[True, True], [True, False]]
    allowed = np.zeros((5, 2), dtype=bool)
    allowed[3, 1] = True
    assert permitted(part, labels[rows], allowed, rows).tolist() == [[False, True], [True, False]]
