"""Messages on exponentials against their twin, plain and tree-reweighted, one visit of the nodes at a time."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.lattice.kernels import messages as kernels
from tests.examples import examples
from tests.reference import lattice as reference

from .lattice_cases import cases


def exps(scores, axis):
    return np.exp(scores - scores.max(axis=axis, keepdims=True))


def tables_of(case):
    """The tables of all edges, or one, and rho, likewise."""
    if len(case.rho) and case.rho.min() < case.rho.max():
        tops = case.each.max(axis=(1, 2), keepdims=True)
        return np.exp((case.each - tops) / case.rho[:, None, None]), case.rho
    rho = case.rho[:1] if len(case.rho) else np.ones(1)
    return exps(case.edges / rho, (1, 2)), rho


def propagate(case, where, old, new, awake, way, quiet, damping, maximise, *, two=False):
    top, K = case.top, case.nodes.shape[1]
    graph = exps(case.nodes, 1), *tables_of(case), top.ends, top.ptr, top.out, top.order
    given = *graph, *where, old, new, awake, way, quiet, damping, maximise
    return kernels.propagate_two(*given) if two else kernels.propagate(*given, np.empty(K), np.empty(K))


def check_sweep(case, *, back, news, maximise, damping, two=False):
    """Every message counts at once; nodes without news send nothing."""
    where, sends = case.visits(back=back)
    awake = case.awake() if news else np.empty((2, 0), dtype=np.uint8)
    own, twin, told, quiet = np.exp(case.messages), case.messages.copy(), awake.copy(), 0.2
    change = propagate(case, where, own, own, awake, int(back), quiet, damping, maximise, two=two)
    options = {"maximise": maximise, "damping": damping}
    expected = reference.sweep(*case.graph, case.rho, twin, twin, sends, told, int(back), quiet, **options)
    assert change == pytest.approx(expected, abs=1e-12)
    np.testing.assert_allclose(np.log(own), twin, atol=1e-11)
    np.testing.assert_array_equal(awake, told)


@examples(60)
@given(cases(), st.booleans(), st.booleans(), st.booleans(), st.sampled_from([0.0, 0.4]))
def test_a_sweep(case, back, news, maximise, damping):
    check_sweep(case, back=back, news=news, maximise=maximise, damping=damping)


@examples(60)
@given(cases(n_labels=2), st.booleans(), st.booleans(), st.booleans(), st.sampled_from([0.0, 0.4]))
def test_a_sweep_of_two_labels(case, back, news, maximise, damping):
    check_sweep(case, back=back, news=news, maximise=maximise, damping=damping, two=True)


@examples(30)
@given(cases(n_labels=2), st.booleans())
def test_all_messages_from_old_ones(case, two):
    top = case.top
    where = top.ptr[:-1], top.ptr[1:], 0, top.n_nodes, 1
    old, new, awake = np.exp(case.messages), np.empty_like(case.messages), np.empty((2, 0), dtype=np.uint8)
    propagate(case, where, old, new, awake, 0, 0.0, 0.0, False, two=two)
    np.testing.assert_array_equal(old, np.exp(case.messages))
    for half, found in enumerate(new):
        twin = reference.message(*case.graph, case.rho, case.messages, half)
        np.testing.assert_allclose(np.log(found), twin, atol=1e-11)


@examples(40)
@given(cases())
def test_beliefs(case):
    top, (n, K), M = case.top, case.nodes.shape, case.top.n_edges
    node_exp, (edge_exp, rho), messages = exps(case.nodes, 1), tables_of(case), np.exp(case.messages)
    nodes, edges = np.empty((n, K)), np.empty((M, K, K))
    cut = n // 2
    halves = ((0, cut), (cut, n))
    node_total = sum(
        kernels.node_beliefs(node_exp, rho, top.ptr, top.out, messages, nodes, np.empty(K), begin, end)
        for begin, end in halves
    )
    edge_total = kernels.edge_beliefs(edge_exp, rho, top.ends, messages, nodes, edges, 0, M)
    twin = reference.beliefs(*case.graph, case.rho, case.messages)
    np.testing.assert_allclose(nodes, twin.node_probs, atol=1e-12)
    np.testing.assert_allclose(edges, twin.edge_probs, atol=1e-12)
    assert node_total == pytest.approx(twin.node_total - case.nodes.max(axis=1).sum(), abs=1e-10)
    assert edge_total == pytest.approx(twin.edge_total - case.each.max(axis=(1, 2)).sum(), abs=1e-10)


@examples(40)
@given(cases())
def test_steepness(case):
    top = case.top
    bounds = np.maximum(np.ptp(case.each, axis=1).max(axis=1), np.ptp(case.each, axis=2).max(axis=1))
    sums = np.bincount(top.ends.ravel(), weights=np.repeat(bounds, 2), minlength=top.n_nodes)
    found = kernels.steepness(case.edges, top.ptr, top.out, np.empty(len(case.edges)))
    assert found == pytest.approx(sums.max(), abs=1e-12)
