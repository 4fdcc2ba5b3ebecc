"""One regression tree: the buffers it grows in, and what comes out."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from hedgerow.errors import InputError
from hedgerow.legend import INDEX, AnyArray, FloatArray, IndexArray
from hedgerow.trees import kernels
from hedgerow.trees.binning import BinnedData
from hedgerow.trees.nodes import BLOCK_BINS, BLOCK_STRIDE, ITEMS, KIND, MAX_BINS, N_BINS

MAX_TRUNKS = 8  # nodes that may be amounts of all places instead of lists of them
MAX_VALUE = 100.0  # of a leaf, in size: only Newton's leaves of next to no curvature reach it
MAX_HISTOGRAMS = 1 << 25  # numbers in the histograms of a grower: 256 MB

# What a missing value is to a tree: one more value, or none (thesis, chapter 4).
LEARNED, WEIGHTING, SURROGATE = "learned", "weighting", "surrogate"
WORD_BITS = 61  # of a sum of gradients and one of weights, together
WHOLE = 1024  # parts of a row: its shares in the two sides of a split are rounded to one of them
FEW = 8  # parts: a side that would get fewer gets none
N_SURROGATES = 5  # of a split: seldom are so many columns missing at once


class Tree(NamedTuple):
    """A tree as arrays by node; the root is the first.

    nodes int64[·, 5] (fields: see `trees.nodes`); values float64[·], 0 at splits; gains float64[·] of the splits;
    counts float64[·], the rows in each node; sets uint8[·, ·] of the rule SUBSET, by the `bin` of its nodes. A tree for
    all labels has values float64[·, K], and counts that are sums over labels.

    Trees that take a missing value for a value have no more. Where it is none, shares float64[·] of the splits say how
    much of a row without a value goes to the true side; surrogates int64[·, 2] (node, stream; by node, the best first)
    and surrogate_sets uint8[·, 32] (a bit for each bin that goes to the true side) what is asked before that. As a
    surrogate, LABEL is [previous label = ⊥], with bit 1 for ⊥ and bit 0 for all else.
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
        return self if factor == 1.0 else self._replace(values=factor * self.values)

    def rescaled(self, unit: float, weight: float) -> Tree:
        """The same tree where gradients had been divided by `unit`, and weights by `weight`, before it was grown."""
        if unit == weight == 1.0:
            return self
        gains, counts = weight * (unit**2 * self.gains), weight * self.counts
        return self._replace(values=unit * self.values, gains=gains, counts=counts)


class Leaves(NamedTuple):
    """leaf_of uint16[P, K]: the leaf of the row (place, previous label), ⊥ in column 0 of a first place; values[L].

    `leaf_of` is a buffer of the grower. A row that had no word has some leaf, or one more than there can be. Of a tree
    for all labels leaf_of is uint16[P], and values are float64[L, K].
    """

    leaf_of: AnyArray
    values: FloatArray


def word_format(count: float, weight: float) -> tuple[int, float]:
    """The bits of a word that weights take, and what a gradient of 1 becomes. count, weight : the most that all rows
    count, and Σ over positions of the weight of their rows"""
    bits = int(np.ceil(count) + 1).bit_length()
    # A position's rows have gradients that sum to at most 2, so twice the weight bounds every sum.
    left = WORD_BITS - bits - int(np.ceil(2 * weight)).bit_length()
    if left < 1:
        hint = "Train on a part of the sequences, or with smaller weights."
        raise InputError(f"rows that weigh {weight:,.0f} in all are more than trees can add up", hint=hint)
    return bits, float(1 << min(30, left))


class Grower:
    """Grows trees on one corpus. Holds the buffers, so one per thread.

    Parameters
    ----------
    n_labels : previous labels, or 1 where there are none and every place is first
    max_leaf_nodes, l2_regularization, min_samples_leaf : of a tree; λ and the least rows of a leaf
    max_features : the share of streams (and of sparse items) that a node may split on, drawn by `grow`'s seed
    subsets : whether codes and previous labels are split into two sets, rather than one against the rest
    total_weight : Σ over positions of the weight of their rows, where it is not 1
    unit : what a row of weight 1 counts in a word; 1 where all weights are whole numbers
    total_count : the most that all rows count, where that is less than total_weight · n_labels · unit
    questions : uint8[M, n_labels+1], where previous labels are histories: those that each question about one holds for
    missing : "learned": no value is one more value; "weighting": a row without a value goes to both sides of a split,
        in the shares of those that have one; "surrogate": other columns, of at most 256 bins, tell its side
    n_surrogates : the most of them that a split keeps; None for all that tell it better than the larger side does

    By weighting, shares are rounded to parts of a row while a tree grows, so that its sums are exact and the tree is
    the same in any order of work. What it predicts is not rounded: the mean of all leaves that a row comes to, by its
    shares.
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
        subsets: bool = False,
        total_weight: float | None = None,
        unit: int = 1,
        total_count: float | None = None,
        questions: AnyArray | None = None,
        missing: str = LEARNED,
        n_surrogates: int | None = N_SURROGATES,
    ) -> None:
        if missing not in (LEARNED, WEIGHTING, SURROGATE):
            raise InputError(f"missing={missing!r}", hint="Trees know 'learned', 'weighting' and 'surrogate'.")
        self.data = data
        self.unit = unit
        self.l2_regularization = l2_regularization
        self.max_leaf_nodes = max_leaf_nodes
        self.missing = missing
        weight = float(len(data.place)) if total_weight is None else max(total_weight, 1.0)
        count = weight * n_labels * unit if total_count is None else total_count
        self.bits, self.one = word_format(count, weight)
        size = data.growing.bins.shape[1]
        self.words: IndexArray = np.zeros((size, n_labels), dtype=INDEX)
        self._leaf_of: AnyArray = np.zeros((size, n_labels), dtype=np.uint16)
        self._whole = WHOLE if missing == WEIGHTING else 1
        self._rules = kernels.state.Rules(
            max_leaf_nodes=max_leaf_nodes,
            bits=self.bits,
            l2_regularization=float(l2_regularization * unit) * self._whole,
            least=max(1, int(np.ceil(min_samples_leaf * unit))) * self._whole,
            share=float(max_features),
            seed=0,
            whole=self._whole,
            few=FEW if missing == WEIGHTING else 1,
            subsets=bool(subsets),
        )
        self._buffers = self._make_buffers(n_labels, questions)
        self._sparse = self._make_sparse()
        self._gaps, self._surrogates = self._make_gaps(n_surrogates)
        self._tree: IndexArray = np.empty((2 * max_leaf_nodes, 5), dtype=INDEX)
        self._pairs: IndexArray = np.empty((2 * max_leaf_nodes, 2), dtype=INDEX)
        self._gains: FloatArray = np.empty(2 * max_leaf_nodes)
        self._sets: AnyArray = np.zeros((max_leaf_nodes, max(MAX_BINS, n_labels + 1)), dtype=np.uint8)

    @property
    def _form(self) -> tuple[int, ...]:
        """The shape of one sum: a word, or a pair."""
        return () if self.missing == LEARNED else (2,)

    def _make_buffers(self, n_labels: int, questions: AnyArray | None) -> Any:
        L, n, form, plain = self.max_leaf_nodes, len(self.data.places), self._form, self.missing == LEARNED
        n_cells, widest = self._n_cells, max(MAX_BINS, n_labels + 1) + 1
        n_histograms = min(L, max(3, MAX_HISTOGRAMS // max(1, n_cells * (1 if plain else 2))))
        n_arena = (8 if self.missing == WEIGHTING else 3) * n + 1  # by weighting a row is in many leaves at once
        amounts = INDEX if plain else np.int32
        # Splits of numbers turn trunks into runs: those of label splits would stand beside the runs for nothing.
        posted = len(self.data.growing.postings) > 0 or self.data.growing.n_sparse > 0
        n_trunks = min(MAX_TRUNKS, n_labels + 2) if posted else 1
        return kernels.state.Buffers(
            trunk=np.zeros((n_trunks, self.data.growing.bins.shape[1]), dtype=amounts),
            rows=np.empty(n_arena, dtype=np.int32),
            amount=np.empty(n_arena, dtype=amounts),
            state=np.empty(n + 1, dtype=np.uint8),
            side=np.empty(MAX_BINS, dtype=np.uint8),
            moved=np.zeros(3 if plain else (3, self._whole + 1), dtype=amounts),
            hist=np.empty((n_histograms, n_cells, *form), dtype=INDEX),
            ratio=np.empty(widest),
            order=np.empty(widest, dtype=INDEX),
            below=np.empty((MAX_BINS, *form), dtype=INDEX),
            questions=np.zeros((0, n_labels + 1), dtype=np.uint8) if questions is None else questions,
            leaf=np.zeros((9, L), dtype=INDEX),
            gain=np.empty(L),
            split=np.empty((L, 5), dtype=INDEX),
            member=np.empty((L, n_labels + 1), dtype=np.uint8),
            labels=np.empty((L, n_labels + 1, *form), dtype=INDEX),
        )

    @property
    def _n_cells(self) -> int:
        """The cells of a dense histogram."""
        blocks = self.data.growing.blocks
        return int((blocks[:, BLOCK_BINS] * blocks[:, BLOCK_STRIDE]).sum())

    def _make_sparse(self) -> Any:
        """Buffers for the histograms of sparse items, () where there are none."""
        columns, form = self.data.growing, self._form
        if not columns.n_sparse:
            return ()
        n_items = int(columns.streams[N_BINS, columns.streams[KIND] == ITEMS].sum())
        n_ids = min(n_items, len(columns.items)) * 2
        return kernels.state.Sparse(
            scratch=np.zeros((n_items, *form), dtype=INDEX),
            touched=np.empty(n_items, dtype=np.int32),
            ids=np.empty(n_ids, dtype=np.int32),
            sums=np.empty((n_ids, *form), dtype=INDEX),
        )

    def _make_gaps(self, n_surrogates: int | None) -> tuple[Any, Any]:
        """Buffers for trees in which a missing value is none, and those for surrogates; () where there are none."""
        n, L, n_streams = len(self.data.places), self.max_leaf_nodes, self.data.growing.streams.shape[1]
        most = n_streams + 1 if n_surrogates is None else min(n_surrogates, n_streams + 1)  # ⊥ is one, too
        if self.missing == LEARNED:
            return (), ()
        gaps = kernels.state.Gaps(
            pair=np.empty((n + 1, 2), dtype=INDEX),
            known=np.empty((n_streams, 2), dtype=INDEX),
            lift=np.empty(n_streams),
            shares=np.empty(2 * L),
        )
        if self.missing == WEIGHTING:
            return gaps, ()
        surrogates = kernels.state.Surrogates(
            votes=np.empty((self._n_cells, 2), dtype=INDEX),
            voters=np.empty(n + 1, dtype=np.int32),
            rating=np.empty(most + 1),
            stream=np.empty(most + 1, dtype=INDEX),
            ways=np.empty((most + 1, 32), dtype=np.uint8),
            kept=np.empty((L * most, 2), dtype=INDEX),
            kept_ways=np.empty((L * most, 32), dtype=np.uint8),
        )
        return gaps, surrogates

    def grow(self, seed: int = 0) -> tuple[Tree, Leaves | None]:
        """A tree for the gradients in `words`; a leaf's value is Σ(−g)/(n+λ), equation (3.1) of the thesis.

        By weighting a row has no one leaf: what a tree adds to it, `ensemble.add_trees` finds.
        """
        data, rules = self.data, self._rules._replace(seed=seed & 0x7FFFFFFF)
        words = kernels.state.PlaceWords(data.places, data.window_first, self.words)
        while True:
            n_leaves, n_sets, n_surrogates = kernels.growing.grow(
                data.growing, words, rules, self._buffers, self._sparse, self._gaps, self._surrogates, self._tree,
                self._pairs, self._gains, self._sets,
            )  # fmt: skip
            if n_leaves >= 0:
                break
            if n_leaves == kernels.growing.SMALL_ARENA:
                self._buffers = _enlarged(self._buffers, "rows", "amount")
            else:
                self._sparse = _enlarged(self._sparse, "ids", "sums")
        buffers = self._buffers
        leaves: IndexArray = buffers.leaf[kernels.state.NODE, :n_leaves]
        if self.missing == WEIGHTING:
            return self._make_tree(leaves, n_sets, n_surrogates), None
        held = buffers.rows, buffers.leaf, buffers.member, buffers.order
        kernels.growing.assign_leaves(data.places, data.window_first, *held, n_leaves, self._leaf_of)
        tree = self._make_tree(leaves, n_sets, n_surrogates)
        return tree, Leaves(self._leaf_of, tree.values[leaves])

    def row_values(self, leaves: Leaves, factor: float) -> FloatArray:
        """(N,): what a tree, times a factor, gives to each row, where no row has a label before it."""
        values: FloatArray = np.zeros(self.max_leaf_nodes + 1)  # a row that counts nothing may have any leaf
        values[: len(leaves.values)] = factor * leaves.values
        given: FloatArray = values[leaves.leaf_of[self.data.window_place, 0]]
        return given

    def _make_tree(self, leaves: IndexArray, n_sets: int, n_surrogates: int) -> Tree:
        """The tree in the buffers. leaves: the nodes that are leaves."""
        n_nodes = 2 * len(leaves) - 1
        pairs = self._pairs[:n_nodes] / self._whole
        counts: FloatArray = pairs[:, 1] / self.unit
        sums = pairs[:, 0] / self.one
        values: FloatArray = np.zeros(n_nodes)
        divisor = counts[leaves] + self.l2_regularization
        divisor[divisor == 0.0] = 1.0  # no rows, and no gradient
        values[leaves] = np.minimum(np.maximum(-sums[leaves] / divisor, -MAX_VALUE), MAX_VALUE)
        gains = self._gains[:n_nodes] * (self.unit / self._whole / self.one**2)
        tree = Tree(self._tree[:n_nodes].copy(), values, gains, counts, self._sets[:n_sets].copy())
        if not self._gaps:
            return tree
        shares, none = self._gaps.shares[:n_nodes].copy(), np.empty((0, 2), dtype=INDEX)
        if not self._surrogates:
            return tree._replace(shares=shares, surrogates=none, surrogate_sets=np.empty((0, 32), dtype=np.uint8))
        kept, ways = self._surrogates.kept[:n_surrogates], self._surrogates.kept_ways
        order = np.argsort(kept[:, 0], kind="stable")
        return tree._replace(shares=shares, surrogates=kept[order], surrogate_sets=ways[order])


def _enlarged(buffers: Any, *names: str) -> Any:
    """The same buffers, some of them twice as long, and empty."""
    old = {name: getattr(buffers, name) for name in names}
    larger = {name: np.empty((2 * len(array), *array.shape[1:]), array.dtype) for name, array in old.items()}
    return buffers._replace(**larger)
