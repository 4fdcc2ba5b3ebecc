"""CoNLL-2000: chunking of Wall Street Journal text; columns word, part of speech, chunk label in IOB2."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from hedgerow.datasets.download import cache_folder, fetch_gzip
from hedgerow.errors import InputError
from hedgerow.legend import AnyArray

if TYPE_CHECKING:
    from hedgerow.data.sequences import Sequences

_URL = "https://www.clips.uantwerpen.be/conll2000/chunking/"


class _Part(NamedTuple):
    name: str
    size: int
    sha256: str


_PARTS = (
    _Part("train.txt", 2_842_164, "82033cd7a72b209923a98007793e8f9de3abc1c8b79d646c50648eb949b87cea"),
    _Part("test.txt", 639_396, "73b7b1e565fa75a1e22fe52ecdf41b6624d6f59dacb591d44252bf4d692b1628"),
)


def load_conll2000(
    folder: str | os.PathLike[str] | None = None,
) -> tuple[Sequences, AnyArray, Sequences, AnyArray]:
    """The chunking data as `X_train, y_train, X_test, y_test`: 8,936 and 2,012 sentences with 22 labels.

    X is Sequences with the columns "word" and "pos", y an object array of lists of labels.

    `folder` holds train.txt and test.txt. Without it, the folder conll2000 inside the one that the
    environment variable HEDGEROW_DATA names is read; where there is none, the originals are downloaded once,
    checked and kept.
    """
    from hedgerow.data.readers.conll import read_conll

    place = _find(folder)
    columns = ("word", "pos", "chunk")
    X_train, y_train = read_conll(place / "train.txt", columns=columns, label="chunk")
    X_test, y_test = read_conll(place / "test.txt", columns=columns, label="chunk")
    assert y_train is not None
    assert y_test is not None
    return X_train, y_train, X_test, y_test


def _find(folder: str | os.PathLike[str] | None) -> Path:
    """The folder that has both files, after downloading them if need be."""
    if folder is not None:
        return _complete(Path(folder))
    named = os.environ.get("HEDGEROW_DATA")
    if named and (Path(named) / "conll2000").is_dir():
        return _complete(Path(named) / "conll2000")
    place = cache_folder() / "conll2000"
    for part in _PARTS:
        if not (place / part.name).exists():
            fetch_gzip(f"{_URL}{part.name}.gz", place / part.name, size=part.size, sha256=part.sha256)
    return place


def _complete(place: Path) -> Path:
    for part in _PARTS:
        if not (place / part.name).is_file():
            raise InputError(f"has no file {part.name}", path=os.fspath(place))
    return place
