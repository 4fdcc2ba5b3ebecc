"""The steps of shared edges: what they divide the gradient by, and that they go down."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hedgerow.chain.structure.states import StateSpace
from hedgerow.data.encoding import learn
from hedgerow.estimators.histories import observed_histories
from hedgerow.training.boosting.arc_steps import ArcSteps, TableSteps

Y = [["a", "b", "b"], ["b", "a"], ["a"]]  # a→b, b→b, b→a
COUNTS = np.array([[0.0, 1.0], [1.0, 1.0]])


def corpus(y=Y, **more):
    return learn([["x"] * len(labels) for labels in y], y, **more)


def table_steps(dataset, *, newton):
    return TableSteps.of(dataset, StateSpace.full(dataset.n_labels).transitions, newton=newton)


def test_a_step_is_the_mean_gradient_of_the_positions_after_a_label():
    gradient = np.array([[2.0, -0.5], [0.25, -0.75]])  # "a" is expected 2.5 times before another, and seen once
    step = table_steps(corpus(), newton=False).step(gradient, l2_regularization=4.0)
    np.testing.assert_allclose(step, -gradient / (np.array([[2.5], [2.0]]) + 4.0))


def test_newton_counts_the_transition_itself():
    gradient = np.array([[2.0, -0.5], [0.25, -0.75]])
    step = table_steps(corpus(), newton=True).step(gradient, l2_regularization=4.0)
    np.testing.assert_allclose(step, -gradient / (np.array([[2.0, 1.0], [1.25, 1.0]]) + 4.0))


def test_weights_and_unknown_labels_count():
    weighted = replace(corpus(), weight_seq=np.array([3.0, 2.0, 7.0]))
    np.testing.assert_allclose(table_steps(weighted, newton=True)._counts, [[0.0, 3.0], [2.0, 3.0]])
    partly = corpus([["a", "b", None], ["b", "a"], ["a"]])
    np.testing.assert_allclose(table_steps(partly, newton=True)._counts, np.array([[0, 1], [1, 0]]) + 0.25)


def test_what_is_forbidden_does_not_move():
    legal = np.array([[False, True], [True, True]])
    step = TableSteps.of(corpus(), legal, newton=False).step(np.ones((2, 2)), l2_regularization=1.0)
    assert step[0, 0] == 0.0
    assert np.all(step[legal] < 0.0)


@pytest.mark.parametrize("newton", [False, True])
def test_arcs_share_the_step(newton, rng):
    """n is that of the arc, or of all arcs of its history, and an arc of order 2 takes half of what n gives."""
    dataset = corpus([["a", "b"], ["b", "b"], ["b", "a"]])
    space = StateSpace.full(2)
    histories = observed_histories(dataset, space, 2, transitions="all")
    arcs = ArcSteps(dataset, histories, newton=newton)
    gradient = rng.uniform(-0.5, 0.5, size=histories.n_arcs)
    step, pulled = arcs.step(gradient, l2_regularization=3.0), histories.pull_back_off(gradient)
    for a in range(histories.n_arcs):
        own = [a] if newton else np.flatnonzero(histories.arc_state == histories.arc_state[a])
        seen = arcs._counts[own].sum()
        n = max(seen, seen + pulled[own].sum(), 1.0)
        assert step[a] == pytest.approx(-pulled[a] / (2 * n + 3.0))
    assert arcs.slope(gradient, step) == pytest.approx(float(pulled @ step))
    assert arcs.slope(gradient, step) < 0.0
