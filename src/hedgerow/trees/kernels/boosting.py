"""Around the growing of a tree: gradients to words before it, leaf values to scores after it, equal windows."""

import numpy as np

from hedgerow.jit import kernel, part
from hedgerow.trees.nodes import BLOCK_LOW, BLOCK_WIDTH


@part
def _noise(row):
    """A number between −1/2 and 1/2 for a row of a shard. With it, gradients are right in the mean however coarsely
    they are rounded; without it, all that are small would be 0."""
    x = ((np.int64(row) + 1) * 0x9E3779B1) & 0xFFFFFFFF
    x = ((x ^ (x >> 15)) * 0x2C1B3C6D) & 0xFFFFFFFF
    return (x ^ (x >> 12)) * 2.0**-32 - 0.5


@kernel
def make_chain_words(
    alpha, beta_prime, edge_exps, node_probs, labels, k, places, first, begin, end, possible, one, bits, shared, words
):
    """Fixed-point gradient and a count of one, for the rows (t, u) of label k; a first place keeps ⊥ in column 0. The
    gradient is the log-likelihood's, P_t(u, k) − truth, made from messages as it is needed.

    IN   alpha, beta_prime float64[n, ·] as `position_chain.backward` leaves them, edge_exps, node_probs float64[n, K]
         of the positions begin … end-1, whole sequences; labels int32[n]; places int32[N], theirs; first uint8[P] by
         place; possible uint8[K+1]: the rows there are, by previous label; one: what a gradient of 1 becomes;
         shared: whether positions share a place (words are added up, and were 0 before)
    OUT  words int64[P, K]
    """
    K, kept, plain = words.shape[1], -np.int64(shared), not shared  # a mask of what words were before
    for u in range(K):
        plain &= possible[u] != 0
    for t in range(begin, end):
        p, r = places[t], t - begin
        if first[p]:
            g = node_probs[r, k] - (1.0 if labels[r] == k else 0.0)
            word = (np.int64(np.rint(g * one)) << bits) + 1 if possible[K] else 0
            words[p, 0] = words[p, 0] + word if shared else word
        else:
            x, row, before, edges = beta_prime[r, k] * one, words[np.uint64(p)], alpha[r - 1], edge_exps[r]
            for u in range(K):
                word = (np.int64(np.int32(np.rint(before[u] * edges[u] * x))) << bits) + 1  # of 32 bits: four at once
                row[u] = word if plain else (row[u] & kept) + (word & -np.int64(possible[u]))
            if labels[r] == k and possible[labels[r - 1]]:
                row[labels[r - 1]] -= int(one) << bits


@kernel
def make_newton_words(
    alpha, beta_prime, edge_exps, node_probs, labels, k, places, first, begin, end, possible, one, unit, noisy, bits,
    shared, words,
):  # fmt: skip
    """As make_chain_words, where a row counts p(1−p), of 1 = `unit`, and at least 1; noisy: whether `one` is small."""
    K, kept = words.shape[1], -np.int64(shared)  # a mask of what words were before
    for t in range(begin, end):
        p, r = np.uint64(places[t]), t - begin
        if first[p]:
            g = node_probs[r, k] - (1.0 if labels[r] == k else 0.0)
            noise = _noise(r * K) if noisy else 0.0
            word = _newton_word(g, one, unit, bits, noise) if possible[K] else 0
            words[p, 0] = words[p, 0] + word if shared else word
        else:
            x, row, before, edges = beta_prime[r, k], words[p], alpha[r - 1], edge_exps[r]
            true = labels[r - 1] if labels[r] == k and possible[labels[r - 1]] else -1
            old = row[max(true, 0)]
            for u in range(K):
                noise = _noise(r * K + u) if noisy else 0.0
                word = _newton_word(before[u] * edges[u] * x, one, unit, bits, noise) & -np.int64(possible[u])
                row[u] = (row[u] & kept) + word
            if true >= 0:
                noise = _noise(r * K + true) if noisy else 0.0
                word = _newton_word(before[true] * edges[true] * x - 1.0, one, unit, bits, noise)
                row[true] = old + word if shared else word


@part
def _newton_word(g, one, unit, bits, noise):
    """The word of a gradient between −1 and 1. Four whole numbers of 32 bits are rounded at once."""
    size = min(abs(g), 1.0)
    count = max(size * (1.0 - size) * unit, 1.0)
    return (np.int64(np.int32(np.rint(g * one + noise))) << bits) + np.int64(np.int32(np.rint(count)))


@kernel
def make_weighted_words(
    edge_gradient, node_gradient, edge_weight, node_weight, places, first, begin, end, one, unit, noisy, bits, shared,
    words,
):  # fmt: skip
    """As make_newton_words, of given gradients (those of edges float64[n, K], of nodes float64[n]) and a weight for
    every row, alike, 0: no row.

    A weight of 1 counts `unit`; a row with any weight counts at least 1.
    """
    K = words.shape[1]
    for t in range(begin, end):
        p, r = places[t], t - begin
        if first[p]:
            word = _weighted(node_gradient[r], node_weight[r], one, unit, bits, _noise(r * K) if noisy else 0.0)
            words[p, 0] = words[p, 0] + word if shared else word
        else:
            for u in range(K):
                noise = _noise(r * K + u) if noisy else 0.0
                word = _weighted(edge_gradient[r, u], edge_weight[r, u], one, unit, bits, noise)
                words[p, u] = words[p, u] + word if shared else word


@part
def _weighted(gradient, weight, one, unit, bits, noise):
    if weight <= 0.0:
        return 0
    return (np.int64(np.rint(gradient * one + noise)) << bits) + max(1, np.int64(np.rint(weight * unit)))


@kernel
def make_position_words(gradient, weight, scale, newton, places, begin, end, one, unit, noisy, bits, shared, words):
    """As make_weighted_words, where ⊥ stands before every position: for each of m labels one row, of weight
    float64[n, m] (0: no row), which Newton's leaves multiply by p(1−p); gradients, float64[n, m], are `scale` times
    those of such weights.

    OUT  words int64[P, ·], of which the first m columns are those of the labels
    """
    for t in range(begin, end):
        p, r = np.uint64(places[t]), t - begin
        noise = _noise(r) if noisy else 0.0
        for k in range(gradient.shape[1]):
            count = weight[r, k]
            if newton and count > 0.0:
                size = min(abs(gradient[r, k] / (count * scale)), 1.0)
                count *= max(size * (1.0 - size), 1e-9)
            word = _weighted(gradient[r, k], count, one, unit, bits, noise)
            words[p, k] = words[p, k] + word if shared else word


@kernel
def add_leaves(leaf_of, places, first, begin, end, value, factor, edge_exps, node_scores):
    """Add the values of a tree's leaves to the scores of the positions begin … end-1: multiply the exponentials of the
    edges, and add to the nodes with ⊥ before them.

    IN   leaf_of uint16[P, K] as `growing.assign_leaves` left it; value, factor = exp(value) float64[L]
    OUT  edge_exps float64[n, K] of the label, node_scores float64[·]: those with ⊥ before them, in order
    """
    K, s = edge_exps.shape[1], np.uint64(0)
    for t in range(begin, end):
        p, r = np.uint64(places[t]), t - begin
        if first[p]:
            node_scores[s] += value[leaf_of[p, 0]]
            s += np.uint64(1)
        else:
            for u in range(K):
                edge_exps[r, u] *= factor[leaf_of[p, u]]


@kernel
def add_leaf_scores(leaf_of, places, begin, end, value, edge_scores):
    """As add_leaves, to scores themselves, where no place is first. OUT edge_scores float64[n, H] of the label."""
    H = edge_scores.shape[1]
    for t in range(begin, end):
        p, r = np.uint64(places[t]), t - begin
        for u in range(H):
            edge_scores[r, u] += value[leaf_of[p, u]]


@kernel
def hash_windows(bins, blocks, places, first, hashes):
    """OUT hashes int64[n]: a number for the window of each place (its dense columns, and whether it is first)."""
    for c in range(len(blocks)):
        low, width = blocks[c, BLOCK_LOW], blocks[c, BLOCK_WIDTH]
        for o in range(low, low + width):
            for t in range(len(places)):
                x = hashes[t] ^ bins[c, places[t] + o]
                hashes[t] = (((x & 0x3FFFFFFF) * 1664525 + (x >> 30) * 22695477 + 1013904223) ^ (x << 7)) & MASK
    for t in range(len(places)):
        hashes[t] = 2 * (hashes[t] & (MASK >> 1)) + first[places[t]]


MASK = np.int64((1 << 53) - 1)
