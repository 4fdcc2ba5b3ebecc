"""Windows without copies, the schema, and equality."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.data.columns import window_offsets
from hedgerow.data.dataset import OUTSIDE_COLUMN, Column, Vocabulary, locate, padded_places
from hedgerow.data.encoding import encode, learn
from hedgerow.data.rows import Item
from hedgerow.errors import InputError

from .corpora import TAGS, WORDS, features, value

windows = st.integers(0, 3) | st.tuples(st.integers(0, 3), st.integers(0, 3))
rows = st.fixed_dictionaries(
    {},
    optional={
        "word": st.sampled_from("abc"),
        "flag": st.booleans(),
        "size": st.sampled_from([1.5, -2.0]),
        "names": st.lists(st.sampled_from("xyz"), max_size=2, unique=True),
    },
)
small_corpora = st.lists(st.lists(rows, min_size=1, max_size=4), min_size=1, max_size=4)


def offsets_of(window, name):
    before, after = window if isinstance(window, tuple) else (window, window)
    return tuple(range(-before, after + 1))


@given(small_corpora, st.fixed_dictionaries({"word": windows, "flag": windows, "size": windows, "*": windows}))
def test_a_window_reads_what_an_explicit_copy_holds(X, window):
    kinds = {"word": "categorical", "flag": "boolean", "size": "numeric"}
    dataset = learn(X, columns=kinds, window=window)
    assert encode(dataset.schema, X).equals(dataset)
    for column in dataset.schema.columns:
        if column.name != OUTSIDE_COLUMN:
            assert column.offsets == offsets_of(window[column.name], column.name)
        for i, sequence in enumerate(X):
            for t in range(len(sequence)):
                for o in column.offsets:
                    inside = 0 <= t + o < len(sequence)
                    held = value(dataset, column.name, i, t + o)
                    if column.kind == "numeric":
                        expected = sequence[t + o].get("size", math.nan) if inside else math.nan
                        assert held == expected or (math.isnan(held) and math.isnan(expected))
                    else:
                        missing = sequence[t + o].get(column.name, "missing") if inside else "outside"
                        assert held == missing
    attributes = dataset.schema.attributes.names()
    for i, sequence in enumerate(X):
        for t in range(len(sequence)):
            for o in dataset.schema.attribute_offsets:
                place = dataset.start[i] + t + o
                held = {attributes[j] for j in dataset.attr_id[dataset.attr_ptr[place] : dataset.attr_ptr[place + 1]]}
                there = sequence[t + o].get("names", ()) if 0 <= t + o < len(sequence) else ()
                assert held == {f"names:{name}" for name in there}


@given(small_corpora, windows)
def test_windows_take_no_memory_but_the_gaps(X, window):
    plain, wide = learn(X), learn(X, window=window)
    reach = max(max(map(abs, offsets_of(window, ""))), 0) if plain.schema.columns or len(plain.schema.attributes) else 0
    assert wide.schema.gap == reach
    assert wide.attr_ptr.shape == (plain.n_positions + reach * (len(X) + 1) + 1,)
    assert len(wide.attr_id) == len(plain.attr_id)
    for i, sequence in enumerate(X):
        for t in range(len(sequence)):
            assert features(wide, i, t) == features(plain, i, t)


@pytest.mark.parametrize(
    ("window", "offsets"),
    [(0, (0,)), (2, (-2, -1, 0, 1, 2)), ((2, 1), (-2, -1, 0, 1)), ([0, 1], (0, 1)), (np.int64(1), (-1, 0, 1))],
)
def test_half_width_or_pair(window, offsets):
    assert window_offsets(window, "any") == offsets
    assert learn(WORDS, window=window).schema.columns[0].offsets == offsets


def test_a_window_a_column():
    X = [[{"a": "x", "b": "y", "c": "z"}]]
    a, b, c = learn(X, window={"a": 1, "b": (0, 2)}).schema.columns
    assert (a.offsets, b.offsets, c.offsets) == ((-1, 0, 1), (0, 1, 2), (0,))
    a, b, c = learn(X, window={"a": 0, "*": 1}).schema.columns
    assert (a.offsets, b.offsets, c.offsets) == ((0,), (-1, 0, 1), (-1, 0, 1))


def test_a_rare_key_with_a_window_of_its_own_is_a_column():
    X = [[{"word": "w"} | ({"rare": "r", "few": 1.0} if t == 5 else {}) for t in range(100)]]
    assert [c.name for c in learn(X, window={"rare": 1, "few": 2}).schema.columns if c.name != OUTSIDE_COLUMN] == [
        "few", "rare", "word",
    ]  # fmt: skip
    scattered = [[{f"k{t}": 1.0} | ({"few": 1.0} if t == 5 else {}) for t in range(100)]]
    assert learn(scattered, window={"few": 1}).schema.columns[0].offsets == (-1, 0, 1)


def test_outside_is_a_value_for_numbers_and_attributes():
    numbers = learn([np.ones((2, 1)), np.ones((1, 1))], window=(1, 2))
    outside = numbers.schema.columns[-1]
    assert (outside.name, outside.kind, outside.offsets) == (OUTSIDE_COLUMN, "categorical", (-1, 1, 2))
    assert outside.n_codes == 2
    inside = [value(numbers, OUTSIDE_COLUMN, 0, t) for t in range(-1, 4)]
    assert inside == ["outside", "missing", "missing", "outside", "outside"]
    lists = learn([[["a"], ["b"]]], window=1)
    assert [c.name for c in lists.schema.columns] == [OUTSIDE_COLUMN]
    both = learn([[{"n": 1.0, "l": ["a"], "s": "x"}]], window={"n": (2, 0), "s": 3, "*": 1})
    assert both.schema.columns[-1].offsets == (-2, -1, 1)


def test_there_is_no_outside_column_without_need():
    assert OUTSIDE_COLUMN not in [c.name for c in learn(WORDS, window=2).schema.columns]
    assert OUTSIDE_COLUMN not in [c.name for c in learn([np.ones((2, 1))]).schema.columns]
    constant = learn([Item(["a"], {"n": 1.0})], window={"token": 1})
    assert OUTSIDE_COLUMN not in [c.name for c in constant.schema.columns]


@pytest.mark.parametrize(
    "window", [-1, (1, -1), (1, 2, 3), 1.5, "2", None, True, (), {"token": -1}, {"*": "x"}, {"token": {"token": 1}}]
)
def test_wrong_windows(window):
    with pytest.raises(InputError, match="window is"):
        learn(WORDS, window=window)


def test_windows_that_name_the_wrong_column():
    with pytest.raises(InputError, match=r"column 'words': has a window and is not in the data\. Columns: token\."):
        learn(WORDS, window={"words": 1})
    with pytest.raises(InputError, match="column 'l': is a list of attributes"):
        learn([[{"l": ["a"]}]], window={"l": 1})
    with pytest.raises(InputError, match="column 'lang': is a feature of the whole sequence"):
        learn([Item(["a"], {"lang": "de"})], window={"lang": 1})


def test_equality():
    dataset = learn([np.array([[1.0, np.nan]])], [["a"]], window=1)
    assert pickle.loads(pickle.dumps(dataset)).equals(dataset)
    assert learn([np.array([[1.0, np.nan]])], [["a"]], window=(1, 1)).equals(dataset)
    assert not learn([np.array([[1.0, 2.0]])], [["a"]], window=1).equals(dataset)
    assert not learn([np.array([[1.0, np.nan]])], [["b"]], window=1).equals(dataset)
    assert not learn([np.array([[1.0, np.nan]])], window=1).equals(dataset)
    assert not learn([np.array([[1.0, np.nan]])], [["a"]], window=(1, 0)).equals(dataset)
    column = Column("a", "numeric", fill=np.nan)
    assert column == Column("a", "numeric", fill=float("nan"))
    assert column != Column("a", "numeric", fill=0.0)
    assert Column("a", "categorical", vocabulary=Vocabulary(["x"])) != Column("a", "categorical")


def test_take():
    """Some sequences of a dataset are what encoding them alone gives."""
    X = [
        Item(
            [{"word": w, "size": float(len(w)), "parts": {w[:1]: 0.5, w[-1:]: 2.0}} for w in words], {"language": lang}
        )
        for words, lang in zip(WORDS, ("en", "de", "en"))
    ]
    dataset = learn(X, TAGS, window=1, columns={"parts": "attributes"}, sample_weight=[1.0, 2.0, 3.0])
    for chosen in ([0, 1, 2], [2, 0], [1], [1, 1]):
        picked = [X[i] for i in chosen], [TAGS[i] for i in chosen]
        expected = encode(dataset.schema, *picked, sample_weight=[i + 1.0 for i in chosen])
        assert dataset.take(np.array(chosen)).equals(expected)
    sets = learn(WORDS, [[{"a", "b"}] * len(words) for words in WORDS])
    assert sets.take(np.array([1])).allowed.shape == (len(WORDS[1]), 2)


def test_require_labels():
    assert learn(WORDS, TAGS).require_labels("scoring").shape == (9,)
    with pytest.raises(InputError, match="scoring needs the true labels"):
        learn(WORDS).require_labels("scoring")
    with pytest.raises(InputError, match="sequence 1, position 0: scoring needs a label here"):
        learn(WORDS, [TAGS[0], [None, "NN"], TAGS[2]]).require_labels("scoring")


def test_classes():
    assert learn(WORDS, TAGS).schema.classes.tolist() == ["DT", "IN", "NN", "PR", "VB"]
    assert learn([["a", "b"]], [[10, 9]]).schema.classes.dtype == np.int64


@given(st.lists(st.integers(1, 4), min_size=1, max_size=5), st.integers(0, 3))
def test_places(lengths, gap):
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    start, places, size = padded_places(offsets, gap)
    expected = [gap * (i + 1) + offsets[i] + t for i, length in enumerate(lengths) for t in range(length)]
    assert places.tolist() == expected
    assert start.tolist() == [expected[o] for o in offsets[:-1]]
    assert size == expected[-1] + 1 + gap
    assert [locate(offsets, t) for t in range(offsets[-1])] == [
        (i, t) for i, length in enumerate(lengths) for t in range(length)
    ]
