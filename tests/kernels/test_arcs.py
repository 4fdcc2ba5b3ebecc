"""The kernels over lists of arcs against those of dense tables and against the twin over arcs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from hedgerow.chain.edges import SharedEdges
from hedgerow.chain.kernels import arcs
from tests.examples import examples
from tests.reference import arcs as reference
from tests.reference.cases import cases, make_case

from . import test_chain


def run(case):
    n, K = case.node.shape
    edges = SharedEdges.from_scores(case.edges, sparse=True)
    lists, (rows, width) = edges.arcs, test_chain.message_rows(case)
    arcs.forward(tuple(lists.into), rows, 0, n)
    arcs.backward(tuple(lists.out), rows, 0, n)
    sums = np.zeros(len(lists.out.ends))
    arcs.sum_edges(rows.alpha, rows.node_exp, lists.out.ptr, lists.out.ends, sums, 1, n)
    table = np.zeros((K, K))
    table[np.repeat(np.arange(K), np.diff(lists.out.ptr)), lists.out.ends] = sums * lists.out.exps
    return rows.alpha[:, :K], rows.scale, rows.node_probs, table, rows.underflows - (width - K)


@examples(80)
@given(case=cases(per_position=False))
def test_equal_to_the_dense_kernels(case):
    results, dense = run(case), test_chain.run(case)
    for mine, other in zip(results[:4], dense[:4]):
        np.testing.assert_allclose(mine, other, rtol=1e-9, atol=1e-250)
    np.testing.assert_array_equal(results[4], dense[4])


@pytest.mark.parametrize("lengths", [[1], [2, 7], [5, 1, 4]])
def test_equal_to_the_twin(rng, lengths):
    case = make_case(rng, 6, lengths, forbidden=0.7)
    arc_from, arc_to = np.nonzero(case.edges > -np.inf)
    lists = case.node, arc_from, arc_to, case.edges[arc_from, arc_to], case.offsets
    alpha, _, probs, table, _ = run(case)
    log_alpha, log_beta = reference.forward(*lists), reference.backward(*lists)
    expected = np.exp(log_alpha - np.logaddexp.reduce(log_alpha, axis=1)[:, None])
    np.testing.assert_allclose(alpha, expected, rtol=1e-10)
    both = log_alpha + log_beta
    np.testing.assert_allclose(probs, np.exp(both - np.logaddexp.reduce(both, axis=1)[:, None]), rtol=1e-10)
    np.testing.assert_allclose(table[arc_from, arc_to], reference.sum_edges(*lists), rtol=1e-10, atol=1e-300)
