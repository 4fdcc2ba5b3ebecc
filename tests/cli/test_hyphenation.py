"""The parts of the demo."""

from __future__ import annotations

import pytest

from hedgerow.cli.hyphenation import FrequentLabel, Scores, fit_hyphenator, hyphenate, letter_pieces


def test_pieces_touch_the_place_behind_their_letter():
    pieces = letter_pieces("ab")
    assert len(pieces) == 2
    # Behind "a" the text is <a|b>: pieces that end at the bar, start at it, or reach over it.
    assert sorted(pieces[0]) == sorted(["-2<a", "-2<ab", "-2<ab>", "-1a", "-1ab", "-1ab>", "0b", "0b>"])
    assert sorted(pieces[1]) == sorted(["-3<ab", "-3<ab>", "-2ab", "-2ab>", "-1b", "-1b>", "0>"])


def test_pieces_are_short_and_near():
    pieces = [piece for row in letter_pieces("incomprehensible") for piece in row]
    assert {piece[:-1] for piece in letter_pieces("abcdefgh")[3] if piece.startswith("0")} >= {"0", "0e", "0ef"}
    assert max(len(piece.lstrip("-0123456789")) for piece in pieces) == 5
    assert all(-4 <= int(piece[:2] if piece[0] == "-" else piece[0]) <= 0 for piece in pieces)


def test_the_baseline_counts_letters_on_both_sides():
    words, labels = ["abcd", "abcd", "abcd"], [["join", "break", "join", "join"]] * 2 + [["join"] * 4]
    baseline = FrequentLabel().fit(words, labels)
    assert baseline.predict(["abcd"]) == [["join", "break", "join", "join"]]
    assert baseline.predict(["xbcd", "zz"]) == [["join"] * 4, ["join"] * 2]


def test_scores():
    scores = Scores.of([["break", "join"], ["join", "break"]], [["break", "join"], ["join", "join"]])
    assert (scores.letters, scores.words) == (0.75, 0.5)
    assert scores.break_f1 == pytest.approx(2 / 3)


def test_a_hyphenator_learns_a_rule():
    words = ["kata", "tanaka", "naka", "taka", "katana", "nataka"] * 3  # a break after every "a" but the last
    labels = [["break" if c == "a" and t + 1 < len(w) else "join" for t, c in enumerate(w)] for w in words]
    model = fit_hyphenator(words, labels)
    text, probability = hyphenate(model, "kanata")
    assert text == "ka-na-ta"
    assert 0.5 < probability <= 1
