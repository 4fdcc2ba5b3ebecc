"""The truth's scores and indicators against their twins."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.chain.kernels import truth
from tests.examples import examples
from tests.reference import chain as reference
from tests.reference.cases import cases

from .test_chain import first_flags


@examples(60)
@given(case=cases(), cut=st.integers(0, 9), seed=st.integers(0, 99))
def test_scores(case, cut, seed):
    """With all labels known the scores of the labelings; an unknown one takes its node and both its edges away."""
    n = len(case.node)
    edges = case.edges if case.edges.ndim == 3 else np.ascontiguousarray(case.edges.T)[:, None]
    first, (scores, moves), cut = first_flags(case.offsets), np.empty((2, n)), min(cut, n)
    for t0, t1 in ((0, cut), (cut, n)):
        truth.position_scores(case.node, edges, first, case.labels, 0.0, scores, moves, t0, t1)
    scores += moves
    expected = reference.score(*case.arrays, case.labels)
    np.testing.assert_allclose(np.add.reduceat(scores, case.offsets[:-1]), expected, rtol=1e-9, atol=1e-9)
    hidden = np.where(np.random.default_rng(seed).random(n) < 0.4, -1, case.labels)
    truth.position_scores(case.node, edges, first, hidden, 7.0, scores, moves, 0, n)
    for t in range(n):
        there = not first[t] and min(hidden[t], hidden[t - 1]) >= 0
        assert scores[t] == (case.node[t, hidden[t]] if hidden[t] >= 0 else 0.0)
        assert moves[t] == (reference.table(case.edges, t)[hidden[t - 1], hidden[t]] if there else 7.0)


@examples(40)
@given(case=cases(per_position=False), seed=st.integers(0, 99))
def test_subtraction(case, seed):
    """Sequences with an unknown label are passed over as a whole."""
    rng = np.random.default_rng(seed)
    labels, weights = case.labels.copy(), rng.random(len(case.labels))
    for begin, end in zip(case.offsets[:-1], case.offsets[1:]):
        if rng.random() < 0.3:
            labels[begin:end] = -1
    K = case.node.shape[1]
    nodes, pairs = np.ones(case.node.shape), np.ones((K, K))
    truth.subtract(first_flags(case.offsets), labels, weights, nodes, pairs.T[:, None])
    own_nodes, own_pairs = reference.truth(K, case.offsets, labels)
    np.testing.assert_allclose(nodes, 1.0 - weights[:, None] * own_nodes, rtol=1e-12)
    expected = 1.0 - (weights[:, None] * own_pairs).sum(axis=1).T
    np.testing.assert_allclose(pairs, expected, rtol=1e-9, atol=1e-12)
