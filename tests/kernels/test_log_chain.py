"""The log-domain kernels against their twins, at any scale and in pieces."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.chain.kernels import log_chain
from tests.examples import examples
from tests.reference import chain as reference
from tests.reference.cases import cases

from .test_chain import first_flags

CLOSE = {"rtol": 1e-11, "atol": 1e-11}


@examples(80)
@given(case=cases(), data=st.data())
def test_messages_and_edges(case, data):
    n, K = case.node.shape
    edges = case.potentials().edges.scores_to
    first = first_flags(case.offsets)
    cut = data.draw(st.integers(0, n))
    log_alpha, log_beta = np.empty((n, K)), np.empty((n, K))
    tops, tops_back = np.empty(n), np.empty(n)
    for t0, t1 in ((0, cut), (cut, n)):
        log_chain.forward(case.node, edges, first, log_alpha, tops, t0, t1)
    for t0, t1 in ((cut, n), (0, cut)):
        log_chain.backward(case.node, edges, first, log_beta, tops_back, t0, t1)
    for begin, end in reference.sequences(case.offsets):
        rows = slice(begin, end)
        np.testing.assert_allclose(
            log_alpha[rows] + np.cumsum(tops[rows])[:, None], reference.forward(*case.arrays)[rows], **CLOSE
        )
        np.testing.assert_allclose(
            log_beta[rows] + np.cumsum(tops_back[rows][::-1])[::-1, None],
            reference.backward(*case.arrays)[rows],
            **CLOSE,
        )
    assert (log_alpha.max(axis=1) == 0.0).all()
    probs = np.zeros(edges.shape)
    log_chain.edge_probs(case.node, edges, first, log_alpha, tops, log_beta, probs, 0, n)
    expected = reference.edge_probs(*case.arrays)
    expected = expected if case.edges.ndim == 3 else expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(probs, expected, rtol=1e-9, atol=1e-10)
