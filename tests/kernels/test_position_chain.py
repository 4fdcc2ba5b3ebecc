"""The scaled kernels of per-position edges: equal to those of shared edges where all positions agree, and the
reachability of edges that differ against its twin."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.chain.edges import PositionEdges
from hedgerow.chain.kernels import chain, position_chain, truth
from tests.examples import examples
from tests.reference import chain as reference
from tests.reference.cases import Case, cases

from . import test_chain


def run(case):
    n, K = case.node.shape
    edges, (rows, width) = PositionEdges.from_scores(case.edges), test_chain.message_rows(case)
    position_chain.forward(edges.exps, rows, 0, n)
    position_chain.backward(edges.exps, rows, 0, n)
    pairs = np.zeros((K, n, K))
    position_chain.edge_probs(rows.alpha, rows.node_exp, edges.exps, pairs, 1, n)
    return rows.alpha[:, :K], rows.scale, rows.node_probs, pairs.sum(axis=1).T, rows.underflows - (width - K)


@examples(60)
@given(case=cases(per_position=False))
def test_equal_to_shared_edges(case):
    spread = np.repeat(case.edges.T[:, None, :], len(case.node), axis=1)
    results = run(Case(case.node, spread, case.offsets, case.labels))
    for mine, shared in zip(results[:4], test_chain.run(case)[:4]):
        np.testing.assert_allclose(mine, shared, rtol=1e-9, atol=1e-250)
    np.testing.assert_array_equal(results[4], test_chain.run(case)[4])


@examples(60)
@given(case=cases(per_position=True))
def test_reachability(case):
    n, K = case.node.shape
    first = test_chain.first_flags(case.offsets)
    possible = (case.node > -np.inf).astype(np.uint8)
    reached, count = np.empty((n, K), dtype=np.uint8), np.empty(n, dtype=np.int64)
    arcs = (case.edges > -np.inf).astype(np.uint8)
    chain.reach(possible, np.ascontiguousarray(arcs.transpose(2, 1, 0)), first, reached, count, 0, n)
    expected = reference.reach(*case.arrays)
    np.testing.assert_array_equal(reached.astype(bool), expected)
    np.testing.assert_array_equal(count, expected.sum(axis=1))
    ending = np.empty((n, K), dtype=np.uint8)
    chain.reach_end(reached, arcs, first, ending, count, 0, n)
    open_nodes = np.where(expected, case.node, -np.inf)
    np.testing.assert_array_equal(ending.astype(bool), reference.backward(open_nodes, *case.arrays[1:]) > -np.inf)
    np.testing.assert_array_equal(count, ending.sum(axis=1))


@examples(40)
@given(case=cases(per_position=True), seed=st.integers(0, 99))
def test_truth(case, seed):
    """Sequences with an unknown label are passed over as a whole."""
    rng = np.random.default_rng(seed)
    labels, weights = case.labels.copy(), rng.random(len(case.labels))
    for begin, end in zip(case.offsets[:-1], case.offsets[1:]):
        if rng.random() < 0.3:
            labels[begin:end] = -1
    nodes, pairs = np.ones(case.node.shape), np.ones(case.edges.shape)
    truth.subtract(test_chain.first_flags(case.offsets), labels, weights, nodes, pairs)
    own_nodes, own_pairs = reference.truth(case.node.shape[1], case.offsets, labels)
    np.testing.assert_allclose(nodes, 1.0 - weights[:, None] * own_nodes, rtol=1e-12)
    np.testing.assert_allclose(pairs, 1.0 - weights[:, None] * own_pairs, rtol=1e-12)
