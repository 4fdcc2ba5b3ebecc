"""Growing one regression tree over product sets: (positions) × (previous labels).

The rows of the tree for a label are pairs (t, u): position t with previous label u, or with ⊥ where t is first in its
sequence. A node is (P × S) ∩ rows, so the histogram of an input feature needs one number a position: the sum of the
gradients of its rows with u in S, and how many they are. Both stand in one int64, the gradient as a fixed-point number
above `bits` bits of count: sums of such words are exact in any order.

A node of many positions is a trunk: it has no list of rows but a slot q, where alive[q, t] says whether t is in it, and
trunk[q, t] is its word. A split that takes one value out of a trunk walks the postings of that value, not the trunk.
Every other node owns a run of the arena (rows, words), and is cut in place. The root is a trunk, and so is what a split
on the previous label takes out of a trunk, while there are slots.

A split is (stream, bin, rule): EQUAL sends x = bin to the true side; AT_MOST sends x ≤ bin; AT_MOST_OR_SPECIAL also
the two last bins, missing and outside. Stream −1 is the previous label, bin the label (K is ⊥).
"""

from __future__ import annotations

from hedgerow.kernels._jit import kernel

EQUAL, AT_MOST, AT_MOST_OR_SPECIAL = 0, 1, 2
CODES, ORDERED = 0, 1
LABEL = -1


@kernel
def _true_side(x, bin_, rule, n_bins):
    if rule == EQUAL:
        return x == bin_
    return x <= bin_ or (rule == AT_MOST_OR_SPECIAL and x >= n_bins - 2)


@kernel
def _gain(word, total, bits, shrinkage):
    """What a split off of `word` from `total` gains: A_L²/(λ+n_L) + A_R²/(λ+n_R), in units of the fixed point."""
    mask = (1 << bits) - 1
    n_left, n = word & mask, total & mask
    if n_left == 0 or n_left == n:
        return -1.0
    a = float((word - n_left) >> bits)
    r = float((total - n) >> bits) - a
    d_left, d_right = shrinkage + n_left, shrinkage + (n - n_left)
    return (a * a * d_right + r * r * d_left) / (d_left * d_right)


@kernel
def find_split(hist, first_bin, n_bins, kind, labels, member, total, bits, shrinkage, split):
    """The split with the largest gain; ties go to the first in (stream, bin, rule) order, then the previous label.

    IN   hist int64[B], first_bin/n_bins/kind int64[streams], labels int64[K+1], member bool[K+1]
    OUT  split int64[3]; returns the gain over not splitting, 0 where nothing gains
    """
    mask = (1 << bits) - 1
    n = total & mask
    a = float((total - n) >> bits)
    best = a * a / (shrinkage + n) * (1.0 + 1e-12) if shrinkage + n > 0 else 0.0
    base = best
    for s in range(len(n_bins)):
        if kind[s] == CODES:
            for b in range(n_bins[s]):
                gain = _gain(hist[first_bin[s] + b], total, bits, shrinkage)
                if gain > best:
                    best = gain
                    split[0], split[1], split[2] = s, b, EQUAL
        else:
            special = hist[first_bin[s] + n_bins[s] - 2] + hist[first_bin[s] + n_bins[s] - 1]
            running = 0
            for b in range(n_bins[s] - 2):
                running += hist[first_bin[s] + b]
                for rule in (AT_MOST, AT_MOST_OR_SPECIAL):
                    gain = _gain(running + (special if rule == AT_MOST_OR_SPECIAL else 0), total, bits, shrinkage)
                    if gain > best:
                        best = gain
                        split[0], split[1], split[2] = s, b, rule
    for u in range(len(member)):
        if member[u]:
            gain = _gain(labels[u], total, bits, shrinkage)
            if gain > best:
                best = gain
                split[0], split[1], split[2] = LABEL, u, EQUAL
    return best - base if best > base else 0.0


@kernel
def _fill_trunk(words, first, trunk, alive):
    """Every position with all its previous labels. words int64[N, K]; a first position keeps its ⊥ word in column 0."""
    total = 0
    for t in range(trunk.shape[1]):
        word = words[t, 0]
        if not first[t]:
            for u in range(1, words.shape[1]):
                word += words[t, u]
        trunk[0, t] = word
        alive[0, t] = 1
        total += word
    return total


@kernel
def _trunk_histogram(bins, place, trunk, q, column, shift, first_bin, hist):
    """As _histogram, of the trunk in slot q; positions that left it have the word 0."""
    hist[:] = 0
    for s in range(len(column)):
        c, o, b = column[s], shift[s], first_bin[s]
        for t in range(len(place)):
            hist[b + bins[c, place[t] + o]] += trunk[q, t]


@kernel
def _histogram(bins, place, rows, weight, begin, end, column, shift, first_bin, hist):
    hist[:] = 0
    for s in range(len(column)):
        c, o, b = column[s], shift[s], first_bin[s]
        for q in range(begin, end):
            hist[b + bins[c, place[rows[q]] + o]] += weight[q]


@kernel
def _label_sums(words, first, rows, begin, end, member, labels):
    """labels[u] = Σ of the words (t, u) over the rows, for the previous labels of the node."""
    K = words.shape[1]
    labels[:] = 0
    for q in range(begin, end):
        t = rows[q]
        if first[t]:
            labels[K] += words[t, 0]
        else:
            for u in range(K):
                labels[u] += words[t, u]
    for u in range(K + 1):
        if not member[u]:
            labels[u] = 0


@kernel
def _cut(bins, place, rows, weight, begin, end, c, o, bin_, rule, n_bins, true_leaves, tail):
    """Move one side of a node's run to the tail of the arena; the other side closes up, in order."""
    kept, moved = begin, tail
    for q in range(begin, end):
        t, w = rows[q], weight[q]
        if _true_side(bins[c, place[t] + o], bin_, rule, n_bins) == true_leaves:
            rows[moved], weight[moved] = t, w
            moved += 1
        else:
            rows[kept], weight[kept] = t, w
            kept += 1
    return kept, moved


@kernel
def _cut_trunk(bins, place, trunk, alive, slot, c, o, bin_, rule, n_bins, true_leaves, rows, weight, tail):
    """Move one side of a trunk to the tail of the arena, looking at every position."""
    for t in range(len(place)):
        if alive[slot, t] and _true_side(bins[c, place[t] + o], bin_, rule, n_bins) == true_leaves:
            rows[tail], weight[tail] = t, trunk[slot, t]
            alive[slot, t], trunk[slot, t] = 0, 0
            tail += 1
    return tail


@kernel
def _cut_postings(postings, flat, trunk, alive, slot, begin, end, o, rows, weight, tail):
    """Move the positions of a trunk that have a value at offset o: it stands at padded places postings[begin:end]."""
    for q in range(begin, end):
        t = flat[postings[q] - o]
        if t >= 0 and alive[slot, t]:
            rows[tail], weight[tail] = t, trunk[slot, t]
            alive[slot, t], trunk[slot, t] = 0, 0
            tail += 1
    return tail


@kernel
def _take_label(words, first, u, rows, weight, begin, end, tail):
    """Copy the rows (t, u) of a node to the tail; what is left of the node closes up."""
    K = words.shape[1]
    kept = begin
    for q in range(begin, end):
        t, w = rows[q], weight[q]
        own = words[t, 0] if first[t] and u == K else words[t, u] if not first[t] and u < K else 0
        if own != 0:
            rows[tail], weight[tail] = t, own
            tail += 1
        if w != own:
            rows[kept], weight[kept] = t, w - own
            kept += 1
    return kept, tail


@kernel
def _take_trunk_label(words, first, u, trunk, alive, slot, new_slot, rows, weight, tail):
    """As _take_label, from a trunk: into the trunk `new_slot`, or to the tail where that is −1."""
    K = words.shape[1]
    for t in range(len(first)):
        own = 0
        if alive[slot, t]:
            own = words[t, 0] if first[t] and u == K else words[t, u] if not first[t] and u < K else 0
            trunk[slot, t] -= own
            alive[slot, t] = trunk[slot, t] != 0
        if new_slot >= 0:
            trunk[new_slot, t] = own
            alive[new_slot, t] = own != 0
        elif own != 0:
            rows[tail], weight[tail] = t, own
            tail += 1
    return tail


@kernel
def _side_word(hist, split, first_bin, n_bins):
    """The sum of the words on the true side of an input split."""
    s, b, rule = split[0], split[1], split[2]
    if rule == EQUAL:
        return hist[first_bin[s] + b]
    word = 0
    for j in range(b + 1):
        word += hist[first_bin[s] + j]
    if rule == AT_MOST_OR_SPECIAL:
        word += hist[first_bin[s] + n_bins[s] - 2] + hist[first_bin[s] + n_bins[s] - 1]
    return word


@kernel
def _divide(
    i, new, split, true_leaves, bins, place, flat, first, words, streams, postings, posting_ptr, trunk, alive, slot,
    rows, weight, begin, end, tail,
):  # fmt: skip
    """Take one side of leaf i out of it, for leaf `new`; returns the new tail. streams int64[5, ·] as in grow."""
    s, b, rule = split[0], split[1], split[2]
    if s == LABEL:
        if slot[i] >= 0:
            return _take_trunk_label(words, first, b, trunk, alive, slot[i], slot[new], rows, weight, tail)
        end[i], tail = _take_label(words, first, b, rows, weight, begin[i], end[i], tail)
        return tail
    c, o, n = streams[0, s], streams[1, s], streams[3, s]
    if slot[i] < 0:
        end[i], tail = _cut(bins, place, rows, weight, begin[i], end[i], c, o, b, rule, n, true_leaves, tail)
        return tail
    p0, p1 = posting_ptr[c, b], posting_ptr[c, b + 1]
    if rule == EQUAL and true_leaves and p0 < p1 < p0 + len(place) // 2:
        return _cut_postings(postings, flat, trunk, alive, slot[i], p0, p1, o, rows, weight, tail)
    return _cut_trunk(bins, place, trunk, alive, slot[i], c, o, b, rule, n, true_leaves, rows, weight, tail)


@kernel
def grow(
    bins, place, flat, first, words, streams, postings, posting_ptr, max_leaves, bits, shrinkage,
    trunk, alive, rows, weight, slot, begin, end, total, gain, split, member, hist, labels, node, tree,
):  # fmt: skip
    """Grow a tree best-first. Returns the number of leaves, or −1 where the arena is too small.

    IN   bins uint[C, P] columns by padded position, place int64[N] padded place of a position, flat int32[P] back (−1
         in a gap), first bool[N], words int64[N, K], streams int64[5, ·]: column, shift, first bin, bins, kind;
         postings int32[], posting_ptr int64[C, ·]: padded places of each code (none: an empty run)
    WORK trunk int64[Q, N], rows int32[], weight int64[], hist int64[L, B], labels int64[L, K+1], gain float64[L],
         split int64[L, 3]
    OUT  slot int64[L]: the trunk of a leaf, alive uint8[Q, N] its positions; or −1, and rows[begin:end] int64[L];
         total int64[L], member bool[L, K+1], node int64[L] (place of the leaf in the tree),
         tree int64[2L, 5]: stream (−2: leaf), bin, rule, true, false
    """
    column, shift, first_bin, n_bins, kind = streams[0], streams[1], streams[2], streams[3], streams[4]
    mask = (1 << bits) - 1
    total[0] = _fill_trunk(words, first, trunk, alive)
    member[0, :] = True
    _trunk_histogram(bins, place, trunk, 0, column, shift, first_bin, hist[0])
    _trunk_labels(words, first, labels[0])
    gain[0] = find_split(hist[0], first_bin, n_bins, kind, labels[0], member[0], total[0], bits, shrinkage, split[0])
    tree[0, :] = 0
    tree[0, 0], node[0], slot[0] = -2, 0, 0
    n_leaves, n_nodes, n_trunks, tail = 1, 1, 1, 0
    while n_leaves < max_leaves:
        i = _best_leaf(gain, n_leaves)
        if gain[i] <= 0.0:
            break
        new = n_leaves
        by_label = split[i, 0] == LABEL
        word = labels[i, split[i, 1]] if by_label else _side_word(hist[i], split[i], first_bin, n_bins)
        true_leaves = by_label or 2 * (word & mask) <= total[i] & mask
        slot[new] = -1
        if by_label and slot[i] >= 0 and n_trunks < len(trunk) and 4 * (word & mask) > len(place):
            slot[new], n_trunks = n_trunks, n_trunks + 1
        if tail + (len(place) if slot[i] >= 0 else end[i] - begin[i]) > len(rows):
            return -1
        begin[new] = tail
        tail = _divide(
            i, new, split[i], true_leaves, bins, place, flat, first, words, streams, postings, posting_ptr, trunk,
            alive, slot, rows, weight, begin, end, tail,
        )  # fmt: skip
        end[new] = tail
        total[new] = word if true_leaves else total[i] - word
        total[i] -= total[new]
        if slot[new] >= 0:
            _trunk_histogram(bins, place, trunk, slot[new], column, shift, first_bin, hist[new])
        else:
            _histogram(bins, place, rows, weight, begin[new], tail, column, shift, first_bin, hist[new])
        _subtract(hist, i, new)
        _share_labels(words, first, rows, begin[new], tail, member, labels, i, new, by_label, split[i, 1])
        n_nodes = _record(tree, node, split[i], i, new, true_leaves, n_nodes)
        n_leaves += 1
        for z in (i, new):
            gain[z] = find_split(
                hist[z], first_bin, n_bins, kind, labels[z], member[z], total[z], bits, shrinkage, split[z]
            )
    return n_leaves


@kernel
def _best_leaf(gain, n_leaves):
    i = 0
    for j in range(1, n_leaves):
        if gain[j] > gain[i]:
            i = j
    return i


@kernel
def _subtract(hist, i, new):
    for x in range(hist.shape[1]):
        hist[i, x] -= hist[new, x]


@kernel
def _share_labels(words, first, rows, begin, end, member, labels, i, new, by_label, u):
    """Previous labels of the two sides of a split, and the sums of their words."""
    if by_label:
        member[new, :] = False
        member[new, u] = True
        member[i, u] = False
        labels[new, :] = 0
        labels[new, u], labels[i, u] = labels[i, u], 0
        return
    member[new, :] = member[i, :]
    _label_sums(words, first, rows, begin, end, member[new], labels[new])
    for v in range(member.shape[1]):
        labels[i, v] -= labels[new, v]


@kernel
def _trunk_labels(words, first, labels):
    K = words.shape[1]
    labels[:] = 0
    for t in range(len(words)):
        if first[t]:
            labels[K] += words[t, 0]
        else:
            for u in range(K):
                labels[u] += words[t, u]


@kernel
def _record(tree, node, split, i, new, true_leaves, n_nodes):
    """Turn a leaf of the tree into a split with two leaves: the true side first."""
    parent = node[i]
    tree[parent, 0], tree[parent, 1], tree[parent, 2] = split[0], split[1], split[2]
    tree[parent, 3], tree[parent, 4] = n_nodes, n_nodes + 1
    tree[n_nodes : n_nodes + 2, :] = 0
    tree[n_nodes, 0] = tree[n_nodes + 1, 0] = -2
    node[new] = n_nodes if true_leaves else n_nodes + 1
    node[i] = n_nodes + 1 if true_leaves else n_nodes
    return n_nodes + 2
