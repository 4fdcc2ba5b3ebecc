"""Trees walked from the root, and numbers binned in one call, against their twins."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.trees.ensemble import Ensemble, add_trees, add_vector_trees, walk_trees
from hedgerow.trees.kernels import numbers, walking
from tests.kernels.test_boosting import LEAVES, SEEDS, row_by_row
from tests.kernels.test_growing import make, make_grower
from tests.reference.numbers import bin_numbers


def grown(corpus, seed, max_leaf_nodes, n_trees, **options):
    rng = np.random.default_rng(seed)
    grower = make_grower(corpus, max_leaf_nodes, 1.0, **options)
    tree = grower.grow()[0]
    return [tree._replace(values=rng.normal(size=len(tree.values))) for _ in range(n_trees)]


def reads_of(data):
    columns = data.columns
    return columns.bins, columns.streams, len(columns.blocks), columns.items, columns.item_ptr


def flat(ensemble):
    return ensemble.ptr, ensemble.set_ptr, ensemble.narrow_nodes, ensemble.values, ensemble.sets


@given(seed=SEEDS, max_leaf_nodes=LEAVES, subsets=st.booleans(), sparse=st.booleans())
def test_walks_end_in_the_leaf_of_every_row(seed, max_leaf_nodes, subsets, sparse):
    corpus = make(seed, sparse=sparse)
    n, K = corpus.targets.shape
    trees = grown(corpus, seed, max_leaf_nodes, 2, subsets=subsets)
    edges, nodes = np.zeros((2, n, K)), np.zeros((2, n))
    given = corpus.data.place, corpus.data.first, *flat(Ensemble.of(2, trees))
    walking.add_trees(reads_of(corpus.data), *given, 0.5, np.empty((4, K + 1), dtype=np.int64), edges, nodes)
    for k, tree in enumerate(trees):
        slow_edges, slow_nodes = row_by_row(corpus, tree)
        np.testing.assert_array_equal(edges[k], 0.5 * slow_edges)
        np.testing.assert_array_equal(nodes[k], 0.5 * slow_nodes)


@given(seed=SEEDS, max_leaf_nodes=LEAVES, sparse=st.booleans())
def test_walks_and_masks_add_the_same_to_the_bit(seed, max_leaf_nodes, sparse):
    corpus = make(seed, sparse=sparse)
    n, K = corpus.targets.shape
    data, trees = corpus.data, grown(corpus, seed, max_leaf_nodes, 3 * K)
    start = np.random.default_rng(seed).normal(size=(K, n, K)), np.random.default_rng(seed + 1).normal(size=(K, n))
    walked, masked = ([array.copy() for array in start] for _ in range(2))
    assert walk_trees(data, data.place, Ensemble.of(K, trees), *walked) == (n * K <= 256)
    for k in range(K if n * K <= 256 else 0):
        add_trees(data, data.place, trees[k::K], masked[0][k : k + 1], masked[1][k : k + 1])
    for one, other in zip(walked, masked):
        np.testing.assert_array_equal(one, other)


@given(seed=SEEDS, max_leaf_nodes=LEAVES, n_labels=st.integers(1, 5))
def test_walks_of_trees_for_all_labels(seed, max_leaf_nodes, n_labels):
    corpus, rng = make(seed), np.random.default_rng(seed)
    data, n = corpus.data, len(corpus.data.place)
    trees = [
        tree._replace(values=rng.normal(size=(len(tree.nodes), n_labels)))
        for tree in grown(corpus, seed, max_leaf_nodes, 3)
    ]
    everywhere = np.ones_like(data.first)
    masked, walked = np.zeros((2, n_labels, n))
    add_vector_trees(data.__class__(**vars(data) | {"first": everywhere}), data.place, trees, masked)
    walking.add_vectors(reads_of(data), data.place, *flat(Ensemble.of(n_labels, trees)), 1.0, walked)
    np.testing.assert_array_equal(walked, masked)


@given(st.data())
def test_bins_of_numbers(draw):
    rng = np.random.default_rng(draw.draw(SEEDS))
    D, P = int(rng.integers(0, 4)), int(rng.integers(1, 9))
    numeric = rng.integers(-3, 4, (D + 1, P)) / 2.0
    numeric[rng.random(numeric.shape) < 0.2] = np.nan
    ends = [np.unique(rng.integers(-3, 4, rng.integers(0, 5)) / 2.0) for _ in range(D)]
    end_ptr = np.cumsum([0, *map(len, ends)])
    lines, columns = rng.permutation(D + 1)[:D], rng.permutation(D)
    fill, missing = np.where(rng.random(D) < 0.5, np.nan, 0.5), rng.integers(5, 9, D)
    inside = np.flatnonzero(rng.random(P) < 0.7)
    given = numeric, lines, columns, np.concatenate([np.empty(0), *ends]), end_ptr, fill, missing, inside, inside + 1
    bins, expected = np.full((2, D, P + 1), 99, dtype=np.uint8)
    numbers.bin_numbers(*given, bins)
    bin_numbers(*given, expected)
    np.testing.assert_array_equal(bins, expected)
