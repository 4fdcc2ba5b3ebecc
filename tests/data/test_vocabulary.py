"""Vocabularies: strings as bytes and back."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.data.dataset import Vocabulary

any_text = st.text(st.characters(exclude_categories=()), max_size=6)


@given(st.lists(any_text, unique=True, max_size=12))
def test_strings_come_back(names):
    vocabulary = Vocabulary(names)
    assert vocabulary.names() == names
    assert len(vocabulary) == len(names)
    assert vocabulary.lookup == {name: i for i, name in enumerate(names)}
    again = Vocabulary.from_arrays(vocabulary.utf8, vocabulary.ends)
    assert again == vocabulary
    assert again.names() == names
    assert pickle.loads(pickle.dumps(vocabulary)) == vocabulary


@given(st.lists(any_text, unique=True, max_size=12), st.integers(0, 12))
def test_more_strings_at_the_end(names, n):
    first = Vocabulary(names[:n])
    grown = first.extended(names[n:])
    assert grown == Vocabulary(names)
    assert grown.names() == names
    assert grown.lookup == {name: i for i, name in enumerate(names)}
    assert first == Vocabulary(names[:n])
    assert first.lookup == {name: i for i, name in enumerate(names[:n])}


def test_equality():
    assert Vocabulary(["ab", "c"]) != Vocabulary(["a", "bc"])
    assert Vocabulary(["a"]) != Vocabulary(["a", ""])
    assert Vocabulary([]) != []
    assert repr(Vocabulary(["a", "b"])) == "Vocabulary(2 strings)"
    with pytest.raises(TypeError, match="unhashable"):
        hash(Vocabulary([]))


@pytest.mark.parametrize("ends", [[1], [3], [2, 1], [-1, 2], []])
def test_arrays_that_do_not_fit_are_refused(ends):
    with pytest.raises(ValueError, match="do not fit"):
        Vocabulary.from_arrays(np.frombuffer(b"ab", dtype=np.uint8), np.array(ends, dtype=np.int64))


def test_bytes_that_are_no_text_are_refused():
    with pytest.raises(ValueError, match="utf-8"):
        Vocabulary.from_arrays(np.array([0xFF], dtype=np.uint8), np.array([1], dtype=np.int64))


def test_the_lookup_is_not_pickled():
    vocabulary = Vocabulary([f"name {i}" for i in range(1000)])
    size = len(pickle.dumps(vocabulary))
    assert vocabulary.lookup["name 7"] == 7
    assert len(pickle.dumps(vocabulary)) == size
