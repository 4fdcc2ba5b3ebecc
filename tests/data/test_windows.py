"""A corpus under another window, and pieces of its sequences, are what encoding them would give."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.data.encoding import encode, learn
from hedgerow.data.rows import Item
from hedgerow.data.windows import windowed, with_window

from .corpora import corpora

sizes = st.integers(0, 3) | st.tuples(st.integers(0, 3), st.integers(0, 3))
KINDS = {"word": "categorical", "flag": "boolean", "weight": "numeric"}


@given(corpora, sizes, sizes)
def test_another_window_is_what_encoding_for_it_gives(X, one, other):
    y = [["a"] * len(sequence) for sequence in X]
    for columns in (None, KINDS):
        first, second = (learn(X, y, columns=columns, window=window) for window in (one, other))
        moved = with_window(first, windowed(first.schema, other))
        assert moved.equals(second)
        assert moved.schema.window == other
        assert with_window(encode(first.schema, X), moved.schema).equals(encode(second.schema, X))


def test_columns_may_have_windows_of_their_own_and_constants_have_none():
    X = [
        Item([{"word": "a", "weight": 1.5, "names": ["x"]}, {"word": "b", "weight": 2.0}], {"topic": "t", "size": 2.0})
    ]
    windows = [{"word": 2, "*": (1, 0)}, {"weight": (0, 3)}, 0]
    made = [learn(X, [["p", "q"]], columns={"weight": "numeric"}, window=window) for window in windows]
    for one in made:
        for other, window in zip(made, windows):
            assert with_window(one, windowed(one.schema, window)).equals(other)


@pytest.mark.parametrize("window", [0, 2, (1, 0)])
def test_pieces_are_what_encoding_them_gives(window):
    X = [
        [{"word": "abcde"[t], "weight": float(t), "names": ["x", str(t)][: t % 3]} for t in range(5)] for _ in range(3)
    ]
    y = [list("pqpqp"), list("qqppq"), list("ppqqq")]
    whole = learn(X, y, columns={"weight": "numeric"}, window=window)
    pieces = [(2, 1, 3), (0, 0, 2), (2, 4, 1), (1, 0, 5)]
    cut = whole.cut(*(np.array(numbers) for numbers in zip(*pieces)))
    expected = [[rows[i][first : first + n] for i, first, n in pieces] for rows in (X, y)]
    assert cut.equals(encode(whole.schema, *expected))
