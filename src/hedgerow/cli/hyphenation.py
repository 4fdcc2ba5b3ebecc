"""Learning to hyphenate: the features, the baseline and the scores of the demo."""

from __future__ import annotations

import math
import warnings
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hedgerow.datasets.hyphenation import BREAK, JOIN
from hedgerow.metrics import label_report, sequence_accuracy
from hedgerow.models.crf.linear import LinearCRF

REACH = 4  # letters on either side of a possible break
LONGEST = 5  # letters of the longest piece that is a feature
CONTEXT = 2  # letters on either side that the baseline looks at

Word = Sequence[str]


def letter_pieces(word: Word) -> list[list[str]]:
    """For each letter, the pieces of up to five letters that touch the place behind it, "<" and ">" as the ends.

    A piece is written with its distance from the place: "-2en" is an "en" right before it.
    """
    text = f"<{''.join(word)}>"
    features = []
    for place in range(2, len(text)):
        pieces = []
        for begin in range(max(0, place - REACH), place + 1):
            last = min(len(text), place + REACH, begin + LONGEST)
            pieces += [f"{begin - place}{text[begin:end]}" for end in range(max(begin + 1, place), last + 1)]
        features.append(pieces)
    return features


class FrequentLabel:
    """The baseline: the label that is most frequent between the same two letters before and after."""

    def fit(self, words: Sequence[Word], labels: Sequence[Sequence[str]]) -> FrequentLabel:
        counts: dict[str, Counter[str]] = defaultdict(Counter)
        for word, row in zip(words, labels):
            for context, label in zip(self._contexts(word), row):
                counts[context][label] += 1
        self.labels_ = {context: count.most_common(1)[0][0] for context, count in counts.items()}
        return self

    def predict(self, words: Sequence[Word]) -> list[list[str]]:
        return [[self.labels_.get(context, JOIN) for context in self._contexts(word)] for word in words]

    @staticmethod
    def _contexts(word: Word) -> list[str]:
        edge = " " * CONTEXT
        text = f"{edge}{''.join(word)}{edge}"
        return [text[place - CONTEXT : place + CONTEXT] for place in range(CONTEXT + 1, len(text) - CONTEXT + 1)]


@dataclass(frozen=True)
class Scores:
    """F1 of the break points, and the shares of letters and of whole words that are right."""

    break_f1: float
    letters: float
    words: float

    @classmethod
    def of(cls, y_true: Any, y_pred: Any) -> Scores:
        report = label_report(y_true, y_pred, labels=[JOIN, BREAK])
        return cls(report.per_label[BREAK].f1, report.accuracy, sequence_accuracy(y_true, y_pred))


def fit_hyphenator(words: Sequence[Word], labels: Sequence[Sequence[str]], verbose: int = 0) -> LinearCRF:
    """A LinearCRF on the letters of words. Fifty iterations: later ones change nothing on other words."""
    model = LinearCRF(window=0, l2=0.03, max_iter=50, n_jobs=-1, verbose=verbose)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="training (stopped|was interrupted)")
        return model.fit([letter_pieces(word) for word in words], labels)


def hyphenate(model: LinearCRF, word: str) -> tuple[str, float]:
    """The word with hyphens at its breaks, and the probability of that labeling."""
    features = [letter_pieces(word)]
    labels = model.predict(features)[0]
    probability = math.exp(model.log_probability(features, [labels])[0])
    text = "".join(f"{letter}-" if label == BREAK else letter for letter, label in zip(word, labels))
    return text, probability
