"""Growing one tree of which several processes have a part of the rows each, step by step.

`growing.grow` does all of this in one call where one process has all rows. Here a member of a pool plants the tree and
cuts leaves as it is told (`plant_rows`, `cut_rows`), and whoever has the sums of some columns over all members finds
the best splits on these (`settle_leaf`). Trees are plain: a missing value is a value, a previous label one label.

A member may cut leaves that the tree does not split in the end; so its leaves have numbers of their own.
"""

import numpy as np

from hedgerow.jit import kernel, part
from hedgerow.trees.kernels.dividing import divide_input, divide_labels
from hedgerow.trees.kernels.growing import SMALL_ARENA, plant, sum_new_labels
from hedgerow.trees.kernels.histograms import add_items, add_run, add_trunk, subtract, total
from hedgerow.trees.kernels.splits import ITEM_FEATURE, LABEL_FEATURE, find_split, may_use, write_set
from hedgerow.trees.kernels.state import BEGIN, END, HISTOGRAM, KNOWN_WEIGHT, NODE, SLOT, TRUE_WEIGHT, G, N
from hedgerow.trees.nodes import BIN, FIRST_ITEM, HAS, LABEL, RULE, STREAM, SUBSET

# ------------------------------------------------------------------------------------------------ members


@part
def _count(columns, data, buffers, sparse, i, hist):
    """The histogram of leaf i, and that of sparse items in `scratch`; returns how many of them are touched."""
    leaf, rows, amount = buffers.leaf, buffers.rows, buffers.amount
    begin, end, slot = leaf[BEGIN, i], leaf[END, i], leaf[SLOT, i]
    hist[:] = 0
    if slot >= 0:
        add_trunk(columns.bins, columns.blocks, columns.margin, buffers.trunk[slot], hist)
    else:
        add_run(columns.bins, columns.blocks, rows[begin:end], amount[begin:end], hist)
    m = np.int64(0)
    if len(sparse) > 0:
        if slot >= 0:
            m += add_items(columns, data.places, buffers.trunk[slot], True, sparse.scratch, sparse.touched)
        else:
            m += add_items(columns, rows[begin:end], amount[begin:end], False, sparse.scratch, sparse.touched)
    return m


@kernel
def plant_rows(columns, data, buffers, sparse, gaps, tree, hist):
    """The root of a tree, and what is counted of it; returns the tail of the arena, and how many items it has.

    IN   columns, data (see `state`); sparse, gaps: () where there are none
    OUT  buffers; hist int64[B]; tree int64[·, 5]: its first row
    """
    tail = plant(data, np.int64(1), gaps, buffers, tree)
    return tail, _count(columns, data, buffers, sparse, np.int64(0), hist)


@kernel
def cut_rows(
    columns, data, rules, buffers, sparse, gaps, surrogates, split, chosen, i, new, n_rows, n_trunks, tail, counted,
    hist,
):  # fmt: skip
    """Cut leaf `new` out of leaf i, and count it, where `counted`; returns the tail, the trunks, and the items it has.
    The tail is SMALL_ARENA where the arena is too small, and then nothing has changed.

    IN   split int64[5], chosen uint8[·] as `settle_leaf` leaves them; n_rows: positions of all members
    OUT  buffers; hist int64[B]
    """
    leaf, m = buffers.leaf, np.int64(0)
    by_label, trunk, weight = split[STREAM] == LABEL, leaf[SLOT, i] >= 0, split[TRUE_WEIGHT]
    if tail + (2 * len(data.places) if trunk else leaf[END, i] - leaf[BEGIN, i]) > len(buffers.rows):
        return np.int64(SMALL_ARENA), n_trunks, m
    for f in range(len(split)):
        buffers.split[i, f] = split[f]
    planted = by_label and trunk and n_trunks < len(buffers.trunk) and 4 * weight > n_rows
    leaf[SLOT, new] = n_trunks if planted else -1
    if by_label:
        tail = divide_labels(data, buffers, gaps, i, new, chosen, tail)
    else:
        leaves = 2 * weight <= split[KNOWN_WEIGHT]
        _, tail = divide_input(columns, data, rules, buffers, gaps, surrogates, i, new, chosen, leaves, tail)
    sum_new_labels(data, buffers, i, new, chosen)
    subtract(buffers.labels[i], buffers.labels[new])
    if counted:
        m += _count(columns, data, buffers, sparse, new, hist)
    return tail, n_trunks + planted, m


# ------------------------------------------------------------------------------------------------ splits


@kernel
def settle_leaf(columns, rules, buffers, sparse, gaps, i, new, counted, drawn, chosen):
    """Take what leaf `new` has, as all members counted it, out of leaf i; find the splits of both, where `counted`.
    The root comes from leaf −1.

    IN   in buffers, labels and hist of leaf `new`, and the nodes of both; sparse: the items of both
    OUT  the rest of buffers; of leaf i, then of `new`, drawn uint8[2]: whether the split is on a feature that was drawn
         for the node; chosen uint8[2, ·]: its set, where it has one
    """
    leaf, labels, hist, split = buffers.leaf, buffers.labels, buffers.hist, buffers.split
    leaf[G, new], leaf[N, new] = total(labels[new], rules.bits)
    leaf[HISTOGRAM, new] = new
    if i >= 0:
        leaf[G, i] -= leaf[G, new]
        leaf[N, i] -= leaf[N, new]
        subtract(labels[i], labels[new])
        if counted:
            subtract(hist[i], hist[new])
    for side in range(2):
        z = new if side else i
        if z < 0:
            continue
        buffers.gain[z] = find_split(columns, rules, buffers, sparse, gaps, z) if counted else 0.0
        if buffers.gain[z] <= 0.0:
            continue
        s = split[z, STREAM]
        feature = np.int64(LABEL_FEATURE) if s == LABEL else s
        if split[z, RULE] == HAS:
            feature = ITEM_FEATURE + columns.streams[FIRST_ITEM, s] + split[z, BIN]
        drawn[side] = may_use(rules.seed, leaf[NODE, z], feature, rules.share)
        if s == LABEL or split[z, RULE] == SUBSET:
            write_set(columns, rules, buffers, gaps, z, chosen[side])
