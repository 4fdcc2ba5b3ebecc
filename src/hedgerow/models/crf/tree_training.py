"""Training of a TreeCRF: where scores start, one ensemble, and the average of several on bootstrap samples."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from hedgerow.chain.objectives import CONVEX, make_objective
from hedgerow.chain.objectives.log_likelihood import log_likelihood
from hedgerow.chain.objectives.pseudo_likelihood import pseudo_likelihood
from hedgerow.chain.structure.histories import Histories
from hedgerow.chain.structure.states import StateSpace
from hedgerow.data.dataset import Dataset, Label
from hedgerow.errors import InputError
from hedgerow.estimators.constraints import check_gold, legal_space
from hedgerow.estimators.costs import cost_table
from hedgerow.estimators.histories import observed_histories
from hedgerow.estimators.missing import way_of_trees
from hedgerow.estimators.parameters import random_generator, same_window
from hedgerow.legend import FloatArray
from hedgerow.models.crf.linear import LinearCRF
from hedgerow.models.crf.paired import check_below, potentials_below
from hedgerow.models.crf.tree_stages import Stages
from hedgerow.parallel import MAX_LANES, Lanes
from hedgerow.training.boosting.chain import Booster, Iteration
from hedgerow.training.boosting.constant import best_constant
from hedgerow.training.boosting.line_search import LineSearch, Phase, boost
from hedgerow.training.boosting.scores import Start
from hedgerow.training.evaluation import Objective
from hedgerow.training.monitor import Monitor, Step
from hedgerow.trees.binning import Binning, bin_dataset

SHARPNESS = {"labelwise": 15.0, "classification_error": 1.0}


class Trained(NamedTuple):
    """What training gives: the iterations that are kept, and how it went."""

    iterations: list[Iteration]
    history: list[Step]
    n_iter: int
    loss: float
    outcome: str
    n_likelihood: int = 0


def linear_below(start: Any, X: Any, y: Any, sample_weight: Any) -> LinearCRF | None:
    """The linear model that the trees stand on; one that is not fitted yet is fitted to the training sequences."""
    if not isinstance(start, LinearCRF):
        return None
    if hasattr(start, "weights_"):
        return copy.deepcopy(start)  # to fit it anew must not change this model
    fresh: LinearCRF = clone(start)
    return fresh.fit(X, y, sample_weight=sample_weight)


def joint_edges(model: Any) -> bool:
    """Whether the trees of a model score labels after those before them; at order 0 none does."""
    return bool(model.edges == "joint" and model.order > 0)


def table_shape(n_labels: int, start: Start) -> tuple[int, ...]:
    """The shape of what an iteration adds to shared edges."""
    if start.histories is not None:
        return (start.histories.n_arcs,)
    return (n_labels, n_labels) if start.order else (0,)


def make_start(
    space: StateSpace,
    constant: FloatArray,
    linear: LinearCRF | None,
    order: int = 1,
    histories: Histories | None = None,
) -> Start:
    """F₀ of a model."""
    if linear is None:
        return Start(space, constant, order=order, histories=histories)
    linear._prepare()
    return Start(space.intersect(linear.layout_.space), constant, partial(potentials_below, linear))


def find_start(model: Any, dataset: Dataset, linear: LinearCRF | None, previous: Start | None) -> Start:
    """F₀, and the legal moves, which the training labels must obey. previous: that of an earlier fit, or None."""
    if linear is not None:
        check_below(linear, dataset, joint=joint_edges(model))
    K, order, forbids = dataset.n_labels, int(model.order), model.transitions == "forbid_unseen"
    by_histories = order > 1 and model.edges == "shared"
    space = legal_space(dataset, model.constraints, forbid_unseen=forbids and not by_histories)
    if previous is not None:
        constant, histories = previous.constant, previous.histories
    else:
        constant = best_constant(dataset, space) if model.start == "constant" else np.zeros((K + 1, K))
        seen = {"transitions": model.transitions}
        histories = observed_histories(dataset, space, order, **seen) if by_histories else None
    start = make_start(space, constant, linear, order, histories)
    if linear is not None:
        check_gold(dataset, start.space)
    return start


def check_goes_on(model: Any) -> None:
    """Refuse parameters by which trees cannot be added to those of the previous fit."""
    n = model.ensemble_.n_iterations
    if n > model.n_estimators:
        what = f"⟦n_estimators⟧ is {model.n_estimators} and the model has {n} iterations already"
        raise InputError(what, hint="⟦n_estimators⟧ counts all iterations; raise it, or set ⟦warm_start=False⟧.")
    if not same_window(model.window, model.schema_.window):
        what = f"⟦window⟧ is {model.window!r} and the model was fitted with {model.schema_.window!r}"
        raise InputError(what, hint="Leave the ⟦window⟧ as it was, or set ⟦warm_start=False⟧.")
    if model.missing != model.missing_:
        what = f"⟦missing⟧ is {model.missing!r} and the model was fitted with {model.missing_!r}"
        raise InputError(what, hint="Leave it as it was, or set ⟦warm_start=False⟧.")
    same = model.order_ == model.order and (model.edge_tables_ is None) == joint_edges(model)
    if model.ensemble_.trees_per_step != model.trees_per_step or not same:
        hint = "Leave ⟦trees_per_step⟧, ⟦edges⟧ and ⟦order⟧ as they were, or set ⟦warm_start=False⟧."
        raise InputError("the previous fit grew trees of another form", hint=hint)


class Training:
    """One fit: the parameters of the model, and what is the same for all its ensembles."""

    def __init__(self, model: Any, binning: Binning, start: Start, labels: Sequence[Label]) -> None:
        self.model = model
        self.labels = labels
        self.binning = binning
        self.start = start
        self.seed = int(random_generator(model.random_state).randint(2**31 - 1))
        self.objective = self._make_objective()
        self.likelihood_steps = self._likelihood_steps()

    def _make_objective(self) -> Objective:
        model = self.model
        sharpness = SHARPNESS.get(model.objective) if model.sharpness is None else float(model.sharpness)
        return make_objective(
            model.objective,
            n_labels=len(self.start.space.start),
            **({} if sharpness is None else {"sharpness": sharpness}),
            softness=model.softness,
            costs=cost_table(model.costs, self.labels),
        )

    def _likelihood_steps(self) -> int | None:
        """How many iterations follow the likelihood first; None: to be found."""
        if self.model.likelihood_steps != "auto":
            return int(self.model.likelihood_steps)
        return 0 if self.model.objective in CONVEX else None

    def train(
        self,
        dataset: Dataset,
        held_out: Dataset | None,
        kept: list[Iteration],
        previous: list[Step] | None,
        n_iterations: int | None = None,
        n_likelihood: int | None = None,
    ) -> Trained:
        """One ensemble. `kept` are the iterations of an earlier fit and `previous` their history, or None.

        An objective that is not convex starts from trees for the likelihood: `n_likelihood` of them, or as many as are
        best on the held-out sequences, or half of all where there are none.
        """
        most = int(self.model.n_estimators) if n_iterations is None else n_iterations
        steps = self.likelihood_steps if n_likelihood is None else n_likelihood
        pseudo = Phase(pseudo_likelihood, int(self.model.pseudo_likelihood_steps))
        if steps is None and held_out is not None and not kept:
            first = self._boost(dataset, held_out, kept, previous, most, (pseudo, Phase(log_likelihood)))
            steps = len(first.iterations)
            if first.outcome == "interrupted" or steps == most:
                return first._replace(n_likelihood=steps)
            kept, previous = first.iterations, first.history[:steps]
            second = self._boost(dataset, held_out, kept, previous, most, (Phase(self.objective),))
            return second._replace(n_iter=first.n_iter + second.n_iter, n_likelihood=steps)
        steps = most // 2 if steps is None else steps
        phases = (pseudo, Phase(log_likelihood, steps), Phase(self.objective))
        return self._boost(dataset, held_out, kept, previous, most, phases)._replace(n_likelihood=steps)

    def _boost(
        self,
        dataset: Dataset,
        held_out: Dataset | None,
        kept: list[Iteration],
        previous: list[Step] | None,
        most: int,
        phases: Sequence[Phase],
    ) -> Trained:
        """Go on from `kept` to at most `most` iterations."""
        model = self.model
        with Lanes(model.n_jobs, MAX_LANES) as lanes:
            booster = self._booster(dataset, lanes)
            booster.resume(kept)
            validate: Callable[[], float] | None = None
            if held_out is not None:
                validate = self.stages(held_out, booster.iterations, lanes)
                validate()  # a metric that cannot score y_val is found before any training
            with Monitor(
                max_iter=most - len(kept),
                tol=-np.inf,
                validate=validate,
                n_iter_no_change=model.n_iter_no_change,
                verbose=model.verbose,
                previous=previous,
            ) as monitor:
                if len(kept) < most:
                    search = LineSearch() if model.learning_rate == "line_search" else None
                    boost(booster, monitor, phases=phases, guarded=self._guarded(), search=search)
                else:
                    monitor.begin(booster.evaluate(phases[-1].objective))
        best = len(kept) + monitor.kept.iteration - monitor.first  # a model from a file has no history
        iterations = booster.iterations[:best]
        return Trained(iterations, monitor.history, monitor.n_iter, monitor.kept.loss, monitor.outcome)

    def train_bags(self, dataset: Dataset, held_out: Dataset | None) -> Trained:
        """Several ensembles, each on a bootstrap sample of the sequences, as one that averages them.

        The sequences that a sample leaves out stop its training, where others are not given for that.
        """
        bags: list[Trained] = []
        for b in range(self.model.n_bags):
            rng = np.random.default_rng([self.seed, b])
            drawn = np.bincount(rng.integers(dataset.n_sequences, size=dataset.n_sequences), minlength=len(dataset))
            inside, outside = np.flatnonzero(drawn), np.flatnonzero(drawn == 0)
            bag = dataset.take(inside)
            own = drawn[inside].astype(np.float64)
            bag = replace(bag, weight_seq=own if bag.weight_seq is None else own * bag.weight_seq)
            watched = held_out
            if watched is None and self.model.early_stopping:
                if not len(outside):
                    what = f"bag {b} holds every one of the {len(dataset)} sequences, so none can stop its training"
                    raise InputError(what, hint="Set ⟦early_stopping=False⟧, or give ⟦X_val and y_val⟧.")
                watched = dataset.take(outside)
            bags.append(self.train(bag, watched, [], None))
            if bags[-1].outcome == "interrupted":
                break
        iterations = [one.scaled(1.0 / len(bags)) for bag in bags for one in bag.iterations]
        history = [step for bag in bags for step in bag.history]
        loss = self._loss(dataset, iterations)
        return Trained(iterations, history, sum(bag.n_iter for bag in bags), loss, bags[-1].outcome)

    def _loss(self, dataset: Dataset, iterations: list[Iteration]) -> float:
        """The loss of a corpus with these iterations."""
        with Lanes(self.model.n_jobs, MAX_LANES) as lanes:
            booster = self._booster(dataset, lanes)
            booster.resume(iterations)
            return booster.evaluate(self.objective)

    def _booster(self, dataset: Dataset, lanes: Lanes) -> Booster:
        model = self.model
        searching = model.learning_rate == "line_search"
        return Booster(
            dataset,
            self.binning,
            bin_dataset(self.binning, dataset, postings=True),
            lanes,
            start=self.start,
            max_leaf_nodes=int(model.max_leaf_nodes),
            l2_regularization=float(model.l2_regularization),
            learning_rate=1.0 if searching else float(model.learning_rate),
            edges=model.edges,
            leaves=model.leaves,
            min_samples_leaf=float(model.min_samples_leaf),
            max_features=float(model.max_features),
            subsets=model.categorical == "subset",
            subsample=float(model.subsample),
            subsample_by=model.subsample_by,
            trim=float(model.trim),
            trees_per_step=int(model.trees_per_step),
            missing=way_of_trees(model.missing),
            seed=self.seed,
        )

    def _guarded(self) -> bool:
        """Whether steps may be longer than the paper's."""
        rate = self.model.learning_rate
        return bool(self.model.leaves == "newton" or (rate != "line_search" and rate > 1.0))

    def stages(
        self,
        dataset: Dataset,
        iterations: list[Iteration],
        lanes: Lanes,
        metric: Any = None,
        joint: bool | None = None,
    ) -> Stages:
        """The score of labelled sequences as iterations are added."""
        model = self.model
        return Stages(
            dataset,
            self.binning,
            self.start,
            iterations,
            lanes,
            metric=model._metric() if metric is None else metric,
            decoder=model._decoder_name(),
            beam_width=model.beam_width,
            joint=joint_edges(model) if joint is None else joint,
        )
