"""The updates of touched weights against their twins."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.linear.kernels import updates
from tests.reference import updates as reference

CODE = np.int32


@dataclass
class Case:
    """Runs and slots that are touched, in a vector where some slots of the runs are no weights."""

    touched: tuple
    at: np.ndarray  # the weights that are touched
    real: np.ndarray
    rng: np.random.Generator

    def vector(self, positive=False):
        """A vector that is 0, or above 0 where it has to be, where there is no weight."""
        values = self.rng.normal(size=len(self.real))
        return np.where(self.real, np.abs(values) + 0.1, 1.0) if positive else np.where(self.real, values, 0.0)

    @property
    def gradient(self):
        """Slots that are no weights get a gradient too; what is not touched has none."""
        values = np.zeros(len(self.real))
        runs, n_runs, width, slots, n_slots = self.touched
        for a in runs[:n_runs]:
            values[a : a + width] = self.rng.normal(size=width)
        values[slots[:n_slots]] = self.rng.normal(size=n_slots)
        return values


@st.composite
def cases(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    width, n_rows, n_single = draw(st.integers(1, 6)), draw(st.integers(1, 4)), draw(st.integers(1, 6))
    real = np.ones(n_rows * width + n_single, dtype=np.uint8)
    real[: n_rows * width] = rng.random(n_rows * width) < 0.7
    runs = (np.flatnonzero(rng.random(n_rows) < 0.6) * width).astype(CODE)
    slots = (n_rows * width + np.flatnonzero(rng.random(n_single) < 0.6)).astype(CODE)
    at = np.concatenate([slots, *(np.arange(a, a + width) for a in runs)]).astype(int)
    spare = np.array([0], dtype=CODE)  # buffers are longer than what they hold
    touched = (np.append(runs, spare), len(runs), width, np.append(slots, spare), len(slots))
    return Case(touched, at[real[at] == 1], real, rng)


def check(actual, expected):
    np.testing.assert_allclose(actual, expected, rtol=1e-12, atol=1e-12)


@given(cases())
def test_descend_averaged(case):
    x, total, grad = case.vector(), case.vector(), case.gradient
    expected = reference.descend_averaged(case.at, x, grad, 0.3, total, 5.0)
    updates.descend_averaged(*case.touched, case.real, x, grad, 0.3, total, 5.0)
    check(x, expected[0])
    check(total, expected[1])
    assert not grad.any()


@given(cases())
def test_squared_length(case):
    grad, variance = case.gradient, np.where(case.real, case.vector(positive=True), 0.0)
    for scale in (case.real, variance):
        expected = reference.squared_length(case.at, scale, grad)
        check(updates.squared_length(*case.touched, scale, grad), expected)


@given(cases())
def test_adapt(case):
    x, grad, variance = case.vector(), case.gradient, np.where(case.real, case.vector(positive=True), 0.0)
    expected = reference.adapt(case.at, x, grad, variance, 0.3, 2.0)
    updates.adapt(*case.touched, x, grad, variance, 0.3, 2.0)
    check(x, expected[0])
    check(variance, expected[1])
    assert not grad.any()


@given(cases())
def test_settle(case):
    x, pull, square = case.vector(), case.vector(), case.vector(positive=True)
    expected = reference.settle(case.at, x, pull, square, 2.0, 0.7)
    updates.settle(*case.touched, x, pull, square, 2.0, 0.7)
    check(x, expected)


@given(cases())
def test_adagrad(case):
    x, pull, square, grad = case.vector(), case.vector(), case.vector(positive=True), case.gradient
    expected = reference.adagrad(case.at, x, grad, pull, square, 2.0)
    updates.adagrad(*case.touched, case.real, x, grad, pull, square, 2.0)
    check(pull, expected[0])
    check(square, expected[1])
    assert not grad.any()


@given(cases())
def test_adam(case):
    x, mean, square, grad = case.vector(), case.vector(), np.abs(case.vector()), case.gradient
    last = case.rng.integers(0, 6, size=len(x)).astype(CODE)
    expected = reference.adam(case.at, x, grad, mean, square, 7 - last, 0.2, 0.9, 0.99, 0.1)
    unmoved = np.setdiff1d(np.arange(len(x)), case.at)
    before = last.copy()
    updates.adam(*case.touched, case.real, x, grad, mean, square, last, 7, 0.2, 0.9, 0.99, 0.1)
    for actual, wanted in zip((x, mean, square), expected):
        check(actual, wanted)
    assert (last[case.at] == 7).all()
    real = unmoved[case.real[unmoved] == 1]
    np.testing.assert_array_equal(last[real], before[real])
    assert not grad.any()


@given(cases(), st.sampled_from([1.3, 2.0, np.inf]))
def test_meta_descend(case, most):
    x, v, gain, grad = case.vector(), case.vector(), case.vector(positive=True), case.gradient
    product = 0.5 * grad
    last = case.rng.integers(0, 6, size=len(x)).astype(CODE)
    numbers = (0.8, 0.4, 0.9, most, 0.1)  # cooled, meta gain, decay, the most growth, penalty
    expected = reference.meta_descend(case.at, x, grad, product, v, gain, 7 - last, *numbers)
    updates.meta_descend(*case.touched, case.real, x, grad, product, v, gain, last, 7, *numbers)
    for actual, wanted in zip((x, v), expected):
        check(actual, wanted)
    real = case.real == 1
    check(gain[real], expected[2][real])
    assert (last[case.at] == 7).all()
    assert not grad.any()
    assert not product.any()
