"""Messages in the log domain against their twin: plain and tree-reweighted."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from hedgerow.lattice.kernels import log_messages as kernels
from tests.examples import examples
from tests.reference import lattice as reference

from .lattice_cases import cases


def propagate(case, where, old, new, awake, way, quiet, damping, maximise):
    top, K = case.top, case.nodes.shape[1]
    graph = case.nodes, case.edges, case.rho, top.ends, top.ptr, top.out, top.order
    return kernels.propagate(*graph, *where, old, new, awake, way, quiet, damping, maximise, *np.empty((2, K)))


@examples(80)
@given(cases(), st.booleans(), st.booleans(), st.booleans(), st.sampled_from([0.0, 0.4]))
def test_a_sweep(case, back, news, maximise, damping):
    where, sends = case.visits(back=back)
    awake = case.awake() if news else np.empty((2, 0), dtype=np.uint8)
    own, twin, told, quiet = case.messages.copy(), case.messages.copy(), awake.copy(), 0.2
    change = propagate(case, where, own, own, awake, int(back), quiet, damping, maximise)
    options = {"maximise": maximise, "damping": damping}
    expected = reference.sweep(*case.graph, case.rho, twin, twin, sends, told, int(back), quiet, **options)
    assert change == pytest.approx(expected, abs=1e-12)
    np.testing.assert_allclose(own, twin, atol=1e-11)
    np.testing.assert_array_equal(awake, told)


@examples(60)
@given(cases(), st.booleans(), st.sampled_from([0.0, 0.4]), st.integers(0, 12))
def test_the_most_urgent_message_comes_first(case, maximise, damping, n_updates):
    top, tol = case.top, 0.05
    messages, options = case.messages.copy(), {"maximise": maximise, "damping": damping}

    def due(half):
        return reference.message(*case.graph, case.rho, messages, half, **options)

    def distance(half):
        return float(np.abs(np.exp(pending[half]) - np.exp(messages[half])).max())

    n = len(messages)
    assume(n > 0)  # else no message is the most urgent one
    pending = np.array([due(half) for half in range(n)]).reshape(messages.shape)
    urgency = np.array([distance(half) for half in range(n)])
    heap = np.argsort(-urgency, kind="stable")
    place = np.empty_like(heap)
    place[heap] = np.arange(n)
    own = messages.copy(), pending.copy(), urgency.copy(), heap, place
    for _ in range(n_updates):
        half = int(urgency.argmax())
        if urgency[half] <= tol:
            break
        messages[half] = pending[half]
        urgency[half] = 0.0
        target = int(top.ends[half // 2, 1 - half % 2])
        for other in top.out[top.ptr[target] : top.ptr[target + 1]].tolist():
            if other != half ^ 1 or case.rho[other // 2] != 1.0:
                pending[other] = due(other)
                urgency[other] = distance(other)
    graph = case.nodes, case.edges, case.rho, top.ends, top.ptr, top.out
    left = kernels.relax(*graph, *own, np.empty(case.nodes.shape[1]), damping, maximise, n_updates, tol)
    assert left == pytest.approx(urgency.max(), abs=1e-12)
    np.testing.assert_allclose(own[0], messages, atol=1e-11)
    np.testing.assert_allclose(own[1], pending, atol=1e-11)
    np.testing.assert_allclose(own[2], urgency, atol=1e-12)
    np.testing.assert_array_equal(heap[place], np.arange(n))
    for a in range(1, n):
        assert own[2][heap[(a - 1) // 2]] >= own[2][heap[a]]


@examples(60)
@given(cases())
def test_beliefs(case):
    top, (n, K), M = case.top, case.nodes.shape, case.top.n_edges
    nodes, edges = np.empty((n, K)), np.empty((M, K, K))
    cut = n // 2
    node_total = sum(
        kernels.node_beliefs(case.nodes, case.rho, top.ptr, top.out, case.messages, nodes, np.empty(K), begin, end)
        for begin, end in ((0, cut), (cut, n))
    )
    rest = case.rho, top.ends, case.messages, nodes
    edge_total = kernels.edge_beliefs(case.edges, *rest, edges, 0, M)
    twin = reference.beliefs(*case.graph, case.rho, case.messages)
    np.testing.assert_allclose(nodes, twin.node_probs, atol=1e-12)
    np.testing.assert_allclose(edges, twin.edge_probs, atol=1e-12)
    assert node_total == pytest.approx(twin.node_total, abs=1e-10)
    assert edge_total == pytest.approx(twin.edge_total, abs=1e-10)
