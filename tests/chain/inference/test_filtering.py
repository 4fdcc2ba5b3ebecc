"""Positions that come one by one, against every labeling of what has come."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.chain.edges import SharedEdges, chain_from_scores
from hedgerow.chain.filtering import Filter, Position
from hedgerow.errors import InputError
from tests.reference.cases import cases, make_case
from tests.reference.enumeration import Enumeration


def positions(case):
    potentials = case.potentials()
    return [Position(nodes, potentials.edges.take(np.array([t]))) for t, nodes in enumerate(potentials.node_scores)]


def expected(case, t, last):
    """P(y_t) given positions 0 … last, by enumeration."""
    edges = case.edges if case.edges.ndim == 2 else case.edges[:, : last + 1]
    return Enumeration(case.node[: last + 1], edges).node_probs()[t]


@given(cases(max_labels=3, max_length=5, max_sequences=1), st.integers(0, 6))
def test_what_has_come_tells_of_labels(case, lag):
    """For lag 0 these are the forward messages, normalised."""
    T, K = case.node.shape
    chain, told = Filter(K, lag), []
    for t, position in enumerate(positions(case)):
        probs = chain.push(position)
        assert (probs is None) == (t < lag)
        if probs is not None:
            np.testing.assert_allclose(probs, expected(case, t - lag, t), rtol=1e-9, atol=1e-12)
            told.append(probs)
        assert len(chain.pending) <= lag
    rest = chain.finish()
    assert len(told) + len(rest) == T
    for t, probs in enumerate(rest, T - len(rest)):
        np.testing.assert_allclose(probs, expected(case, t, T - 1), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("lag", [0, 3])
def test_a_long_chain_keeps_its_digits_and_little_else(lag):
    case = make_case(np.random.default_rng(0), 4, [3000], scale=30.0)
    chain = Filter(4, lag)
    told = np.array([probs for one in positions(case) if (probs := chain.push(one)) is not None])
    np.testing.assert_allclose(told.sum(axis=1), 1.0, rtol=1e-12)
    assert len(chain.pending) == lag
    t = 2000  # what is long past tells nothing: a chain that starts shortly before has the same labels
    begin = chain_from_scores(case.node[t - 60 : t + lag + 1], case.edges, np.array([0, 61 + lag]))
    np.testing.assert_allclose(told[t], begin.edges.node_marginals(begin, None)[60], atol=1e-6)


def test_what_is_all_but_impossible_may_be_the_only_way():
    nodes = np.array([[0.0, -900.0], [0.0, 0.0], [0.0, 0.0]])
    stays = SharedEdges.from_scores(np.array([[0.0, -np.inf], [-np.inf, 0.0]]))
    for lag in (0, 1):
        chain = Filter(2, lag)
        for row in nodes:
            chain.push(Position(row, stays))
        told = chain.push(Position(np.array([-np.inf, 0.0]), stays))  # label 1, all the way
        np.testing.assert_allclose(told, [0.0, 1.0])


def test_a_position_that_no_labeling_reaches_has_not_come():
    flips = SharedEdges.from_scores(np.array([[-np.inf, 0.0], [0.0, -np.inf]]))
    for lag in (0, 2):
        chain, first = Filter(2, lag), np.array([0.0, -np.inf])
        chain.push(Position(first, flips))
        with pytest.raises(InputError, match="no legal labeling"):
            chain.push(Position(first, flips))
        chain.push(Position(np.zeros(2), flips))
        last = chain.push(Position(np.zeros(2), flips))
        np.testing.assert_allclose(last, [1.0, 0.0])
    with pytest.raises(InputError, match="NaN"):
        chain.push(Position(np.array([np.nan, np.nan]), flips))


def test_the_last_position_may_change_at_the_end():
    table = SharedEdges.from_scores(np.zeros((2, 2)))
    chain = Filter(2, 1)
    chain.push(Position(np.zeros(2), table))
    np.testing.assert_allclose(chain.finish(Position(np.array([0.0, -np.inf]), table)), [[1.0, 0.0]])
    assert chain.finish().shape == (0, 2)
