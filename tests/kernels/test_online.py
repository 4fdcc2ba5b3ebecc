"""The kernels of batches against their twins."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.chain.edges import SharedEdges
from hedgerow.chain.inference import best_labelings, marginals
from hedgerow.chain.potentials import ChainPotentials
from hedgerow.chain.workspace import padded_width
from hedgerow.data.encoding import learn
from hedgerow.linear.batches import _reads
from hedgerow.linear.index import Streams, index_weights
from hedgerow.linear.kernels import online
from tests.models.corpora import COLUMNS, rich_corpus
from tests.reference import online as reference

CODE, INDEX = np.int32, np.int64
NONE, NOTHING = np.empty(0, dtype=CODE), np.empty(0)


def as_arrays(spread, entries, valued):
    """The lists of all positions as kernels take them."""

    def ptr(lists):
        return np.concatenate([[0], np.cumsum([len(own) for own in lists])]).astype(INDEX)

    wide = [pair for own in spread for pair in own]
    narrow = [entry for own in entries for entry in own]
    return (
        ptr(spread),
        np.array([slot for slot, _ in wide], dtype=CODE),
        np.array([value for _, value in wide]) if valued else NOTHING,
        ptr(entries),
        np.array([slot for slot, _, _ in narrow], dtype=CODE),
        np.array([label for _, label, _ in narrow], dtype=CODE),
        np.array([value for _, _, value in narrow]) if valued else NOTHING,
    )


@dataclass
class Case:
    """Listed positions, and a batch of some of their sequences."""

    K: int
    size: int
    begin: np.ndarray
    length: np.ndarray
    positions: np.ndarray  # of the batch, among those listed
    every: tuple[list, list]
    valued: bool
    rng: np.random.Generator

    @property
    def lists(self):
        return as_arrays(*self.every, self.valued)

    @property
    def own(self):
        """The lists of the batch, as the twins take them."""
        return tuple([lists[p] for p in self.positions] for lists in self.every)

    @property
    def n(self):
        return len(self.positions)


@st.composite
def cases(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    K, valued = draw(st.integers(1, 6)), draw(st.booleans())
    lengths = np.array(draw(st.lists(st.integers(1, 4), min_size=1, max_size=4)))
    n_wide, n_narrow = 3, 5
    size = n_wide * K + n_narrow
    value = rng.normal if valued else lambda: 1.0
    spread = [[(int(rng.integers(n_wide)) * K, value()) for _ in range(rng.integers(4))] for _ in range(lengths.sum())]
    entries = [
        [(n_wide * K + int(rng.integers(n_narrow)), int(rng.integers(K)), value()) for _ in range(rng.integers(5))]
        for _ in range(lengths.sum())
    ]
    chosen = rng.permutation(len(lengths))[: draw(st.integers(1, len(lengths)))]
    begin = (np.cumsum(lengths) - lengths)[chosen]
    positions = np.concatenate([b + np.arange(n) for b, n in zip(begin, lengths[chosen])])
    return Case(K, size, begin, lengths[chosen], positions, (spread, entries), valued, rng)


@pytest.mark.parametrize("window", [0, 1])
@pytest.mark.parametrize("attribute_values", [True, False])
def test_read_rows(window, attribute_values):
    X, y = rich_corpus(12, seed=4)
    if not attribute_values:
        for item in X:
            for row in item.positions:
                row["tags"] = list(row["tags"])
    data = learn(X, y, columns=COLUMNS, window=window)
    assert (data.attr_val is not None) == attribute_values
    streams = Streams.of(data.schema)
    index, _ = index_weights(data, streams, np.arange(data.n_positions), data.labels, data.n_labels)
    sequences = np.array([7, 2, 11])
    expected = reference.read_rows(sequences, data, streams)
    ptr = np.empty(len(expected) + 1, dtype=INDEX)
    fixed = (sequences, data.start, np.diff(data.offsets), *_reads(data, index), ptr)
    n = online.read_rows(*fixed, np.empty(0, dtype=INDEX), NOTHING)
    row, value = np.empty(n + 1, dtype=INDEX), np.empty(n + 1)
    assert online.read_rows(*fixed, row, value) == n
    assert [list(zip(row[a:b].tolist(), value[a:b].tolist())) for a, b in pairwise(ptr)] == expected
    assert len({x for own in expected for _, x in own}) > 5


@given(st.integers(0, 2**32 - 1), st.integers(1, 5), st.booleans(), st.integers(0, 3))
def test_list_rows(seed, K, valued, origin):
    rng = np.random.default_rng(seed)
    n_slots = rng.integers(0, K + 1, size=5).astype(CODE)
    first_slot = np.cumsum(n_slots) - n_slots
    label_of = rng.integers(0, K, size=n_slots.sum()).astype(CODE)
    rows = [[(int(rng.integers(5)), rng.normal() if valued else 1.0) for _ in range(rng.integers(4))] for _ in range(4)]
    ptr = np.concatenate([[0], np.cumsum([len(own) for own in rows])]).astype(INDEX)
    row = np.array([r for own in rows for r, _ in own] + [0], dtype=INDEX)
    value = np.array([x for own in rows for _, x in own] + [0.0])
    expected = as_arrays(*reference.list_rows(rows, first_slot, n_slots, label_of, K, origin), valued)
    given_rows = (ptr, row, value, first_slot, n_slots, label_of, K, origin)
    nowhere = (NONE.astype(INDEX), NONE, NOTHING, NONE.astype(INDEX), NONE, NONE, NOTHING)
    assert online.list_rows(*given_rows, *nowhere, 0, 2, 3) == (2 + len(expected[1]), 3 + len(expected[4]))
    t0, q0, e0 = 2, 1, 2  # the lists go on where others ended
    lists = tuple(np.full(len(own) + shift, -9, dtype=own.dtype) for own, shift in zip(expected, (2, 1, 1, 2, 2, 2, 2)))
    if not valued:
        lists = (*lists[:2], NOTHING, *lists[3:6], NOTHING)
    online.list_rows(*given_rows, *lists, t0, q0, e0)
    np.testing.assert_array_equal(lists[0][t0 + 1 :], expected[0][1:] + q0)
    np.testing.assert_array_equal(lists[3][t0 + 1 :], expected[3][1:] + e0)
    for place, shift in ((1, q0), (4, e0), (5, e0)):
        np.testing.assert_array_equal(lists[place][shift:], expected[place])
    if valued:
        np.testing.assert_array_equal(lists[2][q0:], expected[2])
        np.testing.assert_array_equal(lists[6][e0:], expected[6])


@given(st.integers(0, 2**32 - 1), st.integers(1, 5), st.sampled_from([0.0, 0.5, 1.0]))
def test_edge_tables(seed, K, forbidden):
    rng = np.random.default_rng(seed)
    legal = rng.random(K * K) >= forbidden
    cells = np.flatnonzero(legal & (rng.random(K * K) < 0.7))
    table = np.where(legal, 0.0, -np.inf)
    x, shifted = rng.normal(size=3 + len(cells)), np.empty(K * K)
    expected = reference.load_edges(x, 3, 0.5, cells, table)
    assert online.load_edges(x, 3, 0.5, cells, table, shifted) == expected[2]
    np.testing.assert_array_equal(table, expected[0])
    np.testing.assert_array_equal(shifted, expected[1])
    P = padded_width(K)
    exps, exps_to = np.zeros((2, P, P))
    online.spread_edges(shifted.reshape(K, K), exps, exps_to)
    np.testing.assert_array_equal(exps[:K, :K], shifted.reshape(K, K))
    np.testing.assert_array_equal(exps_to[:K, :K], shifted.reshape(K, K).T)
    assert exps[K:].sum() == exps_to[:, K:].sum() == 0.0


@given(cases())
def test_gather(case):
    x, start, end = case.rng.normal(size=case.size), case.rng.normal(size=case.K), case.rng.normal(size=case.K)
    start[0] = -np.inf
    scores, first = np.full((case.n + 2, case.K), np.nan), np.full(case.n + 3, 9, dtype=np.uint8)
    n = online.gather(case.begin, case.length, *case.lists, x, 0.7, start, end, scores, first)
    assert n == case.n
    expected = reference.gather(case.length, *case.own, x, 0.7, start, end)
    np.testing.assert_allclose(scores[:n], expected[0], rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(first[: n + 1], expected[1])


@given(cases())
def test_touch_scatter_and_descend(case):
    active = (case.rng.random(case.n) < 0.6).astype(np.uint8)
    rows = case.rng.normal(size=(case.n, case.K))
    spread_ptr, spread, _, entry_ptr, entry_slot, _, _ = lists = case.lists
    stamp = np.full(case.size, 3, dtype=CODE)
    runs, slots = np.full(4, -9, dtype=CODE), np.full(case.size + 3, -9, dtype=CODE)
    slots[:2] = 77, 78
    n_runs, n_slots = online.touch(
        case.begin, case.length, active, spread_ptr, spread, entry_ptr, entry_slot, stamp, 4, runs, slots, 2
    )
    expected = reference.touch(active, *case.own)
    assert (runs[:n_runs].tolist(), slots[:n_slots].tolist()) == (expected[0], [77, 78, *expected[1]])
    gradient = np.ones(case.size)
    online.scatter(case.begin, case.length, active, *lists, rows, gradient)
    moved = reference.scatter(active, *case.own, rows, case.size)
    np.testing.assert_allclose(gradient, 1.0 + moved, rtol=1e-12, atol=1e-12)
    x, real = case.rng.normal(size=case.size), np.ones(case.size, dtype=np.uint8)
    real[: 3 * case.K] = case.rng.random(3 * case.K) < 0.5
    after = x.copy()
    online.descend(case.begin, case.length, active, *lists, rows, real, after, 0.3)
    np.testing.assert_allclose(after, x - 0.3 * real * moved, rtol=1e-12, atol=1e-12)


@dataclass
class Labelled:
    """A batch with scores, of sequences that are somewhere in a corpus; some transitions have no weight."""

    potentials: ChainPotentials
    begin: np.ndarray
    length: np.ndarray
    labels: np.ndarray
    arc_of: np.ndarray
    flat: np.ndarray  # the flat positions of the batch

    @property
    def n_arcs(self):
        return int((self.arc_of >= 0).sum())

    def arcs(self, edges):
        return edges[self.arc_of >= 0]


@st.composite
def labelled(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    K = draw(st.integers(1, 5))
    lengths = np.array(draw(st.lists(st.integers(1, 5), min_size=1, max_size=4)))
    chosen = rng.permutation(len(lengths))[: draw(st.integers(1, len(lengths)))]
    begin, length = (np.cumsum(lengths) - lengths)[chosen], lengths[chosen]
    offsets = np.concatenate([[0], np.cumsum(length)])
    edges = SharedEdges.from_scores(rng.normal(size=(K, K)))
    potentials = ChainPotentials(rng.normal(size=(offsets[-1], K)), offsets, edges)
    arc_of = np.full((K, K), -1, dtype=CODE)
    weighted = rng.random((K, K)) < 0.7
    arc_of[weighted] = np.arange(weighted.sum())
    flat = np.concatenate([b + np.arange(n) for b, n in zip(begin, length)])
    return Labelled(potentials, begin, length, rng.integers(0, K, lengths.sum()).astype(CODE), arc_of, flat)


def forward_backward(case):
    """What `likelihood` reads: from marginals that were made another way, with scales that give the same log Z."""
    found, K = marginals(case.potentials), case.potentials.n_labels
    n = case.potentials.n_positions
    top, scale = np.zeros(n), np.ones(n)
    top[case.potentials.offsets[:-1]] = found.log_partition - 0.5
    scale[case.potentials.offsets[:-1]] = np.exp(0.5)
    P = padded_width(K)
    sums, exps = np.zeros((P, P)), np.full((P, P), 0.25)
    sums[:K, :K] = found.edge_sums * 4.0
    return found, top, scale, sums, exps


@given(labelled())
def test_likelihood(case):
    found, top, scale, sums, exps = forward_backward(case)
    n = case.potentials.n_positions
    probs, gradient = found.node_probs.copy(), np.ones(2 + case.n_arcs)
    faint, spare = np.full(n, 2, dtype=CODE), np.full(n, 2, dtype=CODE)
    table, scores = case.potentials.edges.scores, case.potentials.node_scores
    shift = 0.125
    top[case.potentials.first[:-1] == 0] -= shift

    def run():
        return online.likelihood(
            case.begin, case.length, case.labels, scores, table, shift, top, scale, faint, spare, sums, exps,
            case.arc_of, 2, probs, gradient,
        )  # fmt: skip

    faint[-1] = 3
    assert np.isnan(run())
    np.testing.assert_array_equal(probs, found.node_probs)
    np.testing.assert_array_equal(gradient, 1.0)
    faint[-1] = 2
    total = found.log_partition.sum()
    loss, nodes, edges = reference.likelihood(
        case.labels[case.flat], case.length, scores, table, total, found.node_probs, found.edge_sums
    )
    np.testing.assert_allclose(run(), loss, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(probs, nodes, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(gradient[2:], 1.0 + case.arcs(edges), rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(gradient[:2], 1.0)


@given(labelled(), st.booleans())
def test_errors(case, right):
    n, K = case.potentials.node_scores.shape
    best = best_labelings(case.potentials)[0]
    labels = case.labels.copy()
    if right:
        labels[case.flat] = best
    table, scores = case.potentials.edges.scores, case.potentials.node_scores
    active, rows, gradient = np.full(n, 9, dtype=np.uint8), np.full((n, K), np.nan), np.ones(2 + case.n_arcs)
    loss = online.errors(case.begin, case.length, labels, best, scores, table, case.arc_of, 2, active, rows, gradient)
    expected, nodes, edges = reference.errors(labels[case.flat], case.length, best, scores, table)
    np.testing.assert_allclose(loss, expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(active, labels[case.flat] != best)
    np.testing.assert_array_equal(rows[active == 1], nodes[active == 1])
    np.testing.assert_allclose(gradient[2:], 1.0 + case.arcs(edges), rtol=1e-12, atol=1e-12)
    assert not (right and (loss or active.any()))


def test_a_truth_that_is_not_legal_changes_nothing():
    scores, table = np.array([[0.0, -np.inf]]), np.zeros((2, 2))
    labels, best = np.array([1], dtype=CODE), np.array([0], dtype=CODE)
    arc_of, gradient = np.array([[0, 1], [2, 3]], dtype=CODE), np.zeros(4)
    where = (np.array([0]), np.array([1]))
    active, rows = np.zeros(1, dtype=np.uint8), np.zeros((1, 2))
    assert np.isnan(online.errors(*where, labels, best, scores, table, arc_of, 0, active, rows, gradient))
    one, faint = np.ones(1), np.zeros(1, dtype=CODE)
    probs, sums = np.array([[1.0, 0.0]]), np.ones((4, 4))
    fixed = (labels, scores, table, 0.0, one, one, faint, faint, sums, sums, arc_of, 0)
    assert np.isnan(online.likelihood(*where, *fixed, probs, gradient))
    assert not gradient.any()
    assert not rows.any()
    np.testing.assert_array_equal(probs, [[1.0, 0.0]])
