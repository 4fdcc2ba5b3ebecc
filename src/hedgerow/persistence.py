"""Model files: a JSON header and named arrays in a safetensors container, with a checksum over all of it.

This layer knows nothing of models. A file is

    8 bytes   the length of the JSON below, little-endian
    JSON      {"__metadata__": {"format": "hedgerow", "sha256": …, …}, name: {dtype, shape, data_offsets}, …}
    data      the tensors, one after another without gaps, largest item size first so that each is aligned

safetensors itself has no checksum. Here the field `sha256` stands at a fixed place and covers every byte of
the file, with its own 64 digits read as zeros. Nothing is ever unpickled, and no size in a file is trusted
before it has been held against the size of the file.
"""

from __future__ import annotations

import errno
import hashlib
import itertools
import json
import math
import os
import re
import secrets
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, NoReturn

import numpy as np
import numpy.typing as npt

from hedgerow import __version__
from hedgerow.errors import InputError, ModelFileError
from hedgerow.legend import INDEX, AnyArray, IndexArray

FORMAT_VERSION = 1

_DTYPES = {
    "F64": "<f8",
    "F32": "<f4",
    "I64": "<i8",
    "I32": "<i4",
    "I16": "<i2",
    "I8": "|i1",
    "U64": "<u8",
    "U32": "<u4",
    "U16": "<u2",
    "U8": "|u1",
    "BOOL": "|b1",
}
_DTYPE_NAMES = {np.dtype(code): name for name, code in _DTYPES.items()}

# The JSON of every hedgerow file opens with these bytes, and the digits of the checksum follow.
_OPENING = b'{"__metadata__":{"format":"hedgerow","sha256":"'
_ZEROS = b"0" * 64
_MAX_HEADER = 100_000_000  # the limit of safetensors itself
_MAX_DIMENSIONS = 32
_MAX_BYTES = 2**62  # beyond this NumPy's own size arithmetic could overflow

_FOREIGN = [
    (rb"PK\x03\x04", "a zip archive"),
    (rb"\x80[\x02-\x05]", "a pickle, which hedgerow never loads"),
    (rb"lCRF", "a CRFsuite model"),
    (rb"\x1f\x8b", "a gzip file"),
    (rb"\x93NUMPY", "a NumPy array file"),
    (rb"[\t\n\r\x20-\x7e\x80-\xff]{8,}\Z", "a text file"),
]


class _Place(NamedTuple):
    """Where a tensor lies in the data part, and what it is."""

    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    begin: int
    end: int


def write(path: str | os.PathLike[str], header: Mapping[str, Any], tensors: Mapping[str, npt.ArrayLike]) -> None:
    """Write a model file, so that at every moment `path` holds either the old file or the whole new one.

    Parameters
    ----------
    path : where to; a file that is there is replaced, a symbolic link is followed
    header : anything JSON can say, with the key "kind" (a str) for what the file describes
    tensors : name to array, of booleans, integers or floats (float32, float64)
    """
    arrays = {name: _storable(name, values) for name, values in tensors.items()}
    ordered = dict(sorted(arrays.items(), key=lambda item: (-item[1].dtype.itemsize, item[0])))
    opening = _opening_bytes(header, ordered)
    pieces: list[Any] = [opening, *(_as_bytes(array) for array in ordered.values())]
    digest = hashlib.sha256()
    for piece in pieces:
        digest.update(piece)
    at = 8 + len(_OPENING)
    pieces[0] = opening[:at] + digest.hexdigest().encode() + opening[at + 64 :]
    _replace_file(os.path.realpath(path), pieces)


def read(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, AnyArray]]:
    """Read what `write` wrote: the header and the tensors, as arrays that own their memory.

    A file that is missing raises FileNotFoundError. A file that is damaged, cut short, foreign, or written in
    a newer format raises ModelFileError.
    """
    if not stat.S_ISREG(os.stat(path).st_mode):
        _refuse(path, "is not a hedgerow model: it is not a regular file")
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        opening = _read_opening(file, path, size)
        table = _parse_table(opening[8:], path)
        metadata = _check_version(table, path)
        places = _check_places(table, size - len(opening), path)
        at = 8 + len(_OPENING)
        digest = hashlib.sha256(opening[:at] + _ZEROS + opening[at + 64 :])
        tensors = {place.name: _read_tensor(file, place, digest, path) for place in places}
    if digest.hexdigest().encode() != opening[at : at + 64]:
        _refuse(path, "is damaged: its checksum does not agree with its contents")
    for name, array in tensors.items():
        if array.dtype == np.bool_ and np.any(_as_bytes(array) > 1):
            _refuse(path, f"is damaged: the tensor {name!r} holds bytes that are not booleans")
    return _parse_header(metadata, path), tensors


def pack_strings(strings: Sequence[str]) -> tuple[npt.NDArray[np.uint8], IndexArray]:
    """Strings as two tensors: their UTF-8 bytes end to end, and len(strings) + 1 offsets into them."""
    encoded = []
    for i, string in enumerate(strings):
        try:
            encoded.append(string.encode("utf-8"))
        except UnicodeEncodeError as error:
            raise InputError(
                f"string {i}, {string!r}, cannot be written as UTF-8: {error.reason}",
                hint="Lone surrogates come from decoding text with the wrong encoding",
            ) from None
    offsets = np.zeros(len(encoded) + 1, dtype=INDEX)
    np.cumsum([len(item) for item in encoded], out=offsets[1:])
    return np.frombuffer(b"".join(encoded), dtype=np.uint8), offsets


def unpack_strings(text: AnyArray, offsets: AnyArray, *, path: str | os.PathLike[str] = "") -> list[str]:
    """The strings that `pack_strings` packed. A ModelFileError about them names `path`."""
    if text.dtype != np.uint8 or text.ndim != 1 or offsets.dtype != INDEX or offsets.ndim != 1:
        _refuse(path, "is damaged: strings must be a row of bytes and a row of 64-bit offsets")
    if len(offsets) == 0 or offsets[0] != 0 or offsets[-1] != len(text) or np.any(offsets[1:] < offsets[:-1]):
        _refuse(path, "is damaged: the offsets of its strings do not fit their bytes")
    data = text.tobytes()
    bounds = offsets.tolist()
    try:
        return [data[begin:end].decode("utf-8") for begin, end in itertools.pairwise(bounds)]
    except UnicodeDecodeError:
        _refuse(path, "is damaged: one of its strings is not UTF-8")


# -------------------------------------------------------------------------------------------------- writing


def _storable(name: str, values: npt.ArrayLike) -> AnyArray:
    """The array in C order and little-endian."""
    if not isinstance(name, str) or name in ("", "__metadata__"):
        raise InputError(f"{name!r} cannot be the name of a tensor")
    array = np.asarray(values)
    dtype = array.dtype.newbyteorder("<")
    if dtype not in _DTYPE_NAMES:
        raise InputError(
            f"the tensor {name!r} has the type {array.dtype}, which a model file cannot hold",
            hint="Give booleans, integers, float32 or float64; strings go through pack_strings",
        )
    if array.ndim > _MAX_DIMENSIONS:
        raise InputError(f"the tensor {name!r} has {array.ndim} dimensions, more than {_MAX_DIMENSIONS}")
    return np.asarray(array, dtype=dtype, order="C")


def _opening_bytes(header: Mapping[str, Any], arrays: Mapping[str, AnyArray]) -> bytes:
    """The length field and the JSON, the checksum still zeros."""
    if not isinstance(header.get("kind"), str):
        raise InputError("the header of a model file needs the key 'kind', a str")
    try:
        header_json = json.dumps(dict(header), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(f"the header of a model file must be JSON: {error}") from error
    metadata = {
        "format": "hedgerow",
        "sha256": _ZEROS.decode(),
        "format_version": str(FORMAT_VERSION),
        "hedgerow_version": __version__,
        "header": header_json,
    }
    table: dict[str, Any] = {"__metadata__": metadata}
    begin = 0
    for name, array in arrays.items():
        end = begin + array.nbytes
        code = _DTYPE_NAMES[array.dtype]
        table[name] = {"dtype": code, "shape": list(array.shape), "data_offsets": [begin, end]}
        begin = end
    text = json.dumps(table, separators=(",", ":")).encode("ascii")
    text += b" " * (-len(text) % 8)  # aligns the data, for whoever maps the file into memory
    if len(text) > _MAX_HEADER:
        raise InputError(f"the header of a model file takes {len(text)} bytes, more than {_MAX_HEADER}")
    return len(text).to_bytes(8, "little") + text


def _replace_file(target: str, pieces: Sequence[Any]) -> None:
    """Write beside the target, sync, rename. Whatever fails, the old file stays and no other is left."""
    folder = os.path.dirname(target)
    if not os.path.isdir(folder):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), folder)
    if os.path.isdir(target):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), target)
    temporary = os.path.join(folder, f".hedgerow-{secrets.token_hex(8)}.tmp")
    file = open(temporary, "xb")  # noqa: SIM115 - not tempfile: its files are private, ours follow the umask
    try:
        with file:
            for piece in pieces:
                file.write(piece)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    _sync_folder(folder)


def _sync_folder(folder: str) -> None:
    """Make the new name itself survive a power cut. Only POSIX can open a folder."""
    if os.name != "posix":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _as_bytes(array: AnyArray) -> npt.NDArray[np.uint8]:
    """The memory of a C-ordered array as a row of bytes, shared."""
    return array.reshape(-1).view(np.uint8)


# -------------------------------------------------------------------------------------------------- reading


def _refuse(path: str | os.PathLike[str], sentence: str) -> NoReturn:
    place = os.fspath(path)
    raise ModelFileError(f"{place}: {sentence}" if place else sentence)


def _read_opening(file: BinaryIO, path: str | os.PathLike[str], size: int) -> bytes:
    """The length field and the JSON as bytes, once they are known to lie inside the file and to be ours."""
    start = file.read(8 + len(_OPENING))
    if not start:
        _refuse(path, "is empty")
    if start[8:] != _OPENING:
        _refuse(path, f"is not a hedgerow model{_guess(start, size)}")
    length = int.from_bytes(start[:8], "little")
    if length > _MAX_HEADER or length < len(_OPENING) + 64:
        _refuse(path, f"is damaged: its header claims {length} bytes")
    if length > size - 8:
        _refuse(path, f"is cut short: its header should take {length} bytes and the file has {size}")
    opening = start + file.read(length - len(_OPENING))
    if len(opening) != 8 + length:
        _refuse(path, "is cut short")
    return opening


def _guess(start: bytes, size: int) -> str:
    """What a foreign file seems to be, as the end of a sentence."""
    if _OPENING.startswith(start[8:]) and len(start) == size:
        return ", or is cut short after its first bytes"
    length = int.from_bytes(start[:8], "little")
    if start[8:9] == b"{" and length <= size - 8:
        return ": it is a safetensors file that hedgerow did not write"
    for pattern, name in _FOREIGN:
        if re.match(pattern, start):
            return f": it looks like {name}"
    return ""


def _parse_table(text: bytes, path: str | os.PathLike[str]) -> dict[str, Any]:
    try:
        table = json.loads(text.decode("ascii"), object_pairs_hook=_without_repeats)
    except (ValueError, RecursionError):
        _refuse(path, "is damaged: its header cannot be read")
    if not isinstance(table, dict) or not isinstance(table.get("__metadata__"), dict):
        _refuse(path, "is damaged: its header has no metadata")
    return table


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) != len(pairs):
        raise ValueError("a name stands twice")
    return table


def _check_version(table: dict[str, Any], path: str | os.PathLike[str]) -> dict[str, Any]:
    """Take the metadata out of the table, and refuse a format that this hedgerow does not know."""
    metadata: dict[str, Any] = table.pop("__metadata__")
    version = metadata.get("format_version")
    if not isinstance(version, str) or not re.fullmatch(r"[1-9][0-9]{0,8}", version):
        _refuse(path, "is damaged: it does not tell the version of its format")
    if int(version) > FORMAT_VERSION:
        _refuse(
            path,
            f"is in format {version}, written by hedgerow {metadata.get('hedgerow_version')}; "
            f"hedgerow {__version__} reads formats up to {FORMAT_VERSION}. Upgrade hedgerow to read it",
        )
    return metadata


def _check_places(table: dict[str, Any], size: int, path: str | os.PathLike[str]) -> list[_Place]:
    """The tensors in the order of the file, checked to fill its `size` bytes of data exactly."""
    places = [_check_place(name, entry, path) for name, entry in table.items()]
    places.sort(key=lambda place: (place.begin, place.end))
    end = 0
    for place in places:
        if place.begin != end:
            _refuse(path, f"is damaged: the tensor {place.name!r} does not follow on the one before it")
        end = place.end
    if end != size:
        what = "cut short" if end > size else "damaged"
        _refuse(path, f"is {what}: its tensors take {end} bytes and it holds {size}")
    return places


def _check_place(name: str, entry: Any, path: str | os.PathLike[str]) -> _Place:
    try:
        dtype = np.dtype(_DTYPES[entry["dtype"]])
        shape = tuple(entry["shape"])
        begin, end = entry["data_offsets"]
        numbers = (*shape, begin, end)
        well_formed = all(type(number) is int and 0 <= number < _MAX_BYTES for number in numbers)
    except (KeyError, TypeError, ValueError):
        well_formed = False
    if not well_formed or len(shape) > _MAX_DIMENSIONS:
        _refuse(path, f"is damaged: the entry of the tensor {name!r} cannot be read")
    # Python's integers do not overflow. An empty tensor has size 0 whatever its other dimensions say, so
    # these are held against the limit by themselves.
    if math.prod(d for d in shape if d) * dtype.itemsize >= _MAX_BYTES:
        _refuse(path, f"is damaged: the tensor {name!r} claims an impossible shape")
    if math.prod(shape) * dtype.itemsize != end - begin:
        _refuse(path, f"is damaged: the shape of the tensor {name!r} does not agree with its bytes")
    return _Place(name, dtype, shape, begin, end)


def _read_tensor(file: BinaryIO, place: _Place, digest: Any, path: str | os.PathLike[str]) -> AnyArray:
    array = np.empty(place.shape, dtype=place.dtype)
    memory = _as_bytes(array)
    if file.readinto(memory.data) != len(memory):  # type: ignore[attr-defined]
        _refuse(path, "is cut short")  # it shrank while it was read: its size was checked before
    digest.update(memory)
    return array.astype(place.dtype.newbyteorder("="), copy=False)


def _parse_header(metadata: dict[str, Any], path: str | os.PathLike[str]) -> dict[str, Any]:
    try:
        header = json.loads(metadata["header"], object_pairs_hook=_without_repeats)
        well_formed = isinstance(header["kind"], str)
    except (KeyError, TypeError, ValueError, RecursionError):
        well_formed = False
    if not well_formed:
        _refuse(path, "is damaged: its header cannot be read")
    checked: dict[str, Any] = header
    return checked
