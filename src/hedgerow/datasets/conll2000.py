"""CoNLL-2000: chunking of Wall Street Journal text, with columns word, part of speech and chunk label in IOB2; and the
usual attributes for chunking: words and part-of-speech tags nearby, and pairs and triples of them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from hedgerow.errors import InputError
from hedgerow.legend import AnyArray

if TYPE_CHECKING:
    from hedgerow.data.sequences import Sequences


import gzip
import hashlib
import urllib.request
import zlib

from hedgerow.persistence import replace_file

_COLUMNS = ("word", "pos", "chunk")
_URL = "https://www.clips.uantwerpen.be/conll2000/chunking/"


class _Part(NamedTuple):
    name: str
    size: int
    sha256: str


_PARTS = (
    _Part("train.txt", 2_842_164, "82033cd7a72b209923a98007793e8f9de3abc1c8b79d646c50648eb949b87cea"),
    _Part("test.txt", 639_396, "73b7b1e565fa75a1e22fe52ecdf41b6624d6f59dacb591d44252bf4d692b1628"),
)


def load_conll2000(folder: str | os.PathLike[str] | None = None) -> tuple[Sequences, AnyArray, Sequences, AnyArray]:
    """The chunking data as `X_train, y_train, X_test, y_test`: 8,936 and 2,012 sentences with 22 labels.

    X is Sequences with the columns "word" and "pos", y an object array of lists of labels.

    `folder` holds train.txt and test.txt. Without it, the folder conll2000 inside the one that the
    environment variable HEDGEROW_DATA names is read; where there is none, the originals are downloaded once,
    checked and kept.
    """
    from hedgerow.data.readers.conll import read_conll

    place = _find(folder)
    train, test = (read_conll(place / part.name, columns=_COLUMNS, label="chunk") for part in _PARTS)
    assert train[1] is not None
    assert test[1] is not None
    return train[0], train[1], test[0], test[1]


def _find(folder: str | os.PathLike[str] | None) -> Path:
    """The folder that has both files, after downloading them if need be."""
    named = os.environ.get("HEDGEROW_DATA")
    if folder is None and named and (Path(named) / "conll2000").is_dir():
        folder = Path(named) / "conll2000"
    place = cache_folder() / "conll2000" if folder is None else Path(folder)
    for name, size, sha256 in _PARTS:
        if folder is None and not (place / name).exists():
            fetch_gzip(f"{_URL}{name}.gz", place / name, size=size, sha256=sha256)
        if not (place / name).is_file():
            raise InputError(f"has no file {name}", path=os.fspath(place))
    return place


# (column, offsets): the value of an attribute is what stands in the column at these offsets, joined by "|".
TEMPLATES: tuple[tuple[str, tuple[int, ...]], ...] = (
    *(("word", (offset,)) for offset in (-2, -1, 0, 1, 2)),
    *(("word", pair) for pair in ((-1, 0), (0, 1))),
    *(("pos", (offset,)) for offset in (-2, -1, 0, 1, 2)),
    *(("pos", pair) for pair in ((-2, -1), (-1, 0), (0, 1), (1, 2))),
    *(("pos", triple) for triple in ((-2, -1, 0), (-1, 0, 1), (0, 1, 2))),
)
_KEYS = tuple("|".join(f"{column}[{offset}]" for offset in offsets) for column, offsets in TEMPLATES)


def chunking_features(words: Sequence[str], tags: Sequence[str]) -> list[dict[str, str]]:
    """The 19 attributes of every position, as dicts. One that reaches outside the sentence is absent."""
    length = len(words)
    columns = {"word": words, "pos": tags}
    rows: list[dict[str, str]] = []
    for t in range(length):
        row = {}
        for key, (column, offsets) in zip(_KEYS, TEMPLATES):
            if t + offsets[0] >= 0 and t + offsets[-1] < length:
                row[key] = "|".join([columns[column][t + offset] for offset in offsets])
        rows.append(row)
    return rows


# ------------------------------------------------------------------------------------------------ downloading


_TIMEOUT = 60  # seconds without a byte


def cache_folder() -> Path:
    """Where downloads are kept: in XDG_CACHE_HOME, or in .cache of the home folder."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "hedgerow"


def fetch_gzip(url: str, path: Path, *, size: int, sha256: str) -> None:
    """Download the gzip file at `url` and keep its contents as `path`, which appears whole or not at all.

    `size` (in bytes) and `sha256` are those of the contents, not of the gzip file: another compressor would
    change the file and nothing that matters. A file that would unpack to more is not unpacked further.
    """
    try:
        with urllib.request.urlopen(url, timeout=_TIMEOUT) as answer, gzip.open(answer) as unpacked:
            contents = unpacked.read(size + 1)
    except (OSError, EOFError, zlib.error) as error:
        hint = f"Fetch it by other means, unpack it, and save it as {path}"
        raise InputError(f"{url} cannot be downloaded: {error}", hint=hint) from error
    if len(contents) != size or hashlib.sha256(contents).hexdigest() != sha256:
        raise InputError(f"{url} is not the file it was: its SHA-256 should be {sha256}")
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, [contents])
