"""Counted weights are those of a hidden Markov model."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow import LinearCRF
from hedgerow.data.encoding import learn
from hedgerow.estimators.constraints import legal_space
from hedgerow.models.crf.linear_layout import lay_out
from hedgerow.training.counting import count_weights, overlap_groups

OPTIONS = {"transitions": "all", "pairs": "observed", "min_frequency": 0.0, "transition_columns": None}


def chain(X, y, *, window=0, weights=None, **options):
    dataset = learn(X, y, window=window, sample_weight=weights)
    space = legal_space(dataset, None, forbid_unseen=False)
    return dataset, lay_out(dataset, space, **OPTIONS | options)[0]


def model_with(dataset, layout, weights):
    model = LinearCRF()
    model.schema_, model.classes_ = dataset.schema, dataset.schema.classes
    model.layout_, model.weights_ = layout, weights
    return model


@given(st.integers(0, 10_000))
def test_probabilities_are_those_of_a_hidden_markov_model(seed):
    """P(y | x) ∝ Π A(y_{t−1}, y_t) Π B(y_t, x_t), with a uniform first label; every pair and move is seen."""
    rng = np.random.default_rng(seed)
    y = [[0, 1, 0, 0, 1, 1, 0], *(rng.integers(0, 2, 12).tolist() for _ in range(3))]
    X = [["a", "a", "b", "c", "b", "c", "a"], *([str(x) for x in rng.choice(list("abc"), 12)] for _ in range(3))]
    dataset, layout = chain(X, y)
    model = model_with(dataset, layout, count_weights(dataset, layout, smoothing=0.0))
    moves, shown = np.zeros((2, 2)), {(k, x): 0.0 for k in (0, 1) for x in "abc"}
    for xs, ys in zip(X, y):
        for u, v in itertools.pairwise(ys):
            moves[u, v] += 1.0
        for x, k in zip(xs, ys):
            shown[k, x] += 1.0
    moves /= moves.sum(axis=1, keepdims=True)
    per_label = [sum(shown[k, x] for x in "abc") for k in (0, 1)]
    scores = {}
    for path in itertools.product((0, 1), repeat=3):
        emitted = np.prod([shown[k, x] / per_label[k] for k, x in zip(path, "bca")])
        scores[path] = emitted * moves[path[0], path[1]] * moves[path[1], path[2]]
    total = sum(scores.values())
    for path, score in scores.items():
        found = np.exp(model.log_probability([["b", "c", "a"]], [list(path)]))[0]
        assert found == pytest.approx(score / total, rel=1e-6)


def test_a_weight_counts_as_so_many_sequences():
    X, y = [["a", "b"], ["b", "b", "a"]], [["x", "y"], ["y", "y", "x"]]
    dataset, layout = chain(X, y, weights=[3.0, 1.0])
    repeated, same = chain([X[0]] * 3 + [X[1]], [y[0]] * 3 + [y[1]])
    np.testing.assert_allclose(count_weights(dataset, layout), count_weights(repeated, same))


def test_unknown_labels_and_numbers_count_for_nothing():
    X = [[{"w": "a", "n": 3.0}, {"w": "b", "n": 1.0}, {"w": "a", "n": 2.0}]]
    dataset, layout = chain(X, [["x", None, "y"]])
    weights = count_weights(dataset, layout)
    assert np.isfinite(weights).all()
    nodes = layout.split(weights)[0]
    numbers = layout.nodes.slot_rows() == layout.nodes.streams.num_base[0]
    assert numbers.any()
    assert (nodes[numbers] == 0.0).all()


def test_a_transition_without_a_weight_is_never_the_likelier_one():
    dataset, layout = chain([["a", "b", "a"]], [["x", "y", "y"]], transitions="observed")
    arcs = layout.split(count_weights(dataset, layout))[1]
    assert len(arcs) == 2
    assert arcs.min() == 0.0


def test_a_pair_that_says_nothing_weighs_nothing():
    """The word is as frequent with either label; the window makes places outside a value of their own."""
    dataset, layout = chain([["a", "a", "a", "a"]], [["x", "x", "y", "y"]])
    np.testing.assert_allclose(layout.split(count_weights(dataset, layout))[0], 0.0, atol=1e-12)


def test_values_that_overlap_count_what_is_new_of_them():
    """Pairs of letters of a chain of letters: P(letter | the one before, label), and not P(pair | label), in which each
    letter would count twice."""
    rng = np.random.default_rng(0)
    chances = np.array([[[0.9, 0.1], [0.3, 0.7]], [[0.2, 0.8], [0.6, 0.4]]])  # [label, before, letter]
    X, y = [], []
    for _ in range(40):
        labels = np.repeat(rng.integers(2, size=6), 5)
        letters = [0]
        for label in labels:
            letters.append(int(rng.random() < chances[label, letters[-1], 1]))
        X.append(["ab"[u] + "ab"[v] for u, v in itertools.pairwise(letters)])
        y.append(labels.tolist())
    dataset, layout = chain(X, y)
    weights = layout.split(count_weights(dataset, layout, smoothing=0.0))[0]
    names = dataset.schema.columns[0].vocabulary.names()
    shown = {(name, k): 0.0 for name in names for k in (0, 1)}
    for xs, ys in zip(X, y):
        for x, k in zip(xs, ys):
            shown[x, k] += 1.0
    for row, k, weight in zip(layout.nodes.slot_rows(), layout.nodes.slot_label, weights):
        pair = names[row - 2]
        other = pair[0] + ("a" if pair[1] == "b" else "b")
        given = shown[pair, k] / (shown[pair, k] + shown[other, k])
        both = sum(shown[pair, label] for label in (0, 1))
        alone = both / (both + sum(shown[other, label] for label in (0, 1)))
        assert weight == pytest.approx(np.log(given / alone), rel=1e-9)


def test_values_that_come_in_any_order_do_not_overlap():
    where = np.arange(8)
    offsets = np.array([0, 8])
    assert overlap_groups(np.array([2, 3, 2, 2, 3, 3, 2, 3]), where, offsets, 4) is None
    assert overlap_groups(np.arange(2, 10), where, offsets, 10) is None  # each after one alone: little is known
    pairs = np.array([2, 2, 3, 4, 3, 5, 5, 4, 2])  # aa, ab, ba, bb as 2 … 5
    assert overlap_groups(pairs, np.arange(9), np.array([0, 9]), 6) is not None
    assert overlap_groups(pairs, np.arange(9), np.array([0, 5, 9]), 6) is None  # one pair of neighbours is not seen
