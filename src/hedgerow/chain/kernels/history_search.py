"""Best labelings of a chain of histories, exactly: the best one, and the k best.

Conventions as in `histories`; scores are logs throughout.
"""

import numpy as np

from hedgerow.chain.kernels.history_arcs import list_arcs
from hedgerow.jit import kernel, part


@kernel
def best_ahead(node, arc_scores, histories, best, arc_totals, choice, listed, base, end, t0, t1):
    """V_{t−1}(s) = max [ψ(a) + node_t(k) + V_t(next(a))] over the arcs that labels take after s; 0 at end−1.

    t from t1−1 down to t0. What s has not seen is not better than the best of its back-off b: so it is looked at only
    where V(b) is the larger, and label by label only where s has seen the label that makes it so.

    node (n, K) IN; best (rows, S) = V IN/OUT (row t1 is read); arc_totals (A,), choice (S,), listed (K,) scratch.
    """
    back_off, arc_ptr, arc_label = histories.back_off, histories.arc_ptr, histories.arc_label
    S = back_off.shape[0]
    for t in range(t1 - 1, t0 - 1, -1):
        row = best[t - base]
        if t == end - 1:
            for s in range(S):
                row[s] = 0.0
            continue
        labels, ahead = node[t + 1], best[t + 1 - base]
        for a in range(arc_label.shape[0]):
            arc_totals[a] = arc_scores[a] + labels[np.uint32(arc_label[a])] + ahead[np.uint32(histories.arc_next[a])]
        for s in range(S):
            largest, chosen = -np.inf, -1
            seen = False
            b = back_off[s]
            other = -1 if b < 0 else choice[b]
            for a in range(np.uint32(arc_ptr[s]), np.uint32(arc_ptr[s + 1])):
                seen |= arc_label[a] == other
                if arc_totals[a] > largest:
                    largest, chosen = arc_totals[a], arc_label[a]
            if b >= 0 and row[b] > largest:
                if not seen:
                    largest, chosen = row[b], other
                else:
                    count = list_arcs(histories, s, listed)
                    for i in range(arc_ptr[s + 1] - arc_ptr[s], count):
                        a = listed[i]
                        if arc_totals[a] > largest:
                            largest, chosen = arc_totals[a], arc_label[a]
            row[s], choice[s] = largest, chosen


@part
def _rank(score, item, scores, items, n_kept):
    """Put an item among the best, falling, after those of equal score. scores, items (w,) IN/OUT; returns how many."""
    width = scores.shape[0]
    if n_kept == width:
        if not score > scores[width - 1]:
            return n_kept
        place = width - 1
    else:
        place = n_kept
        n_kept += 1
    while place > 0 and score > scores[place - 1]:
        scores[place], items[place] = scores[place - 1], items[place - 1]
        place -= 1
    scores[place], items[place] = score, item
    return n_kept


@kernel
def k_best(
    node, arc_scores, histories, best, states, scores, n_states, came_by, totals, items, next_states, next_scores,
    listed, base, t0, t1,
):  # fmt: skip
    """The k best beginnings of labelings at t0 … t1−1, by their score so far and V_t, the best that can follow.

    A beginning among the k best labelings is among the k best beginnings: each of those has a labeling as good as its
    total, and these are all different. So k beginnings a position give the k best labelings, exactly.

    best (rows, S) = V of `best_ahead` IN; states, scores (k,), n_states of t0−1 IN/OUT, the number is returned; came_by
    (n, k) OUT, r · A + a for arc a after beginning r; totals, items, next_states, next_scores (k,), listed (K,) are
    scratch.
    """
    arc_label, arc_next = histories.arc_label, histories.arc_next
    A = arc_label.shape[0]
    for t in range(t0, t1):
        kept = 0
        for r in range(n_states):
            for i in range(list_arcs(histories, states[r], listed)):
                a = listed[i]
                total = scores[r] + arc_scores[a] + node[t, arc_label[a]] + best[t - base, arc_next[a]]
                if total > -np.inf:
                    kept = _rank(total, r * A + a, totals, items, kept)
        for r in range(kept):
            came_by[t, r] = items[r]
            a = items[r] % A
            next_states[r] = arc_next[a]
            next_scores[r] = scores[items[r] // A] + arc_scores[a] + node[t, arc_label[a]]
        n_states = kept
        for r in range(kept):
            states[r], scores[r] = next_states[r], next_scores[r]
    return n_states


@kernel
def trace(came_by, arc_label, r, labels, t0, t1):
    """Follow a labeling from the r-th of t1−1 down to t0; returns which one it continues at t0−1.

    came_by (n, w) IN, r · A + a for arc a after the r-th; labels (n,) int32 OUT.
    """
    A = arc_label.shape[0]
    for t in range(t1 - 1, t0 - 1, -1):
        labels[t] = arc_label[came_by[t, r] % A]
        r = came_by[t, r] // A
    return r


@kernel
def best_labelings(
    node, arc_scores, histories, offsets, best, arc_totals, choice, listed, states, scores, items, came_by, labels,
    totals, begin, end,
):  # fmt: skip
    """`best_ahead`, `k_best` with k = 1, and `trace` of the sequences begin … end−1, each of which fits the rows of
    best; returns the first one without a legal labeling, `end` where there is none.

    offsets (s+1,) IN; states (2, 1), scores (3, 1), items (1,) scratch; labels (n,), totals (s,) OUT; all else as in
    these three.
    """
    for i in range(begin, end):
        t0, t1 = offsets[i], offsets[i + 1]
        nodes, length = node[t0:t1], t1 - t0
        best_ahead(nodes, arc_scores, histories, best, arc_totals, choice, listed, 0, length, 0, length)
        states[0, 0], scores[0, 0] = histories.start, 0.0
        n_kept = k_best(
            nodes, arc_scores, histories, best, states[0], scores[0], 1, came_by, scores[1], items, states[1],
            scores[2], listed, 0, 0, length,
        )  # fmt: skip
        if n_kept == 0:
            return i
        trace(came_by, histories.arc_label, 0, labels[t0:t1], 0, length)
        totals[i] = scores[0, 0]
    return end
