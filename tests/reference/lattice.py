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


def message(
    nodes: FloatArray,
    edges: FloatArray,
    ends: IndexArray,
    appearance: FloatArray,
    messages: FloatArray,
    half: int,
    *,
    maximise: bool = False,
    damping: float = 0.0,
) -> FloatArray:
    """What half-edge `half` would carry next, (K,), by log messages (2M, K): 2e goes from tail to head, 2e+1 back."""
    e, side = divmod(half, 2)
    field = nodes[ends[e, side]] - messages[half ^ 1]
    for other, pair in enumerate(ends.tolist()):
        for way in (0, 1):
            if pair[1 - way] == ends[e, side]:  # it arrives at the sender
                field = field + appearance[other] * messages[2 * other + way]
    both = field[:, None] + (edges[e] if side == 0 else edges[e].T) / appearance[e]
    found = both.max(axis=0) if maximise else _log_sum(both, axis=0)
    mixed = (1.0 - damping) * np.exp(found - found.max()) + damping * np.exp(messages[half])
    fresh: FloatArray = np.log(mixed / mixed.max())
    return fresh


def sweep(
    nodes: FloatArray,
    edges: FloatArray,
    ends: IndexArray,
    appearance: FloatArray,
    old: FloatArray,
    new: FloatArray,
    sends: list[tuple[int, list[int]]],
    awake: IndexArray,
    way: int,
    quiet: float,
    *,
    maximise: bool = False,
    damping: float = 0.0,
) -> float:
    """Nodes send along some half-edges each, those asleep along none; the largest change of a message.

    Log messages (2M, K) are read from `old` and written to `new`, which may be the same. awake (2, n), or (2, 0) where
    all nodes send.
    """
    change = 0.0
    for i, halves in sends:
        if awake.size:
            if not awake[way, i]:
                continue
            awake[way, i] = 0
        for half in halves:
            options = {"maximise": maximise, "damping": damping}
            fresh = message(nodes, edges, ends, appearance, old, half, **options)  # type: ignore[arg-type]
            moved = float(np.abs(np.exp(fresh) - np.exp(old[half])).max())
            change = max(change, moved)
            new[half] = fresh
            if awake.size and moved > quiet:
                awake[:, ends[half // 2, 1 - half % 2]] = 1
                if damping:
                    awake[way, i] = 1
    return change


class Beliefs(NamedTuple):
    """node_probs (n, K), edge_probs (M, K, K), and what both normalise by: Σ_i log Z_i and Σ_e ρ_e log Z_e."""

    node_probs: FloatArray
    edge_probs: FloatArray
    node_total: float
    edge_total: float


def beliefs(
    nodes: FloatArray, edges: FloatArray, ends: IndexArray, appearance: FloatArray, messages: FloatArray
) -> Beliefs:
    """b_i(u) ∝ exp(φ + Σ ρ m), b_e(u, v) ∝ b_i(u) b_j(v) exp(ψ/ρ − m_ji(u) − m_ij(v)), by log messages (2M, K)."""
    fields = nodes.copy()
    for e, (i, j) in enumerate(ends.tolist()):
        fields[j] += appearance[e] * messages[2 * e]
        fields[i] += appearance[e] * messages[2 * e + 1]
    sums = _log_sum(fields, axis=1)
    node_probs = np.exp(fields - sums[:, None])
    edge_probs, edge_total = np.empty_like(edges), 0.0
    for e, (i, j) in enumerate(ends.tolist()):
        both = edges[e] / appearance[e] - messages[2 * e + 1][:, None] - messages[2 * e]
        joint = np.outer(node_probs[i], node_probs[j]) * np.exp(both)
        edge_probs[e] = joint / joint.sum()
        edge_total += appearance[e] * float(np.log(joint.sum()))
    return Beliefs(node_probs, edge_probs, float(sums.sum()), edge_total)


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


class Chain(NamedTuple):
    """A path through a graph: its weight among all, its nodes (L,) and its edges (L − 1,), in order."""

    weight: float
    nodes: list[int]
    edges: list[int]


def split_into_chains(n_nodes: int, ends: IndexArray, appearance: FloatArray, rank: IndexArray) -> list[Chain]:
    """Chains along which the rank (n,) of the nodes rises, and which hold each edge with its weight in all.

    A chain goes on as long as there is an edge to go along, so that those through one node hold no more than what
    arrives or leaves, whichever is more. That must be 1 at most; nodes by themselves make up the rest.
    """
    left = appearance.astype(np.float64).copy()
    tail, head = np.take_along_axis(ends, np.argsort(rank[ends], axis=1), axis=1).T
    chains = []
    inside = np.zeros(n_nodes)
    while (left > 1e-12).any():
        edges = [int(np.argmax(left > 1e-12))]
        while (on := np.flatnonzero((left > 1e-12) & (tail == head[edges[-1]]))).size:
            edges.append(int(on[0]))
        while (on := np.flatnonzero((left > 1e-12) & (head == tail[edges[0]]))).size:
            edges.insert(0, int(on[0]))
        weight = float(left[edges].min())
        left[edges] -= weight
        nodes = [int(tail[edges[0]]), *(int(head[e]) for e in edges)]
        inside[nodes] += weight
        chains.append(Chain(weight, nodes, edges))
    return chains + [Chain(1.0 - x, [i], []) for i, x in enumerate(inside) if x < 1.0 - 1e-12]


def agree_on_nodes(
    nodes: FloatArray, edges: FloatArray, ends: IndexArray, chains: list[Chain], visits: list[int]
) -> tuple[list[float], list[FloatArray]]:
    """The bound Σ_T w_T log Z_T ≥ log Z of chains whose scores add up to those of the graph, after each visit.

    nodes (n, K), edges (M, K, K): the scores of a chain that has the node or the edge; Σ_T w_T of a node is 1, so that
    nodes are those of the graph at first, and edges those of the graph over their weights. A visit of node i moves its
    scores between the chains that have it until these agree on its probabilities, which are then proportional to the
    geometric mean of what they were: the best that scores of this node can do. Returns the bounds, and the
    probabilities (n_visits, K) that each visit left.
    """
    own = [nodes[chain.nodes].copy() for chain in chains]
    bounds, left = [], []
    for i in visits:
        places = {t: chain.nodes.index(i) for t, chain in enumerate(chains) if i in chain.nodes}
        found = {t: _chain_sums(chains[t], own[t], edges, ends)[1][place] for t, place in places.items()}
        mean = sum(chains[t].weight * np.log(probs) for t, probs in found.items())
        for t, place in places.items():
            own[t][place] += mean - np.log(found[t])
        bounds.append(sum(chain.weight * _chain_sums(chain, own[t], edges, ends)[0] for t, chain in enumerate(chains)))
        left.append(np.exp(mean - _log_sum(mean, axis=0)))
    return bounds, left


def _chain_sums(chain: Chain, own: FloatArray, edges: FloatArray, ends: IndexArray) -> tuple[float, FloatArray]:
    """log Z and node_probs (L, K) of a chain with the node scores `own` (L, K)."""
    tables = [edges[e] if ends[e, 0] == i else edges[e].T for e, i in zip(chain.edges, chain.nodes)]
    alpha, beta = own.copy(), np.zeros_like(own)
    for t, table in enumerate(tables):
        alpha[t + 1] += _log_sum(alpha[t][:, None] + table, axis=0)
    for t in range(len(tables) - 1, -1, -1):
        beta[t] = _log_sum(tables[t] + own[t + 1] + beta[t + 1], axis=1)
    log_partition = float(_log_sum(alpha[-1], axis=0))
    return log_partition, np.exp(alpha + beta - log_partition)


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


def pseudo_likelihood(
    nodes: FloatArray, edges: FloatArray, ends: IndexArray, labels: IndexArray, weights: FloatArray
) -> float:
    """−Σ_i w_i log P(y_i | labels of the neighbours) over labelled nodes; one without a label (−1) is no neighbour."""
    loss = 0.0
    for i in np.flatnonzero(labels >= 0):
        field = nodes[i].copy()
        for e, (tail, head) in enumerate(ends.tolist()):
            if tail == i and labels[head] >= 0:
                field += edges[e][:, labels[head]]
            elif head == i and labels[tail] >= 0:
                field += edges[e][labels[tail]]
        loss += weights[i] * float(_log_sum(field, axis=0) - field[labels[i]])
    return loss


def _log_sum(scores: FloatArray, axis: int) -> FloatArray:
    top = scores.max(axis=axis, keepdims=True)
    total: FloatArray = np.log(np.exp(scores - top).sum(axis=axis)) + top.squeeze(axis)
    return total


def _entropy(probs: FloatArray) -> float:
    return -float((probs * np.log(np.maximum(probs, 1e-300))).sum())
