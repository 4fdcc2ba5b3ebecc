"""Covariances along a direction: by their definition over all labelings, and by the complex step.

The complex step (004, formula 12) reads a derivative off the imaginary part of a function at x + iε·direction: nothing
is subtracted, so ε may be tiny and the result has all digits. It needs a forward-backward pass for complex scores.
"""

from __future__ import annotations

import numpy as np

from hedgerow.legend import AnyArray, FloatArray
from tests.reference.chain import labelings, score, sequences
from tests.reference.objectives import Table, loss_and_gradient

_STEP = 1e-40


def covariance(
    node: FloatArray, edges: FloatArray, offsets: AnyArray, node_direction: FloatArray, edge_direction: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Cov(indicator, S) for the nodes (n, K) and for the edges, shaped as those; S is the score of a labeling by the
    directions in place of the scores."""
    K = node.shape[1]
    found: list[FloatArray] = []
    for begin, end in sequences(offsets):
        rows = slice(begin, end)
        local = edge_direction if edges.ndim == 2 else edge_direction[:, rows]
        span = np.array([0, end - begin])
        found.append(np.array([score(node_direction[rows], local, span, y)[0] for y in labelings(K, end - begin)]))
    sums = iter(found)

    def rule(table: Table) -> tuple[float, FloatArray]:
        along = next(sums)
        mean = float((table.probs * along).sum())
        return mean, table.probs * (along - mean)

    _, nodes, pairs = loss_and_gradient(rule, node, edges, offsets, np.zeros(len(node), dtype=int))
    return nodes, pairs


def complex_marginals(node: AnyArray, edges: AnyArray, offsets: AnyArray) -> tuple[AnyArray, AnyArray]:
    """P_t(v), (n, K), and P_t(u, v), (K, n, K), of real or complex scores, by scaled messages."""
    n, K = node.shape
    nodes, pairs = np.zeros((n, K), dtype=node.dtype), np.zeros((K, n, K), dtype=node.dtype)
    for begin, end in sequences(offsets):
        alpha, beta = np.exp(node[begin:end]), np.ones((end - begin, K), dtype=node.dtype)
        alpha[0] /= alpha[0].sum()
        steps = [np.exp((edges if edges.ndim == 2 else edges[:, t].T) + node[t]) for t in range(begin, end)]
        for t in range(1, end - begin):
            alpha[t] = alpha[t - 1] @ steps[t]
            alpha[t] /= alpha[t].sum()
        for t in range(end - begin - 1, 0, -1):
            beta[t - 1] = steps[t] @ beta[t]
            beta[t - 1] /= beta[t - 1].sum()
        for t in range(end - begin):
            nodes[begin + t] = alpha[t] * beta[t] / (alpha[t] * beta[t]).sum()
        for t in range(1, end - begin):
            both = alpha[t - 1][:, None] * steps[t] * beta[t]
            pairs[:, begin + t] = (both / both.sum()).T
    return nodes, pairs


def complex_step(
    node: FloatArray, edges: FloatArray, offsets: AnyArray, node_direction: FloatArray, edge_direction: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """The derivatives of all marginals along a direction, (n, K) and (K, n, K): (12), Im P(x + iε·direction) / ε."""
    moved = node + 1j * _STEP * node_direction, edges + 1j * _STEP * edge_direction
    nodes, pairs = complex_marginals(*moved, offsets)
    return nodes.imag / _STEP, pairs.imag / _STEP
