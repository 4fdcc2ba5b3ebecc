"""Chains of histories with scores of their own at every position: everything by enumeration."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.chain import inference
from hedgerow.chain.edges import HistoryTables, chain_from_scores
from hedgerow.chain.inference import beam_labelings, check_legal, legal_sequences
from hedgerow.chain.objectives import log_likelihood
from hedgerow.chain.potentials import ChainPotentials, Truth
from hedgerow.chain.structure.history_table import HistoryTable
from hedgerow.errors import InputError
from tests.examples import examples

CLOSE = {"rtol": 1e-9, "atol": 1e-10}


def make(seed, K, order, lengths, *, scale=1.0, forbidden=0.0):
    rng = np.random.default_rng(seed)
    table, n = HistoryTable.full(K, order), sum(lengths)
    scores = scale * rng.normal(size=(K, n, table.n_histories))
    scores[rng.random(scores.shape) < forbidden] = -np.inf
    node = scale * rng.normal(size=(n, K))
    node[rng.random(node.shape) < forbidden / 2] = -np.inf
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    return ChainPotentials(node, offsets, HistoryTables(table, scores))


def enumerated(one):
    """All labelings of one sequence and their scores, history by history."""
    table, scores, node = one.edges.table, one.edges.scores, one.node_scores
    every = np.array(list(itertools.product(range(node.shape[1]), repeat=len(node))))
    totals, walks = [], []
    for labels in every:
        past, total, walk = [], 0.0, []
        for t, k in enumerate(labels.tolist()):
            own = past[-table.order :]
            h = int(np.flatnonzero((table.labels == [-1] * (table.order - len(own)) + own).all(axis=1))[0])
            total += scores[k, t, h] + node[t, k]
            walk.append(h)
            past.append(k)
        totals.append(total)
        walks.append(walk)
    return every, np.array(totals), np.array(walks)


cases = st.tuples(st.integers(0, 10**6), st.integers(2, 3), st.integers(1, 3))


@examples(30)
@given(case=cases, forbidden=st.sampled_from([0.0, 0.2]))
def test_everything_by_enumeration(case, forbidden):
    potentials = make(*case, (1, 4, 3), forbidden=forbidden)
    found = [enumerated(potentials.sequence(i)) for i in range(3)]
    legal = np.array([np.isfinite(scores).any() for _, scores, _ in found])
    np.testing.assert_array_equal(legal_sequences(potentials), legal)
    if not legal.all():
        for refuse in (check_legal, inference.marginals, inference.best_labelings, inference.log_partition):
            with pytest.raises(InputError, match="no legal labeling") as caught:
                refuse(potentials)
            assert caught.value.sequence == int(np.argmin(legal))
        return
    result = inference.marginals(potentials)
    np.testing.assert_array_equal(inference.node_marginals(potentials), result.node_probs)
    best, of_best = inference.best_labelings(potentials)
    wide, of_wide = beam_labelings(potentials, 100)
    listed, entropy = inference.k_best(potentials, 3), inference.entropy(potentials)
    np.testing.assert_allclose(inference.log_partition(potentials), result.log_partition, rtol=1e-12)
    for i, (every, scores, walks) in enumerate(found):
        rows = potentials.rows(i)
        log_z = np.logaddexp.reduce(scores)
        probs = np.exp(scores - log_z)
        np.testing.assert_allclose(result.log_partition[i], log_z, rtol=1e-11)
        edges = np.zeros((*result.edges.shape[::2], every.shape[1]))
        for p, labels, walk in zip(probs, every, walks):
            edges[labels, walk, np.arange(len(labels))] += p
        np.testing.assert_allclose(result.edges[:, rows].transpose(0, 2, 1), edges, **CLOSE)
        np.testing.assert_allclose(result.node_probs[rows], edges.sum(axis=1).T, **CLOSE)
        np.testing.assert_allclose([of_best[i], of_wide[i]], scores.max(), rtol=1e-12)
        np.testing.assert_array_equal(best[rows], every[np.argmax(scores)])
        np.testing.assert_array_equal(wide[rows], best[rows])
        top = np.sort(scores[np.isfinite(scores)])[::-1][:3]
        np.testing.assert_allclose(listed[i].scores, top, rtol=1e-10)
        np.testing.assert_allclose(listed[i].probs, np.exp(top - log_z), rtol=1e-8)
        possible = probs > 0
        np.testing.assert_allclose(entropy[i], -(probs[possible] * np.log(probs[possible])).sum(), rtol=1e-8, atol=1e-9)
        truth = every[len(every) // 2]
        given_ = inference.log_probability(potentials.sequence(i), truth)
        np.testing.assert_allclose(given_, [scores[len(every) // 2] - log_z], rtol=1e-9, atol=1e-9)


@examples(20)
@given(seed=st.integers(0, 10**6))
def test_order_one_is_the_chain(seed):
    potentials = make(seed, 3, 1, (2, 5))
    scores = potentials.edges.scores
    node = potentials.node_scores.copy()
    node[[0, 2]] += scores[:, [0, 2], 0].T
    chain = inference.marginals(chain_from_scores(node, scores[:, :, 1:], potentials.offsets))
    mine = inference.marginals(potentials)
    np.testing.assert_allclose(mine.log_partition, chain.log_partition, rtol=1e-11)
    np.testing.assert_allclose(mine.node_probs, chain.node_probs, **CLOSE)
    np.testing.assert_allclose(mine.edges[:, :, 1:], chain.edges, **CLOSE)


def test_samples_have_the_marginals(rng):
    potentials = make(3, 2, 2, (3, 2))
    drawn = inference.sample(potentials, rng.random((4000, 5)))
    probs = inference.marginals(potentials).node_probs
    np.testing.assert_allclose((drawn == 1).mean(axis=0), probs[:, 1], atol=0.04)


@pytest.mark.parametrize("partial", [False, True])
def test_gradient_by_differences(rng, partial):
    potentials = make(5, 2, 2, (1, 4))
    labels = np.array([1, 0, 1, 1, 0])
    allowed = None
    if partial:
        labels[[2, 3]] = -1
        allowed = np.ones((5, 2), dtype=bool)
        allowed[3] = [False, True]
    truth = Truth(labels, allowed, np.array([2.0, 0.5]))
    found = log_likelihood(potentials, truth)
    scores, node = potentials.edges.scores, potentials.node_scores
    for array, gradient in ((scores, found.edge_gradient), (node, found.node_gradient)):
        for place in [tuple(rng.integers(size) for size in array.shape) for _ in range(25)]:
            losses = []
            for step in (1e-5, -1e-5):
                array[place] += step
                losses.append(log_likelihood(potentials, truth).loss)
                array[place] -= step
            assert gradient[place] == pytest.approx((losses[0] - losses[1]) / 2e-5, rel=1e-5, abs=1e-7)


def test_scores_of_any_size_and_length():
    potentials = make(1, 2, 2, (2000,), scale=200.0)
    result = inference.marginals(potentials)
    np.testing.assert_allclose(result.node_probs.sum(axis=1), 1.0, rtol=1e-9)
    best, score = inference.best_labelings(potentials)
    assert score[0] <= result.log_partition[0] * (1 + 1e-12)
    assert inference.position_scores(potentials, best).sum() == pytest.approx(score[0], rel=1e-12)


def test_a_truth_that_is_not_allowed():
    potentials = make(1, 2, 2, (3,))
    potentials.node_scores[1, 0] = -np.inf
    with pytest.raises(InputError, match="the true label 0 is not allowed here") as caught:
        log_likelihood(potentials, Truth(np.array([1, 0, 1])))
    assert (caught.value.sequence, caught.value.position) == (0, 1)


def test_shapes_must_fit():
    table = HistoryTable.full(2, 2)
    with pytest.raises(InputError, match="do not fit 2 labels after 7 histories"):
        HistoryTables(table, np.zeros((2, 5, 6)))
