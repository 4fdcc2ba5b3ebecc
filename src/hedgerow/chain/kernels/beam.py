"""Beam search over the labels of a chain: at each position only the w best labels go on.

node (n, K) IN, edges (K, E, K) [to, position or 0, from] IN with E = n or 1, first (n+1,) IN: 1 where one starts.
"""

import numpy as np

from hedgerow.jit import kernel, part


@part
def choose(totals, count, kept):
    """The places of the w best of the first `count` totals, best first, the lower place of equal ones; impossible ones
    are left out.

    totals (≥ count,) IN, kept (w,) OUT; returns how many.
    """
    width = kept.shape[0]
    n_kept = 0
    for v in range(count):
        if totals[v] == -np.inf:
            continue
        at = n_kept
        if n_kept == width:
            if not totals[v] > totals[kept[width - 1]]:
                continue
            at = width - 1
        else:
            n_kept += 1
        while at > 0 and totals[v] > totals[kept[at - 1]]:
            kept[at] = kept[at - 1]
            at -= 1
        kept[at] = v
    return n_kept


@kernel
def search(node, edges, first, states, scores, came_from, n_kept, totals, ranks, t0, t1):
    """Extend the beams of a chunk from t0 to t1−1; returns the position where nothing is left, or t1.

    states, scores (n, w) IN/OUT: the labels kept at each position, best first, and the score of the best way to each;
    came_from (n, w) OUT: the rank at the position before; n_kept (n,) IN/OUT; totals, ranks (K,) scratch.
    """
    K = node.shape[1]
    per_position = edges.shape[1] > 1
    for t in range(t0, t1):
        e = t if per_position else 0
        for v in range(K):
            best, rank = 0.0, -1
            if not first[t]:
                best = -np.inf
                for r in range(n_kept[t - 1]):
                    score = scores[t - 1, r] + edges[v, e, states[t - 1, r]]
                    if score > best:
                        best, rank = score, r
            totals[v], ranks[v] = best + node[t, v], rank
        n_kept[t] = choose(totals, K, states[t])
        if n_kept[t] == 0:
            return t
        for r in range(n_kept[t]):
            scores[t, r], came_from[t, r] = totals[states[t, r]], ranks[states[t, r]]
    return t1


@kernel
def trace(first, states, came_from, labels):
    """The labels (n,) OUT of the best way of each sequence. states, came_from (n, w) of `search` IN."""
    rank = 0
    for t in range(labels.shape[0] - 1, -1, -1):
        if first[t + 1]:
            rank = 0
        labels[t] = states[t, rank]
        rank = came_from[t, rank]
