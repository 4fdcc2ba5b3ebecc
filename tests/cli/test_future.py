"""hedgerow train --model ffmemm, and its model in the other commands."""

from __future__ import annotations

from hedgerow import load

QUESTION, STATEMENT = (
    [["you", "are", "here", "?"], ["are", "you", "?"]],
    [["you", "are", "."], ["here", "you", "are", "."]],
)


def corpus():
    rows = [(row, "q") for row in QUESTION] + [(row, "s") for row in STATEMENT]
    return "\n".join("".join(f"{word} {label}\n" for word in row) for row, label in rows * 8)


def test_it_trains_tags_and_is_told(hedgerow, tmp_path):
    data, model = tmp_path / "a.txt", tmp_path / "m.hedgerow"
    data.write_text(corpus())
    options = ("--order", "0", "--window", "0", "--trees", "6", "--dev", "0", "--set", "bag=None")
    trained = hedgerow("train", data, "--model", "ffmemm", *options, "-o", model)
    assert trained.code == 0
    assert "parameters" in trained.out
    found = load(model)
    assert (found.bag, found.order_, found.n_features_ >= 1) == (None, 0, True)
    words = tmp_path / "b.txt"
    words.write_text("you\nhere\nare\n?\n")
    assert [line.split()[-1] for line in hedgerow("tag", model, words).out.splitlines() if line] == ["q"] * 4
    assert "FutureFeatureMEMM" in hedgerow("info", model).out


def test_it_is_trained_again_on_all_and_has_no_metric(hedgerow, tmp_path):
    data, model = tmp_path / "a.txt", tmp_path / "m.hedgerow"
    data.write_text(corpus())
    options = ("--order", "0", "--window", "0", "--trees", "6", "--learning-rate", "1", "--set", "bag=None")
    trained = hedgerow("train", data, "--model", "ffmemm", *options, "-o", model)
    assert trained.code == 0, trained.err
    assert "on all sequences" in trained.out
    assert (load(model).refitted_, load(model).learning_rate) == (True, 1.0)
    refused = hedgerow("train", data, "--model", "ffmemm", "--dev", "0.1", "--scoring", "accuracy", "-o", model)
    assert refused.code != 0
    assert "--scoring is not supported with --model ffmemm" in refused.complaint
