"""Noun phrases out of chunks."""

from __future__ import annotations

import pytest

from reproduction.datasets import load_np_chunking
from reproduction.datasets.chunking_np import noun_phrases


def test_only_noun_phrases_are_left():
    y = [["B-NP", "I-NP", "B-VP", "O", "B-NP"], [], ["B-PP", "I-PP"]]
    assert noun_phrases(y).tolist() == [["B-NP", "I-NP", "O", "O", "B-NP"], [], ["O", "O"]]
    assert noun_phrases([["O"], ["B-NP"]]).shape == (2,)


def test_a_folder(tmp_path):
    for name in ("train.txt", "test.txt"):
        (tmp_path / name).write_text("He PRP B-NP\nruns VBZ B-VP\n\n")
    X_train, y_train, _, y_test = load_np_chunking(tmp_path)
    assert X_train.columns["word"].tolist() == ["He", "runs"]
    assert y_train.tolist() == y_test.tolist() == [["B-NP", "O"]]


@pytest.mark.data
def test_the_real_data(data_folder):
    X_train, y_train, X_test, y_test = load_np_chunking()
    assert (len(X_train), len(X_test)) == (8936, 2012)
    # 55,081 and 12,422 noun phrases: as the shared task counts them
    counts = [sum(labels.count("B-NP") for labels in y) for y in (y_train, y_test)]
    assert counts == [55_081, 12_422]
    assert {label for labels in y_train for label in labels} == {"B-NP", "I-NP", "O"}
