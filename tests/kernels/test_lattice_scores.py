"""Features to scores and back against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from hedgerow.lattice.kernels import scores


@pytest.mark.parametrize("shape", [(0, 2, 1, 1), (5, 1, 3, 2), (7, 3, 2, 4)])
def test_rows_times_the_table_of_their_group(rng, shape):
    n, n_groups, F, P = shape
    rows, tables = rng.normal(size=(n, F)), rng.normal(size=(n_groups, F, P))
    group = rng.integers(n_groups, size=n).astype(np.int32)
    result = np.full((n, P), np.nan)
    scores.times(rows, tables, group, result)
    np.testing.assert_allclose(result, np.einsum("rf,rfp->rp", rows, tables[group]), atol=1e-12)
    before = rng.normal(size=tables.shape)
    gradient, after = rng.normal(size=(n, P)), before.copy()
    scores.pull(rows, gradient, group, after)
    np.add.at(before, group, rows[:, :, None] * gradient[:, None])
    np.testing.assert_allclose(after, before, atol=1e-12)
