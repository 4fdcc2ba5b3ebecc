"""LinearCRF: a linear-chain conditional random field, for any objective and by any trainer."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from hedgerow.chain.edges import SharedEdges
from hedgerow.chain.objectives import OF_LABELINGS, tilt_of
from hedgerow.chain.potentials import ChainPotentials
from hedgerow.chain.short import is_plain
from hedgerow.chain.structure.states import StateSpace
from hedgerow.data.dataset import Dataset, Label
from hedgerow.data.imputation import Imputation, seen_schema
from hedgerow.data.parts.corpus import SharedCorpus
from hedgerow.data.words import word_kind
from hedgerow.declarations import check_parameters, documented
from hedgerow.errors import InputError, warn
from hedgerow.estimators.base import StoppedChain
from hedgerow.estimators.facts import describe_end
from hedgerow.estimators.histories import arc_names, observed_histories
from hedgerow.estimators.predictor import Lean
from hedgerow.estimators.prepare import Preparation, Prepared
from hedgerow.estimators.scored import ScoredChain
from hedgerow.estimators.validation import ChainValidation, Measure
from hedgerow.estimators.values import OF_LINEAR, check_missing, chosen_before, class_weights, seen_part, sees_otherwise
from hedgerow.legend import FloatArray
from hedgerow.linear.chain import ChainLayout, LinearChain
from hedgerow.linear.conjunctions import Conjunctions
from hedgerow.linear.short import score_sequence
from hedgerow.models.crf.attribution import linear_parts
from hedgerow.models.crf.induction import Rounds
from hedgerow.models.crf.linear_layout import Statistics, carry_over, lay_out, named_weights, weights_of
from hedgerow.models.crf.linear_shared import SharedValidation, lay_out_shared
from hedgerow.models.crf.linear_training import LinearTraining, Plan
from hedgerow.models.crf.parameters import LinearParameters
from hedgerow.models.crf.partial_fit import partial_fit
from hedgerow.trainers import OnlineTrainer
from hedgerow.training.monitor import Trained
from hedgerow.training.pool import close_pools

QUICK_ITERATIONS = 10  # of what compares windows: they show which are better


@documented
class LinearCRF(LinearParameters, StoppedChain, ScoredChain):
    """A conditional random field with linear scores: what CRFsuite, CRF++ and Wapiti train.

    Attributes
    ----------
    classes_ : array of labels, sorted
    n_iter_ : iterations of the last fit
    loss_ : the penalised loss at the weights kept; after `partial_fit` that of the last call on its way, taken for all
        sequences so far
    n_sequences_ : the sequences that it has learnt from, those of all calls of `partial_fit` included
    history_ : list of Step(iteration, loss, seconds, score, stage); `stage` names what was minimised, where training
        has several stages
    best_iteration_ : the iteration whose weights were kept; after a warm start that nothing beat, the number of
        iterations before this fit
    outcome_ : why training ended: "converged", "max_iter", "early_stopping", "interrupted" or "partial_fit"; "diverged"
        where an online trainer ended with a larger loss than it began with, "stuck" where none of the first steps of
        another made it smaller
    weights_ : all weights in one vector, read-only; to change weights, assign a new vector
    transition_weights_ : (K, K), [from, to]; from order 2 on there is `history_weights()` instead
    imputation_ : what is filled in for missing values, or None
    induced_ : the features that were found, where there is an `induction`, or None
    temperature_ : what scores are divided by to become probabilities (`calibrate`); 1 where nothing was held out
    tilt_ : (K,), logarithms of what the probabilities of labels are multiplied by (`class_weight`), or None

    Examples
    --------
    >>> from hedgerow import LinearCRF
    >>> model = LinearCRF(window=1).fit([["the", "cat"], ["a", "dog", "barks"]], [["D", "N"], ["D", "N", "V"]])
    >>> model.predict([["the", "dog"]]).tolist()
    [['D', 'N']]
    """

    layout_: ChainLayout
    induced_: Conjunctions | None = None

    def _train(self, ready: Prepared, duration: Any = None) -> None:
        if self.induction is not None:
            kept, trained = Rounds(self, ready).run()
            self._store(ready.given, ready.imputation, kept.layout, trained, online=False)
            self.induced_, self.tilt_ = kept.conjunctions, None
            return
        layout, statistics = self._lay_out(ready.dataset, ready.space)
        start = None
        if self.warm_start and hasattr(self, "weights_"):
            start = carry_over(seen_schema(self), self.layout_, self.weights_, ready.dataset.schema, layout)
        plan = Plan.of(self, ready.dataset, warm=start is not None)
        validation: ChainValidation | SharedValidation | None = None
        tilt = tilt_of(plan.objective, class_weights(self.class_weight, ready.dataset))
        if ready.held_out is not None:
            named = self._scoring(), self._decoder_name(ready.given.schema.labels), self.beam_width, tilt
            if isinstance(ready.held_out, SharedCorpus):
                validation = SharedValidation(layout, ready.held_out, named)
            else:
                validation = ChainValidation(layout, Measure(ready.held_out, *named), self.n_jobs)
            # A metric that cannot score y_val is found before any training.
            validation(np.zeros(layout.n_weights) if start is None else start)
        training = LinearTraining(self, plan, ready.dataset, layout, statistics, validation)
        trained = training.train(start, None if start is None else self.history_)
        close_pools(validation)
        self._store(ready.given, ready.imputation, layout, trained, online=isinstance(plan.trainer, OnlineTrainer))
        self.induced_, self.tilt_ = None, tilt

    def _preparation(self, **more: Any) -> Preparation:
        # From order 2 on runs of labels that training does not show are forbidden, and not transitions.
        forbids = self.transitions == "forbid_unseen" and self.order <= 1
        known: dict[str, Any] = {"needs_numbers": True, "forbid_unseen": forbids}
        if self.warm_start and hasattr(self, "weights_"):
            known |= chosen_before(self)
        return super()._preparation(**known | more)

    def _quick(self) -> LinearCRF:
        order = min(1, self.order)
        return LinearCRF(order=order, max_iter=QUICK_ITERATIONS, missing=self.missing, n_jobs=self.n_jobs)

    def _lay_out(
        self, dataset: Dataset | SharedCorpus, space: StateSpace, columns: Iterable[str] | None = None
    ) -> tuple[ChainLayout, Statistics]:
        """The weights that the training sequences ask for. columns : whose features score pairs of labels, too"""
        order, histories = int(self.order), None
        seen: dict[str, Any] = {"transitions": self.transitions, "min_frequency": self.min_frequency}
        if isinstance(dataset, SharedCorpus):
            return lay_out_shared(dataset, space, pairs=self.pairs, order=order, **seen)
        if order > 1:
            histories = observed_histories(dataset, space, order, **seen)
        columns = self.transition_columns if columns is None else columns
        return lay_out(
            dataset, space, **seen, pairs=self.pairs, transition_columns=columns, order=order, histories=histories
        )

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None, *, classes: Any = None) -> LinearCRF:
        """Learn from some more sequences: one pass of an online trainer over them.

        Values, attributes and labels that are new are added to the model; old weights stay. The sequences of all calls
        count as one corpus for the penalty. `trainer="auto"` is "adagrad" here. What needs all data at once is refused:
        `l1`, `min_frequency`, `early_stopping`, `missing` and the trainers of the whole corpus.

        Parameters
        ----------
        X, y, sample_weight : as in `fit`, without a Dataset
        classes : labels that may come later, optional
        """
        if self.order != 1:
            raise InputError(f"partial_fit is for ⟦order⟧ 1, not {self.order}", hint="Use fit.")
        if self.induction is not None:
            raise InputError("partial_fit does not find features (⟦induction⟧)", hint="Use fit.")
        if word_kind(self.features) is not None:
            hint = "Use fit, or give X as hedgerow.features.word_features(X) and its window."
            raise InputError(f"partial_fit does not make ⟦features={self.features!r}⟧", hint=hint)
        partial_fit(self, X, y, sample_weight, classes)
        return self

    def _restrict(self, space: StateSpace) -> None:
        self.layout_ = replace(self.layout_, space=self.layout_.space.intersect(space))

    def _check_parameters(self) -> Plan:
        check_parameters(self)
        check_missing(self, OF_LINEAR)
        return Plan.of(self)

    def _store(
        self,
        dataset: Dataset,
        imputation: Imputation | None,
        layout: ChainLayout,
        trained: Trained[FloatArray],
        *,
        online: bool,
    ) -> None:
        self._keep(dataset.schema, trained)
        self.imputation_, self.layout_ = imputation, layout
        self.weights_ = trained.learnt
        self.weights_.flags.writeable = False  # potentials are kept between calls: a write would reach only a part
        self.n_sequences_ = dataset.n_sequences
        what = "" if online and trained.outcome == "max_iter" else describe_end(trained, self.max_iter)
        if trained.outcome == "stuck":
            what = "no first step made the loss smaller; ⟦start='log_likelihood'⟧ or an online ⟦trainer⟧ may"
        if what:
            warn(what, ConvergenceWarning, stacklevel=5)

    def _complaint(self) -> str:
        return ""  # said when weights are stored, of `partial_fit` too

    def _compares_labelings(self) -> bool:
        return Plan.of(self).objective in OF_LABELINGS

    def _prepare(self) -> None:
        if self.__dict__.get("_chain", (None,))[0] is not self.weights_:
            chain = LinearChain(self.layout_)
            chain.load(self.weights_)
            self._chain = (self.weights_, chain)

    def _potentials(self, dataset: Dataset, first: int, last: int) -> ChainPotentials:
        self._prepare()
        chain = self._chain[1]
        chunk = chain.compile(*seen_part(self, dataset, first, last))
        return chain.potentials(replace(chunk, first_sequence=first))

    _attribute = linear_parts

    def _lean(self) -> Lean | None:
        self._prepare()
        chain: LinearChain = self._chain[1]
        if sees_otherwise(self) or chain.pairs is not None or not is_plain(chain.edges):
            return None
        assert isinstance(chain.edges, SharedEdges)
        return Lean(partial(score_sequence, chain), chain.edges, chain.start_scores, chain.end_scores)

    def _dataset(self, X: Any, known: Any, lengths: Any) -> Dataset:
        dataset = super()._dataset(X, known, lengths)
        if self.imputation_ is None:
            dataset.require_numbers()
        return dataset

    def _short_dataset(self, X: Any, y: Any) -> Dataset | None:
        dataset = super()._short_dataset(X, y)
        if dataset is not None and self.imputation_ is None:
            dataset.require_numbers()
        return dataset

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if "weights_" in state:
            self.weights_.flags.writeable = False  # a copy or a pickle of an array can be written to

    @property
    def transition_weights_(self) -> FloatArray:
        """(K, K), [from, to]: 0 where a transition has no weight, −inf where it is forbidden."""
        if self.layout_.histories is not None:
            raise AttributeError(f"a chain of order {self.order} has history_weights(), not transition_weights_")
        return self.layout_.edge_table(self.layout_.split(self.weights_)[1])

    def history_weights(self) -> list[tuple[tuple[Label | None, ...], Label, float]]:
        """(labels before, label, weight) of every run of labels, the largest weights first; None is before the first
        label. A label after a history scores the sum of the weights of all runs that end there. From order 2 on."""
        check_is_fitted(self)
        if self.layout_.histories is None:
            raise InputError(f"⟦order⟧ {self.order} has no histories", hint="See transition_weights_.")
        weights = self.layout_.split(self.weights_)[1]
        names = arc_names(self.schema_, self.layout_.histories)
        return [(*names[a], float(weights[a])) for a in np.argsort(-weights, kind="stable")]

    def feature_weights(self, label: Label | None = None) -> list[tuple[str, Label, float]]:
        """(feature, label, weight), the largest weights first; of one label where it is given."""
        check_is_fitted(self)
        return weights_of(label, self.schema_, named_weights(seen_schema(self), self.layout_, self.weights_))
