"""Photographs with man-made structure."""

from __future__ import annotations

import numpy as np
import pytest

from hedgerow.errors import InputError
from reproduction.datasets import load_manmade

LABELS = np.arange(16 * 24).reshape(16, 24) % 3 // 2


def write(folder, number, seed):
    from PIL import Image

    pixels = np.random.default_rng(seed).integers(256, size=(256, 384, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(folder / f"{number:03}.jpg")
    text = "".join("".join(f"{label}," for label in row) + "\r\n" for row in (LABELS + seed) % 2)
    (folder / f"{number:03}.txt").write_bytes(text.encode())


@pytest.fixture
def folder(tmp_path):
    """Two images to train on and three to test on, of which the second is a training image."""
    for number, seed in ((0, 0), (1, 1), (108, 2), (109, 1), (110, 3)):
        write(tmp_path, number, seed)
    return tmp_path


def test_test_images_that_are_training_images_are_left_out(folder):
    X, y, X_test, y_test = load_manmade(folder)
    assert (len(X), len(X_test)) == (2, 2)
    assert {image.shape for image in (*X, *X_test)} == {(256, 384)}
    assert y[0].tolist() == LABELS.tolist()
    assert y_test[1].tolist() == ((LABELS + 3) % 2).tolist()
    assert not any((image == other).all() for image in X for other in X_test)


def test_the_first_images_alone(folder):
    X, _, X_test, y_test = load_manmade(folder, n_images=1)
    assert (len(X), len(X_test), len(y_test)) == (1, 1, 1)


@pytest.mark.parametrize("text", ["", "0,1,\n", "a,b,\n", "\n".join(["2," * 24] * 16)])
def test_labels_that_are_none(folder, text):
    (folder / "001.txt").write_text(text)
    with pytest.raises(InputError) as caught:
        load_manmade(folder)
    assert caught.value.path.endswith("001.txt")


def test_an_image_that_is_none(folder):
    from PIL import Image

    (folder / "108.jpg").write_bytes(b"no image")
    with pytest.raises(InputError, match="cannot be read as an image"):
        load_manmade(folder)
    Image.new("L", (10, 20)).save(folder / "108.jpg")
    with pytest.raises(InputError, match="10×20"):
        load_manmade(folder)


@pytest.mark.data
def test_the_real_data(data_folder):
    X, y, X_test, y_test = load_manmade()
    assert (len(X), len(X_test)) == (108, 120)
    assert np.mean(y) == pytest.approx(0.1255, abs=1e-3)
    assert {labels.shape for labels in y_test} == {(16, 24)}
