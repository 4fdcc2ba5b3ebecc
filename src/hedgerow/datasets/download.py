"""Fetch a public file once, check it, and keep it."""

from __future__ import annotations

import gzip
import hashlib
import os
import urllib.request
import zlib
from pathlib import Path

from hedgerow.errors import InputError
from hedgerow.persistence import replace_file

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
