"""Human genes base by base: what codes for protein, what is an intron, what lies outside."""

from __future__ import annotations

import gzip
import os
import zlib
from pathlib import Path

import numpy as np

from hedgerow.data.sequences import Sequences
from hedgerow.errors import InputError
from hedgerow.legend import AnyArray, IndexArray
from reproduction.datasets.folders import find_folder

FILES = ("genes.train.tsv.gz", "genes.test.tsv.gz")
LABELS = "cin"
BASES = "acgt"
_FORM = "A line is a name, the bases and as many labels (c, i or n), by tab."


def load_genes(folder: str | os.PathLike[str] | None = None) -> tuple[Sequences, AnyArray, Sequences, AnyArray]:
    """The genes as `X_train, y_train, X_test, y_test`: 462 and 453 of them, 5.5 and 2.1 million bases.

    X is Sequences with the column "base": "a", "c", "g" or "t", None where the letter stands for several bases. y is
    an object array of lists of labels: "c" coding, "i" intron, "n" outside the gene.

    `folder` holds genes.train.tsv.gz and genes.test.tsv.gz. Without it, the folder genes inside the one that the
    environment variable HEDGEROW_DATA names is read.
    """
    place = find_folder(folder, "genes", FILES)
    return *_read(place / FILES[0]), *_read(place / FILES[1])


def trimers(X: Sequences) -> Sequences:
    """The corpus with the column "trimer" alone: the bases before, at and after a position, as one value.

    It is None, missing, at both ends of a sequence and where one of the three bases is.
    """
    columns, offsets, _ = X.compact()
    codes = np.full(len(columns["base"]), -1, dtype=np.int8)
    for code, base in enumerate(BASES):
        codes[columns["base"] == base] = code
    before, after = np.roll(codes, 1), np.roll(codes, -1)
    filled = offsets[:-1] < offsets[1:]
    before[offsets[:-1][filled]] = -1
    after[offsets[1:][filled] - 1] = -1
    names = [a + b + c for a in BASES for b in BASES for c in BASES]
    table: AnyArray = np.array([*names, None], dtype=object)
    places = 16 * before.astype(np.int64) + 4 * codes + after
    places[np.minimum(np.minimum(before, codes), after) < 0] = len(names)
    return Sequences({"trimer": table[places]}, offsets, {"trimer": "categorical"})


def _read(path: Path) -> tuple[Sequences, AnyArray]:
    bases: list[AnyArray] = []
    labels: list[list[str]] = []
    letters: AnyArray = np.full(256, None, dtype=object)
    letters[np.frombuffer(BASES.encode(), dtype=np.uint8)] = list(BASES)
    try:
        with gzip.open(path, "rt", encoding="ascii") as lines:
            for number, line in enumerate(lines, start=1):
                own, marks = _fields(line, os.fspath(path), number)
                bases.append(letters[np.frombuffer(own.encode(), dtype=np.uint8)])
                labels.append(list(marks))
    except (OSError, EOFError, UnicodeDecodeError, zlib.error) as error:
        raise InputError(f"cannot be read: {error}", path=os.fspath(path)) from error
    offsets: IndexArray = np.cumsum([0, *map(len, labels)])
    y = np.empty(len(labels), dtype=object)
    for i, own_labels in enumerate(labels):
        y[i] = own_labels
    flat: AnyArray = np.concatenate(bases) if bases else np.empty(0, dtype=object)
    return Sequences({"base": flat}, offsets, {"base": "categorical"}), y


def _fields(line: str, path: str, number: int) -> tuple[str, str]:
    """The bases and the labels of a line."""
    fields = line.rstrip("\n").split("\t")
    if len(fields) != 3 or len(fields[1]) != len(fields[2]):
        raise InputError("is not a gene with its labels", hint=_FORM, path=path, line=number)
    unknown = set(fields[2]) - set(LABELS)
    if unknown:
        raise InputError(f"has the label {min(unknown)!r}", hint=_FORM, path=path, line=number)
    return fields[1].lower(), fields[2]
