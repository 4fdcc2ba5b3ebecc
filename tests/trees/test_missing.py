"""Growers and ensembles of trees in which a missing value is none; the trees themselves: tests/kernels/test_missing."""

from __future__ import annotations

import numpy as np
import pytest

from hedgerow.errors import InputError
from hedgerow.trees import growing as grower_module
from hedgerow.trees.ensemble import Ensemble, add_trees
from tests.kernels.test_growing import make, make_grower
from tests.kernels.test_missing import GAPS


def test_the_method_is_chosen_by_name():
    """A plain tree has no shares, one by weighting no one leaf for a row, and only one by surrogates has any."""
    corpus = make(0, gaps=GAPS)
    (plain, leaves), (weighting, none), (surrogate, own) = (
        make_grower(corpus, 4, 1.0, **options).grow()
        for options in ({}, {"missing": "weighting"}, {"missing": "surrogate"})
    )
    assert plain.shares is None
    assert plain.surrogates is None
    assert leaves is not None
    assert weighting.shares is not None
    assert none is None
    assert len(weighting.surrogates) == 0
    assert len(surrogate.surrogates) > 0
    assert own is not None
    with pytest.raises(InputError, match="missing='drop'"):
        make_grower(corpus, 4, 1.0, missing="drop")


def test_the_memory_of_histograms_is_bounded(monkeypatch):
    monkeypatch.setattr(grower_module, "MAX_HISTOGRAMS", 1)
    assert len(make_grower(make(1, gaps=GAPS), 12, 1.0, missing="weighting")._buffers.hist) == 3


@pytest.mark.parametrize("missing", ["weighting", "surrogate"])
def test_an_ensemble_keeps_shares_and_surrogates(missing):
    corpus = make(5, gaps=GAPS)
    n, K = corpus.targets.shape
    trees = [make_grower(corpus, size, 1.0, missing=missing).grow()[0] for size in range(2, 2 + 2 * K)]
    ensemble = Ensemble.of(K, trees)
    assert ensemble.n_iterations == 2
    for tree, own in zip(trees, ensemble.trees()):
        np.testing.assert_array_equal(own.shares, tree.shares)
        np.testing.assert_array_equal(own.surrogates, tree.surrogates)
        np.testing.assert_array_equal(own.surrogate_sets, tree.surrogate_sets)
    scores = []
    for own in (trees, ensemble.trees()):
        edges, nodes = np.zeros((K, n, K)), np.zeros((K, n))
        add_trees(corpus.data, corpus.data.place, own, edges, nodes)
        scores.append((edges, nodes))
    np.testing.assert_array_equal(scores[0][0], scores[1][0])
    np.testing.assert_array_equal(scores[0][1], scores[1][1])
    first = ensemble.first(1)
    assert first.surrogates is not None
    assert len(first.surrogates) == sum(len(tree.surrogates) for tree in trees[:K])


def test_an_ensemble_of_plain_trees_has_neither():
    corpus = make(5)
    trees = [make_grower(corpus, 4, 1.0).grow()[0]] * corpus.targets.shape[1]
    ensemble = Ensemble.of(len(trees), trees)
    assert ensemble.shares is None
    assert ensemble.tree(0).shares is None
    assert Ensemble.of(3, []).shares is None


def test_scores_do_not_depend_on_the_other_trees():
    """The buffers of a call are as large as its largest tree needs; a small tree uses a part of them."""
    corpus = make(8, gaps=GAPS, sparse=True)
    n, K = corpus.targets.shape
    trees = [make_grower(corpus, size, 1.0, missing="weighting").grow()[0] for size in (2, 30, 3)]
    edges, nodes = np.zeros((1, n, K)), np.zeros((1, n))
    add_trees(corpus.data, corpus.data.place, trees, edges, nodes)
    alone, alone_nodes = np.zeros((1, n, K)), np.zeros((1, n))
    for tree in trees:
        add_trees(corpus.data, corpus.data.place, [tree], alone, alone_nodes)
    np.testing.assert_array_equal(edges, alone)
    np.testing.assert_array_equal(nodes, alone_nodes)


@pytest.mark.parametrize("n", [0, 1, 255, 256, 257, 700])
def test_any_number_of_places(n):
    """Places are scored in blocks."""
    corpus = make(9, gaps=GAPS)
    K = corpus.targets.shape[1]
    tree, _ = make_grower(corpus, 20, 1.0, missing="surrogate", subsets=True).grow()
    rng = np.random.default_rng(n)
    which = rng.integers(0, len(corpus.data.place), n)
    whole, whole_nodes = np.zeros((1, len(corpus.data.place), K)), np.zeros((1, len(corpus.data.place)))
    add_trees(corpus.data, corpus.data.place, [tree], whole, whole_nodes)
    edges, nodes = np.zeros((1, n, K)), np.zeros((1, n))
    add_trees(corpus.data, corpus.data.place[which], [tree], edges, nodes)
    np.testing.assert_array_equal(edges, whole[:, which])
    np.testing.assert_array_equal(nodes, whole_nodes[:, which])
