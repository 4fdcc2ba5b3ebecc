"""A beam over the histories of one sequence: at each position the w with the best scores.

node (T, K) are the scores of the sequence. Row 0 of the arrays of the beam is the time before the first label, row t
the time after t labels; a call covers the positions t0 … t1−1 and writes the rows t0+1 … t1. Other conventions as in
`histories`; scores are logs throughout. `place` (S,) is −1 everywhere, before and after a call.
"""

import numpy as np

from hedgerow.chain.kernels.beam import choose
from hedgerow.chain.kernels.history_arcs import list_arcs
from hedgerow.chain.kernels.history_search import trace
from hedgerow.jit import kernel, part


@part
def _expand(node, arc_scores, histories, states, scores, n_kept, place, new_states, new_scores, came_by, listed):
    """The histories that those of a beam lead to by one label, each once, with its best score; returns how many.

    node (K,) IN, states, scores (w,) IN; place (S,) OUT, the number of each new history; new_states, new_scores,
    came_by (C,) OUT, came_by = r · A + a for arc a after the r-th of the beam; listed (K,) scratch.
    """
    arc_label, arc_next = histories.arc_label, histories.arc_next
    A = arc_label.shape[0]
    count = 0
    for r in range(n_kept):
        for i in range(list_arcs(histories, states[r], listed)):
            a = listed[i]
            score = scores[r] + arc_scores[a] + node[arc_label[a]]
            if score == -np.inf:
                continue
            c = place[arc_next[a]]
            if c < 0:
                c = count
                place[arc_next[a]] = c
                new_states[c], new_scores[c] = arc_next[a], -np.inf
                count += 1
            if score > new_scores[c]:
                new_scores[c], came_by[c] = score, r * A + a
    return count


@kernel
def search(
    node, arc_scores, histories, states, scores, n_kept, came_by, place, new_states, new_scores, new_came_by, kept,
    listed, t0, t1,
):  # fmt: skip
    """Extend the beam by one label after the other; returns the position where nothing is left, or t1.

    states, scores, came_by (T+1, w), n_kept (T+1,) IN/OUT (row t0 is read), came_by as in `_expand`; new_states,
    new_scores, new_came_by (min(w K, S),), kept (w,), listed (K,) scratch.
    """
    for t in range(t0, t1):
        count = _expand(
            node[t], arc_scores, histories, states[t], scores[t], n_kept[t], place,
            new_states, new_scores, new_came_by, listed,
        )  # fmt: skip
        n_kept[t + 1] = choose(new_scores, count, kept)
        for r in range(n_kept[t + 1]):
            c = kept[r]
            states[t + 1, r], scores[t + 1, r], came_by[t + 1, r] = new_states[c], new_scores[c], new_came_by[c]
        for c in range(count):
            place[new_states[c]] = -1
        if count == 0:
            return t
    return t1


@kernel
def labelings(
    node, arc_scores, histories, offsets, states, scores, n_kept, came_by, place, new_states, new_scores, new_came_by,
    kept, listed, labels, totals, begin, end,
):  # fmt: skip
    """`search` and `trace` of the sequences begin … end−1; returns the first one whose beam has nothing left, `end`
    where there is none.

    node (n, K), offsets (s+1,) IN; labels (n,), totals (s,) OUT; all else as in these two.
    """
    for i in range(begin, end):
        t0, t1 = offsets[i], offsets[i + 1]
        states[0, 0], scores[0, 0], n_kept[0] = histories.start, 0.0, 1
        t = search(
            node[t0:t1], arc_scores, histories, states, scores, n_kept, came_by, place, new_states, new_scores,
            new_came_by, kept, listed, 0, t1 - t0,
        )  # fmt: skip
        if t < t1 - t0:
            return i
        trace(came_by[1:], histories.arc_label, 0, labels[t0:t1], 0, t1 - t0)
        totals[i] = scores[t1 - t0, 0]
    return end
