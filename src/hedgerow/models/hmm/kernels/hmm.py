"""Kernels of counted models: tables of rows by label, read for scores and summed for counts.

An observation j says that row rows[j] is seen at position which[j], values[j] times.
"""

from hedgerow.jit import kernel


@kernel
def gather(rows, which, values, table, scores):
    """scores[which[j], k] += values[j] · table[rows[j], k]. A value of 0 adds nothing, to an impossible row either.

    rows, which, values (m,) IN, table (R, K) IN; scores (n, K) IN/OUT.
    """
    K = scores.shape[1]
    for j in range(rows.shape[0]):
        value = values[j]
        if value != 0.0:
            for k in range(K):
                scores[which[j], k] += value * table[rows[j], k]


@kernel
def scatter(rows, which, values, probs, sums):
    """sums[rows[j], k] += values[j] · probs[which[j], k].

    rows, which, values (m,) IN, probs (n, K) IN; sums (R, K) IN/OUT.
    """
    K = sums.shape[1]
    for j in range(rows.shape[0]):
        value = values[j]
        for k in range(K):
            sums[rows[j], k] += value * probs[which[j], k]


@kernel
def count_arcs(labels, offsets, weights, start, follows, counts):
    """Walk sequences whose labels are known through histories that have an arc for every label:

        s_1 = start,   s_{t+1} = follows[s_t, y_t],   counts[s_t, y_t] += weight.

    labels (n,), offsets (S+1,), weights (S,), follows (H, K) IN; counts (H, K) IN/OUT.
    """
    for i in range(offsets.shape[0] - 1):
        state = start
        for t in range(offsets[i], offsets[i + 1]):
            counts[state, labels[t]] += weights[i]
            state = follows[state, labels[t]]
