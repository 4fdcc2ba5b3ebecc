"""The leaf of every row of a tree, without walking it.

A tree's leaves are numbered from its true side to its false side, so that those below a node are a run. For each value
x of a stream, a mask says which leaves a place with x there can come to: every split on the stream sends x one way, and
rules out the leaves of the other side. The masks of all streams that the tree uses, and of the previous label, have
one leaf in common.

A mask is W words of BITS bits each, in int64.

Where a missing value is none (`missing`), it rules out no leaf. By surrogates, each split on a stream without a value
then sends the place one way after all. By shares it has several leaves, and the share of each is a product: for every
stream there is a factor for each leaf, the product of the shares of all splits on that stream that lead to the leaf.
"""

from __future__ import annotations

import numpy as np

from hedgerow.jit import kernel, part

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
def _build(tree, value, sets, streams, gaps, mask_of, n_rows, masks, label_masks, leaf_value, low, high, stack):
    """The masks of one tree. gaps: whether a missing value is none.

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
        n, gone = (len(label_masks), -1) if s == LABEL else (streams[3, s], streams[5, s])
        for x in range(n):
            if gaps and x == gone:
                continue
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
        tree, value, sets, streams, False, mask_of, n_rows, masks, label_masks, leaf_value, low, high, nodes[2],
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


# ------------------------------------------------------------------------------------------------ missing values


@part
def _number_streams(tree, streams, used, n_used, number):
    """Number the streams in which a tree may miss a value: the dense ones in `used`, then sparse ones, appended to it.

    OUT number int64[streams], −1 for all others; returns how many there are
    """
    number[:] = -1
    for j in range(n_used):
        number[used[j]] = j
    for i in range(len(tree)):
        s = tree[i, 0]
        if s >= 0 and number[s] < 0 and streams[5, s] >= 0:
            number[s], used[n_used] = n_used, s
            n_used += 1
    return n_used


@part
def _share_leaves(tree, shares, number, low, high, leaf_value, factors, shared):
    """OUT factors float64[·, L]: the shares of all splits on a stream that lead to a leaf, multiplied; shared
    float64[·, L]: times the leaf's value."""
    factors[:] = 1.0
    for i in range(len(tree)):
        if tree[i, 0] >= 0 and number[tree[i, 0]] >= 0:
            own, yes, no = factors[number[tree[i, 0]]], tree[i, 3], tree[i, 4]
            for leaf in range(low[yes], high[yes]):
                own[leaf] *= shares[i]
            for leaf in range(low[no], high[no]):
                own[leaf] *= 1.0 - shares[i]
    for j in range(len(factors)):
        for leaf in range(high[0]):
            shared[j, leaf] = leaf_value[leaf] * factors[j, leaf]


@part
def _match_labels(label_masks, group, own_masks):
    """Put previous labels that come to the same leaves into one group; returns how many groups there are.

    OUT group int64[K]: of each label; own_masks int64[K+2, W]: of each group, the first being ⊥ alone; and, last, of
    all labels but ⊥
    """
    K, W, n = len(label_masks) - 1, label_masks.shape[1], 1
    own_masks[K + 1] = 0
    for w in range(W):
        own_masks[0, w] = label_masks[K, w]
    for u in range(K):
        group[u] = n
        for c in range(1, n):
            equal = True
            for w in range(W):
                equal &= label_masks[u, w] == own_masks[c, w]
            group[u] = c if equal else group[u]
        n += group[u] == n
        for w in range(W):
            own_masks[group[u], w] = label_masks[u, w]
            own_masks[K + 1, w] |= label_masks[u, w]
    return n


@part
def _find_sides(tree, number, low, high, sides):
    """OUT sides int64[·, 2, W]: the leaves on the true and on the false side of each split on a numbered stream."""
    for i in range(len(tree)):
        if tree[i, 0] >= 0 and number[tree[i, 0]] >= 0:
            for side in range(2):
                child = tree[i, 3 + side]
                for w in range(sides.shape[2]):
                    begin, end = max(low[child] - BITS * w, 0), min(high[child] - BITS * w, BITS)
                    sides[i, side, w] = ((1 << (end - begin)) - 1) << begin if end > begin else 0


@part
def _chain_nodes(tree, number, first_on, next_on):
    """The splits on each stream: the first one, and the next after each; −1 ends them. OUT first_on, next_on."""
    first_on[:] = -1
    for i in range(len(tree) - 1, -1, -1):
        if tree[i, 0] >= 0 and number[tree[i, 0]] >= 0:
            j = number[tree[i, 0]]
            next_on[i], first_on[j] = first_on[j], i


@part
def _note_lost(column, places, t0, m, shift, gone, j, lost, n_lost):
    """Append j to what the place t0 + r has no value for, where that is so. OUT lost int32[BLOCK, ·], n_lost[BLOCK]."""
    block = places[t0 : t0 + m]
    for r in range(m):
        lost[r, np.uint64(n_lost[r])] = j
        n_lost[r] += column[np.uint64(block[r] + shift)] == gone


@part
def _note_lost_items(items, ptr, places, t0, m, shift, gone, j, lost, n_lost):
    """As _note_lost, of a sparse stream."""
    for r in range(m):
        at = places[t0 + r] + shift
        for q in range(ptr[at], ptr[at + 1]):
            if items[q] == gone:
                lost[r, n_lost[r]] = j
                n_lost[r] += 1


@part
def _keep_known_items(items, ptr, places, t0, m, shift, split, gone, low, high, here):
    """As _keep_items, where the item `gone` stands for no value."""
    for r in range(m):
        at, found, known = places[t0 + r] + shift, False, True
        for q in range(ptr[at], ptr[at + 1]):
            found |= items[q] == split[1]
            known &= items[q] != gone
        if known:
            out = split[4] if found else split[3]
            _rule_out(here[r], low[out], high[out])


@part
def _ask_surrogates(bins, streams, i, share, surrogates, ways, ptr, start, p):
    """Whether a place that split i has no value for goes to its true side. `start`: it is first in its sequence."""
    for q in range(ptr[i], ptr[i + 1]):
        s = surrogates[q, 1]
        x = np.int64(start) if s == LABEL else np.int64(bins[streams[0, s], p + streams[1, s]])
        if s == LABEL or x != streams[5, s]:
            return (ways[q, x >> 3] >> (x & 7)) & 1 == 1
    return share == 1.0


@part
def _keep_surrogates(
    bins, streams, shares, surrogates, ways, ptr, first_on, next_on, sides, lost, n_lost, start, p, here
):  # fmt: skip
    """here &= the sides of the splits that a place has no value for. A split is asked for where both sides are left."""
    W = len(here)
    for q in range(n_lost):
        i = first_on[lost[q]]
        while i >= 0:
            true = false = 0
            for w in range(W):
                true |= here[w] & sides[i, 0, w]
                false |= here[w] & sides[i, 1, w]
            if true != 0 and false != 0:
                out = 1 if _ask_surrogates(bins, streams, i, shares[i], surrogates, ways, ptr, start, p) else 0
                for w in range(W):
                    here[w] &= ~sides[i, out, w]
            i = next_on[i]


@part
def _add_shares(
    here, group, own_masks, n_groups, place_of, first, places, t0, m, leaf_value, factors, shared, lost, n_lost, sums,
    scale, edges, nodes,
):  # fmt: skip
    """Add the values of all leaves that are left, times their shares, to the score of each row."""
    K, W = edges.shape[1], here.shape[1]
    block, own_edges, own_nodes = places[t0 : t0 + m], edges[t0 : t0 + m], nodes[t0 : t0 + m]
    for r in range(m):
        start, n = first[np.uint64(block[r])] != 0, n_lost[r]
        low, high, every = (0, 1, 0) if start else (1, n_groups, K + 1)
        masks, totals, here_r, lost_r = own_masks[low:high], sums[low:high], here[r], lost[r]
        totals[:] = 0.0
        for w in range(W):
            left = here_r[w] & own_masks[every, w]
            while left:
                bit = left & -left
                left ^= bit
                leaf = np.uint64(BITS * w + place_of[np.uint64(bit) % np.uint64(67)])
                own = shared[np.uint64(lost_r[0]), leaf] if n else leaf_value[leaf]
                for q in range(1, n):
                    own *= factors[np.uint64(lost_r[q]), leaf]
                for c in range(len(masks)):
                    totals[c] += own if masks[c, w] & bit else 0.0
        if start:
            own_nodes[r] += scale * totals[0]
        else:
            for u in range(K):
                own_edges[r, u] += scale * sums[np.uint64(group[u])]


@kernel
def add_tree_with_gaps(
    bins, streams, n_dense, items, item_ptr, places, first, tree, value, sets, shares, surrogates, ways, surrogate_ptr,
    scale, place_of, used, mask_of, masks, label_masks, leaf_value, nodes, here, group, own_masks, sums, number,
    factors, shared, sides, lost, n_lost, edge_scores, node_scores,
):  # fmt: skip
    """As add_tree, of a tree in which a missing value is none.

    IN   shares float64[·]; surrogates int64[·, 2], ways uint8[·, 32] by node, those of node i at surrogate_ptr[i] …
         surrogate_ptr[i+1]-1; where there are none, rows go by shares
    WORK as add_tree, but nodes int64[4, ·]; group int64[K'], own_masks int64[K'+2, W], sums float64[K'+1], number
         int64[2, streams], factors and shared float64[streams, L], sides int64[·, 2, W], lost int32[BLOCK, streams+1],
         n_lost int64[BLOCK]
    """
    n_used, n_rows = _place_streams(tree, streams[3], used, mask_of)
    low, high = nodes[0, : len(tree)], nodes[1, : len(tree)]
    _build(
        tree, value, sets, streams, True, mask_of, n_rows, masks, label_masks, leaf_value, low, high, nodes[2],
    )  # fmt: skip
    n_lossy, asks, n_groups = _number_streams(tree, streams, used, n_used, number[0]), len(surrogates) > 0, 0
    if asks:
        _chain_nodes(tree, number[0], number[1], nodes[3])
        _find_sides(tree, number[0], low, high, sides)
    else:
        _share_leaves(tree, shares, number[0], low, high, leaf_value, factors[:n_lossy], shared)
        n_groups = _match_labels(label_masks, group, own_masks)
    for t0 in range(0, len(places), BLOCK):
        m = min(BLOCK, len(places) - t0)
        here[:m] = (1 << BITS) - 1
        n_lost[:m] = 0
        for j in range(n_lossy):
            s = used[j]
            if j < n_used:
                _keep_bins(bins[streams[0, s]], places, t0, m, streams[1, s], masks, mask_of[s], here)
                _note_lost(bins[streams[0, s]], places, t0, m, streams[1, s], streams[5, s], j, lost, n_lost)
            else:
                ptr = item_ptr[streams[0, s] - n_dense]
                _note_lost_items(items, ptr, places, t0, m, streams[1, s], streams[5, s], j, lost, n_lost)
        for i in range(len(tree)):
            if tree[i, 2] == HAS and tree[i, 0] != LEAF:
                s = tree[i, 0]
                ptr = item_ptr[streams[0, s] - n_dense]
                _keep_known_items(items, ptr, places, t0, m, streams[1, s], tree[i], streams[5, s], low, high, here)
        if not asks:
            _add_shares(
                here, group, own_masks, n_groups, place_of, first, places, t0, m, leaf_value, factors, shared, lost,
                n_lost, sums, scale, edge_scores, node_scores,
            )  # fmt: skip
            continue
        for r in range(m):
            p = places[t0 + r]
            _keep_surrogates(
                bins, streams, shares, surrogates, ways, surrogate_ptr, number[1], nodes[3], sides, lost[r], n_lost[r],
                first[p] != 0, p, here[r],
            )  # fmt: skip
        _keep_labels(here, label_masks, place_of, first, places, t0, m, leaf_value, scale, edge_scores, node_scores)
