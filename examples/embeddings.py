"""Embeddings: vectors beside words
================================

A word that training never showed has no weight of its own, but it may have a vector: of word2vec, of a transformer, of
an image. Here words of a kind have vectors that are alike, and most words of new sentences are new.

Run it: `python examples/embeddings.py [number of sentences] [picture]`
"""

from __future__ import annotations

import sys

import numpy as np
from matplotlib.figure import Figure

from hedgerow import LinearCRF

KINDS = ("DET", "ADJ", "NOUN", "VERB")
SIZES = (3, 400, 800, 400)  # few determiners, many nouns
NEXT = np.array([[0.0, 0.4, 0.6, 0.0], [0.0, 0.2, 0.8, 0.0], [0.1, 0.0, 0.1, 0.8], [0.7, 0.2, 0.1, 0.0]])
WIDTH = 12

rng = np.random.default_rng(0)
middles = rng.normal(size=(4, WIDTH))
vectors = [(middles[k] + 2.0 * rng.normal(size=(size, WIDTH))).astype(np.float32) for k, size in enumerate(SIZES)]


def make_sentence() -> tuple[list[dict], list[str]]:
    """A dict per word: the word itself, and its vector."""
    kinds = [0]
    while len(kinds) < 8:
        kinds.append(int(rng.choice(4, p=NEXT[kinds[-1]])))
    numbers = [int(rng.integers(SIZES[k])) for k in kinds]
    words = [{"word": f"{KINDS[k].lower()}{i}", "vector": vectors[k][i]} for k, i in zip(kinds, numbers)]
    return words, [KINDS[k] for k in kinds]


n = int(sys.argv[1]) if len(sys.argv) > 1 else 60
X, y = zip(*[make_sentence() for _ in range(n + 200)])
X, y, X_new, y_new = X[:n], y[:n], X[n:], y[n:]


# %%
# A feature that is an array becomes a column for each of its numbers. Words alone, vectors alone, and both:
def only(sentences, *names: str) -> list[list[dict]]:
    return [[{name: position[name] for name in names} for position in sentence] for sentence in sentences]


scores = {}
for names in (("word",), ("vector",), ("word", "vector")):
    model = LinearCRF(window=0).fit(only(X, *names), y)
    scores[" and ".join(names)] = model.score(only(X_new, *names), y_new)
    print(f"{' and '.join(names)}: {scores[' and '.join(names)]:.1%} of the labels of new sentences")

# %%
figure = Figure(figsize=(6.0, 1.8), layout="constrained")
ax = figure.subplots()
bars = ax.barh(list(scores), [100 * score for score in scores.values()], color=["#eb9d5f", "#8fc08a", "#14532d"])
ax.bar_label(bars, fmt="%.0f", padding=4)
ax.invert_yaxis()
ax.set(xlabel="labels right, %", xlim=(0, 105))
ax.spines[["top", "right"]].set_visible(False)
if len(sys.argv) > 2:
    figure.savefig(sys.argv[2], dpi=130, facecolor="white")
