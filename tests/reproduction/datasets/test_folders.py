"""Where data is looked for, and what is said where it is not."""

from __future__ import annotations

import pytest

from hedgerow.errors import InputError
from reproduction.datasets import load_hyphen_windows, load_nettalk, load_paper_lines, load_protein
from reproduction.datasets.folders import find_folder

LOADERS = {"protein": load_protein, "nettalk": load_nettalk, "hyphen": load_hyphen_windows, "parscit": load_paper_lines}


def test_the_folder_given_comes_first(tmp_path, monkeypatch):
    for place in ("given", "named/set"):
        (tmp_path / place).mkdir(parents=True)
        (tmp_path / place / "a.txt").write_text("")
    monkeypatch.setenv("HEDGEROW_DATA", str(tmp_path / "named"))
    assert find_folder(str(tmp_path / "given"), "set", ("a.txt",)) == tmp_path / "given"
    assert find_folder(None, "set", ("a.txt",)) == tmp_path / "named" / "set"


@pytest.mark.parametrize("name", LOADERS)
def test_without_a_folder_both_ways_are_named(name, monkeypatch):
    monkeypatch.delenv("HEDGEROW_DATA", raising=False)
    with pytest.raises(InputError, match=rf"'{name}'.*folder=.*HEDGEROW_DATA"):
        LOADERS[name]()


@pytest.mark.parametrize("name", LOADERS)
def test_a_folder_without_the_file_is_named(name, tmp_path, monkeypatch):
    monkeypatch.setenv("HEDGEROW_DATA", str(tmp_path))
    with pytest.raises(InputError, match=r"has no file .*folder=.*HEDGEROW_DATA") as caught:
        LOADERS[name]()
    assert caught.value.path == str(tmp_path / name)
    with pytest.raises(InputError, match="has no file"):
        LOADERS[name](tmp_path)
