"""The parts of the demo."""

from __future__ import annotations

from hedgerow.cli.demo import FrequentLabel, contenders, hyphenate


def test_the_baseline_counts_letters_on_both_sides():
    words, labels = ["abcd", "abcd", "abcd"], [["join", "break", "join", "join"]] * 2 + [["join"] * 4]
    baseline = FrequentLabel().fit(words, labels)
    assert baseline.predict(["abcd"]) == [["join", "break", "join", "join"]]
    assert baseline.predict(["xbcd", "zz"]) == [["join"] * 4, ["join"] * 2]


def test_a_model_learns_a_rule_and_hyphenates_by_it():
    words = ["kata", "tanaka", "naka", "taka", "katana", "nataka"] * 3  # a break after every "a" but the last
    labels = [["break" if c == "a" and t + 1 < len(w) else "join" for t, c in enumerate(w)] for w in words]
    model = contenders()["LinearCRF: weights"].fit([list(word) for word in words], labels)
    text, probability = hyphenate(model, "kanata")
    assert text == "ka-na-ta"
    assert 0.5 < probability <= 1
