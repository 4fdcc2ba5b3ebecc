"""Handwritten words."""

from __future__ import annotations

import numpy as np
import pytest

from hedgerow.errors import InputError
from reproduction.datasets import load_letters

PIXELS = np.arange(3 * 128, dtype=np.uint8).reshape(3, 128) % 2


def written(folder, **arrays):
    whole = {"X": PIXELS, "y": np.array([2, 0, 25]), "word_lengths": np.array([2, 1]), "folds": np.array([4, 0])}
    np.savez(folder / "letters.npz", **{k: v for k, v in {**whole, **arrays}.items() if v is not None})
    return folder


def test_a_file(tmp_path):
    X, y, folds = load_letters(written(tmp_path))
    assert [x.shape for x in X] == [(2, 128), (1, 128)]
    assert (X[1][0] == PIXELS[2]).all()
    assert y == [["c", "a"], ["z"]]
    assert folds.tolist() == [4, 0]


@pytest.mark.parametrize("wrong", [{"folds": None}, {"y": np.array([1, 2])}, {"folds": np.array([1])}])
def test_arrays_that_are_wrong(wrong, tmp_path):
    with pytest.raises(InputError) as caught:
        load_letters(written(tmp_path, **wrong))
    assert caught.value.path.endswith("letters.npz")


def test_another_file(tmp_path):
    (tmp_path / "letters.npz").write_bytes(b"no arrays")
    with pytest.raises(InputError, match="is not the file of letters"):
        load_letters(tmp_path)


@pytest.mark.data
def test_the_real_data(data_folder):
    X, y, folds = load_letters()
    assert (len(X), sum(map(len, X))) == (6_877, 52_152)
    assert [len(x) for x in X] == [len(labels) for labels in y]
    assert {label for labels in y for label in labels} == set("abcdefghijklmnopqrstuvwxyz")
    assert set(folds.tolist()) == set(range(10))
    assert {int(value) for value in np.unique(np.concatenate(X))} == {0, 1}
