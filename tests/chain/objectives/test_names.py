"""make_objective: names, parameters, and errors that say what to do."""

from __future__ import annotations

import numpy as np
import pytest

from hedgerow.chain.objectives import CONVEX, CURVATURES, LABELWISE, NAMES, SMOOTH, make_objective
from hedgerow.errors import InputError


def test_sets_name_objectives():
    for names in (CONVEX, LABELWISE, SMOOTH):
        assert names < set(NAMES)
    assert {make_objective(name, n_labels=2) for name in ("log_likelihood", "pseudo_likelihood")} == set(CURVATURES)


@pytest.mark.parametrize("name", NAMES)
def test_every_name_makes_an_objective(name):
    assert callable(make_objective(name, n_labels=3))


def test_unknown_names_are_answered_with_the_known():
    with pytest.raises(InputError, match=r"'hinge' is not available.*slack_margin"):
        make_objective("hinge", n_labels=3)


@pytest.mark.parametrize("name", sorted(set(NAMES) - {"expected_accuracy", "margin", "slack_margin"}))
def test_costs_where_there_are_none(name):
    with pytest.raises(InputError, match=f"not for {name}"):
        make_objective(name, n_labels=2, costs=1.0 - np.eye(2))


@pytest.mark.parametrize("name", sorted(set(NAMES) - {"labelwise", "classification_error"}))
def test_softness_where_there_is_none(name):
    with pytest.raises(InputError, match=f"not for {name}"):
        make_objective(name, n_labels=2, softness=1.0)


@pytest.mark.parametrize(
    ("options", "words"),
    [({"sharpness": 0.0}, "sharpness"), ({"sharpness": float("nan")}, "sharpness"), ({"softness": -1.0}, "softness")],
)
def test_numbers_that_make_no_sense(options, words):
    with pytest.raises(InputError, match=words):
        make_objective("labelwise", n_labels=2, **options)


@pytest.mark.parametrize(
    ("costs", "words"),
    [
        (np.ones((3, 2)), "do not fit 2 labels"),
        ([[0.0, -1.0], [1.0, 0.0]], "0 or more"),
        ([[0.0, np.nan], [1.0, 0.0]], "0 or more"),
        ([[1.0, 1.0], [1.0, 0.0]], "true one"),
    ],
)
def test_costs_that_make_no_sense(costs, words):
    with pytest.raises(InputError, match=words):
        make_objective("margin", n_labels=2, costs=costs)


def test_costs_are_copied():
    costs = 1.0 - np.eye(2)
    objective = make_objective("margin", n_labels=2, costs=costs)
    costs[0, 1] = 9.0
    assert objective.costs[0, 1] == 1.0
