"""The literal future features: their gradient by differences, and the thesis' example of what one direction misses."""

from __future__ import annotations

import numpy as np
import pytest

from tests.reference import future

OFFSETS = np.array([0, 4, 4, 5, 9])


def problem(seed, n_labels=3):
    rng = np.random.default_rng(seed)
    N = OFFSETS[-1]
    labels = rng.integers(-1, n_labels, size=N).astype(np.int32)
    return rng.normal(size=N), rng.normal(size=(n_labels, N)), labels, rng.integers(1, 4, size=N).astype(float)


@pytest.mark.parametrize("backward", [False, True])
@pytest.mark.parametrize("reach", [1, 2, None])
@pytest.mark.parametrize("eta", [1.0, 2.5])
def test_the_gradient_by_differences(backward, reach, eta):
    G, scores, labels, weights = problem(3)
    more = {"label": 1, "eta": eta, "backward": backward}
    gradient, _ = future.feature_gradient(G, scores, labels, weights, OFFSETS, reach, **more)
    for s in range(len(G)):
        step = 1e-5 * (np.arange(len(G)) == s)
        up, down = (future.feature_loss(G + d, scores, labels, weights, OFFSETS, reach, **more) for d in (step, -step))
        np.testing.assert_allclose(gradient[s], -(up - down) / 2e-5, rtol=1e-6, atol=1e-8)


def test_the_residuals_by_differences():
    _, scores, labels, weights = problem(4)
    found = future.residuals(scores, labels, weights)
    for k, t in np.ndindex(scores.shape):
        step = np.zeros_like(scores)
        step[k, t] = 1e-5
        up, down = (future.local_loss(scores + d, labels, weights) for d in (step, -step))
        np.testing.assert_allclose(found[k, t], -(up - down) / 2e-5, rtol=1e-6, atol=1e-8)


def test_rows_are_as_many_as_bags():
    """An instance counts once for every bag that it lies in."""
    G, scores, labels, _ = problem(5)
    labels[:] = 0
    _, count = future.feature_gradient(G, scores, labels, np.ones(9), OFFSETS, 2, label=0, eta=1.0, backward=False)
    assert count.tolist() == [0, 1, 2, 2, 0, 0, 1, 2, 2]


def test_noisy_or():
    """One sure instance makes a bag positive; an empty bag is not."""
    G = np.array([-30.0, -30.0, 30.0, -30.0])
    np.testing.assert_allclose(
        future.bag_probs(G, np.array([0, 4]), 1, backward=False), [0, 1, 0, 0], rtol=1e-9, atol=1e-9
    )
    np.testing.assert_allclose(
        future.bag_probs(np.zeros(4), np.array([0, 4]), None, backward=True), [0, 0.5, 0.75, 0.875], rtol=1e-12
    )


def test_thermometer():
    assert future.thermometer(np.array([0.0, 0.26, 1.0]), 4).T.tolist() == [[0, 0, 0], [1, 0, 0], [1, 1, 1]]


def test_neither_direction_alone_sees_what_both_see():
    """Section 5.1 of the thesis: forward says l2, backward l3, both together l1."""
    from hedgerow.chain.edges import chain_from_scores

    same = np.eye(3, dtype=bool)
    transitions = np.where(same, 0.9, 0.05)
    emissions = np.array([[0.45, 0.1, 0.45], [0.8, 0.1, 0.1], [0.1, 0.1, 0.8]])  # [label, symbol]
    forward = emissions[:, 1] * (emissions[:, 0] @ transitions)
    backward = transitions @ emissions[:, 2]
    np.testing.assert_allclose(forward, [0.045, 0.07475, 0.01525], rtol=1e-9)
    np.testing.assert_allclose(backward, [0.45, 0.1525, 0.7475], rtol=1e-9)  # with 0.9 where the thesis prints 0.09
    assert (np.argmax(forward), np.argmax(backward), np.argmax(forward * backward)) == (1, 2, 0)

    from hedgerow.chain.inference import marginals

    potentials = chain_from_scores(np.log(emissions[:, [0, 1, 2]].T), np.log(transitions))
    probs = marginals(potentials).node_probs[1]
    np.testing.assert_allclose(probs, forward * backward / (forward @ backward), rtol=1e-9)
