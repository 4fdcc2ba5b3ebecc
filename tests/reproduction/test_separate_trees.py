"""Trees of their own for nodes and edges: each is fitted to the gradient of its own scores."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest

from hedgerow.data.encoding import learn
from hedgerow.trees.binning import bin_dataset, learn_binning
from reproduction.beyond.separate_trees import SeparateTrees

X = [["a", "b", "a"], ["b", "b"], ["a", "a", "b"]]
Y = [["0", "1", "0"], ["1", "1"], ["0", "1", "1"]]


def booster(l2: float = 0.0) -> SeparateTrees:
    dataset = learn(X, Y, window=0)
    data = bin_dataset(learn_binning(dataset), dataset, postings=True)
    return SeparateTrees(dataset, data, max_leaf_nodes=8, l2_regularization=l2)


def gradients(nodes: np.ndarray, edges: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    """Minus the log-likelihood, and truth less probability of labels and of pairs, over all labelings."""
    loss, by_node, by_edge, begin = 0.0, np.zeros_like(nodes), np.zeros_like(edges), 0
    for labels in Y:
        places, true = range(begin, begin + len(labels)), tuple(map(int, labels))

        def mark(path, share, places=places):
            for i, t in enumerate(places):
                by_node[path[i], t] += share
                if i:
                    by_edge[path[i], t, path[i - 1]] += share

        def score(path, places=places):
            moves = sum(edges[path[i], t, path[i - 1]] for i, t in enumerate(places) if i)
            return moves + sum(nodes[path[i], t] for i, t in enumerate(places))

        paths = list(product(range(2), repeat=len(labels)))
        total = np.logaddexp.reduce([score(path) for path in paths])
        for path in paths:
            mark(path, -np.exp(score(path) - total))
        mark(true, 1.0)
        loss, begin = loss + total - score(true), begin + len(labels)
    return loss, by_node, by_edge


def leaves(added: np.ndarray, gradient: np.ndarray, rows: np.ndarray, l2: float) -> int:
    """Check that what a tree added is Σ gradient / (n + λ) of the rows it added the same to; how many such."""
    values = np.unique(np.round(added[rows], 9))
    for value in values:
        own = rows & (np.abs(added - value) < 1e-8)
        np.testing.assert_allclose(value, gradient[own].sum() / (own.sum() + l2), atol=1e-5)
    return len(values)


@pytest.mark.parametrize("l2", [0.0, 2.0])
def test_a_leaf_is_the_mean_of_the_gradients_of_its_own_scores(l2):
    inner = np.array([t > 0 for x in X for t in range(len(x))])
    model, n_leaves = booster(l2), []
    for _ in range(3):
        nodes, edges = model.nodes.copy(), model.edges.copy()
        loss, by_node, by_edge = gradients(nodes, edges)
        assert model.iterate()[0] == pytest.approx(loss)
        for k in range(2):
            n_leaves.append(leaves((model.nodes - nodes)[k], by_node[k], np.ones(len(inner), dtype=bool), l2))
            for j in range(2):
                n_leaves.append(leaves((model.edges - edges)[k, :, j], by_edge[k, :, j], inner, l2))
    assert max(n_leaves) == 2  # one for each letter


def test_the_loss_falls():
    model = booster(5.0)
    losses = [model.iterate()[0] for _ in range(15)]
    assert all(after < before for before, after in pairwise(losses))
