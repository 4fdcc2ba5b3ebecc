"""FutureFeatureMEMM: a maximum entropy Markov model of trees that finds patterns ahead by itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from hedgerow.data.dataset import Dataset
from hedgerow.data.imputation import fill
from hedgerow.declarations import check_parameters, documented
from hedgerow.estimators.base import cut
from hedgerow.estimators.prepare import Preparation, Prepared
from hedgerow.estimators.values import LOG_LIKELIHOOD, OF_TREES, check_missing
from hedgerow.legend import FloatArray
from hedgerow.models.future.parameters import FutureParameters
from hedgerow.models.future.training import FutureScores, FutureTrees, train
from hedgerow.models.local.base import RowChain
from hedgerow.models.local.memm import MEMM, quick_memm
from hedgerow.trees.nodes import LEAF, STREAM

PAPER: dict[str, Any] = {
    "window": 0, "bag": 6, "max_leaf_nodes": 10, "l2_regularization": 0.0, "learning_rate": 1.0,
    "categorical": "one_against_rest", "feature_steps": 10, "feature_bins": 20, "early_stopping": False, "refit": False,
    "calibrate": False,
}  # fmt: skip


@documented
class FutureFeatureMEMM(FutureParameters, RowChain):
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
    >>> model = FutureFeatureMEMM(order=0, window=0, n_estimators=20, random_state=0).fit(X[:100], y[:100])
    >>> model.n_features_ > 0 and model.score(X[100:], y[100:]) > 0.9
    True
    """

    scoring: Any = LOG_LIKELIHOOD
    scorer_: FutureTrees

    @classmethod
    def paper(cls, **parameters: Any) -> FutureFeatureMEMM:
        """FF-MEMM as chapter 5 of Hao's thesis has it: steps by line search, taken whole, leaves that are means, trees
        of 10 leaves that ask for one value, bags of 6, a position that sees itself alone.

        Sequences that you hold out (X_val, y_val) say when to stop. Other parameters may be given, and those named here
        may be changed.
        """
        return cls(**PAPER | parameters)

    def _train(self, ready: Prepared, duration: Sequence[int] | None = None) -> Sequence[int] | None:
        """Train and store. duration : the iterations of each round, which are done again; returned where anything was
        learnt."""
        trained = train(self, ready, self._seen_labels(ready), duration)
        self._keep(ready.given.schema, trained)
        self.imputation_, self.space_, self.refitted_ = ready.imputation, ready.space, False
        self.order_, self.backward_, self.runs_ = self._order(), self._backward(), None
        self.outcome_ = "n_estimators" if trained.outcome == "max_iter" else trained.outcome
        self.scorer_, rounds = trained.learnt
        self.best_iteration_ = self.scorer_.ensemble_.n_iterations
        return rounds if self.best_iteration_ or self.n_features_ else None

    def _preparation(self, **more: Any) -> Preparation:
        return super()._preparation(**{"splits": True, "keeps_all": bool(self.refit)} | more)

    def _quick(self) -> MEMM:
        return quick_memm(self, self.order, trees=True)

    @property
    def n_features_(self) -> int:
        """How many future features were found."""
        check_is_fitted(self)
        return len(self.scorer_.features)

    @property
    def n_parameters_(self) -> int:
        """How many numbers were learnt: leaves of trees, and weights of features."""
        check_is_fitted(self)
        lower = sum(int((tree.nodes[:, STREAM] == LEAF).sum()) for one in self.scorer_.features for tree in one.trees)
        return self.scorer_.ensemble_.n_leaves + lower + self.n_features_

    def predict_features(self, X: Any, *, lengths: Any = None) -> list[FloatArray]:
        """The probability that each future feature's pattern stands ahead: a list of (T, n_features_) arrays."""
        dataset = self.seen(X, lengths=lengths)
        return cut(self.scorer_.bag_probs(dataset)[: self.n_features_].T, dataset.offsets)

    def predict_patterns(self, X: Any, *, lengths: Any = None) -> list[FloatArray]:
        """The probability that each position itself has a future feature's pattern: (T, n_features_) arrays."""
        dataset = self.seen(X, lengths=lengths)
        return cut(0.5 * (1.0 + np.tanh(0.5 * self.scorer_.instance_scores(dataset))).T, dataset.offsets)

    def seen(self, X: Any, *, lengths: Any = None) -> Dataset:
        """X as the trees of features see it: encoded, and with missing values filled in where they are to be."""
        dataset = self._dataset(X, None, lengths)
        return fill(self.imputation_, dataset)

    def _no_stream(self) -> str:
        return "a FutureFeatureMEMM, which looks for patterns ahead, has no stream"

    def _scores(self) -> FutureScores:
        return FutureScores(self.scorer_, self.order_)

    def _learnt(self) -> FutureTrees:
        return self.scorer_

    def _check_parameters(self) -> None:
        check_parameters(self)
        check_missing(self, OF_TREES)
