"""The features of the text-to-speech table, and the choice between them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from reproduction.settings import Settings
from reproduction.slides import tts as slides_tts


def test_runs_of_letters_stay_inside_the_window():
    rows = slides_tts.letter_runs("cat", 3, 2)
    assert rows[0] == {"-1:1": "_", "+0:1": "c", "+1:1": "a", "-1:2": "_c", "+0:2": "ca"}
    assert rows[2] == {"-1:1": "a", "+0:1": "t", "+1:1": "_", "-1:2": "at", "+0:2": "t_"}
    assert len(slides_tts.letter_runs("cat", 7, 3)[1]) == 7 + 6 + 5


class Guesser:
    """Knows the labels of all training words where its penalty is the right one, and of none where it is not."""

    def __init__(self, corpus, right, seen, l2):
        self.answers = {repr(slides_tts.letter_runs(x, 3, 1)): labels for x, labels in zip(corpus.X, corpus.y)}
        self.right, self.seen, self.l2 = right, seen, l2

    def fit(self, X, y):
        self.seen["fit"].append([repr(rows) for rows in X])
        return self

    def predict(self, X, decoder):
        self.seen["predict"].append([repr(rows) for rows in X])
        return [[label if self.l2 == self.right else "no label" for label in self.answers[repr(x)]] for x in X]


@pytest.mark.parametrize("right", slides_tts.PENALTIES)
def test_the_choice_is_made_by_held_out_training_words(tiny_data, monkeypatch, right):
    settings = replace(Settings(seeds=(0,)), quick=True, max_iterations=5)
    corpus = slides_tts.draw_corpus(settings)
    assert len(corpus.X) == len(corpus.X_test) == 60
    assert all(label is not None for word in corpus.y for label in word)
    seen = {"fit": [], "predict": []}
    monkeypatch.setattr(slides_tts, "LinearCRF", lambda l2, **_: Guesser(corpus, right, seen, l2))
    assert slides_tts.choose_runs(corpus.X, corpus.y, 3, settings) == (1, right)
    words = [repr(slides_tts.letter_runs(word, 3, 1)) for word in corpus.X]
    assert seen["fit"] == [words[:48]] * len(slides_tts.PENALTIES)
    assert seen["predict"] == [words[48:]] * len(slides_tts.PENALTIES)


def test_more_training_words_leave_the_test_words_alone(tiny_data):
    settings = replace(Settings(seeds=(0,)), quick=True)
    few, many = slides_tts.draw_corpus(settings), slides_tts.draw_corpus(settings, 65)
    assert len(many.X) == 65
    assert many.X[:60] == few.X
    assert many.y[:60] == few.y
    assert (many.X_test, many.y_test) == (few.X_test, few.y_test)
    everything = few.X + few.X_test
    assert sum(word not in everything for word in many.X[60:]) > 0
