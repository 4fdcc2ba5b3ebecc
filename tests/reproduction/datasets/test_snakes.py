"""Snakes on small grids."""

from __future__ import annotations

import numpy as np
import pytest

from hedgerow.errors import InputError
from reproduction.datasets import load_snakes

COLOURS = np.zeros((2, 3, 3), dtype=np.uint8)
LABELS = np.array([[0, 1, 2], [0, 0, 10]], dtype=np.uint8)


def written(folder, **arrays):
    whole = {
        "X_train_000": COLOURS,
        "Y_train_000": LABELS,
        "X_train_001": COLOURS[:1],
        "Y_train_001": LABELS[:1],
        "X_test_000": COLOURS,
        "Y_test_000": LABELS,
    }
    np.savez(folder / "snakes.npz", **{name: own for name, own in {**whole, **arrays}.items() if own is not None})
    return folder


def test_a_file(tmp_path):
    X, y, X_test, y_test = load_snakes(written(tmp_path))
    assert [x.shape for x in X] == [(2, 3, 3), (1, 3, 3)]
    assert y[0].tolist() == LABELS.tolist()
    assert y[0].dtype == np.int64
    assert (len(X_test), len(y_test)) == (1, 1)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"X_test_000": None}, "no grid to test"),
        ({"Y_test_000": None}, "is not the file of snakes"),
        ({"Y_test_000": LABELS[:1]}, "does not fit"),
        ({"Y_test_000": LABELS + 1}, "does not fit"),
    ],
)
def test_arrays_that_are_wrong(wrong, message, tmp_path):
    with pytest.raises(InputError, match=message) as caught:
        load_snakes(written(tmp_path, **wrong))
    assert caught.value.path.endswith("snakes.npz")


def test_another_file(tmp_path):
    (tmp_path / "snakes.npz").write_bytes(b"no arrays")
    with pytest.raises(InputError, match="is not the file of snakes"):
        load_snakes(tmp_path)


@pytest.mark.data
def test_the_real_data(data_folder):
    X, y, X_test, y_test = load_snakes()
    assert (len(X), len(y), len(X_test), len(y_test)) == (200, 200, 100, 100)
    for labels in (*y, *y_test):
        assert sorted(labels[labels > 0].tolist()) == list(range(1, 11))  # every part of a snake stands once
