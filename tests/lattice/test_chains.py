"""Covers of graphs by chains, and tree-reweighted messages on them, whose bound never rises."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.lattice.graphs import Topology, grid_topology
from hedgerow.lattice.inference.infer import AGREE, CHECK, Inference
from hedgerow.lattice.inference.passing import ExpPassing, LogPassing, make_passing
from hedgerow.lattice.scores import Potentials
from tests.reference import lattice as reference

from .made import drawn_potentials, full_edges, grid_potentials, parts, random_potentials


def ranks(topology):
    rank = np.empty(topology.n_nodes, dtype=int)
    rank[topology.order] = np.arange(topology.n_nodes)
    return rank


def on_circles(topology):
    """The edges that are left when nodes with one edge are taken away, one at a time."""
    left = list(range(topology.n_edges))
    while True:
        degree = np.bincount(topology.ends[left].ravel(), minlength=topology.n_nodes)
        ends = [e for e in left if (degree[topology.ends[e]] == 1).any()]
        if not ends:
            return np.array(left, dtype=int)
        left.remove(ends[0])


@given(st.integers(0, 2**31), st.integers(2, 12), st.sampled_from([0.2, 0.4, 1.0]))
@settings(max_examples=80)
def test_chains_hold_no_node_with_more_than_one(seed, n_nodes, share):
    topology = random_potentials(np.random.default_rng(seed), n_nodes, 2, share=share).topology
    laid_out, weights = topology.chains
    rank = ranks(laid_out)
    assert sorted(laid_out.order.tolist()) == list(range(n_nodes))
    assert (weights > 0.0).all()
    inside = on_circles(topology)
    before, after = np.sort(rank[topology.ends[inside]], axis=1).T
    for side in (before, after):
        assert np.bincount(side, weights[inside], n_nodes).max() <= 1.0 + 1e-12
    others = np.setdiff1d(np.arange(topology.n_edges), inside)
    np.testing.assert_array_equal(weights[others], 1.0)
    # A tree comes after what it hangs on, and what hangs on it later still.
    hanging = np.setdiff1d(np.arange(n_nodes), topology.ends[inside])
    if len(inside):
        for i in hanging:
            assert (rank[laid_out.ends[(laid_out.ends == i).any(axis=1)]] < rank[i]).sum() <= 1
    assert weights.sum() <= n_nodes - topology.n_components + 1e-9


def test_a_grid_keeps_its_order_and_shuffled_nodes_get_a_better_one(rng):
    topology, _ = grid_topology((12, 15), 4)
    assert topology.chains.topology is topology
    assert topology.chains.weights.sum() > 0.9 * (topology.n_nodes - 1)
    turn = rng.permutation(topology.n_nodes)
    shuffled = Topology.of(topology.n_nodes, turn[topology.ends])
    assert shuffled.chains.topology is not shuffled
    assert shuffled.chains.weights.sum() > 0.85 * (topology.n_nodes - 1)


def test_the_chains_of_the_twin_hold_edges_with_their_weights(rng):
    topology = grid_potentials(rng, (4, 5), 2, neighbours=8).topology
    laid_out, weights = topology.chains
    chains = reference.split_into_chains(20, topology.ends, weights, ranks(laid_out))
    held, inside = np.zeros(topology.n_edges), np.zeros(20)
    for chain in chains:
        held[chain.edges] += chain.weight
        inside[chain.nodes] += chain.weight
        assert (np.diff(ranks(laid_out)[chain.nodes]) > 0).all()
    np.testing.assert_allclose(held, weights, atol=1e-9)
    np.testing.assert_allclose(inside, 1.0, atol=1e-9)


@given(drawn_potentials(acyclic=False, max_nodes=6, scales=(0.3, 1.0, 4.0)))
@settings(max_examples=30)
def test_a_sweep_makes_chains_agree_node_by_node(potentials):
    """From any messages at all: back, and then forth, as the twin does on the chains themselves."""
    top, weights = potentials.topology.chains
    inside = on_circles(top)
    if len(inside) < top.n_edges or not len(inside):
        return
    rng = np.random.default_rng(0)
    rank = ranks(top)
    passing = make_passing(potentials, reweighted=True)
    passing.put_logs(-rng.random(passing.messages.shape))
    passing.sweep(0.0, False)
    # The scores of all chains, by the messages at hand: what they say is moved from edges to nodes.
    logs = passing.logs()
    nodes, edges = potentials.node_scores.copy(), full_edges(potentials) / weights[:, None, None]
    for e, (i, j) in enumerate(top.ends):
        nodes[i] += weights[e] * logs[2 * e + 1]
        nodes[j] += weights[e] * logs[2 * e]
        edges[e] -= logs[2 * e + 1][:, None] + logs[2 * e]
    chains = reference.split_into_chains(top.n_nodes, top.ends, weights, rank)
    visits = [*top.order[::-1].tolist(), *top.order.tolist()]
    bounds, probs = reference.agree_on_nodes(nodes, edges, top.ends, chains, visits)
    before = passing.beliefs()[2]
    passing.wake()
    passing.sweep(0.0, False)
    node_probs, _, bound = passing.beliefs()
    assert np.diff([before, *bounds]).max() <= 1e-9
    assert bound == pytest.approx(bounds[-1], abs=1e-8)
    np.testing.assert_allclose(node_probs[top.order], probs[top.n_nodes :], atol=1e-8)


@pytest.mark.parametrize("scale", [0.5, 1.0, 2.0])
def test_the_bound_never_rises_on_dense_graphs_and_messages_rest(rng, scale):
    """Everybody is everybody's neighbour and they pull all ways: there messages may swing for good.

    The bound is looked at after every CHECK updates; in between it is never above what it was then.
    """
    for _ in range(5):
        potentials = random_potentials(rng, 8, 2, share=1.0, scale=scale)
        exact = reference.enumerate_labelings(*parts(potentials)).log_partition
        bounds = [Inference("tree_reweighted", max_updates=n, tol=0.0)(potentials).log_partition for n in range(1, 32)]
        assert np.diff(bounds[:CHECK]).max() <= 1e-11
        for n in range(CHECK + 1, 32):
            assert bounds[n - 1] <= bounds[(n - 1) // CHECK * CHECK - 1] + 1e-11
        found = Inference("tree_reweighted")(potentials)
        assert found.converged
        assert bounds[0] >= bounds[-1] >= exact
        assert found.log_partition == pytest.approx(bounds[-1], abs=1e-2)


@pytest.mark.parametrize("n_labels", [2, 3])
def test_fast_sweeps_are_those_by_logs(rng, n_labels):
    """From any messages, with labels that are impossible, where all nodes send and where some do."""
    potentials = random_potentials(rng, 9, n_labels, share=0.6, scale=3.0)
    potentials.node_scores[2, 0] = -np.inf
    chains = potentials.topology.chains
    begin = rng.normal(size=(2 * potentials.topology.n_edges, n_labels))
    begin -= begin.max(axis=1, keepdims=True)
    fast, logs = ExpPassing(potentials, chains, np.exp(begin)), LogPassing(potentials, chains, begin)
    for quiet in (0.0, 0.3, 0.3):
        assert fast.sweep(0.0, False, quiet) == pytest.approx(logs.sweep(0.0, False, quiet), abs=1e-12)
        assert fast.awake == logs.awake
        np.testing.assert_allclose(fast.logs(), logs.logs(), atol=1e-12)
    assert fast.awake < 1.0
    for ours, theirs in zip(fast.beliefs(), logs.beliefs()):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-13)


def test_steep_scores_go_by_logs(rng):
    for scale, form in ((1.0, ExpPassing), (300.0, LogPassing)):
        potentials = grid_potentials(rng, (4, 4), 2, scale=scale)
        assert type(make_passing(potentials, reweighted=True)) is form


def test_messages_rest_where_damped_ones_do_and_say_the_same(rng):
    for scale in (0.5, 1.0):
        potentials = random_potentials(rng, 9, 3, share=0.7, scale=scale)
        damped = make_passing(potentials, reweighted=True)
        assert [damped.flood(0.7, False) for _ in range(1500)][-1] < 1e-9
        found = Inference("tree_reweighted", tol=1e-10)(potentials)
        node_probs, edge_probs, bound = damped.beliefs()
        assert found.log_partition == pytest.approx(bound, abs=1e-7)
        np.testing.assert_allclose(found.node_probs, node_probs, atol=1e-5)
        np.testing.assert_allclose(found.edge_probs, edge_probs, atol=1e-5)


def test_extrapolation_takes_a_fraction_of_the_updates(rng):
    potentials = grid_potentials(rng, (12, 12), 2, scale=2.0)
    found = Inference("tree_reweighted", tol=1e-8)(potentials)
    plain = make_passing(potentials, reweighted=True)
    n_plain = 1
    while plain.sweep(0.0, False) > 1e-8:
        n_plain += 1
    assert found.converged
    assert found.n_updates < 0.6 * n_plain
    assert found.log_partition == pytest.approx(plain.beliefs()[2], abs=1e-6)


def test_a_bound_with_trees_on_a_circle_is_that_of_the_circle(rng):
    """What hangs on a circle is summed up exactly: as scores of the node it hangs on it gives the same bound."""
    K, circle = 3, np.array([[0, 1], [1, 2], [2, 3], [3, 0]])
    tree = np.array([[1, 4], [4, 5], [4, 6]])
    nodes, tables = rng.normal(size=(7, K)), rng.normal(size=(7, K, K))
    whole = Potentials(Topology.of(7, np.concatenate([circle, tree])), nodes, tables)
    hanging = np.log(np.exp(tables[5] + nodes[5]).sum(axis=1)) + np.log(np.exp(tables[6] + nodes[6]).sum(axis=1))
    bare = nodes[:4].copy()
    bare[1] += np.log(np.exp(tables[4] + nodes[4] + hanging).sum(axis=1))
    inference = Inference("tree_reweighted", tol=1e-12)
    found = inference(whole)
    alone = inference(Potentials(Topology.of(4, circle), bare, tables[:4]))
    assert found.log_partition == pytest.approx(alone.log_partition, abs=1e-9)
    np.testing.assert_allclose(found.node_probs[:4], alone.node_probs, atol=1e-8)


def largest_of_chains(potentials, logs, weights):
    """The bound on the best score that maximised messages (2M, K) make, right after a sweep."""
    fields = potentials.node_scores.copy()
    for e, (i, j) in enumerate(potentials.topology.ends):
        fields[i] += weights[e] * logs[2 * e + 1]
        fields[j] += weights[e] * logs[2 * e]
    tops = fields.max(axis=1)
    total = tops.sum()
    for e, (i, j) in enumerate(potentials.topology.ends):
        both = full_edges(potentials)[e] / weights[e] - logs[2 * e + 1][:, None] - logs[2 * e]
        total += weights[e] * (both + (fields[i] - tops[i])[:, None] + fields[j] - tops[j]).max()
    return total


def test_maximised_messages_bound_the_best_score_ever_closer(rng):
    fell = []
    for scale in (0.5, 2.0, 5.0):
        potentials = random_potentials(rng, 8, 2, share=1.0, scale=scale)
        best = reference.enumerate_labelings(*parts(potentials)).best_score
        passing = make_passing(potentials, reweighted=True)
        bounds = []
        for _ in range(25):
            passing.wake()
            passing.sweep(0.0, True)
            bounds.append(largest_of_chains(potentials, passing.logs(), potentials.topology.chains.weights))
        assert np.diff(bounds).max() <= 1e-9
        assert bounds[-1] >= best - 1e-9
        fell.append(bounds[0] - bounds[-1])
    assert max(fell) > 0.1


@pytest.mark.parametrize("scale", [400.0, 1000.0])
def test_extrapolated_messages_stay_numbers(scale):
    """Where scores are steep an extrapolation may go far; what kernels read has the largest entry 0 all the same."""
    rng = np.random.default_rng(3)
    potentials = grid_potentials(rng, (6, 6), 5, scale=scale)
    found = Inference("tree_reweighted", max_updates=200)(potentials)
    assert np.isfinite(found.log_partition)


def test_steep_messages_that_seem_to_rest_are_found_out():
    """No change is seen of messages next to 1, and yet edges and nodes do not agree: that is no rest."""
    lost = 0
    for seed in range(12):
        potentials = grid_potentials(np.random.default_rng(seed), (6, 6), 2, scale=400.0)
        found = Inference("tree_reweighted", max_updates=200)(potentials)
        tail, _ = potentials.topology.ends.T
        gap = np.abs(found.edge_probs.sum(axis=2) - found.node_probs[tail]).max()
        assert gap <= AGREE or not found.converged
        lost += not found.converged
    assert lost > 0
