"""Photographs with man-made structure, block by block (Kumar and Hebert 2003)."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from hedgerow.errors import InputError, MissingExtraError
from hedgerow.legend import AnyArray, IndexArray
from reproduction.datasets.folders import find_folder
from reproduction.datasets.orientations import BLOCK

N_TRAIN = 108  # images 000 to 107; the others are to test
HEIGHT, WIDTH = 256, 384
_FORM = "A line has the labels of a row of blocks, 0 or 1, each with a comma after it."


def load_manmade(
    folder: str | os.PathLike[str] | None = None, *, n_images: int | None = None
) -> tuple[list[AnyArray], list[IndexArray], list[AnyArray], list[IndexArray]]:
    """The photographs as `X_train, y_train, X_test, y_test`: 108 to train on and 120 to test on.

    X has an array (256, 384) of bytes for each image, its brightness. y has 1 where a block of 16×16 pixels shows
    something man-made and else 0: (16, 24). Of the 129 test images nine are training images too, pixel for pixel; they
    are left out.

    `folder` holds 000.jpg, 000.txt and so on. Without it, the folder manmade inside the one that the environment
    variable HEDGEROW_DATA names is read. With `n_images`, the first so many of each part are, before
    those that are left out.
    """
    place = find_folder(folder, "manmade", ("000.jpg", "000.txt"))
    numbers = sorted(int(path.stem) for path in place.glob("[0-9][0-9][0-9].jpg"))
    train = [number for number in numbers if number < N_TRAIN][:n_images]
    test = [number for number in numbers if number >= N_TRAIN][:n_images]
    X, y = _read(place, train)
    X_test, y_test = _read(place, test)
    seen = {image.tobytes() for image in X}
    new = [i for i, image in enumerate(X_test) if image.tobytes() not in seen]
    return X, y, [X_test[i] for i in new], [y_test[i] for i in new]


def _read(place: Path, numbers: list[int]) -> tuple[list[AnyArray], list[IndexArray]]:
    return (
        [_read_image(place / f"{number:03}.jpg") for number in numbers],
        [_read_labels(place / f"{number:03}.txt") for number in numbers],
    )


def _read_image(path: Path) -> AnyArray:
    try:
        from PIL import Image, UnidentifiedImageError
    except ImportError as error:
        raise MissingExtraError("Pillow", "experiments", "Reading photographs") from error
    try:
        with Image.open(path) as image:
            grey = np.asarray(image.convert("L"))
    except (OSError, UnidentifiedImageError) as error:
        raise InputError(f"cannot be read as an image: {error}", path=os.fspath(path)) from error
    if grey.shape != (HEIGHT, WIDTH):
        what = f"is an image of {grey.shape[1]}×{grey.shape[0]} pixels, not {WIDTH}×{HEIGHT}"
        raise InputError(what, path=os.fspath(path))
    return grey


def _read_labels(path: Path) -> IndexArray:
    try:
        lines = path.read_text(encoding="ascii").split()
        rows = [[int(field) for field in line.rstrip(",").split(",")] for line in lines]
        labels = np.array(rows, dtype=np.int64)
    except (OSError, ValueError) as error:
        raise InputError(f"cannot be read as labels: {error}", hint=_FORM, path=os.fspath(path)) from error
    if labels.shape != (HEIGHT // BLOCK, WIDTH // BLOCK) or not set(np.unique(labels).tolist()) <= {0, 1}:
        raise InputError("does not have 16 rows of 24 labels", hint=_FORM, path=os.fspath(path))
    return labels
