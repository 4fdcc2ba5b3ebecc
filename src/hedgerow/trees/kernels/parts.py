"""Sums of a leaf that has places in parts: parts times gradient and weight, as pairs."""

import numpy as np

from hedgerow.jit import part


@part
def list_labels(member, order):
    """OUT order int64[·]: the previous labels that are members, ⊥ not counted; returns how many."""
    m = 0
    for u in range(len(member) - 1):
        order[m] = u
        m += member[u]
    return m


@part
def weigh(data, bits, rows, parts, member, order, pair, labels):
    """Parts times gradient and weight of the rows of a leaf.

    IN   rows int32[n], parts int32[n], member uint8[K+1]: its previous labels
    OUT  pair int64[n, 2] of each place; labels int64[K+1, 2]
    """
    words, first, K, mask = data.words, data.first, data.words.shape[1], (1 << bits) - 1
    m = list_labels(member, order)
    labels[:] = 0
    g_all = n_all = 0
    for r in range(len(rows)):
        p, share, word = np.uint64(rows[r]), np.int64(parts[r]), 0
        if first[p]:
            word = words[p, 0]
            labels[K, 0] += (word >> bits) * share
            labels[K, 1] += (word & mask) * share
        elif m == K:
            for u in range(K):
                word += words[p, u]
        else:
            for j in range(m):
                word += words[p, np.uint64(order[j])]
        g, n = (word >> bits) * share, (word & mask) * share
        pair[r, 0], pair[r, 1] = g, n
        g_all += g
        n_all += n
    _sum_labels(words, first, rows, parts, bits, order[:m], g_all - labels[K, 0], n_all - labels[K, 1], labels)


@part
def _sum_labels(words, first, rows, parts, bits, order, g_all, n_all, labels):
    """The pairs of some rows by previous label, those in `order`; what the others leave of the sums is the last one's.

    OUT  labels int64[K+1, 2]
    """
    mask = (1 << bits) - 1
    for j in range(len(order) - 1):
        u, g, n = np.uint64(order[j]), 0, 0
        for r in range(len(rows)):
            p = np.uint64(rows[r])
            word, share = 0 if first[p] else words[p, u], np.int64(parts[r])
            g += (word >> bits) * share
            n += (word & mask) * share
        labels[u, 0], labels[u, 1] = g, n
        g_all -= g
        n_all -= n
    if len(order):
        labels[order[len(order) - 1], 0], labels[order[len(order) - 1], 1] = g_all, n_all
