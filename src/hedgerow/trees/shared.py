"""One regression tree that several processes grow together, to the same tree that `Grower` grows of all rows.

Members have the rows, and each has some of the columns as well: they divide leaves and count their rows, hand what they
counted to those whose columns it is of, and each finds the best splits on its own columns. Who leads them sees these
alone, takes the best of all, and asks for the next cuts, several at a time: of the leaf with the largest gain, which is
split next, and of others that are likely to follow. What is cut and not split in the end has one value on both sides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from hedgerow.legend import INDEX, AnyArray, CodeArray, FloatArray, IndexArray
from hedgerow.trees import kernels
from hedgerow.trees.bins import BinnedData
from hedgerow.trees.growing import Grower, Leaves, Tree
from hedgerow.trees.kernels.state import HIGH, KNOWN_WEIGHT, LOW, NODE, TRUE_WEIGHT, G, N
from hedgerow.trees.nodes import BLOCK_BASE, BLOCK_BINS, BLOCK_STRIDE, BLOCK_WIDTH, LABEL, LEAF, STREAM, SUBSET

LIKELY = 0.3  # of the largest gain: a leaf with as much is cut before its turn comes
SPARE = 2  # times the leaves of a tree are the most that members have


class Cut(NamedTuple):
    """What to cut: leaf `new` out of leaf `old`, by their numbers among members. split int64[5], chosen uint8[·]: its
    set; counted: whether splits of both are wanted; nodes: of both in the tree, where the leaf is split next."""

    old: int
    new: int
    split: IndexArray
    chosen: AnyArray
    counted: bool
    nodes: tuple[int, int]


class Counted(NamedTuple):
    """The sums of a leaf over the rows of a member: labels int64[K+1]; and of the columns of one that finds splits hist
    int64[·], ids int32[m] and sums int64[m] of sparse items."""

    labels: IndexArray
    hist: IndexArray
    ids: CodeArray
    sums: IndexArray


class Found(NamedTuple):
    """The best split of a leaf on some columns: its gain, 0 where nothing gains; whether the feature was drawn for the
    node; the split and its set, as in a `Cut`; and gradient and weight of the leaf, or its word of each label."""

    gain: float
    drawn: bool
    split: IndexArray
    chosen: AnyArray
    sums: AnyArray


def best(found: Sequence[Found]) -> Found:
    """The best of all columns. Features that were drawn go before others; then the largest gain; and ties to the first
    in the order of streams and items, labels last."""
    order = [(one.gain <= 0.0, not one.drawn, -one.gain, one.split[STREAM] == LABEL, *one.split[:2]) for one in found]
    return found[order.index(min(order))]


def owners(blocks: IndexArray, n_owners: int) -> IndexArray:
    """Who has each dense column: runs of them, of about as many cells each."""
    cells = blocks[:, BLOCK_BINS] * blocks[:, BLOCK_WIDTH]
    owner: IndexArray = ((np.cumsum(cells) - cells / 2) * n_owners / max(1, cells.sum())).astype(INDEX)
    return owner


def own_cells(blocks: IndexArray, n_owners: int) -> list[IndexArray]:
    """Of each owner, the cells of a histogram that are its own, as `own_columns` lays them out."""
    cells: list[list[IndexArray]] = [[np.empty(0, dtype=INDEX)] for _ in range(n_owners)]
    for block, m in zip(blocks, owners(blocks, n_owners)):
        bins, places = np.arange(block[BLOCK_BINS])[:, None], np.arange(block[BLOCK_WIDTH])
        cells[m].append((block[BLOCK_BASE] + bins * block[BLOCK_STRIDE] + places).ravel())
    return [np.concatenate(own) for own in cells]


def own_columns(data: BinnedData, m: int, n_owners: int) -> BinnedData:
    """No rows, and columns of which those of others have no cells. Strides are not rounded up: nothing is counted."""
    columns = data.growing
    mine = owners(columns.blocks, n_owners) == m
    blocks: IndexArray = np.where(mine[:, None], columns.blocks, 0)
    blocks[:, BLOCK_STRIDE] = blocks[:, BLOCK_WIDTH]
    cells = blocks[:, BLOCK_BINS] * blocks[:, BLOCK_WIDTH]
    blocks[:, BLOCK_BASE] = np.cumsum(cells) - cells
    bins: AnyArray = np.empty((len(columns.bins), 0), dtype=columns.bins.dtype)
    none = columns._replace(bins=bins, blocks=blocks, items=columns.items[:0])
    return replace(data, growing=none, places=data.places[:0])


class MemberGrower(Grower):
    """Plants and cuts trees on its own rows, as the lead says; gives what it counted of a leaf to each owner."""

    def plant(self, cells: Sequence[IndexArray]) -> list[Counted]:
        """The root, for the gradients in `words`. cells : `own_cells`"""
        self._n_trunks = 1
        self._tail, m = kernels.shared_growing.plant_rows(
            self.data.growing, self._place_words(), self._buffers, self._sparse, (), self._tree, self._buffers.hist[0]
        )
        return self._counted(0, True, m, cells)

    def cut(self, cut: Cut, n_rows: int, cells: Sequence[IndexArray] = ()) -> list[Counted]:
        """Cut a leaf. n_rows : positions of all members"""
        while True:
            tail, self._n_trunks, m = kernels.shared_growing.cut_rows(
                self.data.growing, self._place_words(), self._rules, self._buffers, self._sparse, (), (), cut.split,
                cut.chosen, cut.old, cut.new, n_rows, self._n_trunks, self._tail, cut.counted, self._buffers.hist[0],
            )  # fmt: skip
            if tail >= 0:
                break
            rows, amount = (np.resize(held, 2 * len(held)) for held in (self._buffers.rows, self._buffers.amount))
            self._buffers = self._buffers._replace(rows=rows, amount=amount)
        self._tail = tail
        return self._counted(cut.new, cut.counted, m, cells)

    def leaves(self, values: FloatArray) -> Leaves:
        """Where the rows are. values : of the leaves, by their numbers among members"""
        buffers = self._buffers
        held = buffers.rows, buffers.leaf, buffers.member, buffers.order
        kernels.growing.assign_leaves(self.data.places, self.data.window_first, *held, len(values), self._leaf_of)
        return Leaves(self._leaf_of, values)

    def _place_words(self) -> Any:
        return kernels.state.PlaceWords(self.data.places, self.data.window_first, self.words)

    def _counted(self, leaf: int, counted: bool, n_items: int, cells: Sequence[IndexArray]) -> list[Counted]:
        """What was counted of a leaf, for each owner; the scratch of items is empty again."""
        ids: CodeArray = np.sort(self._sparse.touched[:n_items]) if self._sparse else np.empty(0, np.int32)
        sums: IndexArray = np.empty(0, dtype=INDEX)
        if len(ids):
            sums = self._sparse.scratch[ids]
            self._sparse.scratch[ids] = 0
        labels, hist, given = self._buffers.labels[leaf].copy(), self._buffers.hist[0], []
        for m, own in enumerate(cells):
            mine = ids % len(cells) == m
            given.append(Counted(labels, hist[own if counted else own[:0]], ids[mine], sums[mine]))
        return given


class SplitFinder(Grower):
    """Has the sums of all rows of some columns, and finds the best splits on them. owner : its number, of how many"""

    def __init__(self, data: BinnedData, n_labels: int, *, owner: tuple[int, int], **options: Any) -> None:
        super().__init__(own_columns(data, *owner), n_labels, **options)
        shape = self.max_leaf_nodes, *self._buffers.hist.shape[1:]  # a place for every leaf
        self._buffers = self._buffers._replace(hist=np.empty(shape, dtype=INDEX))
        self._items: dict[int, tuple[CodeArray, IndexArray]] = {}  # of leaves: ids rise

    def plant(self, parts: Sequence[Counted], seed: int) -> list[Found]:
        """Take the root of a tree as members counted it. seed : of the draws of features"""
        self._rules = self._rules._replace(seed=seed & 0x7FFFFFFF)
        self._buffers.leaf[:, 0] = 0
        return self._settle(-1, 0, parts, True)[1:]

    def cut(self, cut: Cut, parts: Sequence[Counted]) -> list[Found]:
        """Take a leaf as members counted it, out of the one that it was cut out of: the splits of both."""
        self._buffers.leaf[NODE, [cut.old, cut.new]] = cut.nodes
        return self._settle(cut.old, cut.new, parts, cut.counted)

    def _settle(self, i: int, new: int, parts: Sequence[Counted], counted: bool) -> list[Found]:
        buffers = self._buffers
        np.sum([part.labels for part in parts], axis=0, out=buffers.labels[new])
        if counted:
            buffers.hist[new] = parts[0].hist
            for part in parts[1:]:
                buffers.hist[new] += part.hist
        drawn: AnyArray = np.zeros(2, dtype=np.uint8)
        chosen, sums = self._find(i, new, parts, counted, drawn)
        found = zip(buffers.gain[[i, new]].tolist(), drawn.tolist(), buffers.split[[i, new]], chosen, sums)
        return [Found(gain, bool(was), split, own, of_leaf) for gain, was, split, own, of_leaf in found]

    def _find(self, i: int, new: int, parts: Sequence[Counted], counted: bool, drawn: AnyArray) -> tuple[AnyArray, ...]:
        """Settle two leaves: the sets of their splits, and gradients and weights."""
        buffers, both = self._buffers, [z for z in (i, new) if z >= 0]
        sparse: Any = ()
        if self._sparse:
            self._items[new] = _add_items(parts)
            if i >= 0:
                self._items[i] = _without(self._items[i], self._items[new])
            ids, sums = (np.concatenate(held) for held in zip(*(self._items[z] for z in both)))
            ends = np.cumsum([0, *(len(self._items[z][0]) for z in both)])
            buffers.leaf[LOW, both], buffers.leaf[HIGH, both] = ends[:-1], ends[1:]
            sparse = self._sparse._replace(ids=ids, sums=sums)
        chosen: AnyArray = np.zeros((2, self._sets.shape[1]), dtype=np.uint8)
        kernels.shared_growing.settle_leaf(
            self.data.growing, self._rules, buffers, sparse, (), i, new, counted, drawn, chosen
        )
        return chosen, buffers.leaf[[G, N]][:, [i, new]].T


def _add_items(parts: Sequence[Counted]) -> tuple[CodeArray, IndexArray]:
    ids, which = np.unique(np.concatenate([part.ids for part in parts]), return_inverse=True)
    sums: IndexArray = np.zeros(len(ids), dtype=INDEX)
    np.add.at(sums, which, np.concatenate([part.sums for part in parts]))
    return ids, sums


def _without(items: tuple[CodeArray, IndexArray], taken: tuple[CodeArray, IndexArray]) -> tuple[CodeArray, IndexArray]:
    """The items of a leaf less those of another that was cut out of it; ids rise."""
    sums = items[1].copy()
    sums[np.searchsorted(items[0], taken[0])] -= taken[1]
    return items[0][sums != 0], sums[sums != 0]


class _Leaf(NamedTuple):
    number: int  # among members
    node: int
    found: Found


class LeadGrower(Grower):
    """Leads the growth of one tree. It has no rows and no sums: its data are those of no sequence."""

    true_is_new: ClassVar[bool] = False  # whether the new leaf of a split is its true side, or that of less weight

    def begin(self) -> None:
        """Start a tree, whose root members plant."""
        self._leaves: list[_Leaf] = []
        self._n_cut, self._n_sets = 1, 0
        self._cut: dict[int, tuple[Cut, Sequence[Found]]] = {}  # what is known of leaves that are not split yet
        self._asked: list[tuple[int, Cut]] = []

    def take(self, found: Sequence[Found]) -> None:
        """Take the best splits of the root, or of both sides of all cuts that were asked for."""
        if not self._leaves:
            self._leaves = [self._noted(_Leaf(0, 0, found[0]))]
        for q, (j, cut) in enumerate(self._asked):
            self._cut[j] = cut, found[2 * q : 2 * q + 2]

    def ask(self, most: int = 8) -> list[Cut]:
        """Split leaves as far as their cuts are known; then the cuts to ask for, none where the tree is whole."""
        while True:
            n, gains = len(self._leaves), np.array([leaf.found.gain for leaf in self._leaves])
            top = int(np.argmax(gains))
            if n == self.max_leaf_nodes or gains[top] <= 0.0:
                return []
            if top not in self._cut:
                break
            self._split(top)
        left = self.max_leaf_nodes - n
        spare = SPARE * self.max_leaf_nodes - self._n_cut - left
        if self._rules.share < 1.0:
            most = 1  # features are drawn by the number of a node, which is that of the leaf that is split next
        order = [int(j) for j in np.argsort(-gains, kind="stable") if gains[j] >= LIKELY * gains[top]]
        self._asked = []
        for j in [j for j in order if j not in self._cut][: max(1, min(most, left // 3, spare))]:
            leaf = self._leaves[j]
            split, chosen, nodes = leaf.found.split, leaf.found.chosen, self._children(leaf.found)
            self._asked.append((j, Cut(leaf.number, self._n_cut, split, chosen, left > 1, nodes)))
            self._n_cut += 1
        return [cut for _, cut in self._asked]

    def tree(self) -> tuple[Tree, FloatArray]:
        """The tree, and the values of the leaves that members have."""
        nodes: IndexArray = np.array([leaf.node for leaf in self._leaves], dtype=INDEX)
        tree = self._make_tree(nodes, self._n_sets, 0)
        values: FloatArray = np.zeros((self._n_cut, *tree.values.shape[1:]))
        for j, leaf in enumerate(self._leaves):
            values[leaf.number] = tree.values[leaf.node]
            if j in self._cut:
                values[self._cut[j][0].new] = tree.values[leaf.node]
        return tree, values

    def _children(self, found: Found) -> tuple[int, int]:
        """The nodes of what stays in a leaf and of what is cut out of it, were it split now: the true side is first."""
        n_nodes, split = 2 * len(self._leaves) - 1, found.split
        true_leaves = split[STREAM] == LABEL or 2 * split[TRUE_WEIGHT] <= split[KNOWN_WEIGHT]
        return (n_nodes + 1, n_nodes) if true_leaves else (n_nodes, n_nodes + 1)

    def _split(self, i: int) -> None:
        cut, (rest, new) = self._cut.pop(i)
        leaf, n_nodes, (stream, name, rule) = self._leaves[i], 2 * len(self._leaves) - 1, cut.split[:3]
        self._sets[self._n_sets] = cut.chosen
        if rule == SUBSET:
            name = self._n_sets
            self._n_sets += 1
        self._tree[leaf.node], self._gains[leaf.node] = (stream, name, rule, n_nodes, n_nodes + 1), leaf.found.gain
        nodes = self._children(leaf.found)
        both = [_Leaf(leaf.number, nodes[0], rest), _Leaf(cut.new, nodes[1], new)]
        self._leaves[i], last = map(self._noted, sorted(both, key=lambda one: -one.node) if self.true_is_new else both)
        self._leaves.append(last)

    def _noted(self, leaf: _Leaf) -> _Leaf:
        """The leaf, as a node of the tree."""
        self._tree[leaf.node] = LEAF, 0, 0, 0, 0
        self._pairs[leaf.node], self._gains[leaf.node] = leaf.found.sums, 0.0
        return leaf
