"""One regression tree that several processes grow together: members have the rows, and one leads.

The lead asks for cuts of leaves, adds up what the members counted, and finds the next splits, to the same tree that
`Grower` grows of all rows. It asks for several cuts at a time: of the leaf with the largest gain, which is split next,
and of others that are likely to follow. What is cut and not split in the end has one value on both sides.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from hedgerow.legend import INDEX, AnyArray, CodeArray, FloatArray, IndexArray
from hedgerow.trees import kernels
from hedgerow.trees.growing import Grower, Leaves, Tree
from hedgerow.trees.nodes import BLOCK_BASE, BLOCK_BINS, BLOCK_STRIDE, BLOCK_WIDTH, LEAF, RULE, STREAM, SUBSET

LIKELY = 0.3  # of the largest gain: a leaf with as much is cut before its turn comes
SPARE = 2  # times the leaves of a tree are the most that members have


class Cut(NamedTuple):
    """What to cut: leaf `new` out of leaf `old`, by their numbers among members. split int64[5], chosen uint8[·]: its
    set; counted: whether a histogram is wanted."""

    old: int
    new: int
    split: IndexArray
    chosen: AnyArray
    counted: bool


class Counted(NamedTuple):
    """The sums of a leaf: labels int64[K+1]; hist int64[·], those of its cells that are in use; and ids int32[m], sums
    int64[m] of its sparse items."""

    labels: IndexArray
    hist: IndexArray | None
    ids: CodeArray
    sums: IndexArray


def add_counted(parts: Sequence[Counted]) -> Counted:
    """The sums of a leaf over all members: whole numbers, in any order."""
    labels, hist = parts[0].labels.copy(), None if parts[0].hist is None else parts[0].hist.copy()
    for part in parts[1:]:
        labels += part.labels
        if hist is not None and part.hist is not None:
            hist += part.hist
    ids, which = np.unique(np.concatenate([part.ids for part in parts]), return_inverse=True)
    sums: IndexArray = np.zeros(len(ids), dtype=INDEX)
    np.add.at(sums, which, np.concatenate([part.sums for part in parts]))
    return Counted(labels, hist, ids.astype(np.int32), sums)


def used_cells(blocks: IndexArray) -> IndexArray:
    """The cells of a histogram that are in use: strides are rounded up (see `Binning.blocks`)."""
    cells = [
        block[BLOCK_BASE]
        + (np.arange(block[BLOCK_BINS])[:, None] * block[BLOCK_STRIDE] + np.arange(block[BLOCK_WIDTH]))
        for block in blocks
    ]
    return np.concatenate([np.empty(0, dtype=INDEX), *(cell.ravel() for cell in cells)])


class MemberGrower(Grower):
    """Plants and cuts trees on its own rows, as the lead says."""

    def plant(self) -> Counted:
        """The root, for the gradients in `words`."""
        hist: IndexArray = np.empty(self._n_cells, dtype=INDEX)
        self._n_trunks = 1
        self._tail, m = kernels.shared_growing.plant_rows(
            self.data.growing, self._place_words(), self._buffers, self._sparse, (), self._tree, hist
        )
        return self._counted(0, hist, m)

    def cut(self, cut: Cut, n_rows: int) -> Counted:
        """Cut a leaf. n_rows : positions of all members"""
        hist: IndexArray = np.empty(self._n_cells if cut.counted else 0, dtype=INDEX)
        while True:
            tail, self._n_trunks, m = kernels.shared_growing.cut_rows(
                self.data.growing, self._place_words(), self._rules, self._buffers, self._sparse, (), (), cut.split,
                cut.chosen, cut.old, cut.new, n_rows, self._n_trunks, self._tail, cut.counted, hist,
            )  # fmt: skip
            if tail >= 0:
                break
            larger = {name: np.resize(getattr(self._buffers, name), 2 * len(self._buffers.rows)) for name in _ARENA}
            self._buffers = self._buffers._replace(**larger)
        self._tail = tail
        return self._counted(cut.new, hist if cut.counted else None, m)

    def leaves(self, values: FloatArray) -> Leaves:
        """Where the rows are. values : of the leaves, by their numbers among members"""
        self._leaf_of.fill(self.max_leaf_nodes)
        buffers = self._buffers
        held = buffers.rows, buffers.leaf, buffers.member, buffers.order
        kernels.growing.assign_leaves(self.data.places, self.data.window_first, *held, len(values), self._leaf_of)
        return Leaves(self._leaf_of, values)

    def _place_words(self) -> Any:
        return kernels.state.PlaceWords(self.data.places, self.data.window_first, self.words)

    def _counted(self, leaf: int, hist: IndexArray | None, n_items: int) -> Counted:
        """What was counted of a leaf; the scratch of items is empty again."""
        ids: CodeArray = self._sparse.touched[:n_items].copy() if self._sparse else np.empty(0, np.int32)
        sums: IndexArray = np.empty(0, dtype=INDEX)
        if len(ids):
            sums = self._sparse.scratch[ids]
            self._sparse.scratch[ids] = 0
        packed = None if hist is None else hist[used_cells(self.data.growing.blocks)]
        return Counted(self._buffers.labels[leaf].copy(), packed, ids, sums)


_ARENA = ("rows", "amount")


class LeadGrower(Grower):
    """Leads the growth of one tree. It has no rows: its data are those of no sequence."""

    def begin(self, seed: int = 0) -> None:
        """Start a tree, whose root members plant."""
        self._run = self._rules._replace(seed=seed & 0x7FFFFFFF)
        # A place for every leaf, and 0 in the padding, which is subtracted and never written.
        hist: IndexArray = np.zeros((self.max_leaf_nodes, self._n_cells), dtype=INDEX)
        self._buffers = self._buffers._replace(hist=hist)
        self._used = used_cells(self.data.growing.blocks)
        self._buffers.leaf[:, 0] = 0
        self._tree[0] = 0
        self._tree[0, STREAM] = LEAF
        self._n_nodes, self._n_sets = 1, 0
        self._numbers: list[int] = []  # of each leaf, among members
        self._n_cut = 1
        self._cut: dict[int, tuple[Cut, Counted]] = {}  # what is known of leaves that are not split yet
        self._asked: list[int] = []
        self.cuts: list[Cut] = []  # all that were asked for
        self._items: list[tuple[CodeArray, IndexArray]] = []

    def plant(self, root: Counted) -> None:
        """Take the root as members counted it."""
        self._settle(-1, 0, root)

    def ask(self, most: int = 8) -> list[Cut]:
        """Split leaves as far as their cuts are known; then the cuts to ask for, none where the tree is whole."""
        gain, buffers = self._buffers.gain, self._buffers
        while True:
            n = len(self._numbers)
            best = int(np.argmax(gain[:n]))
            if n == self.max_leaf_nodes or gain[best] <= 0.0:
                return []
            if best not in self._cut:
                break
            self._split(best)
        left = self.max_leaf_nodes - n
        spare = SPARE * self.max_leaf_nodes - self._n_cut - left
        order = [int(j) for j in np.argsort(-gain[:n], kind="stable") if gain[j] >= LIKELY * gain[best]]
        self._asked = [j for j in order if j not in self._cut][: max(1, min(most, left // 2, spare))]
        cuts = []
        for j in self._asked:
            chosen: AnyArray = np.zeros(self._sets.shape[1], dtype=np.uint8)
            kernels.shared_growing.write_chosen(self.data.growing, self._run, buffers, (), j, chosen)
            cuts.append(Cut(self._numbers[j], self._n_cut, buffers.split[j].copy(), chosen, left > 1))
            self._n_cut += 1
        self.cuts.extend(cuts)
        return cuts

    def take(self, counted: Sequence[Counted]) -> None:
        """Take the cuts that were asked for, as members counted them."""
        for j, cut, sums in zip(self._asked, self.cuts[-len(self._asked) :], counted):
            self._cut[j] = cut, sums

    def tree(self) -> tuple[Tree, FloatArray]:
        """The tree, and the values of the leaves that members have."""
        n = len(self._numbers)
        leaves: IndexArray = self._buffers.leaf[kernels.state.NODE, :n]
        tree = self._make_tree(leaves, self._n_sets, 0)
        values: FloatArray = np.zeros(self._n_cut)
        values[self._numbers] = tree.values[leaves]
        for j, (cut, _) in self._cut.items():
            values[cut.new] = tree.values[leaves[j]]
        return tree, values

    def _split(self, i: int) -> None:
        cut, counted = self._cut.pop(i)
        new = len(self._numbers)
        self._sets[self._n_sets] = cut.chosen
        kernels.shared_growing.split_leaf(self._buffers, i, new, self._n_nodes, self._n_sets, self._tree, self._gains)
        self._n_sets += int(cut.split[RULE] == SUBSET)
        self._n_nodes += 2
        self._settle(i, new, counted)
        self._numbers[new] = cut.new

    def _settle(self, i: int, new: int, counted: Counted) -> None:
        buffers = self._buffers
        buffers.labels[new] = counted.labels
        whole = counted.hist is not None
        if whole:
            buffers.hist[new, self._used] = counted.hist
        self._numbers.append(0)
        self._items.append((counted.ids, counted.sums))
        sparse: Any = ()
        if self._sparse:
            if i >= 0:
                self._items[i] = _without(self._items[i], self._items[new])
            both = [self._items[z] for z in (i, new) if z >= 0]
            sparse = self._sparse._replace(
                ids=np.concatenate([ids for ids, _ in both]), sums=np.concatenate([sums for _, sums in both])
            )
            ends = np.cumsum([0, *(len(ids) for ids, _ in both)])
            for z, low, high in zip([z for z in (i, new) if z >= 0], ends, ends[1:]):
                buffers.leaf[kernels.state.LOW, z], buffers.leaf[kernels.state.HIGH, z] = low, high
        kernels.shared_growing.settle_leaf(
            self.data.growing, self._run, buffers, sparse, (), i, new, whole, self._pairs, self._gains
        )


def _without(items: tuple[CodeArray, IndexArray], taken: tuple[CodeArray, IndexArray]) -> tuple[CodeArray, IndexArray]:
    """The items of a leaf less those of another that was cut out of it; ids rise."""
    sums = items[1].copy()
    sums[np.searchsorted(items[0], taken[0])] -= taken[1]
    return items[0][sums != 0], sums[sums != 0]
