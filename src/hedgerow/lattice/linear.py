"""Linear scores: the values of a node are weights times its features, and those of an edge likewise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hedgerow.lattice import kernels
from hedgerow.lattice.corpus import Corpus
from hedgerow.lattice.forms import Form
from hedgerow.lattice.potentials import Potentials
from hedgerow.legend import CODE, CodeArray, FloatArray


@dataclass(frozen=True, eq=False)
class Scaling:
    """Features as linear scores read them: (x − center) / spread of nodes, x / spread of edges.

    A difference of 0 between neighbours means something, so edge features are not moved.
    """

    node_center: FloatArray
    node_spread: FloatArray
    edge_spread: FloatArray

    @classmethod
    def learn(cls, corpus: Corpus, *, standardize: bool) -> Scaling:
        F, E = corpus.nodes.shape[1], corpus.edges.shape[1]
        if not standardize:
            return cls(np.zeros(F), np.ones(F), np.ones(E))
        squares = np.sqrt((corpus.edges**2).mean(axis=0)) if len(corpus.edges) else np.ones(E)
        return cls(corpus.nodes.mean(axis=0), _not_zero(corpus.nodes.std(axis=0)), _not_zero(squares))


def _not_zero(spread: FloatArray) -> FloatArray:
    return np.where(spread > 1e-12, spread, 1.0)


@dataclass(frozen=True, eq=False)
class Layout:
    """Where the weights stand in one vector: nodes (1 + F, P), then edges (D, 1 + E, Q); D directions of edges.

    The first feature of nodes and of edges is 1.
    """

    form: Form
    n_node_features: int
    n_edge_features: int
    n_directions: int

    def same_as(self, other: Layout) -> bool:
        """Whether weights of the one are weights of the other."""
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
    """The features of a corpus as rows for linear scores, with the constant 1 in front."""

    def __init__(self, layout: Layout, scaling: Scaling, corpus: Corpus) -> None:
        self.layout = layout
        self.corpus = corpus
        scaled = (corpus.nodes - scaling.node_center) / scaling.node_spread
        self.node_rows = np.column_stack([np.ones(len(scaled)), scaled])
        self.edge_rows = np.column_stack([np.ones(len(corpus.edges)), corpus.edges / scaling.edge_spread])
        tied = layout.n_directions == 1
        self.groups: CodeArray = np.zeros_like(corpus.directions) if tied else corpus.directions
        self._one: CodeArray = np.zeros(len(scaled), dtype=CODE)
        self._shared = tied and layout.n_edge_features == 0

    def potentials(self, i: int, weights: FloatArray) -> Potentials:
        """The scores of graph i."""
        form, nodes, edges = self.layout.form, self.corpus.nodes_of(i), self.corpus.edges_of(i)
        node_weights, edge_weights = self.layout.split(weights)
        topology = self.corpus.topologies[i]
        node_scores = form.node_scores(_score(self.node_rows[nodes], node_weights, self._one[nodes]))
        if self._shared:  # one table for all edges
            return Potentials(topology, node_scores, form.edge_scores(edge_weights[0]))
        values = _score(self.edge_rows[edges], edge_weights, self.groups[edges])
        return Potentials(topology, node_scores, form.edge_scores(values))

    def pull(self, i: int, node_gradient: FloatArray, edge_gradient: FloatArray, gradient: FloatArray) -> None:
        """Add the gradient by the scores of graph i to that by the weights."""
        form, nodes, edges = self.layout.form, self.corpus.nodes_of(i), self.corpus.edges_of(i)
        own = kernels.scores
        node_part, edge_part = self.layout.split(gradient)
        own.pull(self.node_rows[nodes], form.node_values(node_gradient), self._one[nodes], node_part)
        own.pull(self.edge_rows[edges], form.edge_values(edge_gradient), self.groups[edges], edge_part)


def _score(rows: FloatArray, tables: FloatArray, group: CodeArray) -> FloatArray:
    result: FloatArray = np.empty((len(rows), tables.shape[2]))
    kernels.scores.times(rows, tables, group, result)
    return result
