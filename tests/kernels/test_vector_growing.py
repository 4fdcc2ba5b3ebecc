"""Trees for all labels against the literal twin: the same splits, in the same order, with the same values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.data.encoding import learn
from hedgerow.training.boosting.scores import all_first
from hedgerow.trees import vectors as module
from hedgerow.trees.binning import bin_dataset, learn_binning
from hedgerow.trees.ensemble import add_vector_trees
from hedgerow.trees.kernels import boosting, vector_growing
from hedgerow.trees.vectors import VectorGrower, list_uncommon
from tests.kernels.test_growing import Corpus, drawn, make
from tests.reference import boosting as reference
from tests.reference import vector_growing as slow

SEEDS, LEAVES = st.integers(0, 10_000), st.integers(2, 12)


def make_grower(corpus: Corpus, max_leaf_nodes: int, l2_regularization: float, **options: Any) -> VectorGrower:
    """A grower with the words of the corpus, whose rows with a previous label stand for those of labels."""
    n, K = corpus.targets.shape
    most = float(corpus.weights.max(initial=1) * n)
    sizes = {"total_weight": most * 50, "total_count": most, "unit": 1}
    grower = VectorGrower(
        corpus.data, K, max_leaf_nodes=max_leaf_nodes, l2_regularization=l2_regularization, **sizes, **options
    )
    for t in range(n):
        for k in np.flatnonzero(corpus.weights[t]):
            word = (int(corpus.targets[t, k]) << grower.bits) + int(corpus.weights[t, k])
            grower.words[corpus.data.window_place[t], k] += word
    return grower


def write_out(corpus: Corpus, grower: VectorGrower) -> list[slow.Place]:
    streams, columns = corpus.binning.streams, corpus.data.growing
    words = grower.words[corpus.data.places, : grower.n_labels]
    targets, weights = (words >> grower.bits).tolist(), (words & ((1 << grower.bits) - 1)).tolist()
    windows = [[int(columns.bins[c, p + o]) for c, o in zip(streams[0], streams[1])] for p in corpus.data.places]
    return [slow.Place(*parts) for parts in zip(windows, targets, weights)]


def same(node: slow.Node, tree: Any, i: int, grower: VectorGrower) -> int:
    """Compare a twin's node and all below it with node i of a tree; returns how many there are."""
    sums = slow.sums(node.places, grower.n_labels)
    assert tree.counts[i] == sum(n for _, n in sums)
    if node.split is None or node.true is None or node.false is None:
        assert tree.nodes[i, 0] == -2
        expected = [-a / grower.one / (n + grower.l2_regularization) for a, n in sums]
        np.testing.assert_allclose(tree.values[i], expected, rtol=1e-12)
        return 1
    assert tuple(tree.nodes[i, :3]) == node.split
    np.testing.assert_allclose(tree.gains[i], node.gain / grower.one**2, rtol=1e-9)
    children = int(tree.nodes[i, 3]), int(tree.nodes[i, 4])
    assert children == (node.true.number, node.false.number)
    return 1 + same(node.true, tree, children[0], grower) + same(node.false, tree, children[1], grower)


@given(seed=SEEDS, max_leaf_nodes=LEAVES, weighted=st.booleans(), group=st.booleans(), least=st.integers(1, 9))
def test_the_tree_is_that_of_the_twin(seed, max_leaf_nodes, weighted, group, least):
    corpus = make(seed, weighted=weighted, group=group)
    grower = make_grower(corpus, max_leaf_nodes, 2.0, min_samples_leaf=least)
    tree, (leaf_of, values) = grower.grow()
    leaf_of = leaf_of[corpus.data.window_place]
    streams = corpus.binning.streams
    rules = slow.Rules(streams[4].tolist(), streams[3].tolist(), max_leaf_nodes, 2.0, least)
    root, leaves = slow.grow(write_out(corpus, grower), rules)
    assert same(root, tree, 0, grower) == len(tree.nodes)
    np.testing.assert_array_equal(values, tree.values[[leaf.number for leaf in leaves]])
    data = all_first(corpus.data)
    expected = [reference.leaf_of(data, corpus.binning.n_dense, tree, int(p), grower.n_labels) for p in data.place]
    assert [leaves[i].number for i in leaf_of] == expected
    scores = np.zeros((grower.n_labels, len(leaf_of)))
    add_vector_trees(data, data.place, [tree, tree], scores, scale=0.25)
    np.testing.assert_array_equal(scores, 0.5 * tree.values[expected].T)


@given(seed=SEEDS)
def test_features_are_drawn(seed):
    corpus = make(seed)
    grower = make_grower(corpus, 8, 1.0, max_features=0.4)
    streams = corpus.binning.streams
    rules = slow.Rules(streams[4].tolist(), streams[3].tolist(), 8, 1.0)
    rules.may_use = lambda node, stream: bool(drawn(seed, node, stream, 0.4))
    root, _ = slow.grow(write_out(corpus, grower), rules)
    tree = grower.grow(seed)[0]
    assert same(root, tree, 0, grower) == len(tree.nodes)


@pytest.mark.parametrize("seed", range(5))
def test_a_small_pool_of_histograms_gives_the_same_tree(seed, monkeypatch):
    corpus = make(seed, weighted=True)
    whole = make_grower(corpus, 12, 1.0).grow()[0]
    monkeypatch.setattr(module, "MAX_HISTOGRAMS", 1)
    small = make_grower(corpus, 12, 1.0)
    assert len(small._buffers.hist) == 3
    tree = small.grow()[0]
    np.testing.assert_array_equal(tree.nodes, whole.nodes)
    np.testing.assert_array_equal(tree.values, whole.values)


def test_columns_with_windows_of_their_own():
    rng = np.random.default_rng(0)
    X = [
        [{"a": str(rng.integers(3)), "b": str(rng.integers(4)), "c": float(rng.integers(5))} for _ in "123456"]
        for _ in "12345678"
    ]
    y = [[str(rng.integers(3)) for _ in x] for x in X]
    dataset = learn(
        X, y, columns={"a": "categorical", "b": "categorical", "c": "numeric"}, window={"a": (2, 0), "b": 0, "c": 1}
    )
    binning = learn_binning(dataset)
    data = bin_dataset(binning, dataset, postings=True)
    n = dataset.n_positions
    corpus = Corpus(binning, data, rng.integers(-9, 9, (n, 5)), np.ones((n, 5), dtype=np.int64))
    grower = make_grower(corpus, 9, 1.0)
    assert len(list_uncommon(data.growing.bins, data.growing.blocks).windows) == 3
    root, _ = slow.grow(
        write_out(corpus, grower), slow.Rules(binning.streams[4].tolist(), binning.streams[3].tolist(), 9, 1.0)
    )
    tree = grower.grow()[0]
    assert same(root, tree, 0, grower) == len(tree.nodes) == 17


@pytest.mark.parametrize(("newton", "noisy"), [(False, False), (True, False), (True, True)])
@pytest.mark.parametrize("shared", [False, True])
def test_words_of_positions(newton, noisy, shared):
    rng = np.random.default_rng(4)
    gradient = rng.uniform(-1, 1, (4, 2))
    weight = np.array([[1.0, 0.0, 0.5, 1e-9], [0.25, 1.0, 0.0, 1.0]]).T
    home = np.array([9, 0, 1, 1, 3] if shared else [9, 0, 1, 2, 3], dtype=np.int32)
    words = np.zeros((4, 3), dtype=np.int64)
    boosting.make_position_words(gradient, weight, 2.0, newton, home, 1, 5, 2.0**9, 16, noisy, 12, shared, words)
    expected = np.zeros((4, 3), dtype=np.int64)
    for t, k in np.ndindex(4, 2):
        size = min(abs(gradient[t, k]) / (2.0 * weight[t, k]), 1.0) if weight[t, k] else 0.0
        count = weight[t, k] * (max(size * (1.0 - size), 1e-9) if newton else 1.0)
        noise = reference.noise(t) * noisy
        expected[home[t + 1], k] += reference.weighted_word(gradient[t, k], count, 2.0**9, 16, 12, noise)
    np.testing.assert_array_equal(words, expected)


def test_leaves_are_added(rng):
    which, values, scores = rng.integers(3, size=7), rng.normal(size=(2, 3)), rng.normal(size=(2, 7))
    expected = scores + values[:, which]
    vector_growing.add_vectors(which, values, scores)
    np.testing.assert_array_equal(scores, expected)
