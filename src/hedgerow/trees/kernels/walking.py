"""Trees walked from the root, for few positions: masks of leaves cost more than so few walks do."""

import numpy as np

from hedgerow.jit import kernel, part
from hedgerow.trees.kernels.sides import goes_true
from hedgerow.trees.nodes import BIN, COLUMN, FALSE_CHILD, HAS, LABEL, LEAF, N_BINS, OFFSET, RULE, STREAM, TRUE_CHILD


@part
def _descend(columns, tree, sets, node, p, u, n_labels):
    """From a node to the leaf that place p with previous label u of n_labels comes to; with u < 0 no further than to
    the next split on the label."""
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


@part
def _part_labels(tree, sets, node, n_labels, labels, begin, end):
    """Put those of the labels begin … end-1 first that go to the true side of a split on them; returns their end."""
    for q in range(begin, end):
        u = labels[q]
        if goes_true(tree[node, RULE], tree[node, BIN], u, n_labels, sets, tree[node, BIN]):
            labels[q], labels[begin] = labels[begin], u
            begin += 1
    return begin


@part
def _add_to_labels(columns, tree, value, sets, p, scale, work, scores):
    """Add the value of a tree, times scale, to the scores float64[K'] of place p after each label. All labels go down
    together, and part only where the tree asks for them. WORK int64[4, K'+1]"""
    labels, nodes, begins, ends = work[0], work[1], work[2], work[3]
    n_labels, depth = len(scores) + 1, 1
    for u in range(len(scores)):
        labels[u] = u
    nodes[0], begins[0], ends[0] = 0, 0, len(scores)
    while depth > 0:
        depth -= 1
        node, begin, end = nodes[depth], begins[depth], ends[depth]
        node = _descend(columns, tree, sets, node, p, -1, n_labels)
        if tree[node, STREAM] == LEAF:
            for q in range(begin, end):
                scores[labels[q]] += scale * value[node]
            continue
        middle = _part_labels(tree, sets, node, n_labels, labels, begin, end)
        for child, low, high in ((FALSE_CHILD, middle, end), (TRUE_CHILD, begin, middle)):
            if high > low:
                nodes[depth], begins[depth], ends[depth] = tree[node, child], low, high
                depth += 1


@kernel
def add_trees(columns, places, first, ptr, set_ptr, trees, values, sets, scale, work, edge_scores, node_scores):
    """Add the values of trees, times scale, to the scores, tree j to those of label j mod K: as `leaf_masks.add_tree`
    does it for each, to the bit, where a missing value is one more value.

    IN   columns: bins, streams, n_dense, items, item_ptr as in `state.Columns`; places int32[n], first uint8[P];
         ptr, set_ptr int64[J+1], trees int32[·, 5], values float64[·], sets uint8[·, ·] as in an Ensemble
    WORK work int64[4, K'+1]
    OUT  edge_scores float64[K, n, K'], node_scores float64[K, n] for ⊥
    """
    K, n, n_before = edge_scores.shape
    for j in range(len(ptr) - 1):
        tree, value, own = trees[ptr[j] : ptr[j + 1]], values[ptr[j] : ptr[j + 1]], sets[set_ptr[j] : set_ptr[j + 1]]
        for t in range(n):
            p = places[t]
            if first[p]:
                node_scores[j % K, t] += scale * value[_descend(columns, tree, own, 0, p, n_before, n_before + 1)]
            else:
                _add_to_labels(columns, tree, value, own, p, scale, work, edge_scores[j % K, t])


@kernel
def add_vectors(columns, places, ptr, set_ptr, trees, values, sets, scale, scores):
    """The same for trees for all labels, with values float64[·, K] and ⊥ before every position. OUT scores [K, n]."""
    for j in range(len(ptr) - 1):
        tree, own = trees[ptr[j] : ptr[j + 1]], sets[set_ptr[j] : set_ptr[j + 1]]
        for t in range(len(places)):
            leaf = ptr[j] + _descend(columns, tree, own, 0, places[t], 1, 2)
            for k in range(len(scores)):
                scores[k, t] += scale * values[leaf, k]
