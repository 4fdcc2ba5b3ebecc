"""Model files: a JSON header and named arrays in the safetensors format, with a checksum over all of it.

This layer knows nothing of models. safetensors holds the arrays and refuses sizes that do not fit the file; its one
metadata field, "hedgerow", is JSON: {"sha256": …, "format_version": …, "hedgerow_version": …, "header": …}. safetensors
itself has no checksum. Here `sha256` stands at a fixed place and covers every byte of the file, with its own 64 digits
read as zeros. Nothing is ever unpickled.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import secrets
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, NoReturn

import numpy as np
import numpy.typing as npt

from hedgerow import __version__
from hedgerow.errors import InputError, ModelFileError
from hedgerow.legend import AnyArray

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None  # type: ignore[assignment]

FORMAT_VERSION = 2
MAX_DEPTH = 100  # of lists and dicts of the header in each other: a walk over it never runs out of stack

_DTYPES = {np.dtype(code) for code in ("f8", "f4", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1", "?")}

# After 8 bytes for the length of its JSON, every hedgerow file goes on like this, and then come the digits.
_OPENING = rb'{"__metadata__":{"hedgerow":"{\"sha256\":\"'
_DIGITS = slice(8 + len(_OPENING), 8 + len(_OPENING) + 64)
_ZEROS = "0" * 64

_FOREIGN = [
    (rb"PK\x03\x04", "a zip archive"),
    (rb"\x80[\x02-\x05]", "a pickle, which hedgerow never loads"),
    (rb"lCRF", "a CRFsuite model"),
    (rb"\x1f\x8b", "a gzip file"),
    (rb"\x93NUMPY", "a NumPy array file"),
    (rb"[\t\n\r\x20-\x7e\x80-\xff]{8,}\Z", "a text file"),
]


def write(
    path: str | os.PathLike[str] | IO[bytes], header: Mapping[str, Any], tensors: Mapping[str, npt.ArrayLike]
) -> None:
    """Write a model file, so that at every moment `path` holds either the old file or the whole new one.

    Parameters
    ----------
    path : where to; a file that is there is replaced, a symbolic link is followed. A pipe, a device, or a binary file
        that is open, is written to
    header : anything JSON can say, with the key "kind" (a str) for what the file describes
    tensors : name to array, of booleans, integers or floats (float32, float64)
    """
    if not isinstance(header.get("kind"), str):
        raise InputError("the header of a model file needs the key 'kind', a str")
    fields = {"sha256": _ZEROS, "format_version": FORMAT_VERSION, "hedgerow_version": __version__, "header": header}
    try:
        metadata = {"hedgerow": json.dumps(fields, allow_nan=False, separators=(",", ":"))}
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(f"the header of a model file must be JSON: {error}") from error
    if _is_deep(header):
        raise InputError(f"the header of a model file has more than {MAX_DEPTH} lists and dicts in each other")
    arrays = {name: _storable(name, values) for name, values in tensors.items()}
    import safetensors.numpy  # which importing an estimator does not need

    try:
        data = memoryview(safetensors.numpy.save(arrays, metadata))
    except safetensors.SafetensorError as error:
        raise InputError(f"the model does not fit a model file: {error}") from error
    if data[8 : _DIGITS.start] != _OPENING:
        raise RuntimeError("this version of safetensors lays out its metadata in a way that hedgerow does not know")
    replace_file(path, [data[: _DIGITS.start], _checksum(data), data[_DIGITS.stop :]])


def read(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, AnyArray]]:
    """The header and the tensors that `write` wrote; the tensors are arrays that can be written to.

    A file that is missing raises FileNotFoundError. A file that is damaged, cut short, foreign, or written in
    another format raises ModelFileError.
    """
    data = _read_bytes(path)
    if data[_DIGITS] != _checksum(memoryview(data)):
        _refuse(path, "is damaged or cut short: its checksum does not agree with its contents")
    header = _parse_header(data, path)
    import safetensors.numpy

    try:
        tensors = safetensors.numpy.load(data)
    except (safetensors.SafetensorError, KeyError, ValueError) as error:  # the last two: types, shapes NumPy has not
        _refuse(path, f"is damaged: its tensors cannot be read ({error})", error)
    for name, array in tensors.items():
        if array.dtype not in _DTYPES:
            _refuse(path, f"is damaged: the tensor {name!r} has the type {array.dtype}")
        if array.dtype == np.bool_ and np.any(array.reshape(-1).view(np.uint8) > 1):
            _refuse(path, f"is damaged: the tensor {name!r} holds bytes that are not booleans")
    return header, tensors


def _storable(name: str, values: npt.ArrayLike) -> AnyArray:
    """The array in C order, with a name and a type that a file can hold."""
    if not isinstance(name, str) or name in ("", "__metadata__"):
        raise InputError(f"{name!r} cannot be the name of a tensor")
    array = np.asarray(values, order="C")
    if array.dtype.newbyteorder("=") not in _DTYPES:
        hint = "Give booleans, integers, float32 or float64; strings as their UTF-8 bytes."
        raise InputError(f"the tensor {name!r} has the type {array.dtype}, which a model file cannot hold", hint=hint)
    return array


def _checksum(data: memoryview) -> bytes:
    """SHA-256 of a file whose own digits are read as zeros, as 64 digits."""
    digest = hashlib.sha256(data[: _DIGITS.start])
    digest.update(_ZEROS.encode())
    digest.update(data[_DIGITS.stop :])
    return digest.hexdigest().encode()


def check_target(path: str | os.PathLike[str], *, through: bool = False) -> None:
    """Refuse a place where no file can be written before the work that makes it.

    through : whether it may be a pipe or a device such as /dev/null, which is written to and not replaced
    """
    name = os.fspath(path)
    folder = os.path.dirname(name) or "."
    if not os.path.isdir(folder):
        raise InputError(f"the folder {folder!r} does not exist", path=name)
    if os.path.isdir(name):
        raise InputError("is a folder", path=name, hint="Name a file.")
    if os.path.exists(name) and not os.path.isfile(name):
        if not through or not _is_written_through(name):
            raise InputError("is not a regular file", path=name, hint="Name a file, or one that is not there yet.")
        folder = name
    if not os.access(folder, os.W_OK):
        what = f"the folder {folder!r} cannot be written to" if folder != name else "cannot be written to"
        raise InputError(what, path=name)


def _is_written_through(path: str | os.PathLike[str]) -> bool:
    """Whether it is a pipe, or a device that takes bytes as they come."""
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISCHR(mode)


def replace_file(path: str | os.PathLike[str] | IO[bytes], pieces: Sequence[bytes | memoryview]) -> None:
    """Write beside the file that `path` names or links to, sync, rename. Whatever fails, the old file stays and no
    other is left; the new one has its mode. A pipe, a device or an open file is written to."""
    if not isinstance(path, (str, os.PathLike)):
        path.writelines(pieces)
        path.flush()
        return
    if _is_written_through(path):
        try:
            with open(path, "wb") as file:
                file.writelines(pieces)
        except OSError as error:
            raise OSError(error.errno, error.strerror, path) from error
        return
    target = os.path.realpath(path)
    folder = os.path.dirname(target)
    if not os.path.isdir(folder):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), folder)
    if os.path.isdir(target):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), target)
    if os.path.exists(target) and not os.path.isfile(target):
        raise OSError(errno.EINVAL, "is not a regular file", target)
    _remove_unfinished(target)
    temporary, descriptor = _begin_file(target)
    try:
        with open(descriptor, "wb") as file:
            if os.name == "posix" and os.path.exists(target):  # before there is anything to read
                os.fchmod(descriptor, stat.S_IMODE(os.stat(target).st_mode))
            file.writelines(pieces)
            file.flush()
            os.fsync(descriptor)
            if fcntl is not None:
                os.replace(temporary, target)  # while it is locked
        if fcntl is None:
            os.replace(temporary, target)
    except BaseException as error:
        Path(temporary).unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno is not None:  # nobody knows the temporary file
            raise OSError(error.errno, error.strerror, target) from error
        raise
    if os.name == "posix":  # only there can a folder be opened and synced, so that its new entry survives a power cut
        descriptor = os.open(folder, os.O_RDONLY)
        os.fsync(descriptor)
        os.close(descriptor)


def _begin_file(target: str) -> tuple[str, int]:
    """A new file beside the target, open and locked as long as it is written: see `_remove_unfinished`."""
    while True:
        temporary = f"{_unfinished(target)}{secrets.token_hex(8)}"
        # Not tempfile: its files are private, ours follow the umask.
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
        if fcntl is None:
            return temporary, descriptor
        with suppress(OSError):  # some file systems have no locks
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        if os.fstat(descriptor).st_nlink:
            return temporary, descriptor
        os.close(descriptor)  # taken for one that was left


def _unfinished(target: str) -> str:
    """How the names of the files begin that are to become `target`."""
    folder, name = os.path.split(target)
    return os.path.join(folder, f".{name[:100]}.hedgerow-unfinished-")


def _remove_unfinished(target: str) -> None:
    """Remove what a process left that was killed while it wrote `target`: what nobody has locked."""
    if fcntl is None:
        return
    folder, beginning = os.path.split(_unfinished(target))
    for name in os.listdir(folder):
        if name.startswith(beginning):
            with suppress(OSError), open(os.path.join(folder, name), "rb") as file:
                fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
                os.unlink(os.path.join(folder, name))


@contextmanager
def held(path: str | os.PathLike[str]) -> Iterator[None]:
    """Nobody else holds the file meanwhile; it need not be there. Whoever dies lets go of it."""
    folder, name = os.path.split(os.path.realpath(path))
    lock, descriptor = os.path.join(folder, f".{name[:100]}.hedgerow-lock"), None
    while fcntl is not None and descriptor is None:
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            raise InputError("another training keeps it", path=os.fspath(path), hint="Name another file.") from None
        except OSError:  # some file systems have no locks
            break
        if not os.fstat(descriptor).st_nlink:  # who held it before has just removed it
            os.close(descriptor)
            descriptor = None
    try:
        yield
    finally:
        if descriptor is not None:
            Path(lock).unlink(missing_ok=True)  # while it is locked
            os.close(descriptor)


def _read_bytes(path: str | os.PathLike[str]) -> bytes:
    """The whole file, once its first bytes and its size are those of a hedgerow model."""
    if not stat.S_ISREG(os.stat(path).st_mode):
        _refuse(path, "is not a hedgerow model: it is not a regular file")
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        start = file.read(_DIGITS.start)
        if not start:
            _refuse(path, "is empty")
        if start[8:] != _OPENING:
            _refuse(path, f"is not a hedgerow model{_guess(start, size)}")
        length = int.from_bytes(start[:8], "little")
        if length > size - 8 or size < _DIGITS.stop:
            _refuse(path, f"is damaged or cut short: its header should take {length} bytes and the file has {size}")
        return start + file.read()


def _guess(start: bytes, size: int) -> str:
    """What a foreign file seems to be, as the end of a sentence."""
    if _OPENING.startswith(start[8:]) and len(start) == size:
        return ", or is cut short after its first bytes"
    if start[8:9] == b"{" and int.from_bytes(start[:8], "little") <= size - 8:
        return ": it is a safetensors file that hedgerow did not write"
    return next((f": it looks like {name}" for pattern, name in _FOREIGN if re.match(pattern, start)), "")


def _parse_header(data: bytes, path: str | os.PathLike[str]) -> dict[str, Any]:
    try:
        table = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
        fields = json.loads(table["__metadata__"]["hedgerow"], object_pairs_hook=_without_repeats)
        version, header = fields["format_version"], fields["header"]
        sound = type(version) is int and version > 0 and not _is_deep(header)
        sound = sound and (version != FORMAT_VERSION or isinstance(header["kind"], str))
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        _refuse(path, "is damaged: its header cannot be read", error)
    if not sound:
        _refuse(path, "is damaged: its header cannot be read")
    if version != FORMAT_VERSION:
        what = f"is in format {version}, written by hedgerow {fields.get('hedgerow_version')}"
        todo = "Upgrade hedgerow" if version > FORMAT_VERSION else "No release wrote that one: train the model again"
        _refuse(path, f"{what}; hedgerow {__version__} reads format {FORMAT_VERSION}. {todo}")
    return dict(header)


def _is_deep(header: Any) -> bool:
    """Whether a header has too many lists and dicts in each other."""
    level = [header]
    for _ in range(MAX_DEPTH):
        level = [
            inner
            for value in level
            if isinstance(value, (Mapping, list, tuple))
            for inner in (value.values() if isinstance(value, Mapping) else value)
        ]
    return bool(level)


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) != len(pairs):
        raise ValueError("a name stands twice")
    return table


def _refuse(path: str | os.PathLike[str], sentence: str, cause: Exception | None = None) -> NoReturn:
    raise ModelFileError(f"{os.fspath(path)}: {sentence}") from cause
