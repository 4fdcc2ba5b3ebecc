"""TreeLatticeCRF: a conditional random field on images and other graphs, whose scores are sums of regression trees."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from hedgerow.declarations import documented
from hedgerow.errors import InputError
from hedgerow.estimators.values import random_generator
from hedgerow.lattice.base import LatticeModel, Scores, TrainingGraphs
from hedgerow.lattice.boosting import Bins, GraphBooster, GraphTrees, TreeScorer, TreeValues
from hedgerow.lattice.dataset import GraphDataset
from hedgerow.lattice.parameters import TreeLatticeParameters
from hedgerow.lattice.scores import Form
from hedgerow.legend import FloatArray
from hedgerow.parallel import MAX_LANES, Lanes
from hedgerow.training.boosting.line_search import Phase, boost
from hedgerow.training.checkpoint import restore, state_of
from hedgerow.training.monitor import Monitor, Trained
from hedgerow.trees.ensemble import Ensemble

MAX_HALVINGS = 10  # of a step: beyond them it moves nothing, and its trees are dropped


@documented
class TreeLatticeCRF(TreeLatticeParameters, LatticeModel):
    """As LatticeCRF, with a sum of regression trees where that has weights: thresholds and conjunctions of features are
    found by themselves, and a feature may be missing (NaN).

    Each iteration fits a tree to the gradient of the loss by each value of a node (one per label) and of an edge (see
    `form`), over the nodes and edges of all items. Edges are split on their features and on their direction.

    Attributes
    ----------
    classes_ : array of labels, sorted
    node_trees_, edge_trees_ : Ensemble
    n_iter_, loss_, history_, best_iteration_, outcome_, converged_ : as in LatticeCRF
    """

    form_: Form
    start_values_: FloatArray
    bins_: Bins

    def _train(self, data: TrainingGraphs) -> tuple[Trained[list[GraphTrees]], int]:
        form = Form.of(self.form, len(data.labels))
        warm = self._previous(data, form)
        start = self.start_values_ if warm else _log_frequencies(data.train, form)
        bins = self.bins_ if warm else Bins.learn(data.train, self.max_bins)
        trained, unconverged = self._boost(data, form, start, bins, warm)
        P, Q = len(form.node_tables), len(form.edge_tables)
        self.node_trees_ = Ensemble.of(P, [tree for one in trained.learnt for tree in one.nodes])
        self.edge_trees_ = Ensemble.of(Q, [tree for one in trained.learnt for tree in one.edges])
        self.form_, self.start_values_, self.bins_ = form, start, bins
        return trained, unconverged

    def _complaint(self, trained: Trained[list[GraphTrees]], unconverged: int) -> str:
        if trained.outcome != "interrupted":
            return ""
        return f"training was interrupted after {trained.n_iter} iterations, which are kept"

    def _boost(
        self, data: TrainingGraphs, form: Form, start: FloatArray, bins: Bins, warm: list[GraphTrees]
    ) -> tuple[Trained[list[GraphTrees]], int]:
        """The iterations that are kept, with those of an earlier fit; and on how many graphs inference did not converge
        at the end."""
        iterations, validate = list(warm), None
        if data.held_out is not None:
            scorer = TreeScorer(bins, TreeValues.start(form, data.held_out, start))
            accuracy = partial(self._accuracy, data.held_out, scorer.values.potentials, warn=False)
            validate = Validation(scorer, iterations, accuracy)

        objective = self._objective(data)
        with (
            Lanes(self.n_jobs, MAX_LANES) as lanes,
            Monitor(
                max_iter=self.n_estimators - len(warm),
                tol=self.tol,
                validate=validate,
                n_iter_no_change=self.n_iter_no_change,
                verbose=int(self.verbose),
                previous=self.history_[: len(warm)] if warm else None,
            ) as monitor,
        ):
            booster = GraphBooster(
                TreeValues.start(form, data.train, start),
                bins,
                lanes,
                iterations,
                learning_rate=self.learning_rate,
                seed=int(random_generator(self.random_state).randint(2**31 - 1)),
                max_leaf_nodes=self.max_leaf_nodes,
                l2_regularization=self.l2_regularization,
                min_samples_leaf=self.min_samples_leaf,
                max_features=self.max_features,
            )
            boost(booster, monitor, phases=(Phase(objective),), guarded=True, max_halvings=MAX_HALVINGS)
        n_kept = len(warm) + monitor.kept.iteration - monitor.first  # a model from a file has trees but no history
        trained = monitor.trained(iterations[:n_kept])
        return replace(trained, best=replace(trained.best, iteration=n_kept)), booster.unconverged

    def _previous(self, data: TrainingGraphs, form: Form) -> list[GraphTrees]:
        """The iterations of the previous fit that training goes on from; none where it begins anew."""
        if not self.warm_start or not hasattr(self, "node_trees_"):
            return []
        same = tuple(self.classes_.tolist()) == data.labels and np.array_equal(form.edge_tables, self.form_.edge_tables)
        if not same or self._count_features(data.train) != self.n_features_:
            what = "the model that training goes on from has other labels, features or another form"
            raise InputError(what, hint="Set ⟦warm_start=False⟧.")
        nodes, edges = self.node_trees_.trees(), self.edge_trees_.trees()
        P, Q = len(form.node_tables), len(form.edge_tables)
        n = len(nodes) // P
        if n >= self.n_estimators:
            what = f"⟦n_estimators⟧ is {self.n_estimators} and the model has {n} iterations already"
            raise InputError(what, hint="⟦n_estimators⟧ counts all iterations; raise it, or set ⟦warm_start=False⟧.")
        return [GraphTrees(nodes[P * i : P * (i + 1)], edges[Q * i : Q * (i + 1)]) for i in range(n)]

    def _scores(self, dataset: GraphDataset) -> Scores:
        values = TreeValues.start(self.form_, dataset, self.start_values_)
        TreeScorer(self.bins_, values).add([GraphTrees(self.node_trees_.trees(), self.edge_trees_.trees())])
        return values.potentials


class Validation:
    """The accuracy on held-out graphs with all iterations there are."""

    def __init__(self, scorer: TreeScorer, iterations: list[GraphTrees], accuracy: Callable[[], float]) -> None:
        self.scorer, self.iterations, self.accuracy = scorer, iterations, accuracy

    def __call__(self) -> float:
        self.scorer.add(self.iterations[self.scorer.n_added :])
        return self.accuracy()

    def state(self) -> dict[str, Any]:
        """What a checkpoint keeps."""
        return state_of(self.scorer, self.scorer.KEPT)

    def restore(self, state: Any) -> None:
        """Go on from such a state."""
        restore(self.scorer, self.scorer.KEPT, state)


def _log_frequencies(dataset: GraphDataset, form: Form) -> FloatArray:
    """(P,): the values of a node that give each label its share of the labelled nodes."""
    assert dataset.labels is not None
    labelled, weights = dataset.labels >= 0, dataset.spread_weights()
    counted = None if weights is None else weights[0][labelled]
    counts = np.bincount(dataset.labels[labelled], counted, form.n_labels) + 0.5
    return form.nearest_values(np.log(counts / counts.sum()))
