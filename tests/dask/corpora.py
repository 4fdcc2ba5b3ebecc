"""Corpora for the tests of shared training, and what it means that two models are the same."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd

from hedgerow.data.parts.merging import count_keys, frequent_keys, learn_part

KINDS = ("numbers", "both", "attributes", "weighted attributes")
WORDS = ("words", "words and numbers", "many attributes")  # trees of which begin with weights


def sequences(rng, kind, n_labels, n_sequences=40):
    """Sequences of numbers, of dicts with categories, numbers, flags and rare keys, or of attributes; or of words, of
    which there are many, with numbers that may be missing."""
    X, y = [], []
    for i in range(n_sequences):
        n = int(rng.integers(1, 25))
        state = rng.integers(n_labels, size=n)
        state = np.where(rng.random(n) < 0.5, np.roll(state, 1), state)
        number, word = state + rng.normal(size=n), (state + rng.integers(3, size=n)) % 7
        if kind == "numbers":
            gaps = np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n)) if n_labels == 2 else rng.normal(size=n)
            X.append(np.column_stack([number, gaps, np.round(number)]))
        elif kind == "both":
            rows = [{"word": f"w{w}", "x": float(v), "up": bool(v > 1)} for w, v in zip(word, number)]
            for row in rows[: i % 2]:
                row["rare"] = f"r{i % 5}"
            X.append(rows)
        elif kind == "attributes":
            X.append([[f"a{w}", f"b{rng.integers(300)}"] for w in word])
        elif kind == "many attributes":
            X.append([[f"a{w}", f"b{rng.integers(900)}", f"c{rng.integers(900)}"] for w in word])
        elif kind == "words":
            X.append([{"word": f"w{w}", "other": f"o{rng.integers(900)}"} for w in word])
        elif kind == "words and numbers":
            gaps, other = np.where(rng.random(n) < 0.1, np.nan, number), [f"o{w}" for w in rng.integers(900, size=n)]
            X.append(pd.DataFrame({"x": gaps, "other": other, "up": number > 1}))
        else:
            X.append([{f"a{w}": float(np.round(v, 2)), f"b{w}": 1.0} for w, v in zip(word, number)])
        y.append([f"L{k}" for k in state])
    y[0][0] = f"L{n_labels - 1}"
    return X, y


def parts_of(X, y, cuts, weights=None, schema=None):
    """The parts of a corpus, each learnt by itself. schema : what says which keys are columns, where it is known"""
    runs = list(pairwise([0, *cuts, len(X)]))
    dense = frequent_keys([count_keys(X[a:b], None) for a, b in runs])
    if schema is not None:
        dense = {column.name for column in schema.columns}
    own = [None if weights is None else weights[a:b] for a, b in runs]
    parts = [learn_part(X[a:b], y[a:b], None, dense, given) for (a, b), given in zip(runs, own)]
    return [part._replace(number=p) for p, part in enumerate(parts)]


def frame(rng, n_machines=30, n_labels=3):
    """A frame of machines whose rows come in any order of time."""
    rows = []
    for m in range(n_machines):
        n = int(rng.integers(3, 25))
        state = rng.integers(n_labels, size=n)
        columns = {
            "machine": f"m{m}", "t": rng.permutation(n), "x": state + rng.normal(size=n), "z": rng.normal(size=n),
            "word": [f"w{w}" for w in (state + rng.integers(3, size=n)) % 7], "state": [f"L{k}" for k in state],
        }  # fmt: skip
        rows.append(pd.DataFrame(columns))
    return pd.concat(rows, ignore_index=True)


def cut_frame(whole, *machines):
    """The frame as pandas partitions, cut before these machines."""
    first = whole.drop_duplicates("machine").index.tolist()
    return [whole.iloc[a:b] for a, b in pairwise([0, *(first[m] for m in machines), len(whole)])]


def same_trees(one, other):
    assert one.schema_ == other.schema_
    assert (one.loss_, one.temperature_, one.edges_) == (other.loss_, other.temperature_, other.edges_)
    for a, b in zip(one.ensemble_.trees(), other.ensemble_.trees(), strict=True):
        for field in ("nodes", "values", "gains", "counts", "sets"):
            assert np.array_equal(getattr(a, field), getattr(b, field)), field
    assert np.array_equal(one.edge_tables_, other.edge_tables_) or one.edge_tables_ is other.edge_tables_ is None


def same_weights(one, other):
    assert one.schema_ == other.schema_
    assert (one.loss_, one.temperature_, one.n_iter_) == (other.loss_, other.temperature_, other.n_iter_)
    assert np.array_equal(one.weights_, other.weights_)
