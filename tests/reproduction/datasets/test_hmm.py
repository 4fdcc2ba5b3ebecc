"""The thesis' hidden Markov model: its probabilities, as the text gives them."""

from __future__ import annotations

import numpy as np
import pytest

from hedgerow.errors import InputError
from reproduction.datasets import make_hmm


def test_shape_and_seed():
    X, y = make_hmm(7, 5, random_state=3)
    assert [len(x) for x in X] == [len(labels) for labels in y] == [5] * 7
    assert (X, y) == make_hmm(7, 5, random_state=3)
    assert (X, y) != make_hmm(7, 5, random_state=4)
    assert make_hmm(1, 1)[0][0][0].startswith("o")


def test_the_probabilities_are_those_of_the_text():
    X, y = make_hmm(400, 200)
    labels = np.array([[int(label[1:]) for label in row] for row in y])
    symbols = np.array([[int(symbol[1:]) for symbol in row] for row in X])
    assert set(np.unique(symbols)) == set(range(1, 25))
    stays = labels[:, 1:] == labels[:, :-1]
    np.testing.assert_allclose(stays.mean(), 0.6, atol=0.01)
    for i in (1, 2, 3):
        own = (symbols >= 8 * i - 7) & (symbols <= 8 * i)
        np.testing.assert_allclose(own[labels == i].mean(), 0.6, atol=0.01)
        shown = np.bincount(symbols[labels == i], minlength=25)[1:] / (labels == i).sum()
        np.testing.assert_allclose(shown[8 * i - 8 : 8 * i], 0.075, atol=0.008)
        np.testing.assert_allclose(np.delete(shown, np.arange(8 * i - 8, 8 * i)), 0.025, atol=0.006)
        moved = labels[:, 1:][(labels[:, :-1] == i) & ~stays]
        np.testing.assert_allclose((moved == moved.max()).mean(), 0.5, atol=0.02)


@pytest.mark.parametrize("sizes", [(0, 5), (5, 0)])
def test_sizes_that_make_no_sense(sizes):
    with pytest.raises(InputError):
        make_hmm(*sizes)
