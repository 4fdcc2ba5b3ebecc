"""Marginals and log partition: against the twin, by laws, and where scaled sums fail."""

from __future__ import annotations

import os
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.chain import workspace as buffers
from hedgerow.chain.edges import PositionEdges, SharedEdges, chain_from_scores, tables
from hedgerow.chain.inference import Workspace, log_partition, marginals, node_marginals
from hedgerow.chain.potentials import ChainPotentials
from hedgerow.errors import InputError
from tests.examples import examples
from tests.reference import chain as reference
from tests.reference.cases import cases, make_case

CLOSE = {"rtol": 1e-9, "atol": 1e-9}
compiled = pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="too long as plain Python")


def check(case, potentials):
    result = marginals(potentials)
    log_z = reference.log_partition(*case.arrays)
    np.testing.assert_allclose(result.log_partition, log_z, rtol=1e-12, atol=1e-10)
    np.testing.assert_allclose(log_partition(potentials), log_z, rtol=1e-12, atol=1e-10)
    np.testing.assert_allclose(result.node_probs, reference.node_probs(*case.arrays), **CLOSE)
    np.testing.assert_array_equal(node_marginals(potentials), result.node_probs)
    if case.edges.ndim == 2:
        np.testing.assert_allclose(result.edge_sums, reference.sum_edges(*case.arrays), **CLOSE)
    else:
        np.testing.assert_allclose(result.edge_probs, reference.edge_probs(*case.arrays), **CLOSE)


@examples(150)
@given(case=cases())
def test_equal_to_the_twin(case):
    check(case, case.potentials())


@examples(80)
@given(case=cases(per_position=False))
def test_lists_of_arcs_equal_the_twin(case):
    edges = SharedEdges.from_scores(case.edges, sparse=True)
    check(case, ChainPotentials(case.node, case.offsets.astype(np.int64), edges))


@pytest.mark.parametrize("form", [SharedEdges, PositionEdges])
def test_nodes_alone_cost_no_pass_over_the_edges(rng, form, monkeypatch):
    potentials = make_case(rng, 3, [4, 2], per_position=form is PositionEdges).potentials()
    expected = marginals(potentials).node_probs
    monkeypatch.setattr(form, "sum_edges", None)  # whoever calls it fails
    np.testing.assert_array_equal(node_marginals(potentials), expected)
    with pytest.raises(TypeError):
        marginals(potentials)


@examples(60)
@given(case=cases(per_position=False), score=st.floats(-5, 5))
def test_even_edges_equal_the_chain(case, score):
    """Where all arcs score the same, no pass is made over them; what there is afterwards must be the same."""
    even = SharedEdges.from_scores(np.full_like(case.edges, score))
    assert even.even
    offsets = case.offsets.astype(np.int64)
    fast, slow = (ChainPotentials(case.node, offsets, edges) for edges in (even, replace(even, even=False)))
    np.testing.assert_allclose(log_partition(fast), log_partition(slow), rtol=1e-12, atol=1e-12)
    mine, theirs = (chain.edges.messages(chain, None) for chain in (fast, slow))
    np.testing.assert_allclose(mine.log_partition, theirs.log_partition, rtol=1e-12, atol=1e-12)
    for name in ("node_probs", "alpha", "node_exp"):
        np.testing.assert_allclose(getattr(mine.work, name), getattr(theirs.work, name), rtol=1e-12, atol=1e-250)
    np.testing.assert_allclose(marginals(fast).edges, marginals(slow).edges, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(node_marginals(fast), marginals(fast).node_probs)


def test_edges_are_even_where_no_arc_differs():
    assert SharedEdges.from_scores(np.zeros((3, 3))).even
    assert not SharedEdges.from_scores([[0.0, 0.0], [0.0, 1e-9]]).even
    assert not SharedEdges.from_scores([[0.0, 0.0], [0.0, -np.inf]]).even
    assert not SharedEdges.from_scores(np.full((2, 2), -np.inf)).even


def test_even_edges_refuse_what_has_no_label():
    potentials = chain_from_scores([[0.0, 1.0], [-np.inf, -np.inf]], np.zeros((2, 2)))
    with pytest.raises(InputError, match="no legal labeling"):
        marginals(potentials)


@examples(40)
@given(first=cases(), second=cases())
def test_a_workspace_changes_nothing(first, second):
    work = Workspace()
    for case in (first, second, first):
        kept, fresh = marginals(case.potentials(), work), marginals(case.potentials())
        np.testing.assert_array_equal(kept.log_partition, fresh.log_partition)
        np.testing.assert_array_equal(kept.node_probs, fresh.node_probs)
        np.testing.assert_array_equal(kept.edges, fresh.edges)
        np.testing.assert_array_equal(node_marginals(case.potentials(), work), fresh.node_probs)


def test_two_labels_that_never_mix():
    """A hundred steps of +10 for one label, then a hundred of +11 for the other: the second one wins in the end, long
    after its scaled message has become 0."""
    node = np.zeros((200, 2))
    node[:100, 0] = 10.0
    node[100:, 1] = 11.0
    apart = np.where(np.eye(2, dtype=bool), 0.0, -np.inf)
    for sparse in (False, True):
        edges = SharedEdges.from_scores(apart, sparse=sparse)
        result = marginals(ChainPotentials(node, np.array([0, 200]), edges))
        np.testing.assert_allclose(result.log_partition, [np.logaddexp(1000.0, 1100.0)], rtol=1e-14)
        np.testing.assert_allclose(result.node_probs[:, 0], np.exp(-100.0), rtol=1e-10)
        np.testing.assert_allclose(np.diag(result.edge_sums), 199 * result.node_probs[0], rtol=1e-10)


def test_an_arc_that_no_sequence_uses_does_not_hide_the_others():
    """The largest edge score is out of reach: the exponentials of the others are then 0, or have few digits."""
    edges = np.array([[0.0, -5.0, -np.inf], [-10.0, -9.0, -np.inf], [1000.0, 1000.0, 1000.0]])
    for distance in (700.0, 1000.0):
        edges[2] = distance
        node = np.zeros((5, 3))
        node[:, 2] = -np.inf
        case = node, edges, np.array([0, 5])
        result = marginals(chain_from_scores(*case))
        np.testing.assert_allclose(result.log_partition, reference.log_partition(*case), rtol=1e-13)
        np.testing.assert_allclose(result.edge_sums, reference.sum_edges(*case), **CLOSE)


def test_only_the_sequences_that_underflow_are_redone(rng):
    case = make_case(rng, 3, [4, 30, 5])
    node = case.node.copy()
    node[10, 1] = -2000.0  # possible, and its exponential is 0
    arrays = node, case.edges, case.offsets
    result = marginals(chain_from_scores(*arrays))
    np.testing.assert_allclose(result.log_partition, reference.log_partition(*arrays), rtol=1e-12)
    np.testing.assert_allclose(result.node_probs, reference.node_probs(*arrays), **CLOSE)
    np.testing.assert_array_equal(node_marginals(chain_from_scores(*arrays)), result.node_probs)
    np.testing.assert_allclose(result.edge_sums, reference.sum_edges(*arrays), **CLOSE)


@pytest.mark.parametrize("per_position", [False, True])
def test_hard_constraints_at_a_scale_of_a_thousand(rng, per_position):
    for _ in range(20):
        case = make_case(rng, 4, [6, 1, 5], scale=1000.0, forbidden=0.5, per_position=per_position)
        check(case, case.potentials())


@examples(60)
@given(case=cases(), row=st.integers(0, 10**6), shift=st.floats(-500, 500))
def test_shifting_a_position_moves_log_z_only(case, row, shift):
    row %= len(case.node)
    moved = case.node.copy()
    moved[row] += shift
    before = marginals(case.potentials())
    after = marginals(chain_from_scores(moved, case.edges, case.offsets))
    i = np.searchsorted(case.offsets, row, side="right") - 1
    expected = before.log_partition + shift * (np.arange(len(case.offsets) - 1) == i)
    np.testing.assert_allclose(after.log_partition, expected, rtol=1e-11, atol=1e-9)
    np.testing.assert_allclose(after.node_probs, before.node_probs, rtol=1e-7, atol=1e-8)


@examples(60)
@given(case=cases(per_position=False))
def test_reversed_sequence_and_transposed_edges(case):
    before = marginals(case.potentials())
    lengths = np.diff(case.offsets)[::-1]
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    after = marginals(chain_from_scores(case.node[::-1], case.edges.T, offsets))
    np.testing.assert_allclose(after.log_partition, before.log_partition[::-1], rtol=1e-11, atol=1e-10)
    np.testing.assert_allclose(after.node_probs, before.node_probs[::-1], **CLOSE)
    np.testing.assert_allclose(after.edge_sums, before.edge_sums.T, **CLOSE)


@examples(60)
@given(case=cases(per_position=False), seed=st.integers(0, 999))
def test_names_of_labels_do_not_matter(case, seed):
    order = np.random.default_rng(seed).permutation(case.node.shape[1])
    before = marginals(case.potentials())
    renamed = chain_from_scores(case.node[:, order], case.edges[np.ix_(order, order)], case.offsets)
    after = marginals(renamed)
    np.testing.assert_allclose(after.log_partition, before.log_partition, rtol=1e-11, atol=1e-10)
    np.testing.assert_allclose(after.node_probs, before.node_probs[:, order], **CLOSE)
    np.testing.assert_allclose(after.edge_sums, before.edge_sums[np.ix_(order, order)], **CLOSE)


@examples(40)
@given(case=cases(per_position=False))
def test_without_edges_positions_are_independent(case):
    result = marginals(chain_from_scores(case.node, np.zeros_like(case.edges), case.offsets))
    softmax = np.exp(case.node - reference.log_sum(case.node, axis=1)[:, None])
    np.testing.assert_allclose(result.node_probs, softmax, **CLOSE)


def test_scores_of_zero_count_labelings():
    potentials = chain_from_scores(np.zeros((9, 5)), np.zeros((5, 5)), [0, 1, 4, 9])
    np.testing.assert_allclose(log_partition(potentials), np.log(5.0) * np.array([1, 3, 5]), rtol=1e-13)


def test_weights_enter_the_edge_sums(rng):
    case = make_case(rng, 3, [4, 2, 5])
    weights = np.array([2.0, 0.0, 0.5])
    result = marginals(case.potentials(), None, weights)
    parts = [marginals(case.potentials().sequence(i)).edge_sums for i in range(3)]
    np.testing.assert_allclose(result.edge_sums, sum(w * p for w, p in zip(weights, parts)), rtol=1e-11)


@compiled
def test_long_wide_and_steep(rng):
    T, K, scale = 10_000, 100, 100.0
    node, edges = scale * rng.normal(size=(T, K)), scale * rng.normal(size=(K, K))
    result = marginals(chain_from_scores(node, edges))
    assert np.isfinite(result.log_partition).all()
    np.testing.assert_allclose(result.node_probs.sum(axis=1), 1.0, rtol=1e-9)
    np.testing.assert_allclose(result.edge_sums.sum(), T - 1, rtol=1e-9)
    np.testing.assert_allclose(result.edge_sums.sum(axis=0), result.node_probs[1:].sum(axis=0), atol=1e-6)


@compiled
def test_nothing_of_size_t_k_squared_is_kept(rng):
    T, K = 2000, 100
    potentials = chain_from_scores(rng.normal(size=(T, K)), rng.normal(size=(K, K)))
    marginals(potentials)  # compile outside of the count
    tracemalloc.start()
    marginals(potentials)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 8 * T * K * 8  # bytes of eight rows of messages; a table a position would be a hundred


@pytest.mark.parametrize("per_position", [False, True])
def test_no_sequence_at_all(per_position):
    edges = np.zeros((2, 0, 2)) if per_position else np.zeros((2, 2))
    result = marginals(chain_from_scores(np.zeros((0, 2)), edges, [0]))
    assert result.log_partition.shape == (0,)
    assert not result.edges.any()
    assert node_marginals(chain_from_scores(np.zeros((0, 2)), edges, [0])).shape == (0, 2)


@compiled
def test_calls_are_cut_without_a_seam(rng, monkeypatch):
    case = make_case(rng, 3, [40, 1, 25])
    whole = marginals(case.potentials())
    monkeypatch.setattr(buffers, "CELLS_PER_CALL", 100)
    cut = marginals(case.potentials())
    np.testing.assert_array_equal(cut.node_probs, whole.node_probs)
    np.testing.assert_array_equal(cut.log_partition, whole.log_partition)
    np.testing.assert_allclose(cut.edge_sums, whole.edge_sums, rtol=1e-13)


@compiled
def test_tables_of_positions_are_read_there_and_back_a_few_sequences_at_a_time(rng, monkeypatch):
    case, pieces = make_case(rng, 3, [40, 1, 25, 7], per_position=True), []
    whole, exponentiate = marginals(case.potentials()), Workspace.exponentiate
    monkeypatch.setattr(tables, "_CACHED", 30 * 3 * 3)
    monkeypatch.setattr(Workspace, "exponentiate", lambda *given: (pieces.append(given[2:]), exponentiate(*given)))
    cut = marginals(case.potentials())
    assert pieces == [(0, 40), (40, 73)]
    np.testing.assert_array_equal(cut.node_probs, whole.node_probs)
    np.testing.assert_array_equal(cut.edge_probs, whole.edge_probs)
    np.testing.assert_array_equal(cut.log_partition, whole.log_partition)


@pytest.mark.parametrize("per_position", [False, True])
def test_an_illegal_sequence_is_named(per_position):
    edges = np.array([[0.0, -np.inf], [0.0, 0.0]])  # 0 is not followed by 1
    node = np.zeros((7, 2))
    node[3, 1] = -np.inf
    node[4, 0] = -np.inf  # sequence 1 has rows 2 … 5: position 2 must be 1, and 0 is before it
    table = np.repeat(edges.T[:, None], 7, axis=1) if per_position else edges
    base = chain_from_scores(node, table, [0, 2, 6, 7])
    potentials = ChainPotentials(base.node_scores, base.offsets, base.edges, sequence_base=40)
    for function in (marginals, node_marginals, log_partition):
        with pytest.raises(InputError, match="no legal labeling") as caught:
            function(potentials)
        assert (caught.value.sequence, caught.value.position) == (41, 2)


def test_a_position_without_any_label_is_named():
    node = np.zeros((4, 3))
    node[2] = -np.inf
    with pytest.raises(InputError) as caught:
        marginals(chain_from_scores(node, np.zeros((3, 3)), [0, 1, 4]))
    assert (caught.value.sequence, caught.value.position) == (1, 1)


@compiled
@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_scores_that_are_no_numbers_are_named(wrong):
    node = np.zeros((5, 3))
    node[3, 1] = wrong
    with pytest.raises(InputError, match="NaN") as caught:
        marginals(chain_from_scores(node, np.zeros((3, 3)), [0, 2, 5]))
    assert (caught.value.sequence, caught.value.position) == (1, 1)


def test_asking_for_the_other_kind_of_edges(rng):
    shared = marginals(make_case(rng, 2, [3]).potentials())
    own = marginals(make_case(rng, 2, [3], per_position=True).potentials())
    with pytest.raises(TypeError, match="edge_sums"):
        _ = shared.edge_probs
    with pytest.raises(TypeError, match="edge_probs"):
        _ = own.edge_sums
