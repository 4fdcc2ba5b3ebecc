"""Plain twins of `kernels/boosting.py`: one row (position, previous label) at a time."""

from __future__ import annotations

from hedgerow.legend import AnyArray, FloatArray

LABEL, LEAF = -1, -2


def word(gradient: float, one: float, bits: int) -> int:
    """A gradient in fixed point above a count of one."""
    return (round(gradient * one) << bits) + 1


def leaf_of(tree: AnyArray, streams: AnyArray, bins: AnyArray, place: int, previous: int) -> int:
    """The leaf that one row comes to; `previous` is K for ⊥."""
    node = 0
    while tree[node, 0] != LEAF:
        s, b, rule = (int(value) for value in tree[node, :3])
        if s == LABEL:
            true = previous == b
        else:
            x = int(bins[streams[0, s], place + streams[1, s]])
            true = x == b if rule == 0 else x <= b or (rule == 2 and x >= streams[3, s] - 2)
        node = int(tree[node, 3] if true else tree[node, 4])
    return node


def add_tree(
    bins: AnyArray,
    places: AnyArray,
    first: AnyArray,
    streams: AnyArray,
    tree: AnyArray,
    value: FloatArray,
    edge_scores: FloatArray,
    node_scores: FloatArray,
) -> None:
    """Add the value of each row's leaf to its score, in place: edge_scores (n, K), node_scores (n,) for ⊥."""
    n, K = edge_scores.shape
    for t in range(n):
        if first[t]:
            node_scores[t] += value[leaf_of(tree, streams, bins, int(places[t]), K)]
        else:
            for u in range(K):
                edge_scores[t, u] += value[leaf_of(tree, streams, bins, int(places[t]), u)]
