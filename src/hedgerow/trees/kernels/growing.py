"""Growing one regression tree over product sets: (positions) × (previous labels).

The rows of the tree for a label are pairs (p, u): place p with previous label u, or with ⊥ where p is first in its
sequence. A node is (places × labels) ∩ rows, so the histogram of an input feature needs one number a place: the sum of
the gradients of its rows with u in the node, and how much they weigh. Both stand in one int64, the gradient as a
fixed-point number above `bits` bits of weight: sums of such words are exact in any order.

Places are padded: column c at offset o is bins[c, p + o]. A histogram is stored [bin, offset], offsets from high to
low, so that a pass over all places adds a run of words to a run of the histogram.

A node of many places is a trunk: it has no list of rows but a slot q, and trunk[q, p] is the word of p, 0 where p is
not in it. A split that takes one value out of a trunk walks the postings of that value, not the trunk; any other split
turns it into runs. A run is a part of the arena (rows, weight), and is cut in place.

A split is (stream, bin, rule): EQUAL sends x = bin to the true side; AT_MOST sends x ≤ bin; AT_MOST_OR_SPECIAL also the
two last bins, missing and outside; SUBSET those x with sets[bin, x]; HAS those with the sparse item `bin`. Stream −1 is
the previous label (K is ⊥).

In chains of higher order the previous label is a history. A tree then asks for one label of it: Room.asks has the set
of histories that each question holds for, and a split by one of them is a SUBSET.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hedgerow.jit import kernel, part
from hedgerow.legend import AnyArray

EQUAL, AT_MOST, AT_MOST_OR_SPECIAL, SUBSET, HAS = 0, 1, 2, 3, 4
CODES, ORDERED, ITEMS = 0, 1, 2
LABEL, LEAF = -1, -2
NONE = -9  # no split
LABEL_FEATURE, FIRST_ITEM = 1 << 20, 1 << 21  # numbers of features beyond those of dense streams, for draws


class Columns(NamedTuple):
    """What trees split on.

    bins uint8[C, P] by place; blocks int64[C, 7]: bins, lowest offset, width, stride, base in a histogram, kind, first
    stream; margin: places before the first offset of the first place; streams int64[6, ·]: column, shift, first,
    bins, kind, missing, of which the last n_sparse are ITEMS; postings int32[], posting_ptr int64[C, 257]: places of
    each code; items int32[], item_ptr int64[G, P+1]: items at each place, by group; item_places int32[],
    item_place_ptr int64[G, ·]: places of each item
    """

    bins: AnyArray
    blocks: AnyArray
    margin: int
    streams: AnyArray
    n_sparse: int
    postings: AnyArray
    posting_ptr: AnyArray
    items: AnyArray
    item_ptr: AnyArray
    item_places: AnyArray
    item_place_ptr: AnyArray


class Rows(NamedTuple):
    """places int32[R]; first uint8[P]; words int64[P, K], those of ⊥ in column 0 of a first place."""

    places: AnyArray
    first: AnyArray
    words: AnyArray


class Rules(NamedTuple):
    """When to split: at most so many leaves, λ and the least weight of a leaf in units of a word's weight, the share
    of features that a node may use, the seed of that choice, and whether codes and labels are split by subsets."""

    max_leaf_nodes: int
    bits: int
    l2_regularization: float
    least: int
    share: float
    seed: int
    subsets: bool


class Room(NamedTuple):
    """Buffers. trunk int64[Q, P], rows int32[·] and weight int64[·] (the arena), hist int64[H, B], scratch int64[Z],
    touched int32[Z], ids int32[·] and sums int64[·] (sparse histograms), ratio float64[·], order int64[·].

    Of leaf i: slot int64 (trunk, or −1), begin, end (run), home (row of hist, or −1), low, high (sparse run),
    total, node int64; gain float64; split int64[4]: stream, bin, rule, word of the true side; member uint8[K+1] and
    labels int64[K+1], its previous labels and their words. every uint8[·] is 1 throughout, asks uint8[M, K+1] are
    the questions about histories, if there are some; true uint8[R] and own int64[R] hold the side and the word of rows
    while a leaf is divided.
    """

    trunk: AnyArray
    rows: AnyArray
    weight: AnyArray
    hist: AnyArray
    scratch: AnyArray
    touched: AnyArray
    ids: AnyArray
    sums: AnyArray
    ratio: AnyArray
    order: AnyArray
    every: AnyArray
    asks: AnyArray
    true: AnyArray
    own: AnyArray
    leaf: AnyArray  # int64[8, L]: slot, begin, end, home, low, high, total, node
    gain: AnyArray
    split: AnyArray
    member: AnyArray
    labels: AnyArray


SLOT, BEGIN, END, HOME, LOW, HIGH, TOTAL, NODE = range(8)


@part
def _gain(word, total, bits, l2_regularization, least, bar):
    """A_L²/(λ+n_L) + A_R²/(λ+n_R) of a split of `word` from `total`; −1 where it is surely under the bar."""
    mask = (1 << bits) - 1
    n_left, n = word & mask, total & mask
    n_right = n - n_left
    if n_left < least or n_right < least:
        return -1.0
    a = float(word >> bits)
    r = float(total >> bits) - a
    d_left, d_right = l2_regularization + n_left, l2_regularization + n_right
    over = a * a * d_right + r * r * d_left
    under = d_left * d_right
    if over < bar * under * 0.999999999999:
        return -1.0
    return over / under


@part
def _drawn(seed, node, feature, share):
    """Whether a node may use a feature: a hash in place of a random number, so order and threads do not matter."""
    x = (seed * 7919 + node * 104729 + feature * 1299709 + 12345) & 0x7FFFFFFF
    for _ in range(3):
        x = ((x ^ (x >> 15)) * 0x2C1B3C6D) & 0x7FFFFFFF
        x = ((x ^ (x >> 12)) * 0x297A2D39) & 0x7FFFFFFF
    return x < share * 2147483648.0


@part
def _rank(words, n, member, stride, bits, l2_regularization, ratio, order):
    """Codes with rows, ordered by Σg/(n+λ), ties by code; returns how many. words[x·stride] of code x < n."""
    mask = (1 << bits) - 1
    m = 0
    for x in range(n):
        word = words[x * stride]
        if word & mask and member[x]:
            value = float(word >> bits) / (l2_regularization + (word & mask))
            j = m
            while j > 0 and ratio[j - 1] > value:
                ratio[j], order[j] = ratio[j - 1], order[j - 1]
                j -= 1
            ratio[j], order[j] = value, x
            m += 1
    return m


@part
def _find_subset(words, n, member, stride, stream, total, rules, ratio, order, best, split):
    """The best prefix of the ranked codes. OUT split: stream, length of the prefix less one, SUBSET, word."""
    m = _rank(words, n, member, stride, rules.bits, rules.l2_regularization, ratio, order)
    running = 0
    for j in range(m - 1):
        running += words[order[j] * stride]
        gain = _gain(running, total, rules.bits, rules.l2_regularization, rules.least, best)
        if gain > best:
            best = gain
            split[0], split[1], split[2], split[3] = stream, j, SUBSET, running
    return best


@part
def _find_codes(hist, block, node, total, rules, best, split):
    """The best one-against-rest split of a column of codes; ties go to the first offset, then to the first code."""
    n, width, stride, base, stream = block[0], block[2], block[3], block[4], block[6]
    for x in range(n):
        for back in range(width):
            word = hist[base + x * stride + back]
            if word == 0:
                continue
            s = stream + width - 1 - back
            gain = _gain(word, total, rules.bits, rules.l2_regularization, rules.least, best)
            if (gain > best or (gain == best and split[0] > s)) and (
                rules.share >= 1.0 or _drawn(rules.seed, node, s, rules.share)
            ):
                best = gain
                split[0], split[1], split[2], split[3] = s, x, EQUAL, word
    return best


@part
def _find_code_sets(hist, block, node, total, rules, every, ratio, order, best, split):
    """As _find_codes, of two sets of codes."""
    n, width, stride, base, stream = block[0], block[2], block[3], block[4], block[6]
    for j in range(width):
        if rules.share >= 1.0 or _drawn(rules.seed, node, stream + j, rules.share):
            words = hist[base + width - 1 - j :]
            best = _find_subset(words, n, every, stride, stream + j, total, rules, ratio, order, best, split)
    return best


@part
def _find_ordered(hist, block, node, total, rules, best, split):
    """The best threshold of a numeric column; missing and outside, the last two bins, go where they gain more."""
    n, width, stride, base, stream = block[0], block[2], block[3], block[4], block[6]
    for j in range(width):
        if rules.share < 1.0 and not _drawn(rules.seed, node, stream + j, rules.share):
            continue
        x = base + width - 1 - j
        special = hist[x + (n - 2) * stride] + hist[x + (n - 1) * stride]
        running = 0
        for b in range(n - 2):
            running += hist[x + b * stride]
            for extra in range(1 if special == 0 else 2):
                word = running + extra * special
                gain = _gain(word, total, rules.bits, rules.l2_regularization, rules.least, best)
                if gain > best:
                    best = gain
                    split[0], split[1], split[2], split[3] = stream + j, b, AT_MOST + extra, word
    return best


@part
def _find_items(streams, n_sparse, ids, sums, node, total, rules, best, split):
    """The best sparse item; ties go to the first in the order of streams and items."""
    chosen = -1
    for q in range(len(ids)):
        gain = _gain(sums[q], total, rules.bits, rules.l2_regularization, rules.least, best)
        if (gain > best or (chosen >= 0 and gain == best and ids[q] < chosen)) and (
            rules.share >= 1.0 or _drawn(rules.seed, node, FIRST_ITEM + np.int64(ids[q]), rules.share)
        ):
            best, chosen = gain, ids[q]
            split[3] = sums[q]
    if chosen >= 0:
        s = streams.shape[1] - n_sparse
        while s + 1 < streams.shape[1] and chosen >= streams[2, s + 1]:
            s += 1
        split[0], split[1], split[2] = s, chosen - streams[2, s], HAS
    return best


@part
def _find_questions(labels, member, asks, node, total, rules, best, split):
    """The best question about a history; ties go to the first."""
    for m in range(len(asks)):
        if rules.share < 1.0 and not _drawn(rules.seed, node, LABEL_FEATURE + m, rules.share):
            continue
        word = 0
        for u in range(len(labels)):
            if asks[m, u] and member[u]:
                word += labels[u]
        gain = _gain(word, total, rules.bits, rules.l2_regularization, rules.least, best)
        if gain > best:
            best = gain
            split[0], split[1], split[2], split[3] = LABEL, m, SUBSET, word
    return best


@part
def _find_labels(labels, member, asks, node, total, rules, ratio, order, best, split):
    """The best split on the previous label."""
    if len(asks):
        return _find_questions(labels, member, asks, node, total, rules, best, split)
    if rules.share < 1.0 and not _drawn(rules.seed, node, LABEL_FEATURE, rules.share):
        return best
    if rules.subsets:
        return _find_subset(labels, len(labels), member, 1, LABEL, total, rules, ratio, order, best, split)
    for u in range(len(labels)):
        if member[u]:
            gain = _gain(labels[u], total, rules.bits, rules.l2_regularization, rules.least, best)
            if gain > best:
                best = gain
                split[0], split[1], split[2], split[3] = LABEL, u, EQUAL, labels[u]
    return best


@part
def find_split(
    blocks, streams, n_sparse, hist, ids, sums, labels, member, every, asks, ratio, order, node, total, rules, split
):
    """The split of a leaf with the largest gain: ties go to the first in (stream, bin, rule) order, then to labels.

    IN   the leaf's histogram hist int64[B], its sparse one ids, sums, and that of its previous labels, labels, member
    OUT  split int64[4]; returns the gain, 0 where nothing gains
    """
    n = total & ((1 << rules.bits) - 1)
    a = float(total >> rules.bits)
    base = a * a / (rules.l2_regularization + n) * (1.0 + 1e-12) if rules.l2_regularization + n > 0 else 0.0
    best = base
    split[0] = NONE
    for c in range(len(blocks)):
        block = blocks[c]
        if block[5] == ORDERED:
            best = _find_ordered(hist, block, node, total, rules, best, split)
        elif rules.subsets:
            best = _find_code_sets(hist, block, node, total, rules, every, ratio, order, best, split)
        else:
            best = _find_codes(hist, block, node, total, rules, best, split)
    if n_sparse:
        best = _find_items(streams, n_sparse, ids, sums, node, total, rules, best, split)
    best = _find_labels(labels, member, asks, node, total, rules, ratio, order, best, split)
    return best - base if best > base else 0.0


@part
def _add_items(streams, n_dense, n_sparse, items, item_ptr, rows, weight, by_place, scratch, touched):
    """The sparse histogram of some rows in `scratch`, its items in `touched`; returns how many these are.

    weight int64[·] is by row, or by place.
    """
    n = 0
    for r in range(len(rows)):
        p = rows[r]
        word = weight[p] if by_place else weight[r]
        if word == 0:
            continue
        for s in range(streams.shape[1] - n_sparse, streams.shape[1]):
            g, at, z = streams[0, s] - n_dense, p + streams[1, s], streams[2, s]
            for q in range(item_ptr[g, at], item_ptr[g, at + 1]):
                x = z + items[q]
                if scratch[x] == 0:
                    touched[n] = x
                    n += 1
                scratch[x] += word
    return n


@part
def _subtract_items(ids, sums, low, high, scratch):
    """Take `scratch` from the sparse histogram at low … high-1; returns its new end."""
    kept = low
    for q in range(low, high):
        word = sums[q] - scratch[ids[q]]
        if word != 0:
            ids[kept], sums[kept] = ids[q], word
            kept += 1
    return kept


@part
def _keep_items(ids, sums, tail, touched, n, scratch):
    """Write the n touched items to the tail and clear them; returns the new tail, or −1 where there is no room."""
    full = tail + n > len(ids)
    for j in range(n):
        x = touched[j]
        if not full:
            ids[tail], sums[tail] = x, scratch[x]
            tail += 1
        scratch[x] = 0
    return -1 if full else tail


@part
def _trunk_histogram(bins, blocks, margin, word, hist):
    """hist[x, o] = Σ word[p] over the places p with x at p + o. A run of words is added for every place."""
    hist[:] = 0
    for c in range(len(blocks)):
        n, stride, base = blocks[c, 0], blocks[c, 3], blocks[c, 4]
        high = blocks[c, 1] + blocks[c, 2] - 1
        column = bins[c, margin : bins.shape[1] - margin]
        shifted = word[margin - high :]
        table = hist[base : base + n * stride].reshape(n, stride)
        if stride == 1:
            for r in range(len(column)):
                table[column[r], 0] += shifted[r]
        else:
            for r in range(len(column)):
                x = column[r]
                for j in range(stride):
                    table[x, j] += shifted[r + j]


@part
def _run_histogram(bins, blocks, rows, weight, hist):
    """As _trunk_histogram, of the places in `rows`."""
    hist[:] = 0
    for c in range(len(blocks)):
        n, low, width, stride, base = blocks[c, 0], blocks[c, 1], blocks[c, 2], blocks[c, 3], blocks[c, 4]
        table = hist[base : base + n * stride].reshape(n, stride)
        column = bins[c]
        for r in range(len(rows)):
            word, p = weight[r], np.uint64(rows[r] + low)  # an unsigned index needs no check for a negative one
            for j in range(width):
                table[column[p + np.uint64(j)], np.uint64(width - 1 - j)] += word


@part
def _mark_items(items, item_ptr, group, shift, item, rows, true):
    """OUT true uint8[n]: whether each of the rows sees an item at an offset."""
    for r in range(len(rows)):
        at = rows[r] + shift
        found = 0
        for q in range(item_ptr[group, at], item_ptr[group, at + 1]):
            found |= items[q] == item
        true[r] = found


@part
def _mark_bins(column, shift, n_bins, bin_, rule, chosen, rows, true):
    """OUT true uint8[n]: whether each of the rows is on the true side of a split; `chosen` is a SUBSET's set."""
    if rule == EQUAL:
        for r in range(len(rows)):
            true[r] = column[np.uint64(rows[r] + shift)] == bin_
    elif rule == SUBSET:
        for r in range(len(rows)):
            true[r] = chosen[column[np.uint64(rows[r] + shift)]]
    else:
        special = n_bins - 2 if rule == AT_MOST_OR_SPECIAL else n_bins
        for r in range(len(rows)):
            x = column[np.uint64(rows[r] + shift)]
            true[r] = x <= bin_ or x >= special


@part
def _cut(rows, weight, begin, end, true, leaves, tail):
    """Move the rows with true = leaves from a run to the tail of the arena; the others close up, in order.

    Both places are written for every row, and one of them moves on: no branch to mispredict. Returns their ends.
    """
    kept = begin
    for q in range(begin, end):
        p, word = rows[q], weight[q]
        away = true[q - begin] == leaves
        rows[tail], weight[tail] = p, word
        rows[kept], weight[kept] = p, word
        tail += away
        kept += not away
    return kept, tail


@part
def _dissolve(trunk, places, rows, weight, tail):
    """Turn a trunk into a run at the tail; returns the new tail."""
    for r in range(len(places)):
        word = trunk[places[r]]
        if word != 0:
            rows[tail], weight[tail] = places[r], word
            tail += 1
    return tail


@part
def _cut_postings(postings, shift, trunk, rows, weight, tail):
    """Move the places of a trunk that have a value at an offset: the value stands at the places `postings`."""
    for q in range(len(postings)):
        p = postings[q] - shift
        word = trunk[p]
        if word != 0:
            rows[tail], weight[tail] = p, word
            trunk[p] = 0
            tail += 1
    return tail


@part
def _own_words(words, first, places, one, chosen, own):
    """OUT own int64[n]: the words of the rows (p, u) with u = one, or, where that is −1, with u chosen; ⊥ is K."""
    K = words.shape[1]
    start = 1 if chosen[K] else 0
    for r in range(len(places)):
        p = np.uint64(places[r])
        if first[p]:
            own[r] = words[p, 0] * start
        elif one >= 0:
            own[r] = words[p, np.uint64(one)] if one < K else 0
        else:
            word, row = 0, words[p]
            for u in range(K):
                word += row[u] & -np.int64(chosen[u])
            own[r] = word


@part
def _take_rows(rows, weight, begin, end, own, tail):
    """Take the words `own` out of a run, to the tail; rows without a word are left out. Returns the two ends."""
    kept = begin
    for q in range(begin, end):
        p, word, taken = rows[q], weight[q], own[q - begin]
        rows[tail], weight[tail] = p, taken
        tail += taken != 0
        rows[kept], weight[kept] = p, word - taken
        kept += word != taken
    return kept, tail


@part
def _take_trunk(trunk, other, as_trunk, places, own, rows, weight, tail):
    """Take the words `own` out of a trunk: into another one, or to the tail. Returns the new tail."""
    if as_trunk:
        other[:] = 0
    for r in range(len(places)):
        p = np.uint64(places[r])
        word = trunk[p]
        taken = own[r] if word != 0 else 0
        trunk[p] = word - taken
        if as_trunk:
            other[p] = taken
        elif taken != 0:
            rows[tail], weight[tail] = places[r], taken
            tail += 1
    return tail


@part
def _sum_labels(words, first, rows, member, own):
    """OUT own int64[K+1]: the sums of the words of some rows by previous label, where it is a member."""
    K = words.shape[1]
    own[:] = 0
    for r in range(len(rows)):
        p = np.uint64(rows[r])
        if first[p]:
            own[K] += words[p, 0]
        else:
            for u in range(K):
                own[u] += words[p, u]
    for u in range(K + 1):
        if not member[u]:
            own[u] = 0


@part
def _plant(words, first, places, as_trunk, trunk, rows, weight, labels):
    """The root: every place with all its previous labels, as a trunk or as a run. OUT labels int64[K+1]; the total."""
    K = words.shape[1]
    total = 0
    labels[:] = 0
    for r in range(len(places)):
        p = np.uint64(places[r])
        word = words[p, 0]
        if first[p]:
            labels[K] += word
        else:
            labels[0] += word
            for u in range(1, K):
                labels[u] += words[p, u]
                word += words[p, u]
        if as_trunk:
            trunk[p] = word
        else:
            rows[r], weight[r] = places[r], word
        total += word
    return total


@part
def _best_leaf(gain, n_leaves):
    i = 0
    for j in range(1, n_leaves):
        if gain[j] > gain[i]:
            i = j
    return i


@part
def _claim_home(homes, gain, n_homes, n_leaves, i):
    """A row of hist for a leaf: a free one, else that of the leaf, other than i, with the least gain."""
    for h in range(n_homes):
        taken = False
        for j in range(n_leaves):
            taken |= homes[j] == h
        if not taken:
            return h
    poor = -1
    for j in range(n_leaves):
        if j != i and homes[j] >= 0 and (poor < 0 or gain[j] < gain[poor]):
            poor = j
    h = homes[poor]
    homes[poor] = -1
    return h


@part
def _write_set(hist, blocks, streams, labels, member, every, asks, ratio, order, rules, split, chosen):
    """OUT chosen: the set of a SUBSET split, from the ranking that found it; of an EQUAL split on labels, the label."""
    chosen[:] = 0
    s = split[0]
    if split[2] == EQUAL:
        chosen[split[1]] = 1
        return
    if s == LABEL and len(asks):
        for u in range(len(member)):
            chosen[u] = asks[split[1], u] * member[u]
        return
    if s == LABEL:
        _rank(labels, len(labels), member, 1, rules.bits, rules.l2_regularization, ratio, order)
    else:
        block = blocks[streams[0, s]]
        words = hist[block[4] + block[2] - 1 - (s - block[6]) :]
        _rank(words, block[0], every, block[3], rules.bits, rules.l2_regularization, ratio, order)
    for j in range(split[1] + 1):
        chosen[order[j]] = 1


@part
def _part_labels(member, labels, i, new, chosen):
    """Previous labels of the two sides of a split on them, and their words."""
    for u in range(member.shape[1]):
        member[new, u] = member[i, u] if chosen[u] else 0
        labels[new, u] = labels[i, u] if chosen[u] else 0
        if chosen[u]:
            member[i, u], labels[i, u] = 0, 0


@part
def _record(tree, parent, split, n_sets, n_nodes):
    """Turn a leaf of the tree into a split with two leaves: the true side first."""
    tree[parent, 0], tree[parent, 1], tree[parent, 2] = split[0], split[1], split[2]
    if split[2] == SUBSET:
        tree[parent, 1] = n_sets
    tree[parent, 3], tree[parent, 4] = n_nodes, n_nodes + 1
    tree[n_nodes : n_nodes + 2, :] = 0
    tree[n_nodes, 0] = tree[n_nodes + 1, 0] = LEAF


@part
def _divide_input(columns, room, places, i, new, chosen, true_leaves, tail):
    """Take one side of leaf i, by a split on the input, out of it for leaf `new`; returns the new tail."""
    leaf, rows, weight = room.leaf, room.rows, room.weight
    s, b, rule = room.split[i, 0], room.split[i, 1], room.split[i, 2]
    c, shift, n_dense = columns.streams[0, s], columns.streams[1, s], len(columns.blocks)
    if leaf[SLOT, i] >= 0:
        trunk = room.trunk[leaf[SLOT, i]]
        p0 = p1 = 0
        if rule == EQUAL:
            p0, p1 = columns.posting_ptr[c, b], columns.posting_ptr[c, b + 1]
        elif rule == HAS:
            p0, p1 = columns.item_place_ptr[c - n_dense, b], columns.item_place_ptr[c - n_dense, b + 1]
        if true_leaves and p0 < p1 < p0 + len(places) // 2:
            postings = columns.item_places if rule == HAS else columns.postings
            return _cut_postings(postings[p0:p1], shift, trunk, rows, weight, tail)
        leaf[SLOT, i], leaf[BEGIN, i] = -1, tail
        tail = _dissolve(trunk, places, rows, weight, tail)
        leaf[END, i] = leaf[BEGIN, new] = tail
    run, true = rows[leaf[BEGIN, i] : leaf[END, i]], room.true
    if rule == HAS:
        _mark_items(columns.items, columns.item_ptr, c - n_dense, shift, b, run, true)
    else:
        _mark_bins(columns.bins[c], shift, columns.streams[3, s], b, rule, chosen, run, true)
    leaves = 1 if true_leaves else 0
    leaf[END, i], tail = _cut(rows, weight, leaf[BEGIN, i], leaf[END, i], true, leaves, tail)
    return tail


@part
def _divide_labels(data, room, i, new, chosen, tail):
    """Take the chosen previous labels of leaf i out of it for leaf `new`, a trunk or a run; returns the new tail."""
    leaf, rows, weight, own = room.leaf, room.rows, room.weight, room.own
    one = room.split[i, 1] if room.split[i, 2] == EQUAL else -1
    as_run = leaf[SLOT, i] < 0
    places = rows[leaf[BEGIN, i] : leaf[END, i]] if as_run else data.places
    _own_words(data.words, data.first, places, one, chosen, own)
    if as_run:
        leaf[END, i], tail = _take_rows(rows, weight, leaf[BEGIN, i], leaf[END, i], own, tail)
        return tail
    trunk, slot = room.trunk[leaf[SLOT, i]], leaf[SLOT, new]
    return _take_trunk(trunk, room.trunk[max(slot, 0)], slot >= 0, places, own, rows, weight, tail)


@part
def _count(columns, places, room, i):
    """The histogram of leaf i, in its home."""
    leaf = room.leaf
    hist, begin, end = room.hist[leaf[HOME, i]], leaf[BEGIN, i], leaf[END, i]
    if leaf[SLOT, i] >= 0:
        _trunk_histogram(columns.bins, columns.blocks, columns.margin, room.trunk[leaf[SLOT, i]], hist)
    else:
        _run_histogram(columns.bins, columns.blocks, room.rows[begin:end], room.weight[begin:end], hist)


@part
def _count_items(columns, places, room, i, parent, tail):
    """The sparse histogram of leaf i at the tail, taken from its parent's; the new tail, −1 where there is no room."""
    leaf, streams = room.leaf, columns.streams
    trunk = leaf[SLOT, i] >= 0
    rows = places if trunk else room.rows[leaf[BEGIN, i] : leaf[END, i]]
    weight = room.trunk[leaf[SLOT, i]] if trunk else room.weight[leaf[BEGIN, i] : leaf[END, i]]
    n = _add_items(
        streams, len(columns.blocks), columns.n_sparse, columns.items, columns.item_ptr, rows, weight, trunk,
        room.scratch, room.touched,
    )  # fmt: skip
    if parent >= 0:
        low, high = leaf[LOW, parent], leaf[HIGH, parent]
        leaf[HIGH, parent] = _subtract_items(room.ids, room.sums, low, high, room.scratch)
    leaf[LOW, i] = tail
    tail = _keep_items(room.ids, room.sums, tail, room.touched, n, room.scratch)
    leaf[HIGH, i] = tail
    return tail


@part
def _judge(columns, room, rules, i):
    """Find the split of leaf i: of the features drawn for it, or of all where none of these gains."""
    leaf = room.leaf
    run = slice(leaf[LOW, i], leaf[HIGH, i])
    for share in (rules.share, 1.0):
        room.gain[i] = find_split(
            columns.blocks, columns.streams, columns.n_sparse, room.hist[leaf[HOME, i]], room.ids[run], room.sums[run],
            room.labels[i], room.member[i], room.every, room.asks, room.ratio, room.order, leaf[NODE, i],
            leaf[TOTAL, i],
            Rules(
                rules.max_leaf_nodes, rules.bits, rules.l2_regularization, rules.least, share, rules.seed,
                rules.subsets,
            ),
            room.split[i],
        )  # fmt: skip
        if room.gain[i] > 0.0 or rules.share >= 1.0:
            break


@part
def _settle(columns, data, room, rules, i, new, ends):
    """Histograms and splits of the two sides of a split: new's is counted, i's is what is left. −1: no room."""
    homes = room.leaf[HOME]
    homes[new] = new if new < len(room.hist) else _claim_home(homes, room.gain, len(room.hist), new, i)
    _count(columns, data.places, room, new)
    mine, taken = room.hist[homes[i]], room.hist[homes[new]]
    for x in range(len(mine)):
        mine[x] -= taken[x]
    if columns.n_sparse:
        ends = _count_items(columns, data.places, room, new, i, ends)
        if ends < 0:
            return ends
    for z in (i, new):
        _judge(columns, room, rules, z)
    return ends


@part
def _split_leaf(columns, data, rules, room, i, new, as_trunk, chosen, tail):
    """Divide leaf i into itself and leaf `new`: rows, totals, previous labels. Returns the new tail."""
    leaf, split, mask = room.leaf, room.split[i], (1 << rules.bits) - 1
    by_label, word, total = split[0] == LABEL, split[3], leaf[TOTAL, i]
    true_leaves = by_label or 2 * (word & mask) <= total & mask
    leaf[SLOT, new], leaf[BEGIN, new] = as_trunk, tail
    if by_label or split[2] == SUBSET:
        _write_set(
            room.hist[leaf[HOME, i]], columns.blocks, columns.streams, room.labels[i], room.member[i], room.every,
            room.asks, room.ratio, room.order, rules, split, chosen,
        )  # fmt: skip
    if by_label:
        tail = _divide_labels(data, room, i, new, chosen, tail)
        _part_labels(room.member, room.labels, i, new, chosen)
    else:
        tail = _divide_input(columns, room, data.places, i, new, chosen, true_leaves, tail)
        taken, mine = room.labels[new], room.labels[i]
        _sum_labels(data.words, data.first, room.rows[leaf[BEGIN, new] : tail], room.member[i], taken)
        for u in range(len(mine)):
            mine[u] -= taken[u]
            room.member[new, u] = room.member[i, u]
    leaf[END, new] = tail
    leaf[TOTAL, new] = word if true_leaves else total - word
    leaf[TOTAL, i] -= leaf[TOTAL, new]
    return tail


@kernel
def grow(columns, data, rules, room, tree, words, gains, sets):
    """Grow a tree best-first. Returns leaves and sets in it; leaves is −1 where the arena, −2 where ids are too few.

    OUT  tree int64[2L, 5]: stream, bin, rule, true, false; words int64[2L] and gains float64[2L] of its nodes;
         sets uint8[L, ·]; in room, where the rows of each leaf are (see Room)
    """
    mask, leaf, n = (1 << rules.bits) - 1, room.leaf, len(data.places)
    as_trunk = len(room.trunk) > 0
    if n > len(room.rows):
        return -1, 0
    total = _plant(
        data.words, data.first, data.places, as_trunk, room.trunk[0] if as_trunk else room.own, room.rows, room.weight,
        room.labels[0],
    )  # fmt: skip
    leaf[SLOT, 0], leaf[BEGIN, 0], leaf[END, 0] = (0, 0, 0) if as_trunk else (-1, 0, n)
    leaf[TOTAL, 0], leaf[NODE, 0], leaf[HOME, 0], leaf[LOW, 0], leaf[HIGH, 0] = total, 0, 0, 0, 0
    room.member[0, :] = 1
    tree[0, :] = 0
    tree[0, 0], gains[0], words[0] = LEAF, 0.0, total
    _count(columns, data.places, room, 0)
    ends = _count_items(columns, data.places, room, 0, -1, 0) if columns.n_sparse else 0
    if ends < 0:
        return -2, 0
    _judge(columns, room, rules, 0)
    n_leaves, n_nodes, n_sets, n_trunks, tail = 1, 1, 0, 1, leaf[END, 0]
    while n_leaves < rules.max_leaf_nodes:
        i, new = _best_leaf(room.gain, n_leaves), n_leaves
        if room.gain[i] <= 0.0:
            break
        trunk = leaf[SLOT, i] >= 0
        if tail + (2 * n if trunk else leaf[END, i] - leaf[BEGIN, i]) > len(room.rows):
            return -1, 0
        if leaf[HOME, i] < 0:
            leaf[HOME, i] = _claim_home(leaf[HOME], room.gain, len(room.hist), n_leaves, i)
            _count(columns, data.places, room, i)
        rows = room.split[i, 3] & mask
        planted = room.split[i, 0] == LABEL and trunk and n_trunks < len(room.trunk) and 4 * rows > n
        gains[leaf[NODE, i]] = room.gain[i]
        parent, true_leaves = leaf[NODE, i], room.split[i, 0] == LABEL or 2 * rows <= leaf[TOTAL, i] & mask
        _record(tree, parent, room.split[i], n_sets, n_nodes)
        tail = _split_leaf(columns, data, rules, room, i, new, n_trunks if planted else -1, sets[n_sets], tail)
        n_trunks += planted
        n_sets += room.split[i, 2] == SUBSET
        leaf[NODE, new], leaf[NODE, i] = (n_nodes, n_nodes + 1) if true_leaves else (n_nodes + 1, n_nodes)
        words[leaf[NODE, new]], words[leaf[NODE, i]] = leaf[TOTAL, new], leaf[TOTAL, i]
        gains[n_nodes] = gains[n_nodes + 1] = 0.0
        n_nodes, n_leaves = n_nodes + 2, n_leaves + 1
        if n_leaves < rules.max_leaf_nodes:
            ends = _settle(columns, data, room, rules, i, new, ends)
            if ends < 0:
                return -2, 0
    return n_leaves, n_sets


@kernel
def assign_leaves(data, room, n_leaves, leaf_of):
    """OUT leaf_of uint16[P, K]: the leaf of row (p, u); a first place has its ⊥ row in column 0.

    A trunk first claims all places for its labels; the runs, cut out of it, then claim theirs.
    """
    leaf, order = room.leaf, room.order
    for trunks in (True, False):
        for i in range(n_leaves):
            if (leaf[SLOT, i] >= 0) == trunks:
                m = 0
                for u in range(leaf_of.shape[1]):
                    order[m] = u
                    m += room.member[i, u]
                places = data.places if trunks else room.rows[leaf[BEGIN, i] : leaf[END, i]]
                _claim_places(places, data.first, order[:m], room.member[i, leaf_of.shape[1]], i, leaf_of)


@part
def _claim_places(places, first, labels, start, i, leaf_of):
    """Put leaf i down for the rows of some places: those of some previous labels, and of ⊥ where `start` is 1."""
    every = len(labels) == leaf_of.shape[1]
    for r in range(len(places)):
        p = np.uint64(places[r])
        if first[p]:
            if start:
                leaf_of[p, 0] = i
        elif every:
            for u in range(leaf_of.shape[1]):
                leaf_of[p, u] = i
        else:
            for j in range(len(labels)):
                leaf_of[p, np.uint64(labels[j])] = i
