"""Kernels around growing, against their row-by-row twins."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.chain.edges import chain_from_scores
from hedgerow.chain.inference import Workspace
from hedgerow.chain.objectives.log_likelihood import log_likelihood, log_likelihood_messages
from hedgerow.chain.potentials import Truth
from hedgerow.trees.ensemble import add_trees
from hedgerow.trees.kernels import boosting
from tests.kernels.test_growing import Corpus, make, make_grower
from tests.reference import boosting as reference

SEEDS, LEAVES = st.integers(0, 10_000), st.integers(2, 80)  # more than the leaves of one word of a mask


def row_by_row(corpus: Corpus, tree: Any) -> tuple[Any, Any]:
    n, K = corpus.targets.shape
    edges, nodes = np.zeros((n, K)), np.zeros(n)
    reference.add_tree(corpus.data, corpus.binning.n_dense, tree, edges, nodes)
    return edges, nodes


@given(seed=SEEDS, max_leaf_nodes=LEAVES, subsets=st.booleans(), sparse=st.booleans())
def test_masks_find_the_leaf_of_every_row(seed, max_leaf_nodes, subsets, sparse):
    corpus = make(seed, sparse=sparse)
    tree, _ = make_grower(corpus, max_leaf_nodes, 1.0, subsets=subsets).grow()
    tree = tree._replace(values=np.random.default_rng(seed).normal(size=len(tree.values)))
    n, K = corpus.targets.shape
    edges, nodes = np.zeros((1, n, K)), np.zeros((1, n))
    add_trees(corpus.data, corpus.data.place, [tree], edges, nodes, scale=0.5)
    slow_edges, slow_nodes = row_by_row(corpus, tree)
    np.testing.assert_array_equal(edges[0], 0.5 * slow_edges)
    np.testing.assert_array_equal(nodes[0], 0.5 * slow_nodes)


@given(SEEDS, LEAVES, st.booleans())
def test_leaves_add_what_the_tree_predicts(seed, max_leaf_nodes, group):
    corpus = make(seed, group=group)
    tree, leaves = make_grower(corpus, max_leaf_nodes, 1.0).grow()
    n, K = corpus.targets.shape
    data, values = corpus.data, leaves.values
    first = data.window_first[data.window_place] != 0
    exps, nodes, ends = np.ones((n, K)), np.zeros(first.sum()), np.append(0, first.cumsum())
    for begin, end in ((0, n // 2), (n // 2, n)):
        into = exps[begin:end], nodes[ends[begin] : ends[end]]
        boosting.add_leaves(
            leaves.leaf_of, data.window_place, data.window_first, begin, end, values, np.exp(values), *into
        )
    slow_edges, slow_nodes = row_by_row(corpus, tree)
    np.testing.assert_array_equal(nodes, slow_nodes[first])
    np.testing.assert_allclose(exps, np.exp(slow_edges), rtol=1e-12)


@pytest.mark.parametrize("begin", [0, 2])
@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("noisy", [False, True])
def test_weighted_words(begin, shared, noisy):
    rng = np.random.default_rng(begin)
    edges, nodes = rng.uniform(-1, 1, (4, 2)), rng.uniform(-1, 1, 4)
    edge_weights, node_weights = np.array([[1, 0], [0.5, 2], [1e-9, 1], [3, 1]]), np.array([1.5, 0, 1, 0])
    home = np.array([0, 1, 1, 3, 4, 5] if shared else [0, 1, 2, 3, 4, 5], dtype=np.int32)
    first = np.array([1, 0, 0, 0, 1, 0], dtype=np.uint8)
    words, expected = np.zeros((2, 6, 2), dtype=np.int64)
    gradients, weights = (edges, nodes), (edge_weights, node_weights)
    boosting.make_weighted_words(
        *gradients, *weights, home, first, begin, begin + 4, 2.0**9, 16, noisy, 12, shared, words
    )
    for t in range(4):
        place = home[t + begin]
        pairs = [(nodes[t], node_weights[t])] if first[place] else list(zip(edges[t], edge_weights[t]))
        for u, (gradient, weight) in enumerate(pairs):
            noise = reference.noise(2 * t + u) * noisy
            expected[place, u] += reference.weighted_word(gradient, weight, 2.0**9, 16, 12, noise)
    np.testing.assert_array_equal(words, expected)


@pytest.mark.parametrize("gradient", [0.02, -0.3, 0.5, 0.9])
def test_noise_keeps_sums_that_rounding_would_lose(gradient):
    """Gradients of less than half a bit: all would be 0. With noise their sum is right, to what chance allows."""
    n, bits = 20_000, 12
    edges = np.full((n, 1), gradient / 16)
    places, first = np.arange(n, dtype=np.int32), np.zeros(n, dtype=np.uint8)
    sums = {}
    for noisy in (False, True):
        words = np.zeros((n, 1), dtype=np.int64)
        boosting.make_weighted_words(
            edges, np.zeros(n), np.ones((n, 1)), np.zeros(n), places, first, 0, n, 16.0, 1, noisy, bits, False, words
        )
        sums[noisy] = (words >> bits).sum()
        assert set(np.unique(words >> bits)) <= ({0, int(np.sign(gradient))} if noisy else {round(gradient)})
    deviation = np.sqrt(n * abs(gradient) * (1 - abs(gradient)))
    assert abs(sums[True] - n * gradient) < 4 * deviation
    assert sums[False] == n * round(gradient)


@given(SEEDS)
def test_words_of_messages_are_those_of_the_gradient(seed):
    """P_t(u, k) − truth, made from messages label by label, or read from the gradient as a whole."""
    rng = np.random.default_rng(seed)
    K, lengths = int(rng.integers(2, 5)), rng.integers(1, 6, 3)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    n = int(offsets[-1])
    potentials = chain_from_scores(rng.normal(size=(n, K)), rng.normal(size=(K, n, K)), offsets)
    labels = rng.integers(0, K, n).astype(np.int32)
    work = Workspace()
    loss = log_likelihood_messages(potentials, labels, work)
    found = log_likelihood(potentials, Truth(labels))
    np.testing.assert_allclose(loss, found.loss, rtol=1e-12)
    home = np.arange(n, dtype=np.int32)
    first = potentials.first[:-1].copy()
    possible = (rng.random(K + 1) < 0.8).astype(np.uint8)
    for k in range(K):
        words = np.zeros((n, K), dtype=np.int64)
        scale = 2.0**20, 8, False
        where = home, first, 0, n, possible
        messages = work.alpha, work.node_exp, potentials.edges.exps[k], work.node_probs
        boosting.make_chain_words(*messages, labels, k, *where, *scale, words)
        row, unit, noisy = np.zeros_like(words), 64, bool(seed % 2)
        boosting.make_newton_words(*messages, labels, k, *where, 2.0**20, unit, noisy, 8, False, row)
        for t in range(n):
            gradients = [found.node_gradient[t, k]] if first[t] else found.edge_gradient[k, t]
            legal = possible[K:] if first[t] else possible
            plain = [reference.word(g, 2.0**20, 8) * int(u) for g, u in zip(gradients, legal)]
            noise = [reference.noise(t * K + u) * noisy for u in range(K)]
            newton = [
                reference.newton_word(g, 2.0**20, unit, 8, d) * int(u) for g, u, d in zip(gradients, legal, noise)
            ]
            for found_words, slow in ((words[t], plain), (row[t], newton)):
                difference = found_words[: len(slow)] - slow
                assert np.abs(difference >> 8).max() <= 1  # the last bit of a product may round the other way
                np.testing.assert_array_equal(difference & 255, 0)


def test_leaves_add_to_scores_of_histories(rng):
    """Positions 2 … 5 of six, the last two of which share a place."""
    leaf_of = rng.integers(3, size=(6, 4)).astype(np.uint16)
    home, value = np.array([0, 1, 2, 4, 5, 5], dtype=np.int32), np.array([0.5, -1.0, 2.0])
    before = rng.normal(size=(4, 4))
    scores = before.copy()
    boosting.add_leaf_scores(leaf_of, home, 2, 6, value, scores)
    np.testing.assert_array_equal(scores, before + value[leaf_of[home[2:6]]])


@pytest.mark.parametrize("newton", [False, True])
def test_words_of_messages_add_up_where_windows_are_equal(newton):
    """Two positions at one place: their words are added, the truth of each included."""
    rng = np.random.default_rng(1)
    alpha, beta, edges, nodes = rng.random((4, 4, 3))
    labels = np.array([0, 2, 2, 0], dtype=np.int32)
    first, possible = np.array([1, 0, 0, 0], dtype=np.uint8), np.ones(4, dtype=np.uint8)

    def words(home, shared):
        found = np.zeros((4, 3), dtype=np.int64)
        where = np.array(home, dtype=np.int32), first, 0, 4, possible, 2.0**20
        make = boosting.make_newton_words if newton else boosting.make_chain_words
        make(alpha, beta, edges, nodes, labels, 2, *where, *([64, True] if newton else []), 8, shared, found)
        return found

    alone, together = words([0, 1, 2, 3], False), words([0, 1, 1, 3], True)
    np.testing.assert_array_equal(together[1], alone[1] + alone[2])
    np.testing.assert_array_equal(together[[0, 3]], alone[[0, 3]])
