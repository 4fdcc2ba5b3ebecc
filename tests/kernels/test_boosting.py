"""Kernels around growing, against their row-by-row twins."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.kernels import boosting
from hedgerow.reference import boosting as reference
from tests.kernels.test_growing import grow_fast, make


@given(st.integers(0, 10_000), st.integers(2, 14))
def test_a_tree_is_walked_as_row_by_row(seed, max_leaves):
    corpus = make(seed)
    n_leaves, work = grow_fast(corpus, max_leaves, 1.0)
    n, K = corpus.words.shape
    tree = work["tree"][: 2 * n_leaves - 1].copy()
    value = np.random.default_rng(seed).normal(size=len(tree))
    edges, nodes = np.zeros((n, K)), np.zeros(n)
    stack, taken = np.empty((K + 1, 2), dtype=np.int64), np.empty(K, dtype=np.uint8)
    boosting.add_tree(corpus.bins, corpus.place, corpus.first, corpus.streams, tree, value, stack, taken, edges, nodes)
    slow_edges, slow_nodes = np.zeros((n, K)), np.zeros(n)
    reads = corpus.bins, corpus.place, corpus.first, corpus.streams
    reference.add_tree(*reads, tree, value, slow_edges, slow_nodes)
    np.testing.assert_array_equal(edges, slow_edges)
    np.testing.assert_array_equal(nodes, slow_nodes)


@given(st.integers(0, 10_000), st.integers(2, 14))
def test_leaves_add_what_the_tree_predicts(seed, max_leaves):
    corpus = make(seed)
    n_leaves, work = grow_fast(corpus, max_leaves, 1.0)
    n, K = corpus.words.shape
    value = np.random.default_rng(seed).normal(size=n_leaves)
    edges, exps, nodes = np.zeros((n, K)), np.ones((n, K)), np.zeros(n)
    where = [work[name] for name in ("alive", "slot", "rows", "begin", "end", "member")]
    for begin, end in ((0, n // 2), (n // 2, n)):
        into = edges[begin:end], exps[begin:end], nodes[begin:end]
        boosting.add_leaves(*where, value, np.exp(value), corpus.first, begin, end, *into)
    of_nodes = np.zeros(2 * n_leaves - 1)
    of_nodes[work["node"][:n_leaves]] = value
    slow_edges, slow_nodes = np.zeros((n, K)), np.zeros(n)
    reads = corpus.bins, corpus.place, corpus.first, corpus.streams
    reference.add_tree(*reads, work["tree"], of_nodes, slow_edges, slow_nodes)
    np.testing.assert_allclose(edges, slow_edges, rtol=0, atol=1e-12)
    np.testing.assert_allclose(nodes, slow_nodes, rtol=0, atol=1e-12)
    np.testing.assert_allclose(exps, np.exp(slow_edges), rtol=1e-12)


@pytest.mark.parametrize("begin", [0, 2])
def test_words(begin):
    rng = np.random.default_rng(begin)
    edges, nodes = rng.uniform(-1, 1, (3, 2)), rng.uniform(-1, 1, 3)
    first = np.array([True, False, False, False, True])
    words = np.full((5, 2), -7, dtype=np.int64)
    boosting.make_words(edges, nodes, first, begin, begin + 3, 2.0**20, 8, words)
    for t in range(5):
        if not begin <= t < begin + 3:
            expected = [-7, -7]
        elif first[t]:
            expected = [reference.word(nodes[t - begin], 2.0**20, 8), 0]
        else:
            expected = [reference.word(g, 2.0**20, 8) for g in edges[t - begin]]
        assert words[t].tolist() == expected
