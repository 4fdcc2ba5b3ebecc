"""The twin over arcs against the dense twin."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings

from tests.reference import arcs, chain

from .cases import cases


@settings(max_examples=40)
@given(case=cases(per_position=False))
def test_arcs_equal_the_table(case):
    arc_from, arc_to = np.nonzero(case.edges > -np.inf)
    lists = case.node, arc_from, arc_to, case.edges[arc_from, arc_to], case.offsets
    close = {"rtol": 1e-10, "atol": 1e-10}
    np.testing.assert_allclose(arcs.forward(*lists), chain.forward(*case.arrays), **close)
    np.testing.assert_allclose(arcs.backward(*lists), chain.backward(*case.arrays), **close)
    np.testing.assert_allclose(arcs.sum_edges(*lists), chain.sum_edges(*case.arrays)[arc_from, arc_to], **close)
