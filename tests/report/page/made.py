"""Small things to report on, made without training where that is enough."""

from __future__ import annotations

from functools import cache
from types import SimpleNamespace

import numpy as np

from hedgerow import LatticeCRF, LinearCRF, TreeCRF
from hedgerow.datasets import make_shapes
from hedgerow.legend import CODE, INDEX, UNLABELLED
from hedgerow.report.page.tested import Tested

HOSTILE = ["<script>alert(1)</script>", "[red]", "</style>", "שלום", "🦔", "{{ 7 * 7 }}", "' onmouseover='x", "&amp;"]


def judged(true, predicted, probs=None, classes=None, scheme=None):
    """What a model says of labelings, without a model. probs : (T, K) of each sequence"""
    flat = [label for row in predicted for label in row]
    given = [label for row in true for label in row]
    classes = classes or sorted(set(flat))
    labels = [*classes, *sorted({label for label in given if label not in (None, *classes)})]
    codes = [
        np.array([UNLABELLED if label is None else labels.index(label) for label in row], dtype=CODE)
        for row in (given, flat)
    ]
    offsets = np.cumsum([0, *map(len, predicted)]).astype(INDEX)
    model = SimpleNamespace(classes_=np.array(classes))
    X = [[f"w{t}" for t in range(len(row))] for row in predicted]
    whole = None if probs is None else np.concatenate([np.asarray(p, dtype=float) for p in probs])
    return Tested(model, X, tuple(labels), offsets, *codes, whole, None, None, scheme)


@cache
def text_corpus(n_sequences=60, seed=0):
    """Words whose chunk follows from the word before, mostly; hostile ones among them."""
    rng = np.random.default_rng(seed)
    words = [*HOSTILE, *(f"w{i}" for i in range(20))]
    X, y = [], []
    for _ in range(n_sequences):
        row = [words[i] for i in rng.integers(0, len(words), rng.integers(3, 12))]
        inside = [hash_of(word) % 3 == 0 for word in row]
        labels = ["O" if not own else "I-<b>" if t and inside[t - 1] else "B-<b>" for t, own in enumerate(inside)]
        X.append(row)
        y.append([label if rng.random() > 0.15 else "O" for label in labels])
    return X, y


def hash_of(word):
    return sum(word.encode("utf-8"))


@cache
def text_model():
    X, y = text_corpus()
    return LinearCRF(window=1, max_iter=20, n_jobs=1, verbose=0).fit(X[:40], y[:40])


@cache
def sensor_corpus():
    rng = np.random.default_rng(0)
    X, y = [], []
    for _ in range(14):
        walks = (rng.random(60) < 0.06).cumsum() % 2 == 1
        pulse = rng.normal(70 + 12 * walks, 7)
        pulse[rng.random(60) < 0.05] = np.nan
        X.append([{"pulse": p, "noise": z} for p, z in zip(pulse, rng.normal(size=60))])
        y.append(np.where(walks, "walks", "rests").tolist())
    return X, y


@cache
def sensor_model():
    X, y = sensor_corpus()
    columns = {"pulse": "numeric", "noise": "numeric"}
    return TreeCRF(columns=columns, window=1, n_estimators=8, early_stopping=False, n_jobs=1).fit(X[:8], y[:8])


@cache
def shapes():
    return make_shapes(8, size=16, noise=0.7, random_state=1)


@cache
def lattice_model():
    images, masks = shapes()
    return LatticeCRF(n_jobs=1).fit(images[:5], masks[:5])
