"""Growing one regression tree where values are missing: rows in shares, or rows sent on by surrogate splits.

Rows, words, columns and splits, and the order in which ties are decided, are those of `growing`. What differs:

A split on a column is judged by the rows of a leaf that have a value there. Its gain is
A_L²/(λ+n_L) + A_R²/(λ+n_R) − A²/(λ+n) over these rows, so every stream has an A and an n of its own: those of the leaf
less those of the bin `missing`.

A place has parts in a leaf, `whole` of them at the root, and counts as parts/whole of its word. A place that has no
value where its leaf is split has a share of its parts, rounded, go to the true side, and the rest to the false side;
fewer than `few` parts are not worth a row, and stay with the rest. The share is n_L/n (instance weighting). With
surrogates it is 1 or 0, the side of more known rows, and it is asked for only where all surrogates are missing too:
these are other streams, and which of their bins go to the true side.

Parts are whole numbers, so sums of parts times words are exact in any order, and what the two sides of a split have
adds up to what the leaf had. Such products need more bits than one word has: a gradient and a weight stand side by
side in pairs (g, n). A trunk has the parts of each place; a split that takes one value out of it walks the postings of
that value, and those of `missing`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hedgerow.jit import kernel, part
from hedgerow.legend import AnyArray

EQUAL, AT_MOST, AT_MOST_OR_SPECIAL, SUBSET, HAS = 0, 1, 2, 3, 4  # as in `growing`; a kernel file stands alone
ORDERED = 1
LABEL, LEAF = -1, -2
NONE = -9
LABEL_FEATURE, FIRST_ITEM = 1 << 20, 1 << 21
FALSE, TRUE, LOST = 0, 1, 2  # where a place goes, LOST where it has no value


class Rules(NamedTuple):
    """As `growing.Rules`, with `l2_regularization` and `least` in parts; the parts of a whole place, and how many are
    too few; and at most so many surrogates a split, 0 for instance weighting."""

    max_leaf_nodes: int
    bits: int
    l2_regularization: float
    least: int
    share: float
    seed: int
    subsets: bool
    whole: int
    few: int
    n_surrogates: int


class Room(NamedTuple):
    """Buffers. trunk int32[T, P]: the parts of each place in a trunk. The arena: rows int32[·], parts int32[·]. Of n
    rows: state uint8[n], some int32[n], pair int64[n, 2]. moved int32[3, whole+1]: see _share_parts. hist
    int64[H, B, 2], votes int64[B, 2]; scratch int64[Z, 2], touched int32[Z], ids int32[·], sums int64[·, 2] (sparse
    histograms); known int64[·, 2], lift float64[·] of the streams of a column; ratio float64[·], order int64[·]; side
    uint8[256]; rating float64[Q+1], found int64[Q+1], ways uint8[Q+1, 32] (surrogates).

    Of leaf i: slot (trunk, or −1), begin, end (run), home (row of hist, or −1), low, high (sparse run), node, and its
    pair g, n int64; gain float64; split int64[5]: stream, bin, rule, known weight of the true side, known weight;
    member uint8[K+1] and labels int64[K+1, 2], its previous labels and their pairs.
    """

    trunk: AnyArray
    rows: AnyArray
    parts: AnyArray
    state: AnyArray
    some: AnyArray
    pair: AnyArray
    moved: AnyArray
    hist: AnyArray
    votes: AnyArray
    scratch: AnyArray
    touched: AnyArray
    ids: AnyArray
    sums: AnyArray
    known: AnyArray
    lift: AnyArray
    ratio: AnyArray
    order: AnyArray
    side: AnyArray
    rating: AnyArray
    found: AnyArray
    ways: AnyArray
    leaf: AnyArray  # int64[9, L]
    gain: AnyArray
    split: AnyArray
    member: AnyArray
    labels: AnyArray


SLOT, BEGIN, END, HOME, LOW, HIGH, NODE, G, N = range(9)


# ------------------------------------------------------------------------------------------------ which split


@part
def _base(g, n, l2_regularization):
    """A²/(λ+n), and a little more, so that no gain is a matter of rounding."""
    a = float(g)
    return a * a / (l2_regularization + n) * (1.0 + 1e-12) if l2_regularization + n > 0 else 0.0


@part
def _score(g, n, known_g, known_n, lift, rules, best):
    """A_L²/(λ+n_L) + A_R²/(λ+n_R) + lift of a split of (g, n) from what is known; −inf where surely under the best."""
    rest = known_n - n
    if n < rules.least or rest < rules.least:
        return -np.inf
    a = float(g)
    r = float(known_g) - a
    d_left, d_right = rules.l2_regularization + n, rules.l2_regularization + rest
    over = a * a * d_right + r * r * d_left
    under = d_left * d_right
    if over < (best - lift - 1e-12 * (best + abs(lift))) * under:
        return -np.inf
    return over / under + lift


@part
def _drawn(seed, node, feature, share):
    """Whether a node may use a feature; as in `growing`."""
    x = (seed * 7919 + node * 104729 + feature * 1299709 + 12345) & 0x7FFFFFFF
    for _ in range(3):
        x = ((x ^ (x >> 15)) * 0x2C1B3C6D) & 0x7FFFFFFF
        x = ((x ^ (x >> 12)) * 0x297A2D39) & 0x7FFFFFFF
    return x < share * 2147483648.0


@part
def _know(hist, block, missing, g, n, base, rules, known, lift):
    """The pair of the rows with a value, for each offset of a column. OUT known int64[width, 2], lift float64[width].

    `lift` makes scores of streams with different bases comparable: it is 0 where nothing is missing.
    """
    width, stride, cells = block[2], block[3], block[4]
    for back in range(width):
        known[back, 0], known[back, 1], lift[back] = g, n, 0.0
        if missing >= 0:
            known[back, 0] -= hist[cells + missing * stride + back, 0]
            known[back, 1] -= hist[cells + missing * stride + back, 1]
            lift[back] = base - _base(known[back, 0], known[back, 1], rules.l2_regularization)


@part
def _find_codes(hist, block, missing, node, share, rules, known, lift, best, split):
    """The best one-against-rest split of a column of codes; ties go to the first offset, then to the first code."""
    n_bins, width, stride, cells, stream = block[0], block[2], block[3], block[4], block[6]
    for x in range(n_bins):
        for back in range(width if x != missing else 0):
            g, n = hist[cells + x * stride + back, 0], hist[cells + x * stride + back, 1]
            if n == 0:
                continue
            s = stream + width - 1 - back
            score = _score(g, n, known[back, 0], known[back, 1], lift[back], rules, best)
            if (score > best or (score == best and split[0] > s)) and (
                share >= 1.0 or _drawn(rules.seed, node, s, share)
            ):
                best = score
                split[0], split[1], split[2], split[3], split[4] = s, x, EQUAL, n, known[back, 1]
    return best


@part
def _rank(pairs, n_bins, missing, stride, l2_regularization, ratio, order):
    """Codes with rows, ordered by Σg/(n+λ), ties by code; returns how many. pairs[x·stride] of code x < n_bins."""
    m = 0
    for x in range(n_bins):
        n = pairs[x * stride, 1]
        if n != 0 and x != missing:
            value = float(pairs[x * stride, 0]) / (l2_regularization + n)
            j = m
            while j > 0 and ratio[j - 1] > value:
                ratio[j], order[j] = ratio[j - 1], order[j - 1]
                j -= 1
            ratio[j], order[j] = value, x
            m += 1
    return m


@part
def _find_subset(pairs, n_bins, missing, stride, stream, known_g, known_n, lift, rules, ratio, order, best, split):
    """The best prefix of the ranked codes. OUT split: stream, length of the prefix less one, SUBSET, and weights."""
    m = _rank(pairs, n_bins, missing, stride, rules.l2_regularization, ratio, order)
    g = n = 0
    for j in range(m - 1):
        g += pairs[order[j] * stride, 0]
        n += pairs[order[j] * stride, 1]
        score = _score(g, n, known_g, known_n, lift, rules, best)
        if score > best:
            best = score
            split[0], split[1], split[2], split[3], split[4] = stream, j, SUBSET, n, known_n
    return best


@part
def _find_code_sets(hist, block, missing, node, share, rules, known, lift, ratio, order, best, split):
    """As _find_codes, of two sets of codes."""
    n_bins, width, stride, cells, stream = block[0], block[2], block[3], block[4], block[6]
    for j in range(width):
        if share >= 1.0 or _drawn(rules.seed, node, stream + j, share):
            back = width - 1 - j
            best = _find_subset(
                hist[cells + back :], n_bins, missing, stride, stream + j, known[back, 0], known[back, 1], lift[back],
                rules, ratio, order, best, split,
            )  # fmt: skip
    return best


@part
def _find_ordered(hist, block, node, share, rules, known, lift, best, split):
    """The best threshold of a numeric column; outside, its last bin, goes where it gains more."""
    n_bins, width, stride, cells, stream = block[0], block[2], block[3], block[4], block[6]
    for j in range(width):
        if share < 1.0 and not _drawn(rules.seed, node, stream + j, share):
            continue
        back = width - 1 - j
        x = cells + back
        outside_g, outside_n = hist[x + (n_bins - 1) * stride, 0], hist[x + (n_bins - 1) * stride, 1]
        g = n = 0
        for b in range(n_bins - 2):
            g += hist[x + b * stride, 0]
            n += hist[x + b * stride, 1]
            for extra in range(1 if outside_n == 0 else 2):
                own_g, own_n = g + extra * outside_g, n + extra * outside_n
                score = _score(own_g, own_n, known[back, 0], known[back, 1], lift[back], rules, best)
                if score > best:
                    best = score
                    split[0], split[1], split[2] = stream + j, b, AT_MOST + extra
                    split[3], split[4] = own_n, known[back, 1]
    return best


@part
def _sparse_stream(streams, n_sparse, x):
    """Which of the sparse streams has item x, counted over all of them."""
    low, high = streams.shape[1] - n_sparse, streams.shape[1]
    while high - low > 1:
        middle = (low + high) // 2
        if x < streams[2, middle]:
            high = middle
        else:
            low = middle
    return low


@part
def _find_items(streams, n_sparse, ids, sums, node, g, n, base, share, rules, known, lift, best, split):
    """The best sparse item; ties go to the first in the order of streams and items."""
    s0, missing, gaps = streams.shape[1] - n_sparse, streams[5], False
    for j in range(n_sparse):
        known[j, 0], known[j, 1], lift[j] = g, n, 0.0
        gaps |= missing[s0 + j] >= 0
    if gaps:
        for q in range(len(ids)):
            s = _sparse_stream(streams, n_sparse, ids[q])
            if ids[q] - streams[2, s] == missing[s]:
                known[s - s0, 0] -= sums[q, 0]
                known[s - s0, 1] -= sums[q, 1]
                lift[s - s0] = base - _base(known[s - s0, 0], known[s - s0, 1], rules.l2_regularization)
    chosen = -1
    for q in range(len(ids)):
        s = _sparse_stream(streams, n_sparse, ids[q]) if gaps else s0
        if gaps and ids[q] - streams[2, s] == missing[s]:
            continue
        j = s - s0
        score = _score(sums[q, 0], sums[q, 1], known[j, 0], known[j, 1], lift[j], rules, best)
        if (score > best or (chosen >= 0 and score == best and ids[q] < chosen)) and (
            share >= 1.0 or _drawn(rules.seed, node, FIRST_ITEM + np.int64(ids[q]), share)
        ):
            best, chosen = score, ids[q]
            split[3], split[4] = sums[q, 1], known[j, 1]
    if chosen >= 0:
        s = _sparse_stream(streams, n_sparse, chosen)
        split[0], split[1], split[2] = s, chosen - streams[2, s], HAS
    return best


@part
def _find_labels(labels, node, g, n, share, rules, ratio, order, best, split):
    """The best split on the previous label, which is never missing."""
    if share < 1.0 and not _drawn(rules.seed, node, LABEL_FEATURE, share):
        return best
    if rules.subsets:
        return _find_subset(labels, len(labels), NONE, 1, LABEL, g, n, 0.0, rules, ratio, order, best, split)
    for u in range(len(labels)):
        score = _score(labels[u, 0], labels[u, 1], g, n, 0.0, rules, best)
        if score > best:
            best = score
            split[0], split[1], split[2], split[3], split[4] = LABEL, u, EQUAL, labels[u, 1], n
    return best


@part
def _find_split(columns, rules, room, i):
    """The split of leaf i with the largest gain: ties go to the first in (stream, bin, rule) order, then to labels.

    Of the features drawn for it, or of all where none of these gains. OUT split and gain of the leaf, 0: nothing gains.
    """
    leaf, split, hist, streams = room.leaf, room.split[i], room.hist[room.leaf[HOME, i]], columns.streams
    g, n, node = leaf[G, i], leaf[N, i], leaf[NODE, i]
    known, lift, ratio, order = room.known, room.lift, room.ratio, room.order
    base = _base(g, n, rules.l2_regularization)
    for share in (rules.share, 1.0):
        best, split[0] = base, NONE
        for c in range(len(columns.blocks)):
            block = columns.blocks[c]
            gone = streams[5, block[6]]
            _know(hist, block, gone, g, n, base, rules, known, lift)
            if block[5] == ORDERED:
                best = _find_ordered(hist, block, node, share, rules, known, lift, best, split)
            elif rules.subsets:
                best = _find_code_sets(hist, block, gone, node, share, rules, known, lift, ratio, order, best, split)
            else:
                best = _find_codes(hist, block, gone, node, share, rules, known, lift, best, split)
        if columns.n_sparse:
            run = slice(leaf[LOW, i], leaf[HIGH, i])
            best = _find_items(
                streams, columns.n_sparse, room.ids[run], room.sums[run], node, g, n, base, share, rules, known, lift,
                best, split,
            )  # fmt: skip
        best = _find_labels(room.labels[i], node, g, n, share, rules, ratio, order, best, split)
        room.gain[i] = best - base if best > base else 0.0
        if room.gain[i] > 0.0 or share >= 1.0:
            break


# ------------------------------------------------------------------------------------------------ histograms


@part
def _list_trunk(trunk, places, rows, parts):
    """OUT rows, parts: the places of a trunk, and what of them is in it; returns how many."""
    m = 0
    for r in range(len(places)):
        rows[m], parts[m] = places[r], trunk[places[r]]
        m += parts[m] > 0
    return m


@part
def _list_leaf(places, room, i, tail):
    """Where in the arena the rows of leaf i begin and end; a trunk is listed at the tail for that."""
    slot = room.leaf[SLOT, i]
    if slot < 0:
        return room.leaf[BEGIN, i], room.leaf[END, i]
    return tail, tail + _list_trunk(room.trunk[slot], places, room.rows[tail:], room.parts[tail:])


@part
def _list_labels(member, order):
    """OUT order int64[·]: the previous labels that are members, ⊥ not counted; returns how many."""
    m = 0
    for u in range(len(member) - 1):
        order[m] = u
        m += member[u]
    return m


@part
def _weigh(data, rules, room, i, begin, end):
    """Parts times gradient and weight of leaf i, whose rows are at begin … end-1 of the arena.

    OUT  pair of each row, labels and pair of the leaf
    """
    leaf, pair, order, bits, mask = room.leaf, room.pair, room.order, rules.bits, (1 << rules.bits) - 1
    words, first, K, labels = data.words, data.first, data.words.shape[1], room.labels[i]
    m = _list_labels(room.member[i], order)
    labels[:] = 0
    g_all = n_all = 0
    rows, parts = room.rows[begin:end], room.parts[begin:end]
    for r in range(len(rows)):
        p, own, word = np.uint64(rows[r]), np.int64(parts[r]), 0
        if first[p]:
            word = words[p, 0]
            labels[K, 0] += (word >> bits) * own
            labels[K, 1] += (word & mask) * own
        elif m == K:
            for u in range(K):
                word += words[p, u]
        else:
            for j in range(m):
                word += words[p, np.uint64(order[j])]
        g, n = (word >> bits) * own, (word & mask) * own
        pair[r, 0], pair[r, 1] = g, n
        g_all += g
        n_all += n
    leaf[G, i], leaf[N, i] = g_all, n_all
    _sum_labels(words, first, rows, parts, bits, order[:m], g_all, n_all, labels)


@part
def _sum_labels(words, first, rows, parts, bits, order, g_all, n_all, labels):
    """The pairs of some rows by previous label, those in `order`; what the others leave of the sums is the last one's.

    IN   labels[K], the pair of ⊥
    OUT  labels int64[K+1, 2]
    """
    mask, K = (1 << bits) - 1, words.shape[1]
    g_all -= labels[K, 0]
    n_all -= labels[K, 1]
    for j in range(len(order) - 1):
        u, g, n = np.uint64(order[j]), 0, 0
        for r in range(len(rows)):
            p = np.uint64(rows[r])
            word, own = 0 if first[p] else words[p, u], np.int64(parts[r])
            g += (word >> bits) * own
            n += (word & mask) * own
        labels[u, 0], labels[u, 1] = g, n
        g_all -= g
        n_all -= n
    if len(order):
        labels[order[len(order) - 1], 0], labels[order[len(order) - 1], 1] = g_all, n_all


@part
def _add_histogram(bins, blocks, rows, pair, hist):
    """hist[x, o] += pair over the places in `rows` with x at an offset o. The cells are numbered by hand: it is faster,
    and an unsigned number is not checked for its sign."""
    for c in range(len(blocks)):
        n_bins, low, width, stride = blocks[c, 0], blocks[c, 1], blocks[c, 2], blocks[c, 3]
        table = hist[blocks[c, 4] : blocks[c, 4] + n_bins * stride].reshape(2 * n_bins * stride)
        column, step, last = bins[c], np.uint64(2 * stride), np.uint64(2 * (width - 1))
        for r in range(len(rows)):
            g, n, p = pair[r, 0], pair[r, 1], np.uint64(rows[r] + low)
            for j in range(width):
                x = np.uint64(column[p + np.uint64(j)]) * step + last - np.uint64(2 * j)
                table[x] += g
                table[x + np.uint64(1)] += n


@part
def _measure(columns, data, rules, room, i, tail):
    """Weigh leaf i, and count its histogram where it has a home; returns where in the arena its rows begin and end."""
    begin, end = _list_leaf(data.places, room, i, tail)
    _weigh(data, rules, room, i, begin, end)
    if room.leaf[HOME, i] >= 0:
        hist = room.hist[room.leaf[HOME, i]]
        hist[:] = 0
        _add_histogram(columns.bins, columns.blocks, room.rows[begin:end], room.pair, hist)
    return begin, end


@part
def _add_items(columns, rows, pair, scratch, touched):
    """The sparse histogram of some rows in `scratch`, its items in `touched`; returns how many these are."""
    streams, n_dense, m = columns.streams, len(columns.blocks), 0
    for r in range(len(rows)):
        for s in range(streams.shape[1] - columns.n_sparse, streams.shape[1]):
            ptr, at, first = columns.item_ptr[streams[0, s] - n_dense], rows[r] + streams[1, s], streams[2, s]
            for q in range(ptr[at], ptr[at + 1]):
                x = first + columns.items[q]
                if scratch[x, 1] == 0:
                    touched[m] = x
                    m += 1
                scratch[x, 0] += pair[r, 0]
                scratch[x, 1] += pair[r, 1]
    return m


@part
def _count_items(columns, room, i, begin, end, parent, tail):
    """The sparse histogram of leaf i at the tail, taken from its parent's. Its rows, weighed, are at begin … end-1.

    Returns the new tail, −1 where there is no room.
    """
    leaf, ids, sums, scratch, touched = room.leaf, room.ids, room.sums, room.scratch, room.touched
    m = _add_items(columns, room.rows[begin:end], room.pair, scratch, touched)
    if parent >= 0:
        kept = leaf[LOW, parent]
        for q in range(leaf[LOW, parent], leaf[HIGH, parent]):
            x = ids[q]
            g_left, n_left = sums[q, 0] - scratch[x, 0], sums[q, 1] - scratch[x, 1]
            if n_left != 0:
                ids[kept], sums[kept, 0], sums[kept, 1] = x, g_left, n_left
                kept += 1
        leaf[HIGH, parent] = kept
    full = tail + m > len(ids)
    leaf[LOW, i] = tail
    for j in range(m):
        x = touched[j]
        if not full:
            ids[tail], sums[tail, 0], sums[tail, 1] = x, scratch[x, 0], scratch[x, 1]
            tail += 1
        scratch[x, 0] = scratch[x, 1] = 0
    leaf[HIGH, i] = tail
    return -1 if full else tail


# ------------------------------------------------------------------------------------------------ dividing a leaf


@part
def _see(columns, split, chosen, rows, side, state):
    """OUT state uint8[n]: the side of a split on the input that each of the rows is on; `chosen` is a SUBSET's set."""
    s, b, rule = split[0], split[1], split[2]
    c, shift, n_bins, gone = columns.streams[0, s], columns.streams[1, s], columns.streams[3, s], columns.streams[5, s]
    if rule == HAS:
        ptr = columns.item_ptr[c - len(columns.blocks)]
        for r in range(len(rows)):
            at, found = rows[r] + shift, FALSE
            for q in range(ptr[at], ptr[at + 1]):
                if columns.items[q] == b:
                    found = TRUE
                elif columns.items[q] == gone:
                    found = LOST
            state[r] = found
        return
    for x in range(n_bins):
        if rule == EQUAL:
            true = x == b
        elif rule == SUBSET:
            true = chosen[x] != 0
        else:
            true = x <= b or (rule == AT_MOST_OR_SPECIAL and x == n_bins - 1)
        side[x] = LOST if x == gone else (TRUE if true else FALSE)
    column = columns.bins[c]
    for r in range(len(rows)):
        state[r] = side[column[np.uint64(rows[r] + shift)]]


@part
def _share_parts(share, few, true_leaves, moved):
    """OUT moved int32[3, whole+1]: how many of so many parts leave a leaf, from each side and of what has no value."""
    for parts in range(moved.shape[1]):
        true = int(parts * share + 0.5)
        true = true if true >= few else 0
        true = true if parts - true >= few else parts
        moved[FALSE, parts] = 0 if true_leaves else parts
        moved[TRUE, parts] = parts if true_leaves else 0
        moved[LOST, parts] = true if true_leaves else parts - true


# In the loops below numbers of rows are unsigned: a signed one is checked for its sign at each use, which takes as long
# as all the rest. And both places are written for every row, one of which then moves on: no branch to mispredict.


@part
def _cut_run(rows, parts, begin, end, state, moved, tail):
    """Move what leaves a run to the tail of the arena; the rest closes up, in order. Returns the ends."""
    kept, into, zero, one = np.uint64(begin), np.uint64(tail), np.uint64(0), np.uint64(1)
    for q in range(np.uint64(begin), np.uint64(end)):
        p, own = rows[q], parts[q]
        away = moved[np.uint64(state[q - np.uint64(begin)]), np.uint64(own)]
        left = own - away
        rows[into], parts[into] = p, away
        rows[kept], parts[kept] = p, left
        into += one if away > 0 else zero
        kept += one if left > 0 else zero
    return np.int64(kept), np.int64(into)


@part
def _cut_postings(postings, shift, moved, trunk, rows, parts, tail):
    """Move what leaves a trunk of the places that have a value to the tail: it stands at `postings`. Returns the end.

    IN   moved int32[whole+1], as _share_parts has it for these places
    """
    into, zero, one = np.uint64(tail), np.uint64(0), np.uint64(1)
    for q in range(len(postings)):
        p = np.uint64(postings[q] - shift)
        away = moved[np.uint64(trunk[p])]
        rows[into], parts[into] = p, away
        trunk[p] -= away
        into += one if away > 0 else zero
    return np.int64(into)


@part
def _cut_listed(trunk, rows, parts, begin, end, state):
    """Of rows of a trunk that stand at the tail of the arena, keep there, and there alone, those on the true side."""
    tail = begin
    for q in range(begin, end):
        if state[q - begin] == TRUE:
            trunk[rows[q]] = 0
            rows[tail], parts[tail] = rows[q], parts[q]
            tail += 1
    return tail


@part
def _list_postings(postings, shift, side, trunk, rows, parts, state, begin, tail):
    """Write the places of a trunk that have a value to the tail: it stands at `postings`. Returns the end.

    OUT state, from `begin` on: their side
    """
    for q in range(len(postings)):
        p = postings[q] - shift
        rows[tail], parts[tail], state[tail - begin] = p, trunk[p], side
        tail += trunk[p] > 0
    return tail


@part
def _find_postings(columns, split, n):
    """Where the true side of a split on one value stands, and what has no value: begin and end of both.

    The first is −1 where a split is not on one value, or where the two are no small part of n places.
    """
    s, b, rule = split[0], split[1], split[2]
    c, gone = columns.streams[0, s], columns.streams[5, s]
    if rule == HAS:
        ptr = columns.item_place_ptr[c - len(columns.blocks)]
    elif rule == EQUAL:
        ptr = columns.posting_ptr[c]
    else:
        return -1, -1, -1, -1
    low, high = (ptr[gone], ptr[gone + 1]) if gone >= 0 else (0, 0)
    if ptr[b + 1] - ptr[b] + high - low > n // 2:
        return -1, -1, -1, -1
    return ptr[b], ptr[b + 1], low, high


@part
def _divide_trunk(columns, room, i, found, tail):
    """Move the true side of leaf i, a trunk, to the tail, in shares; `found`: where its postings are. The new tail."""
    split, trunk = room.split[i], room.trunk[room.leaf[SLOT, i]]
    postings, shift = columns.item_places if split[2] == HAS else columns.postings, columns.streams[1, split[0]]
    tail = _cut_postings(postings[found[0] : found[1]], shift, room.moved[TRUE], trunk, room.rows, room.parts, tail)
    return _cut_postings(postings[found[2] : found[3]], shift, room.moved[LOST], trunk, room.rows, room.parts, tail)


@part
def _dissolve(room, places, i, tail):
    """Turn the trunk of leaf i into a run at the tail; returns the new tail."""
    end = tail + _list_trunk(room.trunk[room.leaf[SLOT, i]], places, room.rows[tail:], room.parts[tail:])
    room.leaf[SLOT, i], room.leaf[BEGIN, i], room.leaf[END, i] = -1, tail, end
    return end


@part
def _see_leaf(columns, places, room, i, found, chosen, tail):
    """Write down the side of the rows of leaf i; of a trunk with postings, of those that are not on the false side.

    Returns where in the arena they begin and end, and the new tail. OUT state, from 0 on
    """
    split, slot = room.split[i], room.leaf[SLOT, i]
    if slot >= 0 and found[0] >= 0:
        postings, shift = columns.item_places if split[2] == HAS else columns.postings, columns.streams[1, split[0]]
        true, lost, trunk = postings[found[0] : found[1]], postings[found[2] : found[3]], room.trunk[slot]
        end = _list_postings(true, shift, TRUE, trunk, room.rows, room.parts, room.state, tail, tail)
        return tail, _list_postings(lost, shift, LOST, trunk, room.rows, room.parts, room.state, tail, end), tail
    if slot >= 0:
        tail = _dissolve(room, places, i, tail)
    begin, end = room.leaf[BEGIN, i], room.leaf[END, i]
    _see(columns, split, chosen, room.rows[begin:end], room.side, room.state)
    return begin, end, tail


@part
def _cut_leaf(room, i, begin, end, tail):
    """Move one side of leaf i, whose rows are as _see_leaf left them, to the tail; returns the new one."""
    leaf, rows, parts, state = room.leaf, room.rows, room.parts, room.state
    if leaf[SLOT, i] >= 0:
        return _cut_listed(room.trunk[leaf[SLOT, i]], rows, parts, begin, end, state)
    leaf[END, i], tail = _cut_run(rows, parts, begin, end, state, room.moved, tail)
    return tail


@part
def _own_words(words, first, p, member, chosen):
    """The words of the rows (p, u) with u a member, and of those that are also chosen; ⊥ is K."""
    K, own, taken = words.shape[1], 0, 0
    if first[p]:
        return words[p, 0] * member[K], words[p, 0] * (member[K] & chosen[K])
    for u in range(K):
        own += words[p, u] * member[u]
        taken += words[p, u] * (member[u] & chosen[u])
    return own, taken


@part
def _divide_labels(data, room, i, new, chosen, tail):
    """Take the chosen previous labels of leaf i out of it for leaf `new`, a trunk or a run; returns the new tail."""
    leaf, rows, parts, member = room.leaf, room.rows, room.parts, room.member[i]
    slot, other, kept = leaf[SLOT, i], leaf[SLOT, new], leaf[BEGIN, i]
    if other >= 0:
        room.trunk[other, :] = 0
    for r in range(leaf[END, i] - kept if slot < 0 else len(data.places)):
        q = leaf[BEGIN, i] + r
        p = np.uint64(rows[q] if slot < 0 else data.places[r])
        whole = parts[q] if slot < 0 else room.trunk[slot, p]
        own, taken = _own_words(data.words, data.first, p, member, chosen)
        away = whole if taken != 0 else np.int32(0)
        left = whole if own != taken else np.int32(0)
        if other >= 0:
            room.trunk[other, p] = away
        else:
            rows[tail], parts[tail] = p, away
            tail += away > 0
        if slot >= 0:
            room.trunk[slot, p] = left
        else:
            rows[kept], parts[kept] = p, left
            kept += left > 0
    if slot < 0:
        leaf[END, i] = kept
    for u in range(len(member)):
        room.member[new, u] = member[u] & chosen[u]
        member[u] -= room.member[new, u]
    return tail


@part
def _write_set(columns, rules, room, i, chosen):
    """OUT chosen: the set of a SUBSET split, from the ranking that found it; of an EQUAL split on labels, the label."""
    chosen[:] = 0
    split, ratio, order = room.split[i], room.ratio, room.order
    s = split[0]
    if split[2] == EQUAL:
        chosen[split[1]] = 1
        return
    if s == LABEL:
        labels = room.labels[i]
        _rank(labels, len(labels), NONE, 1, rules.l2_regularization, ratio, order)
    else:
        block = columns.blocks[columns.streams[0, s]]
        pairs = room.hist[room.leaf[HOME, i]][block[4] + block[2] - 1 - (s - block[6]) :]
        _rank(pairs, block[0], columns.streams[5, s], block[3], rules.l2_regularization, ratio, order)
    for j in range(split[1] + 1):
        chosen[order[j]] = 1


# ------------------------------------------------------------------------------------------------ surrogates


@part
def _weight(data, rules, room, i, q):
    """The weight of the rows of leaf i at the place in row q of the arena."""
    p, K, n, mask = room.rows[q], data.words.shape[1], 0, (1 << rules.bits) - 1
    if data.first[p]:
        return (data.words[p, 0] & mask) * room.parts[q]
    for u in range(K):
        n += (data.words[p, u] & mask) * room.member[i, u]
    return n * room.parts[q]


@part
def _count_votes(columns, data, rules, room, i, begin, end):
    """OUT votes int64[B, 2]: of the rows of leaf i that its split has a value for, the weight of the true side, all.

    Counted are the rows without a value, which are taken from the leaf's histogram, and the smaller of the two sides.

    IN   begin, end: where in the arena the rows are, with their side in room.state; the false side may be left out
    """
    split, votes, pair, m = room.split[i], room.votes, room.pair, 0
    small = TRUE if 2 * split[3] <= split[4] else FALSE
    for q in range(begin, end):
        side = room.state[q - begin]
        if side in (small, LOST):
            weight = _weight(data, rules, room, i, q)
            room.some[m], pair[m, 0], pair[m, 1] = room.rows[q], weight, weight
            pair[m, 0 if side == LOST else 1] = 0
            m += 1
    votes[:] = 0
    _add_histogram(columns.bins, columns.blocks, room.some[:m], pair, votes)
    hist = room.hist[room.leaf[HOME, i]]
    for x in range(len(votes)):
        votes[x, 1] = hist[x, 1] - votes[x, 1]
        if small == FALSE:
            votes[x, 0] = votes[x, 1] - votes[x, 0]


@part
def _vote_codes(votes, n_bins, stride, gone, true, false):
    """The one code against the rest that agrees most with a split: how much, the code, and whether it goes false."""
    most, code, turned = -1, 0, 0
    for x in range(n_bins):
        t = votes[x * stride, 0]
        f = votes[x * stride, 1] - t
        for turn in range(2 if x != gone else 0):
            agree = f + true - t if turn else t + false - f
            if agree > most:
                most, code, turned = agree, x, turn
    return most, code, turned


@part
def _vote_ordered(votes, n_bins, stride, true, false):
    """As _vote_codes: the threshold, and 1 where what is at most that goes false, plus 2 where outside goes along."""
    t_out = votes[(n_bins - 1) * stride, 0]
    f_out = votes[(n_bins - 1) * stride, 1] - t_out
    most, code, turned = -1, 0, 0
    t = f = 0
    for x in range(n_bins - 2):
        t += votes[x * stride, 0]
        f += votes[x * stride, 1] - votes[x * stride, 0]
        for way in range(4):
            own_t, own_f = t + t_out * (way // 2), f + f_out * (way // 2)
            agree = own_f + true - own_t if way % 2 else own_t + false - own_f
            if agree > most:
                most, code, turned = agree, x, way
    return most, code, turned


@part
def _vote_sets(votes, n_bins, stride, gone):
    """How much agrees where every code goes to the side that has more of it."""
    agree = 0
    for x in range(n_bins):
        if x != gone:
            t = votes[x * stride, 0]
            agree += max(t, votes[x * stride, 1] - t)
    return agree


@part
def _write_way(votes, n_bins, stride, gone, kind, subsets, code, turned, majority, way):
    """OUT way uint8[32]: a bit for each bin that goes to the true side."""
    way[:] = 0
    for x in range(n_bins):
        if x == gone:
            continue
        if kind == ORDERED:
            true = (x <= code or (turned >= 2 and x == n_bins - 1)) != (turned % 2 == 1)
        elif subsets:
            twice = 2 * votes[x * stride, 0]
            true = twice > votes[x * stride, 1] or (twice == votes[x * stride, 1] and majority)
        else:
            true = (x == code) != (turned == 1)
        if true:
            way[x >> 3] |= 1 << (x & 7)


@part
def _enter(room, rating, limit, m):
    """Make room among the m best surrogates for one of this rating, behind equals; its place, or −1: it is too poor."""
    j = m
    while j > 0 and room.rating[j - 1] < rating:
        j -= 1
    if j >= limit:
        return -1
    for k in range(min(m, limit - 1), j, -1):
        room.rating[k], room.found[k] = room.rating[k - 1], room.found[k - 1]
        for b in range(room.ways.shape[1]):
            room.ways[k, b] = room.ways[k - 1, b]
    room.rating[j] = rating
    return j


@part
def _find_surrogates(columns, rules, room, i):
    """The streams that agree best with the split of leaf i where both have a value, and better than the majority does.

    IN   room.votes
    OUT  found int64[·]: their streams, the best first; ways uint8[·, 32]: what goes true; returns how many
    """
    own, m, limit = room.split[i, 0], 0, rules.n_surrogates
    for c in range(len(columns.blocks)):
        block = columns.blocks[c]
        n_bins, width, stride, kind = block[0], block[2], block[3], block[5]
        gone = columns.streams[5, block[6]]
        for j in range(width):
            votes = room.votes[block[4] + width - 1 - j :]
            true = known = 0
            for x in range(n_bins):
                true += votes[x * stride, 0] if x != gone else 0
                known += votes[x * stride, 1] if x != gone else 0
            code = turned = 0
            if kind == ORDERED:
                agree, code, turned = _vote_ordered(votes, n_bins, stride, true, known - true)
            elif rules.subsets:
                agree = _vote_sets(votes, n_bins, stride, gone)
            else:
                agree, code, turned = _vote_codes(votes, n_bins, stride, gone, true, known - true)
            if block[6] + j == own or agree <= max(true, known - true):
                continue
            at = _enter(room, agree / known, limit, m)
            if at >= 0:
                majority = 2 * true >= known
                _write_way(votes, n_bins, stride, gone, kind, rules.subsets, code, turned, majority, room.ways[at])
                room.found[at], m = block[6] + j, min(m + 1, limit)
    return m


@part
def _vote_first(data, rules, room, i, begin, end, m):
    """As _find_surrogates, after m found streams: whether a place is first in its sequence, with ⊥ before it.

    Bit 1 of its way is for first places, bit 0 for all others. IN begin, end as in _count_votes.
    """
    K = data.words.shape[1]
    f1 = room.labels[i, K, 1]
    f0, t0, t1 = room.leaf[N, i] - f1, 0, 0
    for q in range(begin, end):
        side = room.state[q - begin]
        if side != FALSE:
            weight = _weight(data, rules, room, i, q)
            if data.first[room.rows[q]]:
                t1 += weight if side == TRUE else 0
                f1 -= weight
            else:
                t0 += weight if side == TRUE else 0
                f0 -= weight
    agree = max(t1 + f0, f1 + t0)
    if agree > max(t0 + t1, f0 + f1):
        at = _enter(room, agree / (t0 + t1 + f0 + f1), rules.n_surrogates, m)
        if at >= 0:
            room.ways[at, :] = 0
            room.ways[at, 0] = 2 if t1 + f0 >= f1 + t0 else 1
            room.found[at], m = LABEL, min(m + 1, rules.n_surrogates)
    return m


@part
def _ask_surrogates(columns, first, rows, found, ways, share, state):
    """Give LOST places the side of the first surrogate that they have a value for, else the larger side. OUT state."""
    for r in range(len(rows)):
        if state[r] != LOST:
            continue
        state[r] = TRUE if share == 1.0 else FALSE
        for q in range(len(found)):
            s, x = found[q], 0
            if s == LABEL:
                x = 1 if first[rows[r]] else 0
            else:
                x = np.int64(columns.bins[columns.streams[0, s], rows[r] + columns.streams[1, s]])
                if x == columns.streams[5, s]:
                    continue
            state[r] = TRUE if (ways[q, x >> 3] >> (x & 7)) & 1 else FALSE
            break


# ------------------------------------------------------------------------------------------------ the tree


@part
def _plant(data, rules, room, tree):
    """The root: every place that has a row, whole, with all its previous labels, as a trunk or as a run."""
    leaf, m, as_trunk = room.leaf, 0, len(room.trunk) > 0
    leaf[:, 0] = 0
    room.member[0, :] = 1
    tree[0, :] = 0
    tree[0, 0] = LEAF
    if as_trunk:
        room.trunk[0, :] = 0
    for r in range(len(data.places)):
        p = data.places[r]
        own, _ = _own_words(data.words, data.first, np.uint64(p), room.member[0], room.member[0])
        if own != 0:
            if as_trunk:
                room.trunk[0, p] = rules.whole
            else:
                room.rows[m], room.parts[m] = p, rules.whole
                m += 1
    leaf[SLOT, 0], leaf[END, 0] = 0 if as_trunk else -1, m


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
def _record(tree, surrogates, ways, room, i, n_sets, n_nodes, n_surrogates, m):
    """Turn a leaf of the tree into a split with two leaves, the true side first; write its surrogates down."""
    split, parent = room.split[i], room.leaf[NODE, i]
    tree[parent, 0], tree[parent, 1], tree[parent, 2] = split[0], split[1], split[2]
    if split[2] == SUBSET:
        tree[parent, 1] = n_sets
    tree[parent, 3], tree[parent, 4] = n_nodes, n_nodes + 1
    tree[n_nodes : n_nodes + 2, :] = 0
    tree[n_nodes, 0] = tree[n_nodes + 1, 0] = LEAF
    for q in range(m):
        surrogates[n_surrogates + q, 0], surrogates[n_surrogates + q, 1] = parent, room.found[q]
        for b in range(ways.shape[1]):
            ways[n_surrogates + q, b] = room.ways[q, b]


@part
def _settle(columns, room, i, new, begin, end, ends):
    """Take what leaf `new` has out of leaf i, from which it came: pairs and histograms. The root comes from leaf −1.

    Returns the new end of the sparse histograms; −1: no room.
    """
    leaf = room.leaf
    if i >= 0:
        leaf[G, i] -= leaf[G, new]
        leaf[N, i] -= leaf[N, new]
        for u in range(room.labels.shape[1]):
            room.labels[i, u, 0] -= room.labels[new, u, 0]
            room.labels[i, u, 1] -= room.labels[new, u, 1]
    if leaf[HOME, new] < 0:
        return ends
    if i >= 0:
        mine, taken = room.hist[leaf[HOME, i]], room.hist[leaf[HOME, new]]
        for x in range(len(mine)):
            mine[x, 0] -= taken[x, 0]
            mine[x, 1] -= taken[x, 1]
    return _count_items(columns, room, new, begin, end, i, ends) if columns.n_sparse else ends


@kernel
def grow(columns, data, rules, room, tree, pairs, gains, shares, sets, surrogates, ways):
    """Grow a tree best-first. Returns leaves, sets and surrogates in it; leaves is −1 where the arena, −2 where ids
    are too few.

    IN   columns, data as in `growing`
    OUT  tree int64[2L, 5]: stream, bin, rule, true, false; pairs int64[2L, 2], gains, shares float64[2L] of its nodes;
         sets uint8[L, ·]; surrogates int64[·, 2] (node, stream) and ways uint8[·, 32] (a bit for each bin that goes
         true); in room, where the rows of each leaf are
    """
    leaf, split, n, i, new = room.leaf, room.split, len(data.places), -1, 0
    n_nodes, n_sets, n_surrogates, n_trunks, ends = 1, 0, 0, 1, 0
    if n > len(room.rows):
        return -1, 0, 0
    _plant(data, rules, room, tree)
    tail = leaf[END, 0]
    while True:  # leaf `new` has been taken out of leaf i
        if new > 0:  # the last one needs no histogram: nothing is split any more
            home = new if new < len(room.hist) else _claim_home(leaf[HOME], room.gain, len(room.hist), new, i)
            leaf[HOME, new] = home if new + 1 < rules.max_leaf_nodes else -1
        begin, end = _measure(columns, data, rules, room, new, tail)
        ends = _settle(columns, room, i, new, begin, end, ends)
        if ends < 0:
            return -2, 0, 0
        for z in (i, new):
            if z >= 0:
                node = leaf[NODE, z]
                pairs[node, 0], pairs[node, 1], gains[node], shares[node] = leaf[G, z], leaf[N, z], 0.0, 0.0
                if leaf[HOME, new] >= 0:
                    _find_split(columns, rules, room, z)
        new += 1
        i = _best_leaf(room.gain, new)
        if new == rules.max_leaf_nodes or room.gain[i] <= 0.0:
            return new, n_sets, n_surrogates
        parent, by_label, trunk, share, m = leaf[NODE, i], split[i, 0] == LABEL, leaf[SLOT, i] >= 0, 0.0, 0
        if tail + (2 * n if trunk else leaf[END, i] - leaf[BEGIN, i]) > len(room.rows):
            return -1, 0, 0
        if leaf[HOME, i] < 0:
            leaf[HOME, i] = _claim_home(leaf[HOME], room.gain, len(room.hist), new, i)
            _measure(columns, data, rules, room, i, tail)
        planted = by_label and trunk and n_trunks < len(room.trunk) and 4 * split[i, 3] > n * rules.whole
        true_leaves = by_label or 2 * split[i, 3] <= split[i, 4]
        leaf[SLOT, new], n_trunks = n_trunks if planted else -1, n_trunks + planted
        if by_label or split[i, 2] == SUBSET:
            _write_set(columns, rules, room, i, sets[n_sets])
        if by_label:
            leaf[BEGIN, new] = tail
            tail = _divide_labels(data, room, i, new, sets[n_sets], tail)
        else:
            share = split[i, 3] / split[i, 4]
            _share_parts(share, rules.few, true_leaves, room.moved)
            found = _find_postings(columns, split[i], n if true_leaves else 0)
            if trunk and found[0] >= 0 and not rules.n_surrogates:
                leaf[BEGIN, new] = tail
                tail = _divide_trunk(columns, room, i, found, tail)
            else:
                begin, end, tail = _see_leaf(columns, data.places, room, i, found, sets[n_sets], tail)
                leaf[BEGIN, new] = tail
                if rules.n_surrogates:
                    share = 1.0 if 2 * split[i, 3] >= split[i, 4] else 0.0
                    _count_votes(columns, data, rules, room, i, begin, end)
                    m = _find_surrogates(columns, rules, room, i)
                    m = _vote_first(data, rules, room, i, begin, end, m)
                    _ask_surrogates(
                        columns, data.first, room.rows[begin:end], room.found[:m], room.ways, share, room.state
                    )
                tail = _cut_leaf(room, i, begin, end, tail)
            for u in range(room.member.shape[1]):
                room.member[new, u] = room.member[i, u]
        leaf[END, new] = tail
        _record(tree, surrogates, ways, room, i, n_sets, n_nodes, n_surrogates, m)
        gains[parent], shares[parent] = room.gain[i], share
        leaf[NODE, new], leaf[NODE, i] = (n_nodes, n_nodes + 1) if true_leaves else (n_nodes + 1, n_nodes)
        n_nodes, n_surrogates, n_sets = n_nodes + 2, n_surrogates + m, n_sets + (split[i, 2] == SUBSET)


@part
def _find_row(places, room, i, r):
    """The place of row r of leaf i, and its parts; of a trunk, r counts all places."""
    if room.leaf[SLOT, i] < 0:
        q = room.leaf[BEGIN, i] + r
        return np.uint64(room.rows[q]), room.parts[q]
    p = np.uint64(places[r])
    return p, room.trunk[room.leaf[SLOT, i], p]


@kernel
def assign_leaves(data, room, n_leaves, leaf_of):
    """OUT leaf_of uint16[P, K]: the leaf of row (p, u), where no place is in two; ⊥ is in column 0 of a first place."""
    leaf, K = room.leaf, leaf_of.shape[1]
    for i in range(n_leaves):
        m = _list_labels(room.member[i], room.order)
        for r in range(len(data.places) if leaf[SLOT, i] >= 0 else leaf[END, i] - leaf[BEGIN, i]):
            p, own = _find_row(data.places, room, i, r)
            if own > 0 and data.first[p]:
                leaf_of[p, 0] = i if room.member[i, K] else leaf_of[p, 0]
            elif own > 0:
                for j in range(m):
                    leaf_of[p, np.uint64(room.order[j])] = i
