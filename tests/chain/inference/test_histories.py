"""Log partition, marginals and samples of chains of histories: against the twin, by laws, and where sums fail."""

from __future__ import annotations

import os
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.chain import kernels, workspace
from hedgerow.chain.edges import HistoryEdges, chain_from_scores, history_rows
from hedgerow.chain.inference import Workspace, log_partition, marginals, node_marginals, sample
from hedgerow.chain.potentials import ChainPotentials, Truth
from hedgerow.chain.structure.histories import Histories
from hedgerow.chain.structure.states import StateSpace
from hedgerow.errors import InputError
from tests.examples import examples
from tests.reference import histories as reference
from tests.reference.history_cases import Case, cases, chain_from_arcs, make_case

CLOSE = {"rtol": 1e-9, "atol": 1e-9}
compiled = pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="too long as plain Python")


def check(case, potentials=None, **close):
    close = close or CLOSE
    potentials = potentials or case.potentials()
    result = marginals(potentials)
    log_z = [reference.log_partition(*one) for one in case.sequences()]
    np.testing.assert_allclose(result.log_partition, log_z, rtol=1e-11, atol=1e-9)
    np.testing.assert_allclose(log_partition(potentials), log_z, rtol=1e-11, atol=1e-9)
    parts = [reference.marginals(*one) for one in case.sequences()]
    np.testing.assert_allclose(result.node_probs, np.concatenate([nodes for nodes, _ in parts]), **close)
    np.testing.assert_array_equal(node_marginals(potentials), result.node_probs)
    np.testing.assert_allclose(result.edges, sum(arcs for _, arcs in parts), **close)


@examples(200)
@given(case=cases())
def test_equal_to_the_twin(case):
    check(case)


@examples(40)
@given(first=cases(), second=cases())
def test_a_workspace_changes_nothing(first, second):
    work = Workspace()
    for case in (first, second, first):
        kept, fresh = marginals(case.potentials(), work), marginals(case.potentials())
        np.testing.assert_array_equal(kept.log_partition, fresh.log_partition)
        np.testing.assert_array_equal(kept.node_probs, fresh.node_probs)
        np.testing.assert_array_equal(kept.edges, fresh.edges)


def full_order_one(rng, K):
    """Histories of order 1 in which every transition was seen, and arcs with the scores of a table, 0 after ⊥."""
    pairs = np.array([(v, u, v) for u in range(K) for v in range(K)]).ravel()
    histories = Histories.observed(pairs, np.arange(0, len(pairs) + 1, 3), K, 1)
    table = rng.normal(size=(K, K))
    before = histories.labels[histories.arc_state, -1]
    scores = np.where(before >= 0, table[before, histories.arc_label], 0.0)
    return histories, scores, table, before


def test_order_one_is_the_chain(rng):
    K = 4
    histories, scores, table, before = full_order_one(rng, K)
    node, offsets = rng.normal(size=(12, K)), np.array([0, 5, 6, 12])
    mine = marginals(chain_from_arcs(node, scores, histories, offsets))
    chain = marginals(chain_from_scores(node, table, offsets))
    np.testing.assert_allclose(mine.log_partition, chain.log_partition, rtol=1e-12)
    np.testing.assert_allclose(mine.node_probs, chain.node_probs, rtol=1e-10)
    inner = before >= 0
    sums = chain.edge_sums[before[inner], histories.arc_label[inner]]
    np.testing.assert_allclose(mine.edges[inner], sums, rtol=1e-10)


def test_order_zero_is_a_softmax(rng):
    histories = Histories.observed(np.array([0, 1, 2]), np.array([0, 3]), 3, 0)
    node, scores = rng.normal(size=(5, 3)), rng.normal(size=3)
    result = marginals(chain_from_arcs(node, scores, histories, [0, 2, 5]))
    totals = np.exp(node + scores)
    np.testing.assert_allclose(result.node_probs, totals / totals.sum(axis=1, keepdims=True), rtol=1e-12)
    np.testing.assert_allclose(result.edges, result.node_probs.sum(axis=0), rtol=1e-12)


@pytest.mark.parametrize("order", [0, 1, 2, 3, 6])
def test_scores_of_zero_count_labelings(rng, order):
    histories = Histories.observed(rng.integers(5, size=40), np.arange(0, 41, 8), 5, order)
    potentials = chain_from_arcs(np.zeros((9, 5)), np.zeros(histories.n_arcs), histories, [0, 1, 4, 9])
    np.testing.assert_allclose(log_partition(potentials), np.log(5.0) * np.array([1, 3, 5]), rtol=1e-13)
    forbidden = StateSpace.full(5).forbid([(0, 0), (3, 1)])
    histories = Histories.observed(np.zeros(0, dtype=int), np.array([0]), 5, order, space=forbidden)
    potentials = chain_from_arcs(np.zeros((3, 5)), np.zeros(histories.n_arcs), histories)
    count = np.linalg.matrix_power(forbidden.transitions.astype(int), 2).sum()
    np.testing.assert_allclose(log_partition(potentials), np.log(count), rtol=1e-13)


@examples(60)
@given(case=cases(), row=st.integers(0, 10**6), shift=st.floats(-500, 500))
def test_shifting_a_position_moves_log_z_only(case, row, shift):
    row %= len(case.node)
    moved = case.node.copy()
    moved[row] += shift
    before = marginals(case.potentials())
    after = marginals(chain_from_arcs(moved, case.arc_scores, case.histories, case.offsets))
    i = np.searchsorted(case.offsets, row, side="right") - 1
    expected = before.log_partition + shift * (np.arange(len(case.offsets) - 1) == i)
    np.testing.assert_allclose(after.log_partition, expected, rtol=1e-11, atol=1e-9)
    np.testing.assert_allclose(after.node_probs, before.node_probs, rtol=1e-7, atol=1e-8)


def steep(rng, gap, sign, K=5, order=3, lengths=(6, 3)):
    """Arcs of longer histories score `gap` more or less each; the last label was never seen and is as unlikely."""
    corpus, ends = rng.integers(K - 1, size=120), np.arange(0, 121, 8)
    histories = Histories.observed(corpus, ends, K, order)
    scores = rng.normal(size=histories.n_arcs) + sign * gap * histories.lengths[histories.arc_state]
    node = rng.normal(size=(sum(lengths), K))
    node[:, -1] -= rng.choice([0.0, gap, 2 * gap], size=len(node))
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    return Case(histories, node, scores, offsets, np.zeros(len(node), dtype=int))


@pytest.mark.parametrize("sign", [-1.0, 1.0])
@pytest.mark.parametrize("gap", [10.0, 35.0, 50.0, 90.0])
def test_where_differences_cancel(rng, gap, sign):
    """Seen continuations that are favoured or disfavoured strongly: what is left of a difference has no digits."""
    for _ in range(3):
        check(steep(rng, gap, sign))


@compiled
def test_large_histories_at_every_gap(rng):
    """The scaled kernels against the log kernels, which subtract nothing, on more histories than the twin can do."""
    for gap in (0.0, 8.0, 20.0, 35.0, 60.0):
        case = steep(rng, gap, rng.choice([-1.0, 1.0]), K=30, order=3, lengths=(9, 5, 7))
        potentials = case.potentials()
        scaled = marginals(potentials)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(kernels.histories, "backward", lambda *_: True)  # nothing is sound: all is redone in logs
            logs = marginals(potentials)
        np.testing.assert_allclose(scaled.log_partition, logs.log_partition, rtol=1e-12)
        np.testing.assert_allclose(scaled.node_probs, logs.node_probs, rtol=0, atol=1e-10)
        np.testing.assert_allclose(scaled.edges, logs.edges, rtol=0, atol=1e-10)


def test_what_is_rare_is_not_lost(rng):
    """Probabilities of 1e-12 have their digits, and so has what follows them."""
    case = make_case(rng, 3, 2, [7], n_seen=8)
    node = case.node.copy()
    node[:, 1] -= 28.0
    rare = Case(case.histories, node, case.arc_scores, case.offsets, case.labels)
    node_probs, arc_sums = reference.marginals(*rare.sequences()[0])
    assert node_probs[:, 1].max() < 1e-10
    result = marginals(rare.potentials())
    np.testing.assert_allclose(result.node_probs[:, 1], node_probs[:, 1], rtol=1e-6)
    seen = arc_sums > 1e-14
    np.testing.assert_allclose(result.edges[seen], arc_sums[seen], rtol=1e-3)
    assert (arc_sums[seen] < 1e-10).any()


def test_two_labels_that_never_mix():
    """A hundred steps of +10 for one label, then a hundred of +11 for the other: the second one wins in the end, long
    after its scaled message has become 0."""
    node = np.zeros((200, 2))
    node[:100, 0] = 10.0
    node[100:, 1] = 11.0
    apart = StateSpace.full(2).forbid([(0, 1), (1, 0)])
    histories = Histories.observed(np.array([0, 0, 0, 1, 1, 1]), np.array([0, 3, 6]), 2, 2, space=apart)
    result = marginals(chain_from_arcs(node, np.zeros(histories.n_arcs), histories))
    np.testing.assert_allclose(result.log_partition, [np.logaddexp(1000.0, 1100.0)], rtol=1e-14)
    np.testing.assert_allclose(result.node_probs[:, 0], np.exp(-100.0), rtol=1e-10)


def test_an_arc_that_no_sequence_uses_does_not_hide_the_others(rng):
    """The largest arc score is out of reach: the exponentials of the others are then 0, or have few digits."""
    for distance in (600.0, 1000.0):
        case = make_case(rng, 3, 2, [5])
        scores = case.arc_scores.copy()
        scores[case.histories.arc_label == 2] += distance
        node = case.node.copy()
        node[:, 2] = -np.inf
        check(Case(case.histories, node, scores, case.offsets, case.labels))


def test_weights_enter_the_arc_sums(rng):
    case = make_case(rng, 3, 2, [4, 2, 5])
    weights = np.array([2.0, 0.0, 0.5])
    potentials = case.potentials()
    result = marginals(potentials, None, weights)
    parts = [marginals(potentials.take(np.array([i]))[0]).edges for i in range(3)]
    np.testing.assert_allclose(result.edges, sum(w * p for w, p in zip(weights, parts)), rtol=1e-11)


@examples(60)
@given(case=cases(max_length=9), cells=st.integers(1, 200))
def test_blocks_change_nothing(case, cells):
    """A long sequence keeps a row in √T, and makes the others twice."""
    whole = marginals(case.potentials())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(history_rows, "MAX_CELLS", cells)
        patch.setattr(workspace, "CELLS_PER_CALL", 1)
        cut = marginals(case.potentials())
    np.testing.assert_array_equal(cut.log_partition, whole.log_partition)
    np.testing.assert_array_equal(cut.node_probs, whole.node_probs)
    np.testing.assert_array_equal(cut.edges, whole.edges)


@compiled
def test_a_long_sequence_needs_little_memory(rng):
    T, K = 3000, 12
    histories = Histories.observed(rng.integers(K, size=3000), np.arange(0, 3001, 10), K, 3)
    potentials = chain_from_arcs(rng.normal(size=(T, K)), rng.normal(size=histories.n_arcs), histories)
    marginals(potentials)  # compile outside of the count
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(history_rows, "MAX_CELLS", 1000)
        tracemalloc.start()
        result = marginals(potentials)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert peak < 8 * T * histories.n_states / 8  # bytes; all rows would be eight times that
    np.testing.assert_allclose(result.node_probs.sum(axis=1), 1.0, rtol=1e-9)
    np.testing.assert_allclose(result.edges.sum(), T, rtol=1e-9)


@compiled
def test_long_and_steep(rng):
    T, K, scale = 5000, 20, 20.0
    histories = Histories.observed(rng.integers(K, size=400), np.arange(0, 401, 10), K, 2)
    node, scores = scale * rng.normal(size=(T, K)), scale * rng.normal(size=histories.n_arcs)
    result = marginals(chain_from_arcs(node, scores, histories))
    assert np.isfinite(result.log_partition).all()
    np.testing.assert_allclose(result.node_probs.sum(axis=1), 1.0, rtol=1e-9)
    labels = np.bincount(histories.arc_label, weights=result.edges, minlength=K)
    np.testing.assert_allclose(labels, result.node_probs.sum(axis=0), rtol=1e-9)


def test_no_sequence_at_all():
    histories = Histories.observed(np.array([0, 1]), np.array([0, 2]), 2, 1)
    result = marginals(chain_from_arcs(np.zeros((0, 2)), np.zeros(histories.n_arcs), histories, [0]))
    assert result.log_partition.shape == (0,)
    assert not result.edges.any()


@pytest.mark.parametrize("faint", [False, True])
def test_samples_follow_the_distribution(rng, faint):
    case = make_case(rng, 3, 2, [3], n_seen=2)
    node, scores = case.node.copy(), case.arc_scores.copy()
    node[:, 2] = -np.inf
    if faint:  # arcs out of reach, and those in reach have exponentials of 0: the sequence is carried by logs
        scores[case.histories.arc_label == 2] += 1000.0
    draws = sample(chain_from_arcs(node, scores, case.histories), rng.random((4000, 3)))
    every, totals = reference.k_best(node, scores, case.arcs, 8)
    probs = np.exp(totals - np.logaddexp.reduce(totals))
    shares = [(draws == labels).all(axis=1).mean() for labels in every]
    np.testing.assert_allclose(shares, probs, rtol=0, atol=0.04)


@examples(30)
@given(case=cases())
def test_samples_are_legal(case):
    labels = sample(case.potentials(), np.random.default_rng(0).random((3, len(case.node))))
    for drawn in labels:
        for one, begin, end in zip(case.sequences(), case.offsets, case.offsets[1:]):
            assert reference.score(*one, drawn[begin:end]) > -np.inf


class TestErrors:
    """Only 0 0 and 1 1 were seen: nothing else is possible."""

    histories = Histories.observed(np.array([0, 0, 0, 1, 1, 1]), np.array([0, 3, 6]), 2, 1, unseen="forbidden")

    def potentials(self, node, offsets=None):
        cuts = np.array([0, len(node)] if offsets is None else offsets)
        edges = HistoryEdges.from_scores(self.histories, np.zeros(self.histories.n_arcs))
        return ChainPotentials(node, cuts, edges, sequence_base=40)

    @pytest.mark.parametrize("function", [marginals, log_partition])
    def test_an_illegal_sequence_is_named(self, function):
        node = np.zeros((7, 2))
        node[2, 1] = -np.inf
        node[4, 0] = -np.inf
        with pytest.raises(InputError, match="no legal labeling") as caught:
            function(self.potentials(node, [0, 2, 6, 7]))
        assert (caught.value.sequence, caught.value.position) == (41, 2)

    @pytest.mark.parametrize("wrong", [np.nan, np.inf])
    def test_scores_that_are_no_numbers_are_named(self, wrong):
        node = np.zeros((5, 2))
        node[3, 1] = wrong
        with pytest.raises(InputError, match="NaN") as caught:
            marginals(self.potentials(node, [0, 2, 5]))
        assert (caught.value.sequence, caught.value.position) == (41, 1)

    def test_shapes(self):
        with pytest.raises(InputError, match="arcs need as many scores"):
            HistoryEdges.from_scores(self.histories, np.zeros(3))
        with pytest.raises(InputError, match="NaN"):
            HistoryEdges.from_scores(self.histories, np.full(self.histories.n_arcs, np.nan))
        with pytest.raises(InputError, match="do not fit edges of 2 labels"):
            self.potentials(np.zeros((3, 4)))
        with pytest.raises(InputError, match="offsets must run"):
            self.potentials(np.zeros((3, 2)), [0, 2])
        with pytest.raises(InputError, match="has no positions"):
            self.potentials(np.zeros((3, 2)), [0, 2, 2, 3])
        with pytest.raises(InputError, match="allowed has shape"):
            self.potentials(np.zeros((3, 2))).restrict(np.ones((2, 2), dtype=bool))
        with pytest.raises(InputError, match="uniforms must be"):
            sample(self.potentials(np.zeros((3, 2))), np.zeros((1, 2)))


def test_forced_labels(rng):
    case = make_case(rng, 3, 2, [5])
    labels = np.array([1, -1, 0, -1, 2])
    potentials = case.potentials().restrict(case.potentials().permitted(Truth(labels)))
    probs = marginals(potentials).node_probs
    known = labels >= 0
    np.testing.assert_allclose(probs[known, labels[known]], 1.0, rtol=1e-12)
    check(Case(case.histories, potentials.node_scores, case.arc_scores, case.offsets, case.labels), potentials)
