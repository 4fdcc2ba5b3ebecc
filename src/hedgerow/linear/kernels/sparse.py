"""Linear scores of sparse features: which weights a position has, gathered into scores, and gradients scattered back.

A weight row belongs to one feature: a value of a column at a window offset, an attribute, a number. Its weights are
w[row_ptr[r]:row_ptr[r+1]], for the labels slot_label[row_ptr[r]:…]. A row that many positions have, with many labels,
also stands as a dense row of a table, rewritten at each evaluation: table_row[r] is its place there, or −1.

What a chunk of n positions has is compiled into two lists, once: table rows, and (cell, slot) entries, cell being
position·K + label. Reading codes and rows each time costs twice as much as the sums themselves, because every row
asks an unpredictable question (is it in the table, how long is it); the lists ask none.
"""

from hedgerow.jit import kernel, part


@kernel
def group_pairs(rows, labels, values, K, count, order, row_ptr, slot_label, slot_total):
    """The distinct (row, label) pairs of n observations, sorted, and the sum of the values of each.

    Two stable counting sorts, by label and then by row.
    IN   rows int64[n], labels int32[n] under K, values float64[n] or float64[1] for all
    WORK count int64[max(R, K)+1], order int64[2, n]
    OUT  row_ptr int64[R+1], slot_label int32[n], slot_total float64[n]; returns the number of pairs
    """
    R, n = len(row_ptr) - 1, len(rows)
    count[:] = 0
    for i in range(n):
        count[labels[i] + 1] += 1
    for k in range(K):
        count[k + 1] += count[k]
    for i in range(n):
        order[0, count[labels[i]]] = i
        count[labels[i]] += 1
    count[:] = 0
    for i in range(n):
        count[rows[i] + 1] += 1
    for r in range(R):
        count[r + 1] += count[r]
    for q in range(n):
        i = order[0, q]
        order[1, count[rows[i]]] = i
        count[rows[i]] += 1
    pairs, begin = 0, 0
    for r in range(R):
        row_ptr[r] = pairs
        end = count[r]  # after the placing, the end of the row
        for q in range(begin, end):
            i = order[1, q]
            if q == begin or labels[i] != labels[order[1, q - 1]]:
                slot_label[pairs] = labels[i]
                slot_total[pairs] = 0.0
                pairs += 1
            slot_total[pairs - 1] += values[i if len(values) > 1 else 0]
        begin = end
    row_ptr[R] = pairs
    return pairs


@part
def _list_row(r, t, row_ptr, table_row, slot_label, K, fill, table, cell, slot, q_table, q_entry):
    """List weight row r of position t after q_table table rows and q_entry entries; returns the new ends."""
    if table_row[r] >= 0:
        if fill:
            table[q_table] = table_row[r]
        return q_table + 1, q_entry
    begin, end = row_ptr[r], row_ptr[r + 1]
    if not fill:
        return q_table, q_entry + end - begin
    for j in range(begin, end):
        cell[q_entry] = t * K + slot_label[j]
        slot[q_entry] = j
        q_entry += 1
    return q_table, q_entry


@kernel
def list_features(
    codes, places, column, shift, base, attr_ptr, attr_id, attr_val, attr_shift, attr_base,
    row_ptr, table_row, slot_label, K, ptr, table, cell, slot, value,
):  # fmt: skip
    """Compile the features of the positions at `places`: stream s has row base[s] + codes[column[s], p + shift[s]].

    Returns how many table rows and how many entries there are. Empty outputs: count only.

    IN   codes int32[C, P], places int64[n], column/shift/base int64[streams], attr_ptr int64[P+1], attr_id int32[],
         attr_val float64[], attr_shift/attr_base int64[], row_ptr int64[R+1], table_row int32[R],
         slot_label int32[W], K
    OUT  ptr int32[n+1], table int32[] or uint16[] (rows of the table of position t: table[ptr[t]:ptr[t+1]]),
         cell as table, slot int32[] (entries, in order of position), value float64[] (of entries of attributes; empty
         where all are 1)
    """
    q, e, fill = 0, 0, len(ptr) > 0
    for t in range(len(places)):
        p = places[t]
        if fill:
            ptr[t] = q
        for s in range(len(column)):
            r = base[s] + codes[column[s], p + shift[s]]
            q, e = _list_row(r, t, row_ptr, table_row, slot_label, K, fill, table, cell, slot, q, e)
        for s in range(len(attr_shift)):
            for a in range(attr_ptr[p + attr_shift[s]], attr_ptr[p + attr_shift[s] + 1]):
                r, begin = attr_base[s] + attr_id[a], e
                q, e = _list_row(r, t, row_ptr, table_row, slot_label, K, fill, table, cell, slot, q, e)
                if len(value) > 0:
                    value[begin:e] = attr_val[a]
    if fill:
        ptr[len(places)] = q
    return q, e


@kernel
def fill_table(rows, row_ptr, slot_label, w, table):
    """table[f, label] = weight, for the rows that stand in the table. IN rows int64[f] … OUT table float64[f, K]."""
    for f in range(len(rows)):
        table[f, :] = 0.0
        for j in range(row_ptr[rows[f]], row_ptr[rows[f] + 1]):
            table[f, slot_label[j]] = w[j]


@kernel
def drain_table(rows, row_ptr, slot_label, table, grad):
    """grad += the table's gradient, back in the slots of its rows. OUT grad float64[W]."""
    for f in range(len(rows)):
        for j in range(row_ptr[rows[f]], row_ptr[rows[f] + 1]):
            grad[j] += table[f, slot_label[j]]


@kernel
def gather(ptr, table_rows, cell, slot, w, table, scores, cells):
    """scores[t] = Σ of the position's table rows + Σ of its entries. OUT scores float64[n, K]; cells: the same, flat.

    IN   ptr, table_rows, cell, slot as list_features made them, w float64[W], table float64[·, K]
    """
    K = table.shape[1]
    for t in range(scores.shape[0]):
        for k in range(K):
            scores[t, k] = 0.0
        for q in range(ptr[t], ptr[t + 1]):
            f = table_rows[q]
            for k in range(K):
                scores[t, k] += table[f, k]
    for e in range(len(cell)):
        cells[cell[e]] += w[slot[e]]


@part
def _add_row(r, listed, row_ptr, table_row, slot_label, w, table, row):
    """Add weight row r to the scores of a position, if it is one of the table, or if it is `listed` and is none."""
    f = table_row[r]
    if f >= 0 and not listed:
        for k in range(len(row)):
            row[k] += table[f, k]
    elif f < 0 and listed:
        for j in range(row_ptr[r], row_ptr[r + 1]):
            row[slot_label[j]] += w[j]


@kernel
def score_sequence(
    codes, begin, column, shift, base, attr_ptr, attr_id, attr_val, attr_shift, attr_base,
    row_ptr, table_row, slot_label, w, table, scores,
):  # fmt: skip
    """The scores of the positions at begin, begin + 1, …, without lists: what `gather` and `gather_weighted` make of
    those that `list_features` lists, to the bit.

    IN   as `list_features`; attr_val empty where every value is 1; w float64[W], table float64[·, K]
    OUT  scores float64[n, K]
    """
    K = table.shape[1]
    weighted = len(attr_val) > 0
    for t in range(len(scores)):
        p = begin + t
        for k in range(K):
            scores[t, k] = 0.0
        for listed in range(2):  # the rows of the table, then entries
            for s in range(len(column)):
                r = base[s] + codes[column[s], p + shift[s]]
                _add_row(r, listed, row_ptr, table_row, slot_label, w, table, scores[t])
            for s in range(0 if weighted else len(attr_shift)):
                for a in range(attr_ptr[p + attr_shift[s]], attr_ptr[p + attr_shift[s] + 1]):
                    _add_row(attr_base[s] + attr_id[a], listed, row_ptr, table_row, slot_label, w, table, scores[t])
        for s in range(len(attr_shift) if weighted else 0):
            for a in range(attr_ptr[p + attr_shift[s]], attr_ptr[p + attr_shift[s] + 1]):
                r = attr_base[s] + attr_id[a]
                for j in range(row_ptr[r], row_ptr[r + 1]):
                    scores[t, slot_label[j]] += attr_val[a] * w[j]


@kernel
def scatter(ptr, table_rows, cell, slot, probs, cells, grad, table_grad):
    """grad += Σ_t probs[t] at the position's rows and entries. IN probs float64[n, K]; cells: the same, flat."""
    K = table_grad.shape[1]
    for t in range(probs.shape[0]):
        for q in range(ptr[t], ptr[t + 1]):
            f = table_rows[q]
            for k in range(K):
                table_grad[f, k] += probs[t, k]
    for e in range(len(cell)):
        grad[slot[e]] += cells[cell[e]]


@kernel
def gather_weighted(cell, slot, value, w, cells):
    """cells[cell[e]] += value[e] · w[slot[e]]. OUT cells float64[]."""
    for e in range(len(cell)):
        cells[cell[e]] += value[e] * w[slot[e]]


@kernel
def scatter_weighted(cell, slot, value, cells, grad):
    """grad[slot[e]] += value[e] · cells[cell[e]]. OUT grad float64[W]."""
    for e in range(len(cell)):
        grad[slot[e]] += value[e] * cells[cell[e]]
