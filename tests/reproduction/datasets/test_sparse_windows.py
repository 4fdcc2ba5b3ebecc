"""The sparse 0/1 format, and the thesis' hyphenation data in it."""

from __future__ import annotations

import pytest

from hedgerow.errors import InputError
from reproduction.datasets import load_hyphen_windows, read_sparse_windows
from reproduction.datasets.sparse_windows import HYPHEN_FILES

TEXT = "2 3 6\n1 1 2 0 4 2\n1 2 2 1 5 0\n2 1 2 2 3 1\n"


def written(folder, text):
    (folder / "sparse").write_text(text)
    return folder / "sparse"


def test_a_file(tmp_path):
    windows = read_sparse_windows(written(tmp_path, TEXT))
    assert (windows.n_labels, windows.n_features) == (3, 6)
    assert windows.indices == [[[0, 4], [1, 5]], [[2, 3]]]
    assert windows.labels == [[2, 0], [1]]


def test_slots_are_runs_of_features(tmp_path):
    values, offsets = read_sparse_windows(written(tmp_path, TEXT)).slots(2)
    assert values.tolist() == [[0, 1], [1, 2], [2, 0]]
    assert offsets.tolist() == [0, 2, 3]


@pytest.mark.parametrize("n_slots", [1, 3, 4, 6])
def test_windows_that_have_other_slots(n_slots, tmp_path):
    with pytest.raises(InputError):
        read_sparse_windows(written(tmp_path, TEXT)).slots(n_slots)


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("", 1, "three numbers"),
        ("2 3\n", 1, "three numbers"),
        ("2 3 x\n", 1, "not a whole number"),
        ("1 2 6\n1 1 2 0 1\n", 2, "as many features"),
        ("1 2 6\n1 1\n", 2, "as many features"),
        ("1 2 6\n1 2 1 0 1\n", 2, "position 2 of sequence 1 after position 0 of sequence 0"),
        ("1 2 6\n1 1 1 0 1\n1 3 1 0 1\n", 3, "position 3"),
        ("2 2 6\n1 1 1 0 1\n3 1 1 0 1\n", 3, "sequence 3"),
        ("1 2 6\n1 1 1 6 1\n", 2, "from 0 to 5"),
        ("1 2 6\n1 1 2 3 2 1\n", 2, "do not rise"),
        ("1 2 6\n1 1 1 0 2\n", 2, "label 2"),
        ("2 2 6\n1 1 1 0 1\n", None, "1 sequences where its first line says 2"),
    ],
)
def test_files_that_are_wrong(text, line, what, tmp_path):
    with pytest.raises(InputError, match=what) as caught:
        read_sparse_windows(written(tmp_path, text))
    assert caught.value.line == line


def test_hyphenation_has_letters_and_places_between_them(tmp_path):
    """ "cat", with a break after the a."""
    rows = "1 2 162\n1 1 6 26 53 56 81 127 161 0\n1 2 6 26 29 54 100 134 161 1\n"
    for name in HYPHEN_FILES:
        (tmp_path / name).write_text(rows)
    X, y, _, _ = load_hyphen_windows(tmp_path)
    names = ["letter[-2]", "letter[-1]", "letter[0]", "letter[+1]", "letter[+2]", "letter[+3]"]
    assert list(X) == [[dict(zip(names, "--cat-")), dict(zip(names, "-cat--"))]]
    assert y.tolist() == [["join", "break"]]


@pytest.mark.data
def test_the_real_data(data_folder):
    X_train, y_train, X_test, y_test = load_hyphen_windows()
    assert (len(X_train), len(X_test)) == (1_951, 908)
    assert [list(X.lengths) for X in (X_train, X_test)] == [list(map(len, y)) for y in (y_train, y_test)]
    assert {label for labels in y_train for label in labels} == {"break", "join"}
    windows = read_sparse_windows(data_folder / "hyphen" / HYPHEN_FILES[0])
    assert windows.n_features == 162
