"""What the values of parameters stand for: random numbers, scoring, costs, missing values."""

from __future__ import annotations

import inspect
import numbers
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from hedgerow.chain.decoding import BEAM_WIDTH as BEAM_WIDTH
from hedgerow.data.columns import window_offsets
from hedgerow.data.dataset import Dataset, Label, Window
from hedgerow.data.derived import parse_features
from hedgerow.data.imputation import seen
from hedgerow.data.parts.corpus import SharedCorpus
from hedgerow.errors import InputError
from hedgerow.legend import AnyArray, CodeArray, FloatArray, IndexArray
from hedgerow.metrics.scorers import METRICS
from hedgerow.training.checkpoint import current_checkpoint, remembered
from hedgerow.trees.growing import LEARNED, SURROGATE, WEIGHTING

AUTO = "auto"


def random_generator(random_state: Any) -> np.random.RandomState:
    """The generator that None, a seed or a RandomState stands for."""
    from sklearn.utils import check_random_state

    try:
        generator = check_random_state(random_state)
    except (TypeError, ValueError) as error:
        hint = "Give None, a whole number from 0 to 2**32 - 1, or a numpy.random.RandomState."
        raise InputError(f"⟦random_state⟧ is {random_state!r}", hint=hint) from error
    if random_state is None and current_checkpoint() is not None:  # the seed is kept, and drawn once
        return np.random.RandomState(remembered(lambda: int(generator.randint(2**31 - 1)), int))
    return generator  # type: ignore[no-any-return]


def is_auto(given: Any) -> bool:
    """Whether the value of a parameter is "auto"; a value may be an array, which is not compared."""
    return isinstance(given, str) and given == AUTO


def chosen_before(model: Any) -> dict[str, Any]:
    """What "auto" came to in the previous fit of a model, for one that goes on from there."""
    return {name: getattr(model, f"{name}_") for name in ("window", "features") if is_auto(getattr(model, name))}


def check_features(given: Any) -> None:
    """Refuse names of features that do not exist."""
    if not is_auto(given):
        parse_features(given)


def same_window(wanted: Any, fitted: Window) -> bool:
    """Whether a window that is asked for is one that there is: 1 and (1, 1) are the same, and "auto" is any."""
    if is_auto(wanted):
        return True
    names = {"*"}.union(*(window for window in (wanted, fitted) if isinstance(window, Mapping)))
    return all(window_offsets(wanted, name) == window_offsets(fitted, name) for name in names)


# ------------------------------------------------------------------------------------------------ scoring


LOG_LIKELIHOOD = "log_likelihood"  # the one score that reads probabilities, not labels

# A name, a scorer(estimator, X, y) or a function f(y_true, y_pred); greater is better.
Scoring = str | Callable[..., float]


class Predictions(BaseEstimator):  # type: ignore[misc]
    """The model that a scorer gets: it has predicted already, and has no probabilities."""

    def __init__(self, labels: AnyArray | None = None) -> None:
        self.labels = labels

    def predict(self, X: Any) -> AnyArray | None:
        return self.labels

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        what = f"⟦scoring⟧ asks the model for {name}, and early stopping scores labels"
        raise InputError(what, hint="Use a scorer that asks for predict, or ⟦scoring='log_likelihood'⟧.")


def check_scoring(scoring: Any) -> None:
    """Refuse a `scoring` that early stopping cannot use."""
    if callable(scoring):
        _is_scorer(scoring)
    elif not isinstance(scoring, str) or scoring not in ("auto", LOG_LIKELIHOOD, *METRICS):
        known = ", ".join(map(repr, (*METRICS, LOG_LIKELIHOOD)))
        hint = f"Choose one of {known}⟦; or give a scorer(estimator, X, y), or a function of (y_true, y_pred)⟧."
        raise InputError(f"⟦scoring⟧ is {scoring!r}", hint=hint)


def score_labels(scoring: Scoring, X: Any) -> Callable[[AnyArray, AnyArray], float]:
    """A function of (y_true, y_pred), the labels of X, for any scoring but the log-likelihood."""
    if not callable(scoring):
        return METRICS[scoring]
    if not _is_scorer(scoring):
        return scoring
    return lambda y_true, y_pred: scoring(Predictions(y_pred), X, y_true)


def _is_scorer(function: Callable[..., float]) -> bool:
    """Whether a function takes (estimator, X, y), and not (y_true, y_pred): by the arguments that it needs."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # a function that was not written in Python
        return False
    if next(iter(signature.parameters), "") != "estimator" and _takes(signature, 2):
        return False
    if _takes(signature, 3):
        return True
    what = f"⟦scoring⟧ is a function of {signature}"
    raise InputError(what, hint="Give a scorer(estimator, X, y), or a function of (y_true, y_pred).")


def _takes(signature: inspect.Signature, n: int) -> bool:
    try:
        signature.bind(*[None] * n)
    except TypeError:
        return False
    return True


# ------------------------------------------------------------------------------------------------ costs


Costs = Mapping[Label, float] | Iterable[tuple[Label, Label, float]]

_HINT = "Give a mapping of label to cost, or a list of (true label, predicted label, cost)."


def check_costs(costs: Any) -> None:
    """Refuse costs that are malformed; which labels there are is not known yet."""
    if costs is None:
        return
    for entry in _entries(costs):
        value = entry[-1]
        if not isinstance(value, numbers.Real) or isinstance(value, bool) or not 0.0 <= float(value) < np.inf:
            raise InputError(f"⟦costs⟧ has the cost {value!r}", hint="A cost is a number, 0 or above.")


def cost_table(costs: Any, labels: Sequence[Label]) -> FloatArray | None:
    """(K, K) [true, predicted], 1 where nothing else is said and 0 on the diagonal; None for costs of 1."""
    if costs is None:
        return None
    codes = {label: code for code, label in enumerate(labels)}
    table: FloatArray = 1.0 - np.eye(len(labels))
    for *named, cost in _entries(costs):
        for label in named:
            if label not in codes:
                known = ", ".join(map(repr, labels[:10]))
                hint = f"Known: {known}. Labels to come are `classes` of partial_fit."
                raise InputError(f"⟦costs⟧ names the label {label!r}, which was not seen in training", hint=hint)
        if len(named) == 1:
            table[codes[named[0]]] = float(cost)
        else:
            table[codes[named[0]], codes[named[1]]] = float(cost)
    np.fill_diagonal(table, 0.0)
    return table


def _entries(costs: Any) -> list[tuple[Any, ...]]:
    """(label, cost) or (true, predicted, cost), as they are given."""
    if isinstance(costs, Mapping):
        return list(costs.items())
    if isinstance(costs, (str, bytes)) or not isinstance(costs, Sequence):
        raise InputError(f"⟦costs⟧ is {costs!r}", hint=_HINT)
    entries = [tuple(entry) if isinstance(entry, (tuple, list)) else (entry,) for entry in costs]
    for entry in entries:
        if len(entry) not in (2, 3):
            raise InputError(f"⟦costs⟧ holds {entry!r}", hint=_HINT)
    return entries


# ------------------------------------------------------------------------------------------------ weights of labels


ClassWeight = str | Mapping[Label, float]


def check_class_weight(given: Any) -> None:
    """Refuse weights of labels that are malformed; which labels there are is not known yet."""
    hint = "Give 'balanced', or a mapping of label to weight."
    if given is not None and not isinstance(given, Mapping) and not (isinstance(given, str) and given == "balanced"):
        raise InputError(f"⟦class_weight⟧ is {given!r}", hint=hint)
    for label, weight in given.items() if isinstance(given, Mapping) else ():
        if not isinstance(weight, numbers.Real) or isinstance(weight, bool) or not 0.0 < float(weight) < np.inf:
            raise InputError(f"⟦class_weight⟧ gives {label!r} the weight {weight!r}", hint="A weight is above 0.")


def class_weights(given: Any, dataset: Dataset | SharedCorpus) -> FloatArray | None:
    """(K,), what the labels of a corpus count; None where each counts 1. Positions count as their sequence does."""
    if isinstance(dataset, SharedCorpus) and isinstance(given, str) and dataset.weight_seq is not None:
        dataset = dataset.together()
    if isinstance(dataset, SharedCorpus):
        if isinstance(given, str):
            return balanced_weights(dataset.added(count_labels))
        return weights_of_labels(given, dataset.schema.labels, None, None)
    spread = None if dataset.weight_seq is None else np.repeat(dataset.weight_seq, np.diff(dataset.offsets))
    return weights_of_labels(given, dataset.schema.labels, dataset.labels, spread)


def count_labels(dataset: Dataset) -> IndexArray:
    """(K,): how often each label is known."""
    assert dataset.labels is not None
    return np.bincount(dataset.labels[dataset.labels >= 0], minlength=dataset.n_labels)


def balanced_weights(counts: AnyArray) -> FloatArray:
    """(K,): n / (labels · n of the label), from how often each is known; 1 where it never is."""
    weights, seen = np.ones(len(counts)), counts > 0
    weights[seen] = counts.sum() / (seen.sum() * counts[seen])
    return weights


def weights_of_labels(
    given: Any, labels: Sequence[Label], codes_seen: CodeArray | None, spread: FloatArray | None
) -> FloatArray | None:
    """(K,), what labels count; None where each counts 1.

    Balanced weights are n / (labels · n of the label), n positions with a known label (N,), each times its weight
    (`spread` (N,), None for 1): their mean over these positions is 1. A label that is never known counts 1.
    """
    if given is None:
        return None
    if isinstance(given, str):
        assert codes_seen is not None
        known = codes_seen >= 0
        return balanced_weights(np.bincount(codes_seen[known], None if spread is None else spread[known], len(labels)))
    weights = np.ones(len(labels))
    codes = {label: code for code, label in enumerate(labels)}
    for label, weight in given.items():
        if label not in codes:
            known_labels = ", ".join(map(repr, labels[:10]))
            what = f"⟦class_weight⟧ names the label {label!r}, which was not seen in training"
            raise InputError(what, hint=f"Known: {known_labels}.")
        weights[codes[label]] = float(weight)
    return weights


# ------------------------------------------------------------------------------------------------ missing values

# Two ways fill the data before a model sees it. The others leave gaps to the trees: "learned" takes no value for one
# more value, and "weighting" and "surrogate" are of `trees/growing.py`. An estimator keeps its `schema_`, the columns
# that users give, and `imputation_`; what it scores has the columns of `seen_schema`.
FILLING = ("impute", "indicator")
OF_TREES = (LEARNED, WEIGHTING, SURROGATE, *FILLING)
OF_LINEAR = (None, *FILLING)


def check_missing(model: Any, ways: tuple[str | None, ...]) -> None:
    """Refuse a `missing` that is not one of these ways, and a `fill_numbers` that it has no use for."""
    known = isinstance(model.missing, (str, type(None))) and model.missing in ways
    if not known and isinstance(model.missing, str) and model.missing in OF_TREES:
        what = f"{type(model).__name__} has no ⟦missing={model.missing!r}⟧, which is for trees"
        raise InputError(what, hint=f"Choose one of {', '.join(map(repr, ways))}.")
    if not known:
        raise InputError(f"⟦missing⟧ is {model.missing!r}", hint=f"Choose one of {', '.join(map(repr, ways))}.")
    if model.fill_numbers != "mean" and model.missing not in FILLING:
        what = f"⟦fill_numbers={model.fill_numbers!r}⟧ goes with ⟦missing='impute'⟧ or 'indicator'"
        raise InputError(what, hint=f"With ⟦missing={model.missing!r}⟧ no number is filled in.")


def sees_otherwise(model: Any) -> bool:
    """Whether a model fills in missing values, or adds conjunctions that it found, before it scores."""
    return model.imputation_ is not None or getattr(model, "induced_", None) is not None


def seen_part(model: Any, dataset: Dataset, first: int, last: int) -> tuple[Dataset, int, int]:
    """Sequences first … last−1 as a model sees them: a corpus, and where they begin and end in it."""
    if not sees_otherwise(model):
        return dataset, first, last
    return seen(model, dataset.take(np.arange(first, last))), 0, last - first
