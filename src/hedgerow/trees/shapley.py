"""What each input of a tree adds to the value of one row: Shapley values, exactly.

Of a leaf with value v, whose path asks d different inputs, let o_j be 1 where input j of the row lets it pass and 0
where it does not, and z_j the share of training rows (by `counts`) that pass all questions on j. Where only the inputs
in S are known, the leaf counts v · Π_{j∈S} o_j · Π_{j∉S} z_j, as in path-dependent TreeSHAP (Lundberg and others 2020).
The weight s!(d−1−s)!/d! of a set of s others is ∫ x^s (1−x)^(d−1−s) dx over [0, 1], so that

    φ_i = v · (o_i − z_i) · ∫ Π_{j≠i} (z_j + (o_j − z_j)·x) dx,

the integral of a polynomial of degree d−1, which Gauss and Legendre's rule with ⌈d/2⌉ points gives exactly.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import numpy as np

from hedgerow.legend import CodeArray, FloatArray, IndexArray
from hedgerow.trees.binning import BinnedData
from hedgerow.trees.growing import Tree
from hedgerow.trees.nodes import (
    AT_MOST_OR_SPECIAL,
    BIN,
    COLUMN,
    EQUAL,
    FALSE_CHILD,
    HAS,
    LABEL,
    LEAF,
    MISSING_BIN,
    N_BINS,
    N_SPECIAL,
    OFFSET,
    RULE,
    STREAM,
    SUBSET,
    TRUE_CHILD,
)

Asked = tuple[int, int]  # an input: a stream, and in a stream of attributes which of them; −1 elsewhere
_Pass = tuple[float, float]  # z and o of an input on a path


class Row(NamedTuple):
    """One row (place, label or history before it) of binned data.

    before, n_before : the number of the label or history before the place, and how many there are, ⊥ among them
    attributes : of the streams in which each attribute is an input of its own, the attribute behind each item
    """

    data: BinnedData
    place: int
    before: int
    n_before: int
    attributes: Mapping[int, CodeArray]

    def share(self, tree: Tree, i: int) -> float:
        """The part of the row that goes to the true side of node i: 0 or 1, and between where the value is missing
        from trees in which that is none."""
        columns = self.data.columns
        s, b, rule = (int(tree.nodes[i, field]) for field in (STREAM, BIN, RULE))
        if s == LABEL:
            return float(_goes_true(rule, b, self.before, self.n_before, tree))
        missing = int(columns.streams[MISSING_BIN, s]) if tree.shares is not None else -1
        if rule == HAS:
            items = self._items(s)
            if b not in items and missing >= 0 and missing in items:
                return self._without_value(tree, i)
            return float(b in items)
        x = self._bin(s)
        if x == missing:
            return self._without_value(tree, i)
        return float(_goes_true(rule, b, x, int(columns.streams[N_BINS, s]), tree))

    def asked(self, node: IndexArray) -> Asked:
        """The input that a split asks for."""
        stream = int(node[STREAM])
        return stream, int(self.attributes[stream][node[BIN]]) if stream in self.attributes else -1

    def _bin(self, s: int) -> int:
        columns = self.data.columns
        return int(columns.bins[columns.streams[COLUMN, s], self.place + columns.streams[OFFSET, s]])

    def _items(self, s: int) -> list[int]:
        columns = self.data.columns
        ptr = columns.item_ptr[columns.streams[COLUMN, s] - len(columns.blocks)]
        at = self.place + columns.streams[OFFSET, s]
        items: list[int] = columns.items[ptr[at] : ptr[at + 1]].tolist()
        return items

    def _without_value(self, tree: Tree, i: int) -> float:
        """What the first surrogate tells that there is a value for; else the share of the tree."""
        assert tree.shares is not None
        assert tree.surrogates is not None
        assert tree.surrogate_sets is not None
        streams = self.data.columns.streams
        for q in np.flatnonzero(tree.surrogates[:, 0] == i):
            s = int(tree.surrogates[q, 1])
            x = int(self.data.first[self.place]) if s == LABEL else self._bin(s)
            if s == LABEL or x != streams[MISSING_BIN, s]:
                return float((int(tree.surrogate_sets[q, x >> 3]) >> (x & 7)) & 1)
        return float(tree.shares[i])


def _goes_true(rule: int, bin_: int, x: int, n_bins: int, tree: Tree) -> bool:
    """As `goes_true` of kernels/sides.py."""
    if rule == EQUAL:
        return x == bin_
    if rule == SUBSET:
        return bool(tree.sets[bin_, x])
    return x <= bin_ or (rule == AT_MOST_OR_SPECIAL and x >= n_bins - N_SPECIAL)


def shapley_values(row: Row, tree: Tree, values: FloatArray) -> tuple[float, dict[Asked, float]]:
    """The mean of a tree over its training rows, and what each input adds to it in this row.

    values : float64[nodes], what the leaves count
    """
    leaves, paths = zip(*_paths(row, tree))
    v = np.asarray(values[list(leaves)], dtype=np.float64)
    inputs = list(dict.fromkeys(asked for path in paths for asked in path))
    place = {asked: j for j, asked in enumerate(inputs)}
    z: FloatArray = np.ones((len(v), len(inputs)))
    o: FloatArray = np.ones((len(v), len(inputs)))  # what a path does not ask for lets it pass
    for leaf, path in enumerate(paths):
        for asked, (share, passed) in path.items():
            z[leaf, place[asked]], o[leaf, place[asked]] = share, passed
    mean = float((v * z.prod(axis=1)).sum())
    if not inputs:
        return mean, {}
    most = max(map(len, paths))
    points, weights = np.polynomial.legendre.leggauss(-(-most // 2))
    x = (points + 1.0) / 2.0
    factors = z[:, :, None] + (o - z)[:, :, None] * x  # above 0: so are all z, and x is within (0, 1)
    others = factors.prod(axis=1, keepdims=True) / factors
    integrals = (others * (weights / 2.0)).sum(axis=2)
    return mean, dict(zip(inputs, ((o - z) * integrals * v[:, None]).sum(axis=0).tolist()))


def _paths(row: Row, tree: Tree) -> Iterator[tuple[int, Mapping[Asked, _Pass]]]:
    """Each leaf, with z and o of the inputs that its path asks for."""
    nodes, counts = tree.nodes, tree.counts
    ahead: list[tuple[int, dict[Asked, _Pass]]] = [(0, {})]
    while ahead:
        i, path = ahead.pop()
        if nodes[i, STREAM] == LEAF:
            yield i, path
            continue
        asked, passed = row.asked(nodes[i]), row.share(tree, i)
        children = int(nodes[i, TRUE_CHILD]), int(nodes[i, FALSE_CHILD])
        whole = float(counts[children[0]] + counts[children[1]])
        for child, own in zip(children, (passed, 1.0 - passed)):
            share = float(counts[child]) / whole if whole > 0.0 else 0.5
            z, o = path.get(asked, (1.0, 1.0))
            # A share of 0 would be divided by; no training row is there, and so little of one changes no digit.
            ahead.append((child, {**path, asked: (max(z * share, 1e-12), o * own)}))


def sum_shapley(row: Row, weighted: Iterable[tuple[Tree, FloatArray]]) -> tuple[float, dict[Asked, float]]:
    """The sums over trees, each with what its leaves count."""
    total, sums = 0.0, defaultdict[Asked, float](float)
    for tree, values in weighted:
        mean, parts = shapley_values(row, tree, values)
        total += mean
        for asked, value in parts.items():
            sums[asked] += value
    return total, dict(sums)
