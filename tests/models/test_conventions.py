"""The conventions of scikit-learn, for every estimator that hedgerow exports: a new one is found here by itself."""

from __future__ import annotations

import copy
import inspect
import pickle
import re
from types import ModuleType

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import estimator_checks

import hedgerow
from hedgerow import InputError
from hedgerow.datasets import make_sequences
from hedgerow.datasets.shapes import make_shapes

FEW = {
    "n_estimators": 2,
    "max_iter": 3,
    "max_iterations": 3,
    "n_trials": 2,
    "cv": 2,
    "max_models": 1,
    "random_state": 0,
}  # where an estimator has it


def exported(module: ModuleType) -> set[type]:
    """The estimators among the names that a module exports, and that the modules among these export."""
    found = set()
    for name in module.__all__:
        value = getattr(module, name)
        if isinstance(value, ModuleType) and hasattr(value, "__all__"):
            found |= exported(value)
        elif isinstance(value, type) and issubclass(value, BaseEstimator) and hasattr(value, "fit"):
            found.add(value)
    return found


CHECKED_BY_CRF = ("algorithm", "min_freq", "c1", "c2", "max_iterations", "period", "delta")


class Odd:
    """What no parameter can be."""

    def __repr__(self) -> str:
        return "odd"


ESTIMATORS = sorted(exported(hedgerow), key=lambda kind: kind.__name__)
every_estimator = pytest.mark.parametrize("kind", ESTIMATORS, ids=lambda kind: kind.__name__)


def test_estimators_are_found():
    """The list is not empty by accident: chains, search, lattices and the drop-in are among its members."""
    names = {kind.__name__ for kind in ESTIMATORS}
    assert names >= {"LinearCRF", "TreeCRF", "HMM", "BeamSearchTagger", "LatticeCRF", "TreeLatticeCRF", "CRF"}


@every_estimator
@pytest.mark.parametrize(
    "check",
    [
        estimator_checks.check_parameters_default_constructible,
        estimator_checks.check_no_attributes_set_in_init,
        estimator_checks.check_get_params_invariance,
        estimator_checks.check_set_params,
        estimator_checks.check_estimator_cloneable,
        estimator_checks.check_estimator_repr,
        estimator_checks.check_valid_tag_types,
        estimator_checks.check_mixin_order,
        estimator_checks.check_do_not_raise_errors_in_init_or_set_params,
    ],
    ids=lambda check: check.__name__,
)
def test_conventions(kind, check):
    check(kind.__name__, kind())


# The checks of scikit-learn that call `fit` give one matrix; these laws are the same with our own items.


def items(kind: type) -> tuple[list, list]:
    if kind.__module__.startswith("hedgerow.lattice"):
        return make_shapes(2, size=8, random_state=0)
    return make_sequences(8, mean_length=4, random_state=0)


def quick(kind: type) -> BaseEstimator:
    """An estimator whose training is short."""
    names = kind().get_params()
    return kind(**{name: value for name, value in FEW.items() if name in names})


@every_estimator
def test_parameters_are_given_by_name(kind):
    parameters = inspect.signature(kind).parameters.values()
    both = kind is hedgerow.compat.CRF  # which has the order of sklearn_crfsuite.CRF
    allowed = inspect.Parameter.POSITIONAL_OR_KEYWORD if both else inspect.Parameter.KEYWORD_ONLY
    assert {parameter.kind for parameter in parameters} == {allowed}


@every_estimator
def test_every_parameter_is_described_once(kind):
    names = list(inspect.signature(kind).parameters)
    section = inspect.cleandoc(kind.__doc__).partition("Parameters\n----------\n")[2].partition("\n\n")[0]
    heads = [line.partition(" : ")[0] for line in section.splitlines() if not line.startswith(" ")]
    if kind is hedgerow.compat.CRF:  # whose entries are of several parameters
        assert {name for name in names if name not in section} == set()
        return
    assert heads == names
    entries = re.split(r"\n(?! )", section)
    assert [entry for entry in entries if "\n" not in entry] == []


@every_estimator
def test_a_parameter_that_cannot_be_meant_is_refused_by_name_before_any_work(kind):
    """Every parameter that is a number in a range, a choice, a bool, or has a check of its own."""
    free = {"window", "columns", "constraints", "transition_columns", "classifier"}  # their meaning lies in the data
    for name in inspect.signature(kind).parameters:
        model = kind().set_params(**{name: Odd()})
        if kind is hedgerow.compat.CRF and name not in CHECKED_BY_CRF:
            continue
        if name not in free:
            with pytest.raises(InputError, match=rf"\b{name}\b"):
                model.fit(*items(kind))


@every_estimator
def test_what_was_not_trained_does_not_predict(kind):
    with pytest.raises(NotFittedError):
        kind().predict(items(kind)[0])


@every_estimator
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_training_gives_the_estimator_and_leaves_its_parameters(kind):
    X, y = items(kind)
    model = quick(kind)
    before = copy.deepcopy(model.get_params())
    assert model.fit(X, y) is model
    assert model.get_params() == before
    learnt = set(vars(model)) - set(vars(quick(kind)))
    assert learnt == {name for name in learnt if name.endswith("_") or name.startswith("_")}
    assert not {name for name in vars(clone(model)) if name.endswith("_")}
    predicted = model.predict(X)
    assert (predicted.dtype, predicted.shape) == (np.dtype(object), (len(X),))
    for again in (pickle.loads(pickle.dumps(model)), clone(model).fit(X, y), model.fit(X, y)):
        for ours, theirs in zip(again.predict(X), predicted):
            np.testing.assert_array_equal(ours, theirs)
