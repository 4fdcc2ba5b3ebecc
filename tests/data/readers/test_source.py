"""Where text comes from: every kind of source gives the same lines, and undecodable bytes are named by line."""

from __future__ import annotations

import io
import os
from pathlib import Path

import pytest

from hedgerow.data.readers.source import read_lines
from hedgerow.errors import InputError

TEXT = "\ufeffa b\r\nc\u2028d\n\ne\x0cf"
LINES = ["a b", "c\u2028d", "", "e\x0cf"]


def test_every_source_gives_the_same_lines(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_bytes(TEXT.encode())
    by_line = TEXT.removeprefix("\ufeff").split("\n")
    assert read_lines(path) == (str(path), LINES)
    assert read_lines(str(path)) == (str(path), LINES)
    assert read_lines(io.BytesIO(TEXT.encode()))[1] == LINES
    assert read_lines(io.StringIO(TEXT, newline=""))[1] == LINES
    assert read_lines(f"{line}\n" for line in by_line)[1] == LINES
    assert read_lines([line.encode() for line in by_line])[1] == LINES
    with path.open(encoding="utf-8") as file:
        assert read_lines(file) == (str(path), LINES)


def test_the_encoding_is_used(tmp_path: Path) -> None:
    path = tmp_path / "latin"
    path.write_bytes("né\n".encode("latin-1"))
    assert read_lines(path, "latin-1")[1] == ["né"]
    with pytest.raises(InputError, match="not an encoding"):
        read_lines(path, "no-such-code")


@pytest.mark.parametrize("as_iterable", [False, True])
def test_a_byte_that_is_not_utf8_is_named_by_line(as_iterable: bool) -> None:
    lines = [b"fine\n", b"also\n", b"b\xffd\n"]
    with pytest.raises(InputError, match="0xff is not utf-8") as error:
        read_lines(lines if as_iterable else io.BytesIO(b"".join(lines)))
    assert error.value.line == 3


def test_a_text_file_opened_with_the_wrong_encoding_is_an_input_error(tmp_path: Path) -> None:
    path = tmp_path / "latin"
    path.write_bytes(b"n\xe9\n")
    with path.open(encoding="utf-8") as file, pytest.raises(InputError, match="utf-8"):
        read_lines(file)


@pytest.mark.parametrize("source", ["/no/such/file", "nul\0l", 3, [1, 2]])
def test_what_cannot_be_read_is_an_input_error(source: object) -> None:
    with pytest.raises(InputError):
        read_lines(source)  # type: ignore[arg-type]


def test_a_folder_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read") as error:
        read_lines(tmp_path)
    assert error.value.path == str(tmp_path)


@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="there are no such devices here")
def test_a_device_without_an_end_is_refused() -> None:
    with pytest.raises(InputError, match="is a device"):
        read_lines("/dev/zero")
    assert read_lines(os.devnull) == (os.devnull, [])
