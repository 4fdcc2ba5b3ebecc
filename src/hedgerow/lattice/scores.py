"""The scores of a graph: of each label at each node, and of each pair of labels along each edge; and linear ones.

A node or an edge has a few values, and each is multiplied with a table of label scores (`Form`). Linear values are
weights times features (`Design`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hedgerow.data.derived import standard
from hedgerow.errors import InputError
from hedgerow.lattice import kernels
from hedgerow.lattice.dataset import GraphDataset
from hedgerow.lattice.graphs import Topology
from hedgerow.legend import CODE, UNLABELLED, CodeArray, FloatArray

FORMS = ("full", "symmetric", "ising")


@dataclass(frozen=True, eq=False)
class Potentials:
    """node_scores (n, K), −inf where a label is impossible; edge_scores (M, K, K) [tail, head], or (1, K, K) for all.

    Edge scores are finite: no pair of labels is impossible.
    """

    topology: Topology
    node_scores: FloatArray
    edge_scores: FloatArray

    def __post_init__(self) -> None:
        n, M, K = self.topology.n_nodes, self.topology.n_edges, self.n_labels
        if self.node_scores.shape != (n, K) or self.edge_scores.shape not in ((M, K, K), (1, K, K)):
            shapes = f"{self.node_scores.shape} and {self.edge_scores.shape}"
            raise InputError(f"scores of the shapes {shapes} do not fit {n} nodes and {M} edges")

    @property
    def n_labels(self) -> int:
        return int(self.node_scores.shape[1])

    def score(self, labels: CodeArray) -> float:
        """The score of a labeling (n,)."""
        return float(kernels.search.labeling_score(self.node_scores, self.edge_scores, self.topology.ends, labels))

    def restrict(self, labels: CodeArray) -> Potentials:
        """The same with every label but the given one impossible, where one is given (n,)."""
        scores = self.node_scores.copy()
        known = labels != UNLABELLED
        scores[known] = -np.inf
        scores[known, labels[known]] = self.node_scores[known, labels[known]]
        return Potentials(self.topology, scores, self.edge_scores)


@dataclass(frozen=True, eq=False)
class Form:
    """node_tables (P, K) and edge_tables (Q, K, K): scores are Σ_p value_p · table_p.

    "full" gives every label, and every pair of labels along a directed edge, a value of its own. "symmetric" takes
    pairs as not ordered. "ising" has one value per edge, added where the two labels agree and subtracted where they do
    not, and with two labels also one per node, subtracted for the first label and added for the second: y·value with
    y = ±1.
    """

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
        return values if len(self.node_tables) == self.n_labels else _times(values, self.node_tables[None])

    def node_values(self, gradient: FloatArray) -> FloatArray:
        """The gradient by the values (n, P), from that by the scores (n, K)."""
        if len(self.node_tables) == self.n_labels:
            return np.ascontiguousarray(gradient)
        return _times(np.ascontiguousarray(gradient), np.ascontiguousarray(self.node_tables.T)[None])

    def edge_scores(self, values: FloatArray) -> FloatArray:
        """(M, K, K) from values (M, Q)."""
        K = self.n_labels
        return _times(values, self.edge_tables.reshape(1, -1, K * K)).reshape(-1, K, K)

    def edge_values(self, gradient: FloatArray) -> FloatArray:
        """The gradient by the values (M, Q), from that by the scores (M, K, K)."""
        K = self.n_labels
        tables = np.ascontiguousarray(self.edge_tables.reshape(-1, K * K).T)
        return _times(np.ascontiguousarray(gradient.reshape(-1, K * K)), tables[None])

    def equal_labels(self, strength: float) -> FloatArray:
        """(Q,): the values of an edge that adds `strength` to equal labels and subtracts it from different ones, as
        near as the form comes to it."""
        return self._nearest(self.edge_tables, strength * (2.0 * np.eye(self.n_labels) - 1.0))

    def nearest_values(self, scores: FloatArray) -> FloatArray:
        """(P,): the values of a node whose scores are these (K,), as near as the form comes to it."""
        return self._nearest(self.node_tables, scores)

    @staticmethod
    def _nearest(tables: FloatArray, scores: FloatArray) -> FloatArray:
        axes = tuple(range(1, tables.ndim))
        values: FloatArray = (tables * scores).sum(axis=axes) / (tables**2).sum(axis=axes)
        return values


def _times(rows: FloatArray, tables: FloatArray, group: CodeArray | None = None) -> FloatArray:
    """rows (n, F) · tables[group] (G, F, P), in one order of sums; the first table for all where there is no group."""
    result: FloatArray = np.empty((len(rows), tables.shape[2]))
    kernels.scores.times(rows, tables, np.zeros(len(rows), dtype=CODE) if group is None else group, result)
    return result


@dataclass(frozen=True, eq=False)
class Scaling:
    """Features as linear scores read them: (x − center) / spread of nodes, x / spread of edges.

    A difference of 0 between neighbours means something, so edge features are not moved.
    """

    node_center: FloatArray
    node_spread: FloatArray
    edge_spread: FloatArray

    @classmethod
    def learn(cls, dataset: GraphDataset, *, standardize: bool) -> Scaling:
        nodes, edges = dataset.nodes, dataset.edges
        F, E = nodes.shape[1], edges.shape[1]
        if not standardize:
            return cls(np.zeros(F), np.ones(F), np.ones(E))
        of_nodes, of_edges = dataset.spread_weights() or (None, None)
        centers, spreads = zip(*(standard(column, of_nodes) for column in nodes.T)) if F else ((), ())
        squares = np.ones(E)
        if edges.size:
            largest = np.abs(edges).max(axis=0)
            unit = np.where(largest > 1e150, largest, 1.0)  # whose square is no number
            squares = np.sqrt(np.average((edges / unit) ** 2, axis=0, weights=of_edges)) * unit
        return cls(np.array(centers), np.array(spreads), np.where(squares > 1e-12, squares, 1.0))


@dataclass(frozen=True, eq=False)
class Layout:
    """Where the weights stand in one vector: nodes (1 + F, P), then edges (D, 1 + E, Q); D directions of edges.

    The first feature of nodes and of edges is 1.
    """

    form: Form
    n_node_features: int
    n_edge_features: int
    n_directions: int

    @classmethod
    def of(cls, form: Form, dataset: GraphDataset, *, directions: str) -> Layout:
        """The layout for some graphs, whose directions of edges have the same weights ("tied") or "separate" ones."""
        separate = directions == "separate" and len(dataset.directions) > 0
        n_directions = int(dataset.directions.max()) + 1 if separate else 1
        return cls(form, dataset.nodes.shape[1], dataset.edges.shape[1], n_directions)

    def same_as(self, other: Layout) -> bool:
        """Whether a vector of weights means the same in both layouts."""
        shapes = self.node_shape == other.node_shape and self.edge_shape == other.edge_shape
        return shapes and np.array_equal(self.form.edge_tables, other.form.edge_tables)

    @property
    def node_shape(self) -> tuple[int, int, int]:
        return 1, 1 + self.n_node_features, len(self.form.node_tables)

    @property
    def edge_shape(self) -> tuple[int, int, int]:
        return self.n_directions, 1 + self.n_edge_features, len(self.form.edge_tables)

    @property
    def n_node_weights(self) -> int:
        return int(np.prod(self.node_shape))

    @property
    def n_weights(self) -> int:
        return self.n_node_weights + int(np.prod(self.edge_shape))

    def split(self, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The weights of nodes (1, 1 + F, P) and of edges (D, 1 + E, Q): views of the vector."""
        n = self.n_node_weights
        return weights[:n].reshape(self.node_shape), weights[n:].reshape(self.edge_shape)


class Design:
    """The features of graphs as rows for linear scores, with the constant 1 in front."""

    def __init__(self, layout: Layout, scaling: Scaling, dataset: GraphDataset) -> None:
        self.layout = layout
        self.dataset = dataset
        scaled = (dataset.nodes - scaling.node_center) / scaling.node_spread
        self.node_rows = np.column_stack([np.ones(len(scaled)), scaled])
        self.edge_rows = np.column_stack([np.ones(len(dataset.edges)), dataset.edges / scaling.edge_spread])
        tied = layout.n_directions == 1
        self.groups: CodeArray = np.zeros_like(dataset.directions) if tied else dataset.directions
        self._one: CodeArray = np.zeros(len(scaled), dtype=CODE)
        self._shared = tied and layout.n_edge_features == 0

    def potentials(self, i: int, weights: FloatArray) -> Potentials:
        """The scores of graph i."""
        form, nodes, edges = self.layout.form, self.dataset.node_slices[i], self.dataset.edge_slices[i]
        node_weights, edge_weights = self.layout.split(weights)
        node_scores = form.node_scores(_times(self.node_rows[nodes], node_weights, self._one[nodes]))
        values = edge_weights[0]  # one table for all edges
        if not self._shared:
            values = _times(self.edge_rows[edges], edge_weights, self.groups[edges])
        return Potentials(self.dataset.topologies[i], node_scores, form.edge_scores(values))

    def pull(self, i: int, node_gradient: FloatArray, edge_gradient: FloatArray, gradient: FloatArray) -> None:
        """Add the gradient by the scores of graph i to that by the weights."""
        nodes, edges = self.dataset.node_slices[i], self.dataset.edge_slices[i]
        by_nodes, by_edges = self.layout.form.node_values(node_gradient), self.layout.form.edge_values(edge_gradient)
        node_part, edge_part = self.layout.split(gradient)
        kernels.scores.pull(self.node_rows[nodes], by_nodes, self._one[nodes], node_part)
        kernels.scores.pull(self.edge_rows[edges], by_edges, self.groups[edges], edge_part)
