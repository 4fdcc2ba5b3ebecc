"""CRF: sklearn-crfsuite's estimator, over LinearCRF."""

from __future__ import annotations

import itertools
import os
import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, Literal, NoReturn

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from hedgerow.compat.conversion import check_place, from_linear, read_file, write_file
from hedgerow.compat.items import (
    as_known,
    as_weights,
    by_appearance,
    check_held_out,
    read_labelings,
    read_sequences,
    rows_of,
)
from hedgerow.compat.model_files import write_model
from hedgerow.data.dataset import Label
from hedgerow.data.rows import MixedTypesError
from hedgerow.declarations import NonNegative, Positive, Range, check_parameters
from hedgerow.errors import InputError
from hedgerow.legend import AnyArray
from hedgerow.metrics import flat_accuracy_score, sequence_accuracy_score
from hedgerow.models.crf.linear import LinearCRF
from hedgerow.trainers import AROW, LBFGS, AnnealedSGD, AveragedPerceptron, PassiveAggressive, Trainer
from hedgerow.training.monitor import PERIOD

if TYPE_CHECKING:
    from hedgerow.compat.pycrfsuite import Tagger

UNLIMITED = 2**31 - 1  # CRFsuite's own default for the iterations of L-BFGS

# How many iterations CRFsuite gives each trainer by default.
_ITERATIONS = {"lbfgs": UNLIMITED, "l2sgd": 1000, "ap": 100, "pa": 100, "arow": 100}
_SLACK: dict[int, Any] = {0: "none", 1: "linear", 2: "squared"}  # by CRFsuite's type of "pa"

# Parameters of one trainer. With another, CRFsuite refuses them too.
_OF_TRAINERS = {
    "l2sgd": [f"calibration_{name}" for name in ("eta", "rate", "samples", "candidates", "max_trials")],
    "pa": ["pa_type", "c", "error_sensitive", "averaging"],
    "arow": ["variance", "gamma"],
    "lbfgs": ["c1"],
}


@dataclass(frozen=True)
class TrainingLog:
    """What happened in training: a dict per iteration, with "num", "loss" and "time" (seconds)."""

    iterations: list[dict[str, Any]]

    @property
    def last_iteration(self) -> dict[str, Any]:
        return self.iterations[-1]


@dataclass(eq=False, repr=False)  # not keyword-only: the order is that of sklearn_crfsuite.CRF
class CRF(BaseEstimator):  # type: ignore[misc]
    """A linear-chain CRF with the parameters, methods and attributes of sklearn_crfsuite.CRF.

    None stands for CRFsuite's default, which is given here.

    Parameters
    ----------
    algorithm : "lbfgs" (the default), "l2sgd", "ap", "pa" or "arow"
        "l2sgd" minimises what "lbfgs" does, by stochastic gradient descent; "ap" is the averaged perceptron, "pa" the
        passive-aggressive algorithm, and "arow" adaptive regularization of weights.
    min_freq : float, default 0
        Features seen less often get no weight. As in CRFsuite this also goes for transitions, and the features that
        `all_possible_states` and `all_possible_transitions` would add are never seen.
    all_possible_states : bool, default False
        A weight for every label of every attribute.
    all_possible_transitions : bool, default False
        A weight for every pair of labels.
    c1, c2 : float, default 0 and 1.0
        The penalty c1·‖w‖₁ + c2·‖w‖².
    max_iterations : int, default unlimited; 1000 for "l2sgd", and 100 for "ap", "pa" and "arow"
        Reaching it is no warning. LinearCRF's iterations go further than CRFsuite's, so a model stopped early is
        not the same one; a model that converged is.
    delta, period : float and int, default 1e-5 and 10
        Training ends when the loss fell by less than the share `delta` in `period` iterations. LinearCRF looks at ten
        iterations: its `tol` is delta·10/period, the same fall per iteration. A period of 0 goes on to the limit of the
        arithmetic. "ap", "pa" and "arow" have no such parameters, and end when ten passes did not lower the loss.
    epsilon, num_memories, linesearch, max_linesearch
        Accepted without effect: they say how CRFsuite's optimiser finds the minimum, not where the minimum is.
    calibration_eta, calibration_rate, calibration_samples, calibration_candidates, calibration_max_trials
        The same, for "l2sgd" alone.
    verbose : bool, default False
        A progress bar on a terminal, log lines (logger "hedgerow") elsewhere.
    keep_tempfiles
        Accepted without effect: there are no temporary files.
    pa_type, c, error_sensitive, averaging : default 1, 1.0, True and True
        Of "pa": 0 takes steps as they are, 1 caps them at `c` and 2 shortens them (PA, PA-I and PA-II); whether the
        margin grows with the number of wrong labels; whether weights are averaged. See PassiveAggressive.
    variance, gamma : default 1.0 and 1.0
        Of "arow": see AROW. With another algorithm these six are refused, as by CRFsuite.
    model_filename : str or path
        `fit` writes the model there too, as CRFsuite does; a CRF that is not fitted reads the file that is there.
    trainer_cls
        Needs CRFsuite itself; anything but None is refused.

    Attributes
    ----------
    model_ : the LinearCRF. It takes the same X, saves to a file, and has k-best, sampling, constraints and more.
    mixed_keys_ : whether a key of the training dicts has values of several types. model_ then takes dicts of
        attribute to weight: {"a:s": 1.0} for {"a": "s"}.
    tagger_ : a Tagger as python-crfsuite has it: see `hedgerow.compat.pycrfsuite`
    classes_ : list of labels, in the order of their first appearance
    state_features_ : dict of (attribute, label) to weight, transition_features_ : dict of (from, to) to weight
    attributes_ : list of the attributes that have a weight, num_attributes_ : how many
    size_ : bytes of the model, as CRFsuite would write it
    training_log_ : TrainingLog with `iterations` and `last_iteration`

    As in sklearn-crfsuite they are None, but for the first two, while there is no model.
    """

    algorithm: Literal["lbfgs", "l2sgd", "ap", "pa", "arow"] | None = None
    min_freq: NonNegative | None = None
    all_possible_states: bool | int | None = None
    all_possible_transitions: bool | int | None = None
    c1: NonNegative | None = None
    c2: NonNegative | None = None
    max_iterations: Annotated[int, Range(0)] | None = None
    num_memories: int | None = None
    epsilon: float | None = None
    period: Annotated[int, Range(0)] | None = None
    delta: NonNegative | None = None
    linesearch: str | None = None
    max_linesearch: int | None = None
    calibration_eta: float | None = None
    calibration_rate: float | None = None
    calibration_samples: int | None = None
    calibration_candidates: int | None = None
    calibration_max_trials: int | None = None
    pa_type: Annotated[int, Range(0, 2)] | None = None
    c: Positive | None = None
    error_sensitive: bool | int | None = None
    averaging: bool | int | None = None
    variance: Positive | None = None
    gamma: Positive | None = None
    verbose: bool | int = False
    model_filename: str | os.PathLike[str] | None = None
    keep_tempfiles: bool | int | None = False
    trainer_cls: Any = None

    def fit(self, X: Any, y: Any, X_dev: Any = None, y_dev: Any = None) -> CRF:
        """Train a model.

        Parameters
        ----------
        X : list of sequences: lists of feature dicts, lists of lists of attributes, or pycrfsuite.ItemSequence
        y : list of lists of labels
        X_dev, y_dev : held-out sequences. They do not change the model. Its accuracy on them stands in
            `training_log_.last_iteration`, as "item_accuracy_float" and "instance_accuracy_float".
        """
        if (X_dev is None) != (y_dev is None):
            raise InputError("X_dev and y_dev go together", hint="Give both, or neither.")
        if y is None:
            raise InputError("y is missing", hint="fit needs the labels of the training sequences.")
        if X_dev is not None:
            X_dev, y_dev = read_sequences("X_dev", X_dev), read_labelings("y_dev", y_dev)
            check_held_out(X_dev, y_dev)
        model = self._linear_crf()
        X, y = read_sequences("X", X), read_labelings("y", y)
        if len(X) != len(y):
            raise InputError(f"X has {len(X)} sequences and y has {len(y)}")
        if self.model_filename is not None:
            check_place(self.model_filename, itertools.chain.from_iterable(y))
        filled = [i for i in range(len(X)) if len(X[i]) or len(y[i])]  # CRFsuite takes empty sequences
        X, y = [X[i] for i in filled], [y[i] for i in filled]
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "training stopped after max_iter", ConvergenceWarning)
            try:
                model.fit(X, y)
                self.mixed_keys_ = False
            except MixedTypesError:  # found while X is read, before any training
                model.fit([as_weights(sequence) for sequence in X], y)
                self.mixed_keys_ = True
        self.model_, self._labels = model, by_appearance(model.schema_.labels, y)
        if self.model_filename is not None:
            write_file(self.model_filename, model, self._labels)
        self.training_log_ = _training_log(model)
        if X_dev is not None:
            predicted = self.predict(X_dev)
            self.training_log_.last_iteration.update(
                item_accuracy_float=flat_accuracy_score(y_dev, predicted),
                instance_accuracy_float=sequence_accuracy_score(y_dev, predicted),
            )
        return self

    def _linear_crf(self) -> LinearCRF:
        """An unfitted LinearCRF with these parameters, once they are known to be ones it can honour."""
        self._refuse_what_needs_crfsuite()
        min_freq, c1, c2, delta = (
            default if value is None else value
            for value, default in ((self.min_freq, 0.0), (self.c1, 0.0), (self.c2, 1.0), (self.delta, 1e-5))
        )
        period = PERIOD if self.period is None else self.period
        algorithm = self.algorithm or "lbfgs"
        falls = algorithm in ("lbfgs", "l2sgd")  # the loss of the others goes up and down
        everything = not min_freq  # what is added without being seen has the frequency 0
        return LinearCRF(
            window=0,
            trainer=self._trainer(algorithm),
            l1=c1,
            l2=c2,
            min_frequency=min_freq,
            pairs="all" if self.all_possible_states and everything else "observed",
            transitions="all" if self.all_possible_transitions and everything else "observed",
            max_iter=self.max_iterations or _ITERATIONS[algorithm],
            decoder="viterbi",
            random_state=0,
            tol=delta * PERIOD / period if period and falls else 0.0,
            verbose=int(self.verbose),
        )

    def _trainer(self, algorithm: str) -> Trainer:
        def given(**names: Any) -> dict[str, Any]:
            return {name: value for name, value in names.items() if value is not None}

        if algorithm == "pa":
            counts, averages = self.error_sensitive, self.averaging
            return PassiveAggressive(
                slack=_SLACK[1 if self.pa_type is None else self.pa_type],
                count_errors=counts is None or bool(counts),
                average=averages is None or bool(averages),
                **given(aggressiveness=self.c),
            )
        if algorithm == "arow":
            return AROW(**given(variance=self.variance, gamma=self.gamma))
        return {"lbfgs": LBFGS, "l2sgd": AnnealedSGD, "ap": AveragedPerceptron}[algorithm]()

    def _refuse_what_needs_crfsuite(self) -> None:
        check_parameters(self)
        algorithm = "lbfgs" if self.algorithm is None else self.algorithm
        for owner, names in _OF_TRAINERS.items():
            for name in names:
                value = getattr(self, name)
                is_given = bool(value) if name == "c1" else value is not None  # c1=0 is no penalty
                if is_given and owner != algorithm:
                    what = f"{name} belongs to algorithm={owner!r} and is not supported with {algorithm!r}"
                    raise InputError(what, hint="Leave it out.")
        if self.trainer_cls is not None:
            raise InputError("trainer_cls is a trainer of python-crfsuite", hint="Leave it out; see training_log_.")

    def predict(self, X: Any) -> AnyArray:
        """The labels of each sequence: an array of lists, dtype object. As in sklearn-crfsuite it has a row for each
        sequence where all are of one length."""
        return np.array(self._asked("predict", X), dtype=object)

    def _asked(self, name: str, X: Any) -> list[Any]:
        """What a method of model_ gives of X, in the types that model_ was trained with; an empty list for a sequence
        without positions."""
        method, X = getattr(self._fitted(), name), read_sequences("X", X)
        filled = [as_weights(sequence) if self.mixed_keys_ else sequence for sequence in X if len(sequence)]
        try:
            results = iter(method(filled) if filled else ())
        except MixedTypesError:
            if self.mixed_keys_:
                raise
            results = iter(method([as_known(sequence, self.model_.schema_) for sequence in filled]))
        return [next(results) if len(sequence) else [] for sequence in X]

    def predict_single(self, xseq: Any) -> list[Label]:
        """The labels of one sequence."""
        model, labels = self._fitted(), None
        if not self.mixed_keys_:  # whose values are turned into weights first
            labels = model._own_predictor().labels([rows_of(xseq)], None, None)
        return list(self._asked("predict", [xseq])[0]) if labels is None else labels

    def predict_marginals(self, X: Any) -> AnyArray:
        """The probability of each label at each position: an array of lists of dicts, dtype object, of the same form
        as that of `predict`."""
        return np.array(self._marginals(X), dtype=object)

    def _marginals(self, X: Any) -> list[list[dict[Label, float]]]:
        columns = [self._fitted().schema_.label_codes[label] for label in self._labels]
        tables = (probs[:, columns].tolist() if len(probs) else [] for probs in self._asked("predict_proba", X))
        return [[dict(zip(self._labels, row)) for row in table] for table in tables]

    def predict_marginals_single(self, xseq: Any) -> list[dict[Label, float]]:
        """The probability of each label at each position of one sequence."""
        return self._marginals([xseq])[0]

    def score(self, X: Any, y: Any) -> float:
        """The share of positions whose label is right."""
        return flat_accuracy_score(y, self.predict(X))

    @property
    def classes_(self) -> list[Label] | None:
        """The labels, in the order of their first appearance."""
        return None if self._model() is None else list(self._labels)

    @property
    def state_features_(self) -> dict[tuple[str, Label], float] | None:
        """(attribute, label) → weight, the largest first, where it is not 0."""
        model = self._model()
        if model is None:
            return None
        return {(name, label): weight for name, label, weight in model.feature_weights() if weight != 0.0}

    @property
    def transition_features_(self) -> dict[tuple[Label, Label], float] | None:
        """(from, to) → weight, where it is not 0."""
        model = self._model()
        if model is None:
            return None
        labels, layout = model.schema_.labels, model.layout_
        moves = zip(layout.arc_from.tolist(), layout.arc_to.tolist(), layout.split(model.weights_)[1].tolist())
        return {(labels[u], labels[v]): weight for u, v, weight in moves if weight != 0.0}

    @property
    def attributes_(self) -> list[str] | None:
        """The attributes that have a weight."""
        features = self.state_features_
        return None if features is None else list(dict.fromkeys(name for name, _ in features))

    @property
    def num_attributes_(self) -> int | None:
        """How many attributes have a weight."""
        attributes = self.attributes_
        return None if attributes is None else len(attributes)

    @property
    def size_(self) -> int | None:
        """The bytes of the model, as CRFsuite would write it."""
        model = self._model()
        if model is None:
            return None
        source = from_linear(model, self._labels)
        return len(write_model(replace(source, labels=list(map(str, source.labels)))))

    @property
    def tagger_(self) -> Tagger | None:
        """A tagger with the face of python-crfsuite's; the same one until the model is another."""
        from hedgerow.compat.pycrfsuite import Tagger

        model = self._model()
        if model is None:
            return None
        if self.__dict__.get("_tagger", (None,))[0] is not model:
            self._tagger = (model, Tagger.of(from_linear(model, self._labels)))
        return self._tagger[1]

    @property
    def modelfile(self) -> NoReturn:
        raise AttributeError(
            "modelfile is a temporary file of sklearn-crfsuite and has no counterpart here. With model_filename=path, "
            "fit writes CRFsuite's file; model_.save(path) writes one that hedgerow.load(path) reads"
        )

    def __sklearn_is_fitted__(self) -> bool:
        return self._model() is not None

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_tagger"}

    def _model(self) -> LinearCRF | None:
        """The model, read from its file where there is one and nothing was fitted; None where there is none."""
        if not hasattr(self, "model_") and self.model_filename is not None and os.path.exists(self.model_filename):
            source, self.model_ = read_file(self.model_filename)
            self._labels = list(source.labels)
            self.mixed_keys_ = False
        return getattr(self, "model_", None)

    def _fitted(self) -> LinearCRF:
        model = self._model()
        if model is None:
            self._refuse_what_needs_crfsuite()
            if self.model_filename is not None:
                raise NotFittedError(f"this CRF is not fitted yet, and there is no file {self.model_filename!s}")
            raise NotFittedError("this CRF is not fitted yet: call fit first")
        return model


def _training_log(model: LinearCRF) -> TrainingLog:
    ends = [0.0, *(step.seconds for step in model.history_)]
    iterations = [
        {"num": step.iteration, "loss": step.loss, "time": end - begin}
        for step, (begin, end) in zip(model.history_, itertools.pairwise(ends))
    ]
    return TrainingLog(iterations or [{"num": 0, "loss": model.loss_, "time": 0.0}])
