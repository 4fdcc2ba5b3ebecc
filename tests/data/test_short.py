"""One short sequence, coded by itself, is the Dataset that `encode` makes of it; or it is left to `encode`."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.data.encoding import encode, learn
from hedgerow.data.rows import Item
from hedgerow.data.sequences import Sequences
from hedgerow.data.short import SHORT, ShortCoder
from hedgerow.errors import HedgerowWarning, InputError

from .corpora import TAGS, WORDS, corpora, numbers, positions, texts

WINDOWS = [0, 1, (2, 0), {"word": 2}, {"*": 1, "weight": (0, 1)}]
DECLARED = [
    None,
    {"word": "categorical"},
    {"weight": "numeric"},
    {"flag": "boolean", "k7": "attributes"},
    {"*": "numeric"},
]
odd = st.sampled_from([None, np.nan, np.inf, 10**400, np.float32(0.1), np.int8(3), np.bool_(True), 2, "", "a:b", [1]])
changed = st.dictionaries(
    st.sampled_from(["word", "weight", "flag", "k7", "new", 3]), odd | texts | numbers, max_size=2
)
rows = st.tuples(positions, changed | st.just({})).map(lambda both: both[0] | both[1])


def both(schema, X, y=None):
    """What each way makes of a corpus of one sequence: a Dataset, or the text of an error or a warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            slow = encode(schema, X, y)
        except (InputError, HedgerowWarning) as error:
            slow = str(error)
        return slow, ShortCoder(schema).encode(X, y)


@given(corpora, st.lists(rows, min_size=1, max_size=4), st.sampled_from(WINDOWS), st.sampled_from(DECLARED))
def test_dicts(corpus, row, window, declared):
    named = window if isinstance(window, dict) else {}
    keys = {key for xs in corpus for x in xs for key in x if x[key] is not None}
    try:
        schema = learn(corpus, window=window if named.keys() <= keys | {"*"} else 0, columns=declared).schema
    except InputError:
        return
    for X in ([row], [tuple(row)], [corpus[0]]):
        slow, short = both(schema, X)
        assert short is None or short.equals(slow)


@given(st.data())
def test_ordinary_rows_are_not_left_to_encode(data):
    row = st.fixed_dictionaries({"word": texts, "size": numbers, "flag": st.booleans(), "rare": texts})
    corpus = data.draw(st.lists(st.lists(row, min_size=1, max_size=4), min_size=1, max_size=5))
    schema = learn(corpus, window=data.draw(st.sampled_from([0, 1]))).schema
    X = [data.draw(st.lists(row, min_size=1, max_size=5))]
    slow, short = both(schema, X)
    assert short is not None
    assert short.equals(slow)


values = st.sampled_from(["x", "y", "b:x", "new", ""]) | st.sampled_from([None, 1.0, 2, True])


@given(st.lists(st.dictionaries(st.sampled_from(["a", "a:b", "c", "new"]), values), min_size=1, max_size=4))
def test_dicts_where_all_is_an_attribute(rows):
    schema = learn([[["a:x", "a:b:x", "c:", "c:y", "c"]], [["a:y"]]]).schema  # no columns, as in a file of CRFsuite
    assert ShortCoder(schema).bare
    slow, short = both(schema, [rows])
    assert short is None or short.equals(slow)
    texts = all(rows) and all(type(value) is str for row in rows for value in row.values())
    twice = any(row.get("a") == "b:x" and row.get("a:b") == "x" for row in rows)
    if texts and not twice:
        assert isinstance(slow, str) or short is not None or not len(slow.attr_id)


@given(st.lists(st.sampled_from(["the", "cat", "unknown", ""]), min_size=1, max_size=6), st.integers(0, 2))
def test_tokens(tokens, window):
    slow, short = both(
        learn(WORDS, TAGS, window=window).schema, [tokens], [(["DT", None, {"NN", "VB"}, "IN"] * 2)[: len(tokens)]]
    )
    assert short.equals(slow)
    slow, short = both(learn(WORDS, TAGS, window=window).schema, [tokens])
    assert short.equals(slow)


@given(st.lists(st.lists(st.sampled_from(["a", "b", "c", "new"]), max_size=4), min_size=1, max_size=5))
def test_attribute_lists(lists):
    slow, short = both(learn([[["a", "b"], ["c"]], [["b"]]], window=1).schema, [lists])
    assert short is None or short.equals(slow)


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int64", "uint8"])
@pytest.mark.parametrize("form", ["array", "pandas", "polars"])
def test_numbers_of_any_width(dtype, form):
    rng = np.random.default_rng(0)
    made = {"array": np.asarray, "pandas": pd.DataFrame, "polars": pl.DataFrame}[form]
    frames = [rng.normal(size=(5, 3)) * 10 for _ in range(4)]
    if form != "array":
        frames = [dict(zip("xyz", frame.T)) for frame in frames]
    schema = learn(list(map(made, frames)), window=1).schema
    new = made(
        np.abs(frames[0]).astype(dtype)
        if form == "array"
        else {k: np.abs(v).astype(dtype) for k, v in frames[0].items()}
    )
    slow, short = both(schema, [new])
    assert short.numeric.dtype == np.float64  # also of single precision, which corpora keep
    assert short.equals(replace(slow, numeric=slow.numeric.astype(np.float64)))


def test_missing_and_infinite_numbers():
    schema = learn([np.arange(6.0).reshape(3, 2)]).schema
    slow, short = both(schema, [np.array([[np.nan, 1.0]])])
    assert short.equals(slow)
    assert both(schema, [np.array([[np.inf, 1.0]])])[1] is None


@pytest.mark.parametrize(
    "X",
    [
        [],
        [WORDS[0], WORDS[1]],
        [["the"] * (SHORT + 1)],
        [[]],
        [Item(WORDS[0], {"topic": "cats"})],
        [["the", None]],
        Sequences({"token": np.array(["the"], dtype=object)}, np.array([0, 1]), {"token": "categorical"}),
        [np.array(["the", "cat"], dtype=object)],
        iter([WORDS[0]]),
        [["the", 3]],
        ["the"],
        [{"token": "the"}],
        None,
    ],
)
def test_what_is_left_to_encode(X):
    assert ShortCoder(learn(WORDS, TAGS).schema).encode(X) is None


def test_constants_and_other_columns_are_left_to_encode():
    with_constant = learn([Item(WORDS[0], {"topic": "cats"})], window=0).schema
    assert ShortCoder(with_constant).encode([WORDS[0]]) is None
    two = learn([[{"token": "a", "size": 1.0}]]).schema
    assert ShortCoder(two).encode([WORDS[0]]) is None  # which refuses it: there is no size
    wide = learn([np.arange(6.0).reshape(2, 3)]).schema
    for narrow in (np.zeros((2, 2)), np.zeros((2, 4)), np.zeros((2, 3), dtype=bool), np.zeros(3)):
        assert ShortCoder(wide).encode([narrow]) is None


def test_an_attribute_that_comes_twice_is_left_to_encode():
    rows = [{"word": "w", f"k{j}": "b"} for j in range(40)]
    schema = learn([[*rows, {"word": "w", "k1:b": 2.0}]]).schema
    assert ShortCoder(schema).encode([[{"word": "w", "k1": "b"}]]) is not None
    assert ShortCoder(schema).encode([[{"word": "w", "k1:b": 2.0, "k1": "b"}]]) is None


def test_a_change_of_one_sequence_does_not_reach_the_next():
    schema = learn([[{"word": "a", "size": 1.0, "flag": True}, {"word": "b", "size": 2.0, "flag": False}]]).schema
    coder = ShortCoder(schema)
    first = coder.encode([[{"word": "a", "size": 3.0, "flag": True}]])
    assert coder.encode([[{"word": "new"}]]).equals(encode(schema, [[{"word": "new"}]]))
    assert first.equals(encode(schema, [[{"word": "a", "size": 3.0, "flag": True}]]))
