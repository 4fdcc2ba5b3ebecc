"""The kernels of sparse features against their twins."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.linear.kernels import numbers, sparse
from tests.reference import sparse as reference

CODE, INDEX, SHORT = np.int32, np.int64, np.uint16
GAP = 2


@dataclass
class Case:
    """Random streams over a padded corpus, and random weight rows for them."""

    K: int
    codes: np.ndarray
    places: np.ndarray
    streams: tuple[np.ndarray, np.ndarray, np.ndarray]  # column, shift, base
    attributes: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]  # ptr, id, shift, base
    values: np.ndarray
    row_ptr: np.ndarray
    slot_label: np.ndarray
    table_rows: np.ndarray
    table_row: np.ndarray
    weights: np.ndarray
    rng: np.random.Generator

    @property
    def rows(self):
        return [reference.rows_at(self.codes, p, *self.streams, *self.attributes) for p in self.places]

    @property
    def n(self):
        return len(self.places)

    def lists(self, short=CODE):
        n_table, n_entries = self.list_into(*(np.empty(0, dtype=CODE),) * 4)
        ptr, table = np.empty(self.n + 1, dtype=CODE), np.empty(n_table, dtype=short)
        cell, slot = np.empty(n_entries, dtype=short), np.empty(n_entries, dtype=CODE)
        assert self.list_into(ptr, table, cell, slot) == (n_table, n_entries)
        return ptr, table, cell, slot

    def list_into(self, *lists):
        ptr, ids, shift, base = self.attributes
        streams, none = (self.codes, self.places, *self.streams, ptr, ids), np.empty(0)
        rows = shift, base, self.row_ptr, self.table_row, self.slot_label, self.K
        return sparse.list_features(*streams, none, *rows, *lists, none)


@st.composite
def cases(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    K, size = draw(st.integers(1, 9)), draw(st.integers(1, 7))
    n_streams, n_shifts, n_names = draw(st.integers(0, 3)), draw(st.integers(0, 2)), draw(st.integers(1, 4))
    n_codes, P = 4, size + 2 * GAP
    base = np.arange(n_streams, dtype=INDEX) * n_codes
    attr_base = n_streams * n_codes + np.arange(n_shifts, dtype=INDEX) * n_names
    R = n_streams * n_codes + n_shifts * n_names
    counts = rng.integers(0, 3, size=P)
    attr_ptr = np.concatenate([[0], np.cumsum(counts)]).astype(INDEX)
    own = [np.sort(rng.permutation(K)[: rng.integers(0, K + 1)]) for _ in range(R)]
    row_ptr = np.concatenate([[0], np.cumsum([len(labels) for labels in own])]).astype(INDEX)
    slot_label = np.concatenate([np.empty(0), *own]).astype(CODE)
    table_rows = np.flatnonzero(rng.random(R) < draw(st.sampled_from([0.0, 0.5, 1.0])))
    table_row = np.full(R, -1, dtype=CODE)
    table_row[table_rows] = np.arange(len(table_rows))
    return Case(
        K,
        rng.integers(0, n_codes, size=(2, P)).astype(CODE),
        GAP + np.flatnonzero(rng.random(size) < 0.8).astype(INDEX),
        (rng.integers(0, 2, n_streams), rng.integers(-GAP, GAP + 1, n_streams), base),
        (
            attr_ptr,
            rng.integers(0, n_names, attr_ptr[-1]).astype(CODE),
            rng.integers(-GAP, GAP + 1, n_shifts),
            attr_base,
        ),
        rng.normal(size=attr_ptr[-1]),
        row_ptr,
        slot_label,
        table_rows,
        table_row,
        rng.normal(size=len(slot_label)),
        rng,
    )


@given(st.integers(0, 2**32 - 1), st.integers(1, 5), st.integers(1, 4), st.integers(0, 30), st.booleans())
def test_group_pairs(seed, n_rows, K, n, unit):
    rng = np.random.default_rng(seed)
    rows, labels = rng.integers(0, n_rows, n), rng.integers(0, K, n).astype(CODE)
    values = np.ones(1) if unit else rng.normal(size=n)
    row_ptr = np.full(n_rows + 1, -9, dtype=INDEX)
    slot_label, slot_total = np.full(n, -9, dtype=CODE), np.full(n, np.nan)
    count, order = np.full(max(n_rows, K) + 1, -9, dtype=INDEX), np.full((2, n), -9, dtype=INDEX)
    pairs = sparse.group_pairs(rows, labels, values, K, count, order, row_ptr, slot_label, slot_total)
    expected = reference.group_pairs(rows, labels, values, n_rows)
    np.testing.assert_array_equal(row_ptr, expected[0])
    np.testing.assert_array_equal(slot_label[:pairs], expected[1])
    np.testing.assert_allclose(slot_total[:pairs], expected[2], rtol=1e-12, atol=1e-12)


@given(cases())
def test_count_and_list_features(case):
    counted = case.list_into(*(np.empty(0, dtype=CODE),) * 4)
    assert counted == reference.count_features(case.rows, case.row_ptr, case.table_row)
    expected = reference.list_features(case.rows, case.row_ptr, case.table_row, case.slot_label, case.K)
    for short in (CODE, SHORT):
        for found, wanted in zip(case.lists(short), expected, strict=True):
            np.testing.assert_array_equal(found, wanted)


@given(cases())
def test_list_weighted(case):
    ptr, ids, shift, base = case.attributes
    fixed = case.places, ptr, ids, case.values, shift, base, case.row_ptr, case.slot_label, case.K
    none, nowhere = np.empty(0, dtype=CODE), (np.empty(0, dtype=INDEX),) * 3
    streams = case.codes, case.places, *nowhere, ptr, ids, case.values, shift, base
    rows = case.row_ptr, np.full(len(case.row_ptr) - 1, -1, dtype=CODE), case.slot_label, case.K
    n_table, n = sparse.list_features(*streams, *rows, none, none, none, none, np.empty(0))
    assert n_table == 0
    places = np.empty(case.n + 1, dtype=CODE)
    cell, slot, value = np.empty(n, dtype=CODE), np.empty(n, dtype=CODE), np.empty(n)
    assert sparse.list_features(*streams, *rows, places, none, cell, slot, value) == (0, n)
    for found, wanted in zip((cell, slot, value), reference.list_weighted(*fixed), strict=True):
        np.testing.assert_array_equal(found, wanted)


@given(cases())
def test_fill_and_drain_table(case):
    rows = case.table_rows, case.row_ptr, case.slot_label
    table = np.full((len(case.table_rows), case.K), np.nan)
    sparse.fill_table(*rows, case.weights, table)
    np.testing.assert_array_equal(table, reference.fill_table(*rows, case.weights, case.K))
    gradient, before = case.rng.normal(size=table.shape), case.rng.normal(size=len(case.weights))
    grad = before.copy()
    sparse.drain_table(*rows, gradient, grad)
    expected = before + reference.drain_table(*rows, gradient, len(grad))
    np.testing.assert_allclose(grad, expected, rtol=1e-12, atol=1e-12)


@given(cases())
def test_gather_and_scatter(case):
    lists = case.lists(case.rng.choice([CODE, SHORT]))
    table = case.rng.normal(size=(len(case.table_rows), case.K))
    scores = np.full((case.n, case.K), np.nan)
    sparse.gather(*lists, case.weights, table, scores, scores.reshape(-1))
    expected = reference.gather(*lists, case.weights, table)
    np.testing.assert_allclose(scores, expected, rtol=1e-12, atol=1e-12)
    probs, n = case.rng.random((case.n, case.K)), len(case.weights)
    grad, table_grad = case.rng.normal(size=n), case.rng.normal(size=table.shape)
    wanted = [
        before + added
        for before, added in zip((grad, table_grad), reference.scatter(*lists, probs, n, len(table)), strict=True)
    ]
    sparse.scatter(*lists, probs, probs.reshape(-1), grad, table_grad)
    np.testing.assert_allclose(grad, wanted[0], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(table_grad, wanted[1], rtol=1e-12, atol=1e-12)


@given(cases(), st.booleans())
def test_a_sequence_scores_as_its_lists_do(case, weighted):
    case.places = GAP + np.arange(case.codes.shape[1] - 2 * GAP)
    if weighted:
        ptr, ids, shift, base = case.attributes
        case.attributes = ptr, ids, shift[:0], base[:0]
        given = case.places, ptr, ids, case.values, shift, base, case.row_ptr, case.slot_label, case.K
        entries = reference.list_weighted(*given)
        case_attributes = ptr, ids, case.values, shift, base
    else:
        ptr, ids, shift, base = case.attributes
        case_attributes = ptr, ids, np.empty(0), shift, base
    table = reference.fill_table(case.table_rows, case.row_ptr, case.slot_label, case.weights, case.K)
    lists = reference.list_features(case.rows, case.row_ptr, case.table_row, case.slot_label, case.K)
    expected = reference.gather(*lists, case.weights, table)
    listed = np.empty(expected.shape)
    sparse.gather(*lists, case.weights, table, listed, listed.reshape(-1))
    if weighted and len(case.values):
        for cell, slot, value in zip(*entries):
            expected[cell // case.K, cell % case.K] += value * case.weights[slot]
        sparse.gather_weighted(*entries, case.weights, listed.reshape(-1))
    scores = np.full(expected.shape, np.nan)
    rows = case.row_ptr, case.table_row, case.slot_label, case.weights, table
    sparse.score_sequence(case.codes, GAP, *case.streams, *case_attributes, *rows, scores)
    np.testing.assert_allclose(scores, expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(scores, listed)  # to the bit


@given(cases())
def test_gather_and_scatter_weighted(case):
    ptr, ids, shift, base = case.attributes
    entries = reference.list_weighted(
        case.places, ptr, ids, case.values, shift, base, case.row_ptr, case.slot_label, case.K
    )
    before = case.rng.normal(size=case.n * case.K)
    cells = before.copy()
    sparse.gather_weighted(*entries, case.weights, cells)
    expected = before + reference.gather_weighted(*entries, case.weights, len(cells))
    np.testing.assert_allclose(cells, expected, rtol=1e-12, atol=1e-12)
    grad = np.zeros(len(case.weights))
    sparse.scatter_weighted(*entries, cells, grad)
    wanted = reference.scatter_weighted(*entries, cells, len(grad))
    np.testing.assert_allclose(grad, wanted, rtol=1e-12, atol=1e-12)


@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 9),
    st.integers(1, 12),
    st.integers(1, 4),
    st.integers(1, 12),
    st.booleans(),
)
def test_gather_and_scatter_numbers(seed, n_streams, size, K, width, halved):
    rng = np.random.default_rng(seed)
    numeric = rng.normal(size=(2, size + 2 * GAP)).astype(np.float32 if halved else np.float64)
    numeric[rng.random(numeric.shape) < 0.3] = np.nan
    places = GAP + np.arange(size, dtype=INDEX)
    reads = numeric, places, rng.integers(0, 2, n_streams), rng.integers(-GAP, GAP + 1, n_streams)
    reads += rng.normal(size=n_streams), rng.uniform(0.1, 3.0, n_streams)
    weights, before = rng.normal(size=(n_streams, K)), rng.normal(size=(size, K))
    scores, block = before.copy(), np.full((4 + K, width), np.nan)
    numbers.gather_numbers(*reads, weights, block, scores)
    expected = before + reference.gather_numbers(*reads, weights)
    np.testing.assert_allclose(scores, expected, rtol=1e-12, atol=1e-12)
    one_by_one = before.copy()
    for t in range(size):  # the score of a position does not depend on those beside it, to the bit
        numbers.gather_numbers(
            numeric, places[t : t + 1], *reads[2:], weights, block[:, :1].copy(), one_by_one[t : t + 1]
        )
    np.testing.assert_array_equal(scores, one_by_one)
    grad = weights.copy()
    numbers.scatter_numbers(*reads, before, block, grad)
    np.testing.assert_allclose(grad, weights + reference.scatter_numbers(*reads, before), rtol=1e-12, atol=1e-12)


@given(st.integers(0, 2**32 - 1), st.integers(1, 40), st.integers(1, 60), st.integers(1, 4), st.integers(1, 60))
def test_products_of_single_precision_keep_to_their_bound(seed, n_streams, size, K, width):
    """Against the twin, in double precision: n products of rounded factors are off by (n + 4)·ε·Σ|x·w| at most."""
    rng = np.random.default_rng(seed)
    numeric = (rng.normal(size=(3, size + 2 * GAP)) + [[0.0], [100.0], [-1e4]]).astype(np.float32)
    numeric[rng.random(numeric.shape) < 0.3] = np.nan
    places, column = GAP + np.arange(size, dtype=INDEX), rng.integers(0, 3, n_streams)
    center = np.array([0.0, 100.0, -1e4])[column] + rng.normal(size=n_streams)
    reads = numeric, places, column, rng.integers(-GAP, GAP + 1, n_streams), center, rng.uniform(0.1, 3.0, n_streams)
    weights, before = rng.normal(size=(n_streams, K)), rng.normal(size=(size, K))
    x = np.abs(reference.gather_numbers(*reads, np.eye(n_streams)))
    scores, grad, block = before.copy(), weights.copy(), np.full((4 + K, width), np.nan, dtype=np.float32)
    numbers.gather_numbers(*reads, weights, block, scores)
    bound = (n_streams + 4) * np.finfo(np.float32).eps * (np.abs(before) + x @ np.abs(weights))
    assert (np.abs(scores - before - reference.gather_numbers(*reads, weights)) <= bound).all()
    numbers.scatter_numbers(*reads, before, block, grad)
    bound = (min(width, size) + 4) * np.finfo(np.float32).eps * (x.T @ np.abs(before)) + 1e-15 * np.abs(grad)
    assert (np.abs(grad - weights - reference.scatter_numbers(*reads, before)) <= bound).all()


@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 9),
    st.integers(1, 12),
    st.integers(1, 7),
    st.integers(1, 12),
    st.sampled_from([np.float32, np.float64]),
)
def test_numbers_that_are_all_there_are_multiplied_as_they_are_stored(seed, n_streams, size, K, width, kind):
    rng = np.random.default_rng(seed)
    numeric = rng.normal(size=(3, 2 * size + 3 * GAP)).astype(kind)
    places = GAP + np.arange(size, dtype=INDEX)
    places[size // 2 :] += rng.integers(0, size + GAP)  # a second sequence, after numbers of the gap
    reads = numeric, places, rng.integers(0, 3, n_streams), rng.integers(-GAP, GAP + 1, n_streams)
    reads += rng.uniform(-4.0, 4.0, n_streams), rng.uniform(0.1, 1.0, n_streams)
    weights, before = rng.normal(size=(n_streams, K)), rng.normal(size=(size, K))
    scores, grad, block = before.copy(), weights.copy(), np.full((6 + K, width), np.nan, dtype=kind)
    numbers.gather_clean(*reads, weights, block, scores)
    numbers.scatter_clean(*reads, before, block, grad)
    x = np.abs(np.stack([numeric[c, places + o] for c, o in zip(*reads[2:4])], axis=1)) * reads[5]
    x += np.abs(reads[4] * reads[5])  # the numbers and their centers are summed apart
    error = (max(n_streams, size) + 4) * np.finfo(kind).eps
    bound = error * (np.abs(before) + x @ np.abs(weights))
    assert (np.abs(scores - before - reference.gather_numbers(*reads, weights)) <= bound).all()
    bound = error * (x.T @ np.abs(before) + np.abs(weights))
    assert (np.abs(grad - weights - reference.scatter_numbers(*reads, before)) <= bound).all()
