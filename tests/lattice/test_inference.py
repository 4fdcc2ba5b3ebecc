"""Inference on graphs against enumeration, the plain twin, the chain kernels, and columns of a grid."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.chain.edges import SharedEdges
from hedgerow.chain.inference import marginals
from hedgerow.chain.potentials import ChainPotentials
from hedgerow.errors import InputError
from hedgerow.lattice.graphs import Topology, grid_topology
from hedgerow.lattice.inference.infer import SCHEDULES, Inference
from hedgerow.lattice.inference.passing import STEEP, LogPassing, make_passing
from hedgerow.lattice.parameters import check_inference
from hedgerow.lattice.scores import Potentials
from tests.examples import examples
from tests.reference import lattice as reference

from .made import drawn_potentials, grid_potentials, parts, random_potentials

TIGHT = Inference(tol=1e-13, max_updates=2000)


@given(drawn_potentials(acyclic=True, scales=(0.3, 1.0, 5.0, 200.0)), st.sampled_from(["loopy", "tree_reweighted"]))
@examples(80)
def test_graphs_without_a_circle_are_exact(potentials, method):
    exact = reference.enumerate_labelings(*parts(potentials))
    found = Inference(method=method)(potentials)
    assert found.converged
    assert found.n_updates == 1
    assert found.log_partition == pytest.approx(exact.log_partition, rel=1e-10, abs=1e-10)
    np.testing.assert_allclose(found.node_probs, exact.node_probs, atol=1e-10)
    np.testing.assert_allclose(found.edge_probs, exact.edge_probs, atol=1e-10)


@pytest.mark.parametrize("n_labels", [2, 5])
def test_a_chain_given_as_a_graph_agrees_with_the_chain_kernels(rng, n_labels):
    T = 400
    nodes, table = rng.normal(size=(T, n_labels)), rng.normal(size=(n_labels, n_labels))
    chain = ChainPotentials(nodes.copy(), np.array([0, T]), SharedEdges.from_scores(table))
    want = marginals(chain)
    turn = rng.permutation(T)  # position t is node turn[t]
    scores = np.empty_like(nodes)
    scores[turn] = nodes
    graph = Topology.of(T, np.column_stack([turn[:-1], turn[1:]]))
    found = Inference()(Potentials(graph, scores, table[None]))
    assert found.log_partition == pytest.approx(float(want.log_partition[0]), rel=1e-10)
    np.testing.assert_allclose(found.node_probs[turn], want.node_probs, atol=1e-10)
    np.testing.assert_allclose(found.edge_probs.sum(axis=0), want.edge_sums, atol=1e-8)


@given(drawn_potentials(acyclic=False, max_nodes=6), st.sampled_from([0.0, 0.3]), st.booleans(), st.booleans())
@examples(60)
def test_parallel_updates_are_those_of_the_twin(potentials, damping, maximise, reweighted):
    nodes, edges, ends = parts(potentials)
    appearance = potentials.topology.chains.weights if reweighted else None
    twin = reference.propagate(nodes, edges, ends, 3, appearance=appearance, maximise=maximise, damping=damping)
    passing = make_passing(potentials, reweighted=reweighted)
    changes = [passing.flood(damping, maximise) for _ in range(3)]
    logs = passing.logs()
    for e, (i, j) in enumerate(ends.tolist()):
        np.testing.assert_allclose(logs[2 * e], twin.messages[i, j], atol=1e-9)
        np.testing.assert_allclose(logs[2 * e + 1], twin.messages[j, i], atol=1e-9)
    assert changes[-1] == pytest.approx(twin.change, abs=1e-9)


@given(
    drawn_potentials(acyclic=False, max_nodes=6, scales=(0.3, 0.6)),
    st.sampled_from([*product(["loopy"], SCHEDULES), ("tree_reweighted", "sequential")]),
)
@examples(40)
def test_all_schedules_and_the_twin_agree_at_rest(potentials, how):
    method, schedule = how
    reweighted = method == "tree_reweighted"
    nodes, edges, ends = parts(potentials)
    appearance = potentials.topology.chains.weights if reweighted else None
    twin = reference.propagate(nodes, edges, ends, 150, appearance=appearance, damping=0.1)
    value, node_probs, edge_probs = reference.bethe(nodes, edges, ends, twin, appearance)
    found = Inference(method, schedule, tol=1e-13, max_updates=3000)(potentials)
    assert found.converged
    assert found.log_partition == pytest.approx(value, abs=1e-8)
    np.testing.assert_allclose(found.node_probs, node_probs, atol=1e-8)
    np.testing.assert_allclose(found.edge_probs, edge_probs, atol=1e-8)


@given(drawn_potentials(acyclic=False, max_nodes=6, scales=(0.3, 1.0, 4.0)))
@examples(60)
def test_mean_field_bounds_log_z_from_below_and_tree_reweighting_from_above(potentials):
    exact = reference.enumerate_labelings(*parts(potentials))
    below = Inference("mean_field", tol=1e-10, max_updates=2000)(potentials)
    assert below.log_partition <= exact.log_partition + 1e-9
    for n_updates in (1, 2, 5, 1000):  # it is a bound also before it is the best one
        above = Inference("tree_reweighted", max_updates=n_updates)(potentials)
        assert above.log_partition >= exact.log_partition - 1e-9
    assert above.converged


@given(drawn_potentials(acyclic=False, max_nodes=6))
@examples(40)
def test_mean_field_is_that_of_the_twin_and_its_free_energy_rises(potentials):
    nodes, edges, ends = parts(potentials)
    energies = []
    for n_updates in (1, 2, 5):
        found = Inference("mean_field", max_updates=n_updates, tol=0.0)(potentials)
        energies.append(found.log_partition)
    assert np.diff(energies).min() >= -1e-12
    if not potentials.topology.is_acyclic:  # the order of the nodes is then their number
        start = np.exp(nodes) / np.exp(nodes).sum(axis=1, keepdims=True)
        _, probs = reference.mean_field(nodes, edges, ends, start, 1)
        forth = reference.mean_field(nodes[::-1], edges, len(nodes) - 1 - ends, probs[::-1], 1)
        found = Inference("mean_field", max_updates=1, tol=0.0)(potentials)
        assert found.log_partition == pytest.approx(forth[0], abs=1e-9)
        np.testing.assert_allclose(found.node_probs, forth[1][::-1], atol=1e-9)


def test_mean_field_is_not_held_to_a_tighter_measure_than_asked_for(rng):
    """Nothing swings in it, so nothing is damped, however long it takes."""
    for scale in (1.0, 2.0, 4.0):
        potentials = random_potentials(rng, 40, 2, share=1.0, scale=scale)
        found = Inference("mean_field", tol=1e-7)(potentials)
        before = Inference("mean_field", tol=0.0, max_updates=found.n_updates - 1)(potentials)
        last = Inference("mean_field", tol=0.0, max_updates=found.n_updates)(potentials)
        assert found.change == last.change <= 1e-7 < before.change


def test_a_narrow_grid_against_columns_and_its_own_enumeration(rng):
    H, W, K = 3, 6, 2
    potentials = grid_potentials(rng, (H, W), K, scale=0.2)
    ends = potentials.topology.ends
    down, right = np.zeros((H - 1, W, K, K)), np.zeros((H, W - 1, K, K))
    for (i, j), table in zip(ends, potentials.edge_scores):
        into = right if j == i + 1 else down
        into[i // W, i % W] = table
    log_partition, probs = reference.columns(potentials.node_scores.reshape(H, W, K), down, right)
    found = TIGHT(potentials)
    assert found.converged
    assert found.log_partition == pytest.approx(log_partition, abs=2e-3)  # an approximation, good at weak edges
    np.testing.assert_allclose(found.node_probs.reshape(H, W, K), probs, atol=5e-3)
    small = grid_potentials(rng, (3, 3), 2)
    exact = reference.enumerate_labelings(*parts(small))
    tables = {tuple(pair): table for pair, table in zip(small.topology.ends.tolist(), small.edge_scores)}
    down = np.array([[tables[3 * i + j, 3 * i + j + 3] for j in range(3)] for i in range(2)])
    right = np.array([[tables[3 * i + j, 3 * i + j + 1] for j in range(2)] for i in range(3)])
    log_partition, probs = reference.columns(small.node_scores.reshape(3, 3, 2), down, right)
    assert log_partition == pytest.approx(exact.log_partition, abs=1e-10)
    np.testing.assert_allclose(probs.reshape(9, 2), exact.node_probs, atol=1e-10)


@pytest.mark.parametrize("method", ["loopy", "tree_reweighted", "mean_field"])
def test_no_edges_is_independent_softmax(rng, method):
    nodes = rng.normal(size=(7, 3))
    potentials = Potentials(Topology.of(7, np.empty((0, 2))), nodes, np.empty((0, 3, 3)))
    found = Inference(method)(potentials)
    np.testing.assert_allclose(found.node_probs, np.exp(nodes) / np.exp(nodes).sum(axis=1, keepdims=True), atol=1e-12)
    assert found.log_partition == pytest.approx(np.log(np.exp(nodes).sum(axis=1)).sum(), abs=1e-10)


@pytest.mark.parametrize("method", ["loopy", "tree_reweighted", "mean_field"])
def test_shifting_the_scores_of_a_node_or_an_edge_moves_only_log_z(rng, method):
    potentials = random_potentials(rng, 6, 3, scale=0.3)
    nodes, edges = potentials.node_scores.copy(), potentials.edge_scores.copy()
    nodes[2] += 3.0
    edges[0] -= 1.5
    inference = Inference(method, tol=1e-12, max_updates=1000)
    one, other = inference(potentials), inference(Potentials(potentials.topology, nodes, edges))
    assert other.log_partition - one.log_partition == pytest.approx(1.5, abs=1e-8)
    np.testing.assert_allclose(one.node_probs, other.node_probs, atol=1e-9)


def test_all_zero_scores_count_labelings(rng):
    topology = random_potentials(rng, 5, 2, acyclic=True).topology
    found = Inference()(Potentials(topology, np.zeros((5, 2)), np.zeros((topology.n_edges, 2, 2))))
    assert found.log_partition == pytest.approx(5 * np.log(2.0), abs=1e-12)


def test_turning_an_edge_round_changes_nothing(rng):
    potentials = random_potentials(rng, 6, 3, scale=0.5)
    turned = Potentials(
        Topology.of(6, potentials.topology.ends[:, ::-1]),
        potentials.node_scores,
        potentials.edge_scores.transpose(0, 2, 1).copy(),
    )
    one, other = TIGHT(potentials), TIGHT(turned)
    np.testing.assert_allclose(one.node_probs, other.node_probs, atol=1e-10)
    np.testing.assert_allclose(one.edge_probs, other.edge_probs.transpose(0, 2, 1), atol=1e-10)


def test_a_star_of_many_steep_edges_goes_by_logs(rng):
    n = 400
    topology = Topology.of(n + 1, np.column_stack([np.zeros(n, int), np.arange(1, n + 1)]))
    table = np.array([[5.0, -5.0], [-5.0, 5.0]])
    nodes = np.zeros((n + 1, 2))
    nodes[1 : n // 2 + 1, 0] = 20.0
    nodes[n // 2 + 1 :, 1] = 20.0
    found = Inference()(Potentials(topology, nodes, table[None]))
    np.testing.assert_allclose(found.node_probs[0], 0.5, atol=1e-6)  # half the leaves pull each way
    assert isinstance(make_passing(Potentials(topology, nodes, table[None])), LogPassing)


@pytest.mark.parametrize("method", ["loopy", "tree_reweighted"])
@pytest.mark.parametrize("just_below", [True, False])
def test_an_edge_that_spans_twice_its_bound_stays_within_a_double(method, just_below):
    """Two nodes want what their edge likes least, by twice what a row of it spans."""
    square = Topology.of(4, np.array([[0, 1], [1, 2], [2, 3], [3, 0]]))
    weight = square.chains.weights.min() if method == "tree_reweighted" else 1.0
    s = STEEP * weight + (-0.2 if just_below else 0.2)
    edges = np.array([[[0.0, -s], [-s, -2 * s]], *[[[0.1, 0.0], [0.0, 0.1]]] * 3])
    nodes = np.array([[-800.0, 0.0], [-800.0, 0.0], [0.0, 0.0], [0.0, 0.0]])
    potentials = Potentials(square, nodes, edges)
    passing = make_passing(potentials, reweighted=method == "tree_reweighted")
    assert isinstance(passing, LogPassing) != just_below
    found = Inference(method=method)(potentials)
    assert found.converged
    np.testing.assert_allclose(found.node_probs[:2], [[0.0, 1.0]] * 2, atol=1e-12)
    np.testing.assert_allclose(found.node_probs.sum(axis=1), 1.0, rtol=1e-12)


def test_a_forbidden_label_has_no_probability(rng):
    potentials = random_potentials(rng, 6, 3)
    known = np.full(6, -1)
    known[1], known[4] = 2, 0
    restricted = potentials.restrict(known)
    for method in ("loopy", "tree_reweighted", "mean_field"):
        found = Inference(method)(restricted)
        assert np.isfinite(found.log_partition)
        np.testing.assert_allclose(found.node_probs[[1, 4]], [[0, 0, 1], [1, 0, 0]], atol=1e-12)


def test_what_does_not_come_to_rest_says_so(rng):
    potentials = grid_potentials(rng, (6, 6), 2, scale=8.0)
    found = Inference(max_updates=3)(potentials)
    assert not found.converged
    assert found.n_updates == 3
    assert found.change > 1e-6
    np.testing.assert_allclose(found.node_probs.sum(axis=1), 1.0, atol=1e-9)


def test_a_start_from_earlier_messages_takes_fewer_updates(rng):
    potentials = grid_potentials(rng, (12, 12), 2, scale=0.8)
    for method in ("loopy", "tree_reweighted", "mean_field"):
        inference = Inference(method, max_updates=1000)
        first = inference(potentials)
        again = inference(potentials, first.state)
        assert again.n_updates < first.n_updates
        np.testing.assert_allclose(again.node_probs, first.node_probs, atol=1e-4)


def test_what_does_not_go_together_is_refused():
    for method in ("mean_field", "tree_reweighted"):
        with pytest.raises(InputError, match=f"'{method}' has no message_schedule 'residual'"):
            check_inference(Inference(method, "residual"))
        with pytest.raises(InputError, match=f"'{method}' has no damping"):
            check_inference(Inference(method, damping=0.5))


def magnet(shape, coupling, fields):
    """Two labels that like to be equal: scores ±fields (H, W) of nodes, ±coupling of edges."""
    topology, _ = grid_topology(shape, 4)
    own = np.asarray(fields, dtype=float).ravel()
    table = coupling * np.array([[[1.0, -1.0], [-1.0, 1.0]]])
    return Potentials(topology, np.column_stack([-own, own]), table)


@pytest.mark.parametrize("method", ["loopy", "tree_reweighted"])
@pytest.mark.parametrize("scale", [0.3, 3.0, 200.0])
def test_sweeps_in_which_few_send_end_where_all_sending_does(rng, method, scale):
    """At rest no message changes, whoever sent last; steep scores go by logs."""
    potentials = grid_potentials(rng, (9, 7), 3, scale=scale)
    easy = Potentials(potentials.topology, 4.0 * scale * potentials.node_scores, potentials.edge_scores)
    found = Inference(method, tol=1e-8)(easy)
    assert found.converged
    passing = make_passing(easy, reweighted=method == "tree_reweighted", start=found.state)
    assert passing.flood(0.0, False) <= 1e-7


def test_a_node_without_news_sends_nothing(rng):
    potentials = grid_potentials(rng, (6, 6), 2, scale=0.5)
    passing = make_passing(potentials)
    assert passing.all_awake
    while passing.sweep(0.0, False, 1e-9) > 0.0:
        pass
    assert passing.awake == 0.0
    assert not passing.all_awake
    passing.messages[0] = [1.0, 0.5]  # nobody is told, so nobody minds
    assert passing.sweep(0.0, False, 1e-9) == 0.0
    passing.wake()
    assert passing.sweep(0.0, False, 1e-9) > 0.0


def test_messages_that_swing_are_damped_until_they_rest(rng):
    """Neighbours that like to differ, all told at once what the others are: undamped they all turn, for good."""
    potentials = magnet((8, 8), -1.0, 0.3 + 0.1 * rng.normal(size=(8, 8)))
    passing = make_passing(potentials)
    changes = [passing.flood(0.0, False) for _ in range(300)]
    found = Inference(schedule="parallel")(potentials)
    assert changes[-1] > 0.01
    assert found.converged
    passing = make_passing(potentials, start=found.state)
    assert passing.flood(0.0, False) <= 1e-5
