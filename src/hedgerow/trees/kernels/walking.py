"""Trees walked from the root, for few positions: masks of leaves cost more than so few walks do."""

from __future__ import annotations

import numpy as np

from hedgerow.jit import kernel, part
from hedgerow.trees.kernels.sides import goes_true
from hedgerow.trees.nodes import BIN, COLUMN, FALSE_CHILD, HAS, LABEL, LEAF, N_BINS, OFFSET, RULE, STREAM, TRUE_CHILD


@part
def _descend(columns, tree, sets, node, p, u, n_labels):
    """From a node to the leaf that place p with previous label u of n_labels comes to; with u < 0 no further than to
    the first split on the label."""
    bins, streams, n_dense, items, item_ptr = columns
    while tree[node, STREAM] != LEAF and (u >= 0 or tree[node, STREAM] != LABEL):
        s, b, rule = tree[node, STREAM], tree[node, BIN], tree[node, RULE]
        if rule == HAS:
            ptr, at, true = item_ptr[streams[COLUMN, s] - n_dense], p + streams[OFFSET, s], False
            for q in range(ptr[at], ptr[at + 1]):
                true |= items[q] == b
        elif s == LABEL:
            true = goes_true(rule, b, u, n_labels, sets, b)
        else:
            x = np.int64(bins[streams[COLUMN, s], p + streams[OFFSET, s]])
            true = goes_true(rule, b, x, streams[N_BINS, s], sets, b)
        node = tree[node, TRUE_CHILD] if true else tree[node, FALSE_CHILD]
    return node


@kernel
def add_trees(columns, places, first, ptr, set_ptr, trees, values, sets, scale, edge_scores, node_scores):
    """Add the values of trees, times scale, to the scores, tree j to those of label j mod K: as `leaf_masks.add_tree`
    does it for each, to the bit, where a missing value is one more value.

    IN   columns: bins, streams, n_dense, items, item_ptr as in `state.Columns`; places int32[n], first uint8[P];
         ptr, set_ptr int64[J+1], trees int64[·, 5], values float64[·], sets uint8[·, ·] as in an Ensemble
    OUT  edge_scores float64[K, n, K'], node_scores float64[K, n] for ⊥
    """
    K, n, n_before = edge_scores.shape
    for j in range(len(ptr) - 1):
        tree, value, own = trees[ptr[j] : ptr[j + 1]], values[ptr[j] : ptr[j + 1]], sets[set_ptr[j] : set_ptr[j + 1]]
        for t in range(n):
            p = places[t]
            if first[p]:
                node_scores[j % K, t] += scale * value[_descend(columns, tree, own, 0, p, n_before, n_before + 1)]
                continue
            node = _descend(columns, tree, own, 0, p, -1, n_before + 1)
            for u in range(n_before):
                leaf = _descend(columns, tree, own, node, p, u, n_before + 1)
                edge_scores[j % K, t, u] += scale * value[leaf]


@kernel
def add_vectors(columns, places, ptr, set_ptr, trees, values, sets, scale, scores):
    """The same for trees for all labels, with values float64[·, K] and ⊥ before every position. OUT scores [K, n]."""
    for j in range(len(ptr) - 1):
        tree, own = trees[ptr[j] : ptr[j + 1]], sets[set_ptr[j] : set_ptr[j + 1]]
        for t in range(len(places)):
            leaf = ptr[j] + _descend(columns, tree, own, 0, places[t], 1, 2)
            for k in range(len(scores)):
                scores[k, t] += scale * values[leaf, k]
