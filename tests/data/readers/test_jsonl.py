"""JSON lines: the three forms, labels, and errors by line."""

from __future__ import annotations

import io
import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.data.readers.jsonl import label_jsonl, read_jsonl
from hedgerow.data.sequences import Sequences
from hedgerow.errors import InputError


def lines_of(*records: Any) -> list[str]:
    return [json.dumps(record) for record in records]


def test_tokens() -> None:
    X, y = read_jsonl(['{"tokens": ["a", "b"], "labels": ["X", 1], "id": 7}', "", '{"tokens": [null, ["p", "q"]]}'])
    assert X == [["a", "b"], [None, ["p", "q"]]]
    assert y is not None
    assert y.shape == (2,)
    assert y.tolist() == [["X", 1], [None, None]]


def test_features_are_left_to_the_encoder() -> None:
    record = {"features": [{"w": "a", "n": 1, "s": {"x": [1]}}]}
    X, y = read_jsonl(lines_of(record))
    assert [record["features"]] == X
    assert y is None


def test_columns_have_kinds_by_type() -> None:
    first = {"w": ["a", None], "n": [1, 2.5], "b": [True, None], "l": [["p"], []], "e": [None, None], "c": "en"}
    second = {"w": ["b"], "n": [None], "b": [False], "l": [None], "e": [None], "c": "de"}
    X, _ = read_jsonl(lines_of({"columns": first}, {"columns": second}))
    assert isinstance(X, Sequences)
    kinds = {"w": "categorical", "n": "numeric", "b": "boolean", "l": "attributes", "e": "categorical"}
    assert X.kinds == kinds | {"c": "categorical"}
    assert X.columns["w"].tolist() == ["a", None, "b"]
    np.testing.assert_array_equal(X.columns["n"], [1, 2.5, np.nan])
    assert X.columns["b"].tolist() == [True, None, False]
    assert X.columns["l"].tolist() == [["p"], [], []]
    assert X.constants["c"].tolist() == ["en", "de"]
    assert X.lengths.tolist() == [2, 1]


def test_a_list_of_labels_says_which_are_allowed() -> None:
    _, y = read_jsonl(lines_of({"tokens": ["a", "b", "c"], "labels": [["X", "Y"], None, 2.0]}))
    assert y is not None
    assert y[0] == [{"X", "Y"}, None, 2]


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({}, "has no sequence"),
        ({"tokens": ["a"], "features": [{}]}, "'tokens' and 'features'"),
        ({"columns": {"w": ["a"]}}, "'columns' where the lines before have 'tokens'"),
        ({"tokens": []}, "empty sequence"),
        ({"tokens": "abc"}, "'tokens' is str"),
        ({"tokens": [1]}, "1 is not text"),
        ({"tokens": ["a"], "labels": ["X", "Y"]}, "1 positions and 2 labels"),
        ({"tokens": ["a"], "labels": "X"}, "labels 'X'"),
        ({"tokens": ["a"], "labels": [1.5]}, "1.5 cannot be a label"),
        ({"tokens": ["a"], "labels": [[]]}, "allowed labels"),
        ({"tokens": ["\ud800"]}, "valid Unicode"),
        ([1], "not an object"),
    ],
)
def test_a_bad_line_is_named(record: Any, message: str) -> None:
    with pytest.raises(InputError, match=message) as error:
        read_jsonl(lines_of({"tokens": ["a"]}, record))
    assert error.value.line == 2


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"w": ["a"]}, "has the columns"),
        ({"w": ["a"], "n": [1, 2]}, "has 2 values where 'w' has 1"),
        ({"w": ["a"], "n": ["1"]}, "'1' is text where the rows before hold a number"),
        ({"w": ["a"], "n": 3}, "a list in some lines"),
        ({"w": ["a"], "n": [float("inf")]}, "infinite"),
        ({"w": ["a"], "n": [10**400]}, "infinite"),
        ({"w": [{}], "n": [1]}, "type dict"),
        ({"w": "a", "n": 1}, "no column that is a list"),
        ({"w": [], "n": []}, "empty sequence"),
    ],
)
def test_a_bad_line_of_columns_is_named(columns: Any, message: str) -> None:
    with pytest.raises(InputError, match=message) as error:
        read_jsonl(lines_of({"columns": {"w": ["a"], "n": [1]}}, {"columns": columns}))
    assert error.value.line == 2


def test_a_constant_that_changes_type_is_named() -> None:
    with pytest.raises(InputError, match="a number") as error:
        read_jsonl(lines_of({"columns": {"w": ["a"], "c": "x"}}, {"columns": {"w": ["a"], "c": 1}}))
    assert (error.value.line, error.value.sequence, error.value.column) == (2, 1, "c")


@pytest.mark.parametrize("text", ["{", "nope", "[" * 100_000, '{"tokens": [' + "1" * 5000 + "]}"])
def test_what_is_not_json_is_an_input_error(text: str) -> None:
    with pytest.raises(InputError, match="not valid JSON"):
        read_jsonl([text])


def test_an_empty_file_is_an_input_error() -> None:
    with pytest.raises(InputError, match="no lines"):
        read_jsonl(["", "  "])


def test_labels_are_written_beside_what_was_there() -> None:
    lines = ['{"id": 7, "tokens": ["ä"]}', "", '{"tokens": ["b"], "labels": ["old"]}']
    written = list(label_jsonl(lines, [["X"], ["Y"]]))
    assert written == ['{"id": 7, "tokens": ["ä"], "labels": ["X"]}', '{"tokens": ["b"], "labels": ["Y"]}']
    with pytest.raises(InputError, match="2 sequences where 1"):
        list(label_jsonl(lines, [["X"]]))


json_value = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3),
    max_leaves=6,
)
record = st.dictionaries(st.sampled_from(["tokens", "features", "columns", "labels"]), json_value, max_size=3)


@given(st.lists(record, max_size=3))
def test_any_json_gives_a_result_or_an_input_error(records: list[Any]) -> None:
    try:
        X, y = read_jsonl(lines_of(*records))
    except InputError:
        return
    assert len(X) == len(records)
    assert y is None or [len(labels) for labels in y] == [len(x) for x in X]


@given(st.binary())
def test_any_bytes_give_a_result_or_an_input_error(content: bytes) -> None:
    try:
        X, _ = read_jsonl(io.BytesIO(content))
    except InputError:
        return
    assert len(X) > 0


def test_labels_of_another_key() -> None:
    X, y = read_jsonl(['{"tokens": ["a", "b", "c"], "ner_tags": [1, -100, 0]}'], label="ner_tags")
    assert X == [["a", "b", "c"]]
    assert y is not None
    assert y[0] == [1, None, 0]
    _, y = read_jsonl(['{"tokens": ["a"], "labels": [-100]}'])
    assert y is not None
    assert y[0] == [-100]
