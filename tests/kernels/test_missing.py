"""Trees in which a missing value is none, against the literal twin: the same splits, shares, surrogates and rows."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.training.boosting.scores import all_first
from hedgerow.trees import growing as module
from hedgerow.trees.ensemble import add_trees
from hedgerow.trees.growing import FEW, N_SURROGATES, WHOLE, Grower, Tree
from hedgerow.trees.kernels import splits
from tests.kernels.test_growing import (
    LEAVES,
    SEEDS,
    SHRINKAGE,
    Corpus,
    drawn,
    make,
    make_grower,
    make_small,
    rules_of,
    write_out,
)
from tests.reference import growing as slow
from tests.reference import missing as twin

METHODS = st.sampled_from(["weighting", "surrogate"])
GAPS = (0.3, 0.35)


def gaps_of(corpus: Corpus, missing: str, n_surrogates: int = N_SURROGATES) -> twin.Gaps:
    gone = corpus.binning.streams[5].tolist()
    if missing == "weighting":
        return twin.Gaps(gone, WHOLE, module.FEW)
    return twin.Gaps(gone, n_surrogates=n_surrogates)


def same_node(node: twin.Node, tree: Tree, i: int, rules: slow.Rules, gaps: twin.Gaps, one: float) -> None:
    """Split by split: what is asked, the gain, the weights, the share and the surrogates; leaf by leaf, the value."""
    assert tree.shares is not None
    assert tree.surrogates is not None
    assert tree.surrogate_sets is not None
    assert tree.counts[i] * gaps.whole == slow.totals(twin.weighed(node.parts))[1]
    found = [
        (int(stream), frozenset(np.flatnonzero(np.unpackbits(bits, bitorder="little")).tolist()))
        for (owner, stream), bits in zip(tree.surrogates, tree.surrogate_sets)
        if owner == i
    ]
    assert found == node.surrogates
    if node.split is None:
        assert tree.nodes[i, 0] == slow.LEAF
        value = twin.leaf_value(node, rules.l2_regularization, gaps.whole)
        np.testing.assert_allclose(tree.values[i] * one, -value, rtol=1e-12)
        return
    stream, bin_, rule = node.split
    if isinstance(bin_, frozenset):
        bin_ = int(tree.nodes[i, 1])
        assert frozenset(np.flatnonzero(tree.sets[bin_]).tolist()) == node.split[1]
    assert tree.nodes[i, :3].tolist() == [stream, bin_, rule]
    assert tree.shares[i] == node.share
    assert node.best is not None
    np.testing.assert_allclose(tree.gains[i] * one**2 * gaps.whole, node.best[0], rtol=1e-9)
    for child, at in ((node.true, tree.nodes[i, 3]), (node.false, tree.nodes[i, 4])):
        assert child is not None
        same_node(child, tree, int(at), rules, gaps, one)


def same_tree(
    corpus: Corpus, rules: slow.Rules, missing: str, grower: Grower, seed: int = 0, n_surrogates: int = N_SURROGATES
) -> None:
    """Grow both trees and compare them, split by split; and by surrogates, the leaf of every row."""
    gaps, rows = gaps_of(corpus, missing, n_surrogates), write_out(corpus)
    tree, found = grower.grow(seed)
    root, leaves = twin.grow(rows, rules, gaps)
    same_node(root, tree, 0, rules, gaps, grower.one)
    assert (found is None) == (missing == "weighting")
    if found is not None:
        for i, leaf in enumerate(leaves):
            for row, _ in leaf.parts:
                u = 0 if row.previous == rules.n_labels else row.previous
                assert found.leaf_of[corpus.data.window_place[row.position], u] == i


@given(SEEDS, METHODS, LEAVES, SHRINKAGE, st.booleans(), st.sampled_from([1, 2, 8]))
def test_tree_is_that_of_the_written_out_rows(seed, missing, max_leaf_nodes, l2_regularization, subsets, trunks):
    corpus = make(seed, gaps=GAPS)
    grower = make_grower(corpus, max_leaf_nodes, l2_regularization, missing=missing, subsets=subsets)
    trunk = np.zeros((trunks, corpus.data.growing.bins.shape[1]), dtype=np.int32)
    grower._buffers = grower._buffers._replace(trunk=trunk)
    same_tree(corpus, rules_of(corpus, max_leaf_nodes, l2_regularization, subsets=subsets), missing, grower)


@given(SEEDS, LEAVES, st.sampled_from([1, 2, 30]), st.booleans())
def test_a_split_keeps_so_many_surrogates_or_all(seed, max_leaf_nodes, most, every):
    corpus = make(seed, gaps=GAPS)
    n_surrogates = None if every else most
    grower = make_grower(corpus, max_leaf_nodes, 1.0, missing="surrogate", n_surrogates=n_surrogates)
    rules = rules_of(corpus, max_leaf_nodes, 1.0)
    same_tree(corpus, rules, "surrogate", grower, n_surrogates=10**6 if every else most)


@given(SEEDS, METHODS, LEAVES)
def test_questions_about_histories_go_with_gaps(seed, missing, max_leaf_nodes):
    """One question for each previous label, and one for ⊥, is what a tree asks without histories."""
    corpus = make(seed, gaps=GAPS)
    plain = make_grower(corpus, max_leaf_nodes, 1.0, missing=missing)
    n_labels = plain.words.shape[1]
    asked = make_grower(corpus, max_leaf_nodes, 1.0, missing=missing, questions=np.eye(n_labels + 1, dtype=np.uint8))
    (one, _), (other, _) = plain.grow(), asked.grow()
    np.testing.assert_array_equal(one.values, other.values)
    np.testing.assert_array_equal(one.shares, other.shares)
    np.testing.assert_array_equal(one.surrogates, other.surrogates)
    np.testing.assert_array_equal(one.nodes[:, [0, 3, 4]], other.nodes[:, [0, 3, 4]])


@given(SEEDS, LEAVES, st.sampled_from([1, 30, 100]))
def test_a_side_that_would_get_few_parts_gets_none(seed, max_leaf_nodes, few):
    corpus = make(seed, gaps=GAPS)
    try:
        module.FEW = few
        grower = make_grower(corpus, max_leaf_nodes, 1.0, missing="weighting")
        same_tree(corpus, rules_of(corpus, max_leaf_nodes, 1.0), "weighting", grower)
    finally:
        module.FEW = FEW


@given(SEEDS, METHODS, LEAVES, SHRINKAGE, st.integers(1, 4))
def test_sparse_columns_and_weights(seed, missing, max_leaf_nodes, l2_regularization, least):
    corpus = make(seed, gaps=GAPS, sparse=True, weighted=seed % 2 == 0)
    if not write_out(corpus):
        return
    grower = make_grower(corpus, max_leaf_nodes, l2_regularization, missing=missing, min_samples_leaf=least)
    same_tree(corpus, rules_of(corpus, max_leaf_nodes, l2_regularization, least=least), missing, grower)


@given(SEEDS, METHODS, LEAVES, st.sampled_from([0.2, 0.6]))
def test_a_node_uses_only_the_features_drawn_for_it(seed, missing, max_leaf_nodes, share):
    corpus = make(seed, gaps=GAPS, sparse=seed % 2 == 0)
    streams = corpus.binning.streams

    def may_use(node: int, stream: int, item: int) -> bool:
        if stream == slow.LABEL:
            feature = splits.LABEL_FEATURE
        else:
            feature = stream if item < 0 else splits.ITEM_FEATURE + int(streams[2, stream]) + item
        return bool(drawn(seed, node, feature, share))

    grower = make_grower(corpus, max_leaf_nodes, 1.0, missing=missing, max_features=share)
    same_tree(corpus, rules_of(corpus, max_leaf_nodes, 1.0, may_use=may_use), missing, grower, seed)


@given(SEEDS, METHODS, LEAVES)
def test_equal_windows_share_a_place(seed, missing, max_leaf_nodes):
    corpus = make(seed, gaps=GAPS, group=True)
    same_tree(
        corpus,
        rules_of(corpus, max_leaf_nodes, 1.0),
        missing,
        make_grower(corpus, max_leaf_nodes, 1.0, missing=missing),
    )


@given(SEEDS, METHODS, LEAVES, st.booleans())
def test_trees_that_see_no_previous_label(seed, missing, max_leaf_nodes, subsets):
    """As where edges are shared, or where there are none: ⊥ stands before every place."""
    corpus = make(seed, gaps=GAPS)
    corpus = corpus._replace(
        data=all_first(corpus.data), targets=corpus.targets[:, :1], weights=corpus.weights[:, :1]
    )  # fmt: skip
    grower = make_grower(corpus, max_leaf_nodes, 1.0, missing=missing, subsets=subsets)
    same_tree(corpus, rules_of(corpus, max_leaf_nodes, 1.0, subsets=subsets), missing, grower)


@given(SEEDS, METHODS, LEAVES, SHRINKAGE, st.booleans(), st.booleans())
def test_without_gaps_it_is_the_plain_tree_to_the_bit(
    seed, missing, max_leaf_nodes, l2_regularization, subsets, sparse
):
    corpus = make(seed, gaps=(0.0, 0.0), sparse=sparse, weighted=seed % 3 == 0)
    if not write_out(corpus):
        return
    options = {"subsets": subsets, "min_samples_leaf": 1 + seed % 2}
    tree, _ = make_grower(corpus, max_leaf_nodes, l2_regularization, missing=missing, **options).grow()
    expected, _ = make_grower(corpus, max_leaf_nodes, l2_regularization, **options).grow()
    for name in ("nodes", "values", "gains", "counts", "sets"):
        np.testing.assert_array_equal(getattr(tree, name), getattr(expected, name))


@given(SEEDS, METHODS, st.integers(6, 14))
def test_few_histograms_are_enough(seed, missing, max_leaf_nodes):
    corpus = make(seed, gaps=GAPS)
    grower = make_grower(corpus, max_leaf_nodes, 1.0, missing=missing, subsets=seed % 2 == 0)
    grower._buffers = grower._buffers._replace(hist=grower._buffers.hist[:3].copy())
    same_tree(corpus, rules_of(corpus, max_leaf_nodes, 1.0, subsets=seed % 2 == 0), missing, grower)


@pytest.mark.parametrize("missing", ["weighting", "surrogate"])
def test_a_small_arena_is_enlarged(missing):
    corpus = make(4, gaps=GAPS, sparse=True)
    whole, _ = make_grower(corpus, 12, 1.0, missing=missing).grow()
    grower = make_grower(corpus, 12, 1.0, missing=missing)
    make_small(grower)
    tree, _ = grower.grow()
    assert len(tree.values) > 1
    for mine, theirs in zip(tree, whole):
        np.testing.assert_array_equal(mine, theirs)


# ------------------------------------------------------------------------------------------------ prediction


def scores_of(corpus: Corpus, tree: Tree, scale: float = 1.0) -> tuple[Any, Any]:
    n, K = corpus.targets.shape
    edges, nodes = np.zeros((1, n, K)), np.zeros((1, n))
    add_trees(corpus.data, corpus.data.place, [tree], edges, nodes, scale=scale)
    return edges[0], nodes[0]


def damage(corpus: Corpus, rate: float, rng: Any) -> Corpus:
    """The corpus with more gaps in its dense columns, and with all rows of weight 1."""
    bins, streams, place = corpus.data.bins.copy(), corpus.binning.streams, corpus.data.place
    for c in range(len(bins)):
        gone = streams[5, streams[0] == c][0]
        if gone >= 0:
            bins[c, place[rng.random(len(place)) < rate]] = gone
    data = dataclasses.replace(corpus.data, columns=corpus.data.columns._replace(bins=bins))
    return corpus._replace(data=data, weights=np.ones_like(corpus.weights))


@given(SEEDS, METHODS, st.integers(2, 80), st.booleans(), st.booleans())
def test_scores_are_those_of_the_twin(seed, missing, max_leaf_nodes, subsets, sparse):
    """On rows of the training corpus, and with gaps that training did not see: all of a window may be missing."""
    corpus = make(seed, gaps=GAPS if seed % 2 else (0.0, 0.1), sparse=sparse)
    rules, gaps = rules_of(corpus, max_leaf_nodes, 1.0, subsets=subsets), gaps_of(corpus, missing)
    grower = make_grower(corpus, max_leaf_nodes, 1.0, missing=missing, subsets=subsets)
    tree, _ = grower.grow()
    root, _ = twin.grow(write_out(corpus), rules, gaps)
    damaged = damage(corpus, 0.5 * (seed % 3), np.random.default_rng(seed))
    edges, nodes = scores_of(damaged, tree, 0.5)
    first = damaged.data.first[damaged.data.place] != 0
    assert not edges[first].any()
    assert not nodes[~first].any()
    for row in write_out(damaged):
        expected = -0.5 * twin.predict(root, row, rules, gaps) / grower.one
        found = nodes[row.position] if row.previous == rules.n_labels else edges[row.position, row.previous]
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9 * np.abs(tree.values).max())


@given(SEEDS, st.integers(2, 80), st.booleans())
def test_leaves_of_training_add_what_the_tree_predicts(seed, max_leaf_nodes, group):
    corpus = make(seed, gaps=GAPS, group=group)
    tree, leaves = make_grower(corpus, max_leaf_nodes, 1.0, missing="surrogate").grow()
    edges, nodes = scores_of(corpus, tree)
    assert leaves is not None
    values = np.append(leaves.values, np.zeros(max_leaf_nodes))[leaves.leaf_of[corpus.data.window_place]]
    first = corpus.data.first[corpus.data.place] != 0
    np.testing.assert_array_equal(edges[~first], values[~first])
    np.testing.assert_array_equal(nodes[first], values[first, 0])


@given(SEEDS, METHODS, st.integers(2, 80))
def test_shares_of_a_row_add_up_to_it(seed, missing, max_leaf_nodes):
    corpus = make(seed, gaps=GAPS, sparse=seed % 2 == 0)
    tree, _ = make_grower(corpus, max_leaf_nodes, 1.0, missing=missing).grow()
    edges, nodes = scores_of(corpus, tree._replace(values=np.ones_like(tree.values)))
    first = corpus.data.first[corpus.data.place] != 0
    np.testing.assert_allclose(edges[~first], 1.0, rtol=1e-12)
    np.testing.assert_allclose(nodes[first], 1.0, rtol=1e-12)
    split = tree.nodes[:, 0] != slow.LEAF
    children = tree.counts[tree.nodes[split, 3]] + tree.counts[tree.nodes[split, 4]]
    np.testing.assert_array_equal(children, tree.counts[split])


@given(SEEDS, METHODS, st.booleans())
def test_scores_without_gaps_are_those_of_the_masks(seed, missing, sparse):
    corpus = make(seed, gaps=(0.0, 0.0), sparse=sparse)
    tree, _ = make_grower(corpus, 80, 1.0, missing=missing).grow()
    plain_tree = tree._replace(shares=None, surrogates=None, surrogate_sets=None)
    for found, expected in zip(scores_of(corpus, tree, 0.3), scores_of(corpus, plain_tree, 0.3)):
        np.testing.assert_array_equal(found, expected)


def test_plain_trees_of_the_same_corpus_differ():
    """The corpora here have gaps enough that it matters what is done about them."""
    differ = 0
    for seed in range(20):
        corpus = make(seed, gaps=GAPS)
        trees = [make_grower(corpus, 8, 1.0, missing=how).grow()[0] for how in ("weighting", "surrogate")]
        trees.append(make_grower(corpus, 8, 1.0).grow()[0])
        differ += len({tree.nodes.tobytes() for tree in trees}) == 3
    assert differ >= 10


def test_some_trees_have_surrogates_and_some_ask_whether_a_place_is_first():
    streams = []
    for seed in range(60):
        tree, _ = make_grower(make(seed, gaps=GAPS), 8, 1.0, missing="surrogate", subsets=seed % 2 == 0).grow()
        assert tree.surrogates is not None
        streams += tree.surrogates[:, 1].tolist()
    assert len(streams) > 100
    assert slow.LABEL in streams
