"""Sequence accuracy."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.errors import InputError
from hedgerow.metrics import sequence_accuracy


@pytest.mark.parametrize(
    ("y_true", "y_pred", "expected"),
    [
        ([["a", "b"], ["a"]], [["a", "b"], ["a"]], 1.0),
        ([["a", "b"], ["a"]], [["a", "a"], ["a"]], 0.5),
        ([["a", "b"], ["a", "b"]], [["a", "a"], ["b", "b"]], 0.0),  # equal lengths: not a table
        ([["a", None], ["a", "b"]], [["a", "b"], ["a", "a"]], 0.5),  # None can not be wrong
        ([["a"], [None], ["b"]], [["b"], ["a"], ["b"]], 0.5),  # the second has nothing to judge
        ([["a"], [], ["b"], []], [["b"], [], ["b"], []], 0.5),
    ],
)
def test_by_hand(y_true: list[list[str]], y_pred: list[list[str]], expected: float) -> None:
    assert sequence_accuracy(y_true, y_pred) == expected


@given(st.lists(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=4), min_size=1))
def test_is_the_share_of_equal_lists(rows: list[list[tuple[bool, bool]]]) -> None:
    y_true = [[int(a) for a, _ in row] for row in rows]
    y_pred = [[int(b) for _, b in row] for row in rows]
    expected = sum(a == b for a, b in zip(y_true, y_pred)) / len(rows)
    assert sequence_accuracy(y_true, y_pred) == pytest.approx(expected, rel=1e-12)


def test_nothing_to_score_is_an_error() -> None:
    with pytest.raises(InputError, match="no labelled position"):
        sequence_accuracy([[None]], [["a"]])
