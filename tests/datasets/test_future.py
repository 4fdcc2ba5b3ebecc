"""Made sequences whose labels depend on what comes later."""

from __future__ import annotations

import numpy as np
import pytest

from hedgerow.datasets import make_future
from hedgerow.datasets.future import KINDS, any_ahead, pattern_of_future
from hedgerow.errors import InputError


def bits_of(X, i):
    """(T, 8): the bits of one sequence."""
    own = slice(X.offsets[i], X.offsets[i + 1])
    return np.array([X.columns[f"x{j + 1}"][own] for j in range(8)]).T


def label(kind, bits, t, bag):
    """The label of position t, word for word as the thesis says it."""
    y_local = sum(bits[t, :6]) >= 4
    end = len(bits) if bag is None else min(len(bits), t + 1 + bag)
    y_bag = False
    for s in range(t + 1, end):
        if sum(bits[s, :6]) <= 1:
            y_bag = True
    if kind == "xor":
        return int(y_local != y_bag)
    if kind == "or":
        return int(y_local or y_bag)
    return int(sum(bits[t, :6]) + y_bag >= 4)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("bag", [6, 1, None])
def test_labels_are_those_of_the_thesis(kind, bag):
    X, y = make_future(kind, 20, 30, bag=bag, random_state=2)
    assert X.lengths.tolist() == [30] * 20
    for i, labels in enumerate(y):
        bits = bits_of(X, i)
        assert labels == [label(kind, bits, t, bag) for t in range(30)]


def test_shape_and_seed():
    X, y = make_future("xor", 3, 5, random_state=7)
    assert list(X.columns) == [f"x{i + 1}" for i in range(8)]
    assert [type(labels) for labels in y] == [list] * 3
    again, same = make_future("xor", 3, 5, random_state=7)
    assert same.tolist() == y.tolist()
    assert all((again.columns[name] == X.columns[name]).all() for name in X.columns)
    assert make_future("xor", 3, 5, random_state=8)[1].tolist() != y.tolist()
    assert len(make_future("or", 1, 1)[1][0]) == 1


def test_half_of_the_bags_are_positive():
    """As the thesis says of six positions; those near the end have fewer."""
    X, _ = make_future("or", 2000, 12, random_state=0)
    ahead = any_ahead(pattern_of_future(X), X.offsets).reshape(2000, 12)
    np.testing.assert_allclose(ahead[:, :6].mean(), 1 - (57 / 64) ** 6, atol=0.02)
    np.testing.assert_allclose(pattern_of_future(X).mean(), 7 / 64, atol=0.01)
    assert not ahead[:, -1].any()


def test_the_local_label_alone_is_worth_what_it_is():
    """XOR is a coin to whoever sees its own position alone."""
    X, y = make_future("xor", 2000, 12, random_state=1)
    bits = np.array([X.columns[f"x{j + 1}"] for j in range(6)])
    local = (bits.sum(axis=0) >= 4).reshape(2000, 12)[:, :6]
    labels = np.array(y.tolist())[:, :6] == 1
    np.testing.assert_allclose((local == labels).mean(), 0.5, atol=0.02)


@pytest.mark.parametrize("wrong", [{"kind": "and"}, {"n_sequences": 0}, {"length": 0}, {"bag": 0}])
def test_what_makes_no_sense(wrong):
    with pytest.raises(InputError):
        make_future(**{"kind": "xor", **wrong})
