"""Growing trees in which a missing value is none: instance weighting and surrogate splits (thesis, chapter 4)."""

from __future__ import annotations

from typing import Any

import numpy as np

from hedgerow.errors import InputError
from hedgerow.legend import INDEX, AnyArray, FloatArray, IndexArray
from hedgerow.trees import growing, kernels
from hedgerow.trees.binning import BinnedData, Binning
from hedgerow.trees.growing import Grower, Leaves, Tree

WEIGHTING, SURROGATE, LEARNED = "weighting", "surrogate", "learned"
WHOLE = 1024  # parts of a row: its shares in the two sides of a split are rounded to one of them
FEW = 8  # parts: a side that would get fewer gets none
MAX_SURROGATES = 5  # of a split: seldom are so many columns missing at once


class MissingGrower(Grower):
    """As Grower, where a missing value is none. Trees have shares, and surrogates.

    Parameters
    ----------
    missing : "weighting": a row without a value goes to both sides of a split, in the shares of those that have one; or
        "surrogate": other columns, of at most 256 bins, tell its side

    By weighting, shares are rounded to parts of a row while a tree grows, so that its sums are exact and the tree is
    the same in any order of work. What it predicts is not rounded: the mean of all leaves that a row comes to, by its
    shares.
    """

    def __init__(self, binning: Binning, data: BinnedData, n_labels: int, *, missing: str, **options: Any) -> None:
        if options.get("asks") is not None:
            raise InputError(
                f"⟦missing={missing!r}⟧ is not available for histories", hint="Use ⟦order⟧ 1, or 'learned'."
            )
        self.weighting = missing == WEIGHTING
        self._whole = WHOLE if self.weighting else 1
        self._n_surrogates = 0 if self.weighting else MAX_SURROGATES
        super().__init__(binning, data, n_labels, **options)
        L = self.max_leaf_nodes
        self._pairs: IndexArray = np.empty((2 * L, 2), dtype=INDEX)
        self._shares: FloatArray = np.empty(2 * L)
        self._surrogates: IndexArray = np.empty((L * self._n_surrogates, 2), dtype=INDEX)
        self._ways: AnyArray = np.empty((L * self._n_surrogates, 32), dtype=np.uint8)

    def _make_room(self, n_labels: int) -> Any:
        data, binning, L, Q = self.data, self.binning, self.max_leaf_nodes, self._n_surrogates
        n, n_hist, n_streams = len(data.places), binning.n_hist, binning.streams.shape[1]
        n_trunks = min(growing.MAX_TRUNKS, n_labels + 2)
        n_homes = min(L, max(3, growing.MAX_HISTOGRAMS // max(1, 2 * n_hist)))
        n_sparse, n_ids = binning.n_sparse_bins, min(binning.n_sparse_bins, len(data.items)) * 2
        n_arena = (8 if self.weighting else 3) * n + 1  # a row is in many leaves at once
        widest = max(257, n_labels + 2)
        return kernels.missing.Room(
            trunk=np.zeros((n_trunks, data.growing.bins.shape[1]), dtype=np.int32),
            rows=np.empty(n_arena, dtype=np.int32),
            parts=np.empty(n_arena, dtype=np.int32),
            state=np.empty(n + 1, dtype=np.uint8),
            some=np.empty(n + 1, dtype=np.int32),
            pair=np.empty((n + 1, 2), dtype=INDEX),
            moved=np.empty((3, self._whole + 1), dtype=np.int32),
            hist=np.empty((n_homes, n_hist, 2), dtype=INDEX),
            votes=np.empty((n_hist if Q else 0, 2), dtype=INDEX),
            scratch=np.zeros((n_sparse, 2), dtype=INDEX),
            touched=np.empty(n_sparse, dtype=np.int32),
            ids=np.empty(n_ids, dtype=np.int32),
            sums=np.empty((n_ids, 2), dtype=INDEX),
            known=np.empty((n_streams, 2), dtype=INDEX),
            lift=np.empty(n_streams),
            ratio=np.empty(widest),
            order=np.empty(widest, dtype=INDEX),
            side=np.empty(256, dtype=np.uint8),
            rating=np.empty(Q + 1),
            found=np.empty(Q + 1, dtype=INDEX),
            ways=np.empty((Q + 1, 32), dtype=np.uint8),
            leaf=np.zeros((9, L), dtype=INDEX),
            gain=np.empty(L),
            split=np.empty((L, 5), dtype=INDEX),
            member=np.empty((L, n_labels + 1), dtype=np.uint8),
            labels=np.empty((L, n_labels + 1, 2), dtype=INDEX),
        )

    def grow(self, seed: int = 0) -> tuple[Tree, Leaves | None]:  # type: ignore[override]
        """As Grower.grow. By weighting a row has no one leaf: what a tree adds to it, `ensemble.add_trees` finds."""
        own, whole = self._rules, self._whole
        rules = kernels.missing.Rules(
            own.max_leaf_nodes, own.bits, own.l2_regularization * whole, own.least * whole, own.share,
            seed & 0x7FFFFFFF, own.subsets, whole, FEW if self.weighting else 1, self._n_surrogates,
        )  # fmt: skip
        rows = kernels.growing.Rows(self.data.places, self.first, self.words)
        while True:
            n_leaves, n_sets, n_surrogates = kernels.missing.grow(
                self.data.growing, rows, rules, self._room, self._tree, self._pairs, self._gains, self._shares,
                self._sets, self._surrogates, self._ways,
            )  # fmt: skip
            if n_leaves >= 0:
                break
            self._enlarge(("rows", "parts") if n_leaves == -1 else ("ids", "sums"))
        leaves: IndexArray = self._room.leaf[kernels.missing.NODE, :n_leaves]
        n_nodes = 2 * n_leaves - 1
        pairs = self._pairs[:n_nodes] / whole
        order = np.argsort(self._surrogates[:n_surrogates, 0], kind="stable")
        tree = self._make_tree(pairs[:, 0], pairs[:, 1], leaves, n_sets)._replace(
            gains=self._gains[:n_nodes] * (self.unit / whole / self.one**2),
            shares=self._shares[:n_nodes].copy(),
            surrogates=self._surrogates[order],
            surrogate_sets=self._ways[order],
        )
        if self.weighting:
            return tree, None
        self._leaf_of.fill(self.max_leaf_nodes)
        kernels.missing.assign_leaves(rows, self._room, n_leaves, self._leaf_of)
        return tree, Leaves(self._leaf_of, tree.values[leaves])


def make_grower(
    binning: Binning, data: BinnedData, n_labels: int, *, missing: str = LEARNED, **options: Any
) -> Grower | MissingGrower:
    """A grower of trees that take a missing value for a value ("learned"), or not ("weighting", "surrogate")."""
    if missing == LEARNED:
        return Grower(binning, data, n_labels, **options)
    if missing not in (WEIGHTING, SURROGATE):
        raise InputError(f"missing={missing!r}", hint="Trees know 'learned', 'weighting' and 'surrogate'.")
    return MissingGrower(binning, data, n_labels, missing=missing, **options)
