"""Multiple-instance boosting: bags, gradients and steps against the literal forms, and a pattern that it must find."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.data.encoding import learn
from hedgerow.datasets import make_future
from hedgerow.datasets.future import any_ahead, pattern_of_future
from hedgerow.models.future.multiple_instance import (
    Bags,
    Growth,
    Margins,
    RowTrees,
    best_eta,
    best_step,
    discover,
    instance_gradient,
    tree_scores,
)
from hedgerow.trees.binning import bin_dataset, learn_binning
from tests.reference import future as reference

OFFSETS = np.array([0, 5, 5, 6, 13])
GROWTH = Growth(max_leaf_nodes=8, l2_regularization=1.0)


def drawn(seed, scale=2.0):
    rng = np.random.default_rng(seed)
    N = int(OFFSETS[-1])
    labels = rng.integers(-1, 2, size=N).astype(np.int32)
    return scale * rng.normal(size=N), rng.normal(size=(2, N)), labels, rng.random(N)


@given(st.integers(0, 10**6), st.sampled_from([1, 2, 6, 100, None]), st.booleans())
def test_bags_and_their_gradient_are_the_literal_ones(seed, reach, backward):
    G, scores, labels, weights = drawn(seed)
    bags = Bags(OFFSETS, reach, backward=backward)
    Q = bags.probs(G)
    np.testing.assert_allclose(Q, reference.bag_probs(G, OFFSETS, reach, backward=backward), rtol=1e-10, atol=1e-12)
    known = np.where(labels >= 0, weights, 0.0)
    margins = Margins(scores[1] - scores[0], (labels == 1).astype(float), known)
    more = {"label": 1, "eta": 1.5, "backward": backward}
    gradient, count = reference.feature_gradient(G, scores, labels, weights, OFFSETS, reach, **more)
    np.testing.assert_allclose(instance_gradient(margins, bags, G, Q, 1.5), gradient, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(bags.spread(known), count, rtol=1e-9, atol=1e-12)
    before = reference.local_loss(scores, labels, weights)
    after = reference.feature_loss(G, scores, labels, weights, OFFSETS, reach, **more)
    np.testing.assert_allclose(margins.loss(1.5 * Q) - margins.loss(np.zeros(1)), after - before, rtol=1e-9, atol=1e-11)


def test_extreme_scores_stay_numbers():
    G = np.array([800.0, -800.0, 800.0, -800.0])
    bags = Bags(np.array([0, 4]), 1, backward=False)
    assert bags.probs(G).tolist() == [0.0, 1.0, 0.0, 0.0]
    margins = Margins(np.array([900.0, -900.0, 0.0, 0.0]), np.array([1.0, 0.0, 1.0, 1.0]), np.ones(4))
    assert np.isfinite(margins.loss(np.zeros(1)))
    assert np.isfinite(instance_gradient(margins, bags, G, bags.probs(G))).all()


# ------------------------------------------------------------------------------------------------ trees


def binned(n=120, seed=0):
    X, y = make_future("or", n // 10, 10, random_state=seed)
    dataset = learn(X, y)
    binning = learn_binning(dataset)
    return X, dataset, binning, bin_dataset(binning, dataset, postings=True)


@pytest.mark.parametrize("weighted", [False, True])
def test_a_tree_has_the_means_of_its_rows(weighted):
    """In each leaf Σ target / (Σ weight + λ); rows of weight 0 have no part in it."""
    _, dataset, binning, data = binned()
    rng = np.random.default_rng(1)
    weights = rng.random(dataset.n_positions) * 1000 if weighted else rng.integers(0, 4, dataset.n_positions) * 1.0
    weights[:7] = 0.0
    target = weights * rng.normal(size=dataset.n_positions)
    tree, values = RowTrees(binning, data, weights, GROWTH).fit(target)
    assert len(set(values[weights > 0].tolist())) > 1
    assert (values[weights == 0] == 0.0).all()
    for value in set(values[weights > 0].tolist()):
        own = (values == value) & (weights > 0)
        np.testing.assert_allclose(value, target[own].sum() / (weights[own].sum() + 1.0), rtol=1e-3, atol=1e-6)
    walked = tree_scores(RowTrees(binning, data, weights, GROWTH).data, [tree])
    np.testing.assert_allclose(walked[weights > 0], values[weights > 0], rtol=1e-12)


def test_doubled_weights_are_doubled_rows():
    _, dataset, binning, data = binned()
    target = np.random.default_rng(2).normal(size=dataset.n_positions)
    ones = np.ones(dataset.n_positions)
    _, once = RowTrees(binning, data, ones, Growth(8, 0.0)).fit(target)
    _, twice = RowTrees(binning, data, 2 * ones, Growth(8, 0.0)).fit(2 * target)
    np.testing.assert_allclose(once, twice, rtol=1e-6, atol=1e-9)


def test_more_rows_than_a_word_can_count():
    """Long bags make many rows of a position."""
    _, dataset, binning, data = binned()
    weights = np.full(dataset.n_positions, 1e7)
    target = weights * np.random.default_rng(3).normal(size=dataset.n_positions)
    tree, values = RowTrees(binning, data, weights, Growth(8, 0.0)).fit(target)
    own = values == values[0]
    np.testing.assert_allclose(values[0], target[own].sum() / weights[own].sum(), rtol=1e-3)
    np.testing.assert_allclose(tree.counts[0], weights.sum(), rtol=1e-3)


# ------------------------------------------------------------------------------------------------ steps


@given(st.floats(0.001, 200.0), st.floats(0.01, 10.0))
def test_the_step_of_a_convex_loss(where, first):
    found = best_step(lambda a: a**3 - where**3, 50.0, first)
    np.testing.assert_allclose(found, min(where, 50.0), rtol=2e-2)
    assert best_step(lambda a: 1.0 + a, 50.0) == 0.0


def test_eta_is_where_the_loss_is_least():
    rng = np.random.default_rng(5)
    margins = Margins(rng.normal(size=50), (rng.random(50) < 0.7).astype(float), rng.random(50))
    Q = rng.random(50)
    eta = best_eta(margins, Q, 40.0)
    grid = np.linspace(0.0, 5.0, 2001)
    np.testing.assert_allclose(eta, grid[np.argmin([margins.loss(g * Q) for g in grid])], atol=0.03)


def find(margins, data, binning, offsets, **more):
    weights = Bags(offsets, 6, backward=False).spread(margins.weights)
    own = {"label": 1, "start": -5.0, "max_steps": 10, "max_weight": 40.0, "tol": 1e-3} | more
    return discover(
        margins, Bags(offsets, 6, backward=False), RowTrees(binning, data, weights, Growth(10, 20.0)), **own
    )


def test_a_pattern_is_found_from_bags_alone():
    """The labels are those of bags; no position's own is known. Nearly every position is right."""
    X, dataset, binning, data = binned(6000)
    pattern = pattern_of_future(X)
    truth = any_ahead(pattern, X.offsets).astype(float)
    margins = Margins(np.zeros(len(truth)), truth, np.ones(len(truth)))
    found = find(margins, data, binning, dataset.offsets)
    assert found is not None
    G = found.feature.scores(data)
    assert ((G > 0) == pattern).mean() > 0.95
    assert ((found.probs > 0.5) == (truth > 0)).mean() > 0.9
    np.testing.assert_allclose(found.probs, Bags(dataset.offsets, 6, backward=False).probs(G), rtol=1e-9, atol=1e-12)
    loss = margins.loss(found.feature.weight * found.probs)
    np.testing.assert_allclose(found.gain, margins.loss(np.zeros(1)) - loss, rtol=1e-9)
    assert len(found.feature.trees) <= 10


def test_nothing_is_found_where_there_is_nothing():
    _, dataset, binning, data = binned(3000)
    N = dataset.n_positions
    sure = Margins(np.full(N, 20.0), np.ones(N), np.ones(N))
    assert find(sure, data, binning, dataset.offsets) is None
    coins = Margins(np.zeros(N), (np.random.default_rng(0).random(N) < 0.5).astype(float), np.ones(N))
    assert find(coins, data, binning, dataset.offsets, tol=0.2) is None


def test_steps_are_bounded():
    X, dataset, binning, data = binned(1000)
    truth = any_ahead(pattern_of_future(X), X.offsets).astype(float)
    margins = Margins(np.zeros(len(truth)), truth, np.ones(len(truth)))
    found = find(margins, data, binning, dataset.offsets, max_steps=1, max_weight=0.5)
    assert len(found.feature.trees) == 1
    assert found.feature.weight == 0.5
