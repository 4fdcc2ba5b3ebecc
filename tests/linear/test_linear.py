"""The linear scorer: scores from the definition, and gradients as the transpose of scores."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.data.encoding import encode, learn
from hedgerow.data.rows import Item
from hedgerow.errors import InputError
from hedgerow.linear import scorer as linear
from hedgerow.linear.index import Streams, index_weights, row_names
from hedgerow.linear.scorer import LinearScorer

from .corpora import KINDS, WINDOWS, corpus, named_features, seeded

seeds = st.integers(0, 2**32 - 1)


def made(seed, window, weighted, *, all_pairs=False, n_labels=8):
    rng = seeded(seed)
    X, y = corpus(rng, weighted=weighted, n_labels=n_labels)
    dataset = learn(X, y, columns=KINDS, window=window)
    streams = Streams.of(dataset.schema)
    where = np.arange(dataset.n_positions)
    index, totals = index_weights(dataset, streams, where, dataset.labels, dataset.n_labels, all_pairs=all_pairs)
    return X, dataset, index, totals, rng


def scored(scorer, dataset, first, last):
    chunk = scorer.compile(dataset, first, last)
    n = int(dataset.offsets[last] - dataset.offsets[first])
    assert chunk.n_positions == n
    assert chunk.n_bytes > 0
    scores = np.full((n, scorer.index.n_outputs), np.nan)
    scorer.score(chunk, scores)
    return chunk, scores


@settings(max_examples=60)
@given(seeds, st.sampled_from(WINDOWS), st.booleans(), st.booleans())
def test_scores_are_sums_of_the_weights_of_the_features(seed, window, weighted, all_pairs):
    X, dataset, index, _, rng = made(seed, window, weighted, all_pairs=all_pairs)
    weights = rng.normal(size=index.n_weights)
    names = row_names(dataset.schema)
    table = {(names[r], k): w for r, k, w in zip(index.slot_rows(), index.slot_label, weights)}
    scorer = LinearScorer(index)
    scorer.load(weights)
    first, last = sorted(rng.choice(len(X) + 1, size=2, replace=False).tolist())
    _, scores = scored(scorer, dataset, first, last)
    expected = [
        [sum(table.get((name, k), 0.0) * x for name, x in features) for k in range(dataset.n_labels)]
        for item in X[first:last]
        for features in (named_features(item, window, t, dataset.schema) for t in range(len(item)))
    ]
    np.testing.assert_allclose(scores, expected, rtol=1e-10, atol=1e-10)


@settings(max_examples=60)
@given(seeds, st.sampled_from(WINDOWS), st.booleans(), st.booleans())
def test_pull_is_the_transpose_of_score(seed, window, weighted, all_pairs):
    _, dataset, index, _, rng = made(seed, window, weighted, all_pairs=all_pairs)
    scorer = LinearScorer(index)
    accumulator = scorer.new_gradient()
    weights = rng.normal(size=index.n_weights)
    scorer.load(weights)
    product = 0.0
    for first, last in ((0, 2), (2, dataset.n_sequences)):
        chunk, scores = scored(scorer, dataset, first, last)
        gradient = rng.normal(size=scores.shape)
        scorer.pull(chunk, gradient, accumulator)
        product += float(np.sum(gradient * scores))
    pulled = scorer.finish(accumulator)
    assert pulled @ weights == pytest.approx(product, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("window", WINDOWS)
def test_pull_by_differences(window, weighted):
    _, dataset, index, _, rng = made(3, window, weighted)
    scorer = LinearScorer(index)
    weights = rng.normal(size=index.n_weights)
    target = rng.normal(size=(dataset.n_positions, dataset.n_labels))

    def loss(w):
        scorer.load(w)
        return 0.5 * np.sum((scored(scorer, dataset, 0, len(dataset))[1] - target) ** 2)

    scorer.load(weights)
    chunk, scores = scored(scorer, dataset, 0, len(dataset))
    accumulator = scorer.new_gradient()
    scorer.pull(chunk, scores - target, accumulator)
    pulled = scorer.finish(accumulator)
    for j in rng.choice(index.n_weights, size=25, replace=False):
        step = np.zeros(index.n_weights)
        step[j] = 1e-5
        difference = (loss(weights + step) - loss(weights - step)) / 2e-5
        assert pulled[j] == pytest.approx(difference, rel=1e-6, abs=1e-6)


@given(seeds, st.booleans())
def test_pulling_the_truth_counts_it(seed, weighted):
    """With gradient 1 at the true label, the gradient of a weight is the sum of its pair's values."""
    X, dataset, index, _, _ = made(seed, 1, weighted)
    sums = defaultdict(float)
    labels = iter(dataset.labels.tolist())
    for features in (named_features(item, 1, t, dataset.schema) for item in X for t in range(len(item))):
        label = next(labels)
        for name, value in features:
            sums[name, label] += value
    names = row_names(dataset.schema)
    totals = [sums[names[r], k] for r, k in zip(index.slot_rows(), index.slot_label.tolist())]
    scorer = LinearScorer(index)
    truth = np.eye(dataset.n_labels)[dataset.labels]
    accumulator = scorer.new_gradient()
    scorer.pull(scorer.compile(dataset, 0, len(dataset)), truth, accumulator)
    np.testing.assert_allclose(scorer.finish(accumulator), totals, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("size", [1, 10**9])
def test_the_table_changes_no_score(monkeypatch, size, weighted):
    _, dataset, index, _, rng = made(5, 1, weighted)
    weights = rng.normal(size=index.n_weights)
    expected = LinearScorer(index)
    expected.load(weights)
    monkeypatch.setattr(linear, "TABLE_SIZE", size)
    other = LinearScorer(index)
    other.load(weights)
    assert len(other.table_rows) != len(expected.table_rows)
    a, b = scored(expected, dataset, 0, len(dataset))[1], scored(other, dataset, 0, len(dataset))[1]
    np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
def test_short_lists_change_no_bit(monkeypatch, weighted):
    _, dataset, index, _, rng = made(5, 1, weighted, n_labels=40)
    scorer, found = LinearScorer(index), []
    scorer.load(rng.normal(size=index.n_weights))
    most = int(dataset.n_positions) * dataset.n_labels
    assert np.iinfo(np.uint8).max < most <= np.iinfo(np.uint16).max
    for short, expected in ((np.uint16, np.uint16), (np.uint8, np.int32)):  # few bytes do not hold the second's cells
        monkeypatch.setattr(linear, "SHORT", short)
        chunk, scores = scored(scorer, dataset, 0, dataset.n_sequences)
        assert chunk.table.dtype == chunk.cell.dtype == expected
        sums = scorer.new_gradient()
        scorer.pull(chunk, scores, sums)
        found.append((scores, scorer.finish(sums)))
    for short, wide in zip(*found):
        np.testing.assert_array_equal(short, wide)


@pytest.mark.parametrize("trained", [False, True])
def test_weighted_attributes_meet_unit_ones(trained):
    """A model trained on attributes without weights reads weighted ones, and the other way round."""
    one, two = [[{"l": {"x": 1.0, "y": 1.0}}]], [[{"l": {"x": 2.0, "y": -0.5}}]]
    dataset = learn(two if trained else one, [["A"]], columns={"l:x": "attributes", "l:y": "attributes"})
    assert (dataset.attr_val is not None) == trained
    streams = Streams.of(dataset.schema)
    index, _ = index_weights(dataset, streams, np.arange(1), dataset.labels, 1)
    scorer = LinearScorer(index)
    scorer.load(np.array([10.0, 100.0]))
    for rows, expected in ((one, 110.0), (two, -30.0)):
        assert scored(scorer, encode(dataset.schema, rows), 0, 1)[1].tolist() == [[expected]]


def test_a_chunk_that_is_too_large_is_refused():
    _, dataset, index, _, _ = made(1, 0, False)
    scorer = LinearScorer(index)
    scorer.index = replace(index, n_outputs=2**31)  # an index of this size would not fit into memory
    with pytest.raises(InputError, match="too long for 2147483648 scores"):
        scorer.compile(dataset, 0, 2)


def test_missing_numbers_are_refused_by_name():
    nan = float("nan")
    good = learn([np.array([[1.0, 2.0]])], window=2)
    good.require_numbers()  # the gaps hold NaN, and that is no missing number
    frames = learn([np.ones((2, 2)), np.array([[1.0, 2.0], [3.0, nan]])], window=1)
    with pytest.raises(InputError, match="sequence 1, position 1, column '1': a number is missing"):
        frames.require_numbers()
    constant = learn([Item(["a"], {"n": 1.0}), Item(["b"], {})], columns={"n": "numeric"})
    with pytest.raises(InputError, match="sequence 1, column 'n': a number is missing"):
        constant.require_numbers()
