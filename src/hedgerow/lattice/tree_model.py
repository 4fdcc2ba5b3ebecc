"""TreeLatticeCRF: a conditional random field on images and other graphs, whose scores are sums of regression trees."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from hedgerow.declarations import documented
from hedgerow.errors import InputError, warn
from hedgerow.estimators.parameters import random_generator
from hedgerow.lattice.base import LatticeModel, Problem, Scores, accuracy, advice
from hedgerow.lattice.boosting import Bins, Booster, Iteration, TreeScorer, Values, boost
from hedgerow.lattice.corpus import Corpus
from hedgerow.lattice.forms import Form
from hedgerow.lattice.objectives import make_objective
from hedgerow.lattice.parameters import TreeLatticeParameters, inference_of
from hedgerow.legend import FloatArray
from hedgerow.parallel import MAX_LANES, Lanes
from hedgerow.training.monitor import Monitor
from hedgerow.trees.ensemble import Ensemble


@documented
class TreeLatticeCRF(TreeLatticeParameters, LatticeModel):
    """As LatticeCRF, with a sum of regression trees where that has weights: thresholds and conjunctions of features are
    found by themselves, and a feature may be missing (NaN).

    Each iteration fits a tree to the gradient of the loss by each value of a node (one a label) and of an edge (see
    `form`), over the nodes and edges of all items. Edges are split on their features and on their direction.

    Attributes
    ----------
    classes_ : array of labels, sorted
    node_trees_, edge_trees_ : Ensemble
    n_iter_, loss_, history_, best_iteration_, outcome_, converged_ : as in LatticeCRF
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None, X_val: Any = None, y_val: Any = None) -> TreeLatticeCRF:
        """Train on labelled items, as LatticeCRF.fit does."""
        self._check_parameters()
        problem = self._problem(X, y, sample_weight, X_val, y_val)
        form = Form.of(self.form, len(problem.labels))
        warm = self._previous(problem, form)
        start = self.start_values_ if warm else _log_frequencies(problem.corpus, form)
        bins = self.bins_ if warm else Bins.learn(problem.corpus, self.max_bins)
        scorer = None
        if problem.held_out is not None:
            scorer = TreeScorer(bins, _start_values(form, problem.held_out, start))
            scorer.add(warm)
        monitor = Monitor(
            max_iter=self.n_estimators - len(warm),
            tol=self.tol,
            validate=None if scorer is None else lambda: self._validate(scorer),
            n_iter_no_change=self.n_iter_no_change,
            verbose=int(self.verbose),
            previous=self.history_[: len(warm)] if warm else None,
        )
        with Lanes(self.n_jobs, MAX_LANES) as lanes, monitor:
            booster = self._booster(problem, form, start, bins, lanes, warm)
            boost(booster, monitor, scorer)
        self._store(problem, form, start, bins, booster, monitor, len(warm))
        return self

    def _previous(self, problem: Problem, form: Form) -> list[Iteration]:
        """The iterations of the previous fit that training goes on from; none where it begins anew."""
        if not self.warm_start or not hasattr(self, "node_trees_"):
            return []
        same = tuple(self.classes_.tolist()) == problem.labels and np.array_equal(
            form.edge_tables, self.form_.edge_tables
        )
        if not same or self._count_features(problem.corpus) != self.n_features_:
            what = "the model that training goes on from has other labels, features or another form"
            raise InputError(what, hint="Set ⟦warm_start=False⟧.")
        nodes, edges = self.node_trees_.trees(), self.edge_trees_.trees()
        P, Q = len(form.node_tables), len(form.edge_tables)
        n = len(nodes) // P
        if n >= self.n_estimators:
            what = f"⟦n_estimators⟧ is {self.n_estimators} and the model has {n} iterations already"
            raise InputError(what, hint="⟦n_estimators⟧ counts all iterations; raise it, or set ⟦warm_start=False⟧.")
        return [Iteration(nodes[P * i : P * (i + 1)], edges[Q * i : Q * (i + 1)]) for i in range(n)]

    def _count_features(self, corpus: Corpus) -> tuple[int, int]:
        """Of a node, and of an edge as it was given."""
        F = corpus.nodes.shape[1]
        return F, corpus.edges.shape[1] - (F if self.differences else 0)

    def _booster(
        self, problem: Problem, form: Form, start: FloatArray, bins: Bins, lanes: Lanes, warm: list[Iteration]
    ) -> Booster:
        by = "max_product" if self.decoder == "posterior" else self.decoder
        values = _start_values(form, problem.corpus, start)
        if warm:
            TreeScorer(bins, values).add(warm)
        booster = Booster(
            values,
            bins,
            make_objective(self.objective, inference_of(self), by),
            lanes,
            learning_rate=self.learning_rate,
            seed=int(random_generator(self.random_state).randint(2**31 - 1)),
            max_leaf_nodes=self.max_leaf_nodes,
            l2_regularization=self.l2_regularization,
            min_samples_leaf=self.min_samples_leaf,
            max_features=self.max_features,
        )
        booster.iterations += warm
        return booster

    def _validate(self, scorer: TreeScorer) -> float:
        held_out = scorer.values.corpus
        return accuracy(held_out, self._decode(held_out, scorer.values.potentials, self.decoder, warn=False))

    def _store(
        self,
        problem: Problem,
        form: Form,
        start: FloatArray,
        bins: Bins,
        booster: Booster,
        monitor: Monitor,
        n_warm: int,
    ) -> None:
        corpus = problem.corpus
        self.n_features_ = self._count_features(corpus)
        self.classes_ = np.array(problem.labels)
        self.form_, self.start_values_, self.bins_ = form, start, bins
        n_kept = n_warm + monitor.kept.iteration - monitor.first  # a model from a file has trees but no history
        kept = booster.iterations[:n_kept]
        P, Q = len(form.node_tables), len(form.edge_tables)
        self.node_trees_ = Ensemble.of(P, [tree for one in kept for tree in one.nodes])
        self.edge_trees_ = Ensemble.of(Q, [tree for one in kept for tree in one.edges])
        self.history_, self.n_iter_ = monitor.history, monitor.n_iter
        self.best_iteration_, self.loss_ = n_kept, monitor.kept.loss
        self.outcome_ = monitor.outcome
        self.converged_ = booster.unconverged == 0
        if booster.unconverged:
            what = f"inference did not come to rest on {booster.unconverged} of {corpus.n_graphs} training items"
            warn(f"{what}; {advice(self.inference)}", ConvergenceWarning, stacklevel=3)
        if monitor.outcome == "interrupted":
            what = f"training was interrupted after {monitor.n_iter} iterations, which are kept"
            warn(what, ConvergenceWarning, stacklevel=3)

    def _scores(self, corpus: Corpus) -> Scores:
        values = _start_values(self.form_, corpus, self.start_values_)
        TreeScorer(self.bins_, values).add([Iteration(self.node_trees_.trees(), self.edge_trees_.trees())])
        return values.potentials


def _start_values(form: Form, corpus: Corpus, start: FloatArray) -> Values:
    """Values before any tree: `start` (P,) at every node, 0 at every edge."""
    nodes: FloatArray = np.tile(start, (len(corpus.nodes), 1))
    return Values(form, corpus, nodes, np.zeros((len(corpus.edges), len(form.edge_tables))))


def _log_frequencies(corpus: Corpus, form: Form) -> FloatArray:
    """(P,): the values of a node that give each label its share of the labelled nodes."""
    assert corpus.labels is not None
    K = form.n_labels
    counts = np.bincount(corpus.labels[corpus.labels >= 0], minlength=K) + 0.5
    scores = np.log(counts / counts.sum())
    tables = form.node_tables
    found: FloatArray = (tables * scores).sum(axis=1) / (tables**2).sum(axis=1)
    return found
