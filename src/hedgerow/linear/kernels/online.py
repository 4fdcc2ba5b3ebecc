"""Kernels of online training: the features of a batch of sequences, and the updates of the weights that they touch.

Weights stand in a working vector x: a row of weights for at least `least` of the K labels is spread out to all K, so
that it is added and scattered as a whole; slots of labels that it does not have (real[j] = 0) stay 0. Other rows keep
one slot a label. What positions have is compiled into lists, once: `spread` rows, by their first slot, and (slot,
label) entries of the others. `spread_value` and `entry_value` are empty where every value is 1.

A batch is some of the positions that were listed: sequence i of it has the listed positions begin[i] … begin[i] +
length[i] − 1. Its scores, gradients and flags have n = Σ length[i] rows, the sequences one after the other.
"""

import math

from hedgerow.jit import kernel


@kernel
def read_rows(
    sequences, start, length, codes, column, shift, base, attr_ptr, attr_id, attr_val, attr_shift, attr_base,
    numeric, num_column, num_shift, num_center, num_scale, num_base,
    seq_codes, seq_column, seq_base, seq_numeric, seq_num_column, seq_num_center, seq_num_scale, seq_num_base,
    ptr, row, value,
):  # fmt: skip
    """The weight rows of every position of some sequences, with their values; returns how many there are.

    A code stream has row base[s] + codes[column[s], p + shift[s]] and the value 1; attributes, numbers and what is
    constant in a sequence likewise. A number that is NaN has no row. Empty `row`: count only.

    IN   sequences int64[m]; start, length int64[S] of all sequences; the arrays of a Dataset and of its Streams
    OUT  ptr int64[n+1]; row int64[], value float64[] (the rows of position t: row[ptr[t]:ptr[t+1]])
    """
    n, q = 0, 0
    fill = len(row) > 0
    for i in sequences:
        for p in range(start[i], start[i] + length[i]):
            ptr[n] = q
            n += 1
            if fill:
                for s in range(len(column)):
                    row[q + s] = base[s] + codes[column[s], p + shift[s]]
                    value[q + s] = 1.0
            q += len(column)
            for s in range(len(attr_shift)):
                for e in range(attr_ptr[p + attr_shift[s]], attr_ptr[p + attr_shift[s] + 1]):
                    if fill:
                        row[q] = attr_base[s] + attr_id[e]
                        value[q] = attr_val[e] if len(attr_val) else 1.0
                    q += 1
            for s in range(len(num_column)):
                x = (numeric[num_column[s], p + num_shift[s]] - num_center[s]) * num_scale[s]
                if x == x:
                    if fill:
                        row[q] = num_base[s]
                        value[q] = x
                    q += 1
            for s in range(len(seq_column)):
                if fill:
                    row[q] = seq_base[s] + seq_codes[seq_column[s], i]
                    value[q] = 1.0
                q += 1
            for s in range(len(seq_num_column)):
                x = (seq_numeric[seq_num_column[s], i] - seq_num_center[s]) * seq_num_scale[s]
                if x == x:
                    if fill:
                        row[q] = seq_num_base[s]
                        value[q] = x
                    q += 1
    ptr[n] = q
    return q


@kernel
def list_rows(
    ptr, row, value, first_slot, n_slots, label_of, K, origin,
    spread_ptr, spread, spread_value, entry_ptr, entry_slot, entry_label, entry_value, t0, q0, e0,
):  # fmt: skip
    """Turn the rows of n positions into lists that begin at position t0, at spread row q0 and at entry e0.

    Returns the ends of the two lists. Empty `spread` and `entry_slot`: count only.

    IN   ptr, row, value as read_rows made them; first_slot int64[R], n_slots int32[R] (a row of K slots is spread),
         label_of int32[], the label of each slot; origin is the place in x of slot 0
    OUT  spread_ptr, entry_ptr int64[≥ t0+n+1]; spread, entry_slot, entry_label int32[]; values float64[] or empty
    """
    q, e = q0, e0
    fill = len(spread) + len(entry_slot) > 0
    valued = len(spread_value) + len(entry_value) > 0
    for t in range(len(ptr) - 1):
        for i in range(ptr[t], ptr[t + 1]):
            b, z = first_slot[row[i]], n_slots[row[i]]
            if z == K:
                if fill:
                    spread[q] = origin + b
                    if valued:
                        spread_value[q] = value[i]
                q += 1
            elif fill:
                for j in range(b, b + z):
                    entry_slot[e] = origin + j
                    entry_label[e] = label_of[j]
                    if valued:
                        entry_value[e] = value[i]
                    e += 1
            else:
                e += z
        if fill:
            spread_ptr[t0 + t + 1] = q
            entry_ptr[t0 + t + 1] = e
    return q, e


@kernel
def load_edges(x, origin, factor, cells, table, shifted):
    """table[cells[a]] = factor · x[origin + a], and shifted = table − its largest; returns the largest.

    IN   x float64[X], cells int64[A] (from · K + to)
    OUT  table, shifted float64[K·K], −inf where an arc is forbidden; the largest is 0 where all are
    """
    for a in range(len(cells)):
        table[cells[a]] = factor * x[origin + a]
    largest = -math.inf
    for i in range(len(table)):
        largest = table[i] if table[i] > largest else largest
    if largest == -math.inf:
        largest = 0.0
    for i in range(len(table)):
        shifted[i] = table[i] - largest
    return largest


@kernel
def spread_edges(flat, exps, exps_to):
    """flat float64[K, K] [from, to] into exps and, the other way round, into exps_to, float64[P, P]."""
    K = len(flat)
    for u in range(K):
        for v in range(K):
            exps[u, v] = flat[u, v]
            exps_to[v, u] = flat[u, v]


@kernel
def gather(
    begin, length, spread_ptr, spread, spread_value, entry_ptr, entry_slot, entry_label, entry_value,
    x, factor, start, end, scores, first,
):  # fmt: skip
    """scores[t] = factor · Σ of the weights of the position's features, times their values; returns n.

    IN   begin, length int64[m]; the lists; x float64[X]; start, end float64[K], added at first and last positions
    OUT  scores float64[≥ n, K], first uint8[≥ n+1]
    """
    K = scores.shape[1]
    valued = len(spread_value) + len(entry_value) > 0
    n = 0
    for i in range(len(begin)):
        for p in range(begin[i], begin[i] + length[i]):
            row = scores[n]
            first[n] = p == begin[i]
            for k in range(K):
                row[k] = 0.0
            for q in range(spread_ptr[p], spread_ptr[p + 1]):
                w = x[spread[q] : spread[q] + K]  # a slice, so that the loop vectorises
                v = spread_value[q] if valued else 1.0
                for k in range(K):
                    row[k] += v * w[k]
            for e in range(entry_ptr[p], entry_ptr[p + 1]):
                v = entry_value[e] if valued else 1.0
                row[entry_label[e]] += v * x[entry_slot[e]]
            for k in range(K):
                row[k] *= factor
            n += 1
        for k in range(K):
            scores[n - length[i], k] += start[k]
            scores[n - 1, k] += end[k]
    first[n] = 1
    return n


@kernel
def touch(begin, length, active, spread_ptr, spread, entry_ptr, entry_slot, stamp, mark, runs, slots, n_slots):
    """Which weights a batch touches, each once: the first slots of spread rows, and single slots.

    IN   active uint8[n]: positions that count; n_slots: how many slots are listed already
    OUT  stamp int32[X] IN/OUT, not `mark` anywhere before the call; runs int32[], slots int32[]; returns how many
    """
    n_runs, n = 0, 0
    for i in range(len(begin)):
        for p in range(begin[i], begin[i] + length[i]):
            if active[n]:
                for q in range(spread_ptr[p], spread_ptr[p + 1]):  # written always, kept if new: no guess to go wrong
                    j = spread[q]
                    runs[n_runs] = j
                    n_runs += stamp[j] != mark
                    stamp[j] = mark
                for e in range(entry_ptr[p], entry_ptr[p + 1]):
                    j = entry_slot[e]
                    slots[n_slots] = j
                    n_slots += stamp[j] != mark
                    stamp[j] = mark
            n += 1
    return n_runs, n_slots


@kernel
def scatter(
    begin, length, active, spread_ptr, spread, spread_value, entry_ptr, entry_slot, entry_label, entry_value,
    rows, grad,
):  # fmt: skip
    """grad += Σ_t rows[t] at the weights of the position's features, times their values. OUT grad float64[X].

    Slots that a spread row only has to be whole get a gradient too; what updates the weights leaves them 0.
    """
    K = rows.shape[1]
    valued = len(spread_value) + len(entry_value) > 0
    n = 0
    for i in range(len(begin)):
        for p in range(begin[i], begin[i] + length[i]):
            if active[n]:
                row = rows[n]
                for q in range(spread_ptr[p], spread_ptr[p + 1]):
                    g = grad[spread[q] : spread[q] + K]
                    v = spread_value[q] if valued else 1.0
                    for k in range(K):
                        g[k] += v * row[k]
                for e in range(entry_ptr[p], entry_ptr[p + 1]):
                    v = entry_value[e] if valued else 1.0
                    grad[entry_slot[e]] += v * row[entry_label[e]]
            n += 1


@kernel
def descend(
    begin, length, active, spread_ptr, spread, spread_value, entry_ptr, entry_slot, entry_label, entry_value,
    rows, real, x, step,
):  # fmt: skip
    """x −= step · what `scatter` would add to a gradient, at once. IN real uint8[X]; OUT x float64[X]."""
    K = rows.shape[1]
    valued = len(spread_value) + len(entry_value) > 0
    n = 0
    for i in range(len(begin)):
        for p in range(begin[i], begin[i] + length[i]):
            if active[n]:
                row = rows[n]
                for q in range(spread_ptr[p], spread_ptr[p + 1]):
                    w, r = x[spread[q] : spread[q] + K], real[spread[q] : spread[q] + K]
                    v = step * spread_value[q] if valued else step
                    for k in range(K):
                        w[k] -= r[k] * (v * row[k])
                for e in range(entry_ptr[p], entry_ptr[p + 1]):
                    v = step * entry_value[e] if valued else step
                    x[entry_slot[e]] -= v * row[entry_label[e]]
            n += 1


@kernel
def likelihood(
    begin, length, labels, scores, table, shift, top, scale, underflowed, spare, sums, exps, arc_of, origin, probs, grad
):  # fmt: skip
    """The loss Σ_i (log Z_i − score of the truth) of a batch after forward-backward, and its gradient, P − truth.

    Returns NaN, and changes nothing, where messages became too small to trust.

    IN   begin, length int64[m]: the flat positions of the sequences; labels int32[N], scores float64[n, K], table
         float64[K, K], top, scale float64[n], underflowed, spare int32[n]: so many labels did, and may;
         sums, exps float64[P, P]: Σ_t P_t(u, v) is their product; arc_of int32[K, K], −1 where an arc has no weight
    OUT  probs float64[n, K] IN/OUT, becomes the gradient of the scores; grad float64[X]: origin + arc is added to
    """
    loss = 0.0
    t = 0
    for i in range(len(begin)):
        for p in range(begin[i], begin[i] + length[i]):
            loss += math.log(scale[t]) + top[t] - scores[t, labels[p]]
            if p > begin[i]:
                loss += shift - table[labels[p - 1], labels[p]]
            if underflowed[t] > spare[t]:
                return math.nan
            t += 1
    if not loss < math.inf:
        return math.nan
    K = scores.shape[1]
    for u in range(K):
        for v in range(K):
            if arc_of[u, v] >= 0:
                grad[origin + arc_of[u, v]] += sums[u, v] * exps[u, v]
    t = 0
    for i in range(len(begin)):
        for p in range(begin[i], begin[i] + length[i]):
            probs[t, labels[p]] -= 1.0
            if p > begin[i]:
                arc = arc_of[labels[p - 1], labels[p]]
                if arc >= 0:
                    grad[origin + arc] -= 1.0
            t += 1
    return loss


@kernel
def errors(begin, length, labels, predicted, scores, table, arc_of, origin, active, rows, grad):
    """The loss Σ_i (score of the best labeling − score of the truth) of a batch, and its gradient, best − truth.

    Returns NaN, and changes no gradient, where the scores are not numbers or the truth is not legal.

    IN   begin, length, labels, scores, table, arc_of, origin as in `likelihood`; predicted int32[n], the best labeling
    OUT  active uint8[n]: 1 where the two differ; rows float64[n, K]: the gradient of the scores there; grad: as there
    """
    K = scores.shape[1]
    loss = 0.0
    t = 0
    for i in range(len(begin)):
        for p in range(begin[i], begin[i] + length[i]):
            here, best = labels[p], predicted[t]
            active[t] = here != best
            loss += scores[t, best] - scores[t, here]
            if p > begin[i]:
                loss += table[predicted[t - 1], best] - table[labels[p - 1], here]
            t += 1
    if not loss < math.inf:
        return math.nan
    t = 0
    for i in range(len(begin)):
        for p in range(begin[i], begin[i] + length[i]):
            if active[t]:
                for k in range(K):
                    rows[t, k] = 0.0
                rows[t, predicted[t]] = 1.0
                rows[t, labels[p]] = -1.0
            if p > begin[i] and (active[t] or active[t - 1]):
                arc, true_arc = arc_of[predicted[t - 1], predicted[t]], arc_of[labels[p - 1], labels[p]]
                if arc >= 0:
                    grad[origin + arc] += 1.0
                if true_arc >= 0:
                    grad[origin + true_arc] -= 1.0
            t += 1
    return loss
