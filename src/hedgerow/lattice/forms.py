"""Tables of label scores: a node or an edge has a few values, and each is multiplied with a table.

"full" gives every label, and every pair of labels along a directed edge, a value of its own. "symmetric" takes pairs as
not ordered. "ising" has one value an edge, added where the two labels agree and subtracted where they do not, and with
two labels also one a node, subtracted for the first label and added for the second: y·value with y = ±1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hedgerow.lattice import kernels
from hedgerow.legend import CODE, FloatArray

FORMS = ("full", "symmetric", "ising")


@dataclass(frozen=True, eq=False)
class Form:
    """node_tables (P, K) and edge_tables (Q, K, K): scores are Σ_p value_p · table_p."""

    node_tables: FloatArray
    edge_tables: FloatArray

    @classmethod
    def of(cls, name: str, n_labels: int) -> Form:
        K = n_labels
        nodes: FloatArray = np.eye(K)
        if name == "full":
            edges: FloatArray = np.eye(K * K).reshape(K * K, K, K)
        elif name == "symmetric":
            pairs = [(u, v) for u in range(K) for v in range(u, K)]
            edges = np.zeros((len(pairs), K, K))
            for q, (u, v) in enumerate(pairs):
                edges[q, u, v] = edges[q, v, u] = 1.0
        else:
            edges = (2.0 * np.eye(K) - 1.0)[None]
            nodes = np.array([[-1.0, 1.0]]) if K == 2 else nodes
        return cls(nodes, np.ascontiguousarray(edges))

    @property
    def n_labels(self) -> int:
        return int(self.node_tables.shape[1])

    def node_scores(self, values: FloatArray) -> FloatArray:
        """(n, K) from values (n, P)."""
        return values if len(self.node_tables) == self.n_labels else _times(values, self.node_tables)

    def node_values(self, gradient: FloatArray) -> FloatArray:
        """The gradient by the values (n, P), from that by the scores (n, K)."""
        if len(self.node_tables) == self.n_labels:
            return np.ascontiguousarray(gradient)
        return _times(np.ascontiguousarray(gradient), np.ascontiguousarray(self.node_tables.T))

    def edge_scores(self, values: FloatArray) -> FloatArray:
        """(M, K, K) from values (M, Q)."""
        K = self.n_labels
        return _times(values, self.edge_tables.reshape(-1, K * K)).reshape(-1, K, K)

    def edge_values(self, gradient: FloatArray) -> FloatArray:
        """The gradient by the values (M, Q), from that by the scores (M, K, K)."""
        K = self.n_labels
        tables = np.ascontiguousarray(self.edge_tables.reshape(-1, K * K).T)
        return _times(np.ascontiguousarray(gradient.reshape(-1, K * K)), tables)

    def equal_labels(self, strength: float) -> FloatArray:
        """(Q,): the values of an edge that adds `strength` to equal labels and subtracts it from different ones, as
        near as the form comes to it."""
        K = self.n_labels
        wanted = strength * (2.0 * np.eye(K) - 1.0)
        tables = self.edge_tables
        found: FloatArray = (tables * wanted).sum(axis=(1, 2)) / (tables**2).sum(axis=(1, 2))
        return found


def _times(rows: FloatArray, table: FloatArray) -> FloatArray:
    """rows · table, in one order of sums."""
    result: FloatArray = np.empty((len(rows), table.shape[1]))
    kernels.scores.times(rows, table[None], np.zeros(len(rows), dtype=CODE), result)
    return result
