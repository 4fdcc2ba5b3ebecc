"""The sparse 0/1 format of the TreeCRF papers: at each position the indices of the window features that are 1.

The first line gives the numbers of sequences, labels and features. Every other line is a position: the sequence
and the position in it (both from 1), how many features are 1, their indices (from 0), and the label (from 0).
"""

from __future__ import annotations

import os
import string
from pathlib import Path
from typing import NamedTuple

import numpy as np

from hedgerow.data.sequences import Sequences
from hedgerow.datasets.hyphenation import BREAK, JOIN
from hedgerow.errors import InputError
from hedgerow.legend import AnyArray, IndexArray
from reproduction.datasets.folders import find_folder

HYPHEN_FILES = ("sparse.hyphen.6.train", "sparse.hyphen.6.test")
OUTSIDE_WORD = "-"


class SparseWindows(NamedTuple):
    """A file of this format.

    n_labels, n_features : as its first line says
    indices : (S,) lists with the indices of each position's features, rising
    labels : (S,) lists of labels, from 0
    """

    n_labels: int
    n_features: int
    indices: list[list[list[int]]]
    labels: list[list[int]]

    def slots(self, n_slots: int) -> tuple[IndexArray, IndexArray]:
        """The windows as values instead of features: (N, n_slots) values, and offsets (S+1,).

        The features are cut into `n_slots` equal runs, one for each place of the window. Every position must have
        exactly one feature of each run; the value is its number in the run.
        """
        size, rest = divmod(self.n_features, n_slots)
        if rest:
            raise InputError(f"{self.n_features} features cannot be cut into {n_slots} equal runs")
        for i, sequence in enumerate(self.indices):
            for t, row in enumerate(sequence):
                if [index // size for index in row] != list(range(n_slots)):
                    raise InputError(f"has not one feature for each of {n_slots} slots", sequence=i, position=t)
        flat = np.array([row for sequence in self.indices for row in sequence], dtype=np.int64)
        offsets = np.cumsum([0, *(len(sequence) for sequence in self.indices)])
        return flat.reshape(-1, n_slots) % size, offsets


def read_sparse_windows(path: str | os.PathLike[str]) -> SparseWindows:
    """Read one file of the sparse 0/1 format; sequences and positions must be numbered in order from 1."""
    name = os.fspath(path)
    lines = Path(path).read_text(encoding="ascii").splitlines()
    head = _numbers(lines[0] if lines else "", name, 1)
    if len(head) != 3:
        hint = "The first line has three numbers: of sequences, of labels, of features."
        raise InputError("is not a file of sparse windows", hint=hint, path=name, line=1)
    n_sequences, n_labels, n_features = head
    indices: list[list[list[int]]] = []
    labels: list[list[int]] = []
    for number, line in enumerate(lines[1:], start=2):
        row = _numbers(line, name, number)
        if not row:
            continue
        wrong = _fault(row, len(indices), len(indices[-1]) if indices else 0, n_labels, n_features)
        if wrong:
            raise InputError(wrong, path=name, line=number)
        if row[1] == 1:
            indices.append([])
            labels.append([])
        indices[-1].append(row[3:-1])
        labels[-1].append(row[-1])
    if len(indices) != n_sequences:
        raise InputError(f"has {len(indices)} sequences where its first line says {n_sequences}", path=name)
    return SparseWindows(n_labels, n_features, indices, labels)


def load_hyphen_windows(
    folder: str | os.PathLike[str] | None = None,
) -> tuple[Sequences, AnyArray, Sequences, AnyArray]:
    """The thesis' hyphenation data as `X_train, y_train, X_test, y_test`: 1,951 and 908 words.

    A position is a place between two letters. X is Sequences with one column for each letter of its window,
    "letter[-2]" … "letter[0]" before the place and "letter[+1]" … "letter[+3]" after it; "-" is outside the word.
    So a word of n letters has n−1 positions. y has "break" where a hyphen may stand, else "join".

    `folder` holds sparse.hyphen.6.train and sparse.hyphen.6.test. Without it, the folder hyphen inside the one that
    the environment variable HEDGEROW_DATA names is read. `load_hyphenation` makes a larger set of the same kind.
    """
    place = find_folder(folder, "hyphen", HYPHEN_FILES)
    X_train, y_train = _words(place / HYPHEN_FILES[0])
    X_test, y_test = _words(place / HYPHEN_FILES[1])
    return X_train, y_train, X_test, y_test


def _words(path: Path) -> tuple[Sequences, AnyArray]:
    """One file of hyphenation: six slots of 26 letters and "outside"."""
    windows = read_sparse_windows(path)
    values, offsets = windows.slots(6)
    letters = np.array([*string.ascii_lowercase, OUTSIDE_WORD], dtype=object)
    names = [f"letter[{offset:+d}]" if offset else "letter[0]" for offset in range(-2, 4)]
    columns = {name: letters[values[:, slot]] for slot, name in enumerate(names)}
    X = Sequences(columns, offsets, dict.fromkeys(names, "categorical"))
    y = np.empty(len(X), dtype=object)
    for i, labels in enumerate(windows.labels):
        y[i] = [BREAK if label else JOIN for label in labels]
    return X, y


def _numbers(line: str, path: str, number: int) -> list[int]:
    try:
        return [int(word) for word in line.split()]
    except ValueError:
        raise InputError("holds something that is not a whole number", path=path, line=number) from None


def _fault(row: list[int], sequence: int, position: int, n_labels: int, n_features: int) -> str:
    """What is wrong with a line, where `sequence` and `position` are the numbers of the line before; "" if nothing."""
    if len(row) < 4 or len(row) != row[2] + 4:
        return "has not as many features as it says"
    if tuple(row[:2]) not in ((sequence, position + 1), (sequence + 1, 1)) or row[0] == 0:
        return f"is position {row[1]} of sequence {row[0]} after position {position} of sequence {sequence}"
    features = row[3:-1]
    if features != sorted(set(features)) or (features and not 0 <= features[0] <= features[-1] < n_features):
        return f"has features that do not rise from 0 to {n_features - 1}"
    if not 0 <= row[-1] < n_labels:
        return f"has the label {row[-1]} where there are {n_labels}"
    return ""
