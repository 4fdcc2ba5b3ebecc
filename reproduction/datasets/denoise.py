"""Clean binary images to put noise on: small drawings that others have used for this, too."""

from __future__ import annotations

import os
import struct
import zlib
from pathlib import Path

import numpy as np

from hedgerow.errors import InputError
from hedgerow.legend import IndexArray
from reproduction.datasets.folders import find_folder

SMALL, LARGE = "X.mat", "binaryImages.mat"
SIZE = 150  # pixels on a side of the images in LARGE
_SIGNATURE = b"\x89HDF\r\n\x1a\n"
_BASE = 512  # bytes that MATLAB puts before the HDF5 part of a file, from whose end HDF5 counts addresses
# The node of a tree of chunks, HDF5's version 1: its name, type 1 (chunks), level 0, entries, two neighbours. The first
# entry: bytes of the chunk, filters left out, where it stands (row, column, byte), and its address.
_NODE = struct.Struct("<4sBBHQQ")
_ENTRY = struct.Struct("<IIQQQQ")


def load_denoise(folder: str | os.PathLike[str] | None = None) -> list[IndexArray]:
    """Eight clean images of 0 and 1: one of 32×32 pixels, and seven of 150×150. Noise is for the reader to add.

    `folder` holds X.mat and binaryImages.mat. Without it, the folder denoise inside the one that the environment
    variable HEDGEROW_DATA names is read.
    """
    place = find_folder(folder, "denoise", (SMALL, LARGE))
    return [_read_small(place / SMALL), *_read_large(place / LARGE)]


def _read_small(path: Path) -> IndexArray:
    from scipy.io import loadmat
    from scipy.io.matlab import MatReadError

    try:
        image = np.asarray(loadmat(path)["X"])
    except (OSError, ValueError, KeyError, TypeError, NotImplementedError, MatReadError) as error:
        raise InputError(
            f"is not the small image: {error}", hint="It holds an array X.", path=os.fspath(path)
        ) from error
    return _checked(image, path)


def _read_large(path: Path) -> list[IndexArray]:
    """The images of a MATLAB file of version 7.3, which is HDF5.

    Each image is one deflated chunk, and a node of HDF5's tree of chunks says where. Nothing else of HDF5 is needed,
    and so no library for it is.
    """
    contents = path.read_bytes()
    if contents[_BASE : _BASE + len(_SIGNATURE)] != _SIGNATURE:
        raise InputError("is not a MATLAB file of version 7.3", path=os.fspath(path))
    images = []
    place = contents.find(b"TREE")
    while place >= 0:
        chunk = _chunk(contents, place)
        if chunk is not None:
            # MATLAB stores columns one after the other.
            images.append(_checked(np.frombuffer(chunk, dtype=np.uint8).reshape(SIZE, SIZE).T, path))
        place = contents.find(b"TREE", place + 4)
    if not images:
        raise InputError(f"has no image of {SIZE}×{SIZE} pixels", path=os.fspath(path))
    return images


def _chunk(contents: bytes, place: int) -> bytes | None:
    """The image that a node at this place leads to; None where it is another kind of node."""
    if place + _NODE.size + _ENTRY.size > len(contents):
        return None
    _, kind, level, n_entries, _, _ = _NODE.unpack_from(contents, place)
    if (kind, level, n_entries) != (1, 0, 1):
        return None
    size, *_, address = _ENTRY.unpack_from(contents, place + _NODE.size)
    begin = _BASE + address
    try:
        chunk = zlib.decompressobj().decompress(contents[begin : begin + size], SIZE * SIZE + 1)
    except zlib.error:
        return None
    return chunk if len(chunk) == SIZE * SIZE else None


def _checked(image: np.ndarray, path: Path) -> IndexArray:
    if image.ndim != 2 or not set(np.unique(image).tolist()) <= {0, 1}:
        raise InputError("has an image that is not one of 0 and 1", path=os.fspath(path))
    return np.ascontiguousarray(image).astype(np.int64)
