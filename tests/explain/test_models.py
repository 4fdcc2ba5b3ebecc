"""Fitted models, in every form that boosting has: the rules that hold add up to the scores of the model."""

from __future__ import annotations

import numpy as np
import pytest

from hedgerow import LinearCRF, TreeCRF
from hedgerow.chain.edges import PositionEdges
from hedgerow.explain import importance, rules, tree_text
from hedgerow.trees.nodes import LEAF

from .literal import holds
from .made import COLUMNS, LABELS, corpus

FORMS = {
    "joint": {},
    "shared edges": {"edges": "shared"},
    "subsets": {"categorical": "subset"},
    "Newton": {"leaves": "newton", "learning_rate": 0.3},
    "a constant below": {"init": "constant", "learning_rate": 0.5},
    "several trees a step": {"trees_per_step": 2, "max_features": 0.5, "random_state": 1},
    "bags": {"n_bags": 2, "random_state": 1},
}


@pytest.fixture(scope="module")
def data():
    """Labels that follow from letters, numbers and attributes, so that all are split on."""
    X, y = corpus(np.random.default_rng(8))
    for x, labels in zip(X, y):
        for t, row in enumerate(x):
            if row.get("letter") in ("a", "b") and (t == 0 or x[t - 1].get("size", 0) < 3):
                labels[t] = "x" if t and labels[t - 1] == "y" else "y"
            elif "t1" in row["tag"] or row.get("heat", 0) > 2:
                labels[t] = "z"
    return X, y


def fit(data, **more):
    """Trees alone: on words, which the corpus has, they would stand on weights."""
    options = {"window": 1, "columns": COLUMNS, "n_estimators": 4, "max_leaf_nodes": 8, "l2_regularization": 2.0}
    return TreeCRF(**{"early_stopping": False, "init": "zero"} | options | more).fit(*data)


def scores(model, X):
    """(K+1, N, K) [from, t, to], ⊥ last: what the model adds up; NaN where ⊥ stands inside, or a label before."""
    potentials = model._potentials(model.encode(X), 0, len(X))
    nodes, edges = potentials.node_scores, potentials.edges
    n, K = nodes.shape
    found = np.full((K + 1, n, K), np.nan)
    first = np.zeros(n, dtype=bool)
    first[potentials.offsets[:-1]] = True
    pairs = edges.scores_to.transpose(2, 1, 0) if isinstance(edges, PositionEdges) else edges.scores[:, None]
    found[:K] = np.where(first[:, None], np.nan, nodes + pairs)
    found[K, first] = nodes[first]
    return found


def whole(data):
    """The same with a value wherever one was missing."""
    fill = {"letter": "a", "size": 1.0, "flag": True}
    return [[fill | row for row in x] for x in data[0]]


@pytest.mark.parametrize("edges", ["joint", "shared"])
@pytest.mark.parametrize("missing", ["weighting", "surrogate"])
def test_rules_of_values_add_up_where_nothing_is_missing(missing, edges, data):
    model, X = fit(data, missing=missing, edges=edges), whole(data)[:6]
    np.testing.assert_allclose(rule_scores(model, X), scores(model, X), atol=1e-9)
    assert not any(" missing" in condition.text for rule in rules(model, n=None) for condition in rule.conditions)


def rule_scores(model, X):
    found = rules(model, n=None)
    positions = [(x, t) for x in X for t in range(len(x))]
    table = np.full((len(LABELS) + 1, len(positions), len(LABELS)), np.nan)
    for p, (x, t) in enumerate(positions):
        for u, previous in enumerate((*LABELS, None)):
            if (previous is None) == (t == 0):
                table[u, p] = 0.0
                for rule in found:
                    if all(holds(condition.text, x, t, previous) for condition in rule.conditions):
                        table[u, p, LABELS.index(rule.label)] += rule.weight
    return table


@pytest.mark.parametrize("form", FORMS)
def test_rules_that_hold_sum_to_the_scores_of_the_model(data, form):
    model = fit(data, **FORMS[form])
    X = data[0][:6]
    np.testing.assert_allclose(rule_scores(model, X), scores(model, X), rtol=1e-9, atol=1e-9)
    assert np.nanstd(scores(model, X)) > 0.05


@pytest.mark.parametrize("most", [256, 5])
def test_rules_of_trees_for_all_labels(most, data, monkeypatch):
    """Of every letter, and of those that share a bin."""
    monkeypatch.setattr("hedgerow.trees.binning.MAX_BINS", most)
    few = {name: COLUMNS[name] for name in ("letter", "size", "flag")}
    X = [[{name: value for name, value in row.items() if name in few} for row in x] for x in data[0]]
    model = fit((X, data[1]), columns=few, multi_strategy="multi_output_tree", learning_rate=0.5)
    assert (model.binning_.item_source[model.binning_.names.index("letter")] is None) == (most == 256)
    np.testing.assert_allclose(rule_scores(model, X[:6]), scores(model, X[:6]), rtol=1e-9, atol=1e-9)
    assert importance(model).share("letter") > 0.3
    conditions = [[line.partition("  ")[0] for line in tree_text(model, 2, k).splitlines()[1:]] for k in "xy"]
    assert conditions[0] == conditions[1]
    assert tree_text(model, 2, "x").splitlines()[1:] != tree_text(model, 2, "y").splitlines()[1:]


def test_the_scores_of_a_linear_model_below_are_not_among_the_rules(data):
    X = [[{name: value for name, value in row.items() if name != "size"} for row in x] for x in data[0]]
    columns = {name: kind for name, kind in COLUMNS.items() if name != "size"}
    linear = LinearCRF(window=1, columns=columns).fit(X, data[1])
    model = fit((X, data[1]), columns=columns, init=linear)
    few = X[:6]
    below = scores(linear, few)
    np.testing.assert_allclose(rule_scores(model, few) + below, scores(model, few), rtol=1e-9, atol=1e-9)
    assert np.nanmax(np.abs(rule_scores(model, few))) > 0.01


def test_gains_are_positive_and_the_columns_that_matter_lead(data):
    model = fit(data)
    splits = model.ensemble_.nodes[:, 0] != LEAF
    assert np.all(model.ensemble_.gains[splits] > 0)
    found = importance(model)
    assert {row.column for row in found.columns[:2]} == {"letter", "previous label"}
    assert found.share("letter", 0) > 2 * found.share("letter", -1)


def test_leaves_count_the_rows_of_training(data):
    """Each position has one row a previous label; the first one of a sequence has ⊥ alone."""
    model = fit(data, leaves="mean")
    n_rows = sum(1 + 3 * (len(x) - 1) for x in data[0])
    assert f"label x: 8 leaves, {n_rows:,} rows" in tree_text(model, 1, "x")
    tree = model.ensemble_.tree(0)
    assert tree.counts[tree.nodes[:, 0] == LEAF].sum() == n_rows


def test_rows_of_newton_count_their_curvature(data):
    """At first a row after a label has p = 1/9, and one after the start p = 1/3."""
    model = fit(data, leaves="newton")
    expected = sum(2 / 9 + 3 * (8 / 81) * (len(x) - 1) for x in data[0])
    shown = float(tree_text(model, 1, "x").splitlines()[0].split("leaves, ")[1].removesuffix(" p(1−p)"))
    assert shown == pytest.approx(expected, rel=1e-2)
