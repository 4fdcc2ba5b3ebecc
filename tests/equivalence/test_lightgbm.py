"""On sequences of one position TreeCRF is plain multi-class boosting: LightGBM grows the same trees.

Matched: the gradient p − truth of the softmax with hessian 1, so that Σh counts rows and lambda_l2 is ours;
best-first growth to as many leaves; every value of a column a bin of its own; step 1, and nothing random.

Trees are compared as sets of rows: a node is the items that come to it, whatever the threshold between two values is
and whichever side is called true. Two things could make both right and different, and `assert_clear` sees that neither
is there. LightGBM keeps gradients in single precision, so a tie, or what is nearly one, may fall the other way: from
zero scores a gradient has one of two values and a gain depends on two counts, so small nodes tie all the time, and the
trees have few leaves for the items there are. And LightGBM does not look again, below a node, at a column that gains
nothing there; so all columns tell something of the label, and with a large l2_regularization there is one column alone.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

from hedgerow import TreeCRF
from tests.reference.growing import AT_MOST, LEAF

lightgbm = pytest.importorskip("lightgbm")

N_ITEMS, N_ITERATIONS, MAX_LEAVES = 240, 3, 5

Partition = dict[frozenset[int], float]  # the items of each node, and its value; NaN where it is split


class Run(NamedTuple):
    """The tree of each label and iteration, those of an iteration together; and probabilities (N, K) at the end."""

    trees: list[Partition]
    probs: np.ndarray


def make_items(seed: int, n_labels: int, n_columns: int) -> tuple[np.ndarray, np.ndarray]:
    """X (N, D), all values of a column different; labels (N,), which depend on all columns."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N_ITEMS, n_columns))
    assert all(len(np.unique(column)) == N_ITEMS for column in X.T)
    signal = np.hstack([X, X**2]) @ rng.normal(size=(2 * n_columns, n_labels))
    return X, np.argmax(signal + rng.gumbel(size=signal.shape), axis=1)


def softmax(scores: np.ndarray) -> np.ndarray:
    return np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)


# ------------------------------------------------------------------------------------------------- the two systems


def run_hedgerow(X: np.ndarray, labels: np.ndarray, l2_regularization: float) -> Run:
    model = TreeCRF(
        n_estimators=N_ITERATIONS,
        max_leaf_nodes=MAX_LEAVES,
        l2_regularization=l2_regularization,
        learning_rate=1.0,
        leaves="mean",
        early_stopping=False,
    )
    sequences = [row[None] for row in X]
    model.fit(sequences, [[int(label)] for label in labels])
    trees = []
    for j in range(model.ensemble_.n_trees):
        partition: Partition = {}
        _walk_hedgerow(model.ensemble_.tree(j), model.binning_, X, np.arange(N_ITEMS), 0, partition)
        trees.append(partition)
    return Run(trees, np.concatenate(model.predict_proba(sequences)))


def _walk_hedgerow(tree: Any, binning: Any, X: np.ndarray, rows: np.ndarray, node: int, found: Partition) -> None:
    stream, bin_, rule, true, false = (int(value) for value in tree.nodes[node])
    if stream == LEAF:
        found[frozenset(rows.tolist())] = float(tree.values[node])
        return
    assert rule == AT_MOST
    found[frozenset(rows.tolist())] = np.nan
    column = int(binning.streams[0, stream])
    at_most = X[rows, int(binning.names[column])] <= binning.thresholds[column][bin_]
    _walk_hedgerow(tree, binning, X, rows[at_most], true, found)
    _walk_hedgerow(tree, binning, X, rows[~at_most], false, found)


def run_lightgbm(X: np.ndarray, labels: np.ndarray, l2_regularization: float) -> Run:
    n_labels = int(labels.max()) + 1
    truth = np.eye(n_labels)[labels]

    def softmax_gradient(scores: np.ndarray, _: Any) -> tuple[np.ndarray, np.ndarray]:
        return softmax(scores) - truth, np.ones_like(scores)

    parameters = {
        "objective": softmax_gradient, "num_class": n_labels, "num_leaves": MAX_LEAVES, "lambda_l2": l2_regularization,
        "learning_rate": 1.0, "min_data_in_leaf": 1, "min_sum_hessian_in_leaf": 0.0, "min_gain_to_split": 0.0,
        "max_bin": 2 * N_ITEMS, "min_data_in_bin": 1, "feature_pre_filter": False, "enable_bundle": False,
        "boost_from_average": False, "use_missing": False, "deterministic": True, "force_col_wise": True,
        "num_threads": 1, "verbosity": -1,
    }  # fmt: skip
    booster = lightgbm.train(parameters, lightgbm.Dataset(X, params=parameters), num_boost_round=N_ITERATIONS)
    trees = []
    for tree in booster.dump_model()["tree_info"]:
        partition: Partition = {}
        _walk_lightgbm(tree["tree_structure"], X, np.arange(N_ITEMS), partition)
        trees.append(partition)
    return Run(trees, softmax(booster.predict(X, raw_score=True)))


def _walk_lightgbm(node: dict[str, Any], X: np.ndarray, rows: np.ndarray, found: Partition) -> None:
    if "leaf_value" in node:
        found[frozenset(rows.tolist())] = node["leaf_value"]
        return
    found[frozenset(rows.tolist())] = np.nan
    at_most = X[rows, node["split_feature"]] <= node["threshold"]
    _walk_lightgbm(node["left_child"], X, rows[at_most], found)
    _walk_lightgbm(node["right_child"], X, rows[~at_most], found)


# ------------------------------------------------------------------------------------------------- the comparison


def assert_same(ours: Run, theirs: Run) -> None:
    assert len(ours.trees) == len(theirs.trees)
    for tree, other in zip(ours.trees, theirs.trees):
        assert tree.keys() == other.keys()
        values = [other[rows] for rows in tree]
        np.testing.assert_allclose(list(tree.values()), values, rtol=1e-5, atol=1e-7, equal_nan=True)
    np.testing.assert_allclose(ours.probs, theirs.probs, rtol=1e-5)


def assert_clear(X: np.ndarray, labels: np.ndarray, run: Run, l2_regularization: float) -> None:
    """At every split one partition gains clearly more than any other, and every column has one that gains."""
    n_labels = int(labels.max()) + 1
    scores = np.zeros((len(X), n_labels))
    for j, tree in enumerate(run.trees):
        k = j % n_labels
        if k == 0:
            targets = np.eye(n_labels)[labels] - softmax(scores)
        for items, value in tree.items():
            rows = np.array(sorted(items))
            if np.isnan(value):
                by_column = gains(X[rows], targets[rows, k], l2_regularization)
                assert all(max(found.values()) > 0 for found in by_column), "take another seed: a column gains nothing"
                by_parts = {parts: gain for found in by_column for parts, gain in found.items()}
                best, second, *_ = sorted([*by_parts.values(), -np.inf], reverse=True)
                assert second < best * (1 - 1e-5), "take another seed: two splits tie"
            else:
                scores[rows, k] += value


def gains(X: np.ndarray, targets: np.ndarray, l2_regularization: float) -> list[dict[frozenset[frozenset[int]], float]]:
    """For each column, the gain of every partition of the rows into two parts."""
    found = []
    n, total = len(targets), targets.sum()
    for column in X.T:
        order = np.argsort(column)
        left, n_left = np.cumsum(targets[order])[:-1], np.arange(1, n)
        gain = left**2 / (l2_regularization + n_left) + (total - left) ** 2 / (l2_regularization + n - n_left)
        parts = [frozenset((frozenset(order[:i].tolist()), frozenset(order[i:].tolist()))) for i in n_left]
        found.append(dict(zip(parts, gain - total**2 / (l2_regularization + n))))
    return found


@pytest.mark.parametrize("seed", [3, 6, 8])
@pytest.mark.parametrize("n_labels", [2, 3, 5])
@pytest.mark.parametrize(("n_columns", "l2_regularization"), [(3, 0.05), (2, 0.7), (1, 20.3)])
def test_lightgbm_grows_the_same_trees(n_columns, l2_regularization, n_labels, seed):
    X, labels = make_items(seed, n_labels, n_columns)
    ours = run_hedgerow(X, labels, l2_regularization)
    assert len(ours.trees) == N_ITERATIONS * n_labels
    assert np.mean([len(tree) for tree in ours.trees]) > 2 * MAX_LEAVES - 2
    assert_clear(X, labels, ours, l2_regularization)
    assert_same(ours, run_lightgbm(X, labels, l2_regularization))


def test_another_shrinkage_is_another_model():
    X, labels = make_items(3, 3, 2)
    assert_same(run_hedgerow(X, labels, 0.7), run_lightgbm(X, labels, 0.7))
    with pytest.raises(AssertionError):
        assert_same(run_hedgerow(X, labels, 0.8), run_lightgbm(X, labels, 0.7))


def test_other_labels_are_other_splits():
    X, labels = make_items(3, 3, 2)
    ours, theirs = run_hedgerow(X, labels, 0.7), run_lightgbm(X, np.roll(labels, 1), 0.7)
    assert any(tree.keys() != other.keys() for tree, other in zip(ours.trees, theirs.trees))
