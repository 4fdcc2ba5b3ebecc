"""Which weights there are."""

from __future__ import annotations

import numpy as np
import pytest

from hedgerow.chain.structure.states import StateSpace
from hedgerow.data.encoding import learn
from hedgerow.errors import InputError
from hedgerow.linear.chain import ChainLayout
from hedgerow.models.crf.linear_layout import lay_out, named_weights, observed_labels

X = [["a", "b", "a"], ["b"]]
Y = [["x", "y", "x"], ["x"]]


def layout(X=X, y=Y, space=None, transitions="all", pairs="observed", min_frequency=0.0, columns=None):
    dataset = learn(X, y)
    return dataset, *lay_out(
        dataset,
        space or StateSpace.full(dataset.n_labels),
        transitions=transitions,
        pairs=pairs,
        min_frequency=min_frequency,
        transition_columns=columns,
    )


def pairs_of(dataset, found: ChainLayout) -> set[tuple[str, str]]:
    named = named_weights(dataset.schema, found, np.arange(found.n_weights, dtype=float))
    return {(name.split(":")[-1], label) for name, label, _ in named}


def test_observed_pairs():
    dataset, found, statistics = layout()
    assert pairs_of(dataset, found) == {("a", "x"), ("b", "y"), ("b", "x")}
    assert found.n_weights == 3 + 4
    assert sorted(statistics.frequency[:3]) == [2, 2, 2]
    assert statistics.square is None


def test_all_pairs_of_features_that_are_seen():
    dataset, found, _ = layout(pairs="all")
    assert pairs_of(dataset, found) == {("a", "x"), ("a", "y"), ("b", "x"), ("b", "y")}


def test_min_frequency_counts_pairs_or_features():
    dataset, found, _ = layout(min_frequency=2)
    assert pairs_of(dataset, found) == {("a", "x")}
    dataset, found, _ = layout(pairs="all", min_frequency=2)
    assert len(pairs_of(dataset, found)) == 4
    assert layout(pairs="all", min_frequency=3)[1].nodes.n_weights == 0


def test_transitions():
    arcs = {
        kind: set(zip(*(side.tolist() for side in (found.arc_from, found.arc_to))))
        for kind in ("all", "observed")
        for _, found, _ in [layout(transitions=kind)]
    }
    assert arcs == {"all": {(0, 0), (0, 1), (1, 0), (1, 1)}, "observed": {(0, 1), (1, 0)}}
    only = StateSpace.full(2).forbid([(1, 0)])
    _, found, _ = layout(space=only, transitions="observed")
    assert found.arc_from.tolist() == [0]
    assert found.arc_to.tolist() == [1]


def test_labels_in_sets_count_and_open_positions_do_not():
    dataset = learn([["a", "b", "c", "d"]], [["x", {"y", "z"}, None, {"x", "y", "z"}]])
    where, labels = observed_labels(dataset)
    assert list(zip(where.tolist(), labels.tolist())) == [(0, 0), (1, 1), (1, 2)]


def test_label_pairs_by_feature():
    _, found, statistics = layout(columns=["token"])
    assert found.pairs is not None
    # the second position ("b": x→y) and the third ("a": y→x)
    assert sorted(found.pairs.slot_label.tolist()) == [1, 2]
    assert found.n_weights == 3 + 4 + 2
    assert len(statistics.frequency) == found.n_weights
    nodes, arcs, own = found.split(np.arange(9.0))
    assert (nodes.tolist(), arcs.tolist(), own.tolist()) == ([0, 1, 2], [3, 4, 5, 6], [7, 8])


def test_mean_square_of_numbers_and_weights():
    numbers = [[{"n": 2.0}, {"n": -4.0}], [{"n": 0.0}]]
    _, _, statistics = layout(numbers, [["x", "y"], ["x"]])
    np.testing.assert_array_equal(statistics.square[:2], [10.0, 10.0])
    np.testing.assert_array_equal(statistics.frequency[:2], [2.0, 2.0])
    measured = [np.array([[20.0], [-4.0]]), np.array([[5.0]])]  # of an array: standardised
    square = layout(measured, [["x", "y"], ["x"]])[2].square
    np.testing.assert_allclose(1.0 if square is None else square, 1.0)
    rare = [[{"common": "c"}] * 40 + [{"rare": 3.0}]]
    dataset, found, statistics = layout(rare, [["x"] * 41])
    assert dataset.attr_val is not None
    place = [name for name, _, _ in named_weights(dataset.schema, found, -np.arange(found.n_weights))].index("rare")
    assert statistics.square[place] == 9.0


def test_columns_that_are_not_there():
    with pytest.raises(InputError, match=r"column 'nothing': is in transition_columns and not in the data"):
        layout(columns=["nothing"])
