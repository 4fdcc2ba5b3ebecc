"""Boosted scores: in each iteration a tree for each value of nodes and of edges, fitted to the gradient by it."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from hedgerow.lattice.corpus import Corpus
from hedgerow.lattice.forms import Form
from hedgerow.lattice.objectives import Objective
from hedgerow.lattice.potentials import Potentials
from hedgerow.lattice.tree_rows import RowGrower, bin_rows, learn_rows, tree_values
from hedgerow.legend import FloatArray
from hedgerow.parallel import Lanes
from hedgerow.training.boosting.rows import tree_seed
from hedgerow.training.monitor import Monitor
from hedgerow.trees.binning import Binning
from hedgerow.trees.growing import Tree

MAX_HALVINGS = 10  # beyond them a step moves nothing: the trees are dropped


class Bins(NamedTuple):
    """How the features of nodes and of edges become bins."""

    nodes: Binning
    edges: Binning

    @classmethod
    def learn(cls, corpus: Corpus, max_bins: int) -> Bins:
        return cls(learn_rows(corpus.nodes, max_bins), learn_rows(edge_rows(corpus), max_bins))


def edge_rows(corpus: Corpus) -> FloatArray:
    """The features of edges, and their direction as one more."""
    return np.column_stack([corpus.edges, corpus.directions.astype(np.float64)])


class Iteration(NamedTuple):
    """The trees of one iteration, a value each."""

    nodes: list[Tree]
    edges: list[Tree]

    def scaled(self, factor: float) -> Iteration:
        return Iteration([tree.scaled(factor) for tree in self.nodes], [tree.scaled(factor) for tree in self.edges])


class Values:
    """The values of the nodes (N, P) and edges (M, Q) of a corpus, to which trees are added."""

    def __init__(self, form: Form, corpus: Corpus, nodes: FloatArray, edges: FloatArray) -> None:
        self.form, self.corpus = form, corpus
        self.nodes, self.edges = nodes, edges

    def potentials(self, i: int) -> Potentials:
        nodes = self.form.node_scores(np.ascontiguousarray(self.nodes[self.corpus.nodes_of(i)]))
        edges = self.form.edge_scores(np.ascontiguousarray(self.edges[self.corpus.edges_of(i)]))
        return Potentials(self.corpus.topologies[i], nodes, edges)


class TreeScorer:
    """Adds trees to the values of a corpus by the bins of its features."""

    def __init__(self, bins: Bins, values: Values) -> None:
        self.values = values
        corpus = values.corpus
        self._node_data = bin_rows(bins.nodes, corpus.nodes, growing=False)
        self._edge_data = bin_rows(bins.edges, edge_rows(corpus), growing=False) if len(corpus.edges) else None

    def add(self, iterations: Sequence[Iteration]) -> None:
        tree_values(self._node_data, [tree for one in iterations for tree in one.nodes], self.values.nodes)
        if self._edge_data is not None:
            tree_values(self._edge_data, [tree for one in iterations for tree in one.edges], self.values.edges)


class Booster:
    """The state of boosting on one corpus. Use inside `with Lanes(...)`.

    iterations : what was added to the values, the first iteration first
    unconverged : the graphs on which the last evaluation did not come to rest
    """

    def __init__(
        self,
        values: Values,
        bins: Bins,
        objective: Objective,
        lanes: Lanes,
        *,
        learning_rate: float,
        seed: int,
        **options: Any,
    ) -> None:
        corpus = values.corpus
        assert corpus.labels is not None
        self.values, self.objective, self.lanes = values, objective, lanes
        self.labels = corpus.labels
        self.learning_rate, self.seed = learning_rate, seed
        self.iterations: list[Iteration] = []
        self.scale = 0.0
        self._draws = options["max_features"] < 1.0
        self._has_edges = len(corpus.edges) > 0
        weights = corpus.spread_weights() or (None, None)
        self._node_growers = _growers(bins.nodes, corpus.nodes, weights[0], lanes, options)
        self._edge_growers: deque[RowGrower] = deque()
        if self._has_edges:
            self._edge_growers = _growers(bins.edges, edge_rows(corpus), weights[1], lanes, options)
        self._direction = Iteration([], [])
        self._added: tuple[list[FloatArray], list[FloatArray]] = [], []
        n = corpus.n_graphs
        self._losses: FloatArray = np.zeros(n)
        self._states: list[tuple[FloatArray, ...]] = [()] * n
        self._rested = [True] * n
        self._node_gradient: FloatArray = np.zeros_like(values.nodes)
        self._edge_gradient: FloatArray = np.zeros_like(values.edges)

    @property
    def unconverged(self) -> int:
        return self._rested.count(False)

    def evaluate(self) -> float:
        """The loss, and its gradient by every value."""
        corpus, form = self.values.corpus, self.values.form

        def work(lane: int, i: int) -> None:
            own = corpus.nodes_of(i)
            given = self.values.potentials(i), self.labels[own], self._states[i]
            found = self.objective(*given, *corpus.weights_of(i))
            weight = 1.0 if corpus.weights is None else float(corpus.weights[i])
            self._losses[i], self._states[i], self._rested[i] = weight * found.loss, found.states, found.converged
            self._node_gradient[own] = weight * form.node_values(found.node_gradient)
            self._edge_gradient[corpus.edges_of(i)] = weight * form.edge_values(found.edge_gradient)

        self.lanes.run(work, corpus.n_graphs)
        return float(self._losses.sum())

    def step(self) -> Iteration:
        """Grow trees to the gradient that `evaluate` left and add them, times the learning rate."""
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
        self._direction = Iteration(trees[:P], trees[P:])
        self.scale = 0.0
        self.iterations.append(self._direction)
        self.rescale(self.learning_rate)
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
    """Growers on the rows of all graphs, one a thread."""
    data = bin_rows(binning, rows, growing=True)
    return deque(RowGrower(binning, data, weights, **options) for _ in range(lanes.n_threads))


def boost(booster: Booster, monitor: Monitor, scorer: TreeScorer | None) -> None:
    """Add iterations until the monitor says stop. A step that raises the loss is halved until it does not.

    scorer : of the held-out graphs, which the monitor validates on
    """
    loss = booster.evaluate()
    done = monitor.begin(loss)
    while not done:
        before = loss
        booster.step()
        loss = booster.evaluate()
        for _ in range(MAX_HALVINGS):
            if loss <= before:
                break
            booster.rescale(booster.scale / 2.0)
            loss = booster.evaluate()
        else:
            if loss > before:
                booster.rescale(0.0)
                loss = booster.evaluate()
        if scorer is not None:
            scorer.add(booster.iterations[-1:])
        done = monitor.step(loss)
