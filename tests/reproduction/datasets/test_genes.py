"""Genes: bases, labels, and trimers of bases."""

from __future__ import annotations

import gzip

import pytest

from hedgerow.data.sequences import Sequences
from hedgerow.errors import InputError
from reproduction.datasets import load_genes, trimers
from reproduction.datasets.genes import FILES


def written(folder, text):
    for name in FILES:
        with gzip.open(folder / name, "wt") as file:
            file.write(text)
    return folder


def test_a_file(tmp_path):
    X_train, y_train, X_test, y_test = load_genes(written(tmp_path, "one\tacgtn\tnncci\ntwo\tGg\tii\n"))
    assert X_train.columns["base"].tolist() == ["a", "c", "g", "t", None, "g", "g"]
    assert X_train.offsets.tolist() == X_test.offsets.tolist() == [0, 5, 7]
    assert y_train.tolist() == y_test.tolist() == [list("nncci"), ["i", "i"]]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("one\tac\tnn\ntwo\tac\n", "is not a gene"),
        ("one\tac\tnn\ntwo\tac\tn\n", "is not a gene"),
        ("one\tac\tnn\ntwo\tac\tnx\n", "has the label 'x'"),
    ],
)
def test_lines_that_are_wrong(text, words, tmp_path):
    with pytest.raises(InputError, match=words) as caught:
        load_genes(written(tmp_path, text))
    assert caught.value.line == 2


def test_what_is_no_gzip_file(tmp_path):
    for name in FILES:
        (tmp_path / name).write_text("one\tac\tnn\n")
    with pytest.raises(InputError, match="cannot be read"):
        load_genes(tmp_path)


def test_trimers_stay_within_a_sequence_and_miss_what_is_missing(tmp_path):
    X = load_genes(written(tmp_path, "one\tacgt\tnnnn\ntwo\tccntac\tiiiiii\nthree\ta\tn\n"))[0]
    expected = [None, "acg", "cgt", None, None, None, None, None, "tac", None, None]
    found = trimers(X)
    assert found.columns["trimer"].tolist() == expected
    assert found.offsets.tolist() == X.offsets.tolist()
    assert found.kinds == {"trimer": "categorical"}
    assert trimers(X[[1]]).columns["trimer"].tolist() == expected[4:10]


def test_trimers_of_sequences_without_positions():
    X = Sequences({"base": _objects("acg")}, [0, 0, 3, 3], {"base": "categorical"})
    assert trimers(X).columns["trimer"].tolist() == [None, "acg", None]


def _objects(letters):
    import numpy as np

    return np.array(list(letters), dtype=object)


@pytest.mark.data
def test_the_real_data(data_folder):
    X_train, _, X_test, y_test = load_genes()
    assert (len(X_train), len(X_test)) == (462, 453)
    assert (int(X_train.lengths.sum()), int(X_test.lengths.sum())) == (5_524_976, 2_066_664)
    assert X_test.lengths.tolist() == [len(labels) for labels in y_test]
    assert {label for labels in y_test for label in labels} == set("cin")
    assert set(X_test.columns["base"]) == {*"acgt", None}
