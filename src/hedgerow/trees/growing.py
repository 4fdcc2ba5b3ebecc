"""One regression tree: the room it grows in, and what comes out."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from hedgerow.legend import INDEX, AnyArray, BoolArray, FloatArray, IndexArray
from hedgerow.trees import kernels
from hedgerow.trees.binning import BinnedData, Binning

MAX_TRUNKS = 8  # nodes that may be words on all places instead of lists of them
MAX_VALUE = 100.0  # of a leaf, in size: only Newton's leaves of next to no curvature reach it
MAX_HISTOGRAMS = 1 << 25  # cells of the histograms of a grower: 256 MB


class Tree(NamedTuple):
    """A tree as arrays by node; the root is the first.

    nodes int64[·, 5]: stream, bin, rule, true, false (stream −1 is the previous label, −2 a leaf); values float64[·], 0
    at splits; gains float64[·] of the splits; counts float64[·], the rows in each node; sets uint8[·, ·] of the rule
    SUBSET, by the `bin` of its nodes.

    Trees that take a missing value for a value have no more. Where it is none (`trees/missing.py`), shares float64[·]
    of the splits say how much of a row without a value goes to the true side; surrogates int64[·, 2] (node, stream; by
    node, the best first) and surrogate_sets uint8[·, 32] (a bit for each bin that goes to the true side) what is asked
    before that. Stream −1 is [previous label = ⊥], with bit 1 for ⊥ and bit 0 for all else.
    """

    nodes: IndexArray
    values: FloatArray
    gains: FloatArray
    counts: FloatArray
    sets: AnyArray
    shares: FloatArray | None = None
    surrogates: IndexArray | None = None
    surrogate_sets: AnyArray | None = None

    def scaled(self, factor: float) -> Tree:
        """The same splits with values times a factor."""
        return self._replace(values=factor * self.values)


class Leaves(NamedTuple):
    """leaf_of uint16[P, K]: the leaf of the row (place, previous label), ⊥ in column 0 of a first place; values[L].

    `leaf_of` is a buffer of the grower. A row that had no word has some leaf, or one more than there can be.
    """

    leaf_of: AnyArray
    values: FloatArray


class Grower:
    """Grows trees on one corpus. Holds the buffers, so one a thread.

    Parameters
    ----------
    n_labels : previous labels, or 1 where there are none and every place is first
    max_leaf_nodes, l2_regularization, min_samples_leaf : of a tree; λ and the least rows of a leaf
    max_features : the share of streams (and of sparse items) that a node may split on, drawn by `grow`'s seed
    subsets : whether codes and previous labels are split into two sets, rather than one against the rest
    total_weight : Σ over positions of the weight of their rows, where it is not 1
    unit : what a row of weight 1 counts in a word; 1 where all weights are whole numbers
    total_count : the most that all rows count, where that is less than total_weight · n_labels · unit
    asks : uint8[M, n_labels+1], where previous labels are histories: those that each question a tree may ask holds for
    """

    def __init__(
        self,
        binning: Binning,
        data: BinnedData,
        n_labels: int,
        *,
        max_leaf_nodes: int,
        l2_regularization: float,
        min_samples_leaf: float = 1.0,
        max_features: float = 1.0,
        subsets: bool = False,
        total_weight: float | None = None,
        unit: int = 1,
        total_count: float | None = None,
        first: AnyArray | None = None,
        asks: AnyArray | None = None,
    ) -> None:
        self.binning = binning
        self.data = data
        self.unit = unit
        self.l2_regularization = l2_regularization
        self.max_leaf_nodes = max_leaf_nodes
        weight = float(len(data.place)) if total_weight is None else max(total_weight, 1.0)
        count = weight * n_labels * unit if total_count is None else total_count
        self.bits = int(np.ceil(count) + 1).bit_length()
        # A position's rows have gradients that sum to at most 2, so twice the weight bounds every sum.
        self.one = float(1 << max(4, min(30, 61 - self.bits - int(np.ceil(2 * weight)).bit_length())))
        size = data.growing.bins.shape[1]
        self.words: IndexArray = np.zeros((size, n_labels), dtype=INDEX)
        self.first: AnyArray = data.home_first if first is None else first
        self._leaf_of: AnyArray = np.zeros((size, n_labels), dtype=np.uint16)
        least = max(1, int(np.ceil(min_samples_leaf * unit)))
        self._rules = kernels.growing.Rules(
            max_leaf_nodes, self.bits, float(l2_regularization * unit), least, float(max_features), 0, bool(subsets)
        )
        self._asks: AnyArray = np.zeros((0, n_labels + 1), dtype=np.uint8) if asks is None else asks
        self._room = self._make_room(n_labels)
        self._tree: IndexArray = np.empty((2 * max_leaf_nodes, 5), dtype=INDEX)
        self._totals: IndexArray = np.empty(2 * max_leaf_nodes, dtype=INDEX)
        self._gains: FloatArray = np.empty(2 * max_leaf_nodes)
        self._sets: AnyArray = np.zeros((max_leaf_nodes, max(256, n_labels + 1)), dtype=np.uint8)

    def _make_room(self, n_labels: int) -> Any:
        data, binning, L = self.data, self.binning, self.max_leaf_nodes
        size, n = data.growing.bins.shape[1], len(data.places)
        n_trunks = min(MAX_TRUNKS, n_labels + 2)
        n_hist = binning.n_hist
        n_homes = min(L, max(3, MAX_HISTOGRAMS // max(1, n_hist)))
        n_sparse, n_ids = binning.n_sparse_bins, min(binning.n_sparse_bins, len(data.items)) * 2
        widest = max(257, n_labels + 2)
        return kernels.growing.Room(
            trunk=np.zeros((n_trunks, size), dtype=INDEX),
            rows=np.empty(3 * n + 1, dtype=np.int32),
            weight=np.empty(3 * n + 1, dtype=INDEX),
            hist=np.empty((n_homes, n_hist), dtype=INDEX),
            scratch=np.zeros(n_sparse, dtype=INDEX),
            touched=np.empty(n_sparse, dtype=np.int32),
            ids=np.empty(n_ids, dtype=np.int32),
            sums=np.empty(n_ids, dtype=INDEX),
            ratio=np.empty(widest),
            order=np.empty(widest, dtype=INDEX),
            every=np.ones(widest, dtype=np.uint8),
            asks=self._asks,
            true=np.empty(n + 1, dtype=np.uint8),
            own=np.empty(n + 1, dtype=INDEX),
            leaf=np.zeros((8, L), dtype=INDEX),
            gain=np.empty(L),
            split=np.empty((L, 4), dtype=INDEX),
            member=np.empty((L, n_labels + 1), dtype=np.uint8),
            labels=np.empty((L, n_labels + 1), dtype=INDEX),
        )

    def grow(self, seed: int = 0) -> tuple[Tree, Leaves]:
        """A tree for the gradients in `words`; a leaf's value is Σ(−g)/(n+λ), equation (3.1) of the thesis."""
        rules = self._rules._replace(seed=seed & 0x7FFFFFFF)
        rows = kernels.growing.Rows(self.data.places, self.first, self.words)
        while True:
            n_leaves, n_sets = kernels.growing.grow(
                self.data.growing, rows, rules, self._room, self._tree, self._totals, self._gains, self._sets
            )
            if n_leaves >= 0:
                break
            self._enlarge(("rows", "weight") if n_leaves == -1 else ("ids", "sums"))
        self._leaf_of.fill(self.max_leaf_nodes)  # rows without a word may have no leaf
        kernels.growing.assign_leaves(rows, self._room, n_leaves, self._leaf_of)
        total = self._totals[: 2 * n_leaves - 1]
        leaves: IndexArray = self._room.leaf[kernels.growing.NODE, :n_leaves]
        tree = self._make_tree(total >> self.bits, total & ((1 << self.bits) - 1), leaves, n_sets)
        return tree, Leaves(self._leaf_of, tree.values[leaves])

    def _enlarge(self, names: tuple[str, ...]) -> None:
        old = {name: getattr(self._room, name) for name in names}
        larger = {name: np.empty((2 * len(array), *array.shape[1:]), array.dtype) for name, array in old.items()}
        self._room = self._room._replace(**larger)

    def _make_tree(self, gradients: AnyArray, weights: AnyArray, leaves: IndexArray, n_sets: int) -> Tree:
        """The tree in the buffers. gradients, weights: sums by node, in the units of a word; leaves: nodes that are."""
        n_nodes = len(weights)
        counts: FloatArray = weights / self.unit
        sums = gradients / self.one
        leaf: BoolArray = np.zeros(n_nodes, dtype=bool)
        leaf[leaves] = True
        values: FloatArray = np.zeros(n_nodes)
        divisor = counts[leaf] + self.l2_regularization
        divisor[divisor == 0.0] = 1.0  # no rows, and no gradient
        values[leaf] = np.clip(-sums[leaf] / divisor, -MAX_VALUE, MAX_VALUE)
        gains = self._gains[:n_nodes] * (self.unit / self.one**2)
        return Tree(self._tree[:n_nodes].copy(), values, gains, counts, self._sets[:n_sets].copy())
