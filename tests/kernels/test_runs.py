"""The curvature of labels that move together: against its twin, and against enumeration where it is exact."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest

from hedgerow.chain.edges import SharedEdges
from hedgerow.chain.potentials import ChainPotentials
from hedgerow.chain.workspace import Workspace
from hedgerow.training.kernels import runs
from tests.reference import chain
from tests.reference import runs as reference


def curvature(node, table, offsets, labels, weight):
    """The kernel on a chunk with this truth."""
    edges, work = SharedEdges.from_scores(table), Workspace()
    potentials = ChainPotentials(node, offsets=offsets, edges=edges)
    edges.pass_messages(potentials, work, back=True)
    gradient = work.node_probs - (labels[:, None] == np.arange(len(table)))
    gradient[labels < 0] = 0.3  # of a position without a truth it says little
    found, room = np.empty(gradient.shape), np.empty((3, len(table)))
    stay = np.ascontiguousarray(edges.exps.diagonal())
    scaled = weight[:, None] * gradient
    runs.run_curvature(scaled, labels, weight, work.alpha, work.node_exp, stay, potentials.first, room, found)
    return found.T


def draw(seed, n_labels, lengths, stickiness):
    rng = np.random.default_rng(seed)
    offsets = np.cumsum([0, *lengths])
    node = rng.normal(size=(offsets[-1], n_labels))
    table = rng.normal(size=(n_labels, n_labels)) + stickiness * np.eye(n_labels)
    labels = rng.integers(n_labels, size=offsets[-1]).astype(np.int32)
    return node, table, offsets, labels, rng.choice([0.5, 1.0, 3.0], size=offsets[-1])


@pytest.mark.parametrize("hidden", [False, True])
@pytest.mark.parametrize("stickiness", [-3.0, 0.0, 4.0])
@pytest.mark.parametrize("n_labels", [1, 2, 5])
def test_against_the_twin(n_labels, stickiness, hidden):
    node, table, offsets, labels, weight = draw(n_labels, n_labels, (1, 9, 4), stickiness)
    if hidden:
        labels[4:6] = -1
    probs = chain.node_probs(node, table, offsets)
    pairs = chain.edge_probs(node, table, offsets)
    stays = np.array([np.diagonal(pairs[:, t]) for t in range(len(node))])
    probs[labels < 0] = 0.3
    expected = reference.run_curvature(probs, stays, offsets, labels >= 0)
    np.testing.assert_allclose(curvature(node, table, offsets, labels, weight), expected, rtol=1e-7, atol=1e-12)


def test_with_two_labels_it_is_the_sum_of_all_covariances():
    node, table, offsets, labels, weight = draw(7, 2, (6, 3), 1.0)
    found = curvature(node, table, offsets, labels, weight)
    for begin, end in pairwise(offsets):
        ways = np.array(list(product(range(2), repeat=end - begin)))
        scores = [node[np.arange(begin, end), way].sum() + table[way[:-1], way[1:]].sum() for way in ways]
        share = np.exp(scores - np.logaddexp.reduce(scores))
        covariances = np.cov(ways.T, aweights=share, ddof=0)
        assert covariances.min() > 0  # else they bound nothing
        for v in range(2):
            np.testing.assert_allclose(found[v, begin:end], np.minimum(covariances.sum(axis=1), 1.0), rtol=1e-9)


def test_no_row_counts_more_than_one_nor_nothing():
    node, _, offsets, labels, weight = draw(3, 3, (400,), 0.0)
    table = 4.0 * np.eye(3)
    assert curvature(0.0 * node, table, offsets, labels, weight).min() == 1.0
    node[:, 0] = 60.0
    assert curvature(node, table, offsets, labels, weight).min() == 1e-9
