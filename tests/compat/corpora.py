"""A corpus with every kind of value that python-crfsuite takes, and models that python-crfsuite trained."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pycrfsuite

Corpus = tuple[list[list[dict[Any, Any]]], list[list[str]]]


def made_corpus(n_sequences: int = 40, seed: int = 0) -> Corpus:
    rng = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(n_sequences):
        items, labels = [], []
        for t in range(int(rng.integers(1, 9))):
            label = int(rng.integers(3))
            word = f"w{(label * 2 + rng.integers(4)) % 9}"
            item: dict[Any, Any] = {
                "word": word,
                "bytes": word.encode(),
                b"key": 1.5,
                "first": t == 0,
                "size": float(np.round(rng.normal() + label, 2)),
                "parts": [word[:1], "é" + word],
                "deep": {"x": word, "deeper": {"n": 2, "s": {"u"}}},
                "mixed": word if t % 2 else float(t),
            }
            items.append(item)
            labels.append(["Z", "ä b", "A"][label])
        X.append(items)
        y.append(labels)
    return X, y


def train(corpus: Corpus, path: Path, algorithm: str = "lbfgs", **parameters: Any) -> pycrfsuite.Tagger:
    """python-crfsuite's tagger of a model that it trained and wrote."""
    trainer = pycrfsuite.Trainer(algorithm, parameters, verbose=False)
    for items, labels in zip(*corpus):
        trainer.append(items, labels)
    trainer.train(str(path))
    return opened(path)


def opened(path: Path) -> pycrfsuite.Tagger:
    tagger = pycrfsuite.Tagger()
    tagger.open(str(path))
    return tagger


def all_marginals(tagger: Any, items: Any) -> list[list[float]]:
    tagger.set(items)
    return [[tagger.marginal(label, t) for label in sorted(tagger.labels())] for t in range(len(items))]
