"""The local loss against its literal form, columns of features, and the alternation of trees and features."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.data.encoding import encode, learn
from hedgerow.datasets import make_future
from hedgerow.errors import InputError
from hedgerow.models.future.corpus import (
    LocalLoss,
    ScoredCorpus,
    cut_evenly,
    future_names,
    future_schema,
    with_future_columns,
)
from hedgerow.models.future.features import Alternation
from hedgerow.models.future.multiple_instance import Bags, FutureFeature
from hedgerow.models.future.parameters import FutureParameters
from hedgerow.training.monitor import Monitor
from hedgerow.trees.binning import bin_dataset, learn_binning
from tests.reference import future as reference

SETTINGS = FutureParameters(
    max_future_features=3,
    n_estimators=20,
    max_leaf_nodes=10,
    l2_regularization=20.0,
    learning_rate=0.5,
    initial_score=-5.0,
    feature_steps=10,
    max_step=40.0,
    max_weight=40.0,
    n_iter_no_change=4,
    tol=1e-3,
)

# ------------------------------------------------------------------------------------------------ the loss


def labelled(y, sample_weight=None):
    return learn([["a"] * len(own) for own in y], y, sample_weight=sample_weight)


@given(st.integers(0, 10**6))
def test_the_loss_and_its_derivative_are_the_literal_ones(seed):
    rng = np.random.default_rng(seed)
    y = [["A", "B", None, "C"], ["B", "A"], [None]]
    dataset = labelled(y, [1.0, 2.5, 1.0])
    loss, scores = LocalLoss(dataset), 3.0 * rng.normal(size=(3, 7))
    weights = np.repeat([1.0, 2.5, 1.0], [4, 2, 1])
    np.testing.assert_allclose(loss(scores), reference.local_loss(scores, dataset.labels, weights), rtol=1e-10)
    np.testing.assert_allclose(
        loss.residuals(scores), reference.residuals(scores, dataset.labels, weights), rtol=1e-9, atol=1e-12
    )
    for k in range(3):
        margins = loss.margins(scores, k)
        np.testing.assert_allclose(margins.residuals(np.zeros(1)), loss.residuals(scores)[k], rtol=1e-9, atol=1e-12)
        added = rng.normal(size=7)
        moved = scores.copy()
        moved[k] += added
        np.testing.assert_allclose(
            margins.loss(added) - margins.loss(np.zeros(1)), loss(moved) - loss(scores), rtol=1e-8, atol=1e-9
        )


def test_sets_of_labels_by_differences():
    dataset = labelled([["A", {"B", "C"}, "C", {"A", "B", "C"}, "B"]])
    loss, scores = LocalLoss(dataset), np.random.default_rng(0).normal(size=(3, 5))
    found = loss.residuals(scores)
    for k, t in np.ndindex(scores.shape):
        step = np.zeros_like(scores)
        step[k, t] = 1e-5
        difference = (loss(scores + step) - loss(scores - step)) / 2e-5
        np.testing.assert_allclose(found[k, t], -difference, rtol=1e-6, atol=1e-9)
    assert loss.weights.tolist() == [1, 1, 1, 0, 1]
    of_b, of_a = loss.margins(scores, 1), loss.margins(scores, 0)
    assert of_b.weights.tolist() == [1, 0, 1, 0, 1]  # a set that has B and C says nothing of B alone,
    assert of_a.weights.tolist() == [1, 1, 1, 0, 1]  # but that it is not A
    assert of_a.truth.tolist() == [1, 0, 0, 0, 0]


# ------------------------------------------------------------------------------------------------ columns


def test_a_thermometer_of_even_bins():
    dataset = learn([[{"x": 1.0}, {"x": 2.0}, {"x": 5.0}]], [["A", "B", "A"]])
    schema = future_schema(dataset.schema, 2)
    Q = np.array([[0.0, 0.26, 1.0], [0.5, 0.500001, 0.0]])
    rows = with_future_columns(dataset, schema, Q)
    binning = cut_evenly(learn_binning(rows), 2, 4)
    data = bin_dataset(binning, rows, postings=False)
    for name, q in zip(future_names(2), Q):
        bins = data.bins[binning.names.index(name), data.place]
        above = np.array([[b >= j for b in bins] for j in range(1, 4)]).astype(float)
        np.testing.assert_array_equal(above, reference.thermometer(q, 4))


def test_a_name_that_is_taken():
    dataset = learn([[{"(future 1)": 1.0}]], [["A"]])
    with pytest.raises(InputError, match="future feature"):
        future_schema(dataset.schema, 1)


# ------------------------------------------------------------------------------------------------ training


def alternation(kind, n, held=0, rounds=None, **options):
    X, y = make_future(kind, n + held, 20, random_state=3)
    dataset = learn(X[:n], y[:n])
    held_out = encode(dataset.schema, X[n:], y[n:]) if held else None
    own = replace(SETTINGS, **options)
    schema = future_schema(dataset.schema, own.max_future_features)
    inputs = learn_binning(dataset)
    empty = with_future_columns(dataset, schema, np.zeros((own.max_future_features, dataset.n_positions)))
    binning = cut_evenly(learn_binning(empty), own.max_future_features, 20)

    def corpus(one, growing):
        data, bags = bin_dataset(inputs, one, postings=growing), Bags(one.offsets, 6, backward=False)
        return ScoredCorpus(data, one, binning, bags, schema, growing=growing)

    training = Alternation(
        corpus(dataset, True), None if held_out is None else corpus(held_out, False), inputs, binning, own
    )
    with Monitor(max_iter=own.n_estimators, tol=-np.inf) as monitor:
        if rounds is None:
            training.run(monitor)
        else:
            training.run_again(rounds, monitor)
    return training, monitor, corpus(dataset, False)


def replayed(training, corpus):
    """The scores that the additions give, one after the other."""
    j = 0
    for one in training.additions:
        if isinstance(one, FutureFeature):
            corpus.add_feature(one, j)
            corpus.bin_rows()
            j += 1
        else:
            corpus.add_trees(one)
    return corpus


def test_the_loss_falls_at_every_step_and_a_feature_is_found():
    training, monitor, fresh = alternation("or", 80)
    losses = [monitor.start_loss, *(step.loss for step in monitor.history)]
    assert all(np.diff(losses) < 0)
    kinds = [isinstance(one, FutureFeature) for one in training.additions]
    assert 1 <= sum(kinds) <= 3
    assert not kinds[0]  # local trees come first, and trees follow the feature
    assert not kinds[-1]
    assert training.loss() < 0.2 * monitor.start_loss
    corpus = replayed(training, fresh)
    np.testing.assert_allclose(corpus.scores, training.corpus.scores, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(corpus.probs, training.corpus.probs, rtol=1e-9, atol=1e-12)


def test_held_out_sequences_drop_what_does_not_help():
    """What is kept is the best of all states on the held-out sequences; they follow the trees that are added."""
    training, monitor, _ = alternation("xor", 30, held=30, n_estimators=60)
    assert monitor.outcome == "early_stopping"
    held = training.held_out
    kept = held.scores.copy()
    held.scores, held.probs = np.zeros_like(kept), np.zeros_like(held.probs)
    np.testing.assert_allclose(replayed(training, held).scores, kept, rtol=1e-9, atol=1e-9)
    assert training.score() >= -held.loss(np.zeros_like(kept))


def test_no_more_features_and_trees_than_wanted():
    training, monitor, _ = alternation("xor", 60, max_future_features=1, n_estimators=4)
    assert len(training.features) <= 1
    assert training.n_trees <= 8
    assert monitor.outcome == "max_iter"


def test_rounds_are_what_was_kept():
    """Trees before the first feature, and after the features of each round; dropped rounds are not among them."""
    training, _, _ = alternation("xor", 60, held=30, n_estimators=30)
    kinds = "".join("f" if isinstance(one, FutureFeature) else "t" for one in training.additions)
    assert training.rounds == [len(trees) for trees in kinds.split("f")]
    assert len(training.rounds) == 1 + len(training.features) >= 2


def test_the_same_rounds_again_give_the_same():
    """Without held-out sequences the second training does what the first did."""
    first, _, _ = alternation("or", 60)
    again, monitor, _ = alternation("or", 60, rounds=first.rounds)
    assert again.rounds == first.rounds
    assert monitor.n_iter == sum(first.rounds)
    assert monitor.outcome == "converged"
    np.testing.assert_array_equal(again.corpus.scores, first.corpus.scores)
    shorter, _, _ = alternation("or", 60, rounds=[2, 1])
    assert (shorter.rounds, len(shorter.features)) == ([2, 1], 1)


def test_a_share_of_the_best_step_is_taken():
    whole, half = (
        alternation("or", 40, n_estimators=1, max_future_features=1, learning_rate=lr)[0] for lr in (1.0, 0.5)
    )
    first, second = (one.additions[0][1].values for one in (whole, half))
    np.testing.assert_allclose(second, 0.5 * first, rtol=1e-12)
    assert np.abs(first).max() > 0.0
