"""Training of a TreeCRF: one ensemble, the average of several on bootstrap samples, and the scores
of held-out sequences as an ensemble grows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hedgerow.chain.objectives import CONVEX, make_objective, tilt_of
from hedgerow.chain.objectives.log_likelihood import log_likelihood
from hedgerow.chain.objectives.pseudo_likelihood import pseudo_likelihood
from hedgerow.data.dataset import Dataset, Label
from hedgerow.data.derived import parse_features
from hedgerow.data.parts.corpus import SharedCorpus
from hedgerow.errors import InputError
from hedgerow.estimators.validation import Measure
from hedgerow.estimators.values import (
    BEAM_WIDTH,
    FILLING,
    LOG_LIKELIHOOD,
    cost_table,
    is_auto,
    random_generator,
    same_window,
)
from hedgerow.legend import AnyArray, FloatArray
from hedgerow.models.crf.linear import LinearCRF
from hedgerow.models.crf.parameters import TreeParameters
from hedgerow.models.crf.tree_form import HEAD_START, PACE, Duration, Form, make_form, takes_vectors
from hedgerow.models.crf.tree_shared import SharedStages, shared_booster
from hedgerow.parallel import CHUNK_POSITIONS, MAX_LANES, Lanes, plan_chunks
from hedgerow.training.boosting.chain import Booster, Iteration
from hedgerow.training.boosting.line_search import Guard, LineSearch, Phase, boost
from hedgerow.training.boosting.scores import Start
from hedgerow.training.checkpoint import checked, restore, state_of
from hedgerow.training.counting import n_known
from hedgerow.training.memory import check_joint_memory
from hedgerow.training.monitor import Monitor, Step, Trained
from hedgerow.training.pool import close_pools
from hedgerow.trees.binning import BinnedData, Binning, bin_dataset
from hedgerow.trees.growing import LEARNED

if TYPE_CHECKING:
    from hedgerow.models.crf.tree import TreeCRF

Corpus = Dataset | SharedCorpus
SHARPNESS = {"labelwise": 15.0, "classification_error": 1.0}
UNSURE = 0.3  # nats a label: a surer model has little left to learn
_CHUNK_SCORES = 4_000_000  # of joint edges: 30 MB


class Boosted(NamedTuple):
    """The iterations that are kept, and how many of them follow the likelihood before the objective."""

    iterations: list[Iteration]
    n_likelihood: int = 0


class Grown(NamedTuple):
    """Trees of one form, and what they stand on."""

    duration: Duration
    trained: Trained[Boosted]
    linear: LinearCRF | None
    binning: Binning
    start: Start
    tilt: FloatArray | None


def check_goes_on(model: TreeCRF) -> None:
    """Refuse parameters by which trees cannot be added to those of the previous fit."""
    n = model.ensemble_.n_iterations
    if not isinstance(model.n_estimators, str) and n > model.n_estimators:
        what = f"⟦n_estimators⟧ is {model.n_estimators} and the model has {n} iterations already"
        raise InputError(what, hint="⟦n_estimators⟧ counts all iterations; raise it, or set ⟦warm_start=False⟧.")
    if not same_window(model.window, model.schema_.window):
        what = f"⟦window⟧ is {model.window!r} and the model was fitted with {model.schema_.window!r}"
        raise InputError(what, hint="Leave the ⟦window⟧ as it was, or set ⟦warm_start=False⟧.")
    given, fitted = model.features, model.features_
    if not is_auto(given) and set(parse_features(given)) != set(fitted):
        what = f"⟦features⟧ is {given!r} and the model was fitted with {list(fitted)}"
        raise InputError(what, hint="Set them as they were, or set ⟦warm_start=False⟧.")
    if model.missing != model.missing_:
        what = f"⟦missing⟧ is {model.missing!r} and the model was fitted with {model.missing_!r}"
        raise InputError(what, hint="Leave it as it was, or set ⟦warm_start=False⟧.")
    edges = "joint" if model.edge_tables_ is None else "shared"
    same = model.order in ("auto", model.order_) and (model.edges in ("auto", edges) or not model.order_)
    form = make_form(model._with_order(model.order_), edges, stopped=False)
    if n and takes_vectors(model, form, model.binning_, len(model.classes_)) != model.ensemble_.vectors:
        same = False
    if model.ensemble_.trees_per_step != model.trees_per_step or not same:
        hint = "Leave ⟦multi_strategy⟧, ⟦trees_per_step⟧, ⟦edges⟧ and ⟦order⟧ as they were, or set ⟦warm_start=False⟧."
        raise InputError("the previous fit grew trees of another form", hint=hint)


class Training:
    """One fit: how it is to be trained, and what is the same for all its ensembles.

    form, scoring, decoder : what the parameters mean
    rival : the history of a training with simpler edges that this one has to be better than
    """

    def __init__(
        self,
        settings: TreeParameters,
        form: Form,
        binning: Binning,
        start: Start,
        labels: Sequence[Label],
        *,
        scoring: Any,
        decoder: str,
        label_weights: FloatArray | None = None,
        rival: Sequence[Step] = (),
    ) -> None:
        self.settings, self.form, self.scoring, self.decoder = settings, form, scoring, decoder
        # A likelihood tells early which of two is better; of accuracies ten iterations say little.
        self.rival = [step.score for step in rival if step.score is not None and scoring == LOG_LIKELIHOOD]
        self.binning = binning
        self.vectors = takes_vectors(settings, form, binning, len(labels))
        self.start, self.tilt = start, tilt_of(settings.objective, label_weights)
        self.seed = int(random_generator(settings.random_state).randint(2**31 - 1))
        sharpness = SHARPNESS.get(settings.objective) if settings.sharpness is None else float(settings.sharpness)
        self.objective = make_objective(
            settings.objective,
            n_labels=len(labels),
            **({} if sharpness is None else {"sharpness": sharpness}),
            softness=settings.softness,
            costs=cost_table(settings.costs, labels),
            label_weights=label_weights,
        )

    def _likelihood_steps(self) -> int | None:
        """How many iterations follow the likelihood first; None: to be found."""
        if self.settings.likelihood_steps != "auto":
            return int(self.settings.likelihood_steps)
        return 0 if self.settings.objective in CONVEX else None

    def train(
        self,
        dataset: Corpus,
        held_out: Corpus | None,
        kept: list[Iteration],
        previous: list[Step] | None,
        n_iterations: int | None = None,
        n_likelihood: int | None = None,
    ) -> Trained[Boosted]:
        """One ensemble. `kept` are the iterations of an earlier fit and `previous` their history, or None.

        An objective that is not convex starts from trees for the likelihood: `n_likelihood` of them, or as many as are
        best on the held-out sequences, or half of all where there are none.
        """
        most = self.form.n_estimators if n_iterations is None else n_iterations
        steps = self._likelihood_steps() if n_likelihood is None else n_likelihood
        pseudo = Phase(pseudo_likelihood, int(self.settings.pseudo_likelihood_steps))
        if steps is not None or held_out is None or kept:
            steps = most // 2 if steps is None else steps
            phases = (pseudo, Phase(log_likelihood, steps), Phase(self.objective))
            return self._boost(dataset, held_out, kept, previous, most, phases, steps)
        first = self._boost(dataset, held_out, kept, previous, most, (pseudo, Phase(log_likelihood)))
        begun, steps = first.learnt
        if first.outcome == "interrupted" or steps == most:
            return first
        rest = (Phase(self.objective),)
        second = self._boost(dataset, held_out, begun, first.history[:steps], most, rest, steps)
        return replace(second, n_iter=first.n_iter + second.n_iter)

    def _boost(
        self,
        dataset: Corpus,
        held_out: Corpus | None,
        kept: list[Iteration],
        previous: list[Step] | None,
        most: int,
        phases: Sequence[Phase],
        n_likelihood: int | None = None,
    ) -> Trained[Boosted]:
        """Go on from `kept` to at most `most` iterations, of which so many follow the likelihood; None: all of them."""
        settings, form = self.settings, self.form
        with Lanes(settings.n_jobs, MAX_LANES) as lanes:
            booster = self._booster(dataset, lanes)
            if kept:
                booster.resume(kept)
            validate: Callable[[], float] | None = None
            unit = 0.0
            if held_out is not None:
                validate = self.stages(held_out, booster.iterations, lanes, joint=form.joint)
                validate()  # a metric that cannot score y_val is found before any training
                if (
                    self.scoring == LOG_LIKELIHOOD
                ):  # near 0 for labels that are all but certain: any rise of it is large
                    unit = UNSURE * n_known(held_out)
            with Monitor(
                max_iter=most - len(kept),
                tol=-np.inf,
                validate=validate,
                n_iter_no_change=-(-settings.n_iter_no_change // (PACE if form.coarse else 1)),
                least_rise=settings.tol,
                score_unit=unit,
                rival=self.rival,
                head_start=HEAD_START * (1 if form.coarse else PACE),
                verbose=settings.verbose,
                previous=previous,
            ) as monitor:
                if len(kept) < most:
                    boost(booster, monitor, phases=phases, search=self._steps())
                else:
                    monitor.begin(booster.evaluate(phases[-1].objective))
            n_best = len(kept) + monitor.kept.iteration - monitor.first  # a model from a file has no history
            boosted = Boosted(booster.iterations[:n_best], n_best if n_likelihood is None else n_likelihood)
            trained = monitor.trained(boosted)
            close_pools(booster, validate)
        return replace(trained, best=replace(trained.best, iteration=n_best))

    def _steps(self) -> LineSearch | Guard | None:
        """What finds the length of each step, or shortens it; None: all are of one length."""
        rate = self.form.learning_rate
        if isinstance(rate, str):
            return LineSearch()
        return Guard(rate) if self.form.guarded else None

    def train_bags(self, dataset: Dataset, held_out: Dataset | None) -> Trained[Boosted]:
        """Several ensembles, each on a bootstrap sample of the sequences, as one that averages them.

        The sequences that a sample leaves out stop its training, where others are not given for that.
        """
        bags: list[Trained[Boosted]] = []
        for b in range(self.settings.n_bags):
            rng = np.random.default_rng([self.seed, b])
            drawn = np.bincount(rng.integers(dataset.n_sequences, size=dataset.n_sequences), minlength=len(dataset))
            inside, outside = np.flatnonzero(drawn), np.flatnonzero(drawn == 0)
            bag = dataset.take(inside)
            counts = drawn[inside].astype(np.float64)
            bag = replace(bag, weight_seq=counts if bag.weight_seq is None else counts * bag.weight_seq)
            watched = held_out
            if watched is None and self.settings.early_stopping:
                if not len(outside):
                    what = f"bag {b} holds every one of the {len(dataset)} sequences, so none can stop its training"
                    raise InputError(what, hint="Set ⟦early_stopping=False⟧, or give ⟦X_val and y_val⟧.")
                watched = dataset.take(outside)
            bags.append(self.train(bag, watched, [], None))
            if bags[-1].outcome == "interrupted":
                break
        iterations = [one.scaled(1.0 / len(bags)) for bag in bags for one in bag.learnt.iterations]
        history = [step for bag in bags for step in bag.history]
        best = Step(len(iterations), self._loss(dataset, iterations), 0.0)
        n_iter = sum(bag.n_iter for bag in bags)
        return Trained(Boosted(iterations), history, n_iter, best, bags[-1].outcome)

    def _loss(self, dataset: Dataset, iterations: list[Iteration]) -> float:
        """The loss of a corpus with these iterations."""
        with Lanes(self.settings.n_jobs, MAX_LANES) as lanes:
            booster = self._booster(dataset, lanes)
            if iterations:
                booster.resume(iterations)
            return booster.evaluate(self.objective)

    def _booster(self, dataset: Corpus, lanes: Lanes) -> Booster:
        settings, form = self.settings, self.form
        options: dict[str, Any] = {
            "max_leaf_nodes": int(settings.max_leaf_nodes),
            "l2_regularization": form.l2_regularization,
            "learning_rate": 1.0 if isinstance(form.learning_rate, str) else form.learning_rate,
            "edges": form.edges,
            "leaves": form.leaves,
            "min_samples_leaf": float(settings.min_samples_leaf),
            "max_features": float(settings.max_features),
            "subsets": settings.categorical == "subset",
            "subsample": float(settings.subsample),
            "subsample_by": settings.subsample_by,
            "trim": float(settings.trim),
            "trees_per_step": int(settings.trees_per_step),
            "missing": LEARNED if settings.missing in FILLING else settings.missing,
            "n_surrogates": None if settings.n_surrogates == "all" else int(settings.n_surrogates),
            "seed": self.seed,
            "vectors": self.vectors,
        }
        if isinstance(dataset, SharedCorpus):
            return shared_booster(dataset, self.binning, lanes, start=self.start, **options)
        return Booster(dataset, bin_dataset(self.binning, dataset, postings=True), lanes, start=self.start, **options)

    def stages(
        self, dataset: Corpus, iterations: list[Iteration], lanes: Lanes, *, joint: bool
    ) -> Stages | SharedStages:
        """The score of labelled sequences as iterations are added."""
        options: dict[str, Any] = {
            "start": self.start,
            "tilt": self.tilt,
            "scoring": self.scoring,
            "decoder": self.decoder,
            "beam_width": self.settings.beam_width,
            "joint": joint,
        }
        if isinstance(dataset, SharedCorpus):
            chunk = chunk_positions(dataset.n_labels, joint=joint)
            return SharedStages(dataset, self.binning, iterations, chunk, **options)
        data = bin_dataset(self.binning, dataset, postings=False)
        return Stages(dataset, data, iterations=iterations, lanes=lanes, **options)


# ------------------------------------------------------------------------------------------------ held-out sequences


def chunk_positions(n_labels: int, *, joint: bool, n_before: int | None = None) -> int:
    """How many positions the potentials of a chunk should have: fewer where each has K² scores of its own, or those of
    n_before histories."""
    scores = n_labels * (n_labels if n_before is None else n_before)
    return max(1, min(CHUNK_POSITIONS, _CHUNK_SCORES // scores)) if joint else CHUNK_POSITIONS


class Stages:
    """The score of labelled sequences after each iteration, which adds its own trees. Use inside `with Lanes(...)`.

    iterations : may grow between calls
    """

    def __init__(
        self,
        dataset: Dataset,
        data: BinnedData,
        *,
        start: Start,
        iterations: list[Iteration],
        lanes: Lanes,
        scoring: Any,
        decoder: str,
        joint: bool,
        beam_width: int = BEAM_WIDTH,
        tilt: FloatArray | None = None,
    ) -> None:
        self.iterations = iterations
        self.lanes = lanes
        self._n_added = 0
        self._measure = Measure(dataset, scoring, decoder, beam_width, tilt)
        self._data = start.seen_by_trees(data, joint=joint)
        K, table = dataset.n_labels, start.history_table if joint else None
        n_before = None if table is None else table.n_histories
        if joint:
            check_joint_memory(dataset.n_positions, K, n_before)
        plan = plan_chunks(dataset.offsets, chunk_positions(K, joint=joint, n_before=n_before))
        self._chunks = [start.scores(dataset, int(a), int(b), joint=joint) for a, b in pairwise(plan)]

    def __call__(self) -> float:
        """The score with all iterations there are."""
        return self.score(len(self.iterations))

    def score(self, n_iterations: int) -> float:
        """The score with the first iterations; no fewer than at the call before."""
        return self._measure.total(self.measured(n_iterations))

    def measured(self, n_iterations: int) -> list[AnyArray]:
        """What each chunk adds to the score."""
        new = self.iterations[self._n_added : n_iterations]
        self._n_added = n_iterations
        trees = [tree for one in new for tree in one.trees]
        parts: list[AnyArray] = [None] * len(self._chunks)  # type: ignore[list-item]

        def work(lane: int, c: int) -> None:
            chunk = self._chunks[c]
            if trees:
                chunk.add(self._data, trees)
            for one in new:
                if one.table is not None:
                    chunk.add_table(one.table)
            parts[c] = self._measure.chunk(chunk.potentials(), slice(chunk.begin, chunk.end))

        self.lanes.run(work, len(parts))
        return parts

    def state(self) -> list[Any]:
        """What a checkpoint keeps."""
        return [self._n_added, [state_of(chunk, chunk.KEPT) for chunk in self._chunks]]

    def restore(self, state: Any) -> None:
        """Go on from such a state."""
        self._n_added = checked(state[0], int, "trees that were added")
        for chunk, saved in zip(self._chunks, state[1], strict=True):
            restore(chunk, chunk.KEPT, saved)
