"""Plain twins of `kernels/boosting.py`: one row (position, previous label) at a time."""

from __future__ import annotations

from typing import Any

from hedgerow.legend import FloatArray

EQUAL, AT_MOST, AT_MOST_OR_SPECIAL, SUBSET, HAS = 0, 1, 2, 3, 4
LABEL, LEAF = -1, -2


def word(gradient: float, one: float, bits: int) -> int:
    """A gradient in fixed point above a count of one."""
    return (round(gradient * one) << bits) + 1


def weighted_word(gradient: float, weight: float, one: float, unit: int, bits: int, noise: float = 0.0) -> int:
    """A gradient in fixed point above a weight, in which 1 is `unit`; 0 where there is no row."""
    return 0 if weight <= 0 else (round(gradient * one + noise) << bits) + max(1, round(weight * unit))


def newton_word(gradient: float, one: float, unit: int, bits: int, noise: float = 0.0) -> int:
    """As weighted_word, of the curvature p(1−p) of a gradient p or p − 1."""
    size = min(abs(gradient), 1.0)
    return weighted_word(gradient, max(size * (1.0 - size), 1e-9), one, unit, bits, noise)


def noise(row: int) -> float:
    """What is added to the gradient of a row, in units of its last bit: its number, hashed, between −1/2 and 1/2."""
    x = (row + 1) * 0x9E3779B1 % 2**32
    x = (x ^ x // 2**15) * 0x2C1B3C6D % 2**32
    return (x ^ x // 2**12) / 2**32 - 0.5


def leaf_of(data: Any, n_dense: int, tree: Any, place: int, previous: int) -> int:
    """The leaf that one row comes to; `previous` is K for ⊥. data: BinnedData, tree: Tree."""
    node, columns = 0, data.columns
    while tree.nodes[node, 0] != LEAF:
        s, b, rule = (int(value) for value in tree.nodes[node, :3])
        if rule == HAS:
            begin, end = columns.item_ptr[columns.streams[0, s] - n_dense, place + columns.streams[1, s] :][:2]
            true = b in columns.items[begin:end].tolist()
        else:
            x = previous if s == LABEL else int(columns.bins[columns.streams[0, s], place + columns.streams[1, s]])
            if rule == SUBSET:
                true = bool(tree.sets[b, x])
            elif rule == EQUAL:
                true = x == b
            else:
                true = x <= b or (rule == AT_MOST_OR_SPECIAL and x >= columns.streams[3, s] - 2)
        node = int(tree.nodes[node, 3] if true else tree.nodes[node, 4])
    return node


def add_tree(data: Any, n_dense: int, tree: Any, edge_scores: FloatArray, node_scores: FloatArray) -> None:
    """Add the value of each row's leaf to its score, in place: edge_scores (n, K), node_scores (n,) for ⊥."""
    n, K = edge_scores.shape
    for t in range(n):
        place = int(data.place[t])
        if data.first[place]:
            node_scores[t] += tree.values[leaf_of(data, n_dense, tree, place, K)]
        else:
            for u in range(K):
                edge_scores[t, u] += tree.values[leaf_of(data, n_dense, tree, place, u)]
