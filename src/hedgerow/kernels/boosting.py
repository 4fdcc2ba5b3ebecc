"""Around the growing of a tree: gradients to words before it, leaf values to scores after it, and prediction."""

from __future__ import annotations

from hedgerow.kernels._jit import kernel

EQUAL, AT_MOST, AT_MOST_OR_SPECIAL = 0, 1, 2  # as in `growing`; a kernel file stands alone
LABEL, LEAF = -1, -2


@kernel
def make_words(edge_gradient, node_gradient, first, begin, end, one, bits, words):
    """Fixed-point gradient and a count of one, for the rows (t, u) of one label; a first position keeps ⊥ in column 0.

    IN   edge_gradient float64[n, K], node_gradient float64[n], first bool[N], begin … end of the n positions,
         one: what a gradient of 1 becomes
    OUT  words int64[N, K]
    """
    K = words.shape[1]
    for t in range(begin, end):
        if first[t]:
            words[t, 0] = (round(node_gradient[t - begin] * one) << bits) + 1
            for u in range(1, K):
                words[t, u] = 0
        else:
            for u in range(K):
                words[t, u] = (round(edge_gradient[t - begin, u] * one) << bits) + 1


@kernel
def _add(t, begin, first, members, i, value, factor, edge_scores, edge_exps, node_scores):
    K = edge_scores.shape[1]
    if first[t]:
        if members[i, K]:
            node_scores[t - begin] += value
    else:
        for u in range(K):
            if members[i, u]:
                edge_scores[t - begin, u] += value
                edge_exps[t - begin, u] *= factor


@kernel
def add_leaves(
    alive,
    slot,
    rows,
    run_begin,
    run_end,
    members,
    value,
    factor,
    first,
    begin,
    end,
    edge_scores,
    edge_exps,
    node_scores,
):
    """Add the values of a tree's leaves to the scores of the positions begin … end-1, and to the exponentials.

    IN   where the leaves' rows are, as `growing.grow` left it (runs rise); value, factor = exp(value) float64[L]
    OUT  edge_scores, edge_exps float64[n, K], node_scores float64[n] of the label
    """
    for i in range(len(value)):
        v, f = value[i], factor[i]
        if slot[i] >= 0:
            for t in range(begin, end):
                if alive[slot[i], t]:
                    _add(t, begin, first, members, i, v, f, edge_scores, edge_exps, node_scores)
            continue
        low, high = run_begin[i], run_end[i]
        while low < high:  # the first row that is not before `begin`
            middle = (low + high) // 2
            if rows[middle] < begin:
                low = middle + 1
            else:
                high = middle
        for q in range(low, run_end[i]):
            if rows[q] >= end:
                break
            _add(rows[q], begin, first, members, i, v, f, edge_scores, edge_exps, node_scores)


@kernel
def _true_side(x, bin_, rule, n_bins):
    if rule == EQUAL:
        return x == bin_
    return x <= bin_ or (rule == AT_MOST_OR_SPECIAL and x >= n_bins - 2)


@kernel
def add_tree(bins, places, first, streams, tree, value, stack, taken, edge_scores, node_scores):
    """Add the values of a tree to the scores of one label. A position walks it once, with its set of previous labels.

    IN   bins uint[C, P], places int64[n], first uint8[·], streams int64[5, ·] as in `growing`,
         tree int64[·, 5], value float64[·]
    WORK stack int64[K+1, 2], taken uint8[K]
    OUT  edge_scores float64[n, K], node_scores float64[n]
    """
    K = edge_scores.shape[1]
    for t in range(len(places)):
        node = 0
        if first[t]:
            while tree[node, 0] != LEAF:
                s, b = tree[node, 0], tree[node, 1]
                if s == LABEL:
                    true = b == K
                else:
                    x = bins[streams[0, s], places[t] + streams[1, s]]
                    true = _true_side(x, b, tree[node, 2], streams[3, s])
                node = tree[node, 3] if true else tree[node, 4]
            node_scores[t] += value[node]
        else:
            _walk_set(bins, places[t], streams, tree, value, stack, taken, edge_scores[t])


@kernel
def _walk_set(bins, place, streams, tree, value, stack, taken, scores):
    """Walk with all K previous labels: below a split on label u the true side has u alone, the other side the rest.

    An entry of the stack is (node, label); label −1 stands for all that no split on the way took, and is walked first.
    """
    taken[:] = 0
    depth = 1
    stack[0, 0], stack[0, 1] = 0, -1
    while depth > 0:
        depth -= 1
        node, label = stack[depth, 0], stack[depth, 1]
        while tree[node, 0] != LEAF:
            s, b = tree[node, 0], tree[node, 1]
            if s != LABEL:
                x = bins[streams[0, s], place + streams[1, s]]
                node = tree[node, 3] if _true_side(x, b, tree[node, 2], streams[3, s]) else tree[node, 4]
            elif label >= 0:
                node = tree[node, 3] if b == label else tree[node, 4]
            else:
                if b < len(taken) and not taken[b]:
                    taken[b] = 1
                    stack[depth, 0], stack[depth, 1] = tree[node, 3], b
                    depth += 1
                node = tree[node, 4]
        if label >= 0:
            scores[label] += value[node]
        else:
            for u in range(len(taken)):
                if not taken[u]:
                    scores[u] += value[node]
