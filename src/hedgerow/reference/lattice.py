"""Pairwise graphs in plain NumPy, written to be obviously right: enumeration, columns of a grid, and message passing.

nodes (n, K) and edges (M, K, K) are scores, ends (M, 2) the nodes that each edge joins, [tail, head].
"""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

import numpy as np

from hedgerow.legend import FloatArray, IndexArray


class Exact(NamedTuple):
    """log Z, node_probs (n, K), edge_probs (M, K, K), the best labeling (n,) and its score."""

    log_partition: float
    node_probs: FloatArray
    edge_probs: FloatArray
    best: IndexArray
    best_score: float


def score(nodes: FloatArray, edges: FloatArray, ends: IndexArray, labels: IndexArray) -> float:
    """The score of a labeling."""
    total = sum(nodes[i, y] for i, y in enumerate(labels))
    return float(total + sum(edges[e, labels[i], labels[j]] for e, (i, j) in enumerate(ends)))


def enumerate_labelings(nodes: FloatArray, edges: FloatArray, ends: IndexArray) -> Exact:
    """Everything by a sum over all K^n labelings."""
    n, K = nodes.shape
    labelings = list(product(range(K), repeat=n))
    scores = np.array([score(nodes, edges, ends, np.array(labels)) for labels in labelings])
    top = scores.max()
    weights = np.exp(scores - top)
    node_probs, edge_probs = np.zeros((n, K)), np.zeros((len(ends), K, K))
    for labels, weight in zip(labelings, weights / weights.sum()):
        for i, y in enumerate(labels):
            node_probs[i, y] += weight
        for e, (i, j) in enumerate(ends):
            edge_probs[e, labels[i], labels[j]] += weight
    best = np.array(labelings[int(scores.argmax())])
    return Exact(float(top + np.log(weights.sum())), node_probs, edge_probs, best, float(top))


def columns(nodes: FloatArray, down: FloatArray, right: FloatArray) -> tuple[float, FloatArray]:
    """log Z and node_probs (H, W, K) of a narrow grid of four neighbours: a chain over the K^H labelings of a column.

    nodes (H, W, K); down (H−1, W, K, K), of (i, j) and (i+1, j); right (H, W−1, K, K), of (i, j) and (i, j+1)
    """
    H, W, K = nodes.shape
    states = np.array(list(product(range(K), repeat=H)))
    rows = np.arange(H)
    inside = np.array(
        [
            [nodes[rows, j, s].sum() + sum(down[i, j, s[i], s[i + 1]] for i in range(H - 1)) for s in states]
            for j in range(W)
        ]
    )
    between = np.array([[[right[rows, j, s, t].sum() for t in states] for s in states] for j in range(W - 1)])
    alpha, beta = np.zeros_like(inside), np.zeros_like(inside)
    alpha[0] = inside[0]
    for j in range(1, W):
        alpha[j] = inside[j] + _log_sum(alpha[j - 1][:, None] + between[j - 1], axis=0)
    for j in range(W - 2, -1, -1):
        beta[j] = _log_sum(between[j] + (inside[j + 1] + beta[j + 1])[None], axis=1)
    log_partition = float(_log_sum(alpha[-1], axis=0))
    weights = np.exp(alpha + beta - log_partition)
    probs = np.zeros((H, W, K))
    for weight, s in zip(weights.T, states):
        probs[rows, :, s] += weight
    return log_partition, probs


class Messages(NamedTuple):
    """(i, j) → the log message from i to j (K,), largest entry 0; and how far the last round changed one at most."""

    messages: dict[tuple[int, int], FloatArray]
    change: float


def propagate(
    nodes: FloatArray,
    edges: FloatArray,
    ends: IndexArray,
    n_rounds: int,
    *,
    appearance: FloatArray | None = None,
    maximise: bool = False,
    damping: float = 0.0,
) -> Messages:
    """Rounds of (tree-reweighted) belief propagation, all messages at once."""
    K = nodes.shape[1]
    rho = np.ones(len(ends)) if appearance is None else appearance
    share: dict[tuple[int, int], float] = {}
    table: dict[tuple[int, int], FloatArray] = {}
    for e, (i, j) in enumerate(ends.tolist()):
        share[i, j] = share[j, i] = float(rho[e])
        table[i, j], table[j, i] = edges[e] / rho[e], edges[e].T / rho[e]
    messages = {pair: np.zeros(K) for pair in table}
    change = 0.0
    for _ in range(n_rounds):
        fresh = {}
        for i, j in table:
            own = nodes[i] + sum(share[k, t] * messages[k, t] for k, t in table if t == i) - messages[j, i]
            both = own[:, None] + table[i, j]
            found = both.max(axis=0) if maximise else _log_sum(both, axis=0)
            mixed = (1 - damping) * np.exp(found - found.max()) + damping * np.exp(messages[i, j])
            fresh[i, j] = np.log(mixed / mixed.max())
        change = max((float(np.abs(np.exp(fresh[p]) - np.exp(messages[p])).max()) for p in table), default=0.0)
        messages = fresh
    return Messages(messages, change)


def bethe(
    nodes: FloatArray, edges: FloatArray, ends: IndexArray, found: Messages, appearance: FloatArray | None = None
) -> tuple[float, FloatArray, FloatArray]:
    """The free energy Σ b φ + Σ b ψ + Σ_i H_i − Σ_e ρ_e I_e of the beliefs, and these: (n, K), (M, K, K)."""
    rho = np.ones(len(ends)) if appearance is None else appearance
    share = {pair: float(r) for (i, j), r in zip(ends.tolist(), rho) for pair in ((i, j), (j, i))}
    fields = np.array(
        [nodes[i] + sum(share[p] * m for p, m in found.messages.items() if p[1] == i) for i in range(len(nodes))]
    )
    node_probs = np.exp(fields - _log_sum(fields, axis=1)[:, None])
    edge_probs = np.empty_like(edges)
    total = float((node_probs * nodes).sum()) + _entropy(node_probs)
    for e, (i, j) in enumerate(ends.tolist()):
        both = edges[e] / rho[e] + (fields[i] - found.messages[j, i])[:, None] + fields[j] - found.messages[i, j]
        b = np.exp(both - _log_sum(both.ravel(), axis=0))
        edge_probs[e] = b
        information = _entropy(b.sum(axis=1)) + _entropy(b.sum(axis=0)) - _entropy(b)
        total += float((b * edges[e]).sum()) - rho[e] * information
    return total, node_probs, edge_probs


def mean_field(
    nodes: FloatArray, edges: FloatArray, ends: IndexArray, probs: FloatArray, n_sweeps: int
) -> tuple[float, FloatArray]:
    """Coordinate ascent from `probs` (n, K), node by node: the free energy, and the probabilities."""
    probs = probs.copy()
    for _ in range(n_sweeps):
        for i in range(len(nodes)):
            field = nodes[i].copy()
            for e, (tail, head) in enumerate(ends.tolist()):
                if tail == i:
                    field += edges[e] @ probs[head]
                elif head == i:
                    field += probs[tail] @ edges[e]
            probs[i] = np.exp(field - _log_sum(field, axis=0))
    total = float((probs * nodes).sum()) + _entropy(probs)
    total += sum(float(probs[i] @ edges[e] @ probs[j]) for e, (i, j) in enumerate(ends))
    return total, probs


def pseudo_likelihood(nodes: FloatArray, edges: FloatArray, ends: IndexArray, labels: IndexArray) -> float:
    """−Σ_i log P(y_i | labels of the neighbours) over labelled nodes; neighbours without a label (−1) do not count."""
    loss = 0.0
    for i in np.flatnonzero(labels >= 0):
        field = nodes[i].copy()
        for e, (tail, head) in enumerate(ends.tolist()):
            if tail == i and labels[head] >= 0:
                field += edges[e][:, labels[head]]
            elif head == i and labels[tail] >= 0:
                field += edges[e][labels[tail]]
        loss += float(_log_sum(field, axis=0) - field[labels[i]])
    return loss


def _log_sum(scores: FloatArray, axis: int) -> FloatArray:
    top = scores.max(axis=axis, keepdims=True)
    total: FloatArray = np.log(np.exp(scores - top).sum(axis=axis)) + top.squeeze(axis)
    return total


def _entropy(probs: FloatArray) -> float:
    return -float((probs * np.log(np.maximum(probs, 1e-300))).sum())
