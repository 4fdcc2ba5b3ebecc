"""What is tried: models to begin with, the best first guess first, and what is changed about the best of them.

Both tables are meant to be read and changed: `first_guesses` is the list of models, LADDERS the values of settings.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from hedgerow.data.dataset import Dataset, Window, padded_places
from hedgerow.data.derived import stored_numbers
from hedgerow.data.windows import is_outside
from hedgerow.estimators.base import ChainModel
from hedgerow.estimators.values import FILLING, OF_TREES, is_auto, same_window
from hedgerow.estimators.window_choice import WIDTHS, is_ready_made
from hedgerow.models.auto.parameters import AutoParameters
from hedgerow.models.crf.linear import LinearCRF
from hedgerow.models.crf.tree import TreeCRF
from hedgerow.models.crf.tree_form import FEW_LABELS, SHRINKAGE, SHRINKAGE_ON_WORDS, choose_order
from hedgerow.models.hmm.estimator import HMM
from hedgerow.models.local.memm import MEMM

MANY_VALUES = 300  # of categories and attributes: words, mostly, where weights beat trees
MOST_JOINT = 12  # labels up to which trees that ask for the previous label are worth their time

TREES: dict[str, Any] = {"leaves": "newton", "learning_rate": 0.1, "l2_regularization": 5.0}

# Setting → values from small to large; a neighbour of a model has the next value up or down. A setting named first is
# tried first: another label before may say more than all that follows. A name with two underscores is that of a model
# inside: of MEMM's classifier, or of the linear model below trees.
LADDERS: dict[str, dict[str, tuple[Any, ...]]] = {
    "LinearCRF": {"order": (1, 2, 3), "l2": (0.001, 0.01, 0.1, 1.0, 10.0)},
    "TreeCRF": {
        "order": ("auto", 2, 3),
        "max_features": (0.3, 1.0),
        "l2_regularization": (1.0, 5.0, 20.0),
        "learning_rate": (0.05, 0.1),
        "max_leaf_nodes": (4, 8, 16, 32, 64),
        "init__l2": (0.01, 0.1, 1.0, 10.0),
    },
    "HMM": {"order": (1, 2, 3), "smoothing": (0.01, 0.1, 1.0, 10.0)},
    "MEMM": {"order": (1, 2, 3), "estimator__l2": (0.01, 0.1, 1.0, 10.0), "estimator__max_leaf_nodes": (8, 16, 32, 64)},
}
WINDOWS = (*WIDTHS, 16)


@dataclass(frozen=True)
class Traits:
    """What of a corpus decides where to begin."""

    n_labels: int
    n_values: int  # of categories, and attributes
    n_numeric: int
    has_columns: bool  # plain columns, and not features that somebody made, with their surroundings in them
    has_gaps: bool  # numbers that are missing
    has_constants: bool
    features: tuple[str, ...] = ()  # of numbers
    order: int = 1  # by counts of labels

    @classmethod
    def of(cls, dataset: Dataset) -> Traits:
        columns = [column for column in dataset.schema.columns if not is_outside(column)]
        values = sum(len(column.vocabulary) for column in columns if column.vocabulary is not None)
        return cls(
            n_labels=dataset.n_labels,
            n_values=values + dataset.schema.n_attributes,
            n_numeric=sum(column.kind == "numeric" for column in columns),
            has_columns=not is_ready_made(dataset.schema),
            has_gaps=_has_gaps(dataset),
            has_constants=any(column.constant for column in columns),
            features=dataset.schema.features,
            order=choose_order(TreeCRF(), dataset),
        )


def _has_gaps(dataset: Dataset) -> bool:
    """Whether a number is missing that a linear model has no score for."""
    _, places, _ = padded_places(dataset.offsets, dataset.schema.gap)
    for constant, rows in ((False, dataset.numeric[:, places]), (True, dataset.seq_numeric)):
        stored = dataset.schema.of("numeric", constant=True) if constant else stored_numbers(dataset.schema)
        measured = [np.isnan(column.fill) for column in stored]
        if np.isnan(rows[np.flatnonzero(measured)]).any():
            return True
    return False


def first_guesses(traits: Traits) -> list[Any]:
    """The models to begin with, the best guess first."""
    shared = TreeCRF(edges="shared", init="zero", **TREES)
    joint = TreeCRF(edges="joint", init="zero", **TREES | {"l2_regularization": SHRINKAGE})
    if traits.n_values > MANY_VALUES:
        models = [
            LinearCRF(),
            LinearCRF(l2=0.1),
            HMM(),
            TreeCRF(edges="shared", init=LinearCRF(), **TREES | {"l2_regularization": SHRINKAGE_ON_WORDS}),
            MEMM(estimator=LinearCRF()),
            *([joint] if traits.n_labels <= FEW_LABELS else [shared]),
            LinearCRF(l2=0.01),
        ]
    else:
        models = [
            shared,
            LinearCRF(l2=0.1),
            HMM(),
            *([joint] if traits.n_labels <= MOST_JOINT else []),
            TreeCRF(edges="shared", init=LinearCRF(l2=0.1), **TREES),
            MEMM(estimator=TreeCRF(init="zero", **TREES)),
            LinearCRF(),
            MEMM(estimator=LinearCRF()),
        ]
    if traits.order > 1:
        models = [model.set_params(order=traits.order) for model in models if _scores_runs(model)]
    if traits.has_constants:  # which no position of an HMM is drawn from
        models = [model for model in models if not isinstance(model, HMM)]
    return models


def _scores_runs(model: Any) -> bool:
    """Whether a model has a weight for each run of labels that is seen, and not a score for each that there may be."""
    return isinstance(model, (LinearCRF, HMM)) or (getattr(model, "edges", None) == "shared" and model.init == "zero")


def first_window(traits: Traits, given: Any) -> Window:
    """The window to begin with: two to each side of plain columns, none where features are ready-made."""
    if not is_auto(given):
        return given  # type: ignore[no-any-return]
    return 2 if traits.has_columns else 0


def neighbours(model: Any, window: Window, *, free: bool) -> Iterator[tuple[Any, Window]]:
    """Models that differ from one in one setting, by one step. free : whether the window may differ"""
    if free and _has(model, "window") and isinstance(window, int):
        place = next((i for i, size in enumerate(WINDOWS) if same_window(size, window)), None)
        if place is not None:
            yield from ((clone(model), WINDOWS[i]) for i in (place + 1, place - 1) if 0 <= i < len(WINDOWS))
    known = model.get_params(deep=True)
    for name, values in LADDERS.get(type(model).__name__, {}).items():
        below = name == "order" and isinstance(model, TreeCRF) and model.init != "zero"  # trees on weights have none
        if known.get(name) not in values or below:
            continue
        place = values.index(known[name])
        for i in (place + 1, place - 1):
            if 0 <= i < len(values):
                yield clone(model).set_params(**{name: values[i]}), window


def _has(model: Any, name: str) -> bool:
    return name in model.get_params(deep=False)


def cost(model: Any) -> tuple[bool, int]:
    """How expensive a kind of model is, to be compared: trees cost more than weights, and weights more than counts.
    Among trees, those that agree with each other come first."""
    kinds = ("HMM", "SlidingWindow", "TreeCRF", "MEMM", "LinearCRF", "MaxMarginMarkovNetwork")
    name = type(model).__name__
    inner = getattr(model, "estimator", model)
    of_trees = isinstance(inner, TreeCRF) or inner == "trees"
    return of_trees, kinds.index(name) if name in kinds else len(kinds)


# ------------------------------------------------------------------------------------------------ settings of all


def set_up(model: Any, given: AutoParameters, traits: Traits, window: Window, seed: int) -> Any:
    """A model with what was said of all of them: columns, window, features, constraints, gaps, threads, seed."""
    common: dict[str, Any] = {"window": window, "n_jobs": given.n_jobs, "random_state": seed}
    common |= {name: getattr(given, name) for name in ("columns", "constraints") if getattr(given, name) is not None}
    common["features"] = list(traits.features) or None
    made = clone(model)
    for one in (made, getattr(made, "init", None)):
        if isinstance(one, ChainModel):
            known = common | _missing(one, given.missing, gaps=traits.has_gaps)
            one.set_params(**{name: value for name, value in known.items() if _has(one, name)})
    return made


def _missing(model: Any, given: str | None, *, gaps: bool) -> dict[str, Any]:
    """What this kind of model does where a value is missing, unless it says so itself."""
    if not _has(model, "missing") or model.missing not in (None, "learned"):
        return {}
    inner = getattr(model, "estimator", None)
    if isinstance(model, TreeCRF) or inner == "trees" or isinstance(inner, TreeCRF):
        return {"missing": given} if given in OF_TREES else {}
    if given in FILLING:
        return {"missing": given}
    return {"missing": "indicator"} if gaps else {}


# ------------------------------------------------------------------------------------------------ in words


def changed_parameters(model: Any) -> dict[str, Any]:
    """The parameters of a model that are not the default."""
    defaults = type(model)().get_params(deep=False)
    own = model.get_params(deep=False)
    usual = {name for name, value in own.items() if type(value) is type(defaults[name]) and value == defaults[name]}
    return {name: value for name, value in own.items() if name not in usual}


def in_python(model: Any, without: tuple[str, ...] = ()) -> str:
    """A model as Python makes it, on one line: what `repr` breaks into several."""
    changed = {name: value for name, value in changed_parameters(model).items() if name not in without}
    inside = (
        f"{name}={in_python(x, without) if isinstance(x, ChainModel) else repr(x)}" for name, x in changed.items()
    )
    return f"{type(model).__name__}({', '.join(inside)})"
