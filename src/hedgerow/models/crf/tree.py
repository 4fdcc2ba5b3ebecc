"""TreeCRF: a chain conditional random field whose scores are sums of regression trees, grown by gradient boosting."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from hedgerow.chain.objectives import OF_LABELINGS
from hedgerow.chain.potentials import ChainPotentials
from hedgerow.chain.structure.states import StateSpace
from hedgerow.data.dataset import Dataset, Schema
from hedgerow.data.imputation import Imputation, fill
from hedgerow.declarations import check_parameters, documented
from hedgerow.errors import InputError
from hedgerow.estimators.base import StoppedChain
from hedgerow.estimators.constraints import check_gold, without_forbidden
from hedgerow.estimators.histories import without_unseen
from hedgerow.estimators.predictor import Lean
from hedgerow.estimators.prepare import Preparation, Prepared, cut_flat, prepare
from hedgerow.estimators.scored import ScoredChain
from hedgerow.estimators.values import LOG_LIKELIHOOD, OF_TREES, Scoring, check_missing, check_scoring, class_weights
from hedgerow.models.crf.attribution import tree_parts
from hedgerow.models.crf.linear import LinearCRF
from hedgerow.models.crf.paired import (
    beside_held_out,
    doubts_words,
    find_history_start,
    find_start,
    linear_below,
    make_start,
    pair,
    pair_all,
    reach_of_both,
    ways_to_try,
)
from hedgerow.models.crf.parameters import TreeParameters, check_tree_parameters
from hedgerow.models.crf.tree_form import TOLD, Duration, Form, choose_order, make_form
from hedgerow.models.crf.tree_shared import choose_binning
from hedgerow.models.crf.tree_short import lean_trees
from hedgerow.models.crf.tree_training import Grown, Training, check_goes_on, chunk_positions
from hedgerow.parallel import MAX_LANES, Lanes
from hedgerow.training.boosting.chain import Iteration
from hedgerow.training.boosting.scores import Start
from hedgerow.training.checkpoint import remembered
from hedgerow.training.memory import check_joint_memory
from hedgerow.training.monitor import Step, say
from hedgerow.trees.binning import Binning, bin_dataset
from hedgerow.trees.ensemble import Ensemble

PAPERS: dict[str, dict[str, Any]] = {
    "2004": {"l2_regularization": 0.0, "pseudo_likelihood_steps": 3},
    "2009": {"l2_regularization": 20.0, "pseudo_likelihood_steps": 0, "max_leaf_nodes": 100},
}
PAPER: dict[str, Any] = {
    "window": 0, "edges": "joint", "leaves": "mean", "learning_rate": 1.0, "categorical": "one_against_rest",
    "early_stopping": False, "n_estimators": 100, "init": "zero",
}  # fmt: skip
# Of what compares windows: few small trees show which are better.
QUICK: dict[str, Any] = {
    "edges": "shared", "n_estimators": 60, "learning_rate": 0.2, "max_leaf_nodes": 8, "n_iter_no_change": 3,
    "calibrate": False, "init": "zero",
}  # fmt: skip


@documented
class TreeCRF(TreeParameters, StoppedChain, ScoredChain):
    """A conditional random field whose scores are sums of regression trees: the TreeCRF of Dietterich, Hao and
    Ashenfelter.

    In each iteration one tree per label is fitted to the functional gradient of the objective, over the columns in the
    window and the previous label; or one tree for all labels, over the columns (`multi_strategy`).

    Attributes
    ----------
    classes_ : array of labels, sorted
    ensemble_ : the trees
    binning_ : how columns become bins
    imputation_ : what is filled in for missing values, or None
    missing_ : the way of missing values that it was fitted with
    space_ : the legal moves
    constant_ : (K+1, K) [from, to], ⊥ last: the scores before any tree; from order 2 on `history_constant_`
    linear_ : the LinearCRF below the trees, or None
    edges_ : "joint" or "shared", and order_ : a number, where `edges` and `order` left that open
    edge_tables_ : (iterations, K, K) [from, to], what each iteration added to shared edges; None for joint ones. From
        order 2 on (iterations, A), the weights of the arcs of `histories_`
    n_iter_ : iterations of the last fit; of the training that was stopped, whose steps may be longer and count as four,
        where there was another on all sequences
    best_iteration_ : the number of iterations that are kept, likelihood_iterations_ : how many of them follow the
        likelihood before the objective
    loss_ : the loss of the training sequences with them
    history_ : list of Step(iteration, loss, seconds, score); that of one bag after the other, where there are bags, and
        of the training that was stopped, where there was another on all sequences
    outcome_ : why training ended: "n_estimators", "early_stopping" or "interrupted"
    refitted_ : whether the trees are those of a last training on all sequences (`refit`)
    temperature_ : what scores are divided by to become probabilities (`calibrate`); 1 where nothing was held out
    tilt_ : (K,), logarithms of what the probabilities of labels are multiplied by (`class_weight`), or None

    Examples
    --------
    >>> from hedgerow import TreeCRF
    >>> model = TreeCRF(window=1, early_stopping=False, n_estimators=20, l2_regularization=1.0)
    >>> model = model.fit([["the", "cat"], ["a", "dog", "barks"]], [["D", "N"], ["D", "N", "V"]])
    >>> model.predict([["the", "dog"]]).tolist()
    [['D', 'N']]
    """

    imputation_: Imputation | None
    best_iteration_: int
    likelihood_iterations_: int
    outcome_: str
    refitted_: bool

    @classmethod
    def paper(cls, version: str, **parameters: Any) -> TreeCRF:
        """The algorithm as a paper prints it, with step 1 and without a window or early stopping.

        "2004" (Dietterich, Ashenfelter and Bulatov): three steps by the pseudo-likelihood and no λ; `max_leaf_nodes` is
        for you to tune. "2009" (Hao's thesis): λ, which is `l2_regularization`, and at most 100 leaves. Other
        parameters may be given, and those named here may be changed.
        """
        if version not in PAPERS:
            raise InputError(f"there is no paper {version!r}", hint=f"Known: {', '.join(map(repr, PAPERS))}.")
        return cls(**PAPER | PAPERS[version] | parameters)

    def _train(self, ready: Prepared, duration: Duration | None = None, edges: str | None = None) -> Duration | None:
        """Train and store, for a duration that is known, or with edges that are: without both every form that `edges`
        leaves open, of which that is stored which held-out sequences prefer. Returned where any iteration is kept."""
        warm = ready.wanted.schema is not None
        first = duration is None and edges is None
        decided = None if first else self.linear_ is not None  # by the first training of this fit
        settings = self._with_order(self.order_ if warm or not first else choose_order(self, ready.dataset))
        linear = self.linear_ if warm else linear_below(settings, ready, decided)
        known = duration.edges if duration is not None else self.edges_ if warm else edges
        ways = ways_to_try(settings, ready, linear) if known is None else (known,)
        found = settings._grow(ready, linear, ways, duration)
        going = known is None and found[0].trained.outcome != "interrupted"
        if going and linear is not None and doubts_words(settings, ready):
            found += settings._grow(ready, None, ("joint",), rival=found[0].trained.history)
        best = found[-1] if found[-1].duration.beats(found[0].duration) else found[0]
        self._store(ready, best)
        return best.duration if self.best_iteration_ else None

    def _with_order(self, order: int) -> TreeCRF:
        """This model, with an order where that is "auto"."""
        settings = copy.copy(self)
        settings.order = order if self.order == "auto" else self.order
        return settings

    def _grow(
        self,
        ready: Prepared,
        linear: LinearCRF | None,
        ways: Sequence[str],
        duration: Duration | None = None,
        rival: Sequence[Step] = (),
    ) -> list[Grown]:
        """Trees with one form of edges after the other, on a linear model or not, until training is interrupted.
        rival : the history of a simpler form, which the first of these has to be better than"""
        warm = ready.wanted.schema is not None
        dataset, held_out = ready.dataset, ready.held_out
        if linear is not None:
            dataset, held_out = pair_all(linear, ready)
        weights = class_weights(self.class_weight, dataset)
        start = self._start_from(ready.space, linear) if warm else self._find_start(dataset, ready.space, linear)
        if linear is not None:
            check_gold(dataset, start.space)
        if held_out is not None:
            held_out = without_forbidden(held_out, start.space)
            if start.histories is not None:
                held_out = without_unseen(held_out, start.histories)
        binning = self.binning_ if warm else choose_binning(self, dataset, ways)
        found: list[Grown] = []
        for way in ways:
            again, words = ready.everything is not None, linear is not None and self.init == "auto"
            form = make_form(self, way, stopped=held_out is not None, again=again, words=words)
            training = self._training(form, binning, start, ready.given.schema, label_weights=weights, rival=rival)
            if self.n_bags:
                trained = training.train_bags(dataset, held_out)
            else:
                kept = self._iterations() if warm else []
                history = self.history_[: len(kept)] if warm else None
                trained = training.train(dataset, held_out, kept, history, *duration[1:3] if duration else ())
            found.append(Grown(Duration.of(form, trained), trained, linear, binning, start, training.tilt))
            if trained.outcome == "interrupted":
                break
            rival = found[0].trained.history
        return found

    def _agree(self, ready: Prepared, duration: Duration) -> Duration:
        """Train with the other folds held out, too, with the edges that the first prefers: the median duration."""
        first, found = dict(self.__dict__), [duration]
        for fold in ready.other_folds:
            if self.verbose:
                say("training with another part held out: %d of %d", len(found) + 1, len(ready.other_folds) + 1)
            again, losses, outcome = remembered(partial(self._train_fold, fold, edges=duration.edges), TOLD)
            first["_losses"] = [*first["_losses"], *losses]
            if outcome == "interrupted":
                first["outcome_"] = "interrupted"
                break
            found.extend([Duration(*again)] if again is not None else [])
        self.__dict__.clear()
        self.__dict__.update(first)
        return Duration.median(found)

    @property
    def edges_(self) -> str:
        """The form of edges that was fitted: "joint" or "shared"."""
        return "joint" if self.edge_tables_ is None else "shared"

    def _preparation(self, **more: Any) -> Preparation:
        # Runs of labels that training does not show are forbidden where they have weights, and not transitions.
        forbids = self.transitions == "forbid_unseen" and not self._has_histories()
        warm = self._goes_on()
        earlier = {"schema": self.schema_, "imputation": self.imputation_} if warm else {}
        sources, again = isinstance(self.init, LinearCRF), self.refit and not warm
        stops = self.early_stopping and not self.n_bags  # a bag is stopped by what it leaves out
        known: dict[str, Any] = {"splits": True, "forbid_unseen": forbids, "keeps_all": again, "keeps_sources": sources}
        # Blocks hide labels, which the likelihood can do without, and what another model reads is not hidden.
        hides = self.objective == LOG_LIKELIHOOD and not sources and not self.pseudo_likelihood_steps
        known |= {"holds_out": stops, "blocks": hides, "cuts": self.early_stopping and not stops}
        if not again and self.validation_folds == "auto":
            known["validation_folds"] = 1
        return super()._preparation(**known | earlier | more)

    def _calibrated_on(self, ready: Prepared) -> Dataset | None:
        return beside_held_out(self.linear_, ready, super()._calibrated_on(ready))

    def _quick(self) -> TreeCRF:
        return TreeCRF(order=0 if self.order == 0 else 1, n_jobs=self.n_jobs, random_state=0, **QUICK)

    def _has_histories(self) -> bool:
        return self.order not in (0, 1, "auto") and self.edges != "joint"

    def _train_on(self, dataset: Dataset) -> None:
        """Train on all sequences, in place of a model that was stopped by some of them."""
        whole = prepare(self._preparation(holds_out=False), dataset)
        self._train_again(whole, Duration(self.edges_, self.best_iteration_, self.likelihood_iterations_))

    def _training(
        self, form: Form, binning: Binning, start: Start, schema: Schema, scoring: Any = None, **more: Any
    ) -> Training:
        scoring = self._scoring() if scoring is None else scoring
        decoder = self._decoder_name(schema.labels)
        return Training(self, form, binning, start, schema.labels, scoring=scoring, decoder=decoder, **more)

    def _find_start(self, dataset: Dataset, space: StateSpace, linear: LinearCRF | None) -> Start:
        """F₀, and what may follow what."""
        find = find_start if self.order in (0, 1) else partial(find_history_start, shared=self._has_histories())
        return find(self, dataset, space, linear)

    def _check_parameters(self) -> None:
        check_parameters(self)
        check_tree_parameters(self)
        check_missing(self, OF_TREES)

    def _complaint(self) -> str:
        scores = [step.score for step in self.history_ if step.score is not None]
        rose = bool(scores) and scores[-1] > max(scores[:-1], default=-np.inf)
        if self.outcome_ != "n_estimators" or self.n_bags or not rose:
            return super()._complaint()
        what = f"⟦n_estimators={self.n_iter_}⟧ ended training while the score of held-out sequences still rose"
        hint = "raise ⟦tol⟧, or ⟦n_estimators⟧" if self.n_estimators == "auto" else "raise it, or leave it at 'auto'"
        return f"{what}; {hint}"

    def _compares_labelings(self) -> bool:
        return self.objective in OF_LABELINGS

    def _scoring(self) -> Any:
        if self.scoring != "auto":
            return self.scoring
        return LOG_LIKELIHOOD if self.objective in ("log_likelihood", "pseudo_likelihood") else "accuracy"

    def _goes_on(self) -> bool:
        """Whether this fit adds to the trees of the previous one."""
        if not self.warm_start or not hasattr(self, "ensemble_"):
            return False
        check_goes_on(self)
        return True

    def _store(self, ready: Prepared, best: Grown) -> None:
        schema, trained, start = ready.given.schema, best.trained, best.start
        self._keep(schema, trained)
        self.imputation_, self.missing_, self.tilt_ = ready.imputation, self.missing, best.tilt
        self.linear_, self.binning_ = best.linear, best.binning
        self.space_ = start.space
        self.constant_, self.history_constant_ = start.constant, start.history_constant
        self.order_, self.histories_ = start.order, start.histories
        iterations, n_labels = trained.learnt.iterations, len(schema.labels)
        trees = [tree for one in iterations for tree in one.trees]
        self.ensemble_ = Ensemble.of(n_labels, trees, int(self.trees_per_step))
        tables = [one.table for one in iterations if one.table is not None]
        shape: tuple[int, ...] = (n_labels, n_labels) if start.order else (0,)
        if start.histories is not None:
            shape = (start.histories.n_arcs,)
        joint = best.duration.edges == "joint" and start.order > 0
        self.edge_tables_ = None if joint else np.array(tables).reshape(len(tables), *shape)
        self.likelihood_iterations_ = trained.learnt.n_likelihood
        self.refitted_ = False
        self.outcome_ = "n_estimators" if trained.outcome == "max_iter" else trained.outcome

    _attribute = tree_parts

    def encode(self, X: Any, y: Any = None, *, lengths: Any = None) -> Dataset:
        """Encode a corpus once, to predict on it several times."""
        X, y = cut_flat(X, y, lengths)
        return pair(getattr(self, "linear_", None), super().encode(X, y), X)

    def staged_score(self, X: Any, y: Any, scoring: Scoring | None = None, *, lengths: Any = None) -> Iterator[float]:
        """The score after each iteration: by `scoring`, the estimator's own where it is None.

        Where there are bags, their parts of the average are added one after the other.
        """
        dataset = fill(self.imputation_, self._dataset(X, y, lengths))
        if scoring is not None:
            check_scoring(scoring)
        iterations = self._iterations()
        settings = self._with_order(self.order_)
        form = make_form(settings, self.edges_, stopped=False)
        training = settings._training(form, self.binning_, self._start(), self.schema_, scoring)
        training.tilt = self.tilt_
        with Lanes(self.n_jobs, MAX_LANES) as lanes:
            stages = training.stages(dataset, iterations, lanes, joint=self.edge_tables_ is None)
            for i in range(len(iterations)):
                yield stages.score(i + 1)

    def _iterations(self) -> list[Iteration]:
        """What each iteration added."""
        trees, tables = self.ensemble_.trees(), self.edge_tables_
        size = self.ensemble_.trees_per_iteration
        return [
            Iteration(trees[i * size : (i + 1) * size], None if tables is None else tables[i])
            for i in range(self.ensemble_.n_iterations)
        ]

    def _dataset(self, X: Any, known: Any, lengths: Any) -> Dataset:
        X, known = cut_flat(X, known, lengths)
        return pair(getattr(self, "linear_", None), super()._dataset(X, known, None), X)

    def _prepare(self) -> None:
        if self.__dict__.get("_ready", (None,))[0] is not self.ensemble_:
            table = None if self.edge_tables_ is None else self.edge_tables_.sum(axis=0)
            start = self._start()
            self._ready = (self.ensemble_, self.ensemble_.trees(), table, start)

    def _potentials(self, dataset: Dataset, first: int, last: int) -> ChainPotentials:
        self._prepare()
        _, trees, table, start = self._ready
        part = fill(self.imputation_, dataset.take(np.arange(first, last)))
        data = bin_dataset(self.binning_, part, postings=False)
        if table is None:
            histories = start.history_table
            check_joint_memory(part.n_positions, part.n_labels, None if histories is None else histories.n_histories)
        scores = start.scores(part, 0, last - first, joint=table is None)
        scores.first_sequence = first
        scores.add_ensemble(start.seen_by_trees(data, joint=table is None), self.ensemble_, trees)
        if table is not None:
            scores.add_table(table)
        return scores.potentials()

    def _lean(self) -> Lean | None:
        self._prepare()
        _, _, table, start = self._ready
        filled = self.linear_ is not None or self.imputation_ is not None
        return None if filled else lean_trees(self.binning_, self.ensemble_, start, table)

    def _reach(self) -> tuple[int, int]:
        return reach_of_both(super()._reach(), self.linear_)

    def _knows_ends(self) -> bool:
        return not self._start().space.end.all()

    def _restrict(self, space: StateSpace) -> None:
        self.space_ = self.space_.intersect(space)

    def _start(self) -> Start:
        """F₀, as it was fitted."""
        return self._start_from(self.space_, self.linear_)

    def _start_from(self, space: StateSpace, linear: LinearCRF | None) -> Start:
        return make_start(space, self.constant_, linear, self.order_, self.histories_, self.history_constant_)

    def _chunk_positions(self) -> int:
        table = self._start().history_table if self.edge_tables_ is None else None
        n_before = len(self.classes_) if table is None else table.n_histories
        return chunk_positions(len(self.classes_), joint=self.edge_tables_ is None, n_before=n_before)
