"""Boosting a chain: the loss falls, trees predict what training added, and threads do not change a bit."""

from __future__ import annotations

import numpy as np
import pytest

from hedgerow.data.encoding import learn
from hedgerow.datasets import make_sequences
from hedgerow.inference import log_partition
from hedgerow.parallel import Lanes
from hedgerow.reference import growing as slow
from hedgerow.trainers.boosting import Booster
from hedgerow.trees.binning import bin_dataset, learn_binning
from hedgerow.trees.ensemble import Ensemble, add_trees


@pytest.fixture(scope="module")
def corpus():
    made = make_sequences(60, 3, random_state=0)
    dataset = learn(made[0], made[1], window=1)
    binning = learn_binning(dataset)
    return dataset, binning, bin_dataset(binning, dataset, postings=True)


def boost(corpus, n_iterations, *, n_jobs=1, **options):
    dataset, binning, data = corpus
    options = {"max_leaves": 8, "shrinkage": 5.0, "learning_rate": 1.0} | options
    losses, trees = [], []
    with Lanes(n_jobs, 8) as lanes:
        booster = Booster(dataset, binning, data, lanes, **options)
        for _ in range(n_iterations):
            losses.append(booster.evaluate())
            trees.extend(booster.step())
        losses.append(booster.evaluate())
    return booster, losses, trees


def test_loss_falls_at_every_small_step(corpus):
    _, losses, _ = boost(corpus, 15, learning_rate=0.2)
    assert np.all(np.diff(losses) < 0)


def test_zero_scores_cost_log_k_a_position(corpus):
    _, losses, _ = boost(corpus, 1)
    assert losses[0] == pytest.approx(corpus[0].n_positions * np.log(3))


def test_trees_predict_the_scores_of_training(corpus):
    dataset, binning, data = corpus
    booster, _, trees = boost(corpus, 6)
    ensemble = Ensemble.of(3, trees)
    edges = np.zeros((3, dataset.n_positions, 3))
    nodes = np.zeros((dataset.n_positions, 3))
    flat = [ensemble.tree(i, k) for i in range(ensemble.n_iterations) for k in range(3)]
    add_trees(binning, data, data.place, data.first, flat, edges, nodes)
    for shard in booster.shards:
        rows = slice(shard.begin, shard.end)
        np.testing.assert_allclose(edges[:, rows], shard.edge_scores, atol=1e-12)
        np.testing.assert_allclose(nodes[rows].T, shard.start_scores, atol=1e-12)
        np.testing.assert_allclose(shard.edge_exps, np.exp(shard.edge_scores), rtol=1e-10)


def test_threads_do_not_change_a_bit(corpus):
    one, two = (boost(corpus, 5, n_jobs=n)[1:] for n in (1, 4))
    assert one[0] == two[0]
    for a, b in zip(one[1], two[1]):
        np.testing.assert_array_equal(a.nodes, b.nodes)
        np.testing.assert_array_equal(a.values, b.values)


def test_first_trees_are_those_of_the_paper(corpus):
    """Table 2 of the 2004 paper by hand: at zero scores the gradient is 1/K² − truth, and 1/K − truth at the start."""
    dataset, binning, data = corpus
    booster, _, trees = boost(corpus, 1)
    labels, K = dataset.labels, 3
    one = booster._growers[0].one
    kinds, n_bins = binning.streams[4].tolist(), binning.streams[3].tolist()
    for k in range(K):
        rows = []
        for t in range(dataset.n_positions):
            window = [int(data.bins[c, data.place[t] + o]) for c, o in binning.streams[:2].T]
            if data.first[t]:
                rows.append(slow.Row(t, window, K, round((1 / K - (labels[t] == k)) * one)))
            else:
                truth = [labels[t] == k and labels[t - 1] == u for u in range(K)]
                rows += [slow.Row(t, window, u, round((1 / K**2 - truth[u]) * one)) for u in range(K)]
        root, leaves = slow.grow(rows, kinds, n_bins, K, 8, 5.0)
        assert root.split == tuple(trees[k].nodes[0, :3])
        values = sorted(-sum(row.target for row in leaf.rows) / one / (len(leaf.rows) + 5.0) for leaf in leaves)
        found = sorted(trees[k].values[trees[k].nodes[:, 0] == slow.LEAF])
        np.testing.assert_allclose(found, values, atol=1e-7)


def test_large_scores_rebuild_the_exponentials(corpus):
    booster, _, _ = boost(corpus, 1)
    shard = booster.shards[0]
    shard.edge_scores += 600.0
    shard.rebuild()
    np.testing.assert_allclose(np.log(shard.edge_exps), shard.edge_scores)
    assert np.isfinite(log_partition(shard.potentials())).all()
