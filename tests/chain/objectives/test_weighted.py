"""Weights of labels: tilted likelihoods, weighted positions, weighted costs."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from hedgerow.chain.inference import node_marginals
from hedgerow.chain.objectives import BOOSTED, COSTLY, NAMES, TILTED, WEIGHTED, curvature_of, make_objective
from hedgerow.chain.potentials import Truth
from hedgerow.errors import InputError
from tests.reference.cases import make_case
from tests.reference.chain import labelings

from .laws import FORMS, check_differences, check_gradients, hide, in_form, potentials_of

W = np.array([0.5, 3.0, 1.0, 2.0])
PLAIN = sorted(WEIGHTED - set(BOOSTED) - {"slack_margin"})


def make(name, weights=W, **options):
    return make_objective(name, n_labels=4, sharpness=1.5, label_weights=weights, **options)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", [*PLAIN, "slack_margin"])
def test_gradient_equals_differences(rng, name, form):
    weights = W if name != "slack_margin" else np.array([1.0, 3.0, 1.0, 2.0])
    for forbidden, share in ((0.0, 0.0), (0.3, 0.5)):
        case = make_case(rng, 4, [5, 1, 7], scale=2.0, forbidden=forbidden, per_position=form == "position")
        labels, allowed = hide(case, rng, 0.0 if name == "pseudo_likelihood" else share)
        truth = Truth(labels, allowed, np.array([1.0, 0.5, 2.0]))
        for softness in (None, 0.9) if name == "labelwise" else (None,):
            check_differences(partial(make(name, weights, softness=softness), truth=truth), case, form, rng)


@pytest.mark.parametrize("name", [*PLAIN, *BOOSTED])
def test_equal_weights(rng, name):
    """They change nothing in a likelihood; elsewhere they are weights of sequences."""
    case = make_case(rng, 4, [5, 1, 7], forbidden=0.2)
    labels, allowed = hide(case, rng, 0.0 if name in ("pseudo_likelihood", "margin") else 0.4)
    found = make(name, np.full(4, 2.0))(case.potentials(), Truth(labels, allowed))
    weights = None if name in TILTED else np.full(3, 2.0)
    costs = 2.0 * (1.0 - np.eye(4)) if name == "margin" else None  # where costs of 2 are not twice the loss
    plain = make_objective(name, n_labels=4, sharpness=1.5, costs=costs)
    expected = plain(case.potentials(), Truth(labels, allowed, None if name == "margin" else weights))
    check_gradients(found, (expected.loss, expected.node_gradient, expected.edge_gradient))


def test_a_tilted_likelihood_fits_the_distribution_without_its_weights(rng):
    """The loss of a labeling is −log of its share, where each has exp(score) / Π w; by enumeration."""
    case = make_case(rng, 4, [3])
    found = make("log_likelihood")(case.potentials(), Truth(case.labels))
    totals = []
    for labels in labelings(4, 3):
        score = case.node[np.arange(3), labels].sum() + case.edges[labels[:-1], labels[1:]].sum()
        totals.append((score - np.log(W[labels]).sum(), tuple(labels) == tuple(case.labels)))
    shares = np.exp([score for score, _ in totals])
    assert found.loss == pytest.approx(-np.log(sum(s for s, (_, own) in zip(shares, totals) if own) / shares.sum()))


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


@pytest.mark.parametrize("name", sorted(TILTED))
@pytest.mark.parametrize("form", FORMS)
def test_the_hessian_is_a_difference_of_gradients(rng, name, form):
    case = make_case(rng, 4, [5, 1], per_position=form == "position")
    along = rng.normal(size=case.node.shape), rng.normal(size=case.edges.shape)
    objective, truth = make(name), Truth(case.labels)
    found = curvature_of(objective)(potentials_of(case, form), truth, along)

    def gradient(step):
        at = in_form(form, case.node + step * along[0], case.edges + step * along[1], case.offsets)
        return objective(at, truth).node_gradient.copy()

    np.testing.assert_allclose(found.node_product, (gradient(1e-5) - gradient(-1e-5)) / 2e-5, rtol=1e-5, atol=1e-8)


def test_objectives_of_whole_labelings_have_none():
    for name in set(NAMES) - WEIGHTED:
        with pytest.raises(InputError, match="class_weight is not for objective"):
            make(name)
    with pytest.raises(InputError, match="times the weights of labels, must be whole numbers"):
        make("slack_margin")
