"""Labelings against their twin: scores, what neighbours say, better labels, and the slope of the pseudo-likelihood."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from hedgerow.lattice.kernels import search
from tests.examples import examples
from tests.reference import lattice as reference

from .lattice_cases import cases


def labels_of(case, known=1.0):
    labels = case.rng.integers(case.nodes.shape[1], size=case.top.n_nodes).astype(np.int32)
    labels[case.rng.random(len(labels)) > known] = -1
    return labels


@examples(60)
@given(cases())
def test_the_score_of_a_labeling(case):
    labels = labels_of(case)
    found = search.labeling_score(case.nodes, case.edges, case.top.ends, labels)
    assert found == pytest.approx(reference.score(*case.graph, labels), abs=1e-12)


@examples(60)
@given(cases())
def test_what_labelled_neighbours_say(case):
    labels = labels_of(case, 0.7)
    found = np.full_like(case.nodes, np.nan)
    search.conditionals(case.nodes, case.edges, case.top.ends, labels, found)
    expected = case.nodes.copy()
    for table, (i, j) in zip(case.each, case.top.ends):
        if labels[j] >= 0:
            expected[i] += table[:, labels[j]]
        if labels[i] >= 0:
            expected[j] += table[labels[i]]
    np.testing.assert_allclose(found, expected, atol=1e-12)


@examples(60)
@given(cases())
def test_each_node_gets_its_best_label(case):
    top, labels = case.top, labels_of(case)
    case.nodes[case.rng.random(case.nodes.shape) < 0.2] = -np.inf
    case.nodes[:, 0] = 0.0
    expected, changed = labels.copy(), 0
    for i in top.order.tolist():
        scores = []
        for u in range(case.nodes.shape[1]):
            trial = expected.copy()
            trial[i] = u
            scores.append(case.nodes[i, u] + sum(case.each[e, trial[a], trial[b]] for e, (a, b) in enumerate(top.ends)))
        best = int(np.argmax(scores))
        if scores[best] > scores[expected[i]] + 1e-12:
            expected[i], changed = best, changed + 1
    graph = case.nodes, case.edges, top.ends, top.ptr, top.out, top.order
    cut, field = top.n_nodes // 2, np.empty(case.nodes.shape[1])
    found = search.improve(*graph, 0, cut, labels, field) + search.improve(*graph, cut, top.n_nodes, labels, field)
    assert found == changed
    np.testing.assert_array_equal(labels, expected)


@examples(60)
@given(cases())
def test_the_slope_of_the_pseudo_likelihood_by_edges(case):
    labels, (n, K) = labels_of(case, 0.7), case.nodes.shape
    probs, weights = case.rng.dirichlet(np.ones(K), size=n), case.rng.random(n)
    found = np.full((case.top.n_edges, K, K), np.nan)
    search.join_counts(probs, weights, case.top.ends, labels, found)
    one = np.eye(K)
    for gradient, (i, j) in zip(found, case.top.ends):
        expected = np.zeros((K, K))
        if labels[i] >= 0 and labels[j] >= 0:
            expected += weights[i] * np.outer(probs[i] - one[labels[i]], one[labels[j]])
            expected += weights[j] * np.outer(one[labels[i]], probs[j] - one[labels[j]])
        np.testing.assert_allclose(gradient, expected, atol=1e-12)
