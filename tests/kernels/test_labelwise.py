"""The kernels between marginals and losses against NumPy, with labels that are known, unknown, and sets."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.chain.kernels import labelwise
from tests.examples import examples


@st.composite
def problems(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, K = draw(st.integers(1, 8)), draw(st.integers(1, 5))
    probs = rng.dirichlet(np.ones(K), size=n)
    labels = np.where(rng.random(n) < 0.4, -1, rng.integers(K, size=n))
    allowed = np.empty((0, K), dtype=np.uint8)
    sets = np.ones((n, K), dtype=bool)
    if draw(st.booleans()):
        sets = rng.random((n, K)) < 0.5
        sets[np.arange(n), rng.integers(K, size=n)] = True
        allowed = sets.view(np.uint8)
    right = np.where((labels < 0)[:, None], sets, np.arange(K) == labels[:, None])
    return probs, labels, allowed, right, rng.random(n)


@examples(80)
@given(problem=problems(), cut=st.integers(0, 8))
def test_pointwise(problem, cut):
    probs, labels, allowed, right, weights = problem
    n = len(labels)
    cut = min(cut, n)
    true_probs, terms = np.empty(n), np.empty(probs.shape)
    for t0, t1 in ((0, cut), (cut, n)):
        labelwise.pointwise(probs, labels, allowed, weights, true_probs, terms, t0, t1)
    expected = (probs * right).sum(axis=1)
    np.testing.assert_allclose(true_probs, expected, rtol=1e-12)
    unknown = (labels < 0) & (len(allowed) == 0)
    share = -weights[:, None] * probs * right / expected[:, None]
    np.testing.assert_allclose(terms, np.where(unknown[:, None], 0.0, share), rtol=1e-12, atol=1e-15)


@examples(80)
@given(problem=problems(), seed=st.integers(0, 99))
def test_expected_costs(problem, seed):
    probs, labels, _, right, weights = problem
    K = probs.shape[1]
    costs = np.random.default_rng(seed).random((K, K)) * (1.0 - np.eye(K))
    terms = np.empty(probs.shape)
    labelwise.expected_costs(probs, right, costs, weights, terms, 0, len(labels))
    least = np.array([costs[row].min(axis=0) for row in right])
    np.testing.assert_allclose(terms, weights[:, None] * least * probs, rtol=1e-12, atol=1e-15)


@examples(80)
@given(problem=problems())
def test_rivals(problem):
    probs, _, _, right, slopes = problem
    n, K = probs.shape
    margins, rival, terms = np.empty(n), np.empty(n, dtype=np.int32), np.empty((n, K))
    labelwise.rivals(probs, right, margins, rival, 0, n)
    labelwise.rival_terms(probs, right, rival, slopes, terms, 0, n)
    for t in range(n):
        if right[t].all():
            assert (rival[t], margins[t]) == (-1, 0.0)
            np.testing.assert_array_equal(terms[t], 0.0)
            continue
        best = np.argmax(np.where(right[t], -1.0, probs[t]))
        assert rival[t] == best
        np.testing.assert_allclose(margins[t], probs[t, right[t]].sum() - probs[t, best], rtol=1e-12, atol=1e-15)
        expected = slopes[t] * probs[t] * (right[t] * 1.0 - (np.arange(K) == best))
        np.testing.assert_allclose(terms[t], expected, rtol=1e-12, atol=1e-15)


@examples(80)
@given(problem=problems(), softness=st.sampled_from([0.5, 20.0]))
def test_soft_rivals(problem, softness):
    probs, _, _, right, slopes = problem
    n, K = probs.shape
    scores, margins, totals, terms = np.empty((n, K)), np.empty(n), np.empty(n), np.empty((n, K))
    labelwise.wrong_scores(probs, right, softness, scores, 0, n)
    np.testing.assert_array_equal(scores, np.where(right, -np.inf, softness * probs))
    exps = np.exp(scores)
    labelwise.soft_margins(probs, right, exps, margins, totals, 0, n)
    labelwise.soft_terms(probs, right, exps, totals, slopes, terms, 0, n)
    np.testing.assert_allclose(totals, exps.sum(axis=1), rtol=1e-12)
    has_loss = ~right.all(axis=1)
    np.testing.assert_allclose(margins[has_loss], (probs * right).sum(axis=1)[has_loss], rtol=1e-12, atol=1e-15)
    shares = np.where(right, 1.0, -exps / np.where(has_loss, exps.sum(axis=1), 1.0)[:, None])
    expected = (slopes * has_loss)[:, None] * probs * shares
    np.testing.assert_allclose(terms, expected, rtol=1e-12, atol=1e-15)
