"""Growing one regression tree, best leaf first, over product sets: (positions) × (previous labels).

What grows is decided by the types of the arguments, and compiled for them alone: a plain tree has no `gaps`, one by
instance weighting has no `surrogates`, and one on dense columns has nothing `sparse`; see `state`.

In chains of higher order the previous label is a history. A tree then asks for one label of it: `Buffers.questions`
has the set of histories that each question holds for, and a split by one of them is a SUBSET.
"""

import numpy as np

from hedgerow.jit import kernel, part
from hedgerow.trees.kernels.dividing import divide_input, divide_labels, list_trunk
from hedgerow.trees.kernels.histograms import add_run, add_trunk, count_items, subtract, total
from hedgerow.trees.kernels.parts import list_labels, weigh
from hedgerow.trees.kernels.splits import find_split, write_set
from hedgerow.trees.kernels.state import BEGIN, END, HISTOGRAM, KNOWN_WEIGHT, NODE, SLOT, TRUE_WEIGHT, G, N
from hedgerow.trees.nodes import BIN, FALSE_CHILD, LABEL, LEAF, RULE, STREAM, SUBSET, TRUE_CHILD

SMALL_ARENA, SMALL_SPARSE = -1, -2  # in place of the number of leaves: which buffers are too small


@part
def plant(data, whole, gaps, buffers, tree):
    """The root, a trunk: every place that has a row, with all its previous labels. Returns the tail of the arena."""
    words, labels, K = data.words, buffers.labels[0], data.words.shape[1]
    labels[:] = 0
    for r in range(len(data.places)):
        p = np.uint64(data.places[r])
        row = words[p]
        word = row[0]
        if not data.first[p]:
            for u in range(1, K):
                word += row[u]
        if len(gaps) > 0:
            word = whole if word != 0 else 0
        elif data.first[p]:
            labels[K] += word
        else:
            for u in range(K):
                labels[u] += row[u]
        buffers.trunk[0, p] = word
    buffers.leaf[:, 0] = 0
    buffers.member[0, :] = 1
    tree[0, :] = 0
    tree[0, STREAM] = LEAF
    return np.int64(0)


@part
def best_leaf(gain, n_leaves):
    i = 0
    for j in range(1, n_leaves):
        if gain[j] > gain[i]:
            i = j
    return i


@part
def claim_histogram(owned, gain, n_histograms, n_leaves, i):
    """A row of hist for a leaf: a free one, else that of the leaf, other than i, with the least gain."""
    for h in range(n_histograms):
        taken = False
        for j in range(n_leaves):
            taken |= owned[j] == h
        if not taken:
            return h
    poor = -1
    for j in range(n_leaves):
        if j != i and owned[j] >= 0 and (poor < 0 or gain[j] < gain[poor]):
            poor = j
    h = owned[poor]
    owned[poor] = -1
    return h


@part
def sum_new_labels(data, buffers, i, new, chosen):
    """OUT labels of leaf `new`, in words: of its rows, or, where leaf i was split by label, those of leaf i."""
    leaf, labels = buffers.leaf, buffers.labels[new]
    if buffers.split[i, STREAM] == LABEL:
        for u in range(len(labels)):
            labels[u] = buffers.labels[i, u] if chosen[u] else 0
    else:
        run = slice(leaf[BEGIN, new], leaf[END, new])
        _sum_labels(data, buffers.rows[run], buffers.amount[run], buffers.member[new], buffers.order, labels)


@part
def _sum_labels(data, rows, amount, member, order, labels):
    """OUT labels int64[K+1]: the words of the rows of a leaf by previous label. What the others leave of all that the
    leaf has is the last one's, so that a leaf of one label reads no word."""
    words, first, K = data.words, data.first, data.words.shape[1]
    m, rest = list_labels(member, order), 0
    labels[:] = 0
    for r in range(len(rows)):
        p = np.uint64(rows[r])
        rest += amount[r]
        if first[p]:
            labels[K] += amount[r]
        elif m == K:
            for u in range(K - 1):
                labels[u] += words[p, u]
        else:
            for j in range(m - 1):
                labels[order[j]] += words[p, np.uint64(order[j])]
    for u in range(K + 1):
        rest -= labels[u]
    if m > 0:
        labels[order[m - 1]] = rest


@part
def _measure(columns, data, bits, buffers, gaps, i, tail):
    """The histogram of leaf i, where it has one; and, where it has parts of places, its sums by previous label.

    Returns where in the arena its rows are; a trunk of parts is listed at the tail for that.
    """
    leaf, rows, amount, bins, blocks = buffers.leaf, buffers.rows, buffers.amount, columns.bins, columns.blocks
    begin, end, slot = leaf[BEGIN, i], leaf[END, i], leaf[SLOT, i]
    counted, hist = leaf[HISTOGRAM, i] >= 0, buffers.hist[max(leaf[HISTOGRAM, i], 0)]
    if counted:
        hist[:] = 0
    if len(gaps) == 0:
        if counted and slot >= 0:
            add_trunk(bins, blocks, columns.margin, buffers.trunk[slot], hist)
        elif counted:
            add_run(bins, blocks, rows[begin:end], amount[begin:end], hist)
    else:
        if slot >= 0:
            begin, end = tail, list_trunk(buffers.trunk[slot], data.places, rows, amount, tail)
        member, labels = buffers.member[i], buffers.labels[i]
        weigh(data, bits, rows[begin:end], amount[begin:end], member, buffers.order, gaps.pair, labels)
        if counted:
            add_run(bins, blocks, rows[begin:end], gaps.pair, hist)
    return begin, end


@part
def _settle(columns, data, buffers, sparse, gaps, bits, i, new, begin, end, ends):
    """Take what leaf `new`, whose rows are as _measure left them, has out of leaf i, from which it came. The root comes
    from leaf −1.

    Returns the new end of the sparse histograms, −1 where the buffers are too small.
    """
    leaf, labels, hist, slot = buffers.leaf, buffers.labels, buffers.hist, buffers.leaf[SLOT, new]
    leaf[G, new], leaf[N, new] = total(labels[new], bits)
    if i >= 0:
        leaf[G, i] -= leaf[G, new]
        leaf[N, i] -= leaf[N, new]
        subtract(labels[i], labels[new])
        if leaf[HISTOGRAM, new] >= 0:
            subtract(hist[leaf[HISTOGRAM, i]], hist[leaf[HISTOGRAM, new]])
    if len(sparse) == 0 or leaf[HISTOGRAM, new] < 0:
        return ends
    rows = buffers.rows[begin:end]
    if len(gaps) > 0:
        return count_items(columns, sparse, leaf, rows, gaps.pair, False, new, i, ends)
    if slot >= 0:
        return count_items(columns, sparse, leaf, data.places, buffers.trunk[slot], True, new, i, ends)
    return count_items(columns, sparse, leaf, rows, buffers.amount[begin:end], False, new, i, ends)


@part
def record(tree, split, parent, n_sets, n_nodes):
    """Turn a leaf of the tree into a split with two leaves, the true side first."""
    tree[parent, STREAM], tree[parent, BIN], tree[parent, RULE] = split[STREAM], split[BIN], split[RULE]
    if split[RULE] == SUBSET:
        tree[parent, BIN] = n_sets
    tree[parent, TRUE_CHILD], tree[parent, FALSE_CHILD] = n_nodes, n_nodes + 1
    tree[n_nodes : n_nodes + 2, :] = 0
    tree[n_nodes, STREAM] = tree[n_nodes + 1, STREAM] = LEAF


@kernel
def grow(columns, data, rules, buffers, sparse, gaps, surrogates, tree, pairs, gains, sets):
    """Grow a tree. Returns the leaves, sets and surrogates in it; leaves are SMALL_… where buffers are too small.

    IN   columns, data, rules; sparse, gaps, surrogates: () where there are none
    OUT  tree int64[2L, 5]; pairs int64[2L, 2], gains float64[2L] of its nodes; sets uint8[L, ·]; in buffers, where the
         rows of each leaf are
    """
    leaf, split, gain, n = buffers.leaf, buffers.split, buffers.gain, len(data.places)
    i, new, n_nodes, n_sets, n_kept, n_trunks, ends = -1, 0, 1, 0, 0, 1, 0
    if n > len(buffers.rows):
        return SMALL_ARENA, 0, 0
    tail = plant(data, rules.whole, gaps, buffers, tree)
    while True:  # leaf `new` has been taken out of leaf i
        if new > 0:  # the last one needs no histogram: nothing is split any more
            h = new if new < len(buffers.hist) else claim_histogram(leaf[HISTOGRAM], gain, len(buffers.hist), new, i)
            leaf[HISTOGRAM, new] = h if new + 1 < rules.max_leaf_nodes else -1
        begin, end = _measure(columns, data, rules.bits, buffers, gaps, new, tail)
        ends = _settle(columns, data, buffers, sparse, gaps, rules.bits, i, new, begin, end, ends)
        if ends < 0:
            return SMALL_SPARSE, 0, 0
        for z in (i, new):
            if z >= 0:
                node = leaf[NODE, z]
                pairs[node, 0], pairs[node, 1], gains[node] = leaf[G, z], leaf[N, z], 0.0
                if len(gaps) > 0:
                    gaps.shares[node] = 0.0
                if leaf[HISTOGRAM, new] >= 0:
                    gain[z] = find_split(columns, rules, buffers, sparse, gaps, z)
        new += 1
        i = best_leaf(gain, new)
        if new == rules.max_leaf_nodes or gain[i] <= 0.0:
            return new, n_sets, n_kept
        parent, by_label, trunk = leaf[NODE, i], split[i, STREAM] == LABEL, leaf[SLOT, i] >= 0
        if tail + (2 * n if trunk else leaf[END, i] - leaf[BEGIN, i]) > len(buffers.rows):
            return SMALL_ARENA, 0, 0
        if leaf[HISTOGRAM, i] < 0:
            leaf[HISTOGRAM, i] = claim_histogram(leaf[HISTOGRAM], gain, len(buffers.hist), new, i)
            _measure(columns, data, rules.bits, buffers, gaps, i, tail)
        weight, chosen, m = split[i, TRUE_WEIGHT], sets[n_sets], 0
        planted = by_label and trunk and n_trunks < len(buffers.trunk) and 4 * weight > n * rules.whole
        true_leaves = by_label or 2 * weight <= split[i, KNOWN_WEIGHT]
        leaf[SLOT, new], n_trunks = n_trunks if planted else -1, n_trunks + planted
        if by_label or split[i, RULE] == SUBSET:
            write_set(columns, rules, buffers, gaps, i, chosen)
        if by_label:
            tail = divide_labels(data, buffers, gaps, i, new, chosen, tail)
        else:
            m, tail = divide_input(columns, data, rules, buffers, gaps, surrogates, i, new, chosen, true_leaves, tail)
        if len(gaps) == 0:
            sum_new_labels(data, buffers, i, new, chosen)
        if len(surrogates) > 0:
            for q in range(m):
                surrogates.kept[n_kept + q, 0], surrogates.kept[n_kept + q, 1] = parent, surrogates.stream[q]
                for b in range(surrogates.ways.shape[1]):
                    surrogates.kept_ways[n_kept + q, b] = surrogates.ways[q, b]
        record(tree, split[i], parent, n_sets, n_nodes)
        gains[parent] = gain[i]
        leaf[NODE, new], leaf[NODE, i] = (n_nodes, n_nodes + 1) if true_leaves else (n_nodes + 1, n_nodes)
        n_nodes, n_kept, n_sets = n_nodes + 2, n_kept + m, n_sets + (split[i, RULE] == SUBSET)


@kernel
def assign_leaves(places, first, rows, leaf, member, order, n_leaves, leaf_of):
    """OUT leaf_of uint16[P, K]: the leaf of row (p, u), where no place is in two; a first place has its ⊥ row in column
    0. A row that is in no leaf has any, or the number of leaves.

    Trunks first claim all places for their labels, which no two of them share; the runs, cut out of them, then claim
    theirs.

    IN   places int32[R], first uint8[P], and of buffers rows, leaf, member
    WORK order int64[·]
    """
    K = leaf_of.shape[1]
    owner = order[: K + 1]
    owner[:] = n_leaves
    for i in range(n_leaves):
        for u in range(K + 1):
            if leaf[SLOT, i] >= 0 and member[i, u]:
                owner[u] = i
    for r in range(len(places)):
        row = leaf_of[np.uint64(places[r])]
        for u in range(K):
            row[u] = owner[u]
        if first[places[r]]:
            row[0] = owner[K]
    for i in range(n_leaves):
        if leaf[SLOT, i] < 0:
            m = list_labels(member[i], order)
            for q in range(leaf[BEGIN, i], leaf[END, i]):
                p = np.uint64(rows[q])
                if first[p]:
                    if member[i, K]:
                        leaf_of[p, 0] = i
                elif m == K:
                    for u in range(K):
                        leaf_of[p, u] = i
                else:
                    for j in range(m):
                        leaf_of[p, np.uint64(order[j])] = i
