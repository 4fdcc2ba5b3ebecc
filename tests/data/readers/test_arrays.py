"""Flat arrays with lengths, padded arrays and sparse rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.data.readers.arrays import SparseRows, split_lengths
from hedgerow.data.sequences import Sequences
from hedgerow.errors import InputError


def test_a_matrix_of_numbers() -> None:
    given = np.array([[1, 2], [3, np.nan], [5, 6]])
    X, y = split_lengths(given, [1, 2], np.array([0, 1, 2]))
    assert isinstance(X, Sequences)
    assert X.kinds == {"0": "numeric", "1": "numeric"}
    np.testing.assert_array_equal(X.columns["1"], [2, np.nan, 6])
    assert np.shares_memory(X.columns["1"], given)  # the encoder copies it into its place, and nobody else does
    assert y is not None
    assert y.tolist() == [[0], [1, 2]]
    assert all(type(label) is int for labels in y for label in labels)


def test_kinds_by_dtype() -> None:
    assert split_lengths(np.ones((2, 1), dtype=bool), [2])[0].kinds == {"0": "boolean"}
    assert split_lengths(np.array([1, 2]), [2])[0].kinds == {"0": "numeric"}
    assert split_lengths([[1, 2], [3, 4]], [2])[0].kinds == {"0": "numeric", "1": "numeric"}
    mixed = np.array([["a", 1.5], [None, 2]], dtype=object)
    assert split_lengths(mixed, [2])[0].kinds == {"0": "categorical", "1": "numeric"}


@pytest.mark.parametrize("tokens", [["a", None, "c"], np.array(["a", None, "c"], dtype=object), ("a", None, "c")])
def test_tokens_are_one_column(tokens: Any) -> None:
    X, y = split_lengths(tokens, [2, 1], np.array(["X", "Y", "X"]))
    assert list(X) == [[{"token": "a"}, {"token": None}], [{"token": "c"}]]
    assert y is not None
    assert all(type(label) is str for labels in y for label in labels)


def test_rows_for_the_encoder_are_only_cut() -> None:
    dicts = [{"a": 1}, {"b": 2}, {}]
    assert split_lengths(dicts, [1, 2])[0] == [[{"a": 1}], [{"b": 2}, {}]]
    assert split_lengths([["p"], ["q", "r"], []], [2, 1])[0] == [[["p"], ["q", "r"]], [[]]]


def test_padding_is_left_out() -> None:
    X, y = split_lengths(np.arange(12.0).reshape(2, 3, 2), [3, 1], [["a", "b", "c"], ["d", "", ""]])
    assert X.columns["0"].tolist() == [0, 2, 4, 6]
    assert y is not None
    assert y.tolist() == [["a", "b", "c"], ["d"]]
    X, y = split_lengths(np.zeros((2, 3, 2)), y=np.zeros((2, 3), dtype=int))
    assert X.lengths.tolist() == [3, 3]
    assert y is not None
    assert y.shape == (2,)


def test_labels_may_be_missing() -> None:
    _, y = split_lengths(["a", "b", "c"], [3], [None, "X", float("nan")])
    assert y is not None
    assert y[0] == [None, "X", None]


@pytest.mark.parametrize(
    ("X", "lengths", "y", "message"),
    [
        (np.zeros((3, 1)), [1, 1], None, "X has 3 positions and lengths add up to 2"),
        (np.zeros((3, 1)), None, None, "need lengths"),
        (np.zeros((3, 1)), [3, 0], None, "sequence 1: its length is 0"),
        (np.zeros((3, 1)), [1.5, 1.5], None, "list of integers"),
        (np.zeros((3, 1)), [], None, "list of integers"),
        (np.zeros((3, 1)), [[1], [2, 3]], None, "differ in length"),
        (np.zeros((3, 1)), [3], ["a"], "X has 3 positions and y has 1 labels"),
        (np.zeros((3, 1)), [3], [1.5, 1, 1], "1.5 cannot be a label"),
        (np.zeros((1, 1, 1, 1)), [1], None, "4 dimensions"),
        ([[1, 2], [3]], [2], None, "differ in length"),
        (["a", 1], [2], None, "sequence 0, position 1, column 'token'"),
        (np.array([[1.0], [2.0], [np.inf]]), [1, 2], None, "sequence 1, position 1, column '0': infinite"),
        (np.zeros((2, 3, 1)), [3], None, "2 sequences and lengths has 1"),
        (np.zeros((2, 3, 1)), [3, 4], None, "sequence 1: its length is 4 where X has 3"),
        (np.zeros((2, 3, 1)), None, np.zeros((2, 2)), "y is \\(2, 2\\)"),
    ],
)
def test_input_errors(X: Any, lengths: Any, y: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        split_lengths(X, lengths, y)


@given(st.lists(st.integers(1, 4), min_size=1, max_size=5), st.data())
def test_sparse_rows_index_like_an_array(lengths: list[int], data: Any) -> None:
    dense = np.arange(sum(lengths) * 2.0).reshape(-1, 2) % 3
    X, _ = split_lengths(scipy.sparse.csc_array(dense), lengths)
    assert isinstance(X, SparseRows)
    expected = np.split(dense, np.cumsum(lengths)[:-1])
    picked = np.array(data.draw(st.lists(st.integers(0, len(lengths) - 1))), dtype=np.int64)
    for key in (picked, picked.tolist(), (picked, ...), np.isin(np.arange(len(lengths)), picked), slice(1, None)):
        chosen = X[key]
        kept = np.arange(len(lengths))[key[0] if isinstance(key, tuple) else key]
        assert chosen.shape == (len(kept),) == (len(chosen),)
        assert chosen.lengths.tolist() == [lengths[i] for i in kept]
        assert chosen.matrix is X.matrix
        for rows, i in zip(chosen, kept):
            np.testing.assert_array_equal(rows.toarray(), expected[i])
        assert chosen[::-1].lengths.tolist() == [lengths[i] for i in kept[::-1]]
    np.testing.assert_array_equal(X[-1].toarray(), expected[-1])


def test_sparse_errors() -> None:
    with pytest.raises(InputError, match="sequence 1, position 0, column '1'"):
        split_lengths(scipy.sparse.csr_array([[1.0, 0], [0, np.nan]]), [1, 1])
    with pytest.raises(InputError, match="offsets"):
        SparseRows(scipy.sparse.csr_array((3, 1)), np.array([0, 2]))
    with pytest.raises(InputError, match="X has 3 positions"):
        split_lengths(scipy.sparse.csr_array((3, 1)), [2])
