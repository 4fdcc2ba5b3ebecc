"""The searching kernels against their twins."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.chain.kernels import search
from tests.examples import examples
from tests.reference import chain as reference
from tests.reference.cases import Case, cases

from .test_chain import first_flags


def rounded(case):
    """The same case with few different scores: ties everywhere."""
    return Case(np.round(case.node), np.round(case.edges), case.offsets, case.labels)


@examples(100)
@given(case=cases(), ties=st.booleans(), data=st.data())
def test_viterbi_equals_its_twin_label_for_label(case, ties, data):
    case = rounded(case) if ties else case
    n, K = case.node.shape
    first, edges = first_flags(case.offsets), case.potentials().edges
    cut = data.draw(st.integers(0, n))
    best, labels = np.empty((n, K)), np.empty(n, dtype=np.int32)
    fill = search.viterbi_shared if case.edges.ndim == 2 else search.viterbi_positions
    for t0, t1 in ((0, cut), (cut, n)):
        fill(case.node, case.edges, first, best, t0, t1)
    for t0, t1 in ((cut, n), (0, cut)):
        search.trace(edges.scores_to, first, best, labels, t0, t1)
    expected, scores = reference.viterbi(*case.arrays)
    np.testing.assert_array_equal(labels, expected)
    np.testing.assert_array_equal(best[case.offsets[1:] - 1].max(axis=1), scores)


@examples(60)
@given(case=cases(max_labels=4, max_length=6, max_sequences=1), k=st.integers(1, 6), ties=st.booleans())
def test_k_best_keeps_the_best_of_every_ending(case, k, ties):
    case = rounded(case) if ties else case
    n, K = case.node.shape
    best, back = np.empty((n, K, k)), np.empty((n, K, k), dtype=np.int32)
    edges, first = case.potentials().edges.scores_to, first_flags(case.offsets)
    search.k_best(case.node, edges, first, best, back, 0, n)
    every = reference.labelings(K, n)
    scores = np.array([reference.score(*case.arrays, y)[0] for y in every])
    for v in range(K):
        expected = np.sort(scores[every[:, -1] == v])[::-1][:k]
        found = best[-1, v, : len(expected)]
        np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-11)
        for rank in np.flatnonzero(best[-1, v] > -np.inf):
            labels = np.empty(n, dtype=np.int32)
            search.trace_k(back, v, rank, labels, 0, n)
            assert labels[-1] == v
            np.testing.assert_allclose(reference.score(*case.arrays, labels)[0], best[-1, v, rank], rtol=1e-11)


@examples(60)
@given(case=cases(), seed=st.integers(0, 2**32 - 1))
def test_samples_equal_those_of_the_twin(case, seed):
    n, K = case.node.shape
    uniforms = np.random.default_rng(seed).random(n)
    labels = np.empty(n, dtype=np.int32)
    log_alpha = reference.forward(*case.arrays)
    edges, first = case.potentials().edges.scores_to, first_flags(case.offsets)
    search.sample(log_alpha, edges, first, uniforms, np.empty(K), labels, 0, n)
    np.testing.assert_array_equal(labels, reference.sample(*case.arrays, uniforms))


@examples(60)
@given(case=cases())
def test_entropy_ahead_of_the_first_position(case):
    n, K = case.node.shape
    edges, first = case.potentials().edges.scores_to, first_flags(case.offsets)
    log_beta, ahead = reference.backward(*case.arrays), np.empty((n, K))
    search.entropy(case.node, edges, first, log_beta, np.zeros(n), ahead, 0, n)
    starts = reference.node_probs(*case.arrays)[case.offsets[:-1]]
    own = [reference.minus_p_log_p(p) for p in starts]
    total = own + (starts * ahead[case.offsets[:-1]]).sum(axis=1)
    np.testing.assert_allclose(total, reference.entropy(*case.arrays), rtol=1e-8, atol=1e-8)
