"""Kernels of graphs that inference does not call: scores of features, and what the pseudo-likelihood reads."""

from __future__ import annotations

import numpy as np
import pytest

from hedgerow.lattice.kernels import scores, search
from hedgerow.legend import CODE
from tests.lattice.made import full_edges, random_potentials


@pytest.fixture
def grouped(rng):
    """rows (n, F), tables (G, F, P) and the group of each row (n,); group 1 has none."""
    return rng.normal(size=(7, 3)), rng.normal(size=(4, 3, 2)), np.array([0, 3, 2, 0, 0, 2, 3], dtype=CODE)


def test_scores_are_products_by_group(grouped):
    rows, tables, group = grouped
    result = np.full((7, 2), np.nan)
    scores.times(rows, tables, group, result)
    np.testing.assert_allclose(result, np.einsum("rf,rfp->rp", rows, tables[group]), rtol=1e-12)


def test_gradients_come_back_the_same_way(grouped, rng):
    rows, tables, group = grouped
    gradient, before = rng.normal(size=(7, 2)), rng.normal(size=tables.shape)
    result = before.copy()
    scores.pull(rows, gradient, group, result)
    for g in range(len(tables)):
        own = group == g
        np.testing.assert_allclose(result[g], before[g] + rows[own].T @ gradient[own], rtol=1e-12)


@pytest.mark.parametrize("shared", [False, True])
def test_neighbours_with_a_label_speak(rng, shared):
    potentials = random_potentials(rng, 6, 3, share=0.7, shared=shared)
    ends, labels = potentials.topology.ends, np.array([0, -1, 2, 1, -1, 1], dtype=CODE)
    found = np.empty((6, 3))
    search.conditionals(potentials.node_scores, potentials.edge_scores, ends, labels, found)
    expected = potentials.node_scores.copy()
    for table, (i, j) in zip(full_edges(potentials), ends.tolist()):
        expected[i] += table[:, labels[j]] if labels[j] >= 0 else 0.0
        expected[j] += table[labels[i]] if labels[i] >= 0 else 0.0
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_the_gradient_by_edges_counts_both_ends(rng):
    potentials = random_potentials(rng, 6, 3, share=0.7)
    ends, labels = potentials.topology.ends, np.array([0, -1, 2, 1, -1, 1], dtype=CODE)
    probs, weights = rng.dirichlet(np.ones(3), size=6), rng.random(6)
    found = np.full((len(ends), 3, 3), np.nan)
    search.join_counts(probs, weights, ends, labels, found)
    truth = np.eye(3)
    for own, (i, j) in zip(found, ends.tolist()):
        expected = np.zeros((3, 3))
        if labels[i] >= 0 and labels[j] >= 0:
            expected += weights[i] * np.outer(probs[i] - truth[labels[i]], truth[labels[j]])
            expected += weights[j] * np.outer(truth[labels[i]], probs[j] - truth[labels[j]])
        np.testing.assert_allclose(own, expected, atol=1e-12)
