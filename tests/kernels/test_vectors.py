"""Vector kernels against NumPy, in double and in the single precision of L-BFGS's memory."""

from __future__ import annotations

import numpy as np
import pytest

from hedgerow.training.kernels import vectors
from tests.reference import vectors as reference


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("size", [0, 1, 7, 1000])
def test_dot_and_add_scaled(dtype, size):
    rng = np.random.default_rng(size)
    x, y = rng.normal(size=size).astype(dtype), rng.normal(size=size)
    assert vectors.dot(x, y) == pytest.approx(reference.dot(x, y), rel=1e-12, abs=1e-12)
    expected = reference.add_scaled(x, -2.5, y)
    vectors.add_scaled(x, -2.5, y)
    np.testing.assert_allclose(y, expected, rtol=1e-12)
