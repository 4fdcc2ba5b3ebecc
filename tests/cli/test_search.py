"""hedgerow train --model search, and its model in the other commands."""

from __future__ import annotations

from hedgerow import load

ROWS = [("the", "D"), ("dog", "N"), ("barks", "V")], [("a", "D"), ("cat", "N"), ("sleeps", "V")]


def test_it_trains_tags_and_is_told(hedgerow, tmp_path):
    data, model = tmp_path / "a.txt", tmp_path / "m.hedgerow"
    data.write_text("\n".join("".join(f"{word} {label}\n" for word, label in row) for row in ROWS * 6))
    options = ("--order", "1", "--max-iter", "8", "--set", "beam_width=3", "--set", "update=beam")
    trained = hedgerow("train", data, "--model", "search", *options, "-o", model)
    assert trained.code == 0
    assert "weights" in trained.out
    found = load(model)
    assert (found.beam_width, found.update, found.order, found.refitted_) == (3, "beam", 1, True)
    words = tmp_path / "b.txt"
    words.write_text("the\ncat\nbarks\n")
    assert [line.split()[-1] for line in hedgerow("tag", model, words).out.splitlines() if line] == ["D", "N", "V"]
    assert "BeamSearchTagger" in hedgerow("info", model).out
    scored = hedgerow("eval", model, data)
    assert scored.code == 0
    asked = hedgerow("tag", model, words, "--probabilities")
    assert asked.code != 0
    assert "has no probabilities" in asked.err


def test_virtual_evidence_trains_and_tags(hedgerow, tmp_path):
    data, model = tmp_path / "a.txt", tmp_path / "m.hedgerow"
    data.write_text("\n".join("".join(f"{word} {label}\n" for word, label in row) for row in ROWS * 6))
    options = ("--trees", "10", "--leaves", "4", "--l2-regularization", "1", "--dev", "0")
    assert hedgerow("train", data, "--model", "veb", *options, "-o", model).code == 0
    assert type(load(model)).__name__ == "VirtualEvidence"
    words = tmp_path / "b.txt"
    words.write_text("the\ncat\nbarks\n")
    assert [line.split()[-1] for line in hedgerow("tag", model, words).out.splitlines() if line] == ["D", "N", "V"]
