"""FutureFeatureMEMM: a maximum entropy Markov model of trees that finds patterns ahead by itself."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from hedgerow.data.dataset import Dataset
from hedgerow.declarations import check_parameters, documented
from hedgerow.errors import warn
from hedgerow.estimators.constraints import legal_space
from hedgerow.estimators.corpus import cut_flat, training_dataset
from hedgerow.estimators.missing import OF_TREES, check_missing, fill, learn_missing
from hedgerow.estimators.parameters import LOG_LIKELIHOOD
from hedgerow.estimators.validation import encode_held_out, hold_out
from hedgerow.legend import FloatArray
from hedgerow.models.future.parameters import FutureParameters
from hedgerow.models.future.training import FutureScores, FutureTrees, Trained, train
from hedgerow.models.local.base import LocalModel

log = logging.getLogger("hedgerow")


@documented
class FutureFeatureMEMM(FutureParameters, LocalModel):
    """A maximum entropy Markov model that finds future features: patterns ahead that tell what a label is here.

    A model that goes from left to right cannot see what comes later, and a wide window sees each later place by itself.
    A future feature says that a pattern stands somewhere in the next positions, the bag. It is found by
    multiple-instance boosting: trees score each position of a bag, and one position that has the pattern makes the bag
    positive. Training adds trees on the last labels, the input and the features known so far until that no longer
    helps, then looks for another feature. This is the FF-MEMM of chapter 5 of Hao's thesis (2009).

    Attributes
    ----------
    classes_ : array of labels, sorted
    scorer_ : what was learnt: trees and features
    n_features_ : how many future features were found
    n_iter_ : iterations, those that were dropped too; best_iteration_ : those that are kept
    refitted_ : whether the trees and features are those of a last training on all sequences (`refit`)
    loss_ : the loss of the training sequences; history_ : list of Step(iteration, loss, seconds, score)
    outcome_ : why training ended: "early_stopping", "converged", "n_estimators" or "interrupted"

    Examples
    --------
    >>> from hedgerow import FutureFeatureMEMM
    >>> from hedgerow.datasets import make_future
    >>> X, y = make_future("or", 150)
    >>> model = FutureFeatureMEMM(order=0, n_estimators=20, random_state=0).fit(X[:100], y[:100])
    >>> model.n_features_ > 0 and model.score(X[100:], y[100:]) > 0.9
    True
    """

    metric: Any = LOG_LIKELIHOOD
    warm_start: bool = False
    scorer_: FutureTrees
    refitted_: bool

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        X_val: Any = None,
        y_val: Any = None,
        *,
        lengths: Any = None,
    ) -> FutureFeatureMEMM:
        """Train on labelled sequences.

        Parameters
        ----------
        X : list of sequences (lists of dicts, of tokens; 2-D arrays; data frames), a generator of them, `Sequences`,
            or flat arrays with `lengths`; or a Dataset that `hedgerow.data.encoding.learn` made
        y : list of lists of labels; None is unlabelled, a set gives the labels that are possible. A position counts
            where the labels that it sees are known
        sample_weight : (S,) weights of the sequences, or a list of arrays of 0 (unlabelled) and 1
        X_val, y_val : held-out sequences, whose likelihood says when to stop
        lengths : the lengths of the sequences, where X and y are flat
        """
        self._check_parameters()
        X, y = cut_flat(X, y, lengths)
        dataset = training_dataset(self, X, y, sample_weight)
        again = bool(self.refit) and self._holds_out() and X_val is None
        part, _, _, X_val, y_val = hold_out(self, dataset, None, None, X_val, y_val)
        held_out = encode_held_out(dataset.schema, X_val, y_val)
        space = legal_space(dataset, self.constraints, forbid_unseen=self.transitions == "forbid_unseen")
        imputation = learn_missing(self, part)
        if held_out is not None:  # each of them counts as one, as in the other models
            held_out = fill(imputation, replace(held_out, weight_seq=None))
        trained = train(self, fill(imputation, part), held_out)
        self.imputation_, self.space_, self.refitted_ = imputation, space, False
        self._keep(dataset, trained)
        if again and self.outcome_ != "interrupted" and (self.best_iteration_ or self.n_features_):
            self._train_again(dataset, trained.rounds)
        return self

    def _keep(self, dataset: Dataset, trained: Trained) -> None:
        self.schema_ = dataset.schema
        self.classes_ = dataset.schema.classes
        self.order_, self.backward_ = self._order(), self._backward()
        self.runs_ = None
        self.metadata_ = {}
        self.history_ = trained.history
        self.n_iter_ = trained.n_iter
        self.outcome_ = "n_estimators" if trained.outcome == "max_iter" else trained.outcome
        self._keep_trees(trained)
        if trained.outcome == "interrupted":
            what = f"training was interrupted after {trained.n_iter} iterations; the best of them are kept"
            warn(what, ConvergenceWarning, stacklevel=3)

    def _keep_trees(self, trained: Trained) -> None:
        self.scorer_ = trained.trees
        self.best_iteration_ = trained.trees.ensemble_.n_iterations
        self.loss_ = trained.loss

    def _train_again(self, dataset: Dataset, rounds: list[int]) -> None:
        """Train on all sequences, in as many rounds as were kept; what stopped the first training is kept."""
        if self.verbose:
            log.info("training again on all sequences, for %d iterations", sum(rounds))
        imputation = learn_missing(self, dataset)
        trained = train(self, fill(imputation, dataset), None, rounds)
        if trained.outcome == "interrupted":  # the first model is whole, this one is not
            self.outcome_ = "interrupted"
            warn("training was interrupted; the model of the first is kept", ConvergenceWarning, stacklevel=3)
        else:
            self._keep_trees(trained)
            self.imputation_, self.refitted_ = imputation, True

    @property
    def n_features_(self) -> int:
        """How many future features were found."""
        check_is_fitted(self)
        return len(self.scorer_.features)

    @property
    def n_parameters_(self) -> int:
        """How many numbers were learnt: leaves of trees, and weights of features."""
        check_is_fitted(self)
        lower = sum(int((tree.nodes[:, 0] == -2).sum()) for one in self.scorer_.features for tree in one.trees)
        return self.scorer_.ensemble_.n_leaves + lower + self.n_features_

    def predict_features(self, X: Any, *, lengths: Any = None) -> list[FloatArray]:
        """The probability that each future feature's pattern stands ahead: a list of (T, n_features_) arrays."""
        dataset = self.seen(X, lengths=lengths)
        return _split(self.scorer_.bag_probs(dataset)[: self.n_features_], dataset)

    def predict_patterns(self, X: Any, *, lengths: Any = None) -> list[FloatArray]:
        """The probability that each position itself has a future feature's pattern: (T, n_features_) arrays."""
        dataset = self.seen(X, lengths=lengths)
        return _split(0.5 * (1.0 + np.tanh(0.5 * self.scorer_.instance_scores(dataset))), dataset)

    def seen(self, X: Any, *, lengths: Any = None) -> Dataset:
        """X as the trees of features see it: encoded, and with missing values filled in where they are to be."""
        dataset = self._dataset(X, None, lengths)
        return fill(self.imputation_, dataset)

    def _scores(self) -> FutureScores:
        return FutureScores(self.scorer_, self.order_)

    def _order(self) -> int:
        return int(self.order)

    def _backward(self) -> bool:
        return self.direction == "right_to_left"

    def _scorer(self) -> Any:
        return "trees"

    def _holds_out(self) -> bool:
        return bool(self.early_stopping)

    def _check_parameters(self) -> None:
        check_parameters(self)
        check_missing(self, OF_TREES)


def _split(rows: FloatArray, dataset: Dataset) -> list[FloatArray]:
    """(features, N) as a list of (T, features)."""
    flat = rows.T
    return [flat[begin:end] for begin, end in zip(dataset.offsets[:-1].tolist(), dataset.offsets[1:].tolist())]
