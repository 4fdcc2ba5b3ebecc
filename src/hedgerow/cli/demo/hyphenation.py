"""Learning to hyphenate: the models, the baseline and the scores of the demo."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hedgerow.datasets.hyphenation import BREAK, JOIN
from hedgerow.metrics import label_accuracy, sequence_accuracy
from hedgerow.models.crf.linear import LinearCRF
from hedgerow.models.crf.tree import TreeCRF

REACH = 4  # letters on either side that the models see
CONTEXT = 2  # letters on either side that the baseline looks at

Word = Sequence[str]


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
    """The shares of letters and of whole words that are right."""

    letters: float
    words: float

    @classmethod
    def of(cls, y_true: Any, y_pred: Any) -> Scores:
        return cls(label_accuracy(y_true, y_pred), sequence_accuracy(y_true, y_pred))


def contenders() -> dict[str, Any]:
    """What is trained on the same words, by name. Both models see the letters at t−4 … t+4."""
    return {
        "most frequent label nearby": FrequentLabel(),
        "LinearCRF: weights": LinearCRF(window=REACH, n_jobs=-1, random_state=0),
        "TreeCRF: boosted trees": TreeCRF(window=REACH, n_jobs=-1, random_state=0),
    }


def hyphenate(model: Any, word: str) -> tuple[str, float]:
    """The word with hyphens at its breaks, and the probability of that labeling."""
    labels = model.predict([list(word)])[0]
    probability = math.exp(model.log_probability([list(word)], [labels])[0])
    text = "".join(f"{letter}-" if label == BREAK else letter for letter, label in zip(word, labels))
    return text, probability
