"""The scaled kernels over histories against their twin, row by row, and where differences cancel."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from hedgerow.chain.kernels import histories, log_histories
from hedgerow.chain.kernels.history_arcs import HistoryBuffers, follow, reach
from hedgerow.chain.structure.histories import Histories
from tests.examples import examples
from tests.reference import histories as reference
from tests.reference.history_cases import Case, cases, make_case

from .test_chain import exponentials


def make_buffers(h):
    K, S, A = h.n_labels, h.n_states, h.n_arcs
    return HistoryBuffers(np.empty(K), np.empty(A), np.empty((2, S)), np.empty(K, dtype=np.int32))


def backward(node, arc_scores, case, cut=None):
    """log β (T, S) of one sequence by the scaled kernel, in two calls that meet at `cut`; None where it gives up."""
    T = len(node)
    h = case.histories
    node_exp, top = exponentials(node)
    shift = arc_scores[arc_scores > -np.inf].max()
    arc_exp = np.exp(arc_scores - shift)
    beta, scale = np.full((T, h.n_states), np.nan), np.empty(T)
    for t0, t1 in ((0, T),) if cut is None else ((cut, T), (0, cut)):
        model = node, node_exp, arc_scores, arc_exp, h.walk
        if histories.backward(*model, beta, scale, make_buffers(h), 0, T, t0, t1):
            return None
    ahead = np.concatenate([(np.log(scale) + top + shift)[1:], [0.0]])
    with np.errstate(divide="ignore"):
        return np.log(beta) + np.cumsum(ahead[::-1])[::-1][:, None], beta, scale, node_exp, arc_exp


def state_after(case, labels):
    """The history that labels lead to."""
    h = case.histories
    arcs = np.empty(len(labels), dtype=np.int64)
    first = np.zeros(len(labels) + 1, dtype=np.uint8)
    first[0] = 1
    follow(np.array(labels), first, h.walk, arcs)
    return int(h.arc_next[arcs[-1]])


def walks(node, arc_scores, arcs, rng, n_walks=15):
    """Random legal beginnings: the labels so far, and the state of the twin after them."""
    for _ in range(n_walks):
        past, labels = (reference.START,), []
        for t in range(len(node)):
            moves = reference.moves(node, arc_scores, arcs, t, past)
            if not moves:
                break
            label, _, _, past = moves[rng.integers(len(moves))]
            labels.append(label)
            yield labels, past


@examples(100)
@given(case=cases())
def test_backward_equals_the_twin(case):
    rng = np.random.default_rng(0)
    for node, arc_scores, arcs in case.sequences():
        found = backward(node, arc_scores, case)
        if found is None:
            continue
        expected = reference.backward(node, arc_scores, arcs)
        for labels, past in walks(node, arc_scores, arcs, rng):
            value = expected[len(labels)][past]
            mine = found[0][len(labels) - 1, state_after(case, labels)]
            if value == -np.inf:
                assert mine == -np.inf
            else:
                np.testing.assert_allclose(np.exp(mine - value), 1.0, rtol=1e-9)


@pytest.mark.parametrize("order", [0, 1, 2, 3])
def test_the_scaled_kernel_carries_ordinary_scores(rng, order):
    case = make_case(rng, 3, order, [6, 1, 4], scale=30.0, forbidden=0.3)
    assert all(backward(*sequence[:2], case) is not None for sequence in case.sequences())


@pytest.mark.parametrize("cut", [0, 1, 3, 6])
def test_calls_meet_without_a_seam(rng, cut):
    case = make_case(rng, 3, 2, [6])
    (sequence,) = case.sequences()
    whole, parts = backward(*sequence[:2], case), backward(*sequence[:2], case, cut)
    np.testing.assert_array_equal(whole[1], parts[1])


def subtracted(node, arc_scores, case):
    """β of row 0 of a sequence of two by the recursion alone, without any care for what cancels."""
    h = case.histories
    weights = np.exp(arc_scores + node[1, h.arc_label])
    beta = np.zeros(h.n_states)
    for s in range(h.n_states):
        own = np.arange(h.arc_ptr[s], h.arc_ptr[s + 1])
        beta[s] = weights[own].sum()
        if h.back_off[s] >= 0:
            beta[s] += beta[h.back_off[s]] - weights[h.arc_back_off[own]].sum()
    return beta


@pytest.mark.parametrize("gap", [35.0, 45.0, 80.0])
def test_a_difference_that_cancels_is_summed(rng, gap):
    """After a history, labels that were seen score `gap` less than after its back-off, and the one that was not is as
    unlikely: almost nothing is left of the difference."""
    corpus, offsets = rng.integers(4, size=400), np.arange(0, 401, 8)
    histories = Histories.observed(corpus, offsets, 5, 3)
    scores = rng.normal(size=histories.n_arcs) - gap * histories.lengths[histories.arc_state]
    node = rng.normal(size=(2, 5))
    node[1, 4] -= gap
    case = Case(histories, node, scores, np.array([0, 2]), np.zeros(2, dtype=int))
    found = backward(node, scores, case)
    expected = reference.backward(node, scores, case.arcs)[1]
    plain = subtracted(node, scores, case)
    states = [state_after(case, past[1:]) for past in expected]
    values = np.array(list(expected.values()))
    np.testing.assert_allclose(np.exp(found[0][0, states] - values), 1.0, rtol=1e-9)
    wrong = np.abs(plain[states] * np.exp(-values) - 1.0)
    assert wrong.max() > 0.01, "the plain recursion must fail here, or the test shows nothing"


@examples(60)
@given(case=cases())
def test_reach_is_where_the_twin_stops(case):
    h = case.histories
    for node, arc_scores, arcs in case.sequences():
        node = node.copy()
        node[len(node) // 2, case.labels[0]] = -np.inf
        alpha = reference.forward(node, arc_scores, arcs)
        dead = [t for t in range(len(node)) if not alpha[t + 1]]
        reached, subtree = np.zeros((2, h.n_states), dtype=np.int64)
        reached[h.start] = 1
        scratch = reached, subtree, np.empty(h.n_arcs, dtype=np.int64)
        assert reach(node, arc_scores, h.walk, *scratch, 0, len(node)) == (dead or [len(node)])[0]


@examples(60)
@given(case=cases())
def test_the_log_kernel_equals_the_scaled_one(case):
    h = case.histories
    for node, arc_scores, _ in case.sequences():
        T = len(node)
        found = backward(node, arc_scores, case)
        if found is None:
            continue
        rows, tops = np.empty((T, h.n_states)), np.empty(T)
        log_histories.backward(node, arc_scores, h.walk, rows, tops, make_buffers(h), 0, T, 0, T)
        logs = rows + np.cumsum(tops[::-1])[::-1][:, None]
        possible = logs > -np.inf
        np.testing.assert_array_equal(possible, found[0] > -np.inf)
        np.testing.assert_allclose(np.exp(found[0][possible] - logs[possible]), 1.0, rtol=1e-8)
