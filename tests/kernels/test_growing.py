"""The tree engine against the literal twin: the same splits, in the same order, with the same rows in every leaf."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.data.encoding import learn
from hedgerow.training.boosting.scores import _with_first
from hedgerow.trees import binning as binning_module
from hedgerow.trees import growing as grower_module
from hedgerow.trees.binning import BinnedData, Binning, bin_dataset, learn_binning
from hedgerow.trees.growing import Grower, Leaves, Tree
from hedgerow.trees.kernels import splits as fast
from tests.reference import growing as slow


class Corpus(NamedTuple):
    """Random columns and gradients. targets (N, K), whole numbers; weights (N, K), 0 where there is no row."""

    binning: Binning
    data: BinnedData
    targets: Any
    weights: Any


def make(
    seed: int,
    *,
    sparse: bool = False,
    weighted: bool = False,
    group: bool = False,
    gaps: tuple[float, float] | None = None,
) -> Corpus:
    """A corpus of few sequences with one to three columns of codes, numbers and, where asked for, sparse items.

    gaps : shares of the codes and of the numbers that are missing, for trees in which a missing value is none
    """
    code_gap, number_gap = (0.1, 0.15) if gaps is None else gaps
    rng = np.random.default_rng(seed)
    n_labels, lengths = int(rng.integers(2, 5)), rng.integers(1, 9, rng.integers(2, 8))
    names = ["a", "b", "c", "d"][: int(rng.integers(2, 5))]
    kinds = [str(rng.choice(["code", "number", "many"])) for _ in range(rng.integers(1, 3))]
    limit = binning_module.MAX_BINS
    X = []
    for length in lengths:
        x: list[Any] = []
        for _ in range(length):
            item: dict[str, Any] = {}
            for j, kind in enumerate(kinds):
                if kind == "number":
                    item[f"n{j}"] = float(rng.integers(0, 4)) if rng.random() > number_gap else None
                else:
                    item[f"c{j}"] = str(rng.choice(names)) if rng.random() > code_gap else None
            if sparse:
                item["words"] = [
                    str(w) for w in rng.choice(["p", "q", "r", "s", "t"], rng.integers(0, 4), replace=False)
                ]
            x.append(item)
        X.append(x)
    y = [[f"l{rng.integers(n_labels)}" for _ in x] for x in X]
    y[0] = [f"l{t % n_labels}" for t in range(len(y[0]))]
    declared = {
        f"{'n' if k == 'number' else 'c'}{j}": "numeric" if k == "number" else "categorical"
        for j, k in enumerate(kinds)
    }
    dataset = learn(X, y, columns=declared, window=int(rng.integers(0, 3)))
    try:
        if sparse and seed % 2:
            binning_module.MAX_BINS = 4  # type: ignore[misc]  # columns of more codes become sparse
        if group:
            binning_module._GROUP_FROM = 1
        binning = learn_binning(dataset, keep_missing=gaps is not None)
        data = bin_dataset(binning, dataset, postings=True)
    finally:
        binning_module.MAX_BINS, binning_module._GROUP_FROM = limit, 1000  # type: ignore[misc]
    n = dataset.n_positions
    targets = rng.integers(-50, 50, (n, n_labels)) if seed % 3 else rng.integers(-1, 2, (n, n_labels))  # many ties
    weights = rng.integers(0, 3, (n, n_labels)) if weighted else np.ones((n, n_labels), dtype=np.int64)
    return Corpus(binning, data, targets, weights)


def make_grower(corpus: Corpus, max_leaf_nodes: int, l2_regularization: float, **options: Any) -> Grower:
    """A grower with the words of the corpus; a gradient of 1 is one unit of its targets."""
    data, (n, n_labels) = corpus.data, corpus.targets.shape
    grower = Grower(
        data, n_labels, max_leaf_nodes=max_leaf_nodes, l2_regularization=l2_regularization,
        total_weight=float(corpus.weights.max(initial=1) * n), **options,
    )  # fmt: skip
    for t in range(n):
        p = data.window_place[t]
        for u in range(1 if data.window_first[p] else n_labels):
            if corpus.weights[t, u]:
                grower.words[p, u] += (int(corpus.targets[t, u]) << grower.bits) + int(corpus.weights[t, u])
    return grower


def write_out(corpus: Corpus) -> list[slow.Row]:
    """Every row (t, u) with its window, as the papers have them."""
    n, n_labels = corpus.targets.shape
    data, streams = corpus.data, corpus.binning.streams
    rows = []
    for t in range(n):
        p = int(data.place[t])
        window: list[Any] = []
        for c, o, kind in zip(streams[0], streams[1], streams[4]):
            if kind == slow.ITEMS:
                g = int(c) - corpus.binning.n_dense
                run = data.columns.item_ptr[g, p + o : p + o + 2]
                window.append(frozenset(data.columns.items[run[0] : run[1]].tolist()))
            else:
                window.append(int(data.bins[c, p + o]))
        for u in [n_labels] if data.first[p] else range(n_labels):
            column = 0 if data.first[p] else u
            if corpus.weights[t, column]:
                rows.append(slow.Row(t, window, u, int(corpus.targets[t, column]), int(corpus.weights[t, column])))
    return rows


def rules_of(corpus: Corpus, max_leaf_nodes: int, l2_regularization: float, **options: Any) -> slow.Rules:
    streams = corpus.binning.streams
    return slow.Rules(
        streams[4].tolist(), streams[3].tolist(), corpus.targets.shape[1], max_leaf_nodes, l2_regularization, **options
    )


def same_splits(node: slow.Node, tree: Tree, i: int, one: float) -> None:
    assert tree.counts[i] == slow.totals(node.rows)[1]
    if node.split is None:
        assert tree.nodes[i, 0] == slow.LEAF
        return
    stream, value, rule = node.split
    if isinstance(value, frozenset):
        value = int(tree.nodes[i, 1])
        assert frozenset(np.flatnonzero(tree.sets[value]).tolist()) == node.split[1]
    assert tree.nodes[i, :3].tolist() == [stream, value, rule]
    assert node.best is not None
    np.testing.assert_allclose(tree.gains[i] * one**2, node.best[0], rtol=1e-9)
    assert node.true is not None
    assert node.false is not None
    same_splits(node.true, tree, int(tree.nodes[i, 3]), one)
    same_splits(node.false, tree, int(tree.nodes[i, 4]), one)


def same_tree(corpus: Corpus, rules: slow.Rules, grower: Grower, seed: int = 0) -> tuple[Tree, Leaves]:
    """Grow both trees and compare them, split by split and row by row."""
    tree, leaves = grower.grow(seed)
    assert leaves is not None
    root, slow_leaves = slow.grow(write_out(corpus), rules)
    same_splits(root, tree, 0, grower.one)
    assert len(leaves.values) == len(slow_leaves)
    for i, leaf in enumerate(slow_leaves):
        targets, weight = slow.totals(leaf.rows)
        np.testing.assert_allclose(
            leaves.values[i] * grower.one, -targets / (weight + rules.l2_regularization), rtol=1e-12
        )
        for row in leaf.rows:
            u = 0 if row.previous == rules.n_labels else row.previous
            assert leaves.leaf_of[corpus.data.window_place[row.position], u] == i
    return tree, leaves


LEAVES, SHRINKAGE = st.integers(2, 14), st.sampled_from([0.0, 1.0, 20.0])
SEEDS = st.integers(0, 10_000)
drawn = getattr(fast.may_use, "py_func", fast.may_use)  # a part of the kernel is not to be called from Python


@given(SEEDS, LEAVES, SHRINKAGE, st.sampled_from([1, 2, 8]))
def test_tree_is_that_of_the_written_out_rows(
    seed: int, max_leaf_nodes: int, l2_regularization: float, trunks: int
) -> None:
    corpus = make(seed)
    grower = make_grower(corpus, max_leaf_nodes, l2_regularization)
    grower._buffers = grower._buffers._replace(
        trunk=np.zeros((trunks, corpus.data.growing.bins.shape[1]), dtype=np.int64)
    )
    same_tree(corpus, rules_of(corpus, max_leaf_nodes, l2_regularization), grower)


@given(SEEDS, LEAVES, SHRINKAGE)
def test_sparse_items_split_as_columns_of_their_own(seed: int, max_leaf_nodes: int, l2_regularization: float) -> None:
    corpus = make(seed, sparse=True)
    same_tree(
        corpus,
        rules_of(corpus, max_leaf_nodes, l2_regularization),
        make_grower(corpus, max_leaf_nodes, l2_regularization),
    )


@given(SEEDS, LEAVES, SHRINKAGE, st.integers(1, 4))
def test_weights_count_as_rows(seed: int, max_leaf_nodes: int, l2_regularization: float, least: int) -> None:
    corpus = make(seed, weighted=True, sparse=seed % 5 == 0)
    if not write_out(corpus):
        return
    grower = make_grower(corpus, max_leaf_nodes, l2_regularization, min_samples_leaf=least)
    same_tree(corpus, rules_of(corpus, max_leaf_nodes, l2_regularization, least=least), grower)


@given(SEEDS, LEAVES, SHRINKAGE)
def test_subsets_are_prefixes_of_the_ranked_values(seed: int, max_leaf_nodes: int, l2_regularization: float) -> None:
    corpus = make(seed)
    grower = make_grower(corpus, max_leaf_nodes, l2_regularization, subsets=True)
    same_tree(corpus, rules_of(corpus, max_leaf_nodes, l2_regularization, subsets=True), grower)


@given(SEEDS, LEAVES, st.sampled_from([0.2, 0.6]))
def test_a_node_uses_only_the_features_drawn_for_it(seed: int, max_leaf_nodes: int, share: float) -> None:
    corpus = make(seed, sparse=seed % 2 == 0)
    streams = corpus.binning.streams

    def may_use(node: int, stream: int, item: int) -> bool:
        if stream == slow.LABEL:
            feature = fast.LABEL_FEATURE
        else:
            feature = stream if item < 0 else fast.ITEM_FEATURE + int(streams[2, stream]) + item
        return bool(drawn(seed, node, feature, share))

    grower = make_grower(corpus, max_leaf_nodes, 1.0, max_features=share)
    same_tree(corpus, rules_of(corpus, max_leaf_nodes, 1.0, may_use=may_use), grower, seed)


@given(SEEDS, LEAVES)
def test_equal_windows_share_a_place(seed: int, max_leaf_nodes: int) -> None:
    corpus = make(seed, group=True)
    same_tree(corpus, rules_of(corpus, max_leaf_nodes, 1.0), make_grower(corpus, max_leaf_nodes, 1.0))


@given(SEEDS, LEAVES, SHRINKAGE, st.booleans())
def test_histories_are_split_by_questions_alone(
    seed: int, max_leaf_nodes: int, l2_regularization: float, subsets: bool
) -> None:
    """Where no place is first, and any row may be missing: as with the histories of a chain of higher order."""
    corpus = make(seed, weighted=True, group=seed % 2 == 0)
    corpus = corpus._replace(data=_with_first(corpus.data, False))
    n_labels = corpus.targets.shape[1]
    asks = np.zeros((4, n_labels + 1), dtype=np.uint8)
    asks[:, :-1] = np.random.default_rng(seed).random((4, n_labels)) < 0.5
    grower = make_grower(corpus, max_leaf_nodes, l2_regularization, subsets=subsets, questions=asks)
    sets = [frozenset(np.flatnonzero(row).tolist()) for row in asks]
    rules = rules_of(corpus, max_leaf_nodes, l2_regularization, subsets=subsets, questions=sets)
    tree, leaves = grower.grow()
    assert leaves is not None
    root, slow_leaves = slow.grow(write_out(corpus), rules)
    same_members(root, tree, 0)
    for i, leaf in enumerate(slow_leaves):
        for row in leaf.rows:
            assert leaves.leaf_of[corpus.data.window_place[row.position], row.previous] == i


def same_members(node: slow.Node, tree: Tree, i: int) -> None:
    """As same_splits, where the set of a question has only the histories that are in the node."""
    assert tree.counts[i] == slow.totals(node.rows)[1]
    if node.split is None:
        assert tree.nodes[i, 0] == slow.LEAF
        return
    stream, value, rule = node.split
    assert tree.nodes[i, [0, 2]].tolist() == [stream, rule]
    if isinstance(value, frozenset):
        own = {row.previous if stream == slow.LABEL else row.bins[stream] for row in node.rows}
        chosen = set(np.flatnonzero(tree.sets[tree.nodes[i, 1]]).tolist())
        assert chosen & own == value & own
    assert node.true is not None
    assert node.false is not None
    same_members(node.true, tree, int(tree.nodes[i, 3]))
    same_members(node.false, tree, int(tree.nodes[i, 4]))


def test_some_corpora_are_grouped() -> None:
    assert sum(make(seed, group=True).data.grouped for seed in range(30)) >= 5


@given(SEEDS, st.integers(6, 14))
def test_few_histograms_are_enough(seed: int, max_leaf_nodes: int) -> None:
    corpus = make(seed)
    grower = make_grower(corpus, max_leaf_nodes, 1.0, subsets=seed % 2 == 0)
    grower._buffers = grower._buffers._replace(hist=grower._buffers.hist[:3].copy())
    same_tree(corpus, rules_of(corpus, max_leaf_nodes, 1.0, subsets=seed % 2 == 0), grower)


def make_small(grower: Grower) -> None:
    """Leave it next to no buffers for rows and for sparse histograms."""
    of_rows, of_items = (
        {name: getattr(buffers, name)[:1].copy() for name in names}
        for buffers, names in ((grower._buffers, ("rows", "amount")), (grower._sparse, ("ids", "sums")))
    )
    grower._buffers, grower._sparse = grower._buffers._replace(**of_rows), grower._sparse._replace(**of_items)


def test_a_small_arena_is_enlarged() -> None:
    corpus = make(4, sparse=True)
    whole = make_grower(corpus, 12, 1.0).grow()[0]
    grower = make_grower(corpus, 12, 1.0)
    make_small(grower)
    tree = grower.grow()[0]
    assert len(tree.values) > 1
    for mine, theirs in zip(tree, whole):
        np.testing.assert_array_equal(mine, theirs)


def test_the_memory_of_histograms_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = make(1)
    monkeypatch.setattr(grower_module, "MAX_HISTOGRAMS", 1)
    assert len(make_grower(corpus, 12, 1.0)._buffers.hist) == 3


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_features_are_drawn_in_their_share(share: float) -> None:
    taken = [drawn(seed, node, feature, share) for seed in range(9) for node in range(20) for feature in range(20)]
    assert abs(np.mean(taken) - share) < 0.03


def test_planted_split_is_found() -> None:
    corpus = make(7)
    streams = corpus.binning.streams
    s = int(np.argmax(streams[4] == slow.CODES)) if (streams[4] == slow.CODES).any() else 0
    values = corpus.data.bins[streams[0, s], corpus.data.place + streams[1, s]]
    wanted = int(np.bincount(values).argmax())
    targets = np.where(values == wanted, 40, -40)[:, None] * np.ones_like(corpus.targets)
    grower = make_grower(corpus._replace(targets=targets), 2, 0.0)
    _, leaves = grower.grow()
    assert leaves is not None
    assert sorted((leaves.values * grower.one).tolist()) == [-40.0, 40.0]
