"""The size of a step: the loss never rises, a step that is too long is halved, and a search finds a good one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hedgerow.chain.objectives import log_likelihood, pseudo_likelihood
from hedgerow.data.encoding import learn
from hedgerow.datasets import make_sequences
from hedgerow.parallel import Lanes
from hedgerow.training.boosting import line_search
from hedgerow.training.boosting.chain import Booster
from hedgerow.training.boosting.line_search import LONGER, Guard, LineSearch, Phase, boost, halve
from hedgerow.training.monitor import Monitor
from hedgerow.trees.binning import bin_dataset, learn_binning

PSEUDO = (Phase(pseudo_likelihood, 2), Phase(log_likelihood))


@pytest.fixture(scope="module")
def corpus():
    X, y = make_sequences(40, 3, random_state=0, concentration=0.6)
    dataset = learn(X, y, window=1)
    return dataset, bin_dataset(learn_binning(dataset), dataset, postings=True)


@pytest.fixture
def lanes():
    with Lanes(None, 8) as lanes:
        yield lanes


def new_booster(corpus, lanes, **options):
    return Booster(*corpus, lanes, **{"max_leaf_nodes": 8, "l2_regularization": 2.0} | options)


def run(corpus, lanes, n_iterations, *, options=None, **how):
    booster = new_booster(corpus, lanes, **options or {})
    with Monitor(max_iter=n_iterations, tol=-np.inf) as monitor:
        boost(booster, monitor, **how)
    return booster, [monitor.start_loss, *(step.loss for step in monitor.history)]


def test_a_step_that_is_too_long_is_halved(corpus, lanes):
    booster = new_booster(corpus, lanes, learning_rate=400.0)
    before = booster.evaluate()
    booster.step()
    assert booster.evaluate() > before
    assert halve(booster, log_likelihood, before) <= before
    assert booster.scale in 400.0 / 2.0 ** np.arange(1, 12)
    assert booster.evaluate() <= before
    longer = booster.scale * 2.0
    booster.rescale(longer)
    assert booster.evaluate() > before


def test_a_step_that_helps_is_left_alone(corpus, lanes):
    booster = new_booster(corpus, lanes)
    before = booster.evaluate()
    booster.step()
    assert halve(booster, log_likelihood, before) < before
    assert booster.scale == 1.0


def test_trees_that_never_help_are_dropped(corpus, lanes):
    booster = new_booster(corpus, lanes)
    before = booster.evaluate()
    booster.step(-1.0)
    assert halve(booster, log_likelihood, before) == pytest.approx(before, rel=1e-12)
    assert booster.scale == 0.0
    assert not booster.iterations[-1].trees[0].values.any()


@pytest.mark.parametrize(
    "options",
    [{"learning_rate": 30.0}, {"leaves": "newton", "learning_rate": 3.0}, {"learning_rate": 30.0, "edges": "shared"}],
)
def test_guarded_steps_never_raise_the_loss(options, corpus, lanes):
    _, losses = run(corpus, lanes, 10, guarded=True, options=options)
    assert np.all(np.diff(losses) <= 0)
    _, unguarded = run(corpus, lanes, 10, options=options)
    assert np.any(np.diff(unguarded) > 0)


@pytest.mark.parametrize("options", [{"edges": "joint"}, {"edges": "shared"}, {"edges": "shared", "vectors": True}])
def test_a_guard_cuts_steps_that_are_too_long_and_lets_them_grow_again(options, corpus, lanes):
    chosen = {"leaves": "newton", "learning_rate": 3.0} | options
    booster, guard, scales = new_booster(corpus, lanes, **chosen), Guard(3.0), []
    loss = booster.evaluate()
    for _ in range(12):
        tried = guard.scale
        booster.step(tried)
        before, loss = loss, guard(booster, log_likelihood, loss)
        assert loss <= before
        assert booster.scale == tried or booster.scale <= tried / 2
        assert guard.scale == min(3.0, LONGER * booster.scale)
        scales.append(booster.scale)
    assert min(scales) < 3.0
    assert booster.overshot


def test_a_guard_leaves_short_steps_as_they_are(corpus, lanes):
    options = {"leaves": "newton", "learning_rate": 0.1, "edges": "shared"}
    guarded, losses = run(corpus, lanes, 10, search=Guard(0.1), options=options)
    _, free = run(corpus, lanes, 10, options=options)
    assert losses == free
    assert not guarded.overshot


@pytest.mark.parametrize("vectors", [False, True])
def test_leaves_know_runs_of_labels_once_a_step_overshot(vectors, corpus, lanes):
    """Curvatures are larger then, so that steps as long as before move scores less."""
    booster = new_booster(corpus, lanes, leaves="newton", learning_rate=0.5, edges="shared", vectors=vectors)
    for _ in range(6):
        booster.evaluate()
        plain = booster.step()
    booster.rescale(0.0)
    booster.evaluate()
    aware = booster.step()
    assert sum(tree.counts[0] for tree in aware) > sum(tree.counts[0] for tree in plain)


@pytest.mark.parametrize(
    "options", [{}, {"leaves": "newton"}, {"edges": "shared"}, {"subsample": 0.5}, {"trees_per_step": 3, "trim": 0.2}]
)
def test_a_search_never_raises_the_loss(options, corpus, lanes):
    _, losses = run(corpus, lanes, 12, search=LineSearch(), options=options)
    assert np.all(np.diff(losses) <= 0)
    assert losses[-1] < losses[0] / 2


def test_a_search_goes_further_with_few_evaluations(corpus, lanes, monkeypatch):
    calls = []
    original = Booster.evaluate
    monkeypatch.setattr(Booster, "evaluate", lambda self, *given: calls.append(1) or original(self, *given))
    _, searched = run(corpus, lanes, 10, search=LineSearch())
    assert len(calls) <= 1 + 10 * 3
    _, fixed = run(corpus, lanes, 10)
    assert searched[-1] < fixed[-1]


def test_the_step_that_is_found_is_a_good_one(corpus, lanes):
    """Close to the best of a fine grid."""
    booster = new_booster(corpus, lanes)
    before = booster.evaluate()
    search = LineSearch()
    booster.step(search.scale)
    found = search(booster, log_likelihood, before)
    losses = []
    for scale in np.linspace(0.1, 8.0, 80):
        booster.rescale(scale)
        losses.append(booster.evaluate())
    assert before - found > 0.8 * (before - min(losses))


def test_a_search_without_a_direction(corpus, lanes):
    """Where no label is known there is no gradient."""
    dataset = corpus[0]
    open_ = replace(dataset, labels=np.full_like(dataset.labels, -1))
    booster = new_booster((open_, *corpus[1:]), lanes)
    before = booster.evaluate()
    search = LineSearch()
    booster.step(search.scale)
    assert search(booster, log_likelihood, before) == pytest.approx(before)
    assert search.scale == 1.0


def test_the_first_steps_follow_the_pseudo_likelihood(corpus, lanes):
    booster, losses = run(corpus, lanes, 4, phases=PSEUDO)
    by_hand = new_booster(corpus, lanes)
    expected = [by_hand.evaluate()]
    for objective in (pseudo_likelihood, pseudo_likelihood, log_likelihood, log_likelihood):
        by_hand.evaluate(objective)
        by_hand.step()
        expected.append(by_hand.evaluate())
    assert losses == expected
    assert losses != run(corpus, lanes, 4)[1]
    for a, b in zip(booster.iterations[1].trees, by_hand.iterations[1].trees):
        np.testing.assert_array_equal(a.nodes, b.nodes)


def test_steps_of_the_pseudo_likelihood_are_guarded_by_it(corpus, lanes, monkeypatch):
    seen = []
    original = line_search.halve

    def halving(booster, objective, before, most):
        seen.append(objective)
        return original(booster, objective, before, most)

    monkeypatch.setattr(line_search, "halve", halving)
    run(corpus, lanes, 3, phases=PSEUDO, guarded=True, options={"learning_rate": 5.0})
    assert seen == [pseudo_likelihood, pseudo_likelihood, log_likelihood]
