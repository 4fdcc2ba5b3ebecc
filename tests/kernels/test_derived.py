"""The kernel of derived columns against its twin, to the bit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.data.derived import FUNCTIONS
from hedgerow.data.kernels import derived
from tests.reference import derived as reference

numbers = st.floats(-1e3, 1e3) | st.just(np.nan) | st.sampled_from([1e308, -1e308, 0.1])
sequences = st.lists(st.lists(numbers, min_size=1, max_size=12), min_size=1, max_size=4)
names = st.sampled_from(sorted(FUNCTIONS))


def derive(name: str, X: list[list[float]], span: int, gap: int) -> list[np.ndarray]:
    """The kernel on sequences with gaps between them, which hold numbers that nobody may read."""
    lengths = np.array([len(x) for x in X])
    start = gap + np.cumsum(lengths + gap) - lengths - gap
    x, out = np.full(int(start[-1] + lengths[-1]) + gap, 1e6), np.full(int(start[-1] + lengths[-1]) + gap, 7.0)
    for begin, values in zip(start, X):
        x[begin : begin + len(values)] = values
    with np.errstate(over="ignore", invalid="ignore"):  # where kernels are plain Python
        derived.derive(x, start, lengths, getattr(derived, FUNCTIONS[name].code), span, out)
    places = [np.arange(begin, begin + n) for begin, n in zip(start, lengths)]
    assert (np.delete(out, np.concatenate(places)) == 7.0).all()
    return [out[own] for own in places]


@given(names, sequences, st.integers(1, 15), st.integers(0, 2))
def test_it_is_its_twin(name, X, span, gap):
    for values, x in zip(derive(name, X, span, gap), X):
        np.testing.assert_array_equal(values, reference.derive(name, x, span))


@given(names, st.lists(numbers, min_size=2, max_size=15), st.integers(1, 5), st.data())
def test_bits_depend_on_the_span_alone(name, x, span, data):
    cut = data.draw(st.integers(0, len(x) - 1))
    whole, rest = derive(name, [x], span, 0)[0], derive(name, [x[cut:]], span, 1)[0]
    np.testing.assert_array_equal(whole[cut + span :], rest[span:])


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name.startswith("rolling")])
def test_pandas_says_the_same(name):
    pandas = pytest.importorskip("pandas")
    x = np.random.default_rng(0).normal(size=200)
    x[::7] = np.nan
    x[50:60] = np.nan
    rolling = pandas.Series(x).rolling(6, min_periods=1)
    method = getattr(rolling, name.removeprefix("rolling_"))
    expected = method(ddof=0) if name == "rolling_std" else method()
    np.testing.assert_allclose(derive(name, [x.tolist()], 6, 0)[0], expected, rtol=1e-9, atol=1e-9)
