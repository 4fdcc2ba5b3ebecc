"""Mean field against its twin."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.lattice.kernels import mean_field
from tests.examples import examples
from tests.reference import lattice as reference

from .lattice_cases import cases


@examples(60)
@given(cases(), st.booleans())
def test_nodes_one_after_another(case, back):
    top, (n, K) = case.top, case.nodes.shape
    probs = case.rng.dirichlet(np.ones(K), size=n)
    order = np.arange(n, dtype=np.int32)  # as the twin goes
    if back:
        order = order[::-1].copy()
    begin, end, step = (n - 1, -1, -1) if back else (0, n, 1)
    free_energy, expected = reference.mean_field(*case.graph, probs, 1)
    own = probs.copy()
    graph = case.nodes, case.edges, top.ends, top.ptr, top.out, order
    change = mean_field.settle(*graph, begin, end, step, own, np.empty(K))
    np.testing.assert_allclose(own, expected, atol=1e-12)
    assert change == pytest.approx(np.abs(expected - probs).max(), abs=1e-12)
    found = mean_field.free_energy(case.nodes, case.edges, top.ends, own)
    assert found == pytest.approx(free_energy, abs=1e-10)


def test_what_is_impossible_has_no_entropy():
    nodes, edges = np.array([[0.5, -1.0]]), np.zeros((1, 2, 2))
    found = mean_field.free_energy(nodes, edges, np.empty((0, 2), dtype=np.int32), np.array([[1.0, 0.0]]))
    assert found == 0.5
