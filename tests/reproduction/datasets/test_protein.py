"""Proteins as residues and their labels."""

from __future__ import annotations

import pytest

from hedgerow.errors import InputError
from reproduction.datasets import load_protein, read_sparse_windows
from reproduction.datasets.protein import FILES, read_protein
from reproduction.datasets.relatives import families

TEXT = "# A remark.\n\n<>\nG _\nV h\n<end>\n<>\nA e\nend\n<>\nM _\n<>\nC h\n"


def test_a_file(tmp_path):
    for name in FILES:
        (tmp_path / name).write_text(TEXT)
    X_train, y_train, X_test, y_test = load_protein(tmp_path)
    assert X_train == X_test == [["G", "V"], ["A"], ["M"], ["C"]]
    assert y_train == y_test == [["_", "h"], ["e"], ["_"], ["h"]]


@pytest.mark.parametrize(
    ("text", "line"), [("G _\n", 1), ("<>\nG x\n", 2), ("<>\nG _\nend\nA h\n", 4), ("<>\nG _ h\n", 2)]
)
def test_what_is_no_residue_is_refused(text, line, tmp_path):
    (tmp_path / "a").write_text(text)
    with pytest.raises(InputError, match="is not a residue") as caught:
        read_protein(tmp_path / "a")
    assert caught.value.line == line


@pytest.mark.data
def test_the_real_data(data_folder):
    X_train, y_train, X_test, y_test = load_protein()
    assert (len(X_train), len(X_test)) == (111, 17)
    assert (sum(map(len, X_train)), sum(map(len, X_test))) == (18_105, 3_520)
    assert [list(map(len, X)) for X in (X_train, X_test)] == [list(map(len, y)) for y in (y_train, y_test)]
    assert len({letter for x in X_train for letter in x}) == 20
    assert {label for labels in y_train for label in labels} == {"h", "e", "_"}


@pytest.mark.data
@pytest.mark.parametrize("part", ["train", "test"])
def test_the_letters_are_those_of_the_window_features(part, data_folder):
    X, y = read_protein(data_folder / "protein" / f"protein-secondary-structure.{part}")
    windows = read_sparse_windows(data_folder / "protein" / f"sparse.protein.11.{part}")
    values, offsets = windows.slots(11)
    assert offsets.tolist()[1:] == [sum(map(len, X[: i + 1])) for i in range(len(X))]
    letters = "ACDEFGHIKLMNPQRSTVWY-"
    padded = ["-" * 5 + "".join(x) + "-" * 5 for x in X]
    expected = [row[t : t + 11] for row in padded for t in range(len(row) - 10)]
    assert ["".join(letters[value] for value in row) for row in values.tolist()] == expected
    assert windows.labels == [["_eh".index(label) for label in labels] for labels in y]


def test_a_family_is_a_chain_of_relatives():
    one, middle, other, alone = map(list, ("GLSDGEWQLV", "GEWQLVLNVWGK", "LNVWGKVEAD", "MKTAYIAKQR"))
    found = families([one, alone, other, middle, ["G"]])
    assert len(set(found.tolist())) == 3
    assert found[0] == found[2] == found[3]
    assert len(set(families([one, other]).tolist())) == 2  # without the one between them


@pytest.mark.data
def test_no_test_protein_is_related_to_one_of_training(data_folder):
    X, _, X_test, _ = load_protein(data_folder / "protein")
    found = families(X + X_test)
    assert not set(found[: len(X)].tolist()) & set(found[len(X) :].tolist())
