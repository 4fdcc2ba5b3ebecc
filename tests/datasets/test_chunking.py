"""The templates for chunking."""

from __future__ import annotations

from hedgerow.datasets import chunking_features


def test_the_templates_in_the_middle_of_a_sentence():
    row = chunking_features(list("abcde"), list("ABCDE"))[2]
    assert len(row) == 19
    assert row["word[-2]"] == "a"
    assert row["word[0]"] == "c"
    assert row["word[-1]|word[0]"] == "b|c"
    assert row["pos[2]"] == "E"
    assert row["pos[1]|pos[2]"] == "D|E"
    assert row["pos[-1]|pos[0]|pos[1]"] == "B|C|D"


def test_what_reaches_outside_is_absent():
    (row,) = chunking_features(["a"], ["A"])
    assert row == {"word[0]": "a", "pos[0]": "A"}
    first, last = chunking_features(["a", "b"], ["A", "B"])
    assert "word[-1]" not in first
    assert first["pos[0]|pos[1]"] == "A|B"
    assert "pos[0]|pos[1]" not in last
    assert last["word[-1]|word[0]"] == "a|b"
    assert chunking_features([], []) == []
