"""The scaled kernels of shared edges against their twins."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.chain.edges import SharedEdges
from hedgerow.chain.kernels import chain
from hedgerow.chain.workspace import padded_width
from tests.examples import examples
from tests.reference import chain as reference
from tests.reference.cases import cases, make_case


def first_flags(offsets):
    flags = np.zeros(offsets[-1] + 1, dtype=np.uint8)
    flags[offsets] = 1
    return flags


def exponentials(node, block=64):
    n, K = node.shape
    width = padded_width(K)
    scratch = np.empty((4, max(block, width)))
    node_exp, top = np.empty((n, width)), np.empty(n)
    chain.exponentials(node, node_exp, top, scratch, scratch.view(np.int64), 0, n)
    return node_exp, top


def message_rows(case):
    """The rows of a case before its forward pass, and its padded number of labels."""
    n, K = case.node.shape
    node_exp, _ = exponentials(case.node)
    width = node_exp.shape[1]
    alpha, scale, underflows = np.empty((n, width)), np.empty(n), np.empty(n, dtype=np.int32)
    first, beta, probs = first_flags(case.offsets), np.empty(width), np.empty((n, K))
    return chain.MessageRows(first, node_exp, alpha, scale, underflows, beta, probs), width


def run(case, cut=None):
    """alpha, scale, node probabilities, edge sums and counts, in two calls that meet at `cut`."""
    n, K = case.node.shape
    cut = n if cut is None else cut
    edges, (rows, width) = SharedEdges.from_scores(case.edges), message_rows(case)
    for t0, t1 in ((0, cut), (cut, n)):
        chain.forward(edges.exps_to, rows, t0, t1)
    sums = np.zeros((width, width))
    for t0, t1 in ((cut, n), (0, cut)):
        chain.backward(edges.exps, rows, t0, t1)
    for t0, t1 in ((1, max(cut, 1)), (max(cut, 1), n)):
        chain.sum_edges(rows.alpha, rows.node_exp, sums, t0, t1)
    table = sums[:K, :K] * edges.exps[:K, :K]
    return rows.alpha[:, :K], rows.scale, rows.node_probs, table, rows.underflows - (width - K)


@examples(60)
@given(
    scores=st.lists(st.floats(-800, 800) | st.just(-np.inf), min_size=1, max_size=9),
    rows=st.integers(1, 5),
    block=st.sampled_from([1, 12, 24]),
)
def test_exponentials(scores, rows, block):
    node = np.array([np.roll(scores, i) for i in range(rows)])
    node_exp, top = exponentials(node, block)
    K = node.shape[1]
    expected_top = np.where(np.isneginf(node).all(axis=1), 0.0, node.max(axis=1))
    np.testing.assert_array_equal(top, expected_top)
    shifted = node - top[:, None]
    expected = np.where(shifted < -708.0, 0.0, np.exp(shifted))
    np.testing.assert_allclose(node_exp[:, :K], expected, rtol=1e-15, atol=0)
    assert not node_exp[:, K:].any()


def test_exponentials_are_exact_to_two_units(rng):
    node = np.concatenate([[0.0], -np.abs(rng.normal(size=500)), -708 * rng.random(500)])[None, :]
    node_exp, _ = exponentials(node)
    expected = np.exp(node)
    units = np.abs(node_exp[:, : node.shape[1]] - expected) / np.spacing(expected)
    assert units.max() <= 3  # two, and one of NumPy's own


@examples(80)
@given(case=cases(per_position=False), data=st.data())
def test_messages_and_sums(case, data):
    alpha, scale, probs, sums, underflowed = run(case)
    log_alpha = reference.forward(*case.arrays)
    expected = np.exp(log_alpha - reference.log_sum(log_alpha, axis=1)[:, None])
    log_z = reference.log_partition(*case.arrays)
    clear = (np.nan_to_num(log_alpha, neginf=0.0) - np.max(log_alpha, axis=1, keepdims=True)).min() > -300
    if clear and np.abs(log_z).max() < 300:  # else a message may be faint, and the caller redoes the sequence
        np.testing.assert_allclose(alpha, expected, rtol=1e-9, atol=1e-250)
        np.testing.assert_allclose(probs, reference.node_probs(*case.arrays), rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(sums, reference.sum_edges(*case.arrays), rtol=1e-9, atol=1e-12)
        assert (scale > 0).all()
    cut = data.draw(st.integers(0, len(case.node)))
    pieces = run(case, cut)
    for whole, cut_up in zip((alpha, scale, probs, underflowed), (pieces[0], pieces[1], pieces[2], pieces[4])):
        np.testing.assert_array_equal(whole, cut_up)  # equal bits: a cut changes nothing


@pytest.mark.parametrize("n", [1, 2, 8, 9, 17, 30])
def test_edge_sums_of_every_remainder(rng, n):
    case = make_case(rng, 3, [n])
    np.testing.assert_allclose(run(case)[3], reference.sum_edges(*case.arrays), rtol=1e-11)


@examples(60)
@given(case=cases(per_position=False))
def test_small_messages_are_counted(case):
    *_, underflowed = run(case)
    reached = reference.reach(*case.arrays)
    assert (underflowed >= case.node.shape[1] - reached.sum(axis=1)).all()


@examples(60)
@given(case=cases(per_position=False))
def test_reachability(case):
    n, K = case.node.shape
    first = first_flags(case.offsets)
    arcs = (case.edges > -np.inf).astype(np.uint8)[:, None]
    reached, count = np.empty((n, K), dtype=np.uint8), np.empty(n, dtype=np.int64)
    chain.reach((case.node > -np.inf).astype(np.uint8), arcs, first, reached, count, 0, n)
    expected = reference.reach(*case.arrays)
    np.testing.assert_array_equal(reached.astype(bool), expected)
    np.testing.assert_array_equal(count, expected.sum(axis=1))
    ending = np.empty((n, K), dtype=np.uint8)
    chain.reach_end(reached, np.ascontiguousarray(arcs.transpose(2, 1, 0)), first, ending, count, 0, n)
    open_nodes = np.where(expected, case.node, -np.inf)
    np.testing.assert_array_equal(ending.astype(bool), reference.backward(open_nodes, *case.arrays[1:]) > -np.inf)
    np.testing.assert_array_equal(count, ending.sum(axis=1))
