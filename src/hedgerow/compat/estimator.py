"""CRF: sklearn-crfsuite's estimator, over LinearCRF."""

from __future__ import annotations

import itertools
import warnings
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NoReturn

from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from hedgerow.compat.items import as_known, as_weights
from hedgerow.data.columns import MixedTypesError
from hedgerow.data.dataset import Label
from hedgerow.data.labels import SETS, is_iterable
from hedgerow.data.rows import n_rows
from hedgerow.declarations import NonNegative, Range, check_parameters
from hedgerow.errors import InputError, quoted
from hedgerow.estimators.base import object_array
from hedgerow.estimators.codec.parts import pack
from hedgerow.estimators.codec.schema import SCHEMA
from hedgerow.legend import AnyArray
from hedgerow.metrics import flat_accuracy_score, sequence_accuracy_score
from hedgerow.models.crf.linear import LinearCRF
from hedgerow.models.crf.linear_files import LAYOUT
from hedgerow.training.monitor import PERIOD

UNLIMITED = 2**31 - 1  # CRFsuite's own default for the iterations of L-BFGS

# What LinearCRF calls the trainers, and how many iterations CRFsuite gives each by default.
_TRAINERS = {"lbfgs": ("lbfgs", UNLIMITED), "l2sgd": ("annealed_sgd", 1000), "ap": ("averaged_perceptron", 100)}

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
    algorithm : "lbfgs" (the default), "l2sgd" or "ap"
        "l2sgd" minimises what "lbfgs" does, by stochastic gradient descent; "ap" is the averaged perceptron. "pa" and
        "arow" are refused.
    min_freq : float, default 0
        Features seen less often get no weight. As in CRFsuite this also goes for transitions, and the features that
        `all_possible_states` and `all_possible_transitions` would add are never seen.
    all_possible_states : bool, default False
        A weight for every label of every attribute.
    all_possible_transitions : bool, default False
        A weight for every pair of labels.
    c1, c2 : float, default 0 and 1.0
        The penalty c1·‖w‖₁ + c2·‖w‖².
    max_iterations : int, default unlimited; 1000 for "l2sgd" and 100 for "ap"
        Reaching it is no warning. LinearCRF's iterations go further than CRFsuite's, so a model stopped early is
        not the same one; a model that converged is.
    delta, period : float and int, default 1e-5 and 10
        Training ends when the loss fell by less than the share `delta` in `period` iterations. LinearCRF looks at ten
        iterations: its `tol` is delta·10/period, the same fall per iteration. A period of 0 goes on to the limit of the
        arithmetic.
    epsilon, num_memories, linesearch, max_linesearch, and with "l2sgd" calibration_eta, calibration_rate,
    calibration_samples, calibration_candidates, calibration_max_trials
        Accepted without effect: they say how CRFsuite's optimiser finds the minimum, not where the minimum is.
    verbose : bool, default False
        A progress bar on a terminal, log lines (logger "hedgerow") elsewhere.
    keep_tempfiles
        Accepted without effect: there are no temporary files.
    pa_type, c, error_sensitive, averaging, variance, gamma
        Belong to "pa" and "arow"; anything but None is refused, as by CRFsuite with another algorithm.
    model_filename, trainer_cls
        Need CRFsuite itself; anything but None is refused.

    Attributes
    ----------
    model_ : the LinearCRF. It takes the same X, saves to a file, and has k-best, sampling, constraints and more.
    mixed_keys_ : whether a key of the training dicts has values of several types. model_ then takes dicts of
        attribute to weight: {"a:s": 1.0} for {"a": "s"}.
    classes_ : list of labels, in the order of their first appearance
    state_features_ : dict of (attribute, label) to weight, transition_features_ : dict of (from, to) to weight
    attributes_ : list of the attributes that have a weight, num_attributes_ : how many
    size_ : bytes of the model
    training_log_ : TrainingLog with `iterations` and `last_iteration`
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
    pa_type: int | None = None
    c: float | None = None
    error_sensitive: bool | int | None = None
    averaging: bool | int | None = None
    variance: float | None = None
    gamma: float | None = None
    verbose: bool | int = False
    model_filename: str | None = None
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
            X_dev, y_dev = _sequences(X_dev, "X_dev"), _sequences(y_dev, "y_dev")
            _check_held_out(X_dev, y_dev)
        model = self._linear_crf()
        X, y = [rows_of(sequence) for sequence in _sequences(X, "X")], _sequences(y, "y")
        if len(X) != len(y):
            raise InputError(f"X has {len(X)} sequences and y has {len(y)}")
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
        self.model_ = model
        self.classes_ = _by_appearance(model.schema_.labels, y)
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
        trainer, unlimited = _TRAINERS[self.algorithm or "lbfgs"]
        everything = not min_freq  # what is added without being seen has the frequency 0
        return LinearCRF(
            window=0,
            trainer=trainer,
            l1=c1,
            l2=c2,
            min_frequency=min_freq,
            pairs="all" if self.all_possible_states and everything else "observed",
            transitions="all" if self.all_possible_transitions and everything else "observed",
            max_iter=self.max_iterations or unlimited,
            decoder="viterbi",
            random_state=0,
            tol=delta * PERIOD / period if period else 0.0,
            verbose=int(self.verbose),
        )

    def _refuse_what_needs_crfsuite(self) -> None:
        check_parameters(self)
        algorithm = "lbfgs" if self.algorithm is None else self.algorithm
        if algorithm not in _TRAINERS:
            hint = "Use 'ap', or hedgerow.LinearCRF(objective='margin')."
            raise InputError(f"algorithm={algorithm!r} is not available", hint=hint)
        for owner, names in _OF_TRAINERS.items():
            for name in names:
                value = getattr(self, name)
                is_given = bool(value) if name == "c1" else value is not None  # c1=0 is no penalty
                if is_given and owner != algorithm:
                    what = f"{name} belongs to algorithm={owner!r} and is not supported with {algorithm!r}"
                    raise InputError(what, hint="Leave it out.")
        if self.model_filename is not None:
            what = "model_filename names a CRFsuite model, which hedgerow neither reads nor writes"
            hint = "Train again; model_.save(path) writes the model and hedgerow.load(path) reads it."
            raise InputError(what, hint=hint)
        if self.trainer_cls is not None:
            raise InputError("trainer_cls is a trainer of python-crfsuite", hint="Leave it out; see training_log_.")

    def predict(self, X: Any) -> AnyArray:
        """The labels of each sequence: an array of lists, dtype object."""
        return object_array(self._asked("predict", X))

    def _asked(self, name: str, X: Any) -> list[Any]:
        """What a method of model_ gives of X, in the types that model_ was trained with; an empty list for a sequence
        without positions."""
        method, X = getattr(self._fitted(), name), [rows_of(sequence) for sequence in _sequences(X, "X")]
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
        return list(self.predict([xseq])[0]) if labels is None else labels

    def predict_marginals(self, X: Any) -> AnyArray:
        """The probability of each label at each position: an array of lists of dicts, dtype object."""
        columns = [self._fitted().schema_.label_codes[label] for label in self.classes_]
        tables = (probs[:, columns].tolist() if len(probs) else [] for probs in self._asked("predict_proba", X))
        return object_array([dict(zip(self.classes_, row)) for row in table] for table in tables)

    def predict_marginals_single(self, xseq: Any) -> list[dict[Label, float]]:
        """The probability of each label at each position of one sequence."""
        return list(self.predict_marginals([xseq])[0])

    def score(self, X: Any, y: Any) -> float:
        """The share of positions whose label is right."""
        return flat_accuracy_score(y, self.predict(X))

    @property
    def state_features_(self) -> dict[tuple[str, Label], float]:
        """(attribute, label) → weight, the largest first, where it is not 0."""
        weights = self._fitted().feature_weights()
        return {(name, label): weight for name, label, weight in weights if weight != 0.0}

    @property
    def transition_features_(self) -> dict[tuple[Label, Label], float]:
        """(from, to) → weight, where it is not 0."""
        model = self._fitted()
        labels, layout = model.schema_.labels, model.layout_
        moves = zip(layout.arc_from.tolist(), layout.arc_to.tolist(), layout.split(model.weights_)[1].tolist())
        return {(labels[u], labels[v]): weight for u, v, weight in moves if weight != 0.0}

    @property
    def attributes_(self) -> list[str]:
        """The attributes that have a weight."""
        return list(dict.fromkeys(name for name, _ in self.state_features_))

    @property
    def num_attributes_(self) -> int:
        """How many attributes have a weight."""
        return len(self.attributes_)

    @property
    def size_(self) -> int:
        """The bytes of the model: weights, and the names of features and labels."""
        model = self._fitted()
        parts = (pack(SCHEMA, model.schema_)[1], pack(LAYOUT, model.layout_)[1], {"weights": model.weights_})
        return sum(tensor.nbytes for tensors in parts for tensor in tensors.values())

    @property
    def tagger_(self) -> NoReturn:
        raise AttributeError(
            "tagger_ is an object of python-crfsuite and has no counterpart here. For tag() use predict_single(), for "
            "marginal() predict_marginals_single(), for probability() model_.log_probability(), for info() the "
            "attributes state_features_ and transition_features_, for dump() model_.feature_weights()"
        )

    @property
    def modelfile(self) -> NoReturn:
        raise AttributeError(
            "modelfile is a temporary file of CRFsuite and has no counterpart here. "
            "model_.save(path) writes the model to a file, and hedgerow.load(path) reads it"
        )

    def _fitted(self) -> LinearCRF:
        if not hasattr(self, "model_"):
            self._refuse_what_needs_crfsuite()
            raise NotFittedError("this CRF is not fitted yet: call fit first")
        return self.model_


def _sequences(given: Any, name: str) -> list[Any]:
    """What is given for all sequences, as a list of what has a length."""
    if isinstance(given, (str, bytes)) or not is_iterable(given):
        raise InputError(f"{name} is {quoted(given)}", hint="Give a list of sequences.")
    sequences = list(given)
    for i, one in enumerate(sequences):
        if not hasattr(one, "__len__") and not is_iterable(one):
            raise InputError(f"is {quoted(one)} in {name}, not a sequence", sequence=i)
    return sequences


def rows_of(sequence: Any) -> Any:
    """A sequence as LinearCRF takes it: python-crfsuite's ItemSequence is turned back to dicts."""
    return sequence.items() if type(sequence).__name__ == "ItemSequence" else sequence


def _check_held_out(X_dev: list[Any], y_dev: list[Any]) -> None:
    if len(X_dev) != len(y_dev):
        raise InputError(f"X_dev has {len(X_dev)} sequences and y_dev has {len(y_dev)}")
    lengths = [n_rows(rows_of(sequence)) for sequence in X_dev]
    if not any(lengths):
        raise InputError("X_dev has no positions", hint="Leave X_dev and y_dev out.")
    for i, (length, labels) in enumerate(zip(lengths, y_dev)):
        if length != len(labels):
            raise InputError(f"X_dev has {length} positions and y_dev has {len(labels)}", sequence=i)


def _by_appearance(labels: tuple[Label, ...], y: list[Any]) -> list[Label]:
    """The labels in the order of their first appearance; those that stand in sets alone come last."""
    first: dict[Any, int] = {}
    for label in itertools.chain.from_iterable(y):
        if not isinstance(label, SETS):
            first.setdefault(label, len(first))
    return sorted(labels, key=lambda label: first.get(label, len(first)))


def _training_log(model: LinearCRF) -> TrainingLog:
    ends = [0.0, *(step.seconds for step in model.history_)]
    iterations = [
        {"num": step.iteration, "loss": step.loss, "time": end - begin}
        for step, (begin, end) in zip(model.history_, itertools.pairwise(ends))
    ]
    return TrainingLog(iterations or [{"num": 0, "loss": model.loss_, "time": 0.0}])
