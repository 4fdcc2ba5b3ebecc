"""Dividing a leaf of a growing tree: which of its places, or how much of them, go to a new leaf.

In the loops below numbers of rows are unsigned: a signed one is checked for its sign at each use, which takes as long
as all the rest. And both places are written for every row, one of which then moves on: no branch to mispredict.
"""

import numpy as np

from hedgerow.jit import part
from hedgerow.trees.kernels.sides import goes_true
from hedgerow.trees.kernels.state import BEGIN, END, FALSE, KNOWN_WEIGHT, LOST, NODE, SLOT, TRUE, TRUE_WEIGHT
from hedgerow.trees.kernels.surrogates import find_surrogates, place_lost
from hedgerow.trees.nodes import BIN, COLUMN, EQUAL, HAS, MISSING_BIN, N_BINS, OFFSET, RULE, STREAM

# ------------------------------------------------------------------------------------------------ by the input


@part
def _share_amounts(share, few, true_leaves, moved):
    """OUT moved: what of a place leaves a leaf, from each side and of what has no value.

    int64[3]: a mask, all or nothing. int32[3, whole+1]: of so many parts. Of a place without a value a share, rounded,
    goes to the true side, and the rest to the false side; fewer than `few` parts are not worth a row, and stay with
    the rest.
    """
    if moved.ndim == 1:
        moved[FALSE], moved[TRUE] = (0, -1) if true_leaves else (-1, 0)
    else:
        for parts in range(moved.shape[1]):
            true = int(parts * share + 0.5)
            true = true if true >= few else 0
            true = true if parts - true >= few else parts
            moved[FALSE, parts] = 0 if true_leaves else parts
            moved[TRUE, parts] = parts if true_leaves else 0
            moved[LOST, parts] = true if true_leaves else parts - true


@part
def _leaving(moved, state, amount):
    """How much of an amount leaves; see `_share_amounts`."""
    if moved.ndim == 1:
        return amount & moved[np.uint64(state)]
    return moved[np.uint64(state), np.uint64(amount)]


@part
def _see(columns, split, chosen, gaps, rows, side, state):
    """OUT state uint8[n]: the side of a split on the input that each of the rows is on; `chosen` is a SUBSET's set.

    gaps : () where a missing value is a value
    """
    s, b, rule = split[STREAM], split[BIN], split[RULE]
    c, shift, n_bins = columns.streams[COLUMN, s], columns.streams[OFFSET, s], columns.streams[N_BINS, s]
    missing_bin = np.int64(-1) if len(gaps) == 0 else columns.streams[MISSING_BIN, s]
    if rule == HAS:
        ptr = columns.item_ptr[c - len(columns.blocks)]
        for r in range(len(rows)):
            at, seen = rows[r] + shift, FALSE
            for q in range(ptr[at], ptr[at + 1]):
                if columns.items[q] == b:
                    seen = TRUE
                elif columns.items[q] == missing_bin:
                    seen = LOST
            state[r] = seen
        return
    sets = chosen.reshape(1, chosen.size)
    for x in range(n_bins):
        true = goes_true(rule, b, x, n_bins, sets, np.int64(0))
        side[x] = LOST if x == missing_bin else (TRUE if true else FALSE)
    column = columns.bins[c]
    for r in range(len(rows)):
        state[r] = side[column[np.uint64(rows[r] + shift)]]


@part
def _cut_run(rows, amount, begin, end, state, moved, tail):
    """Move what leaves a run to the tail of the arena; the rest closes up, in order. Returns the ends."""
    kept, into, zero, one = np.uint64(begin), np.uint64(tail), np.uint64(0), np.uint64(1)
    for q in range(np.uint64(begin), np.uint64(end)):
        p, share = rows[q], amount[q]
        away = _leaving(moved, state[q - np.uint64(begin)], share)
        left = share - away
        rows[into], amount[into] = p, away
        rows[kept], amount[kept] = p, left
        into += one if away != 0 else zero
        kept += one if left != 0 else zero
    return np.int64(kept), np.int64(into)


@part
def _fill_hole(rows, amount, hole, end, begin, tail):
    """Move begin … tail-1 of the arena into the hole that what left made at hole … end-1, where it fits, as it does if
    places leave whole. Returns its two ends, and the new tail."""
    m = tail - begin
    if m > end - hole:
        return begin, tail, tail
    for r in range(np.uint64(m)):
        p, into = np.uint64(begin) + r, np.uint64(hole) + r
        rows[into], amount[into] = rows[p], amount[p]
    return hole, hole + m, begin


@part
def _cut_postings(postings, shift, state, moved, trunk, rows, amount, tail):
    """Move what leaves a trunk of the places in `postings`, those of one value, to the tail. Returns the end."""
    into, zero, one = np.uint64(tail), np.uint64(0), np.uint64(1)
    for q in range(len(postings)):
        p = np.uint64(postings[q] - shift)
        away = _leaving(moved, state, trunk[p])
        rows[into], amount[into] = p, away
        trunk[p] -= away
        into += one if away != 0 else zero
    return np.int64(into)


@part
def list_trunk(trunk, places, rows, amount, tail):
    """Write the places of a trunk, and what of them is in it, to the tail of the arena; returns the new tail."""
    for r in range(len(places)):
        rows[tail], amount[tail] = places[r], trunk[places[r]]
        tail += amount[tail] != 0
    return tail


@part
def _find_postings(columns, split, gaps, n):
    """Where the true side of a split on one value stands, and what has no value: begin and end of both.

    The first is −1 where a split is not on one value, or where the two are no small part of n places.
    """
    s, b, rule = split[STREAM], split[BIN], split[RULE]
    c = columns.streams[COLUMN, s]
    missing_bin = np.int64(-1) if len(gaps) == 0 else columns.streams[MISSING_BIN, s]
    if rule == HAS:
        ptr = columns.item_place_ptr[c - len(columns.blocks)]
    elif rule == EQUAL:
        ptr = columns.posting_ptr[c]
    else:
        return -1, -1, -1, -1
    low, high = (ptr[missing_bin], ptr[missing_bin + 1]) if missing_bin >= 0 else (0, 0)
    if ptr[b + 1] - ptr[b] + high - low > n // 2:
        return -1, -1, -1, -1
    return ptr[b], ptr[b + 1], low, high


@part
def _list_postings(postings, shift, side, trunk, rows, amount, state, begin, tail):
    """Write the places of a trunk in `postings`, those of one value, to the tail. Returns the end.

    OUT state, from `begin` on: their side
    """
    for q in range(len(postings)):
        p = postings[q] - shift
        rows[tail], amount[tail], state[tail - begin] = p, trunk[p], side
        tail += trunk[p] != 0
    return tail


@part
def _cut_listed(trunk, rows, amount, begin, end, state):
    """Of rows of a trunk that stand at the tail of the arena, keep there, and there alone, those on the true side."""
    tail = begin
    for q in range(begin, end):
        if state[q - begin] == TRUE:
            trunk[rows[q]] = 0
            rows[tail], amount[tail] = rows[q], amount[q]
            tail += 1
    return tail


@part
def divide_input(columns, data, rules, buffers, gaps, surrogates, i, new, chosen, true_leaves, tail):
    """Take one side of leaf i, by a split on the input, out of it for leaf `new`, a run.

    What leaves a run goes to where it was, so that the arena does not grow with each split. Returns the number of
    surrogates, and the new tail.
    """
    leaf, split, rows, amount, state = buffers.leaf, buffers.split[i], buffers.rows, buffers.amount, buffers.state
    share, m, slot = split[TRUE_WEIGHT] / split[KNOWN_WEIGHT], 0, leaf[SLOT, i]
    if len(surrogates) > 0:
        share = 1.0 if 2 * split[TRUE_WEIGHT] >= split[KNOWN_WEIGHT] else 0.0
    if len(gaps) > 0:
        gaps.shares[leaf[NODE, i]] = share
    for u in range(buffers.member.shape[1]):
        buffers.member[new, u] = buffers.member[i, u]
    _share_amounts(share, rules.few, true_leaves, buffers.moved)
    at = _find_postings(columns, split, gaps, len(data.places) if true_leaves else 0)
    if slot >= 0 and at[0] >= 0:
        shift, trunk = columns.streams[OFFSET, split[STREAM]], buffers.trunk[slot]
        postings = columns.item_places if split[RULE] == HAS else columns.postings
        known, lost = postings[at[0] : at[1]], postings[at[2] : at[3]]
        if len(surrogates) == 0:
            leaf[BEGIN, new] = tail
            tail = _cut_postings(known, shift, np.uint8(TRUE), buffers.moved, trunk, rows, amount, tail)
            if len(gaps) > 0:
                tail = _cut_postings(lost, shift, np.uint8(LOST), buffers.moved, trunk, rows, amount, tail)
            leaf[END, new] = tail
            return m, tail
        begin = tail
        end = _list_postings(known, shift, np.uint8(TRUE), trunk, rows, amount, state, begin, begin)
        end = _list_postings(lost, shift, np.uint8(LOST), trunk, rows, amount, state, begin, end)
    else:
        if slot >= 0:
            leaf[BEGIN, i] = tail
            tail = list_trunk(buffers.trunk[slot], data.places, rows, amount, tail)
            leaf[SLOT, i], leaf[END, i] = -1, tail
        begin, end = leaf[BEGIN, i], leaf[END, i]
        _see(columns, split, chosen, gaps, rows[begin:end], buffers.side, state)
    leaf[BEGIN, new] = tail
    if len(surrogates) > 0:
        m = find_surrogates(columns, data, rules, buffers, gaps, surrogates, i, begin, end)
        place_lost(columns, data.first, rows[begin:end], surrogates.stream[:m], surrogates.ways, share, state)
        if leaf[SLOT, i] >= 0:
            leaf[END, new] = _cut_listed(buffers.trunk[slot], rows, amount, begin, end, state)
            return m, leaf[END, new]
    leaf[END, i], into = _cut_run(rows, amount, begin, end, state, buffers.moved, tail)
    leaf[BEGIN, new], leaf[END, new], tail = _fill_hole(rows, amount, leaf[END, i], end, tail, into)
    return m, tail


# ------------------------------------------------------------------------------------------------ by the previous label


@part
def _word(data, p, one, chosen):
    """The words of the rows (p, u) with u = one, or, where that is −1, with u chosen; ⊥ is K."""
    row, K = data.words[p], data.words.shape[1]
    if data.first[p]:
        return row[0] if chosen[K] else 0
    if one >= 0:
        return row[np.uint64(one)] if one < K else 0
    word = 0
    for u in range(K):
        word += row[u] & -np.int64(chosen[u])
    return word


@part
def _parted(data, p, amount, one, chosen, others):
    """What leaves of an amount, and what is left. Of parts, all is on both sides where both have rows: `others` are the
    labels that stay, None where amounts are words."""
    taken = _word(data, p, one, chosen)
    if others is None:
        away = taken if amount != 0 else 0
        return away, amount - away
    return amount if taken != 0 else 0, amount if _word(data, p, np.int64(-1), others) != 0 else 0


@part
def _take_trunk(data, trunk, other, as_trunk, rows, amount, one, chosen, others, tail):
    """Take what leaves a trunk into another one, or to the tail. Returns the new tail."""
    for r in range(len(data.places)):
        p = np.uint64(data.places[r])
        away, left = _parted(data, p, trunk[p], one, chosen, others)
        trunk[p] = left
        if as_trunk:
            other[p] = away
        elif away != 0:
            rows[tail], amount[tail] = p, away
            tail += 1
    return tail


@part
def divide_labels(data, buffers, gaps, i, new, chosen, tail):
    """Take the chosen previous labels of leaf i out of it for leaf `new`, a trunk or a run; returns the new tail."""
    leaf, split, rows, amount, member = buffers.leaf, buffers.split[i], buffers.rows, buffers.amount, buffers.member
    for u in range(member.shape[1]):
        member[new, u] = member[i, u] & chosen[u]
        member[i, u] -= member[new, u]
    begin, end, slot, other = leaf[BEGIN, i], leaf[END, i], leaf[SLOT, i], leaf[SLOT, new]
    others, one = None if len(gaps) == 0 else member[i], split[BIN] if split[RULE] == EQUAL else -1
    leaf[BEGIN, new] = tail
    if slot < 0:  # a place of which nothing is left is left out
        kept = begin
        for q in range(begin, end):
            p = rows[q]
            away, left = _parted(data, np.uint64(p), amount[q], one, chosen, others)
            rows[tail], amount[tail] = p, away
            tail += away != 0
            rows[kept], amount[kept] = p, left
            kept += left != 0
        leaf[END, i] = kept
    else:
        into = buffers.trunk[max(other, 0)]
        tail = _take_trunk(data, buffers.trunk[slot], into, other >= 0, rows, amount, one, chosen, others, tail)
    leaf[END, new] = tail
    return tail
