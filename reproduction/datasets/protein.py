"""Secondary structure of proteins (Qian and Sejnowski 1988): amino acids, each in a helix, a sheet or a coil."""

from __future__ import annotations

import os
from pathlib import Path

from hedgerow.errors import InputError
from reproduction.datasets.folders import find_folder

FILES = ("protein-secondary-structure.train", "protein-secondary-structure.test")
LABELS = ("h", "e", "_")
_BEGIN = "<>"
_ENDS = ("<end>", "end")  # both are found, and neither at every sequence: the next one's begin ends it too

Corpus = tuple[list[list[str]], list[list[str]]]


def load_protein(
    folder: str | os.PathLike[str] | None = None,
) -> tuple[list[list[str]], list[list[str]], list[list[str]], list[list[str]]]:
    """The proteins as `X_train, y_train, X_test, y_test`: 111 and 17 sequences, 18,105 and 3,520 residues.

    X has a list of one-letter codes of amino acids for each protein, 20 in all. y has "h" (alpha helix), "e"
    (beta sheet) or "_" (anything else) for each of them.

    `folder` holds protein-secondary-structure.train and protein-secondary-structure.test. Without it, the folder
    protein inside the one that the environment variable HEDGEROW_DATA names is read.
    """
    place = find_folder(folder, "protein", FILES)
    X_train, y_train = read_protein(place / FILES[0])
    X_test, y_test = read_protein(place / FILES[1])
    return X_train, y_train, X_test, y_test


def read_protein(path: str | os.PathLike[str]) -> Corpus:
    """One file: "<>" begins a protein, every line in it is a residue and its label, "#" begins a remark."""
    X: list[list[str]] = []
    y: list[list[str]] = []
    inside = False
    for number, line in enumerate(Path(path).read_text(encoding="ascii").splitlines(), start=1):
        words = line.split()
        if not words or line.startswith("#"):
            continue
        if words == [_BEGIN]:
            X.append([])
            y.append([])
            inside = True
        elif len(words) == 1 and words[0] in _ENDS:
            inside = False
        elif inside and len(words) == 2 and words[1] in LABELS:
            X[-1].append(words[0])
            y[-1].append(words[1])
        else:
            raise InputError(
                f"{line!r} is not a residue and its label",
                hint="A protein is '<>', then lines such as 'G h' with a label of h, e, _.",
                path=os.fspath(path),
                line=number,
            )
    return X, y
