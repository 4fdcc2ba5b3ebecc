"""Growing one tree for all labels, best leaf first: a leaf has a value for each label.

A place has a word (see `state`) for every label, and is in one leaf; the rows of a leaf are a run. The gain of a split
is the sum of its gains for all labels. K is a multiple of four here; a label that is none has words of 0. The true side
of a split is the new leaf, whichever side is counted: so the tree is the same where processes share the rows.

In many columns one value is at most places. Histograms are counted from lists of what differs from it (`Lists`), and
what is then left of the leaf is that value's.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hedgerow.jit import kernel, part
from hedgerow.legend import AnyArray
from hedgerow.trees.kernels.growing import best_leaf, claim_histogram, record
from hedgerow.trees.kernels.histograms import subtract
from hedgerow.trees.kernels.sides import goes_true
from hedgerow.trees.kernels.splits import NO_SPLIT, may_use
from hedgerow.trees.kernels.state import BEGIN, END, HISTOGRAM, KNOWN_WEIGHT, NODE, TRUE_WEIGHT
from hedgerow.trees.nodes import (
    AT_MOST,
    BIN,
    BLOCK_BASE,
    BLOCK_BINS,
    BLOCK_KIND,
    BLOCK_STREAM,
    BLOCK_STRIDE,
    BLOCK_WIDTH,
    COLUMN,
    EQUAL,
    LEAF,
    N_BINS,
    N_SPECIAL,
    OFFSET,
    ORDERED,
    RULE,
    STREAM,
)


class Lists(NamedTuple):
    """What stands at each place, but for the commonest bin of each column, by the window of columns.

    windows int64[G, 2]: lowest offset and width; ptr int64[G, P+1], cells int32[]: of each bin at a place, its cell of
    a histogram at the lowest offset; common int64[C]: the bin that is left out
    """

    windows: AnyArray
    ptr: AnyArray
    cells: AnyArray
    common: AnyArray


class Buffers(NamedTuple):
    """rows int32[n]: runs of leaves; spare int32[n]; side uint8[256]; hist int64[H, B, K]; below int64[2, K] and known
    float64[3, K] of a leaf whose split is sought. Of leaf i: leaf int64[9, L] (fields of `state`); gain float64[L];
    split int64[L, 5]; labels int64[L, K]."""

    rows: AnyArray
    spare: AnyArray
    side: AnyArray
    hist: AnyArray
    below: AnyArray
    known: AnyArray
    leaf: AnyArray
    gain: AnyArray
    split: AnyArray
    labels: AnyArray


@part
def _add(sums, values):
    """sums += values, label by label."""
    for k in range(len(values)):
        sums[k] += values[k]


@part
def _count(blocks, lists, words, rows, total, hist):
    """OUT hist int64[B, K]: the sums of some rows, of `total` int64[K], by bin and offset."""
    hist[:] = 0
    for r in range(len(rows)):
        word = words[np.uint64(rows[r])]
        for w in range(len(lists.windows)):
            first, ptr = rows[r] + lists.windows[w, 0], lists.ptr[w]
            for j in range(lists.windows[w, 1]):
                for q in range(ptr[first + j], ptr[first + j + 1]):
                    _add(hist[np.uint64(lists.cells[q] - j)], word)
    for c in range(len(blocks)):
        stride, base = blocks[c, BLOCK_STRIDE], blocks[c, BLOCK_BASE]
        for back in range(blocks[c, BLOCK_WIDTH]):
            left = hist[base + lists.common[c] * stride + back]
            _add(left, total)
            for x in range(blocks[c, BLOCK_BINS]):
                if x != lists.common[c]:
                    subtract(left, hist[base + x * stride + back])


@part
def _term(word, g, d, l2_regularization, bits, high):
    """A_L²/(λ+n_L) + A_R²/(λ+n_R) of one label. word: of the true side; g, d: A and λ+n of the leaf; high: 2^(32−bits).

    Processors turn four whole numbers of 32 bits into floats at once, and wider ones one by one.
    """
    n = float(np.int32(word & ((1 << bits) - 1)))
    a = float(np.int32(word >> 32)) * high + float(np.int32((word & 0xFFFFFFFF) >> bits))
    r, left, right = g - a, l2_regularization + n, d - n
    return np.divide(a * a * right + r * r * left, left * right)  # "/" asks whether that is 0, one by one


@part
def _score(word, known, rules, n_all):
    """The sum of _term over labels, in four sums that are added in the end; −inf where a side is too small. n_all: the
    weight of the leaf."""
    l2, bits, mask, high = rules.l2_regularization, rules.bits, (1 << rules.bits) - 1, 2.0 ** (32 - rules.bits)
    g, d, terms = known[0], known[1], known[2]
    a = b = c = e = 0.0
    n = 0
    for k in range(len(word)):
        n += word[k] & mask
    if n < rules.least or n_all - n < rules.least:
        return -np.inf
    for k in range(len(word)):
        terms[k] = _term(word[k], g[k], d[k], l2, bits, high)
    for k in range(0, len(word), 4):
        a += terms[k]
        b += terms[k + 1]
        c += terms[k + 2]
        e += terms[k + 3]
    return (a + b) + (c + e)


@part
def _is_empty(word):
    k = 0
    while k < len(word) and word[k] == 0:
        k += 1
    return k == len(word)


@part
def _try(stream, bin_, rule, word, known, rules, n_all, best, split):
    score = _score(word, known, rules, n_all)
    if score > best:
        split[STREAM], split[BIN], split[RULE], split[TRUE_WEIGHT] = stream, bin_, rule, 0
        for k in range(len(word)):
            split[TRUE_WEIGHT] += word[k] & ((1 << rules.bits) - 1)
        return score
    return best


@part
def _find_code(hist, block, stream, back, known, rules, n_all, best, split):
    """The best one-against-rest split at an offset; of two values one is tried."""
    first, stride, present = block[BLOCK_BASE] + back, block[BLOCK_STRIDE], 0
    for x in range(block[BLOCK_BINS]):
        present += not _is_empty(hist[first + x * stride])
    for x in range(block[BLOCK_BINS] if present > 1 else 0):
        if not _is_empty(hist[first + x * stride]):
            best = _try(stream, x, np.int64(EQUAL), hist[first + x * stride], known, rules, n_all, best, split)
            if present == 2:
                break
    return best


@part
def _find_threshold(hist, block, stream, back, below, known, rules, n_all, best, split):
    """The best threshold at an offset; missing and outside, the last two bins, go where they gain more."""
    first, stride, n = block[BLOCK_BASE] + back, block[BLOCK_STRIDE], block[BLOCK_BINS] - N_SPECIAL
    both, special = below[1], not (_is_empty(hist[first + n * stride]) and _is_empty(hist[first + (n + 1) * stride]))
    below[:] = 0
    for x in range(n, n + N_SPECIAL):
        _add(both, hist[first + x * stride])
    for x in range(n if special else n - 1):  # the last threshold parts values from special bins alone
        bin_ = hist[first + x * stride]
        if not _is_empty(bin_) or x == 0:
            _add(below[0], bin_)
            _add(both, bin_)
            best = _try(stream, x, np.int64(AT_MOST), below[0], known, rules, n_all, best, split)
            if special:
                best = _try(stream, x, np.int64(AT_MOST + 1), both, known, rules, n_all, best, split)
    return best


@part
def _find_split(blocks, rules, buffers, i):
    """The split of leaf i: of the features drawn for it, or of all where none of these gains. Ties go to the first in
    (stream, bin, rule) order.

    OUT  split of the leaf; returns the gain, 0 where nothing gains
    """
    total, known, below, mask = buffers.labels[i], buffers.known, buffers.below, (1 << rules.bits) - 1
    hist, split, node = buffers.hist[buffers.leaf[HISTOGRAM, i]], buffers.split[i], buffers.leaf[NODE, i]
    base, n_all = 0.0, 0
    for k in range(len(total)):
        n_all += total[k] & mask
        known[0, k], known[1, k] = total[k] >> rules.bits, rules.l2_regularization + (total[k] & mask)
        base += known[0, k] * known[0, k] / known[1, k]
    base *= 1.0 + 1e-12  # so that no gain is a matter of rounding
    best = base
    split[STREAM], split[KNOWN_WEIGHT] = NO_SPLIT, n_all
    for share in (rules.share, 1.0):
        for c in range(len(blocks)):
            for j in range(blocks[c, BLOCK_WIDTH]):
                stream, back = blocks[c, BLOCK_STREAM] + j, blocks[c, BLOCK_WIDTH] - 1 - j
                if not may_use(rules.seed, node, stream, share):
                    continue
                if blocks[c, BLOCK_KIND] == ORDERED:
                    best = _find_threshold(hist, blocks[c], stream, back, below, known, rules, n_all, best, split)
                else:
                    best = _find_code(hist, blocks[c], stream, back, known, rules, n_all, best, split)
        if best > base or share >= 1.0:
            break
    return best - base if best > base else 0.0


@part
def _divide(columns, buffers, i, new, leaving):
    """Cut the run of leaf i in place: what holds for its split stands first. Leaf `new` becomes the side that leaves:
    1 the true one, 0 the other, −1 that of fewer rows. Returns whether that is the true side."""
    rows, spare, side, leaf, split = buffers.rows, buffers.spare, buffers.side, buffers.leaf, buffers.split[i]
    begin, end, s, m, left = leaf[BEGIN, i], leaf[END, i], split[STREAM], 0, 0
    column, offset = columns.bins[columns.streams[COLUMN, s]], columns.streams[OFFSET, s]
    n_bins = columns.streams[N_BINS, s]
    for x in range(n_bins):
        side[x] = goes_true(split[RULE], split[BIN], x, n_bins, buffers.split, 0)  # which has no SUBSET
    for r in range(begin, end):
        p = rows[r]
        yes = side[column[np.uint64(p + offset)]]
        rows[begin + m] = spare[left] = p
        m, left = m + yes, left + 1 - yes
    for r in range(left):
        rows[begin + m + r] = spare[r]
    true_leaves = m <= left if leaving < 0 else leaving > 0
    leaf[BEGIN, new], leaf[END, new] = (begin, begin + m) if true_leaves else (begin + m, end)
    leaf[BEGIN, i], leaf[END, i] = (begin + m, end) if true_leaves else (begin, begin + m)
    return true_leaves


@part
def _take(blocks, lists, words, buffers, i, counted, hist):
    """The sums of leaf i; and its histogram, where `counted`."""
    run, labels = buffers.rows[buffers.leaf[BEGIN, i] : buffers.leaf[END, i]], buffers.labels[i]
    labels[:] = 0
    for r in range(len(run)):
        _add(labels, words[np.uint64(run[r])])
    if counted:
        _count(blocks, lists, words, run, labels, hist)


@kernel
def grow(columns, lists, places, words, rules, buffers, tree, sums, gains, leaf_of):
    """Grow a tree for all labels; returns how many leaves it has.

    IN   columns, rules (see `state`); lists; places int32[n]; words int64[P, K]
    OUT  tree int64[2L, 5]; sums int64[2L, K], gains float64[2L] of its nodes; leaf_of uint16[P]: the leaf of each
         place; in buffers, the node of each leaf
    """
    leaf, gain, labels, hist, rows = buffers.leaf, buffers.gain, buffers.labels, buffers.hist, buffers.rows
    i, new, n_nodes, L, true_leaves = -1, 0, 1, rules.max_leaf_nodes, True
    for r in range(len(places)):
        rows[r] = places[r]
    tree[0, :] = 0
    tree[0, STREAM] = LEAF
    leaf[:, 0] = 0
    leaf[END, 0] = len(places)
    while True:  # leaf `new` has been taken out of leaf i
        counted = new + 1 < L  # nothing of the last one is split any more
        h = new if new < len(hist) else claim_histogram(leaf[HISTOGRAM], gain, len(hist), new, i) if counted else 0
        leaf[HISTOGRAM, new] = h if counted else -1
        _take(columns.blocks, lists, words, buffers, new, counted, hist[h])
        if i >= 0:
            subtract(labels[i], labels[new])
            if counted:
                subtract(hist[leaf[HISTOGRAM, i]], hist[h])
            if not true_leaves:
                for f in range(len(leaf)):
                    leaf[f, i], leaf[f, new] = leaf[f, new], leaf[f, i]
                for k in range(labels.shape[1]):
                    labels[i, k], labels[new, k] = labels[new, k], labels[i, k]
        for z in (i, new):
            if z >= 0:
                sums[leaf[NODE, z], :] = 0
                _add(sums[leaf[NODE, z]], labels[z])
                gains[leaf[NODE, z]] = 0.0
                if counted:
                    gain[z] = _find_split(columns.blocks, rules, buffers, z)
        new += 1
        i = best_leaf(gain, new)
        if new == L or gain[i] <= 0.0:
            break
        if leaf[HISTOGRAM, i] < 0:
            leaf[HISTOGRAM, i] = claim_histogram(leaf[HISTOGRAM], gain, len(hist), new, i)
            run = rows[leaf[BEGIN, i] : leaf[END, i]]
            _count(columns.blocks, lists, words, run, labels[i], hist[leaf[HISTOGRAM, i]])
        parent, true_leaves = leaf[NODE, i], _divide(columns, buffers, i, new, -1)
        record(tree, buffers.split[i], parent, 0, n_nodes)
        gains[parent] = gain[i]
        leaf[NODE, new], leaf[NODE, i] = (n_nodes, n_nodes + 1) if true_leaves else (n_nodes + 1, n_nodes)
        n_nodes += 2
    for i in range(new):
        for r in range(leaf[BEGIN, i], leaf[END, i]):
            leaf_of[np.uint64(rows[r])] = i
    return new


# ------------------------------------------------------------------------------------------------ shared by processes


@kernel
def cut_vectors(columns, lists, words, buffers, split, i, new, counted, hist):
    """Cut leaf `new`, the side of less weight, out of leaf i, where that is one, and sum it up; count it, where
    `counted`. IN split int64[5]; words int64[P, K]. OUT buffers; hist int64[B, K]"""
    if i >= 0:
        for f in range(len(split)):
            buffers.split[i, f] = split[f]
        _divide(columns, buffers, i, new, np.int64(2 * split[TRUE_WEIGHT] <= split[KNOWN_WEIGHT]))
    _take(columns.blocks, lists, words, buffers, new, counted, hist)


@kernel
def settle_vectors(columns, rules, buffers, i, new, counted, drawn):
    """Take what leaf `new` has, as all members counted it, out of leaf i; find the splits of both, where `counted`.

    IN   in buffers, labels and hist of leaf `new`, and the nodes of both; i is −1 for the root
    OUT  the rest of buffers; drawn uint8[2]: whether each split is on a feature that was drawn for its node
    """
    hist, split, gain = buffers.hist, buffers.split, buffers.gain
    buffers.leaf[HISTOGRAM, new] = new
    if i >= 0:
        subtract(buffers.labels[i], buffers.labels[new])
        if counted:
            subtract(hist[i], hist[new])
    for side in range(2):
        z = new if side else i
        if z >= 0:
            gain[z] = _find_split(columns.blocks, rules, buffers, z) if counted else 0.0
            if gain[z] > 0.0:
                drawn[side] = may_use(rules.seed, buffers.leaf[NODE, z], split[z, STREAM], rules.share)


@kernel
def add_vectors(which, values, scores):
    """scores[k, t] += values[k, which[t]], with float64[K, n] scores and float64[K, ·] values."""
    for k in range(len(scores)):
        for t in range(scores.shape[1]):
            scores[k, t] += values[k, np.uint64(which[t])]
