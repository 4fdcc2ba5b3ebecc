"""One regression tree for all labels: the buffers it grows in, and what comes out."""

from __future__ import annotations

from typing import Any

import numpy as np

from hedgerow.legend import INDEX, AnyArray, FloatArray, IndexArray
from hedgerow.trees import kernels
from hedgerow.trees.binning import BinnedData
from hedgerow.trees.growing import MAX_HISTOGRAMS, MAX_VALUE, Tree, word_format
from hedgerow.trees.nodes import BLOCK_BASE, BLOCK_BINS, BLOCK_LOW, BLOCK_STRIDE, BLOCK_WIDTH, MAX_BINS


class VectorGrower:
    """Grows trees with a value for each label, on dense columns, codes split one against the rest.

    words : int64[P, ·], of each place and label; parameters are those of `Grower`
    """

    def __init__(
        self,
        data: BinnedData,
        n_labels: int,
        *,
        max_leaf_nodes: int,
        l2_regularization: float,
        min_samples_leaf: float = 1.0,
        max_features: float = 1.0,
        total_weight: float,
        total_count: float,
        unit: int,
    ) -> None:
        self.data = data
        self.n_labels = n_labels
        self.unit = unit
        self.l2_regularization = l2_regularization
        self.bits, self.one = word_format(total_count, total_weight)
        self._rules = kernels.state.Rules(
            max_leaf_nodes=max_leaf_nodes,
            bits=self.bits,
            l2_regularization=float(l2_regularization * unit),
            least=max(1, int(np.ceil(min_samples_leaf * unit))),
            share=float(max_features),
            seed=0,
            whole=1,
            few=1,
            subsets=False,
        )
        columns, L, n, K = data.growing, max_leaf_nodes, len(data.places), -(-n_labels // 4) * 4
        size, blocks = columns.bins.shape[1], columns.blocks
        self.words: IndexArray = np.zeros((size, K), dtype=INDEX)
        self._lists = list_uncommon(columns.bins, blocks)
        n_cells = int((blocks[:, BLOCK_BINS] * blocks[:, BLOCK_STRIDE]).sum())
        n_histograms = min(L, max(3, MAX_HISTOGRAMS // (n_cells * K)))
        self._buffers = kernels.vector_growing.Buffers(
            rows=np.empty(n, dtype=np.int32),
            spare=np.empty(n + 1, dtype=np.int32),
            side=np.empty(MAX_BINS, dtype=np.uint8),
            hist=np.empty((n_histograms, n_cells, K), dtype=INDEX),
            below=np.empty((2, K), dtype=INDEX),
            known=np.empty((3, K)),
            leaf=np.zeros((9, L), dtype=INDEX),
            gain=np.empty(L),
            split=np.empty((L, 3), dtype=INDEX),
            total=np.empty((L, K), dtype=INDEX),
        )
        self._tree: IndexArray = np.empty((2 * L, 5), dtype=INDEX)
        self._sums: IndexArray = np.empty((2 * L, K), dtype=INDEX)
        self._gains: FloatArray = np.empty(2 * L)
        self._leaf_of: AnyArray = np.zeros(size, dtype=np.uint16)

    def grow(self, seed: int = 0) -> tuple[Tree, AnyArray, FloatArray]:
        """A tree for the gradients in `words`, whose leaves are Σ(−g)/(n+λ) of each label; the leaf of every position
        (N,), and the values of leaves (K, L)."""
        data, rules = self.data, self._rules._replace(seed=seed & 0x7FFFFFFF)
        out = self._tree, self._sums, self._gains, self._leaf_of
        n_leaves = kernels.vector_growing.grow(
            data.growing, self._lists, data.places, self.words, rules, self._buffers, *out
        )
        n_nodes, leaves = 2 * n_leaves - 1, self._buffers.leaf[kernels.state.NODE, :n_leaves]
        sums = self._sums[:n_nodes, : self.n_labels]
        counts = (sums & ((1 << self.bits) - 1)) / self.unit
        values: FloatArray = np.zeros(sums.shape)
        of_leaves = -((sums[leaves] >> self.bits) / self.one) / (counts[leaves] + self.l2_regularization)
        values[leaves] = np.clip(of_leaves, -MAX_VALUE, MAX_VALUE)
        gains = self._gains[:n_nodes] * (self.unit / self.one**2)
        sets: AnyArray = np.zeros((0, MAX_BINS), dtype=np.uint8)
        tree = Tree(self._tree[:n_nodes].copy(), values, gains, counts.sum(axis=1), sets)
        return tree, self._leaf_of[data.window_place], np.ascontiguousarray(values[leaves].T)


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
