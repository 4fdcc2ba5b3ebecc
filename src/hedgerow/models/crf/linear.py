"""LinearCRF: a linear-chain conditional random field, for any objective and by any trainer."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from hedgerow.chain.objectives import LABELWISE
from hedgerow.chain.potentials import ChainPotentials
from hedgerow.data.dataset import Dataset, Label
from hedgerow.data.imputation import Imputation, seen_schema
from hedgerow.declarations import check_parameters, documented
from hedgerow.errors import InputError, warn
from hedgerow.estimators.base import ChainModel
from hedgerow.estimators.constraints import legal_space
from hedgerow.estimators.corpus import cut_flat, training_dataset
from hedgerow.estimators.histories import arc_names, observed_histories
from hedgerow.estimators.missing import OF_LINEAR, check_missing, fill, learn_missing, seen_part
from hedgerow.estimators.validation import Validation, encode_held_out, hold_out
from hedgerow.legend import FloatArray
from hedgerow.linear.chain import ChainLayout, LinearChain
from hedgerow.linear.scorer import check_numbers
from hedgerow.models.crf.linear_layout import carry_over, lay_out, named_weights, weights_of
from hedgerow.models.crf.linear_training import LinearTraining, Plan, Trained
from hedgerow.models.crf.parameters import LinearParameters
from hedgerow.models.crf.partial_fit import partial_fit


@documented
class LinearCRF(LinearParameters, ChainModel):
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

    Examples
    --------
    >>> from hedgerow import LinearCRF
    >>> model = LinearCRF(window=1).fit([["the", "cat"], ["a", "dog", "barks"]], [["D", "N"], ["D", "N", "V"]])
    >>> model.predict([["the", "dog"]]).tolist()
    [['D', 'N']]
    """

    imputation_: Imputation | None

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        X_val: Any = None,
        y_val: Any = None,
        *,
        lengths: Any = None,
    ) -> LinearCRF:
        """Train on labelled sequences.

        Parameters
        ----------
        X : list of sequences (lists of dicts, of tokens, of attribute lists; 2-D arrays; data frames), a generator of
            them, `Sequences`, or flat arrays with `lengths`; or a Dataset that `hedgerow.data.encoding.learn` made,
            which saves encoding a corpus twice and brings its own labels, weights, window and columns
        y : list of lists of labels; None is unlabelled, a set gives the labels that are possible
        sample_weight : (S,) weights of the sequences, or a list of arrays of 0 (unlabelled) and 1
        X_val, y_val : held-out sequences; training stops when `metric` on them no longer rises. X_val may be a
            Dataset with labels, encoded by the schema of the training Dataset; y_val is then left out
        lengths : the lengths of the sequences, where X and y are flat
        """
        self._check_parameters()
        X, y = cut_flat(X, y, lengths)
        X, y, sample_weight, X_val, y_val = hold_out(self, X, y, sample_weight, X_val, y_val)
        given = training_dataset(self, X, y, sample_weight)
        imputation = learn_missing(self, given, trees=False)
        dataset = fill(imputation, given)
        check_numbers(dataset, dataset.schema)
        held_out = encode_held_out(given.schema, X_val, y_val)
        if held_out is not None:
            held_out = fill(imputation, held_out)
            check_numbers(held_out, dataset.schema)
        longer = self.order > 1
        space = legal_space(dataset, self.constraints, forbid_unseen=self.transitions == "forbid_unseen" and not longer)
        seen: dict[str, Any] = {"transitions": self.transitions, "min_frequency": self.min_frequency}
        histories = observed_histories(dataset, space, int(self.order), **seen) if longer else None
        layout, statistics = lay_out(
            dataset,
            space,
            **seen,
            pairs=self.pairs,
            transition_columns=self.transition_columns,
            order=int(self.order),
            histories=histories,
        )
        warm = None
        if self.warm_start and hasattr(self, "weights_"):
            warm = carry_over(seen_schema(self), self.layout_, self.weights_, dataset.schema, layout)
        validation = None if held_out is None else Validation(self, layout, held_out)
        if validation is not None:  # a metric that cannot score y_val is found before any training
            validation(np.zeros(layout.n_weights) if warm is None else warm)
        plan = Plan.of(self, dataset, warm=warm is not None)
        training = LinearTraining(self, plan, dataset, layout, statistics, validation)
        trained = training.train(warm, None if warm is None else self.history_)
        self.imputation_ = imputation
        self._store(given, layout, trained)
        return self

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
        partial_fit(self, X, y, sample_weight, classes)
        return self

    def _check_parameters(self) -> Plan:
        check_parameters(self)
        check_missing(self, OF_LINEAR)
        return Plan.of(self)

    def _store(self, dataset: Dataset, layout: ChainLayout, trained: Trained) -> None:
        self.schema_ = dataset.schema
        self.classes_ = dataset.schema.classes
        self.layout_ = layout
        self.weights_ = trained.weights
        self.weights_.flags.writeable = False  # potentials are kept between calls: a write would reach only a part
        self.metadata_ = {}
        self.history_ = trained.history
        self.n_iter_ = trained.n_iter
        self.best_iteration_ = trained.best.iteration
        self.loss_ = trained.best.loss
        self.n_sequences_ = dataset.n_sequences
        self.outcome_ = trained.outcome
        if what := trained.complaint(self.max_iter):
            warn(what, ConvergenceWarning, stacklevel=3)

    def _decoder_name(self) -> str:
        if self.decoder != "auto":
            return self.decoder
        free = self.constraints is None and self.transitions != "forbid_unseen"
        return "posterior" if free and Plan.of(self).objective in LABELWISE else "viterbi"

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

    def _dataset(self, X: Any, known: Any, lengths: Any) -> Dataset:
        dataset = super()._dataset(X, known, lengths)
        if getattr(self, "imputation_", None) is None:
            check_numbers(dataset, self.schema_)
        return dataset

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        state.pop("_chain", None)
        return state

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
