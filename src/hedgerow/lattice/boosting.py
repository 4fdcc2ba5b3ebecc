"""Boosted scores: in each iteration a tree for each value of nodes and of edges, fitted to the gradient by it."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from hedgerow.estimators.codec.steps import refuse
from hedgerow.estimators.codec.trees import plain_trees, trees_of
from hedgerow.lattice.dataset import GraphDataset
from hedgerow.lattice.objectives import Loss, States
from hedgerow.lattice.scores import Form, Potentials
from hedgerow.lattice.tree_rows import RowGrower, bin_rows, row_dataset, tree_values
from hedgerow.legend import FloatArray
from hedgerow.parallel import Lanes
from hedgerow.training.boosting.rows import tree_seed
from hedgerow.training.checkpoint import checked, restore, state_of
from hedgerow.trees.binning import Binning, learn_binning
from hedgerow.trees.growing import Tree


class Bins(NamedTuple):
    """How the features of nodes and of edges become bins."""

    nodes: Binning
    edges: Binning

    @classmethod
    def learn(cls, dataset: GraphDataset, max_bins: int) -> Bins:
        weights = dataset.spread_weights() or (None, None)
        both = zip((dataset.nodes, edge_rows(dataset)), weights)
        return cls(*(learn_binning(row_dataset(*own), max_bins) for own in both))


def edge_rows(dataset: GraphDataset) -> FloatArray:
    """The features of edges, and their direction as one more."""
    return np.column_stack([dataset.edges, dataset.directions.astype(np.float64)])


class GraphTrees(NamedTuple):
    """The trees of one iteration, one per value of a node and of an edge."""

    nodes: list[Tree]
    edges: list[Tree]

    def scaled(self, factor: float) -> GraphTrees:
        return GraphTrees([tree.scaled(factor) for tree in self.nodes], [tree.scaled(factor) for tree in self.edges])


class TreeValues:
    """The values of the nodes (N, P) and edges (M, Q) of graphs, to which trees are added."""

    KEPT: ClassVar[tuple[str, ...]] = ("nodes", "edges")

    def __init__(self, form: Form, dataset: GraphDataset, nodes: FloatArray, edges: FloatArray) -> None:
        self.form, self.dataset = form, dataset
        self.nodes, self.edges = nodes, edges

    @classmethod
    def start(cls, form: Form, dataset: GraphDataset, nodes: FloatArray) -> TreeValues:
        """The values before any tree: `nodes` (P,) at every node, 0 at every edge."""
        edges: FloatArray = np.zeros((len(dataset.edges), len(form.edge_tables)))
        return cls(form, dataset, np.tile(nodes, (len(dataset.nodes), 1)), edges)

    def potentials(self, i: int) -> Potentials:
        nodes = self.form.node_scores(np.ascontiguousarray(self.nodes[self.dataset.node_slices[i]]))
        edges = self.form.edge_scores(np.ascontiguousarray(self.edges[self.dataset.edge_slices[i]]))
        return Potentials(self.dataset.topologies[i], nodes, edges)


class TreeScorer:
    """Adds trees to the values of graphs by the bins of their features."""

    KEPT: ClassVar[tuple[str, ...]] = ("n_added", "values")

    def __init__(self, bins: Bins, values: TreeValues) -> None:
        self.values = values
        self.n_added = 0
        dataset = values.dataset
        self._node_data = bin_rows(bins.nodes, dataset.nodes, growing=False)
        self._edge_data = bin_rows(bins.edges, edge_rows(dataset), growing=False) if len(dataset.edges) else None

    def add(self, iterations: Sequence[GraphTrees]) -> None:
        """Add all trees of some iterations."""
        self.n_added += len(iterations)
        tree_values(self._node_data, [tree for one in iterations for tree in one.nodes], self.values.nodes)
        if self._edge_data is not None:
            tree_values(self._edge_data, [tree for one in iterations for tree in one.edges], self.values.edges)


class GraphBooster:
    """The state of boosting on graphs, as `training.boosting.line_search.Boosting` says. Use inside `with Lanes(...)`.

    iterations : those of an earlier fit, if any, which are added to the values; and then those of each step
    unconverged : the graphs on which inference did not converge in the last evaluation
    """

    KEPT: ClassVar[tuple[str, ...]] = ("scale", "_losses", "_states", "_node_gradient", "_edge_gradient")
    FORMS: ClassVar[dict[str, Any]] = {"_states": [[np.ndarray]]}

    def __init__(
        self,
        values: TreeValues,
        bins: Bins,
        lanes: Lanes,
        iterations: list[GraphTrees],
        *,
        learning_rate: float,
        seed: int,
        **options: Any,
    ) -> None:
        dataset = values.dataset
        assert dataset.labels is not None
        self.values, self.lanes = values, lanes
        self.labels = dataset.labels
        self.learning_rate, self.seed = learning_rate, seed
        self.iterations = iterations
        self._bins = bins
        if iterations:
            TreeScorer(bins, values).add(iterations)
        self.scale = 0.0
        self._draws = options["max_features"] < 1.0
        self._has_edges = len(dataset.edges) > 0
        weights = dataset.spread_weights() or (None, None)
        self._node_growers = _growers(bins.nodes, dataset.nodes, weights[0], lanes, options)
        self._edge_growers: deque[RowGrower] = deque()
        if self._has_edges:
            self._edge_growers = _growers(bins.edges, edge_rows(dataset), weights[1], lanes, options)
        self._direction = GraphTrees([], [])
        self._added: tuple[list[FloatArray], list[FloatArray]] = [], []
        n = len(dataset.topologies)
        self._losses: FloatArray = np.zeros(n)
        self._states: list[States] = [()] * n
        self._converged = [True] * n
        self._node_gradient: FloatArray = np.zeros_like(values.nodes)
        self._edge_gradient: FloatArray = np.zeros_like(values.edges)

    def state(self, ended: bool) -> dict[str, Any]:
        """What a checkpoint keeps; where training has ended, the iterations alone. Evaluating once more would begin
        with other messages: what the last evaluation left is kept, too."""
        node_trees = plain_trees(self.values.nodes.shape[1], [tree for one in self.iterations for tree in one.nodes])
        edge_trees = plain_trees(self.values.edges.shape[1], [tree for one in self.iterations for tree in one.edges])
        taken = {"trees": [node_trees, edge_trees], "converged": self._converged}
        return taken if ended else taken | state_of(self, self.KEPT) | state_of(self.values, self.values.KEPT)

    def restore(self, state: Any, objective: Any) -> None:
        """Go on from such a state."""
        P, Q = self.values.nodes.shape[1], self.values.edges.shape[1]
        nodes, edges = (
            trees_of(state["trees"][0], P, self._bins.nodes),
            trees_of(state["trees"][1], Q, self._bins.edges),
        )
        n = len(nodes) // P
        if len(edges) != (n * Q if self._has_edges else 0):
            refuse(f"{len(nodes)} trees of nodes and {len(edges)} of edges do not go together")
        Q = Q if self._has_edges else 0
        self.iterations[:] = [GraphTrees(nodes[P * i : P * (i + 1)], edges[Q * i : Q * (i + 1)]) for i in range(n)]
        self._converged = checked(state["converged"], (bool,) * len(self._converged), "converged")
        if "nodes" in state:
            restore(self, self.KEPT, state)
            restore(self.values, self.values.KEPT, state)

    @property
    def unconverged(self) -> int:
        return self._converged.count(False)

    def evaluate(self, objective: Loss) -> float:
        """The loss, and its gradient by every value."""
        dataset, form = self.values.dataset, self.values.form

        def work(lane: int, i: int) -> None:
            rows = dataset.node_slices[i]
            node_weights = None if dataset.node_weights is None else dataset.node_weights[rows]
            result = objective(self.values.potentials(i), self.labels[rows], self._states[i], node_weights)
            weight = 1.0 if dataset.weights is None else float(dataset.weights[i])
            self._losses[i], self._states[i] = weight * result.loss, result.states
            self._converged[i] = result.converged
            self._node_gradient[rows] = weight * form.node_values(result.node_gradient)
            self._edge_gradient[dataset.edge_slices[i]] = weight * form.edge_values(result.edge_gradient)

        self.lanes.run(work, len(self._losses))
        return float(self._losses.sum())

    def step(self, scale: float | None = None) -> GraphTrees:
        """Grow trees to the gradient that `evaluate` left and add them, times `scale`, or else the learning rate."""
        P, Q = self.values.nodes.shape[1], self.values.edges.shape[1] if self._has_edges else 0
        trees: list[Any] = [None] * (P + Q)
        added: list[Any] = [None] * (P + Q)

        def work(lane: int, j: int) -> None:
            growers, gradient = (
                (self._node_growers, self._node_gradient[:, j])
                if j < P
                else (self._edge_growers, self._edge_gradient[:, j - P])
            )
            grower = growers.pop()
            seed = tree_seed(self.seed, len(self.iterations), 0, j) if self._draws else 0
            trees[j], added[j] = grower.grow(np.ascontiguousarray(gradient), seed)
            growers.append(grower)

        self.lanes.run(work, P + Q)
        self._added = added[:P], added[P:]
        self._direction = GraphTrees(trees[:P], trees[P:])
        self.scale = 0.0
        self.iterations.append(self._direction)
        self.rescale(self.learning_rate if scale is None else scale)
        return self.iterations[-1]

    def rescale(self, scale: float) -> None:
        """Take another step in the direction of the last one, instead of it."""
        nodes, edges = self._added
        for values, columns in ((self.values.nodes, nodes), (self.values.edges, edges)):
            for j, column in enumerate(columns):
                values[:, j] += (scale - self.scale) * column
        self.scale = scale
        self.iterations[-1] = self._direction.scaled(scale)


def _growers(
    binning: Binning, rows: FloatArray, weights: FloatArray | None, lanes: Lanes, options: dict[str, Any]
) -> deque[RowGrower]:
    """Growers on the rows of all graphs, one per thread."""
    data = bin_rows(binning, rows, growing=True)
    return deque(RowGrower(data, weights, **options) for _ in range(lanes.n_threads))
