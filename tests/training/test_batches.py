"""Batches: their order, and the loss and gradient of each by shortcuts and by objectives."""

from __future__ import annotations

import numpy as np
import pytest

from hedgerow.chain.objectives import NAMES, log_likelihood, make_objective, perceptron, pseudo_likelihood
from hedgerow.data.encoding import learn
from hedgerow.errors import InputError
from hedgerow.training.online import shortcuts
from hedgerow.training.online.batches import Batches, Diverged
from tests.models.corpora import COLUMNS, Loss, partial_labels, rich_corpus
from tests.training.online_problems import Problem

FORMS = {
    "plain": {},
    "rules": {"constraints": "iob2"},
    "forbidden": {"transitions": "forbid_unseen"},
    "window": {"window": (1, 2)},
    "pairs": {"transition_columns": ["word"]},
}


def problem(form="plain", objective=log_likelihood, *, partial=False, weighted=False, n=25, batch_size=4) -> Problem:
    X, y = rich_corpus(n, seed=5)
    sample_weight = np.linspace(0.5, 2.0, n) if weighted else None
    loss = Loss(X, partial_labels(y, seed=6) if partial else y, sample_weight, columns=COLUMNS, **FORMS[form])
    return Problem(loss.layout, loss.dataset, objective, batch_size=batch_size)


def check(own: Problem, batches: Batches, weights, batch) -> None:
    """Loss, gradient, touched weights and the direct step against the ordinary scorer."""
    loss, gradient = own.gradient(weights, batch)
    working = batches.working
    x = working.pack(weights)
    np.testing.assert_allclose(batches.evaluate(batch, 2.0 * x, 0.5), loss, rtol=1e-10, atol=1e-10)
    found = working.unpack(batches.gradient)
    np.testing.assert_allclose(found, gradient, rtol=1e-9, atol=1e-10)
    touched = np.zeros(working.size, dtype=bool)
    for runs, n_runs, width, slots, n_slots in batches.touched():
        assert len(np.unique(runs[:n_runs])) == n_runs
        assert len(np.unique(slots[:n_slots])) == n_slots
        touched[slots[:n_slots]] = True
        for a in runs[:n_runs]:
            touched[a : a + width] = True
    assert not batches.gradient[~touched].any()
    batches.clear()
    np.testing.assert_allclose(batches.descend(batch, 2.0 * x, 0.5, 0.0), loss, rtol=1e-10, atol=1e-10)
    batches.descend(batch, x, 1.0, 0.3)
    np.testing.assert_allclose(working.unpack(x), weights - 0.3 * gradient, rtol=1e-9, atol=1e-9)
    assert not x[working.real == 0].any()
    assert not batches.gradient.any()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("objective", [log_likelihood, perceptron])
@pytest.mark.parametrize(("partial", "weighted"), [(False, False), (True, False), (False, True), (True, True)])
def test_every_form_of_chain(form, objective, partial, weighted, rng):
    own = problem(form, objective, partial=partial, weighted=weighted)
    for options in ({}, {"kept_bytes": 0}):
        batches = own.batches(**options)
        for batch in own.order(0)[:3]:
            check(own, batches, rng.normal(size=own.layout.n_weights), batch)


@pytest.mark.parametrize("form", ["plain", "pairs"])
@pytest.mark.parametrize("name", NAMES)
def test_every_objective(name, form, rng):
    own = problem(form, make_objective(name, n_labels=3))
    check(own, own.batches(), rng.normal(size=own.layout.n_weights), own.order(0)[0])


@pytest.mark.parametrize("objective", [log_likelihood, perceptron])
@pytest.mark.parametrize("form", ["plain", "rules"])
def test_shortcuts_are_taken_where_every_label_is_known(objective, form, rng, monkeypatch):
    own = problem(form, objective)
    batches = own.batches()
    monkeypatch.setattr(batches, "objective", None)  # whoever calls it fails
    expected = own.gradient(np.full(own.layout.n_weights, 0.1), np.array([3, 8]))[0]
    x = batches.working.pack(np.full(own.layout.n_weights, 0.1))
    np.testing.assert_allclose(batches.evaluate(np.array([3, 8]), x), expected, rtol=1e-10)


@pytest.mark.parametrize("limit", ["cells", "length"])
def test_long_sequences_go_by_the_objective(limit, rng, monkeypatch):
    monkeypatch.setattr(shortcuts, "CELLS_PER_CALL" if limit == "cells" else "LONGEST", 2)
    for objective in (log_likelihood, perceptron):
        own = problem("rules", objective)
        batches = own.batches()
        if limit == "cells" or objective is log_likelihood:
            batches._shortcut.chain.open(np.arange(4))
            assert np.isnan(batches._shortcut(batches.gradient))
        check(own, batches, rng.normal(size=own.layout.n_weights), np.arange(4))


def test_faint_messages_are_redone():
    """Two labels that never mix: the way that is better in the end is lost at first."""
    X = [["a"] * 100 + ["b"] * 100]
    y = [["x"] * 100 + ["y"] * 100]
    loss = Loss(X, y)
    own = Problem(loss.layout, loss.dataset)
    weights = np.zeros(loss.n_weights)
    nodes, arcs, _ = loss.layout.split(weights)
    nodes[loss.layout.nodes.slot_rows() == loss.layout.nodes.slot_rows().min()] = 10.0
    nodes[nodes == 0] = 11.0
    arcs[loss.layout.arc_from != loss.layout.arc_to] = -2000.0
    batches = own.batches()
    x = batches.working.pack(weights)
    batches._chain.open(np.array([0]))
    batches._chain.score(x)
    assert np.isnan(batches._shortcut(batches.gradient))
    check(own, batches, weights, np.array([0]))


def test_every_pass_has_its_own_order():
    own = problem()
    batches = own.batches(seed=1)
    orders = [np.concatenate(list(batches.order(number))) for number in range(3)]
    for order in orders:
        np.testing.assert_array_equal(np.sort(order), np.arange(25))
    assert len({tuple(order) for order in orders}) == 3
    np.testing.assert_array_equal(orders[0], np.concatenate(list(own.batches(seed=1).order(0))))
    assert not np.array_equal(orders[0], np.concatenate(list(own.batches(seed=2).order(0))))
    assert [len(batch) for batch in batches.order(0)] == [4] * 6 + [1]
    assert batches.n_batches == 7
    some = np.concatenate(list(batches.order(0, np.array([3, 9, 11]))))
    assert sorted(some.tolist()) == [3, 9, 11]


def test_passes_are_counted():
    own = problem()
    batches = own.batches()
    x = np.zeros(batches.working.size)
    batches.sample_loss(np.zeros(own.layout.n_weights))
    assert batches.passes == 0.0
    for batch in batches.order(0):
        batches.evaluate(batch, x)
    np.testing.assert_allclose(batches.passes, 1.0, rtol=1e-12)
    batches.clear()
    batches.curve(np.arange(5), x, x)
    np.testing.assert_allclose(batches.passes, 1.2, rtol=1e-12)


def test_the_loss_of_a_sample_tells_that_of_the_corpus(rng):
    own = problem(n=200)
    weights = 0.1 * rng.normal(size=own.layout.n_weights)
    batches = own.batches()
    np.testing.assert_allclose(batches.sample_loss(weights), own.gradient(weights)[0], rtol=0.15)
    assert not batches.gradient.any()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("objective", [log_likelihood, pseudo_likelihood])
def test_products_with_the_hessian(form, objective, rng):
    own = problem(form, objective)
    weights, direction = rng.normal(size=(2, own.layout.n_weights))
    batches = own.batches()
    pack, unpack = batches.working.pack, batches.working.unpack
    for batch in own.order(0)[:2]:
        loss = batches.curve(batch, pack(weights), pack(direction))
        expected, gradient = own.gradient(weights, batch)
        np.testing.assert_allclose(loss, expected, rtol=1e-10)
        np.testing.assert_allclose(unpack(batches.gradient), gradient, rtol=1e-9, atol=1e-10)
        size = 1e-5
        ahead, behind = (own.gradient(weights + s * direction, batch)[1] for s in (size, -size))
        scale = np.abs(ahead - behind).max() / (2 * size)
        np.testing.assert_allclose(unpack(batches.product), (ahead - behind) / (2 * size), rtol=1e-5, atol=1e-6 * scale)
        batches.clear()


@pytest.mark.parametrize("objective", [log_likelihood, perceptron])
def test_weights_that_are_too_large_are_a_divergence(objective):
    own = problem(objective=objective)
    batches = own.batches()
    for bad in (np.nan, np.inf, -np.inf):
        x = np.full(batches.working.size, 1.0)
        x[batches.working.real == 0] = 0.0
        x[batches.working.arcs.start] = bad
        with pytest.raises(Diverged):
            batches.evaluate(np.arange(5), x)
        batches.clear()


def test_a_truth_that_is_forbidden_is_named():
    X, y = [["a", "b", "a"]] * 3, [["x", "y", "x"]] * 3
    loss = Loss(X, y, constraints=[("y", "y")])
    data = learn([["a", "b", "b"]] * 3, [["x", "y", "y"]] * 3)
    with pytest.raises(InputError, match="forbidden") as error:
        Batches(loss.layout, data, log_likelihood).evaluate(np.array([2]), np.zeros(loss.n_weights))
    assert "sequence 2, position 2" in str(error.value)


def test_labels_are_needed():
    own = problem()
    from dataclasses import replace

    with pytest.raises(InputError, match="labels"):
        Batches(own.layout, replace(own.dataset, labels=None), log_likelihood)
