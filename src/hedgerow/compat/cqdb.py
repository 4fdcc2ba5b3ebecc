"""The constant databases of CRFsuite's model files: names by their numbers, and numbers by their names.

A database is a header, references to 256 hash tables, the records (number, size, name and a NUL), the tables that have
anything in them, and an array that gives the place of each number's record. All places count from its first byte, all
numbers are little-endian. hedgerow reads by the array and leaves the tables alone; it writes them for CRFsuite.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from hedgerow.errors import InputError, ModelFileError

_HEADER = struct.Struct("<4s5I")  # "CQDB", size, flags, byte order, entries and place of the array
_PAIR = struct.Struct("<2I")
_BYTE_ORDER = 0x62445371  # what a reader of another byte order would read otherwise
_N_TABLES = 256
_RECORDS = _HEADER.size + _N_TABLES * _PAIR.size
_SEED = 0xDEADBEEF  # of the hash

_Words = npt.NDArray[np.uint32]


def read_names(data: memoryview, n_names: int, what: str) -> list[str]:
    """The names that have the numbers 0 … n_names−1. `data` begins with the database, and may go on behind it.

    Bytes that are not UTF-8 come as lone surrogates, so that they can be written again.
    """
    if len(data) < _RECORDS:
        raise ModelFileError(f"the {what} are cut short")
    magic, size, _, byte_order, n_entries, place = _HEADER.unpack_from(data)
    if magic != b"CQDB" or byte_order != _BYTE_ORDER:
        raise ModelFileError(f"the {what} do not begin as a database does")
    if not _RECORDS <= size <= len(data):
        raise ModelFileError(f"the {what} should take {size:,} bytes where there are {len(data):,}")
    if n_entries != n_names:
        raise ModelFileError(f"there should be {n_names:,} {what}, and there are {n_entries:,}")
    if n_names and not _RECORDS <= place <= size - 4 * n_names:
        raise ModelFileError(f"the list of the {what} lies outside them")
    data = data[:size]
    places: list[int] = np.frombuffer(data, "<u4", n_names, place if n_names else 0).tolist()
    names = [_read_record(data, number, begin, what) for number, begin in enumerate(places)]
    if len(set(names)) < len(names):
        raise ModelFileError(f"two of the {what} have the same name")
    return names


def _read_record(data: memoryview, number: int, begin: int, what: str) -> str:
    if not _RECORDS <= begin <= len(data) - _PAIR.size:
        raise ModelFileError(f"number {number:,} of the {what} lies outside them")
    known, size = _PAIR.unpack_from(data, begin)
    begin += _PAIR.size
    if known != number or not 1 <= size <= len(data) - begin:
        raise ModelFileError(f"number {number:,} of the {what} has a damaged record")
    name = bytes(data[begin : begin + size])
    if name.find(b"\0") != size - 1:
        raise ModelFileError(f"number {number:,} of the {what} does not end where it should")
    return name[:-1].decode("utf-8", "surrogateescape")


def write_names(names: Sequence[str], what: str) -> bytes:
    """A database that gives the names the numbers 0, 1, …"""
    keys = [_encoded(name, what) for name in names]
    hashes = hash_keys(keys)
    places = _RECORDS + np.concatenate([[0], np.cumsum([_PAIR.size + len(key) for key in keys])]).astype(np.int64)
    records = b"".join(_PAIR.pack(number, len(key)) + key for number, key in enumerate(keys))
    order = np.argsort(hashes % _N_TABLES, kind="stable")
    ends = np.cumsum(np.bincount(hashes % _N_TABLES, minlength=_N_TABLES))
    references, tables, end = [], [], int(places[-1])
    for first, last in zip([0, *ends[:-1].tolist()], ends.tolist()):
        references.append(_PAIR.pack(end if last > first else 0, 2 * (last - first)))
        if last > first:
            tables.append(_table(hashes[order[first:last]].tolist(), places[order[first:last]].tolist()))
            end += len(tables[-1])
    size = end + 4 * len(keys)
    if size >= 2**32:
        raise InputError(f"the {what} take {size:,} bytes, and a CRFsuite model has room for 4 GB")
    header = _HEADER.pack(b"CQDB", size, 0, _BYTE_ORDER, len(keys), end if keys else 0)
    return b"".join([header, *references, records, *tables, places[:-1].astype("<u4").tobytes()])


def _encoded(name: str, what: str) -> bytes:
    if not isinstance(name, str):  # labels may be numbers
        raise InputError(f"{name!r:.80}, one of the {what}, is not text, and CRFsuite's are", hint="Use str labels.")
    try:
        key = name.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        raise InputError(f"{name!r:.80}, one of the {what}, is not text that UTF-8 can hold") from error
    if b"\0" in key:
        raise InputError(f"{name!r:.80}, one of the {what}, has a NUL in it, which ends a name in CRFsuite")
    return key + b"\0"


def _table(hashes: list[int], places: list[int]) -> bytes:
    """A hash table with twice as many cells as entries; who finds a cell taken goes to the next."""
    cells = [(0, 0)] * (2 * len(hashes))
    for value, place in zip(hashes, places):
        k = (value >> 8) % len(cells)
        while cells[k][1]:
            k = (k + 1) % len(cells)
        cells[k] = value, place
    return b"".join(_PAIR.pack(*cell) for cell in cells)


# ------------------------------------------------------------------------------------------------ Bob Jenkins' lookup3


def hash_keys(keys: Sequence[bytes]) -> _Words:
    """uint32[n]: the hashes of some keys, none of them empty, as lookup3 of Bob Jenkins (2006) gives them."""
    hashes: _Words = np.empty(len(keys), dtype=np.uint32)
    sizes = np.fromiter(map(len, keys), dtype=np.int64, count=len(keys))
    n_blocks = (sizes + 11) // 12
    for n in np.unique(n_blocks).tolist():
        which = np.flatnonzero(n_blocks == n)
        padded = b"".join(keys[i].ljust(12 * n, b"\0") for i in which.tolist())
        words = np.frombuffer(padded, "<u4").reshape(len(which), n, 3).astype(np.uint32)
        hashes[which] = _hash_blocks(words, sizes[which].astype(np.uint32))
    return hashes


def _hash_blocks(words: _Words, sizes: _Words) -> _Words:
    """Keys of n blocks of three words each, the last one padded with zeros: words (m, n, 3), sizes (m,) in bytes."""
    state = [np.uint32(_SEED) + sizes for _ in range(3)]
    for block in range(words.shape[1] - 1):
        state = _mix(*(part + words[:, block, i] for i, part in enumerate(state)))
    return _finish(*(part + words[:, -1, i] for i, part in enumerate(state)))


def _turn(x: _Words, k: int) -> _Words:
    """The bits of a word, turned to the left by k places."""
    return (x << np.uint32(k)) | (x >> np.uint32(32 - k))


def _mix(a: _Words, b: _Words, c: _Words) -> list[_Words]:
    for k in (4, 6, 8, 16, 19, 4):  # a, b and c take turns
        a = (a - c) ^ _turn(c, k)
        a, b, c = b, c + b, a
    return [a, b, c]


def _finish(a: _Words, b: _Words, c: _Words) -> _Words:
    for k in (14, 11, 25, 16, 4, 14, 24):
        c = (c ^ b) - _turn(b, k)
        a, b, c = b, c, a
    return b  # what was changed last
