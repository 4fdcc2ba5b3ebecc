"""One regression tree: the room it grows in, and what comes out."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hedgerow import kernels
from hedgerow.legend import INDEX, AnyArray, BoolArray, CodeArray, FloatArray, IndexArray
from hedgerow.trees.binning import BinnedData, Binning

MAX_TRUNKS = 8  # nodes that may be marks on all positions instead of lists of them


class Tree(NamedTuple):
    """Nodes int64[·, 5] (stream, bin, rule, true, false; stream −2 is a leaf) and values float64[·]."""

    nodes: IndexArray
    values: FloatArray


class Leaves(NamedTuple):
    """Where the rows of a tree's leaves are: marked in alive[slot] uint8[·, N], or rows[begin:end], where slot is −1.

    members bool[L, K+1]: the previous labels of each leaf, ⊥ last. values float64[L]. All but the values are buffers.
    """

    alive: AnyArray
    slot: IndexArray
    rows: CodeArray
    begin: IndexArray
    end: IndexArray
    members: BoolArray
    values: FloatArray


class Grower:
    """Grows trees on one corpus. Holds the buffers, so one a thread."""

    def __init__(self, binning: Binning, data: BinnedData, n_labels: int, *, max_leaves: int, shrinkage: float) -> None:
        self.binning = binning
        self.data = data
        self.max_leaves = max_leaves
        self.shrinkage = shrinkage
        n = len(data.place)
        self.bits = int(n * n_labels).bit_length()
        # A position's rows have gradients that sum to at most 2, so 2·N bounds every sum.
        self.one = float(1 << min(30, 61 - self.bits - int(2 * n).bit_length()))
        self.words: IndexArray = np.empty((n, n_labels), dtype=INDEX)
        n_trunks = min(MAX_TRUNKS, n_labels + 2)
        self._alive: AnyArray = np.empty((n_trunks, n), dtype=np.uint8)
        self._trunk: IndexArray = np.empty((n_trunks, n), dtype=INDEX)
        self._rows: CodeArray = np.empty(2 * n, dtype=np.int32)
        self._weight: IndexArray = np.empty(2 * n, dtype=INDEX)
        L = max_leaves
        self._slot, self._begin, self._end, self._total = np.empty((4, L), dtype=INDEX)
        self._gain: FloatArray = np.empty(L)
        self._split = np.empty((L, 3), dtype=INDEX)
        self._member = np.empty((L, n_labels + 1), dtype=bool)
        self._hist = np.empty((L, binning.n_hist), dtype=INDEX)
        self._labels = np.empty((L, n_labels + 1), dtype=INDEX)
        self._node = np.empty(L, dtype=INDEX)
        self._tree = np.empty((2 * L, 5), dtype=INDEX)

    def grow(self) -> tuple[Tree, Leaves]:
        """A tree for the gradients in `words`; a leaf's value is Σ(−g)/(n+λ), equation (3.1) of the thesis."""
        data = self.data
        while True:
            n_leaves = kernels.growing.grow(
                data.bins, data.place, data.flat, data.first, self.words, self.binning.streams,
                data.postings, data.posting_ptr, self.max_leaves, self.bits, self.shrinkage,
                self._trunk, self._alive, self._rows, self._weight, self._slot, self._begin, self._end, self._total,
                self._gain, self._split,
                self._member, self._hist, self._labels, self._node, self._tree,
            )  # fmt: skip
            if n_leaves >= 0:
                return self._result(n_leaves)
            self._rows = np.empty(2 * len(self._rows), dtype=np.int32)
            self._weight = np.empty(len(self._rows), dtype=INDEX)

    def _result(self, n_leaves: int) -> tuple[Tree, Leaves]:
        total = self._total[:n_leaves]
        counts = total & ((1 << self.bits) - 1)
        sums = ((total - counts) >> self.bits) / self.one
        leaf_values = -sums / (counts + self.shrinkage)
        n_nodes = 2 * n_leaves - 1
        values: FloatArray = np.zeros(n_nodes)
        values[self._node[:n_leaves]] = leaf_values
        leaves = Leaves(self._alive, self._slot, self._rows, self._begin, self._end, self._member, leaf_values)
        return Tree(self._tree[:n_nodes].copy(), values), leaves
