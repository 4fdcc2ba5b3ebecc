"""Which weights there are, against counting in a dict."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.data.encoding import learn
from hedgerow.linear.index import Streams, index_weights, row_names

from .corpora import KINDS, WINDOWS, corpus, named_features, seeded

seeds = st.integers(0, 2**32 - 1)


def indexed(dataset, **options):
    streams = Streams.of(dataset.schema)
    where = np.flatnonzero(dataset.labels >= 0)
    index, totals = index_weights(dataset, streams, where, dataset.labels[where], dataset.n_labels, **options)
    return index, totals, row_names(dataset.schema)


def by_name(index, totals, names):
    rows = index.slot_rows()
    found = {(names[r], int(k)): float(total) for r, k, total in zip(rows, index.slot_label, totals, strict=True)}
    assert len(found) == len(totals) == index.n_weights
    assert index.row_ptr[-1] == index.n_weights
    assert index.row_ptr.shape == (len(names) + 1,) == (index.streams.n_rows + 1,)
    return found


def counted(X, dataset, window):
    counts = defaultdict(float)
    labels = iter(dataset.labels.tolist())
    for item in X:
        for t in range(len(item)):
            label = next(labels)
            if label >= 0:
                for name, value in named_features(item, window, t, dataset.schema):
                    counts[name, label] += value != 0
    return dict(counts)


def unlabelled(y, rng):
    return [[None if rng.random() < 0.2 else label for label in labels] for labels in y]


def assert_same(found, expected):
    assert found.keys() == expected.keys()
    for key, total in expected.items():
        assert found[key] == pytest.approx(total, rel=1e-12, abs=1e-12)


@given(seeds, st.sampled_from(WINDOWS), st.booleans())
def test_pairs_seen_in_training_and_their_counts(seed, window, weighted):
    rng = seeded(seed)
    X, y = corpus(rng, weighted=weighted)
    dataset = learn(X, [*unlabelled(y[:-1], rng), y[-1]], columns=KINDS, window=window)
    assert_same(by_name(*indexed(dataset)), counted(X, dataset, window))


@given(seeds, st.sampled_from(WINDOWS), st.sampled_from([0.5, 1, 2, 3.5]))
def test_min_frequency_drops_rare_pairs(seed, window, threshold):
    X, y = corpus(seeded(seed), weighted=True)
    dataset = learn(X, y, columns=KINDS, window=window)
    counts = counted(X, dataset, window)
    found = by_name(*indexed(dataset, min_frequency=threshold))
    assert found.keys() == {key for key, total in counts.items() if total >= threshold}


def test_min_frequency_is_the_least_that_counts():
    dataset = learn([["a", "a", "b"]], [["A", "A", "A"]])
    assert by_name(*indexed(dataset, min_frequency=2)) == {("token:a", 0): 2.0}
    assert by_name(*indexed(dataset, min_frequency=2, all_pairs=True)) == {("token:a", 0): 2.0}


@pytest.mark.parametrize("all_pairs", [False, True])
def test_a_number_counts_once_whatever_its_size(all_pairs):
    """Sums would drop a column of negative numbers, and keep one large number that is seen once."""
    X = [[{"below": -3.0, "rare": 50.0, "flag": False}, {"below": -0.1, "rare": 0.0, "flag": False}]]
    dataset = learn(X, [["A", "A"]])
    options = {"all_pairs": all_pairs}
    assert by_name(*indexed(dataset, min_frequency=2, **options)) == {("below", 0): 2.0}
    assert by_name(*indexed(dataset, min_frequency=1, **options)) == {("below", 0): 2.0, ("rare", 0): 1.0}
    assert by_name(*indexed(dataset, **options)) == {("below", 0): 2.0, ("rare", 0): 1.0, ("flag", 0): 0.0}


@given(seeds, st.sampled_from(WINDOWS), st.sampled_from([0, 2]))
def test_all_pairs_of_the_features_seen(seed, window, threshold):
    X, y = corpus(seeded(seed), weighted=True)
    dataset = learn(X, y, columns=KINDS, window=window)
    counts = counted(X, dataset, window)
    frequency = defaultdict(float)
    for (name, _), total in counts.items():
        frequency[name] += total
    kept = {name for name, total in frequency.items() if total >= threshold}
    found = by_name(*indexed(dataset, min_frequency=threshold, all_pairs=True))
    assert {name for name, _ in found} == kept
    for (name, label), total in found.items():
        assert total == pytest.approx(counts.get((name, label), 0.0), rel=1e-12, abs=1e-12)
    assert len(found) == len({name for name, _ in found}) * dataset.n_labels


def test_a_corpus_without_features_has_no_weights():
    index, totals, names = indexed(learn([[{}, {}]], [["a", "b"]]))
    assert by_name(index, totals, names) == {}


def test_streams_of_some_columns():
    rng = seeded(0)
    X, y = corpus(rng, weighted=True)
    dataset = learn(X, y, columns=KINDS, window=1)
    for names in ({"word"}, {"*"}, {"lang", "size"}, {"length", "(outside)"}):
        streams = Streams.of(dataset.schema, names)
        texts = row_names(dataset.schema, names)
        assert streams.n_rows == len(texts)
        where = np.arange(dataset.n_positions)
        index, totals = index_weights(dataset, streams, where, dataset.labels, dataset.n_labels)
        found = by_name(index, totals, texts)
        whole = by_name(*indexed(dataset))
        assert found
        assert found.items() <= whole.items()
