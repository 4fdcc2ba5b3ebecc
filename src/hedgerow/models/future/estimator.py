"""FutureFeatureMEMM: a maximum entropy Markov model of trees that finds patterns ahead by itself."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from hedgerow.data.dataset import Dataset, Label, Window
from hedgerow.errors import InputError
from hedgerow.estimators.constraints import legal_space
from hedgerow.estimators.corpus import cut_flat, training_dataset
from hedgerow.estimators.missing import OF_TREES, check_missing, fill, learn_missing
from hedgerow.estimators.parameters import LOG_LIKELIHOOD, check_choice, check_common, check_number
from hedgerow.estimators.validation import encode_held_out, hold_out
from hedgerow.legend import FloatArray
from hedgerow.models.future.training import FutureScores, FutureTrees, Trained, train
from hedgerow.models.local.base import LocalModel
from hedgerow.models.local.previous_labels import MAX_ORDER
from hedgerow.trees.binning import MAX_VALUES

log = logging.getLogger("hedgerow")

DIRECTIONS = ("left_to_right", "right_to_left")
DECODERS = ("auto", "viterbi", "posterior", "beam", "greedy")


class FutureFeatureMEMM(LocalModel):
    """A maximum entropy Markov model that finds future features: patterns ahead that tell what a label is here.

    A model that goes from left to right cannot see what comes later, and a wide window sees each later place by itself.
    A future feature says that a pattern stands somewhere in the next positions, the bag. It is found by
    multiple-instance boosting: trees score each position of a bag, and one position that has the pattern makes the bag
    positive. Training adds trees on the last labels, the input and the features known so far until that no longer
    helps, then looks for another feature. This is the FF-MEMM of chapter 5 of Hao's thesis (2009).

    Parameters
    ----------
    order : int, default 1
        How many labels before a position it sees; 0 is a sliding window with future features.
    bag : int or None, default 6
        How many positions ahead a future feature looks at; None: all to the end of the sequence.
    max_features : int, default 10
        The most future features. With more than two labels each label that gains has one in every round.
    direction : {"left_to_right", "right_to_left"}, default "left_to_right"
        From right to left it sees the labels after a position, and features look at positions before it.
    window : int, pair or mapping, default 0
        Positions around t whose columns trees may split on, those of features too.
    columns : mapping of column name to kind, optional
        "categorical", "numeric", "boolean" or "attributes"; told from the data where it is not given.
    n_estimators : int, default 300
        The most iterations of a round, before and after each search for features: one tree a label each, or one in all
        where there are two labels.
    max_leaf_nodes : int, default 10
        The most leaves of a tree, of a feature's too.
    l2_regularization : float, default 20.0
        λ: the value of a leaf is Σ residuals / (rows + λ). A position is as many rows of a feature as it lies in bags.
    learning_rate : float, default 0.3
        The share of α, the best step of a tree, that is taken; 1 is the thesis' training. Where labels are noisy a
        share is better; those of features are always taken whole.
    min_samples_leaf : float, default 1
        The least rows of a leaf.
    feature_steps : int, default 10
        The most trees of a future feature.
    feature_bins : int, default 20
        The probability that a bag is positive is cut into so many bins, and trees ask whether it is above one of them.
    initial_score : float, default -5.0
        G₀, the score of a position before any tree of a feature: a negative one says that few have the pattern.
    max_step, max_weight : float, default 40.0
        Upper ends of the searches for α, the step of a tree, and η, the weight of a feature.
    max_bins, min_frequency, categorical, missing, fill_numbers : as in TreeCRF
    transitions, constraints, decoder, beam_width : as in MEMM
    early_stopping : bool, default True
        Hold out `validation_fraction` of the sequences. Their likelihood then says when trees, or a feature, no longer
        help; otherwise that of the training sequences does. Sequences given to `fit` as X_val, y_val do the same.
    refit : bool, default True
        When the model itself held sequences out, train once more, on all of them, in as many rounds and for as many
        iterations each as were kept; features are looked for anew.
    validation_fraction : float, default 0.1
    n_iter_no_change : int, default 5
        Trees are added until the likelihood has not risen by the share `tol` for so many iterations.
    tol : float, default 1e-3
        A feature, too, must raise the likelihood by this share.
    n_jobs : int, optional
        Threads of prediction; −1 is all cores. The result is the same to the bit.
    random_state : int, RandomState or None
        Which sequences are held out.
    verbose : int, default 0

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

    def __init__(
        self,
        *,
        order: int = 1,
        bag: int | None = 6,
        max_features: int = 10,
        direction: str = "left_to_right",
        window: Window = 0,
        columns: Mapping[str, str] | None = None,
        n_estimators: int = 300,
        max_leaf_nodes: int = 10,
        l2_regularization: float = 20.0,
        learning_rate: float = 0.3,
        min_samples_leaf: float = 1.0,
        feature_steps: int = 10,
        feature_bins: int = 20,
        initial_score: float = -5.0,
        max_step: float = 40.0,
        max_weight: float = 40.0,
        max_bins: int = MAX_VALUES,
        min_frequency: float = 1.0,
        categorical: str = "subset",
        missing: str = "learned",
        fill_numbers: str = "mean",
        transitions: str = "all",
        constraints: str | Iterable[tuple[Label, Label]] | None = None,
        decoder: str = "auto",
        beam_width: int = 20,
        early_stopping: bool = True,
        refit: bool = True,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 5,
        tol: float = 1e-3,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.order = order
        self.bag = bag
        self.max_features = max_features
        self.direction = direction
        self.window = window
        self.columns = columns
        self.n_estimators = n_estimators
        self.max_leaf_nodes = max_leaf_nodes
        self.l2_regularization = l2_regularization
        self.learning_rate = learning_rate
        self.min_samples_leaf = min_samples_leaf
        self.feature_steps = feature_steps
        self.feature_bins = feature_bins
        self.initial_score = initial_score
        self.max_step = max_step
        self.max_weight = max_weight
        self.max_bins = max_bins
        self.min_frequency = min_frequency
        self.categorical = categorical
        self.missing = missing
        self.fill_numbers = fill_numbers
        self.transitions = transitions
        self.constraints = constraints
        self.decoder = decoder
        self.beam_width = beam_width
        self.early_stopping = early_stopping
        self.refit = refit
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

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
            warnings.warn(what, ConvergenceWarning, stacklevel=3)

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
            warnings.warn("training was interrupted; the model of the first is kept", ConvergenceWarning, stacklevel=3)
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
        check_common(self)
        check_number("order", self.order, low=0, high=MAX_ORDER, whole=True)
        for name in ("max_features", "n_estimators", "feature_steps"):
            check_number(name, getattr(self, name), low=1, whole=True)
        if self.bag is not None:
            check_number("bag", self.bag, low=1, whole=True)
        check_number("max_leaf_nodes", self.max_leaf_nodes, low=2, high=2**16 - 1, whole=True)
        check_number("max_bins", self.max_bins, low=2, high=MAX_VALUES, whole=True)
        check_number("feature_bins", self.feature_bins, low=2, high=MAX_VALUES, whole=True)
        for name in ("l2_regularization", "min_samples_leaf", "min_frequency", "tol"):
            check_number(name, getattr(self, name), low=0.0)
        check_number("initial_score", self.initial_score, low=-30.0, high=30.0)
        for name in ("learning_rate", "max_step", "max_weight"):
            check_number(name, getattr(self, name), low=0.0, strict=True)
        check_number("learning_rate", self.learning_rate, low=0.0, high=1.0)
        for name in ("early_stopping", "refit"):
            if not isinstance(getattr(self, name), (bool, np.bool_)):
                raise InputError(f"{name} is {getattr(self, name)!r}", hint="Give True or False.")
        check_choice("direction", self.direction, DIRECTIONS)
        check_choice("categorical", self.categorical, ("one_against_rest", "subset"))
        check_choice("transitions", self.transitions, ("all", "forbid_unseen"))
        check_choice("decoder", self.decoder, DECODERS)
        check_missing(self, OF_TREES)


def _split(rows: FloatArray, dataset: Dataset) -> list[FloatArray]:
    """(features, N) as a list of (T, features)."""
    flat = rows.T
    return [flat[begin:end] for begin, end in zip(dataset.offsets[:-1].tolist(), dataset.offsets[1:].tolist())]
