"""Where text comes from: a path, an open file or an iterable of lines becomes a list of lines."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from typing import IO, Any

from hedgerow.errors import InputError

Source = str | os.PathLike[str] | IO[str] | IO[bytes] | Iterable[str] | Iterable[bytes]

MOST_COLUMNS = 250_000  # a model file has room for about so many


def check_width(width: int, path: str | None) -> None:
    """Refuse a table that no model could be kept of, before anything is made of it."""
    if width > MOST_COLUMNS:
        hint = "Is the separator right? Features that are mostly absent go into JSON lines, or a sparse matrix."
        raise InputError(f"has {width:,} columns, and {MOST_COLUMNS:,} is the most", path=path, hint=hint)


def read_lines(source: Source, encoding: str = "utf-8") -> tuple[str | None, list[str]]:
    """The name of the source, for messages, and its lines without line ends.

    Lines end at "\\n" or "\\r\\n" and nowhere else: a form feed or a Unicode line separator may be part of a
    token. A text whose lines end at "\\r" alone is refused: it would be one line; and so is one with a NUL. Bytes are
    decoded here, so that one that does not fit is an InputError with its line.
    """
    name: str | None = None
    if isinstance(source, (str, os.PathLike)):
        name = os.fspath(source)
        content: Any = _read_path(name)
    elif hasattr(source, "read"):
        given = getattr(source, "name", None)
        name = given if isinstance(given, str) else None
        content = _read_file(source, name)
    elif isinstance(source, Iterable):
        return None, _from_iterable(source, encoding)
    else:
        hint = "Give a path, an open file or an iterable of lines."
        raise InputError(f"cannot read text from {type(source).__name__}", hint=hint)
    text = content if isinstance(content, str) else _decode(content, encoding, name)
    if "\r" in text and "\n" not in text:
        hint = "Convert it: tr '\\r' '\\n' < old > new."
        raise InputError("its lines end with carriage returns alone, as those of old Macs do", path=name, hint=hint)
    if (at := text.find("\0")) >= 0:
        hint = "Give its ⟦encoding⟧, if it is UTF-16; if it is damaged, mend it: tr -d '\\000' < old > new."
        raise InputError("has a NUL character, as no text has", path=name, line=text.count("\n", 0, at) + 1, hint=hint)
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
    return name, lines[:-1] if lines[-1] == "" else lines  # what follows the last line end is not a line


def read_all(file: IO[bytes], name: str) -> bytes:
    """All that an open file has; of a device that may have no end, nothing."""
    if stat.S_ISCHR(os.fstat(file.fileno()).st_mode) and not file.isatty() and file.read(1):
        raise InputError("is a device, whose bytes may have no end. Name a file", path=name)
    return file.read()


def _read_path(name: str) -> bytes:
    if "\0" in name:
        raise InputError("is not the name of a file", path=repr(name))
    try:
        with open(name, "rb") as file:
            return read_all(file, name)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", path=name) from error


def _read_file(file: Any, name: str | None) -> Any:
    try:
        return file.read()
    except UnicodeDecodeError as error:
        hint = "Open the file in binary mode to learn the line."
        raise InputError(f"is not {error.encoding} text", path=name, hint=hint) from error


def _from_iterable(source: Iterable[Any], encoding: str) -> list[str]:
    texts = (one if isinstance(one, str) else _decode(one, encoding, None, i) for i, one in enumerate(source, start=1))
    lines = [text.rstrip("\r\n") for text in texts]
    if lines:
        lines[0] = lines[0].removeprefix("\ufeff")
    return lines


def _decode(content: Any, encoding: str, name: str | None, line: int | None = None) -> str:
    """The text that some bytes are."""
    if not isinstance(content, (bytes, bytearray)):
        what = f"{'holds' if line is None else 'is'} {type(content).__name__}, not text"
        raise InputError(what, path=name, line=line)
    try:
        return content.decode(encoding)
    except UnicodeDecodeError as error:
        place = line if line is not None else content.count(b"\n", 0, error.start) + 1
        what = f"byte {content[error.start]:#04x} is not {encoding} text"
        hint = f"Convert the file to {encoding.upper()}⟦; or give its encoding, such as encoding='latin-1'⟧."
        raise InputError(what, path=name, line=place, hint=hint) from error
    except LookupError as error:
        raise InputError(f"{encoding!r} is not an encoding that Python knows") from error
