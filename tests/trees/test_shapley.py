"""Shapley values of trees: equal to their definition, and they add up to what the engine says."""

from __future__ import annotations

import numpy as np
import pytest

from hedgerow import TreeCRF
from hedgerow.trees.binning import ATTRIBUTES, bin_dataset
from hedgerow.trees.nodes import COLUMN
from hedgerow.trees.shapley import Row, shapley_values, sum_shapley
from tests.explain.made import COLUMNS, LABELS, corpus, engine_scores, made_model, random_tree
from tests.reference import shapley as literal


def row_of(model, dataset, t, before):
    binning = model.binning_
    attributes = binning.names.index(ATTRIBUTES)
    streams = np.flatnonzero(binning.streams[COLUMN] == attributes).tolist()
    data = bin_dataset(binning, dataset, postings=False)
    return Row(
        data, int(data.place[t]), before, len(LABELS) + 1, dict.fromkeys(streams, binning.item_source[attributes])
    )


@pytest.mark.parametrize("seed", range(12))
def test_random_trees_by_the_definition(seed):
    rng = np.random.default_rng(seed)
    X, y = corpus(rng, 40)
    model, dataset = made_model(X, y, lambda binning: [random_tree(rng, binning, 3, 7) for _ in range(3)])
    for t in rng.choice(dataset.n_positions, 4):
        row = row_of(model, dataset, int(t), int(rng.integers(4)))
        for tree in model.ensemble_.trees():
            mean, parts = shapley_values(row, tree, tree.values)
            wanted_mean, wanted = literal.shapley_values(row, tree, tree.values)
            np.testing.assert_allclose(mean, wanted_mean, rtol=0, atol=1e-12)
            assert parts.keys() == wanted.keys()
            for asked, value in parts.items():
                np.testing.assert_allclose(value, wanted[asked], rtol=0, atol=1e-12)


def test_they_add_up_to_the_scores_of_the_engine(rng):
    X, y = corpus(rng, 30)
    model, dataset = made_model(X, y, lambda binning: [random_tree(rng, binning, 3, 12) for _ in range(9)])
    edges, start = engine_scores(model, dataset)
    first = set(dataset.offsets[:-1].tolist())
    for t in range(0, dataset.n_positions, 7):
        for k in range(3):
            trees = [(tree, tree.values) for tree in model.ensemble_.trees()[k::3]]
            u = 3 if t in first else int(rng.integers(3))
            mean, parts = sum_shapley(row_of(model, dataset, t, u), trees)
            wanted = start[k, t] if u == 3 else edges[k, t, u]
            np.testing.assert_allclose(mean + sum(parts.values()), wanted, rtol=0, atol=1e-11)


@pytest.mark.parametrize("missing", ["weighting", "surrogate"])
def test_where_a_missing_value_is_none(missing, rng):
    """The shares of a place without a value, and what surrogates say of it, as prediction has them."""
    X, y = corpus(rng, 40)
    columns = {name: kind for name, kind in COLUMNS.items() if kind != "attributes"}
    model = TreeCRF(
        window=1, columns=columns, missing=missing, edges="shared", n_estimators=6, early_stopping=False,
        max_leaf_nodes=8, l2_regularization=1.0, leaves="mean",
    ).fit(X, y)  # fmt: skip
    gaps = 0
    for x in X[:12]:
        dataset = model.encode([x])
        nodes = model._potentials(dataset, 0, 1).node_scores
        for t, item in enumerate(x):
            gaps += "letter" not in item
            parts = [part.log_odds for part in model._attribute(dataset, t, np.zeros(len(x), np.int32), 0, 1)]
            np.testing.assert_allclose(sum(parts), nodes[t, 0] - nodes[t, 1], rtol=0, atol=1e-10)
    assert gaps
