"""The features of the text-to-speech table, and the choice between them."""

from __future__ import annotations

from dataclasses import replace

from hedgerow.experiments import slides_tts
from hedgerow.experiments.settings import Settings


def test_runs_of_letters_stay_inside_the_window():
    rows = slides_tts.letter_runs("cat", 3, 2)
    assert rows[0] == {"-1:1": "_", "+0:1": "c", "+1:1": "a", "-1:2": "_c", "+0:2": "ca"}
    assert rows[2] == {"-1:1": "a", "+0:1": "t", "+1:1": "_", "-1:2": "at", "+0:2": "t_"}
    assert len(slides_tts.letter_runs("cat", 7, 3)[1]) == 7 + 6 + 5


def test_the_choice_is_made_on_training_words_alone(tiny_data):
    settings = replace(Settings(seeds=(0,)), quick=True, max_iterations=5)
    corpus = slides_tts.draw_corpus(settings)
    assert len(corpus.X) == len(corpus.X_test) == 60
    assert all(label is not None for word in corpus.y for label in word)
    assert slides_tts.choose_runs(corpus.X, corpus.y, 3, settings) in {(1, l2) for l2 in slides_tts.PENALTIES}


def test_more_training_words_leave_the_test_words_alone(tiny_data):
    settings = replace(Settings(seeds=(0,)), quick=True)
    few, many = slides_tts.draw_corpus(settings), slides_tts.draw_corpus(settings, 65)
    assert len(many.X) == 65
    assert many.X[:60] == few.X
    assert many.y[:60] == few.y
    assert (many.X_test, many.y_test) == (few.X_test, few.y_test)
    everything = few.X + few.X_test
    assert sum(word not in everything for word in many.X[60:]) > 0
