"""All trees of a model as flat arrays, and their scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import numpy as np

from hedgerow.data.short import SHORT
from hedgerow.legend import FLOAT, INDEX, AnyArray, CodeArray, FloatArray, IndexArray
from hedgerow.trees import kernels
from hedgerow.trees.binning import BinnedData
from hedgerow.trees.growing import Tree
from hedgerow.trees.nodes import ITEMS, KIND, LEAF, LEAF_BITS, MAX_BINS, N_BINS, STREAM

MOST_WALKED = SHORT  # positions: with more, masks of leaves are cheaper
_PLACE_OF: IndexArray = np.zeros(67, dtype=INDEX)  # of the one bit of a word, by the word modulo 67: all powers differ
_PLACE_OF[[pow(2, i, 67) for i in range(66)]] = np.arange(66)


@dataclass(frozen=True)
class Ensemble:
    """Tree j = (i·R + r)·K + k is the r-th of R trees of iteration i and label k, and where trees are for all labels
    (`vectors`), tree i is that of iteration i. Children count from its first node.

    ptr, set_ptr : int64[J+1], the nodes and sets of each tree
    nodes int64[·, 5], values, gains, counts float64[·], sets uint8[·, ·] : as in Tree
    shares float64[·], surrogate_ptr int64[J+1], surrogates int64[·, 2], surrogate_sets uint8[·, 32] : likewise; None
        where trees take a missing value for a value
    """

    n_labels: int
    trees_per_step: int
    ptr: IndexArray
    set_ptr: IndexArray
    nodes: IndexArray
    values: FloatArray
    gains: FloatArray
    counts: FloatArray
    sets: AnyArray
    shares: FloatArray | None = None
    surrogate_ptr: IndexArray | None = None
    surrogates: IndexArray | None = None
    surrogate_sets: AnyArray | None = None

    @classmethod
    def of(cls, n_labels: int, trees: Sequence[Tree], trees_per_step: int = 1) -> Ensemble:
        def ends(sizes: list[int]) -> IndexArray:
            return np.concatenate([[0], np.cumsum(sizes)]).astype(INDEX)

        width = max([256, n_labels + 1, *(tree.sets.shape[1] for tree in trees)])
        sets = (np.pad(tree.sets, ((0, 0), (0, width - tree.sets.shape[1]))) for tree in trees)
        return cls(
            n_labels,
            trees_per_step,
            ends([len(tree.values) for tree in trees]),
            ends([len(tree.sets) for tree in trees]),
            np.concatenate([np.empty((0, 5), dtype=INDEX), *(tree.nodes for tree in trees)]),
            np.concatenate([tree.values for tree in trees]) if trees else np.empty(0),
            np.concatenate([np.empty(0), *(tree.gains for tree in trees)]),
            np.concatenate([np.empty(0), *(tree.counts for tree in trees)]),
            np.concatenate([np.empty((0, width), dtype=np.uint8), *sets]),
            **_of_missing(trees),
        )

    @cached_property
    def narrow_nodes(self) -> CodeArray:
        """int32[·, 5], the nodes in half the memory: walks wait for it."""
        return self.nodes.astype(np.int32)

    @property
    def n_trees(self) -> int:
        return len(self.ptr) - 1

    @property
    def vectors(self) -> bool:
        """Whether a tree is for all labels: values are float64[·, K] then."""
        return self.values.ndim == 2

    @property
    def trees_per_iteration(self) -> int:
        return 1 if self.vectors else self.n_labels * self.trees_per_step

    @property
    def n_iterations(self) -> int:
        return self.n_trees // self.trees_per_iteration

    @property
    def n_leaves(self) -> int:
        return int((self.nodes[:, STREAM] == LEAF).sum())

    def tree(self, j: int) -> Tree:
        nodes, sets = slice(*self.ptr[j : j + 2]), slice(*self.set_ptr[j : j + 2])
        tree = Tree(self.nodes[nodes], self.values[nodes], self.gains[nodes], self.counts[nodes], self.sets[sets])
        if self.shares is None:
            return tree
        assert self.surrogate_ptr is not None
        assert self.surrogates is not None
        assert self.surrogate_sets is not None
        rows = slice(*self.surrogate_ptr[j : j + 2])
        return tree._replace(
            shares=self.shares[nodes], surrogates=self.surrogates[rows], surrogate_sets=self.surrogate_sets[rows]
        )

    def label_tree(self, step: int, k: int) -> Tree:
        """What tree `step` of those of a label adds to its scores; counts of a tree for all labels are theirs."""
        if not self.vectors:
            return self.tree(step * self.n_labels + k)
        tree = self.tree(step)
        return tree._replace(values=tree.values[:, k])

    def trees(self) -> list[Tree]:
        return [self.tree(j) for j in range(self.n_trees)]

    def first(self, n_iterations: int) -> Ensemble:
        """The first iterations alone."""
        n = n_iterations * self.trees_per_iteration
        return Ensemble.of(self.n_labels, [self.tree(j) for j in range(n)], self.trees_per_step)


def _of_missing(trees: Sequence[Tree]) -> dict[str, Any]:
    """What trees in which a missing value is none have besides; all have it, or none has."""
    shares = [tree.shares for tree in trees if tree.shares is not None]
    if not shares:
        return {}
    assert len(shares) == len(trees)
    surrogates = [tree.surrogates for tree in trees if tree.surrogates is not None]
    sets = [tree.surrogate_sets for tree in trees if tree.surrogate_sets is not None]
    return {
        "shares": np.concatenate(shares),
        "surrogate_ptr": np.concatenate([[0], np.cumsum([len(table) for table in surrogates])]).astype(INDEX),
        "surrogates": np.concatenate(surrogates),
        "surrogate_sets": np.concatenate(sets),
    }


def walk_trees(
    data: BinnedData, places: CodeArray, ensemble: Ensemble, edge_scores: FloatArray, node_scores: FloatArray
) -> bool:
    """As `add_trees` and `add_vector_trees` of all trees, by walking them, where so few rows make that cheaper and a
    missing value is one more value; False where nothing was done."""
    if ensemble.shares is not None or len(places) > MOST_WALKED:
        return False
    columns = data.columns
    reads = columns.bins, columns.streams, len(columns.blocks), columns.items, columns.item_ptr
    trees = ensemble.ptr, ensemble.set_ptr, ensemble.narrow_nodes, ensemble.values, ensemble.sets, 1.0
    if ensemble.vectors:
        kernels.walking.add_vectors(reads, places, *trees, node_scores)
    else:
        work: IndexArray = np.empty((4, edge_scores.shape[2] + 1), dtype=INDEX)
        kernels.walking.add_trees(reads, places, data.first, *trees, work, edge_scores, node_scores)
    return True


def add_trees(
    data: BinnedData,
    places: CodeArray,
    trees: Sequence[Tree],
    edge_scores: FloatArray,
    node_scores: FloatArray,
    *,
    scale: float = 1.0,
) -> None:
    """Add trees, tree j of label j mod K, to edge scores (K, n, K') [to, t, from] and to the ⊥ scores (K, n).

    places : int32[n], of the positions. K' is the number of previous labels.
    """
    K, _, n_before = edge_scores.shape
    columns, masks = data.columns, kernels.leaf_masks
    n_nodes = max((len(tree.values) for tree in trees), default=1)
    n_streams, n_bins = columns.streams.shape[1], int(columns.streams[N_BINS, columns.streams[KIND] != ITEMS].sum())
    width = -(-(n_nodes + 1) // 2 // LEAF_BITS)
    buffers = (
        np.empty(n_streams, dtype=INDEX),
        np.empty(n_streams, dtype=INDEX),
        np.empty((min(n_bins, n_nodes * MAX_BINS), width), dtype=INDEX),
        np.empty((n_before + 1, width), dtype=INDEX),
        np.zeros(n_nodes + 1),
        np.empty((4, n_nodes + 1), dtype=INDEX),
        np.empty((masks.BLOCK, width), dtype=INDEX),
        np.empty(n_before, dtype=INDEX),
        np.empty((2, masks.BLOCK)),
    )
    most = max((len(tree.values) for tree in trees if tree.surrogates is not None), default=0)
    gap_buffers = _make_gap_buffers(most, n_streams, n_before, width) if most else ()
    reads = columns.bins, columns.streams, len(columns.blocks), columns.items, columns.item_ptr, places, data.first
    place_of = _PLACE_OF.copy()
    place_of[0] = n_nodes  # the last of the values, 0
    for j in (i for k in range(K) for i in range(k, len(trees), K)):  # scores of a label stay in the cache
        tree, gaps = trees[j], cast(Any, ())
        if tree.surrogates is not None:
            ptr: IndexArray = np.searchsorted(tree.surrogates[:, 0], np.arange(len(tree.values) + 1))
            gaps = kernels.leaf_gaps.Gaps(tree.shares, tree.surrogates, tree.surrogate_sets, ptr, *gap_buffers)
        masks.add_tree(
            *reads, tree.nodes, tree.values, tree.sets, float(scale), place_of, *buffers, gaps, edge_scores[j % K],
            node_scores[j % K],
        )  # fmt: skip


def add_vector_trees(
    data: BinnedData, places: CodeArray, trees: Sequence[Tree], scores: FloatArray, *, scale: float = 1.0
) -> None:
    """Add trees for all labels to scores (K, n); ⊥ stands before every position."""
    n = len(places)
    for tree in trees:
        numbers: FloatArray = np.zeros((1, n))  # what the tree adds is the number of the leaf
        numbered = tree._replace(values=np.arange(len(tree.nodes), dtype=FLOAT))
        add_trees(data, places, [numbered], np.zeros((1, n, 1)), numbers)
        kernels.vector_growing.add_vectors(
            numbers[0].astype(INDEX), np.ascontiguousarray(scale * tree.values.T), scores
        )


def _make_gap_buffers(n_nodes: int, n_streams: int, n_before: int, width: int) -> tuple[AnyArray, ...]:
    """Buffers for trees in which a missing value is none; a tree splits on as many streams at most as it has splits."""
    n_used, n_leaves, block = min(n_streams, n_nodes // 2), n_nodes // 2 + 1, kernels.leaf_masks.BLOCK
    return (
        np.empty(n_before, dtype=INDEX),
        np.empty((n_before + 2, width), dtype=INDEX),
        np.empty(n_before + 1),
        np.empty((2, n_streams), dtype=INDEX),
        np.empty((n_used, n_leaves)),
        np.empty((n_used, n_leaves)),
        np.empty((n_nodes, 2, width), dtype=INDEX),
        np.empty((block, n_used + 1), dtype=np.int32),
        np.empty(block, dtype=INDEX),
    )
