"""The gradient of labelwise losses as 003 has it: the recursions (16)–(22) for α*, β*, then the quotient rule.

The numbers of formulas are the paper's; its positions j run from 1, here from 0, and its f(i', i, x, j) are the node
and the edge scores. Nothing is scaled: for short sequences and small scores.
"""

from __future__ import annotations

import numpy as np

from hedgerow.legend import AnyArray, FloatArray
from tests.reference.chain import sequences, table


def forward(node: FloatArray, edges: FloatArray) -> FloatArray:
    """(13): α(i, j) of one sequence, (T, K)."""
    alpha = np.exp(node)
    for j in range(1, len(node)):
        alpha[j] = (alpha[j - 1][:, None] * np.exp(table(edges, j) + node[j])).sum(axis=0)
    return alpha


def backward(node: FloatArray, edges: FloatArray) -> FloatArray:
    """(14): β(i, j) of one sequence, (T, K)."""
    beta = np.ones(node.shape)
    for j in range(len(node) - 1, 0, -1):
        beta[j - 1] = (np.exp(table(edges, j) + node[j]) * beta[j]).sum(axis=1)
    return beta


def starred(
    node: FloatArray, edges: FloatArray, target: AnyArray, slopes: FloatArray
) -> tuple[float, FloatArray, FloatArray]:
    """Σ_k Q'_k P(y_k = y*_k), and (15) divided by Z, for every node (T, K) and edge (K, T, K), of one sequence.

    target (T,): y*; slopes (T,): Q'. The first position has no edges.
    """
    T, K = node.shape
    alpha, beta = forward(node, edges), backward(node, edges)
    is_target = (np.arange(K) == np.asarray(target)[:, None]) * slopes[:, None]
    alpha_star, beta_star = np.zeros((T, K)), np.zeros((T, K))
    alpha_star[0] = is_target[0] * alpha[0]
    for j in range(1, T):  # (18)
        step = np.exp(table(edges, j) + node[j])
        alpha_star[j] = ((alpha_star[j - 1][:, None] + is_target[j] * alpha[j - 1][:, None]) * step).sum(axis=0)
    for j in range(T - 2, -1, -1):  # (19)
        step = np.exp(table(edges, j + 1) + node[j + 1])
        beta_star[j] = ((beta_star[j + 1] + is_target[j + 1] * beta[j + 1]) * step).sum(axis=1)
    z = alpha[-1].sum()
    nodes, pairs = np.zeros((T, K)), np.zeros((K, T, K))
    nodes[0] = (alpha_star[0] * beta[0] + alpha[0] * beta_star[0]) / z
    for j in range(1, T):  # (20)
        step = np.exp(table(edges, j) + node[j])
        a = alpha_star[j - 1][:, None] * beta[j] + alpha[j - 1][:, None] * beta_star[j]  # (21)
        b = is_target[j] * alpha[j - 1][:, None] * beta[j]  # (22)
        pairs[:, j] = (step * (a + b) / z).T
        nodes[j] = pairs[:, j].sum(axis=1)
    return float((is_target * alpha * beta).sum() / z), nodes, pairs


def gradient(
    node: FloatArray, edges: FloatArray, offsets: AnyArray, target: AnyArray, slopes: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """The gradient of Σ_k Q'_k P_k(y*_k) of a chunk, Q' held fixed: nodes (n, K) and edges (K, n, K).

    The quotient rule for N / Z: (15) / Z, less P times N / Z.
    """
    n, K = node.shape
    nodes, pairs = np.zeros((n, K)), np.zeros((K, n, K))
    for begin, end in sequences(offsets):
        rows = slice(begin, end)
        local = edges if edges.ndim == 2 else edges[:, rows]
        total, own_nodes, own_pairs = starred(node[rows], local, target[rows], slopes[rows])
        alpha, beta = forward(node[rows], local), backward(node[rows], local)
        z = alpha[-1].sum()
        nodes[rows] = own_nodes - total * alpha * beta / z
        for j in range(1, end - begin):
            step = np.exp(table(local, j) + node[begin + j])
            probs = alpha[j - 1][:, None] * step * beta[j] / z
            pairs[:, begin + j] = own_pairs[:, j] - total * probs.T
    return nodes, pairs
