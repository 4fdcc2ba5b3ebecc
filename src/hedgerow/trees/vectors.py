"""One regression tree for all labels: the buffers it grows in, and what comes out."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from hedgerow.legend import INDEX, AnyArray, FloatArray, IndexArray
from hedgerow.trees import kernels
from hedgerow.trees.binning import BinnedData
from hedgerow.trees.growing import MAX_HISTOGRAMS, MAX_VALUE, Grower, Leaves, Tree
from hedgerow.trees.nodes import BLOCK_BASE, BLOCK_LOW, BLOCK_STRIDE, BLOCK_WIDTH, MAX_BINS


class VectorGrower(Grower):
    """Grows trees with a value for each label, on dense columns, codes split one against the rest.

    words : int64[P, ·], of each place and label
    """

    def __init__(self, data: BinnedData, n_labels: int, **options: Any) -> None:
        self.n_labels = n_labels
        super().__init__(data, -(-n_labels // 4) * 4, **options)
        self._pairs = np.empty((len(self._tree), self.words.shape[1]), dtype=INDEX)
        self._leaf_of = np.zeros(len(self.words), dtype=np.uint16)

    def _make_buffers(self, n_labels: int, questions: AnyArray | None) -> Any:
        L, n, n_cells = self.max_leaf_nodes, len(self.data.places), self._n_cells
        n_histograms = min(L, max(3, MAX_HISTOGRAMS // max(1, n_cells * n_labels)))
        return kernels.vector_growing.Buffers(
            rows=np.empty(n, dtype=np.int32),
            spare=np.empty(n + 1, dtype=np.int32),
            side=np.empty(MAX_BINS, dtype=np.uint8),
            hist=np.empty((n_histograms, n_cells, n_labels), dtype=INDEX),
            below=np.empty((2, n_labels), dtype=INDEX),
            known=np.empty((3, n_labels)),
            leaf=np.zeros((9, L), dtype=INDEX),
            gain=np.empty(L),
            split=np.empty((L, 5), dtype=INDEX),
            labels=np.empty((L, n_labels), dtype=INDEX),
        )

    @cached_property
    def _lists(self) -> Any:
        return list_uncommon(self.data.growing.bins, self.data.growing.blocks)

    def grow(self, seed: int = 0) -> tuple[Tree, Leaves]:
        """A tree for the gradients in `words`, whose leaves are Σ(−g)/(n+λ) of each label."""
        data, rules = self.data, self._rules._replace(seed=seed & 0x7FFFFFFF)
        out = self._tree, self._pairs, self._gains, self._leaf_of
        n_leaves = kernels.vector_growing.grow(
            data.growing, self._lists, data.places, self.words, rules, self._buffers, *out
        )
        leaves: IndexArray = self._buffers.leaf[kernels.state.NODE, :n_leaves]
        tree = self._make_tree(leaves, 0, 0)
        return tree, Leaves(self._leaf_of, tree.values[leaves])

    def _make_tree(self, leaves: IndexArray, n_sets: int, n_surrogates: int) -> Tree:
        n_nodes = 2 * len(leaves) - 1
        sums = self._pairs[:n_nodes, : self.n_labels]
        counts = (sums & ((1 << self.bits) - 1)) / self.unit
        values: FloatArray = np.zeros(sums.shape)
        of_leaves = -((sums[leaves] >> self.bits) / self.one) / (counts[leaves] + self.l2_regularization)
        values[leaves] = np.clip(of_leaves, -MAX_VALUE, MAX_VALUE)
        gains = self._gains[:n_nodes] * (self.unit / self.one**2)
        sets: AnyArray = np.zeros((0, MAX_BINS), dtype=np.uint8)
        return Tree(self._tree[:n_nodes].copy(), values, gains, counts.sum(axis=1), sets)


def list_uncommon(bins: AnyArray, blocks: IndexArray) -> Any:
    """The `Lists` of dense columns."""
    common: IndexArray = np.array([np.bincount(column).argmax() for column in bins], dtype=INDEX)
    windows = np.unique(blocks[:, [BLOCK_LOW, BLOCK_WIDTH]], axis=0)
    ptr: IndexArray = np.zeros((len(windows), bins.shape[1] + 1), dtype=INDEX)
    lists: list[AnyArray] = []
    for w, window in enumerate(windows):
        own = np.flatnonzero((blocks[:, [BLOCK_LOW, BLOCK_WIDTH]] == window).all(axis=1))
        place, which = np.nonzero((bins[own] != common[own, None]).T)
        c = own[which]
        cell = blocks[c, BLOCK_BASE] + bins[c, place] * blocks[c, BLOCK_STRIDE] + blocks[c, BLOCK_WIDTH] - 1
        ptr[w, 1:] = np.cumsum(np.bincount(place, minlength=bins.shape[1]))
        ptr[w] += sum(map(len, lists))
        lists.append(cell.astype(np.int32))
    return kernels.vector_growing.Lists(windows, ptr, np.concatenate(lists), common)
