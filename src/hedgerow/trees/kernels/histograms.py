"""Histograms of the leaves of a growing tree: sums by bin and offset, by sparse item, by previous label.

A dense histogram is stored [bin, offset], offsets from high to low, so that a pass over all places adds a run of words
to a run of the histogram. Sums are words or pairs (see `state`); which, the parts that read or change one cell ask.
"""

import numpy as np

from hedgerow.jit import part
from hedgerow.trees.kernels.state import HIGH, LOW
from hedgerow.trees.nodes import (
    BLOCK_BASE,
    BLOCK_BINS,
    BLOCK_LOW,
    BLOCK_STRIDE,
    BLOCK_WIDTH,
    COLUMN,
    FIRST_ITEM,
    OFFSET,
)


@part
def read(sums, x, bits):
    """Gradient and weight of cell x."""
    if sums.ndim == 1:
        return sums[x] >> bits, sums[x] & ((1 << bits) - 1)
    return sums[x, 0], sums[x, 1]


@part
def cell(sums, x):
    """What stands in cell x: a word, or two numbers."""
    if sums.ndim == 1:
        return sums[x]
    return sums[x, 0], sums[x, 1]


@part
def add_to(sums, x, value):
    """sums[x] += value"""
    if sums.ndim == 1:
        sums[x] += value
    else:
        sums[x, 0] += value[0]
        sums[x, 1] += value[1]


@part
def subtract(sums, values):
    """sums −= values, cell by cell."""
    left, taken = sums.reshape(sums.size), values.reshape(values.size)
    for x in range(len(left)):
        left[x] -= taken[x]


@part
def total(sums, bits):
    """Gradient and weight of all cells."""
    g = n = 0
    for x in range(len(sums)):
        cell_g, cell_n = read(sums, x, bits)
        g += cell_g
        n += cell_n
    return g, n


# ------------------------------------------------------------------------------------------------ dense columns


@part
def add_trunk(bins, blocks, margin, word, hist):
    """hist[x, o] += Σ word[p] over the places p with x at p + o. A run of words is added for every place."""
    for c in range(len(blocks)):
        n, stride, base = blocks[c, BLOCK_BINS], blocks[c, BLOCK_STRIDE], blocks[c, BLOCK_BASE]
        high = blocks[c, BLOCK_LOW] + blocks[c, BLOCK_WIDTH] - 1
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
def add_run(bins, blocks, rows, values, hist):
    """hist[x, o] += values[r] over the places in `rows` with x at an offset o.

    The cells are numbered by hand: an unsigned number is not checked for its sign.
    """
    for c in range(len(blocks)):
        low, width, stride = blocks[c, BLOCK_LOW], blocks[c, BLOCK_WIDTH], np.uint64(blocks[c, BLOCK_STRIDE])
        column, last = bins[c], np.uint64(blocks[c, BLOCK_BASE] + width - 1)
        for r in range(len(rows)):
            p, value = np.uint64(rows[r] + low), cell(values, r)
            for j in range(width):
                add_to(hist, np.uint64(column[p + np.uint64(j)]) * stride + last - np.uint64(j), value)


# ------------------------------------------------------------------------------------------------ sparse items


@part
def add_items(columns, rows, values, by_place, scratch, touched):
    """The sparse histogram of some rows in `scratch`, its items in `touched`; returns how many these are.

    values [·] are by row, or by place; a place that is not in the leaf has none.
    """
    streams, n_dense, m = columns.streams, len(columns.blocks), 0
    for r in range(len(rows)):
        at = np.int64(rows[r]) if by_place else r
        if _is_empty(values, at):
            continue
        value = cell(values, at)
        for s in range(streams.shape[1] - columns.n_sparse, streams.shape[1]):
            ptr, p = columns.item_ptr[streams[COLUMN, s] - n_dense], rows[r] + streams[OFFSET, s]
            for q in range(ptr[p], ptr[p + 1]):
                x = streams[FIRST_ITEM, s] + columns.items[q]
                if _is_empty(scratch, x):
                    touched[m] = x
                    m += 1
                add_to(scratch, x, value)
    return m


@part
def _is_empty(sums, x):
    """Whether no row has been added to cell x: each has a weight."""
    if sums.ndim == 1:
        return sums[x] == 0
    return sums[x, 1] == 0


@part
def count_items(columns, sparse, leaf, rows, values, by_place, i, parent, tail):
    """The sparse histogram of leaf i at the tail, taken from its parent's; `rows`, `values` as in add_items.

    Returns the new tail, −1 where the buffers are too small.
    """
    scratch, touched, ids, sums = sparse.scratch, sparse.touched, sparse.ids, sparse.sums
    m = add_items(columns, rows, values, by_place, scratch, touched)
    if parent >= 0:
        kept = leaf[LOW, parent]
        for q in range(leaf[LOW, parent], leaf[HIGH, parent]):
            subtract(sums[q : q + 1], scratch[ids[q] : ids[q] + 1])
            if not _is_empty(sums, q):
                left = cell(sums, q)
                ids[kept], sums[kept] = ids[q], 0
                add_to(sums, kept, left)
                kept += 1
        leaf[HIGH, parent] = kept
    full = tail + m > len(ids)
    leaf[LOW, i] = tail
    for j in range(m):
        x = np.int64(touched[j])
        if not full:
            ids[tail], sums[tail] = x, 0
            add_to(sums, tail, cell(scratch, x))
            tail += 1
        scratch[x] = 0
    leaf[HIGH, i] = tail
    return -1 if full else tail
