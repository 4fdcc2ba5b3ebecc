"""Downloads, by file URLs: checked, whole or not at all."""

from __future__ import annotations

import gzip
import hashlib

import pytest

from hedgerow.datasets.conll2000 import cache_folder, fetch_gzip
from hedgerow.errors import InputError

CONTENTS = b"the DT B-NP\n" * 100
SHA256 = hashlib.sha256(CONTENTS).hexdigest()


@pytest.fixture
def served(tmp_path):
    """A file to fetch, and where to put it: in a folder that is not there yet."""
    source = tmp_path / "source.gz"
    source.write_bytes(gzip.compress(CONTENTS))
    return source, tmp_path / "cache" / "deep" / "train.txt"


def test_a_good_file_is_unpacked_and_kept(served):
    source, target = served
    fetch_gzip(source.as_uri(), target, size=len(CONTENTS), sha256=SHA256)
    assert target.read_bytes() == CONTENTS
    assert [path.name for path in target.parent.iterdir()] == ["train.txt"]


@pytest.mark.parametrize(
    ("sent", "match"),
    [
        (gzip.compress(CONTENTS[:-1]), "not the file it was"),
        (gzip.compress(CONTENTS + b"x"), "not the file it was"),
        (gzip.compress(CONTENTS.replace(b"D", b"E", 1)), "not the file it was"),
        (gzip.compress(CONTENTS)[:-20], "cannot be downloaded"),
        (gzip.compress(CONTENTS)[:30] + b"\xff" * 20, "cannot be downloaded"),
        (b"<html>moved</html>", "cannot be downloaded"),
        (None, "cannot be downloaded"),
    ],
    ids=["shorter", "longer", "changed", "cut", "broken", "a web page", "missing"],
)
def test_anything_else_is_refused_and_not_kept(served, sent, match):
    source, target = served
    source.unlink() if sent is None else source.write_bytes(sent)
    with pytest.raises(InputError, match=match):
        fetch_gzip(source.as_uri(), target, size=len(CONTENTS), sha256=SHA256)
    assert not target.exists()


def test_a_bomb_is_not_unpacked(served):
    source, target = served
    source.write_bytes(gzip.compress(bytes(50_000_000)))
    with pytest.raises(InputError, match="not the file it was"):
        fetch_gzip(source.as_uri(), target, size=len(CONTENTS), sha256=SHA256)


def test_a_failure_while_saving_leaves_nothing(served, monkeypatch):
    source, target = served

    def fail(*_):
        raise OSError("no space left")

    monkeypatch.setattr("os.replace", fail)
    with pytest.raises(OSError, match="no space left"):
        fetch_gzip(source.as_uri(), target, size=len(CONTENTS), sha256=SHA256)
    assert list(target.parent.iterdir()) == []


def test_the_cache_folder_follows_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "hedgerow"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder() == tmp_path / ".cache" / "hedgerow"
