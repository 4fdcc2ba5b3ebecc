"""Names in biomedical abstracts, and what the letters of a word tell."""

from __future__ import annotations

import re

import pytest

from hedgerow.errors import InputError
from reproduction.datasets import ORTHOGRAPHY, entity_features, load_jnlpba
from reproduction.datasets.jnlpba import FILES
from reproduction.datasets.orthography import word_shape

TEXT = "IL-2\tB-DNA\ngene\tI-DNA\n\nof\tO\n\n"


@pytest.fixture
def folder(tmp_path):
    for name in FILES:
        (tmp_path / name).write_text(TEXT)
    return tmp_path


def test_a_folder(folder):
    X_train, y_train, X_test, y_test = load_jnlpba(folder)
    assert X_train.columns["word"].tolist() == ["IL-2", "gene", "of"]
    assert y_train.tolist() == y_test.tolist() == [["B-DNA", "I-DNA"], ["O"]]
    assert X_test.lengths.tolist() == [2, 1]


def test_a_file_that_is_missing(tmp_path):
    with pytest.raises(InputError, match="has no file Genia4ERtask1"):
        load_jnlpba(tmp_path)


# What each expression accepts, and what comes near and is refused.
CASES = {
    "first letter is a capital": (["IL-2", "The"], ["mRNA", "2A"]),
    "capital, then small letters": (["The"], ["THe", "A", "Th-e"]),
    "all capitals": (["DNA"], ["A", "DNAs", "IL-2"]),
    "one capital": (["B"], ["b", "BB"]),
    "capitals and small letters mixed": (["mRNA", "DNase", "CsA"], ["The", "DNA", "IL-2a"]),
    "small letters": (["gene"], ["Gene", "cell-line"]),
    "capitals with a plural s": (["RNAs"], ["As", "mRNAs"]),
    "has a digit": (["p53", "2"], ["IL"]),
    "one digit": (["2"], ["22", "a2"]),
    "two digits": (["22"], ["2", "222"]),
    "whole number": (["2", "2004"], ["2.5", "2a"]),
    "decimal number": (["2.5", "1,000"], ["2", ".5"]),
    "letters and digits": (["p53", "2A"], ["53", "IL-2"]),
    "capitals, then digits": (["IL-2", "CD28"], ["p53", "CD28b"]),
    "digits, then letters": (["5-lipoxygenase", "3H"], ["H3"]),
    "has a dash": (["IL-2", "-like"], ["IL"]),
    "starts with a dash": (["-like"], ["IL-2", "-"]),
    "ends with a dash": (["NF-"], ["IL-2", "-"]),
    "has two dashes": (["a-b-c"], ["a-b"]),
    "has a slash": (["AP1/ETS", "/"], ["AP1"]),
    "has a bracket": (["(", "a[b"], ["a"]),
    "has an apostrophe": (["5'-end", "'s"], ["end"]),
    "has a plus": (["CD4+"], ["CD4"]),
    "has a full stop inside": (["PU.1", "2.5"], [".", "al."]),
    "one sign": ([".", "("], ["a", ".."]),
    "Roman numeral": (["IV", "XII", "I"], ["IIII", "VX", "A"]),
    "Greek letter": (["alpha", "Kappa"], ["alphas", "alphabet"]),
    "has a Greek letter": (["NF-kappa", "alpha", "beta-globin", "IFN/gamma2"], ["alphabet", "xbeta-a"]),
    "sequence of bases": (["TATA", "GGG"], ["TA", "TATx"]),
    "ends in -ase or -in": (["kinase", "proteins", "Globin"], ["in", "case-by"]),
    "ends in -cyte, -blast or -phage": (["lymphocytes", "fibroblast"], ["cytes-x"]),
}


def test_every_expression_has_its_cases():
    assert set(CASES) == set(ORTHOGRAPHY)
    assert len(ORTHOGRAPHY) == 31


@pytest.mark.parametrize("name", ORTHOGRAPHY)
def test_expressions(name):
    accepted, refused = CASES[name]
    assert isinstance(ORTHOGRAPHY[name], re.Pattern)
    assert [word for word in accepted + refused if name in word_shape(word)] == accepted


def test_the_column_is_added_to_just_these_sequences(folder):
    X = load_jnlpba(folder)[0]
    whole = entity_features(X)
    assert whole.kinds == {"word": "categorical", "orthography": "attributes"}
    assert whole.columns["orthography"].tolist() == [word_shape(word) for word in ("IL-2", "gene", "of")]
    part = entity_features(X[[1]])
    assert part.columns["word"].tolist() == ["of"]
    assert part.columns["orthography"].tolist() == [["small letters"]]


@pytest.mark.data
def test_the_real_data(data_folder):
    X_train, y_train, X_test, y_test = load_jnlpba()
    assert (len(X_train), len(X_test)) == (18_546, 3_856)
    assert (int(X_train.lengths.sum()), int(X_test.lengths.sum())) == (492_551, 101_039)
    assert X_test.lengths.tolist() == [len(labels) for labels in y_test]
    kinds = ("protein", "DNA", "RNA", "cell_line", "cell_type")
    assert {label for labels in y_train for label in labels} == {"O"} | {f"{a}-{b}" for a in "BI" for b in kinds}
    used = {name for row in entity_features(X_test).columns["orthography"] for name in row}
    assert used == set(ORTHOGRAPHY)
