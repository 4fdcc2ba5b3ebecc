"""Chains in plain NumPy and in the log domain. Slow, and meant to be read.

Everywhere: node (n, K), offsets (s+1,), and edges either (K, K) [from, to] or (K, n, K) [to, position, from].
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from hedgerow.legend import AnyArray, CodeArray, FloatArray


def sequences(offsets: AnyArray) -> Iterator[tuple[int, int]]:
    """The first row of each sequence, and the row after its last."""
    for begin, end in itertools.pairwise(offsets):
        yield int(begin), int(end)


def table(edges: FloatArray, t: int) -> FloatArray:
    """The scores of the edges into position t, (K, K) [from, to]."""
    if edges.ndim == 2:
        return edges
    return edges[:, t, :].T


def log_sum(scores: FloatArray, axis: int) -> FloatArray:
    """log Σ exp along an axis; −inf where every score is."""
    values: FloatArray = np.logaddexp.reduce(scores, axis=axis)
    return values


def forward(node: FloatArray, edges: FloatArray, offsets: AnyArray) -> FloatArray:
    """log α_t(v) = node_t(v) + log Σ_u exp(log α_{t−1}(u) + edge_t(u, v)), (n, K)."""
    log_alpha = np.full(node.shape, np.nan)
    for begin, end in sequences(offsets):
        log_alpha[begin] = node[begin]
        for t in range(begin + 1, end):
            log_alpha[t] = node[t] + log_sum(log_alpha[t - 1][:, None] + table(edges, t), axis=0)
    return log_alpha


def backward(node: FloatArray, edges: FloatArray, offsets: AnyArray) -> FloatArray:
    """log β_t(u) = log Σ_v exp(edge_{t+1}(u, v) + node_{t+1}(v) + log β_{t+1}(v)), (n, K)."""
    log_beta = np.full(node.shape, np.nan)
    for begin, end in sequences(offsets):
        log_beta[end - 1] = 0.0
        for t in range(end - 1, begin, -1):
            log_beta[t - 1] = log_sum(table(edges, t) + node[t] + log_beta[t], axis=1)
    return log_beta


def log_partition(node: FloatArray, edges: FloatArray, offsets: AnyArray) -> FloatArray:
    """log Z of each sequence, (s,)."""
    log_alpha = forward(node, edges, offsets)
    return np.array([log_sum(log_alpha[end - 1], axis=0) for _, end in sequences(offsets)])


def node_probs(node: FloatArray, edges: FloatArray, offsets: AnyArray) -> FloatArray:
    """P_t(v), (n, K)."""
    log_z = np.repeat(log_partition(node, edges, offsets), np.diff(offsets))
    log_alpha, log_beta = forward(node, edges, offsets), backward(node, edges, offsets)
    probs: FloatArray = np.exp(log_alpha + log_beta - log_z[:, None])
    return probs


def edge_probs(node: FloatArray, edges: FloatArray, offsets: AnyArray) -> FloatArray:
    """P_t(u, v), (K, n, K) [to, position, from]; 0 at first positions."""
    n, K = node.shape
    log_alpha, log_beta = forward(node, edges, offsets), backward(node, edges, offsets)
    probs = np.zeros((K, n, K))
    for (begin, end), log_z in zip(sequences(offsets), log_partition(node, edges, offsets)):
        for t in range(begin + 1, end):
            ahead = node[t] + log_beta[t]
            probs[:, t, :] = np.exp(log_alpha[t - 1][:, None] + table(edges, t) + ahead - log_z).T
    return probs


def sum_edges(node: FloatArray, edges: FloatArray, offsets: AnyArray) -> FloatArray:
    """Σ_t P_t(u, v), (K, K) [from, to]."""
    sums: FloatArray = edge_probs(node, edges, offsets).sum(axis=1).T
    return sums


def score(node: FloatArray, edges: FloatArray, offsets: AnyArray, labels: AnyArray) -> FloatArray:
    """The score of a labeling of each sequence, (s,)."""
    totals = []
    for begin, end in sequences(offsets):
        total = node[begin, labels[begin]]
        for t in range(begin + 1, end):
            total = total + table(edges, t)[labels[t - 1], labels[t]] + node[t, labels[t]]
        totals.append(total)
    return np.array(totals)


def truth(n_labels: int, offsets: AnyArray, labels: AnyArray) -> tuple[FloatArray, FloatArray]:
    """1 for the nodes (n, K) and the edges (K, n, K) of the true labeling; none where a sequence has a label of −1."""
    n = len(labels)
    nodes, pairs = np.zeros((n, n_labels)), np.zeros((n_labels, n, n_labels))
    for begin, end in sequences(offsets):
        if (labels[begin:end] >= 0).all():
            for t in range(begin, end):
                nodes[t, labels[t]] = 1.0
            for t in range(begin + 1, end):
                pairs[labels[t], t, labels[t - 1]] = 1.0
    return nodes, pairs


def viterbi(node: FloatArray, edges: FloatArray, offsets: AnyArray) -> tuple[CodeArray, FloatArray]:
    """The best labels (n,) and their scores (s,). Of equal maxima the lowest label, from the last position back."""
    labels = np.empty(len(node), dtype=np.int32)
    scores = []
    for begin, end in sequences(offsets):
        best = {begin: node[begin]}
        for t in range(begin + 1, end):
            best[t] = (best[t - 1][:, None] + table(edges, t)).max(axis=0) + node[t]
        scores.append(best[end - 1].max())
        labels[end - 1] = np.argmax(best[end - 1])
        for t in range(end - 1, begin, -1):
            labels[t - 1] = np.argmax(best[t - 1] + table(edges, t)[:, labels[t]])
    return labels, np.array(scores)


def labelings(n_labels: int, length: int) -> CodeArray:
    """Every labeling of a sequence, (K^T, T)."""
    return np.array(list(itertools.product(range(n_labels), repeat=length)), dtype=np.int32)


def k_best(node: FloatArray, edges: FloatArray, offsets: AnyArray, k: int) -> list[tuple[CodeArray, FloatArray]]:
    """The k best legal labelings of each sequence and their scores, best first, by looking at all of them."""
    found = []
    for begin, end in sequences(offsets):
        rows = slice(begin, end)
        local = edges if edges.ndim == 2 else edges[:, rows]
        every = labelings(node.shape[1], end - begin)
        scores = np.array([score(node[rows], local, np.array([0, end - begin]), y)[0] for y in every])
        order = np.argsort(-scores, kind="stable")[:k]
        order = order[scores[order] > -np.inf]
        found.append((every[order], scores[order]))
    return found


def sample(node: FloatArray, edges: FloatArray, offsets: AnyArray, uniforms: FloatArray) -> CodeArray:
    """Labels drawn backward, (n,): at t the first label whose cumulated probability, given y_{t+1}, exceeds
    uniforms[t]."""
    log_alpha = forward(node, edges, offsets)
    labels = np.empty(len(node), dtype=np.int32)
    for begin, end in sequences(offsets):
        for t in range(end - 1, begin - 1, -1):
            scores = log_alpha[t] if t == end - 1 else log_alpha[t] + table(edges, t + 1)[:, labels[t + 1]]
            probs = np.exp(scores - log_sum(scores, axis=0))
            labels[t] = np.searchsorted(np.cumsum(probs), uniforms[t] * probs.sum(), side="right")
    return labels


def entropy(node: FloatArray, edges: FloatArray, offsets: AnyArray) -> FloatArray:
    """The entropy over the labelings of each sequence, (s,), by the chain rule: H(y_1) + Σ_t H(y_t | y_{t−1})."""
    nodes, pairs = node_probs(node, edges, offsets), edge_probs(node, edges, offsets)
    totals = []
    for begin, end in sequences(offsets):
        total = minus_p_log_p(nodes[begin])
        for t in range(begin + 1, end):
            total += minus_p_log_p(pairs[:, t, :]) - minus_p_log_p(nodes[t - 1])
        totals.append(total)
    return np.array(totals)


def minus_p_log_p(probs: FloatArray) -> float:
    """−Σ p log p, where 0 log 0 is 0."""
    positive = probs[probs > 0.0]
    return float(-(positive * np.log(positive)).sum())


def reach(node: FloatArray, edges: FloatArray, offsets: AnyArray) -> AnyArray:
    """bool (n, K): a legal way from the start of the sequence leads to the label."""
    return forward(node, edges, offsets) > -np.inf
