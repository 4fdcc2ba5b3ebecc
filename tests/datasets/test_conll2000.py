"""CoNLL-2000: from a folder, from HEDGEROW_DATA, or by download."""

from __future__ import annotations

import gzip
import hashlib

import pytest

from hedgerow.datasets import conll2000, load_conll2000
from hedgerow.errors import InputError

TRAIN = "He PRP B-NP\nruns VBZ B-VP\n\nShe PRP B-NP\n"
TEST = "They PRP B-NP\n"


def put(folder, name, text):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)


def check_small(parts):
    X_train, y_train, X_test, y_test = parts
    assert list(X_train) == [
        [{"word": "He", "pos": "PRP"}, {"word": "runs", "pos": "VBZ"}],
        [{"word": "She", "pos": "PRP"}],
    ]
    assert y_train.tolist() == [["B-NP", "B-VP"], ["B-NP"]]
    assert list(X_test) == [[{"word": "They", "pos": "PRP"}]]
    assert y_test.tolist() == [["B-NP"]]


def test_a_folder_is_read(tmp_path, monkeypatch):
    put(tmp_path / "given", "train.txt", TRAIN)
    put(tmp_path / "given", "test.txt", TEST)
    monkeypatch.setenv("HEDGEROW_DATA", str(tmp_path / "another"))
    check_small(load_conll2000(tmp_path / "given"))
    check_small(load_conll2000(str(tmp_path / "given")))


def test_the_data_folder_is_read(tmp_path, monkeypatch):
    put(tmp_path / "conll2000", "train.txt", TRAIN)
    put(tmp_path / "conll2000", "test.txt", TEST)
    monkeypatch.setenv("HEDGEROW_DATA", str(tmp_path))
    check_small(load_conll2000())


def test_a_folder_without_the_files(tmp_path, monkeypatch):
    put(tmp_path / "conll2000", "train.txt", TRAIN)
    with pytest.raises(InputError, match=r"test\.txt"):
        load_conll2000(tmp_path / "conll2000")
    monkeypatch.setenv("HEDGEROW_DATA", str(tmp_path))
    with pytest.raises(InputError, match=r"test\.txt"):
        load_conll2000()


def test_the_originals_are_downloaded_once(tmp_path, monkeypatch):
    parts = []
    (tmp_path / "site").mkdir()
    for name, text in (("train.txt", TRAIN), ("test.txt", TEST)):
        (tmp_path / "site" / f"{name}.gz").write_bytes(gzip.compress(text.encode()))
        parts.append(conll2000._Part(name, len(text), hashlib.sha256(text.encode()).hexdigest()))
    monkeypatch.setattr(conll2000, "_PARTS", tuple(parts))
    monkeypatch.setattr(conll2000, "_URL", (tmp_path / "site").as_uri() + "/")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("HEDGEROW_DATA", str(tmp_path / "without-it"))
    check_small(load_conll2000())
    for file in (tmp_path / "site").iterdir():
        file.unlink()
    check_small(load_conll2000())


@pytest.mark.data
def test_the_real_data(data_folder):
    for part in conll2000._PARTS:
        contents = (data_folder / "conll2000" / part.name).read_bytes()
        assert len(contents) == part.size
        assert hashlib.sha256(contents).hexdigest() == part.sha256
    X_train, y_train, X_test, y_test = load_conll2000()
    assert (len(X_train), len(X_test)) == (8936, 2012)
    assert (int(X_train.lengths.sum()), int(X_test.lengths.sum())) == (211_727, 47_377)
    assert len({label for labels in y_train for label in labels}) == 22
    assert len(y_test) == 2012
