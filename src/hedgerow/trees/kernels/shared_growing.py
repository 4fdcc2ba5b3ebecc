"""Growing one tree of which several processes have a part of the rows each, step by step.

`growing.grow` does all of this in one call where one process has all rows. Here a member of a pool plants the tree and
cuts leaves as it is told (`plant_rows`, `cut_rows`), and whoever leads adds up what they count and finds the splits
(`settle_leaf`, `split_leaf`). Trees are plain: a missing value is a value, and a previous label is one label.

A member may cut leaves that the tree does not split in the end; so its leaves have numbers of their own.
"""

from __future__ import annotations

import numpy as np

from hedgerow.jit import kernel, part
from hedgerow.trees.kernels.dividing import divide_input, divide_labels
from hedgerow.trees.kernels.growing import SMALL_ARENA, plant, record, sum_new_labels
from hedgerow.trees.kernels.histograms import add_items, add_run, add_trunk, subtract, total
from hedgerow.trees.kernels.splits import find_split, write_set
from hedgerow.trees.kernels.state import BEGIN, END, HISTOGRAM, KNOWN_WEIGHT, NODE, SLOT, TRUE_WEIGHT, G, N
from hedgerow.trees.nodes import LABEL, RULE, STREAM, SUBSET

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

    IN   split int64[5], chosen uint8[·] as `split_leaf` leaves them; n_rows: positions of all members
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


# ------------------------------------------------------------------------------------------------ the lead


@kernel
def settle_leaf(columns, rules, buffers, sparse, gaps, i, new, counted, pairs, gains):
    """Take what leaf `new` has, as all members counted it, out of leaf i; find the splits of both, where `counted`.
    The root comes from leaf −1.

    IN   in buffers, labels and hist of leaf `new`; sparse: the items of both leaves
    OUT  the rest of buffers; pairs int64[2L, 2], gains float64[2L] of their nodes
    """
    leaf, labels, hist = buffers.leaf, buffers.labels, buffers.hist
    leaf[G, new], leaf[N, new] = total(labels[new], rules.bits)
    leaf[HISTOGRAM, new] = new
    if i >= 0:
        leaf[G, i] -= leaf[G, new]
        leaf[N, i] -= leaf[N, new]
        subtract(labels[i], labels[new])
        if counted:
            subtract(hist[i], hist[new])
    for z in (i, new):
        if z >= 0:
            node = leaf[NODE, z]
            pairs[node, 0], pairs[node, 1], gains[node] = leaf[G, z], leaf[N, z], 0.0
            if counted:
                buffers.gain[z] = find_split(columns, rules, buffers, sparse, gaps, z)


@kernel
def write_chosen(columns, rules, buffers, gaps, i, chosen):
    """OUT chosen: the set of leaf i's split, where it has one."""
    if buffers.split[i, STREAM] == LABEL or buffers.split[i, RULE] == SUBSET:
        write_set(columns, rules, buffers, gaps, i, chosen)


@kernel
def split_leaf(buffers, i, new, n_nodes, n_sets, tree, gains):
    """Turn leaf i into a split, with leaves i and `new`, which are nodes n_nodes and the next."""
    leaf, split = buffers.leaf, buffers.split[i]
    parent = leaf[NODE, i]
    record(tree, split, parent, n_sets, n_nodes)
    gains[parent] = buffers.gain[i]
    true_leaves = split[STREAM] == LABEL or 2 * split[TRUE_WEIGHT] <= split[KNOWN_WEIGHT]
    leaf[NODE, new], leaf[NODE, i] = (n_nodes, n_nodes + 1) if true_leaves else (n_nodes + 1, n_nodes)
