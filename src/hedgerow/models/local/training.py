"""Training of local models: a classifier of rows (position, labels before it), linear, of trees, or the user's own."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from hedgerow.data.dataset import Dataset
from hedgerow.data.imputation import fill, seen_schema
from hedgerow.declarations import check_choice, check_parameters
from hedgerow.errors import InputError
from hedgerow.estimators.kept import refuse_checkpoint
from hedgerow.estimators.prepare import Preparation, Prepared
from hedgerow.estimators.values import (
    LOG_LIKELIHOOD,
    OF_LINEAR,
    OF_TREES,
    check_missing,
    chosen_before,
    random_generator,
)
from hedgerow.estimators.why.explanation import Part
from hedgerow.legend import CODE, UNLABELLED, CodeArray
from hedgerow.models.crf.linear import LinearCRF
from hedgerow.models.crf.linear_layout import check_names
from hedgerow.models.crf.tree import TreeCRF
from hedgerow.models.local.base import RowChain, SeenLabels
from hedgerow.models.local.foreign import ForeignScores, check_classifier, fit_classifier
from hedgerow.models.local.previous_labels import (
    LabelRuns,
    column_names,
    hide_unknown,
    label_histories,
    with_label_columns,
)
from hedgerow.models.local.rows import LinearScores, Scorer, TreeScores

if TYPE_CHECKING:
    from hedgerow.models.local.recurrent_sliding_window import RecurrentSlidingWindow

NAMED: dict[str, type[LinearCRF] | type[TreeCRF]] = {"linear": LinearCRF, "trees": TreeCRF}
# The model says it, and the estimator does it.
_SHARED = ("class_weight", "min_frequency", "n_jobs", "random_state", "verbose")
_OF_MODEL = (
    *_SHARED, "order", "columns", "window", "features", "missing", "fill_numbers", "transitions", "constraints",
    "decoder", "beam_width",
)  # fmt: skip
_EARLIER = {"window": 0, "order": 1}  # defaults of before, which files have


def is_ours(estimator: Any) -> bool:
    """Whether it is a LinearCRF or a TreeCRF, by name or as an object."""
    return isinstance(estimator, str) or type(estimator) in NAMED.values()


def named_estimator(name: Any, **parameters: Any) -> Any:
    """The estimator of rows of that name with these parameters, all of which it must have."""
    check_choice("estimator", name, tuple(NAMED))
    known = NAMED[name]().get_params(deep=False)
    for parameter in parameters:
        if parameter not in known:
            hint = f"It is a parameter of estimator={next(iter(NAMED.keys() - {name}))!r}."
            raise InputError(f"⟦{parameter}⟧ is not supported with estimator={name!r}", hint=hint)
    return NAMED[name](**parameters)


def new_classifier(model: LocalModel) -> Any:
    """The classifier of rows that a model's parameters describe, not fitted."""
    given = model.estimator
    if not is_ours(given):
        return clone(given)
    classifier = NAMED[given]() if isinstance(given, str) else clone(given)
    classifier.set_params(order=0, calibrate=False, **{name: getattr(model, name) for name in _SHARED})
    if classifier.scoring == "auto":
        classifier.set_params(scoring=LOG_LIKELIHOOD)
    if isinstance(classifier, TreeCRF):
        classifier.set_params(missing=model.missing if model.missing in ("weighting", "surrogate") else "learned")
    return classifier


def check_estimator(model: LocalModel) -> None:
    """Refuse an estimator that cannot classify rows, and parameters of one that are not its own to say."""
    given, kind = model.estimator, type(model).__name__
    if isinstance(given, str) and given in NAMED:
        return
    if type(given) not in NAMED.values():
        check_classifier(given)
        return
    defaults = type(given)().get_params(deep=False)
    for name in _OF_MODEL:
        unset = (defaults.get(name), _EARLIER.get(name, defaults.get(name)))
        if name in defaults and getattr(given, name) not in unset:
            what = f"⟦estimator={given!r}⟧ sets {name}, which is set by the {kind}"
            raise InputError(what, hint=f"Give {name} to the {kind}, and leave it out of the {type(given).__name__}.")


def predicted_histories(model: RecurrentSlidingWindow, dataset: Dataset) -> CodeArray:
    """int32 (N, order): labels that models of the other folds predict: what a model sees when it predicts."""
    n, n_folds = dataset.n_sequences, int(model.n_folds)
    if n < n_folds:
        hint = "Give a lower ⟦n_folds⟧, or ⟦training='teacher'⟧."
        raise InputError(f"{n_folds} folds of {n} sequences cannot be made", hint=hint)
    fold_of = random_generator(model.random_state).permutation(np.arange(n) % n_folds)
    labels: CodeArray = np.empty(dataset.n_positions, dtype=CODE)
    for fold in range(n_folds):
        teacher = clone(model).set_params(training="teacher")
        inside, outside = np.flatnonzero(fold_of != fold), np.flatnonzero(fold_of == fold)
        teacher.fit(dataset.take(inside))
        if teacher.outcome_ == "interrupted":
            raise KeyboardInterrupt
        held = replace(dataset.take(outside), labels=None, allowed=None)
        rows = np.concatenate([np.arange(dataset.offsets[i], dataset.offsets[i + 1]) for i in outside])
        labels[rows] = np.concatenate(teacher._decoding(None)(held))
    return label_histories(labels, dataset.offsets, dataset.n_labels, model._order(), backward=model._backward())


class LocalModel(RowChain):
    """A classifier of positions, with an estimator of rows that the user chooses."""

    estimator: Any
    estimator_: Any

    def _train(self, ready: Prepared, duration: Any = None) -> Any:
        warm, classifier = self._goes_on(), new_classifier(self)
        if ready.held_out is not None and not is_ours(classifier):
            raise InputError(f"⟦X_val⟧ is not supported with a {type(classifier).__name__}", hint="Leave it out.")
        labels = self._seen_labels(ready)
        if warm:  # a copy: another model may hold the one that was fitted
            classifier = copy.copy(self.estimator_).set_params(**classifier.get_params(deep=False))
        runs, loss = self._fit_rows(classifier, ready, labels)
        self._keep_rows(ready, classifier, runs, loss)
        super()._note_losses(ready)
        again = isinstance(classifier, TreeCRF) and classifier.refit and not warm and classifier.best_iteration_
        if again and classifier.outcome_ != "interrupted" and labels.everything is not None:
            whole = ready.whole()
            classifier._train_on(with_label_columns(whole.dataset, labels.everything, backward=self._backward()))
            self.__dict__.pop("_ready", None)  # the classifier is another one now
            self._keep_rows(whole if classifier.refitted_ else ready, classifier, runs, loss)

    def _note_losses(self, ready: Prepared) -> None:
        """`_train` does it, before it trains on all sequences."""

    def _fit_rows(self, classifier: Any, ready: Prepared, labels: SeenLabels) -> tuple[LabelRuns | None, float]:
        """Fit a classifier to the sequences that train.

        Returns the runs of labels that a linear one looks at, None for others; and the loss of one of the user's.
        """
        dataset, backward, runs = ready.dataset, self._backward(), None
        shown = hide_unknown(dataset, labels.training).labels
        if np.all(shown == UNLABELLED) and dataset.allowed is None:
            raise InputError("no position has a label, with labels before it", hint="Label more positions.")
        if not is_ours(classifier):
            return None, fit_classifier(classifier, dataset, labels.training, self.class_weight)
        seen: Callable[[Dataset, CodeArray], Dataset] = partial(with_label_columns, backward=backward)
        if isinstance(classifier, LinearCRF):
            given = getattr(self, "conjoin", None)
            columns = None if given == "all" else check_names(dataset.schema, set(given or ()), "conjoin")
            runs = LabelRuns.observed(dataset, labels.training, columns, backward=backward)
            seen = partial(runs.attach, schema=runs.schema(dataset.schema))
        held_out = None
        if ready.held_out is not None and labels.held_out is not None:
            held_out = seen(ready.held_out, labels.held_out)
        classifier.set_params(window=dataset.schema.window, features=dataset.schema.features or None)
        classifier.fit(seen(dataset, labels.training), X_val=held_out)
        return runs, np.nan

    def _check_kept(self) -> None:
        if not is_ours(self.estimator):
            hint = "Use a LinearCRF or a TreeCRF, or leave ⟦checkpoint⟧ out."
            refuse_checkpoint(f"⟦estimator={type(self.estimator).__name__}⟧", hint)

    def _complaint(self) -> str:
        return ""  # the classifier of rows said it

    def _preparation(self, **more: Any) -> Preparation:
        warm, classifier = self._goes_on(), new_classifier(self)
        trees, stops = isinstance(classifier, TreeCRF), is_ours(classifier) and bool(classifier.early_stopping)
        # Trees go on with the columns that they have.
        kept: dict[str, Any] = {"schema": self.schema_, "imputation": self.imputation_} if warm and trees else {}
        if warm:
            kept |= chosen_before(self)
        again = trees and classifier.refit and not warm
        known = {"splits": trees, "needs_numbers": not trees, "keeps_all": again, "holds_out": stops}
        if stops:
            known["validation_fraction"] = classifier.validation_fraction
            known["unstopped"] = f"estimator={type(classifier).__name__}(early_stopping=False)"
        return super()._preparation(**known | kept | more)

    def _quick(self) -> Any:
        from hedgerow.models.local.memm import quick_memm

        return quick_memm(self, self._order(), trees=isinstance(new_classifier(self), TreeCRF))

    def _goes_on(self) -> bool:
        """Whether this fit begins with what the previous one learnt."""
        classifier = new_classifier(self)
        if not is_ours(classifier) or not classifier.warm_start or not hasattr(self, "estimator_"):
            return False
        seen = self._order(), self._backward()
        if type(classifier) is not type(self.estimator_) or (self.order_, self.backward_) != seen:
            hint = "Leave both as they were, or set ⟦warm_start=False⟧."
            raise InputError("the previous fit was by another classifier, or saw other labels", hint=hint)
        return True

    def _keep_rows(self, ready: Prepared, classifier: Any, runs: LabelRuns | None, loss: float) -> None:
        schema = ready.given.schema
        self.imputation_, self.space_, self.runs_ = ready.imputation, ready.space, runs
        self.schema_, self.classes_, self.estimator_, self.metadata_ = schema, schema.classes, classifier, {}
        self.order_, self.backward_ = self._order(), self._backward()
        ours = classifier if is_ours(classifier) else None
        self.history_ = getattr(ours, "history_", [])
        self.n_iter_ = getattr(ours, "n_iter_", 1)
        self.best_iteration_ = getattr(ours, "best_iteration_", 1)
        self.loss_ = getattr(ours, "loss_", loss)
        self.outcome_ = getattr(ours, "outcome_", "converged")
        self.refitted_, self.tilt_ = getattr(ours, "refitted_", False), getattr(ours, "tilt_", None)

    def _check_parameters(self) -> None:
        check_parameters(self)
        check_estimator(self)
        classifier = new_classifier(self)
        check_missing(self, (None, *OF_TREES) if isinstance(classifier, TreeCRF) else OF_LINEAR)
        if is_ours(classifier):
            classifier._check_parameters()

    @property
    def n_parameters_(self) -> int:
        """How many numbers were learnt: weights, or leaves of trees; 0 of a classifier that is not ours."""
        if self.runs_ is not None:
            return len(self.estimator_.weights_)
        return int(self.estimator_.ensemble_.n_leaves) if hasattr(self.estimator_, "ensemble_") else 0

    def _scoring(self) -> Any:
        return new_classifier(self).scoring

    # -------------------------------------------------------------------------------------------- rows

    def _learnt(self) -> Any:
        return self.estimator_

    def _is_ours(self) -> bool:
        """Whether rows were fitted by a LinearCRF or a TreeCRF."""
        return self.runs_ is not None or hasattr(self.estimator_, "ensemble_")

    def _scores(self) -> Scorer:
        order, schema = self.order_, seen_schema(self)
        if self.runs_ is not None:
            return LinearScores(self.estimator_, self.runs_, schema)
        if hasattr(self.estimator_, "ensemble_"):
            return TreeScores(self.estimator_, order, backward=self.backward_)
        return ForeignScores(self.estimator_, len(schema.labels), order)

    def _attribute(self, dataset: Dataset, t: int, around: CodeArray, a: int, b: int) -> Iterable[Part] | None:
        if not self._is_ours():
            return None
        seen = fill(self.imputation_, dataset)
        before = label_histories(around, seen.offsets, seen.n_labels, self.order_, backward=self.backward_)
        if self.runs_ is None:
            rows = with_label_columns(seen, before, backward=self.backward_)
            names = column_names(self.order_, backward=self.backward_)
        else:
            rows = self.runs_.attach(seen, before, self.runs_.schema(seen.schema))
            names = self.runs_.run_names(seen.schema)
        parts = self.estimator_._attribute(rows, t, around, a, b)
        return (part for part in parts if part.name not in names)  # what labels say is told by itself

    def _dataset(self, X: Any, known: Any, lengths: Any) -> Dataset:
        dataset = super()._dataset(X, known, lengths)
        if self.imputation_ is None and not hasattr(self.estimator_, "ensemble_"):
            dataset.require_numbers()
        return dataset
