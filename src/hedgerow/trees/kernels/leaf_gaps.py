"""The leaves of every row of a tree in which a missing value is none; the masks of `leaf_masks`, with gaps.

No value rules out no leaf. By surrogates, each split on a stream without a value then sends the place one way after
all. By shares it has several leaves, and the share of each is a product: for every stream there is a factor for each
leaf, the product of the shares of all splits on that stream that lead to the leaf.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hedgerow.jit import part
from hedgerow.legend import AnyArray
from hedgerow.trees.kernels.sides import ask_surrogates
from hedgerow.trees.nodes import COLUMN, FALSE_CHILD, LEAF_BITS, MISSING_BIN, OFFSET, STREAM, TRUE_CHILD


class Gaps(NamedTuple):
    """What a tree has besides: shares float64[·]; surrogates int64[·, 2], ways uint8[·, 32] by node, those of node i at
    ptr[i] … ptr[i+1]-1, int64[·]; where there are none, rows go by shares.

    WORK group int64[K'], group_masks int64[K'+2, W], sums float64[K'+1], number int64[2, streams], factors and shared
         float64[streams, L], sides int64[·, 2, W], lost int32[BLOCK, streams+1], n_lost int64[BLOCK]
    """

    shares: AnyArray
    surrogates: AnyArray
    ways: AnyArray
    ptr: AnyArray
    group: AnyArray
    group_masks: AnyArray
    sums: AnyArray
    number: AnyArray
    factors: AnyArray
    shared: AnyArray
    sides: AnyArray
    lost: AnyArray
    n_lost: AnyArray


@part
def _number_streams(tree, streams, used, n_used, number):
    """Number the streams in which a tree may miss a value: the dense ones in `used`, then sparse ones, appended to it.

    OUT number int64[streams], −1 for all others; returns how many there are
    """
    number[:] = -1
    for j in range(n_used):
        number[used[j]] = j
    for i in range(len(tree)):
        s = tree[i, STREAM]
        if s >= 0 and number[s] < 0 and streams[MISSING_BIN, s] >= 0:
            number[s], used[n_used] = n_used, s
            n_used += 1
    return n_used


@part
def _share_leaves(tree, shares, number, low, high, leaf_value, factors, shared):
    """OUT factors float64[·, L]: the shares of all splits on a stream that lead to a leaf, multiplied; shared
    float64[·, L]: times the leaf's value."""
    factors[:] = 1.0
    for i in range(len(tree)):
        if tree[i, STREAM] >= 0 and number[tree[i, STREAM]] >= 0:
            factor, yes, no = factors[number[tree[i, STREAM]]], tree[i, TRUE_CHILD], tree[i, FALSE_CHILD]
            for leaf in range(low[yes], high[yes]):
                factor[leaf] *= shares[i]
            for leaf in range(low[no], high[no]):
                factor[leaf] *= 1.0 - shares[i]
    for j in range(len(factors)):
        for leaf in range(high[0]):
            shared[j, leaf] = leaf_value[leaf] * factors[j, leaf]


@part
def _match_labels(label_masks, group, group_masks):
    """Put previous labels that come to the same leaves into one group; returns how many groups there are.

    OUT group int64[K]: of each label; group_masks int64[K+2, W]: of each group, the first being ⊥ alone; and, last, of
    all labels but ⊥
    """
    K, W, n = len(label_masks) - 1, label_masks.shape[1], 1
    group_masks[K + 1] = 0
    for w in range(W):
        group_masks[0, w] = label_masks[K, w]
    for u in range(K):
        group[u] = n
        for c in range(1, n):
            equal = True
            for w in range(W):
                equal &= label_masks[u, w] == group_masks[c, w]
            group[u] = c if equal else group[u]
        n += group[u] == n
        for w in range(W):
            group_masks[group[u], w] = label_masks[u, w]
            group_masks[K + 1, w] |= label_masks[u, w]
    return n


@part
def _find_sides(tree, number, low, high, sides):
    """OUT sides int64[·, 2, W]: the leaves on the true and on the false side of each split on a numbered stream."""
    for i in range(len(tree)):
        if tree[i, STREAM] >= 0 and number[tree[i, STREAM]] >= 0:
            for side in range(2):
                child = tree[i, TRUE_CHILD + side]
                for w in range(sides.shape[2]):
                    begin, end = max(low[child] - LEAF_BITS * w, 0), min(high[child] - LEAF_BITS * w, LEAF_BITS)
                    sides[i, side, w] = ((1 << (end - begin)) - 1) << begin if end > begin else 0


@part
def _chain_nodes(tree, number, first_on, next_on):
    """The splits on each stream: the first one, and the next after each; −1 ends them. OUT first_on, next_on."""
    first_on[:] = -1
    for i in range(len(tree) - 1, -1, -1):
        if tree[i, STREAM] >= 0 and number[tree[i, STREAM]] >= 0:
            j = number[tree[i, STREAM]]
            next_on[i], first_on[j] = first_on[j], i


@part
def _note_lost(column, places, t0, m, shift, missing_bin, j, lost, n_lost):
    """Append j to what the place t0 + r has no value for, where that is so. OUT lost int32[BLOCK, ·], n_lost[BLOCK]."""
    block = places[t0 : t0 + m]
    for r in range(m):
        lost[r, np.uint64(n_lost[r])] = j
        n_lost[r] += column[np.uint64(block[r] + shift)] == missing_bin


@part
def _note_lost_items(items, ptr, places, t0, m, shift, missing_bin, j, lost, n_lost):
    """As _note_lost, of a sparse stream."""
    for r in range(m):
        at = places[t0 + r] + shift
        for q in range(ptr[at], ptr[at + 1]):
            if items[q] == missing_bin:
                lost[r, n_lost[r]] = j
                n_lost[r] += 1


@part
def note_lost(bins, streams, n_dense, items, item_ptr, places, t0, m, used, n_used, gaps):
    """OUT of gaps lost int32[BLOCK, ·], n_lost[BLOCK]: what each place of a block has no value for, of the streams in
    `used`, the first n_used of which are dense."""
    gaps.n_lost[:m] = 0
    for j in range(len(used)):
        s = used[j]
        c, shift, missing_bin = streams[COLUMN, s], streams[OFFSET, s], streams[MISSING_BIN, s]
        if j < n_used:
            _note_lost(bins[c], places, t0, m, shift, missing_bin, j, gaps.lost, gaps.n_lost)
        else:
            ptr = item_ptr[c - n_dense]
            _note_lost_items(items, ptr, places, t0, m, shift, missing_bin, j, gaps.lost, gaps.n_lost)


@part
def prepare_gaps(tree, streams, used, n_used, low, high, leaf_value, label_masks, next_on, gaps):
    """What all places of a tree share. Returns how many streams may miss a value, and how many groups of labels there
    are, 0 where surrogates are asked.

    IN   used int64[·], of which the first n_used are set; low, high, leaf_value, label_masks as masks are made of
    OUT  used; next_on int64[·]: the next split on the same stream; and in gaps
    """
    number = gaps.number[0]
    n_lossy = _number_streams(tree, streams, used, n_used, number)
    if len(gaps.surrogates) > 0:
        _chain_nodes(tree, number, gaps.number[1], next_on)
        _find_sides(tree, number, low, high, gaps.sides)
        return n_lossy, 0
    _share_leaves(tree, gaps.shares, number, low, high, leaf_value, gaps.factors[:n_lossy], gaps.shared)
    return n_lossy, _match_labels(label_masks, gaps.group, gaps.group_masks)


@part
def keep_surrogates(bins, streams, places, t0, m, first, next_on, gaps, here):
    """here[r] &= the sides of the splits that the place t0 + r has no value for. A split is asked for where both sides
    are left."""
    W, first_on, sides = here.shape[1], gaps.number[1], gaps.sides
    for r in range(m):
        p, mask = places[t0 + r], here[r]
        start = first[p] != 0
        for q in range(gaps.n_lost[r]):
            i = first_on[gaps.lost[r, q]]
            while i >= 0:
                true = false = 0
                for w in range(W):
                    true |= mask[w] & sides[i, 0, w]
                    false |= mask[w] & sides[i, 1, w]
                if true != 0 and false != 0:
                    span = slice(gaps.ptr[i], gaps.ptr[i + 1])
                    streams_of, ways = gaps.surrogates[span, 1], gaps.ways[span]
                    out = 1 if ask_surrogates(bins, streams, streams_of, ways, gaps.shares[i], start, p) else 0
                    for w in range(W):
                        mask[w] &= ~sides[i, out, w]
                i = next_on[i]


@part
def add_shares(here, n_groups, place_of, first, places, t0, m, leaf_value, gaps, scale, edge_scores, node_scores):
    """Add the values of all leaves that are left, times their shares, to the score of each row."""
    K, W, sums, group_masks = edge_scores.shape[1], here.shape[1], gaps.sums, gaps.group_masks
    lost, factors, shared = gaps.lost, gaps.factors, gaps.shared
    block, edges, nodes = places[t0 : t0 + m], edge_scores[t0 : t0 + m], node_scores[t0 : t0 + m]
    for r in range(m):
        start, n = first[np.uint64(block[r])] != 0, gaps.n_lost[r]
        low, high, every = (0, 1, 0) if start else (1, n_groups, K + 1)
        masks, totals, here_r, lost_r = group_masks[low:high], sums[low:high], here[r], lost[r]
        totals[:] = 0.0
        for w in range(W):
            left = here_r[w] & group_masks[every, w]
            while left:
                bit = left & -left
                left ^= bit
                leaf = np.uint64(LEAF_BITS * w + place_of[np.uint64(bit) % np.uint64(67)])
                value = shared[np.uint64(lost_r[0]), leaf] if n else leaf_value[leaf]
                for q in range(1, n):
                    value *= factors[np.uint64(lost_r[q]), leaf]
                for c in range(len(masks)):
                    totals[c] += value if masks[c, w] & bit else 0.0
        if start:
            nodes[r] += scale * totals[0]
        else:
            for u in range(K):
                edges[r, u] += scale * sums[np.uint64(gaps.group[u])]
