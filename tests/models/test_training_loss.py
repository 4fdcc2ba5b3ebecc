"""The loss that training minimises: its gradient, and the laws it obeys."""

from __future__ import annotations

import numpy as np
import pytest

from hedgerow.errors import InputError

from .corpora import COLUMNS, Loss, partial_labels, rich_corpus

SETTINGS = {
    "plain": {},
    "window": {"window": {"word": 1, "size": (1, 0), "*": (0, 1)}},
    "all pairs": {"pairs": "all", "window": 1},
    "observed transitions": {"transitions": "observed"},
    "forbidden transitions": {"transitions": "forbid_unseen"},
    "scheme": {"constraints": "iob2"},
    "label pairs": {"transition_columns": ["word", "size", "upper", "*", "language", "length"], "window": 1},
    "label pairs and scheme": {"transition_columns": ["word", "*"], "constraints": "iob2"},
}


def differences(loss: Loss, weights: np.ndarray, slots: np.ndarray, step: float = 1e-5) -> np.ndarray:
    found = np.empty(len(slots))
    for i, slot in enumerate(slots):
        moved = weights.copy()
        moved[slot] += step
        above = loss(moved)[0]
        moved[slot] -= 2 * step
        found[i] = (above - loss(moved)[0]) / (2 * step)
    return found


@pytest.mark.parametrize("labels", ["full", "partial"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", SETTINGS)
def test_gradient_is_the_slope(name, weighted, labels, rng):
    X, y = rich_corpus(14, seed=4)
    sample_weight = rng.uniform(0, 3, size=len(X)) if weighted else None
    given = partial_labels(y, seed=5) if labels == "partial" else y
    loss = Loss(X, given, sample_weight, columns=COLUMNS, **SETTINGS[name])
    weights = rng.normal(size=loss.n_weights) * 0.5
    nodes, arcs = loss.layout.nodes.n_weights, len(loss.layout.arc_from)
    assert arcs
    last = loss.n_weights - nodes - arcs
    assert bool(last) == ("transition_columns" in SETTINGS[name])
    slots = np.concatenate([
        rng.choice(nodes, 30, replace=False),
        nodes + np.arange(arcs),
        nodes + arcs + rng.choice(last, min(last, 30), replace=False) if last else np.empty(0, dtype=int),
    ]).astype(int)  # fmt: skip
    gradient = loss(weights)[1]
    assert np.count_nonzero(gradient) > 0.5 * loss.n_weights
    np.testing.assert_allclose(gradient[slots], differences(loss, weights, slots), rtol=1e-6, atol=1e-7)


def assert_same_loss(ours: Loss, theirs: Loss, rng: np.random.Generator) -> None:
    """Equal values, and equal gradients by the names of the features, at some weights."""
    weights = rng.normal(size=ours.n_weights)
    assert ours.n_weights == theirs.n_weights
    (value, gradient), (other, other_gradient) = ours(weights), theirs(theirs.carry(weights, ours))
    np.testing.assert_allclose(value, other, rtol=1e-12)
    np.testing.assert_allclose(gradient, ours.carry(other_gradient, theirs), rtol=1e-9, atol=1e-11)


def test_weight_two_is_the_sequence_twice(rng):
    X, y = rich_corpus(5, seed=6)
    once = Loss(X, y, [1, 2, 1, 3, 1], columns=COLUMNS)
    twice = Loss([*X, X[1], X[3], X[3]], [*y, y[1], y[3], y[3]], columns=COLUMNS)
    assert_same_loss(once, twice, rng)


def test_weight_zero_leaves_the_sequence_out_of_the_loss(rng):
    X, y = rich_corpus(4, seed=7)
    assert_same_loss(Loss(X, y, [1, 0, 1, 0], columns=COLUMNS), Loss(X[::2], y[::2], columns=COLUMNS), rng)


def test_weights_of_zero_and_one_a_position_make_labels_unknown(rng):
    X, y = rich_corpus(14, seed=8)
    masks = [(rng.random(len(labels)) < 0.6).astype(float) for labels in y]
    hidden = [[label if keep else None for label, keep in zip(*pair)] for pair in zip(y, masks)]
    masked, partial = Loss(X, y, masks, columns=COLUMNS), Loss(X, hidden, columns=COLUMNS)
    assert masked.n_weights == partial.n_weights
    weights = rng.normal(size=masked.n_weights)
    assert masked(weights)[0] == partial(weights)[0]


def test_an_unlabelled_sequence_adds_nothing(rng):
    X, y = rich_corpus(14, seed=9)
    without, with_it = Loss(X, y, columns=COLUMNS), Loss([*X, X[0]], [*y, [None] * len(y[0])], columns=COLUMNS)
    assert_same_loss(without, with_it, rng)


def test_a_set_of_one_label_is_that_label(rng):
    X, y = rich_corpus(14, seed=10)
    plain, wrapped = Loss(X, y, columns=COLUMNS), Loss(X, [[{label} for label in row] for row in y], columns=COLUMNS)
    weights = rng.normal(size=plain.n_weights)
    assert plain(weights)[0] == wrapped(weights)[0]


def test_every_label_allowed_is_unlabelled(rng):
    X, y = rich_corpus(14, seed=11)
    everything = set().union(*y)
    open_ = [[None if t % 2 else label for t, label in enumerate(row)] for row in y]
    sets = [[everything if t % 2 else label for t, label in enumerate(row)] for row in y]
    unlabelled, allowed = Loss(X, open_, columns=COLUMNS), Loss(X, sets, columns=COLUMNS)
    assert unlabelled.n_weights == allowed.n_weights
    weights = rng.normal(size=unlabelled.n_weights)
    assert unlabelled(weights)[0] == allowed(weights)[0]


def test_order_of_the_sequences_does_not_matter(rng):
    X, y = rich_corpus(30, seed=12)
    assert_same_loss(Loss(X, y, columns=COLUMNS), Loss(X[::-1], y[::-1], columns=COLUMNS), rng)


def test_names_of_the_labels_do_not_matter(rng):
    X, y = rich_corpus(14, seed=14)
    new = {"B-X": "z", "I-X": "a", "O": "m"}
    plain, renamed = Loss(X, y, columns=COLUMNS), Loss(X, [[new[label] for label in row] for row in y], columns=COLUMNS)
    table = rng.normal(size=(3, 3))
    weights = [np.zeros(loss.n_weights) for loss in (plain, renamed)]
    for loss, own in zip((plain, renamed), weights):
        names = loss.dataset.schema.labels
        codes = [names.index(label if loss is plain else new[label]) for label in new]
        loss.layout.split(own)[1][:] = table[np.ix_(np.argsort(codes), np.argsort(codes))].ravel()
    np.testing.assert_allclose(plain(weights[0])[0], renamed(weights[1])[0], rtol=1e-12)


def test_threads_do_not_change_a_bit(rng):
    X, y = rich_corpus(3000, seed=13)
    first = Loss(X, y, n_jobs=1, columns=COLUMNS)
    assert first.dataset.attr_val is not None
    weights = rng.normal(size=first.n_weights)
    expected = first(weights)
    for n_jobs in (2, 8):
        first.n_jobs = n_jobs
        value, gradient = first(weights)
        assert value == expected[0]
        np.testing.assert_array_equal(gradient, expected[1])


def test_a_set_that_no_legal_labeling_meets_is_named():
    loss = Loss([["a", "b", "c"], ["a", "b"]], [["O", "B-X", "I-X"], ["O", None]], constraints="iob2")
    assert np.isfinite(loss(np.zeros(loss.n_weights))[0])
    sets = Loss([["a", "b", "c"], ["a", "b"]], [["O", "B-X", "I-X"], ["O", {"I-X"}]], transitions="all")
    assert np.isfinite(sets(np.zeros(sets.n_weights))[0])
    y = [["O", "B-X", "I-X", "I-Y", "B-Y"], ["O", {"I-X", "I-Y"}]]
    pairs = [("O", "I-X"), ("O", "I-Y")]
    impossible = Loss([["a", "b", "c", "d", "e"], ["a", "b"]], y, constraints=pairs)
    with pytest.raises(InputError, match=r"sequence 1, position 1: no legal labeling"):
        impossible(np.zeros(impossible.n_weights))
