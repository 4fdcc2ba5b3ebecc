"""The kernels of the IOHMM against their twin, and their gradient by differences."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.models.iohmm import kernels
from tests.reference import iohmm as reference


def both(scores: np.ndarray, targets: np.ndarray) -> tuple[float, np.ndarray]:
    """Loss and gradient by the kernels, in the order in which they are called."""
    shifted, room = scores.copy(), np.empty(scores.shape[:2])
    kernels.iohmm.take_tops(shifted, room)
    np.testing.assert_array_equal(room, scores.max(axis=2))
    probs = np.exp(shifted)
    kernels.iohmm.normalise(probs, room)
    loss = float((targets.sum(axis=2) * np.log(room)).sum() - (targets * shifted).sum())
    np.testing.assert_allclose(probs, reference.softmax(scores), rtol=1e-12)
    kernels.iohmm.gradient(probs, targets)
    return loss, probs


@given(
    st.integers(0, 10**6), st.integers(1, 4), st.integers(1, 4), st.integers(1, 5), st.sampled_from([0.1, 1.0, 300.0])
)
def test_loss_and_gradient(seed, n, B, K, scale):
    rng = np.random.default_rng(seed)
    scores = scale * rng.normal(size=(n, B, K))
    targets = rng.random((n, B, K)) * (rng.random((n, B, K)) < 0.7)
    loss, gradient = both(scores, targets)
    with np.errstate(divide="ignore", invalid="ignore"):
        expected, slope = reference.loss_and_gradient(scores, targets)
    if np.isfinite(expected):  # the twin takes the log of a probability that may be 0
        np.testing.assert_allclose(loss, expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(gradient, slope, rtol=1e-9, atol=1e-12)


def test_the_gradient_by_differences():
    rng = np.random.default_rng(1)
    scores, targets = rng.normal(size=(3, 2, 4)), rng.random((3, 2, 4))
    _, gradient = both(scores, targets)
    for place in np.ndindex(scores.shape):
        step = np.zeros_like(scores)
        step[place] = 1e-5
        slope = (both(scores + step, targets)[0] - both(scores - step, targets)[0]) / 2e-5
        np.testing.assert_allclose(gradient[place], slope, rtol=1e-6, atol=1e-8)
