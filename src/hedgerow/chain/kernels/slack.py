"""The best labeling of one sequence for every cost: the search of slack-rescaled margins. Edges (to, n | 1, from).

    V_t(v, h) = node_t(v) + max_u [V_{t−1}(u, h − cost_t(v)) + edge_t(u, v)],

the best score of the labelings up to t that end in v and cost h so far. Costs are whole numbers, h runs from 0 to H.
Only least[t] ≤ h ≤ most[t] is searched: what can still come to a cost of interest, and what can be reached.
"""

import numpy as np

from hedgerow.jit import kernel


@kernel
def search(node, edges, costs, least, most, best, t0, t1):
    """best[t, v, h] = V_t(v, h), −inf where no labeling has that cost or it is not searched.

    node (T, K) IN, edges (K, T | 1, K) IN, costs (T, K) int64 IN, least, most (T,) IN; best (T, K, H+1) IN/OUT (row
    t0−1 is read).
    """
    K, size = node.shape[1], best.shape[2]
    for t in range(t0, t1):
        row = 0 if edges.shape[1] == 1 else t
        for v in range(K):
            here = best[t, v]
            c = costs[t, v]
            for h in range(size):
                here[h] = -np.inf
            if t == 0:
                if least[t] <= c <= most[t]:
                    here[c] = node[t, v]
                continue
            begin, end = max(least[t], c), most[t] + 1
            for u in range(K):
                x = edges[v, row, u]
                if x == -np.inf:
                    continue
                before = best[t - 1, u]
                for h in range(begin, end):
                    y = before[h - c] + x
                    here[h] = y if y > here[h] else here[h]
            for h in range(begin, end):
                here[h] += node[t, v]


@kernel
def trace(edges, costs, best, label, h, labels, t0, t1):
    """Follow the best labeling of cost h from `label` at t1−1 down to t0, of equal ones by the lowest label before.

    Return the label and the cost at t0−1. labels (T,) int32 OUT, the others as in `search` IN.
    """
    K = best.shape[1]
    for t in range(t1 - 1, t0 - 1, -1):
        labels[t] = label
        h -= costs[t, label]
        if t > 0:
            row = 0 if edges.shape[1] == 1 else t
            chosen = 0
            for u in range(1, K):
                if best[t - 1, u, h] + edges[label, row, u] > best[t - 1, chosen, h] + edges[label, row, chosen]:
                    chosen = u
            label = chosen
    return label, h


@kernel
def tighten(lengths, begins, slopes, rests, bounds, tallest, place):
    """Lower the bounds on h (1 − truth + best score of cost h) of some sequences by a line each, and find the largest.

    bounds[begins[i] + h] = min(itself, h (rests[i] − slopes[i] h)) for 0 ≤ h < lengths[i]; tallest[i] is the largest of
    sequence i and place[i] the lowest h that has it.

    lengths, begins, slopes, rests (m,) IN, bounds IN/OUT, tallest, place (m,) OUT.
    """
    for i in range(lengths.shape[0]):
        tallest[i] = -np.inf
        place[i] = 0
        for h in range(lengths[i]):
            x = min(bounds[begins[i] + h], h * (rests[i] - slopes[i] * h))
            bounds[begins[i] + h] = x
            if x > tallest[i]:
                tallest[i] = x
                place[i] = h
