"""Tasks of text: columns of words, whose values are many and mostly rare. Segments are the spans of IOB labels."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from benchmarks.arena.tasks.task import TASKS, Asked, Task, fixed, join
from hedgerow.data.sequences import Sequences
from hedgerow.datasets import load_conll2000
from reproduction.datasets import load_jnlpba

N_TRAIN, N_TEST = 1_000, 500


@TASKS.add("chunking")
def chunking(asked: Asked) -> Task:
    """CoNLL-2000, the first 1,000 and 500 sentences: word, begin, end, shape, part of speech; two on either side."""
    return _text(asked, load_conll2000(asked.place("conll2000")))


@TASKS.add("entities")
def entities(asked: Asked) -> Task:
    """JNLPBA, the first 1,000 and 500 sentences: word, its begin, its end and its shape; two on either side."""
    return _text(asked, load_jnlpba(asked.place("jnlpba")))


def _text(asked: Asked, corpus: Any) -> Task:
    X, y, X_test, y_test = corpus
    n, m = asked.size(N_TRAIN, 120), asked.size(N_TEST, 60)
    columns = word_columns(join(X[:n], X_test[:m]))
    return Task(columns, [*y[:n], *y_test[:m]], fixed(n, m), window=2, primary="segment_f1", spans=True)


def word_columns(X: Sequences) -> Sequences:
    """The corpus with words in small letters, and with columns for their first and last three letters and shapes."""
    columns, offsets, _ = X.compact()
    words = columns["word"].tolist()
    made = {
        "word": [word.lower() for word in words],
        "begin": [word[:3].lower() for word in words],
        "end": [word[-3:].lower() for word in words],
        "shape": [word_shape(word) for word in words],
    }
    columns |= {name: np.array(values, dtype=object) for name, values in made.items()}
    return Sequences(columns, offsets, dict.fromkeys(columns, "categorical"))


def word_shape(word: str) -> str:
    """A for capitals, a for small letters and 0 for digits, runs shortened: "Aa0" of "Hmga2"."""
    shape = "".join("A" if c.isupper() else "0" if c.isdigit() else "a" if c.isalpha() else c for c in word)
    return re.sub(r"(.)\1+", r"\1", shape)
