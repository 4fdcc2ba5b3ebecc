"""The leaf of every row of a tree, without walking it.

A tree's leaves are numbered from its true side to its false side, so that those below a node are a run. For each value
x of a stream, a mask says which leaves a place with x there can come to: every split on the stream sends x one way, and
rules out the leaves of the other side. The masks of all streams that the tree uses, and of the previous label, have
one leaf in common.

A mask is W words of BITS bits each, in int64.
"""

from __future__ import annotations

import numpy as np

from hedgerow.kernels._jit import kernel, part

EQUAL, AT_MOST, AT_MOST_OR_SPECIAL, SUBSET, HAS = 0, 1, 2, 3, 4  # as in `growing`; a kernel file stands alone
LABEL, LEAF = -1, -2
BITS = 62
BLOCK = 256  # places whose masks are made together


@part
def _number_leaves(tree, value, low, high, stack, leaf_value):
    """OUT low, high int64[·]: the run of leaves below each node; leaf_value float64[L]. Returns how many leaves."""
    leaves, depth = 0, 1
    stack[0] = 0
    low[:] = -1
    while depth > 0:
        node = stack[depth - 1]
        if tree[node, 0] == LEAF:
            low[node], high[node], leaf_value[leaves] = leaves, leaves + 1, value[node]
            leaves += 1
            depth -= 1
        elif low[node] < 0:  # on the way down to the true side
            low[node], high[node] = leaves, -1
            stack[depth] = tree[node, 3]
            depth += 1
        elif high[node] < 0:  # on the way down to the false side
            high[node] = 0
            stack[depth] = tree[node, 4]
            depth += 1
        else:
            high[node] = leaves
            depth -= 1
    return leaves


@part
def _rule_out(mask, low, high):
    """Take the leaves low … high-1 out of a mask."""
    for w in range(len(mask)):
        begin, end = max(low - BITS * w, 0), min(high - BITS * w, BITS)
        if end > begin:
            mask[w] &= ~(((1 << (end - begin)) - 1) << begin)


@part
def _place_streams(tree, n_bins, used, mask_of):
    """OUT used int64[·]: the dense streams that a tree splits on; mask_of int64[streams]: the first mask of each.

    Returns how many streams, and how many masks.
    """
    mask_of[:] = -1
    n_used = n_rows = 0
    for i in range(len(tree)):
        s = tree[i, 0]
        if s >= 0 and tree[i, 2] != HAS and mask_of[s] < 0:
            mask_of[s], used[n_used] = n_rows, s
            n_used, n_rows = n_used + 1, n_rows + n_bins[s]
    return n_used, n_rows


@part
def _build(tree, value, sets, n_bins, mask_of, n_rows, masks, label_masks, leaf_value, low, high, stack):
    """The masks of one tree.

    OUT  masks int64[≥ n_rows, W], label_masks int64[K+1, W], leaf_value float64[≥ leaves], low and high of each node
    """
    leaves = _number_leaves(tree, value, low, high, stack, leaf_value)
    for w in range(masks.shape[1]):
        own = min(max(leaves - BITS * w, 0), BITS)
        masks[:n_rows, w] = (1 << BITS) - 1
        label_masks[:, w] = (1 << own) - 1
    for i in range(len(tree)):
        s, b, rule, yes, no = tree[i, 0], tree[i, 1], tree[i, 2], tree[i, 3], tree[i, 4]
        if s == LEAF or rule == HAS:
            continue
        n = len(label_masks) if s == LABEL else n_bins[s]
        for x in range(n):
            if rule == EQUAL:
                true = x == b
            elif rule == SUBSET:
                true = sets[b, x] != 0
            else:
                true = x <= b or (rule == AT_MOST_OR_SPECIAL and x >= n - 2)
            mask = label_masks[x] if s == LABEL else masks[mask_of[s] + x]
            out = no if true else yes
            _rule_out(mask, low[out], high[out])


@part
def _keep_bins(column, places, t0, m, shift, masks, first_mask, here):
    """here[r] &= the mask of what the place t0 + r has in a column at an offset."""
    own, block = masks[first_mask:], places[t0 : t0 + m]
    if masks.shape[1] == 1:
        for r in range(m):
            here[r, 0] &= own[column[np.uint64(block[r] + shift)], 0]  # an unsigned index is not checked for its sign
    elif masks.shape[1] == 2:
        for r in range(m):
            x = column[np.uint64(block[r] + shift)]
            here[r, 0] &= own[x, 0]
            here[r, 1] &= own[x, 1]
    else:
        for r in range(m):
            x = column[np.uint64(block[r] + shift)]
            for w in range(masks.shape[1]):
                here[r, w] &= own[x, w]


@part
def _keep_items(items, ptr, places, t0, m, shift, item, yes, no, low, high, here):
    """here[r] &= the side of a split on a sparse item that the place t0 + r goes to."""
    for r in range(m):
        at = places[t0 + r] + shift
        found = False
        for q in range(ptr[at], ptr[at + 1]):
            found |= items[q] == item
        out = no if found else yes
        _rule_out(here[r], low[out], high[out])


@part
def _keep_labels(here, label_masks, place_of, first, places, t0, m, leaf_value, scale, edge_scores, node_scores):
    """Add the value of the one leaf that is left to the score of each row. place_of int64[67]: 2^i mod 67 → i."""
    K, W = edge_scores.shape[1], here.shape[1]
    block, edges, nodes = places[t0 : t0 + m], edge_scores[t0 : t0 + m], node_scores[t0 : t0 + m]
    for r in range(m):
        start = first[np.uint64(block[r])] != 0
        for u in range(K, K + 1) if start else range(K):
            word, before = 0, 0
            for w in range(W):
                own = here[r, w] & label_masks[u, w]
                word |= own
                before += BITS * w if own != 0 else 0
            leaf = np.uint64(before + place_of[np.uint64(word) % np.uint64(67)])
            if start:
                nodes[r] += scale * leaf_value[leaf]
            else:
                edges[r, u] += scale * leaf_value[leaf]


@kernel
def add_tree(
    bins, streams, n_dense, items, item_ptr, places, first, tree, value, sets, scale, place_of, used, mask_of, masks,
    label_masks, leaf_value, nodes, here, edge_scores, node_scores,
):  # fmt: skip
    """Add the values of a tree, times scale, to the scores of one label.

    IN   bins, streams, items, item_ptr as in `growing.Columns`; places int64[n], first uint8[P]; tree int64[·, 5],
         value float64[·], sets uint8[·, ·]; place_of int64[67]: 2^i mod 67 → i
    WORK used, mask_of int64[streams], masks int64[·, W], label_masks int64[K'+1, W], leaf_value float64[·],
         nodes int64[3, ·], here int64[BLOCK, W]
    OUT  edge_scores float64[n, K'], node_scores float64[n] for ⊥
    """
    n_used, n_rows = _place_streams(tree, streams[3], used, mask_of)
    low, high = nodes[0, : len(tree)], nodes[1, : len(tree)]
    _build(
        tree, value, sets, streams[3], mask_of, n_rows, masks, label_masks, leaf_value, low, high, nodes[2],
    )  # fmt: skip
    for t0 in range(0, len(places), BLOCK):
        m = min(BLOCK, len(places) - t0)
        here[:m] = (1 << BITS) - 1
        for j in range(n_used):
            s = used[j]
            _keep_bins(bins[streams[0, s]], places, t0, m, streams[1, s], masks, mask_of[s], here)
        for i in range(len(tree)):
            if tree[i, 2] == HAS and tree[i, 0] != LEAF:
                s = tree[i, 0]
                ptr = item_ptr[streams[0, s] - n_dense]
                yes, no = tree[i, 3], tree[i, 4]
                _keep_items(items, ptr, places, t0, m, streams[1, s], tree[i, 1], yes, no, low, high, here)
        _keep_labels(here, label_masks, place_of, first, places, t0, m, leaf_value, scale, edge_scores, node_scores)
