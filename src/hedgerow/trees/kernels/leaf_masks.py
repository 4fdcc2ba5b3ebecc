"""The leaf of every row of a tree, without walking it.

A tree's leaves are numbered from its true side to its false side, so that those below a node are a run. For each value
x of a stream, a mask says which leaves a place with x there can come to: every split on the stream sends x one way, and
rules out the leaves of the other side. The masks of all streams that the tree uses, and of the previous label, have
one leaf in common.

A mask is W words of LEAF_BITS bits each, in int64.

Where a missing value is none, it rules out no leaf; see `leaf_gaps`.
"""

import numpy as np

from hedgerow.jit import kernel, part
from hedgerow.trees.kernels.leaf_gaps import add_shares, keep_surrogates, note_lost, prepare_gaps
from hedgerow.trees.kernels.sides import goes_true
from hedgerow.trees.nodes import (
    BIN,
    COLUMN,
    EQUAL,
    FALSE_CHILD,
    HAS,
    LABEL,
    LEAF,
    LEAF_BITS,
    MISSING_BIN,
    N_BINS,
    OFFSET,
    RULE,
    STREAM,
    TRUE_CHILD,
)

BLOCK = 512  # places whose masks are made together


@part
def _number_leaves(tree, value, low, high, stack, leaf_value):
    """OUT low, high int64[·]: the run of leaves below each node; leaf_value float64[L]. Returns how many leaves."""
    leaves, depth = 0, 1
    stack[0] = 0
    low[:] = -1
    while depth > 0:
        node = stack[depth - 1]
        if tree[node, STREAM] == LEAF:
            low[node], high[node], leaf_value[leaves] = leaves, leaves + 1, value[node]
            leaves += 1
            depth -= 1
        elif low[node] < 0:  # on the way down to the true side
            low[node], high[node] = leaves, -1
            stack[depth] = tree[node, TRUE_CHILD]
            depth += 1
        elif high[node] < 0:  # on the way down to the false side
            high[node] = 0
            stack[depth] = tree[node, FALSE_CHILD]
            depth += 1
        else:
            high[node] = leaves
            depth -= 1
    return leaves


@part
def _all_but(low, high, w):
    """Word w of a mask without the leaves low … high-1."""
    begin, end = max(low - LEAF_BITS * w, 0), min(high - LEAF_BITS * w, LEAF_BITS)
    return ~(((1 << (end - begin)) - 1) << begin) if end > begin else -1


@part
def _place_streams(tree, n_bins, used, mask_of):
    """OUT used int64[·]: the dense streams that a tree splits on; mask_of int64[streams]: the first mask of each.

    Returns how many streams, and how many masks.
    """
    mask_of[:] = -1
    n_used = n_rows = 0
    for i in range(len(tree)):
        s = tree[i, STREAM]
        if s >= 0 and tree[i, RULE] != HAS and mask_of[s] < 0:
            mask_of[s], used[n_used] = n_rows, s
            n_used, n_rows = n_used + 1, n_rows + n_bins[s]
    return n_used, n_rows


@part
def _build_masks(tree, value, sets, streams, gaps, mask_of, n_rows, masks, label_masks, leaf_value, low, high, stack):
    """The masks of one tree. gaps: whether a missing value is none.

    OUT  masks int64[≥ n_rows, W], label_masks int64[K+1, W], leaf_value float64[≥ leaves], low and high of each node
    """
    leaves = _number_leaves(tree, value, low, high, stack, leaf_value)
    for w in range(masks.shape[1]):
        n_bits = min(max(leaves - LEAF_BITS * w, 0), LEAF_BITS)
        masks[:n_rows, w] = (1 << LEAF_BITS) - 1
        label_masks[:, w] = (1 << n_bits) - 1
    for i in range(len(tree)):
        s, b, rule, yes, no = tree[i, STREAM], tree[i, BIN], tree[i, RULE], tree[i, TRUE_CHILD], tree[i, FALSE_CHILD]
        if s == LEAF or rule == HAS:
            continue
        n, missing_bin = (len(label_masks), -1) if s == LABEL else (streams[N_BINS, s], streams[MISSING_BIN, s])
        table = label_masks if s == LABEL else masks[mask_of[s] :]
        for w in range(masks.shape[1]):
            if_true, if_false = _all_but(low[no], high[no], w), _all_but(low[yes], high[yes], w)
            lost, one = table[missing_bin, w], table[min(b, n - 1), w] & if_true
            for x in range(n):
                table[x, w] &= if_true if rule != EQUAL and goes_true(rule, b, x, n, sets, b) else if_false
            if rule == EQUAL and b < n:
                table[b, w] = one
            if gaps and missing_bin >= 0:
                table[missing_bin, w] = lost


@part
def _keep_bins(column, places, t0, m, shift, masks, first_mask, here):
    """here[r] &= the mask of what the place t0 + r has in a column at an offset."""
    table, block = masks[first_mask:], places[t0 : t0 + m]
    if masks.shape[1] == 1:
        for r in range(m):
            here[r, 0] &= table[column[np.uint64(block[r] + shift)], 0]  # an unsigned index is not checked for its sign
    elif masks.shape[1] == 2:
        for r in range(m):
            x = column[np.uint64(block[r] + shift)]
            low, high = here[r, 0] & table[x, 0], here[r, 1] & table[x, 1]
            here[r, 0], here[r, 1] = low, high
    else:
        for r in range(m):
            x = column[np.uint64(block[r] + shift)]
            for w in range(masks.shape[1]):
                here[r, w] &= table[x, w]


@part
def _keep_items(items, ptr, places, t0, m, shift, split, missing_item, low, high, here):
    """here[r] &= the side of a split on a sparse item that the place t0 + r goes to; none where it has no value, for
    which `missing_item` stands."""
    for r in range(m):
        at, seen, known = places[t0 + r] + shift, False, True
        for q in range(ptr[at], ptr[at + 1]):
            seen |= items[q] == split[BIN]
            known &= items[q] != missing_item
        if known:
            out = split[FALSE_CHILD] if seen else split[TRUE_CHILD]
            for w in range(here.shape[1]):
                here[r, w] &= _all_but(low[out], high[out], w)


@part
def _differs(label_masks, u, v):
    """Whether the masks of two previous labels differ."""
    found = False
    for w in range(label_masks.shape[1]):
        found |= label_masks[u, w] != label_masks[v, w]
    return found


@part
def _mark_special(label_masks, special):
    """OUT special int64[K]: 1 for the previous labels that a tree tells from the others. Returns one of the others,
    whose mask is that of most labels where most have the same."""
    K, common, lead = len(label_masks) - 1, 0, 0
    for u in range(K):  # a vote: more than half of all outlast the rest
        common = u if lead == 0 else common
        lead += -1 if _differs(label_masks, u, common) else 1
    for u in range(K):
        special[u] = _differs(label_masks, u, common)
    return common


@part
def _leaf_left(here, mask, place_of):
    """The one leaf that a place and a previous label have in common. place_of int64[67]: 2^i mod 67 → i."""
    word, before = 0, 0
    for w in range(len(mask)):
        left = here[w] & mask[w]
        word |= left
        before += LEAF_BITS * w if left != 0 else 0
    return np.uint64(before + place_of[np.uint64(word) % np.uint64(67)])


@part
def _find_values(here, m, mask, place_of, leaf_value, value):
    """OUT value float64[≥ m]: that of the one leaf that a mask leaves to each of m places."""
    if len(mask) == 2:
        low, high = mask[0], mask[1]
        for r in range(m):
            left, right = here[r, 0] & low, here[r, 1] & high
            leaf = place_of[np.uint64(left | right) % np.uint64(67)] + (LEAF_BITS if right != 0 else 0)
            value[r] = leaf_value[np.uint64(leaf)]
    else:
        for r in range(m):
            value[r] = leaf_value[_leaf_left(here[r], mask, place_of)]


@part
def _add_values(here, label_masks, common, special, values, place_of, first, block, leaf_value, edges, nodes):
    """Add the value of the one leaf that is left to the score of each row, a previous label after the other: that of a
    common one is found once. A place that is first has no leaf left then, and place_of[0] is one of value 0."""
    m, K, n_first = len(block), edges.shape[1], 0
    for r in range(m):
        n_first += first[np.uint64(block[r])] != 0
    if n_first == m:  # edges are shared
        _find_values(here, m, label_masks[K], place_of, leaf_value, values[0])
        for r in range(m):
            nodes[r] += values[0, r]
        return
    for r in range(m):
        if first[np.uint64(block[r])] != 0:
            nodes[r] += leaf_value[_leaf_left(here[r], label_masks[K], place_of)]
            here[r, :] = 0
    _find_values(here, m, label_masks[common], place_of, leaf_value, values[0])
    for u in range(K):
        if special[u]:
            _find_values(here, m, label_masks[u], place_of, leaf_value, values[1])
        value = values[special[u]]
        for r in range(m):
            edges[r, u] += value[r]


@kernel
def add_tree(
    bins, streams, n_dense, items, item_ptr, places, first, tree, value, sets, scale, place_of, used, mask_of, masks,
    label_masks, leaf_value, nodes, here, special, values, gaps, edge_scores, node_scores,
):  # fmt: skip
    """Add the values of a tree, times scale, to the scores of one label.

    IN   bins, streams, items, item_ptr as in `state.Columns`; places int32[n], first uint8[P]; tree int64[·, 5],
         value float64[·], sets uint8[·, ·]; place_of int64[67]: 2^i mod 67 → i, and 0 → a leaf of value 0;
         gaps: () where a missing value is one more value, else `leaf_gaps.Gaps`
    WORK used, mask_of int64[streams], masks int64[·, W], label_masks int64[K'+1, W], leaf_value float64[·],
         nodes int64[4, ·], here int64[BLOCK, W], special int64[K'], values float64[2, BLOCK]
    OUT  edge_scores float64[n, K'], node_scores float64[n] for ⊥
    """
    n_used, n_rows = _place_streams(tree, streams[N_BINS], used, mask_of)
    low, high, n_lossy, n_groups = nodes[0, : len(tree)], nodes[1, : len(tree)], n_used, 0
    _build_masks(
        tree, value, sets, streams, len(gaps) > 0, mask_of, n_rows, masks, label_masks, leaf_value, low, high, nodes[2],
    )  # fmt: skip
    if len(gaps) > 0:
        n_lossy, n_groups = prepare_gaps(
            tree, streams, used, n_used, low, high, leaf_value, label_masks, nodes[3], gaps
        )  # fmt: skip
    if n_groups == 0:
        leaf_value *= scale
    common = _mark_special(label_masks, special)
    for t0 in range(0, len(places), BLOCK):
        m = min(BLOCK, len(places) - t0)
        here[:m] = (1 << LEAF_BITS) - 1
        for j in range(n_used):
            s = used[j]
            _keep_bins(bins[streams[COLUMN, s]], places, t0, m, streams[OFFSET, s], masks, mask_of[s], here)
        for i in range(len(tree)):
            if tree[i, RULE] == HAS and tree[i, STREAM] != LEAF:
                s = tree[i, STREAM]
                ptr, shift = item_ptr[streams[COLUMN, s] - n_dense], streams[OFFSET, s]
                missing_item = np.int64(-1) if len(gaps) == 0 else streams[MISSING_BIN, s]
                _keep_items(items, ptr, places, t0, m, shift, tree[i], missing_item, low, high, here)
        if len(gaps) > 0:
            note_lost(bins, streams, n_dense, items, item_ptr, places, t0, m, used[:n_lossy], n_used, gaps)
            if n_groups > 0:
                add_shares(
                    here, n_groups, place_of, first, places, t0, m, leaf_value, gaps, scale, edge_scores, node_scores
                )
                continue
            keep_surrogates(bins, streams, places, t0, m, first, nodes[3], gaps, here)
        _add_values(
            here, label_masks, common, special, values, place_of, first, places[t0 : t0 + m], leaf_value,
            edge_scores[t0 : t0 + m], node_scores[t0 : t0 + m],
        )  # fmt: skip
