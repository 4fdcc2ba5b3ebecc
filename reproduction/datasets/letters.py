"""Handwritten words, letter by letter, each a small picture (OCR data of Kassel 1995, as Taskar et al. 2003 cut it)."""

from __future__ import annotations

import os
import string
import zipfile

import numpy as np

from hedgerow.errors import InputError
from hedgerow.legend import AnyArray, IndexArray
from reproduction.datasets.folders import find_folder

FILE = "letters.npz"
N_FOLDS = 10
_NEEDED = ("X", "y", "word_lengths", "folds")


def load_letters(folder: str | os.PathLike[str] | None = None) -> tuple[list[AnyArray], list[list[str]], IndexArray]:
    """The 6,877 words as `X, y, folds`: 52,152 letters in all, and the fold (0 to 9) of each word.

    X has for each word an array (letters, 128) of 0 and 1: pictures of 16 by 8 pixels, row after row. y has the
    letters, "a" to "z". The first letter of a word, a capital now and then, was left out by those who made the data.

    `folder` holds letters.npz. Without it, the folder letters inside the one that the environment variable
    HEDGEROW_DATA names is read.
    """
    path = find_folder(folder, "letters", (FILE,)) / FILE
    try:
        with np.load(path, allow_pickle=False) as file:
            pixels, labels, lengths, folds = (file[name] for name in _NEEDED)
    except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
        hint = f"It has the arrays {', '.join(_NEEDED)}."
        raise InputError(f"is not the file of letters: {error}", hint=hint, path=os.fspath(path)) from error
    if not (len(pixels) == len(labels) == lengths.sum() and len(lengths) == len(folds)):
        raise InputError("has arrays that do not fit each other", path=os.fspath(path))
    ends = np.cumsum(lengths)[:-1]
    y = [[string.ascii_lowercase[label] for label in word.tolist()] for word in np.split(labels, ends)]
    return np.split(pixels, ends), y, folds
