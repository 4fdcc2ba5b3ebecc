"""Chains of local probabilities against all labelings: orders 1 to 3, both directions, with constraints."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.chain.inference import best_labelings, k_best, log_partition, marginals, sample
from hedgerow.chain.structure.states import StateSpace
from hedgerow.errors import InputError
from hedgerow.estimators.scored import log_share
from hedgerow.models.local.potentials import log_softmax, order_many, order_one, order_zero
from hedgerow.models.local.search import Tabled, search

from .local_cases import RandomRows, all_labelings, random_space

LENGTHS = (3, 1, 4, 2)
OFFSETS = np.cumsum([0, *LENGTHS])
PLACES = [list(range(a, b)) for a, b in pairwise(OFFSETS)]


def case(seed: int, order: int, constrained: bool):
    rng = np.random.default_rng(seed)
    K = 2 if order > 2 else 3
    rows = RandomRows(rng, int(OFFSETS[-1]), K, order)
    return rows, random_space(rng, K) if constrained else StateSpace.full(K), K


def make(rows, space, order, backward):
    if order == 1:
        return order_one(rows, OFFSETS, space, 0, backward=backward)
    return order_many(rows, OFFSETS, space, 0, order, backward=backward)


@pytest.mark.parametrize("backward", [False, True], ids=["forward", "backward"])
@pytest.mark.parametrize("order", [1, 2, 3])
@settings(max_examples=6, deadline=None)
@given(seed=st.integers(0, 1000), constrained=st.booleans())
def test_sums_and_searches_are_those_over_all_labelings(order, backward, seed, constrained):
    rows, space, K = case(seed, order, constrained)
    chain = make(rows, space, order, backward)
    probs, best, log_z = marginals(chain).node_probs, best_labelings(chain)[0], log_partition(chain)
    for i, places in enumerate(PLACES):
        labelings, logs = all_labelings(rows, space, places, backward)
        total = np.exp(logs).sum()
        np.testing.assert_allclose(log_z[i], np.log(total), atol=1e-9)
        if not constrained:
            np.testing.assert_allclose(total, 1.0, rtol=1e-9)
        expected = np.zeros((len(places), K))
        for labels, log_prob in zip(labelings, logs):
            expected[np.arange(len(places)), labels] += np.exp(log_prob) / total
        np.testing.assert_allclose(probs[places], expected, atol=1e-9)
        assert tuple(best[places]) == labelings[int(np.argmax(logs))]


@pytest.mark.parametrize("backward", [False, True], ids=["forward", "backward"])
@pytest.mark.parametrize("order", [1, 2])
def test_samples_known_labels_and_the_best_labelings(order, backward):
    rows, space, K = case(3, order, constrained=True)
    chain = make(rows, space, order, backward)
    draws = sample(chain, np.random.default_rng(0).random((4000, int(OFFSETS[-1]))))
    probs = marginals(chain).node_probs
    np.testing.assert_allclose([(draws == v).mean(axis=0) for v in range(K)], probs.T, atol=0.04)
    allowed = np.ones((int(OFFSETS[-1]), K), dtype=bool)
    allowed[0, 1:] = False  # the first position has the first label
    shares = np.exp(log_share(chain, allowed))
    np.testing.assert_allclose(shares[0], probs[0, 0], rtol=1e-9)
    np.testing.assert_allclose(shares[1:], 1.0, rtol=1e-9)
    for best, places in zip(k_best(chain, 3), PLACES):
        labelings, logs = all_labelings(rows, space, places, backward)
        total = np.exp(logs).sum()
        np.testing.assert_allclose(best.probs, np.exp(np.sort(logs)[::-1][: len(best.probs)]) / total, rtol=1e-9)
        assert tuple(best.labels[0]) == labelings[int(np.argmax(logs))]


def test_order_one_by_edges_and_by_histories_is_the_same():
    rows, space, _ = case(8, 1, constrained=True)
    for backward in (False, True):
        one = order_one(rows, OFFSETS, space, 0, backward=backward)
        many = order_many(rows, OFFSETS, space, 0, 1, backward=backward)
        np.testing.assert_allclose(marginals(one).node_probs, marginals(many).node_probs, atol=1e-12)


def test_order_zero_is_a_softmax_of_each_position_and_obeys_constraints():
    rows, _, K = case(5, 0, constrained=False)
    free = order_zero(rows, OFFSETS, StateSpace.full(K), 0)
    np.testing.assert_allclose(marginals(free).node_probs, np.exp(log_softmax(rows.table)), rtol=1e-9)
    space = random_space(np.random.default_rng(1), K)
    best = best_labelings(order_zero(rows, OFFSETS, space, 0))[0]
    for places in PLACES:
        own = best[places]
        assert space.start[own[0]]
        assert space.end[own[-1]]
        assert space.transitions[own[:-1], own[1:]].all()


def greedy(rows, space, places, backward, allowed):
    """Label by label, with one look ahead to what can still be finished."""
    K, order = rows.n_labels, rows.order
    turned = places[::-1] if backward else places
    moves = space.transitions.T if backward else space.transitions
    first, last = (space.end, space.start) if backward else (space.start, space.end)
    open_ = [allowed[t] & (first if j == 0 else True) for j, t in enumerate(turned)]
    open_[-1] = open_[-1] & last
    for j in range(len(turned) - 2, -1, -1):
        open_[j] = open_[j] & (moves & open_[j + 1]).any(axis=1)
    labels, before = {}, []
    for j, t in enumerate(turned):
        history = [*before[:order], *[K] * (order - len(before[:order]))]
        legal = open_[j] & (moves[before[0]] if before else True)
        scores = np.where(legal, rows.table[(t, *history)], -np.inf)
        labels[t] = int(np.argmax(scores))
        before.insert(0, labels[t])
    return [labels[t] for t in places]


@pytest.mark.parametrize("backward", [False, True], ids=["forward", "backward"])
@pytest.mark.parametrize("order", [1, 2])
@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 1000), constrained=st.booleans())
def test_greedy_and_beam_search(order, backward, seed, constrained):
    rows, space, K = case(seed, order, constrained)
    rng = np.random.default_rng(seed)
    n = int(OFFSETS[-1])
    allowed = np.ones((n, K), dtype=bool)
    if constrained:
        allowed[rng.integers(n), 1:] = False
    given_ = {"backward": backward, "allowed": allowed}
    impossible = [
        not np.isfinite([log for labels, log in zip(*all_labelings(rows, space, places, backward))
                         if allowed[places, labels].all()]).any()
        for places in PLACES
    ]  # fmt: skip
    if any(impossible):
        with pytest.raises(InputError, match=f"sequence {impossible.index(True)}: no labeling is possible"):
            search(rows, OFFSETS, space, order, 1, **given_)
        return
    found = search(rows, OFFSETS, space, order, 1, **given_)
    wide = search(rows, OFFSETS, space, order, (K + 1) ** order, **given_)
    if order == 1:
        np.testing.assert_array_equal(search(Tabled(rows, n), OFFSETS, space, order, 1, **given_), found)
    for places in PLACES:
        labelings, logs = all_labelings(rows, space, places, backward)
        assert found[places].tolist() == greedy(rows, space, places, backward, allowed)
        kept = [k for k, labels in enumerate(labelings) if allowed[places, labels].all()]
        best = max(kept, key=lambda k: logs[k])
        assert tuple(wide[places]) == labelings[best]  # as many as there are histories: exact


def test_a_wider_beam_is_never_worse():
    rows, space, _ = case(11, 2, constrained=False)
    scores = []
    for width in (1, 2, 4, 9):
        found = search(rows, OFFSETS, space, 2, width, backward=False)
        scores.append(
            sum(
                logs[labelings.index(tuple(found[places]))]
                for places in PLACES
                for labelings, logs in [all_labelings(rows, space, places, False)]
            )
        )
    assert scores == sorted(scores)
    assert scores[0] < scores[-1]


def test_log_softmax_keeps_what_is_impossible():
    found = log_softmax(np.array([[0.0, -np.inf], [-np.inf, -np.inf], [1000.0, 1000.0]]))
    np.testing.assert_allclose(found, [[0.0, -np.inf], [-np.inf, -np.inf], [-np.log(2)] * 2], rtol=1e-12)
