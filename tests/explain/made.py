"""Models with made-up trees over a small corpus that has every kind of column."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from hedgerow.data.encoding import learn
from hedgerow.trees.binning import ITEMS, ORDERED, bin_dataset, learn_binning
from hedgerow.trees.ensemble import Ensemble, add_trees
from hedgerow.trees.growing import Tree

EQUAL, AT_MOST, AT_MOST_OR_SPECIAL, SUBSET, HAS = range(5)
LABEL, LEAF = -1, -2
LETTERS = ("a", "b", "c d", "e")
COLUMNS = {"letter": "categorical", "size": "numeric", "flag": "boolean", "word": "categorical", "*": "attributes"}
LABELS = ("x", "y", "z")


def corpus(rng, n_sequences=70):
    """Sequences of dicts: letters, numbers and flags that may be absent, words of more than 256 kinds, a weight,
    and attributes with values and without; and labels."""
    X, y, n_words = [], [], 0
    for _ in range(n_sequences):
        sequence = []
        for _ in range(rng.integers(1, 9)):
            row = {"letter": str(rng.choice(LETTERS)), "size": float(rng.integers(5)), "flag": bool(rng.integers(2))}
            row = {name: value for name, value in row.items() if rng.random() < 0.9}
            row["word"] = f"w{n_words % 280}"
            row["tag"] = [f"t{i}" for i in range(3) if rng.random() < 0.4]
            if rng.random() < 0.5:
                row["heat"] = float(rng.integers(1, 4))
            sequence.append(row)
            n_words += 1
        X.append(sequence)
        y.append([str(label) for label in rng.choice(LABELS, len(sequence))])
    return X, y


def made_model(X, y, trees_of=None, *, columns=COLUMNS, window=1, trees_per_step=1, **more):
    """A model with what `hedgerow.explain` reads. trees_of(binning) gives its trees; also the dataset, binned."""
    dataset = learn(X, y, columns=columns, window=window)
    binning = learn_binning(dataset)
    trees = trees_of(binning) if trees_of is not None else []
    ensemble = Ensemble.of(dataset.n_labels, trees, trees_per_step)
    schema = dataset.schema
    model = SimpleNamespace(schema_=schema, classes_=schema.classes, binning_=binning, ensemble_=ensemble, **more)
    return model, dataset


def stream(binning, name, offset=0):
    """The stream of a column at an offset."""
    c = binning.names.index(name)
    return int(np.flatnonzero((binning.streams[0] == c) & (binning.streams[1] == offset))[0])


def tree(*nodes, sets=()):
    """A tree of splits (stream, bin, rule, true, false) and leaves (value, rows)."""
    splits = [node if len(node) == 5 else (LEAF, 0, 0, 0, 0) for node in nodes]
    values = [0.0 if len(node) == 5 else node[0] for node in nodes]
    counts = [0.0 if len(node) == 5 else node[1] for node in nodes]
    for i in range(len(nodes) - 1, -1, -1):
        if len(nodes[i]) == 5:
            counts[i] = counts[nodes[i][3]] + counts[nodes[i][4]]
    gains = [len(nodes) - i if len(node) == 5 else 0.0 for i, node in enumerate(nodes)]
    table = np.zeros((len(sets), 256), dtype=np.uint8)
    for row, members in zip(table, sets):
        row[list(members)] = 1
    return Tree(np.array(splits), np.array(values), np.array(gains, dtype=float), np.array(counts), table)


def random_tree(rng, binning, n_labels, n_leaves):
    """A tree with splits of every rule, on any stream. Some of its paths contradict themselves."""
    nodes, sets = [(0.0, 1.0)], []
    while len(nodes) < 2 * n_leaves - 1:
        leaves = [i for i, node in enumerate(nodes) if len(node) == 2]
        parent = int(rng.choice(leaves))
        s = int(rng.integers(-1, binning.streams.shape[1]))
        kind, n_bins = (0, n_labels + 1) if s == LABEL else (binning.streams[4, s], binning.streams[3, s])
        if kind == ORDERED:
            b, rule = int(rng.integers(n_bins - 2)), int(rng.choice([AT_MOST, AT_MOST_OR_SPECIAL]))
        elif kind == ITEMS:
            b, rule = int(rng.integers(min(n_bins, 8))), HAS
        elif rng.random() < 0.5:
            b, rule = int(rng.integers(n_bins)), EQUAL
        else:
            b, rule = len(sets), SUBSET
            sets.append(np.flatnonzero(rng.random(n_bins) < 0.5).tolist())
        nodes[parent] = (s, b, rule, len(nodes), len(nodes) + 1)
        nodes += [(0.0, 1.0), (0.0, 1.0)]
    nodes = [node if len(node) == 5 else (float(rng.normal()), float(rng.integers(1, 50))) for node in nodes]
    return tree(*nodes, sets=sets)


def engine_scores(model, dataset):
    """What the engine makes of the trees: (K, N, K) [to, t, from], and (K, N) for ⊥."""
    data = bin_dataset(model.binning_, dataset, postings=False)
    K, n = dataset.n_labels, dataset.n_positions
    edges, start = np.zeros((K, n, K)), np.zeros((K, n))
    add_trees(data, data.place, model.ensemble_.trees(), edges, start)
    return edges, start
