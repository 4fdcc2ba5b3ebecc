"""Linear scores of sparse features in plain NumPy and Python, with the names of the kernels.

A feature is a row of weights w[row_ptr[r]:row_ptr[r+1]] for the labels slot_label[row_ptr[r]:row_ptr[r+1]]. Results
are returned and not written into arguments; lists have the order that the kernels promise.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from hedgerow.legend import CODE, INDEX, AnyArray, CodeArray, FloatArray, IndexArray


def group_pairs(
    rows: AnyArray, labels: AnyArray, values: FloatArray, n_rows: int
) -> tuple[IndexArray, CodeArray, FloatArray]:
    """Distinct (row, label) pairs, sorted, and the sum of the values of each: row_ptr, slot_label, slot_total."""
    totals: defaultdict[tuple[int, int], float] = defaultdict(float)
    for row, label, value in zip(rows, labels, np.broadcast_to(values, len(rows))):
        totals[int(row), int(label)] += float(value)
    pairs = sorted(totals)
    row_ptr = [sum(row < r for row, _ in pairs) for r in range(n_rows + 1)]
    slot_label = [label for _, label in pairs]
    slot_total = [totals[pair] for pair in pairs]
    return np.array(row_ptr, dtype=INDEX), np.array(slot_label, dtype=CODE), np.array(slot_total, dtype=np.float64)


def rows_at(
    codes: AnyArray,
    place: int,
    column: AnyArray,
    shift: AnyArray,
    base: AnyArray,
    attr_ptr: AnyArray,
    attr_id: AnyArray,
    attr_shift: AnyArray,
    attr_base: AnyArray,
) -> list[int]:
    """The weight rows of one padded place: those of the code streams, then those of the attributes."""
    found = [int(b + codes[c, place + o]) for c, o, b in zip(column, shift, base)]
    for o, b in zip(attr_shift, attr_base):
        found += [int(b + j) for j in attr_id[attr_ptr[place + o] : attr_ptr[place + o + 1]]]
    return found


def list_features(
    rows: list[list[int]], row_ptr: AnyArray, table_row: AnyArray, slot_label: AnyArray, K: int
) -> tuple[CodeArray, CodeArray, CodeArray, CodeArray]:
    """ptr, table, cell and slot of positions that have these rows: see the kernel of this name."""
    ptr, table, cell, slot = [0], [], [], []
    for t, own in enumerate(rows):
        for r in own:
            if table_row[r] >= 0:
                table.append(table_row[r])
            else:
                for j in range(row_ptr[r], row_ptr[r + 1]):
                    cell.append(t * K + slot_label[j])
                    slot.append(j)
        ptr.append(len(table))
    return np.array(ptr, CODE), np.array(table, CODE), np.array(cell, CODE), np.array(slot, CODE)


def count_features(rows: list[list[int]], row_ptr: AnyArray, table_row: AnyArray) -> tuple[int, int]:
    """How many table rows and how many entries there are."""
    every = [r for own in rows for r in own]
    n_table = sum(table_row[r] >= 0 for r in every)
    n_entries = sum(row_ptr[r + 1] - row_ptr[r] for r in every if table_row[r] < 0)
    return int(n_table), int(n_entries)


def list_weighted(
    places: AnyArray,
    attr_ptr: AnyArray,
    attr_id: AnyArray,
    attr_val: FloatArray,
    attr_shift: AnyArray,
    attr_base: AnyArray,
    row_ptr: AnyArray,
    slot_label: AnyArray,
    K: int,
) -> tuple[CodeArray, CodeArray, FloatArray]:
    """cell, slot and value of every weight that the attributes of the places have."""
    cell, slot, value = [], [], []
    for t, place in enumerate(places):
        for o, b in zip(attr_shift, attr_base):
            for q in range(attr_ptr[place + o], attr_ptr[place + o + 1]):
                for j in range(row_ptr[b + attr_id[q]], row_ptr[b + attr_id[q] + 1]):
                    cell.append(t * K + slot_label[j])
                    slot.append(j)
                    value.append(attr_val[q])
    return np.array(cell, CODE), np.array(slot, CODE), np.array(value, np.float64)


def fill_table(rows: AnyArray, row_ptr: AnyArray, slot_label: AnyArray, w: FloatArray, K: int) -> FloatArray:
    """table[f, label] = the weight of row rows[f] for the label, 0 where there is none."""
    table = np.zeros((len(rows), K))
    for f, r in enumerate(rows):
        own = slice(row_ptr[r], row_ptr[r + 1])
        table[f, slot_label[own]] = w[own]
    return table


def drain_table(rows: AnyArray, row_ptr: AnyArray, slot_label: AnyArray, table: FloatArray, n: int) -> FloatArray:
    """float64[n]: what a table's cells add to the slots of its rows."""
    grad = np.zeros(n)
    for f, r in enumerate(rows):
        own = slice(row_ptr[r], row_ptr[r + 1])
        grad[own] += table[f, slot_label[own]]
    return grad


def gather(
    ptr: AnyArray, table_rows: AnyArray, cell: AnyArray, slot: AnyArray, w: FloatArray, table: FloatArray
) -> FloatArray:
    """scores[t] = Σ of the position's table rows + Σ of its entries, (n, K)."""
    K = table.shape[1]
    scores = np.zeros((len(ptr) - 1, K))
    for t in range(len(scores)):
        scores[t] += table[table_rows[ptr[t] : ptr[t + 1]]].sum(axis=0)
    for c, j in zip(cell, slot):
        scores[c // K, c % K] += w[j]
    return scores


def scatter(
    ptr: AnyArray, table_rows: AnyArray, cell: AnyArray, slot: AnyArray, probs: FloatArray, n: int, n_table: int
) -> tuple[FloatArray, FloatArray]:
    """What probs (N, K) add to n slots and to n_table table rows: the transpose of `gather`."""
    K = probs.shape[1]
    grad, table_grad = np.zeros(n), np.zeros((n_table, K))
    for t in range(len(probs)):
        for f in table_rows[ptr[t] : ptr[t + 1]]:
            table_grad[f] += probs[t]
    for c, j in zip(cell, slot):
        grad[j] += probs[c // K, c % K]
    return grad, table_grad


def gather_weighted(cell: AnyArray, slot: AnyArray, value: FloatArray, w: FloatArray, n_cells: int) -> FloatArray:
    """float64[n_cells]: Σ value · weight in each cell."""
    cells = np.zeros(n_cells)
    for c, j, v in zip(cell, slot, value):
        cells[c] += v * w[j]
    return cells


def scatter_weighted(cell: AnyArray, slot: AnyArray, value: FloatArray, cells: FloatArray, n: int) -> FloatArray:
    """float64[n]: Σ value · cell in each slot."""
    grad = np.zeros(n)
    for c, j, v in zip(cell, slot, value):
        grad[j] += v * cells[c]
    return grad


def gather_numbers(
    numeric: FloatArray,
    places: AnyArray,
    column: AnyArray,
    shift: AnyArray,
    center: FloatArray,
    scale: FloatArray,
    weights: FloatArray,
) -> FloatArray:
    """scores[t, k] = Σ_s x · weights[s, k], x the standardised number that stream s reads; NaN counts as 0."""
    read = (np.stack([numeric[c, places + o] for c, o in zip(column, shift)], axis=1) - center) * scale
    scores: FloatArray = np.nan_to_num(read, nan=0.0) @ weights
    return scores


def scatter_numbers(
    numeric: FloatArray,
    places: AnyArray,
    column: AnyArray,
    shift: AnyArray,
    center: FloatArray,
    scale: FloatArray,
    probs: FloatArray,
) -> FloatArray:
    """grad[s, k] = Σ_t x · probs[t, k]: the transpose of `gather_numbers`."""
    read = (np.stack([numeric[c, places + o] for c, o in zip(column, shift)], axis=1) - center) * scale
    grad: FloatArray = np.nan_to_num(read, nan=0.0).T @ probs
    return grad
