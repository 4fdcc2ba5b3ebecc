"""NETtalk (Sejnowski and Rosenberg 1987): English words, each letter with a phoneme and a mark of stress."""

from __future__ import annotations

import os
from typing import Literal

from hedgerow.errors import InputError
from reproduction.datasets.folders import find_folder

FILE = "nettalk.data"
N_HEADER = 10
Target = Literal["stress", "phoneme", "both"]


def load_nettalk(
    folder: str | os.PathLike[str] | None = None, *, label: Target = "stress"
) -> tuple[list[list[str]], list[list[str | None]]]:
    """The 20,008 words as `X, y`, in the order of the file, which is that of the alphabet.

    X has a list of letters for each word. y has for each letter its "stress" ("2" strong, "1" medium, "0" light,
    "<" and ">" for consonants whose syllable's centre lies to the left or right), its "phoneme" (51 of them, "-"
    is silent), or "both", as one label of two characters, phoneme first (163 pairs occur).

    The stress of one word, "gunpowder", is not in the file: its labels are None (not known) where stress is asked.

    `folder` holds nettalk.data. Without it, the folder nettalk inside the one that the environment variable
    HEDGEROW_DATA names is read.
    """
    if label not in ("stress", "phoneme", "both"):
        raise InputError(f"label is {label!r}", hint="It is 'stress', 'phoneme' or 'both'.")
    path = find_folder(folder, "nettalk", (FILE,)) / FILE
    X: list[list[str]] = []
    y: list[list[str | None]] = []
    lines = path.read_text(encoding="ascii").splitlines()
    for number, line in enumerate(lines[N_HEADER:], start=N_HEADER + 1):
        if not line.strip():
            continue
        word, phonemes, stress = _fields(line, os.fspath(path), number)
        X.append(list(word))
        if label == "phoneme":
            y.append(list(phonemes))
        elif stress is None:
            y.append([None] * len(word))
        else:
            y.append([*stress] if label == "stress" else [a + b for a, b in zip(phonemes, stress)])
    return X, y


def _fields(line: str, path: str, number: int) -> tuple[str, str, str | None]:
    """Word, phonemes and stress; the stress is None where the column is missing."""
    fields = line.split("\t")
    if len(fields) == 4 and len(fields[0]) == len(fields[1]):
        word, phonemes, stress, kind = fields
        if len(stress) == len(word):
            return word, phonemes, stress
        if not kind.strip():  # three columns and a tab: what stands third is the kind of word
            return word, phonemes, None
    raise InputError(
        "is not a word with its phonemes and stress",
        hint="Four columns by tab; the first three have one character a letter.",
        path=path,
        line=number,
    )
