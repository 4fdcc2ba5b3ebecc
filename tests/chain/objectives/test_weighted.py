"""Weights of labels: weighted positions, weighted costs, and likelihoods, which know none."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from hedgerow.chain.inference import node_marginals
from hedgerow.chain.objectives import BOOSTED, COSTLY, NAMES, TILTED, WEIGHTED, make_objective, tilt_of
from hedgerow.chain.potentials import Truth
from hedgerow.errors import InputError
from tests.reference.cases import make_case

from .laws import FORMS, check_differences, check_gradients, hide

W = np.array([0.5, 3.0, 1.0, 2.0])
PLAIN = sorted(WEIGHTED - TILTED - set(BOOSTED) - {"slack_margin"})


def make(name, weights=W, **options):
    return make_objective(name, n_labels=4, sharpness=1.5, label_weights=weights, **options)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", [*PLAIN, "slack_margin"])
def test_gradient_equals_differences(rng, name, form):
    weights = W if name != "slack_margin" else np.array([1.0, 3.0, 1.0, 2.0])
    for forbidden, share in ((0.0, 0.0), (0.3, 0.5)):
        case = make_case(rng, 4, [5, 1, 7], scale=2.0, forbidden=forbidden, per_position=form == "position")
        labels, allowed = hide(case, rng, share)
        truth = Truth(labels, allowed, np.array([1.0, 0.5, 2.0]))
        for softness in (None, 0.9) if name == "labelwise" else (None,):
            check_differences(partial(make(name, weights, softness=softness), truth=truth), case, form, rng)


@pytest.mark.parametrize("name", [*PLAIN, *BOOSTED])
def test_equal_weights(rng, name):
    """They are weights of sequences."""
    case = make_case(rng, 4, [5, 1, 7], forbidden=0.2)
    labels, allowed = hide(case, rng, 0.0 if name == "margin" else 0.4)
    found = make(name, np.full(4, 2.0))(case.potentials(), Truth(labels, allowed))
    costs = 2.0 * (1.0 - np.eye(4)) if name == "margin" else None  # where costs of 2 are not twice the loss
    plain = make_objective(name, n_labels=4, sharpness=1.5, costs=costs)
    expected = plain(case.potentials(), Truth(labels, allowed, None if name == "margin" else np.full(3, 2.0)))
    check_gradients(found, (expected.loss, expected.node_gradient, expected.edge_gradient))


def test_a_likelihood_knows_no_weights():
    for name in TILTED:
        assert make(name) is make(name, None)
        np.testing.assert_array_equal(tilt_of(name, W), np.log(W))
        assert tilt_of(name, None) is None
        assert tilt_of(name, np.full(4, 2.0)) is None
    assert {name for name in WEIGHTED if tilt_of(name, W) is not None} == TILTED


def test_positions_count_what_their_label_does(rng):
    case = make_case(rng, 4, [5, 2])
    labels = np.where(np.arange(7) % 3 == 2, -1, case.labels)
    allowed = np.ones((7, 4), dtype=bool)
    allowed[2] = [True, True, False, False]
    found = make("pointwise")(case.potentials(), Truth(labels, allowed))
    probs = node_marginals(case.potentials())
    expected = sum(-W[v] * np.log(probs[t, v]) for t, v in enumerate(labels) if v >= 0)
    expected -= 0.5 * (W[0] + W[1]) * np.log(probs[2, :2].sum())  # a set: the mean of its labels
    assert found.loss == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("name", sorted(COSTLY - {"slack_margin"}))
def test_costs_are_multiplied(rng, name):
    case = make_case(rng, 4, [5, 2])
    costs = rng.random((4, 4))
    np.fill_diagonal(costs, 0.0)
    found = make(name, costs=costs)(case.potentials(), Truth(case.labels))
    expected = make_objective(name, n_labels=4, costs=W[:, None] * costs)(case.potentials(), Truth(case.labels))
    check_gradients(found, (expected.loss, expected.node_gradient, expected.edge_gradient))


def test_objectives_of_whole_labelings_have_none():
    for name in set(NAMES) - WEIGHTED:
        with pytest.raises(InputError, match="class_weight is not for objective"):
            make(name)
    with pytest.raises(InputError, match="times the weights of labels, must be whole numbers"):
        make("slack_margin")
