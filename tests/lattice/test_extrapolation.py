"""Anderson's extrapolation on maps whose fixed point is known."""

from __future__ import annotations

import numpy as np

from hedgerow.lattice.inference import infer
from hedgerow.lattice.inference.infer import Extrapolation


def linear_map(rng, size):
    turn = np.linalg.qr(rng.normal(size=(size, size)))[0]
    slope = turn @ np.diag(np.linspace(0.5, 0.95, size)) @ turn.T
    rest = rng.normal(size=size)
    return rest, lambda x: rest + slope @ (x - rest)


def test_a_linear_map_is_solved_in_as_many_steps_as_it_has_axes(rng):
    rest, step = linear_map(rng, 4)
    extrapolate, x = Extrapolation(4), np.zeros(4)
    for _ in range(6):
        x = extrapolate(x, step(x))
    np.testing.assert_allclose(x, rest, atol=1e-5)


def test_without_memory_and_after_clearing_it_goes_on_from_the_end(rng, monkeypatch):
    _, step = linear_map(rng, 6)
    extrapolate, x = Extrapolation(6), np.zeros(6)
    for _ in range(9):  # more than are remembered
        x = extrapolate(x, step(x))
    assert not np.array_equal(extrapolate(x, step(x)), step(x))
    extrapolate.clear()
    np.testing.assert_array_equal(extrapolate(x, step(x)), step(x))
    monkeypatch.setattr(infer, "MEMORY", 0)
    poor = Extrapolation(6)
    for _ in range(3):
        np.testing.assert_array_equal(poor(x, step(x)), step(x))


def test_at_rest_it_stays(rng):
    x = rng.normal(size=3)
    extrapolate = Extrapolation(3)
    for _ in range(3):
        np.testing.assert_array_equal(extrapolate(x, x), x)
