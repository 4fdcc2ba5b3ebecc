"""Margins and the perceptron: bounds, ties, and the exact search of slack rescaling with its bound."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.chain.edges import chain_from_scores
from hedgerow.chain.inference import best_labelings
from hedgerow.chain.objectives import make_objective, perceptron, slack_search
from hedgerow.chain.objectives.margins import cost_rows
from hedgerow.chain.potentials import ChainPotentials, Truth
from hedgerow.errors import InputError
from tests.reference import chain as reference
from tests.reference import objectives as slow
from tests.reference.cases import make_case

HAMMING = 1.0 - np.eye(2)


def losses(case, names=("perceptron", "margin", "slack_margin")):
    K = case.node.shape[1]
    return [make_objective(name, n_labels=K)(case.potentials(), Truth(case.labels)).loss for name in names]


@settings(max_examples=30)
@given(seed=st.integers(0, 9999), scale=st.sampled_from([0.1, 1.0, 4.0]))
def test_both_margins_bound_the_errors(seed, scale):
    """003: the loss is an upper bound on the Hamming loss of the best labeling."""
    case = make_case(np.random.default_rng(seed), 3, [6], scale=scale)
    best, _ = best_labelings(case.potentials())
    errors = (best != case.labels).sum()
    simple, margin, slack = losses(case)
    assert 0.0 <= simple <= margin
    assert margin >= errors
    assert slack >= errors - 1e-9


def test_a_wide_margin_has_no_loss():
    node = 20.0 * np.eye(3)[[0, 2, 1, 1]]
    potentials = chain_from_scores(node, np.zeros((3, 3)))
    for name in ("perceptron", "margin", "slack_margin"):
        found = make_objective(name, n_labels=3)(potentials, Truth(np.array([0, 2, 1, 1])))
        assert found.loss == 0.0
        assert not found.node_gradient.any()
        assert not found.edge_gradient.any()


def test_a_start_from_zeros_learns():
    """All labelings are equal, and the one that is not the truth is taken: the lowest labels."""
    found = perceptron(chain_from_scores(np.zeros((3, 2)), np.zeros((2, 2))), Truth(np.array([0, 1, 1])))
    assert found.loss == 0.0
    np.testing.assert_array_equal(found.node_gradient, [[0, 0], [1, -1], [1, -1]])
    np.testing.assert_array_equal(found.edge_gradient, [[2, -1], [0, -1]])


def test_costs_of_zero_make_a_perceptron(rng):
    case = make_case(rng, 3, [5, 4])
    free = make_objective("margin", n_labels=3, costs=np.zeros((3, 3)))(case.potentials(), Truth(case.labels))
    assert free.loss == pytest.approx(perceptron(case.potentials(), Truth(case.labels)).loss)


class TestSlackSearch:
    @settings(max_examples=60)
    @given(seed=st.integers(0, 9999), scale=st.sampled_from([0.3, 1.0, 3.0]), whole=st.booleans())
    def test_finds_the_best_of_all(self, seed, scale, whole):
        rng = np.random.default_rng(seed)
        case = make_case(rng, 2, [9, 5, 7], scale=scale, forbidden=rng.choice([0.0, 0.3]))
        costs = np.array([[0.0, 1.0], [3.0, 0.0]]) if whole else HAMMING
        expected = slow.loss_and_gradient(slow.slack_margin(costs), *case.arrays, case.labels)
        found = make_objective("slack_margin", n_labels=2, costs=costs)(case.potentials(), Truth(case.labels))
        assert found.loss == pytest.approx(expected[0], rel=1e-9, abs=1e-9)

    def test_answers_under_the_hull_are_found(self, monkeypatch, rng):
        """A search over slopes alone sees the concave hull: some answers are not on it, and take the search by cost."""
        searched, better = 0, 0
        inner = slack_search._search_costs

        def counted(state, i):
            nonlocal searched, better
            before = state.values[i]
            inner(state, i)
            searched += 1
            better += state.values[i] > before

        monkeypatch.setattr(slack_search, "_search_costs", counted)
        for _ in range(200):
            case = make_case(rng, 2, [6], scale=1.0)
            expected = slow.loss_and_gradient(slow.slack_margin(HAMMING), *case.arrays, case.labels)[0]
            assert losses(case, ["slack_margin"])[0] == pytest.approx(expected, rel=1e-9, abs=1e-9)
        assert better > 0
        assert searched < 100  # most are done by the bound

    @settings(max_examples=40)
    @given(seed=st.integers(0, 9999))
    def test_bounds_hold(self, seed):
        """For every cost h, no labeling of that cost has a value above its bound; where it is found, it meets it."""
        rng = np.random.default_rng(seed)
        case = make_case(rng, 3, [5], scale=2.0)
        potentials, costs = case.potentials(), cost_rows(1.0 - np.eye(3), case.labels)
        truth = reference.score(*case.arrays, case.labels)
        state = slack_search._Search(potentials, costs, case.labels, truth)
        every = reference.labelings(3, 5)
        scores = np.array([reference.score(*case.arrays, y)[0] for y in every])
        heights = (every != case.labels).sum(axis=1)
        for slope in (0.0, 0.5, 1.7, 4.0):
            slack_search._pass(state, np.array([0]), np.array([slope]))
            values = heights * (1.0 - truth + scores)
            assert (values <= state.bounds[heights] + 1e-9).all()
            found, score = (int(state.points[-1][0][0]), float(state.points[-1][1][0]))
            assert state.bounds[found] == pytest.approx(found * (1.0 - truth[0] + score), abs=1e-9)

    def test_long_sequences_are_refused_by_name(self, rng, monkeypatch):
        """Where the bound leaves too much to search."""
        monkeypatch.setattr(slack_search, "_MAX_NUMBERS", 100)
        monkeypatch.setattr(slack_search, "_MAX_ROUNDS", 2)  # as few passes as tell anything
        case = make_case(rng, 3, [2, 60], scale=1.0)
        base = case.potentials()
        potentials = ChainPotentials(base.node_scores, base.offsets, base.edges, sequence_base=4)
        with pytest.raises(InputError, match="60 positions") as caught:
            make_objective("slack_margin", n_labels=3)(potentials, Truth(case.labels))
        assert caught.value.sequence == 5

    def test_long_easy_sequences_need_no_search(self, rng):
        """The bound alone: 20,000 positions, where V would have 20,000² · K numbers."""
        labels = rng.integers(3, size=20_000)
        node = 3.0 * np.eye(3)[labels] + 0.1 * rng.normal(size=(20_000, 3))
        potentials = chain_from_scores(node, np.zeros((3, 3)))
        assert make_objective("slack_margin", n_labels=3)(potentials, Truth(labels)).loss == 0.0
        wrong = (labels + 1) % 3
        found = make_objective("slack_margin", n_labels=3)(potentials, Truth(wrong))
        assert found.loss > 20_000.0

    def test_costs_that_are_not_whole(self):
        with pytest.raises(InputError, match="whole numbers"):
            make_objective("slack_margin", n_labels=2, costs=0.5 * HAMMING)
