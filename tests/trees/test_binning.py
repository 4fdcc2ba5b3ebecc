"""Bins: codes as they are, few numbers exactly, many by quantiles; missing and outside have bins of their own."""

from __future__ import annotations

import numpy as np
import pytest

from hedgerow.data.encoding import encode, learn
from hedgerow.data.rows import Item
from hedgerow.errors import InputError
from hedgerow.trees import binning as module
from hedgerow.trees.binning import ATTRIBUTES, CODES, ITEMS, ORDERED, bin_dataset, learn_binning, split_columns
from hedgerow.trees.quantiles import in_single, quantiles_of


def items_at(binning, data, column, t, offset=0):
    """The items of a sparse column that position t sees at an offset."""
    g, p = column - binning.n_dense, int(data.place[t]) + offset
    begin, end = data.columns.item_ptr[g, p : p + 2]
    return data.columns.items[begin:end].tolist()


def test_codes_keep_their_numbers_and_windows_see_outside():
    dataset = learn([["a", "b", "a"], ["c"]], [["x", "y", "x"], ["y"]], window=1)
    binning = learn_binning(dataset)
    data = bin_dataset(binning, dataset, postings=True)
    assert binning.kinds == (CODES,)
    assert binning.streams[1].tolist() == [-1, 0, 1]
    np.testing.assert_array_equal(data.bins[0, data.place], dataset.codes[0, data.place - binning.margin])
    assert data.bins[0, data.place[0] - 1] == 1  # outside
    assert data.first[data.place].tolist() == [1, 0, 0, 1]
    np.testing.assert_array_equal(data.window_place, data.place)


def test_no_read_of_a_window_leaves_the_arrays():
    dataset = learn([["a"], ["b", "c"]], [["x"], ["y", "x"]], window=(4, 1))
    binning = learn_binning(dataset)
    data = bin_dataset(binning, dataset, postings=True)
    width = int(binning.blocks[0, 3])
    assert data.place.min() - 4 >= binning.margin
    assert data.place.max() + 1 + width <= data.bins.shape[1]


def test_postings_list_every_place_of_a_code():
    dataset = learn([["a", "b", "a"], ["c", "a"]], [["x", "y", "x"], ["y", "x"]], window=1)
    data = bin_dataset(learn_binning(dataset), dataset, postings=True)
    postings, ptr, margin = data.columns.postings, data.columns.posting_ptr, data.columns.margin
    inner = np.arange(margin, data.bins.shape[1] - margin)
    for code in range(5):
        run = postings[ptr[0, code] : ptr[0, code + 1]]
        np.testing.assert_array_equal(run, inner[data.bins[0, inner] == code])


def test_few_numbers_are_exact_and_nan_is_missing():
    values = np.array([[1.0], [3.0], [np.nan], [2.0], [3.0]])
    dataset = learn([values], [["x", "y", "x", "y", "x"]], window=1)
    binning = learn_binning(dataset)
    data = bin_dataset(binning, dataset, postings=False)
    assert binning.kinds == (ORDERED,)
    assert binning.n_bins == (5,)  # three values, missing, outside
    assert data.bins[0, data.place].tolist() == [0, 2, 3, 1, 2]
    assert data.bins[0, data.place[0] - 1] == 4


def test_many_numbers_go_by_quantiles(rng):
    values = rng.normal(size=(5000, 1))
    dataset = learn([values], [["x", "y"] * 2500])
    binning = learn_binning(dataset, max_bins=16)
    data = bin_dataset(binning, dataset, postings=False)
    own = data.bins[0, data.place]
    assert binning.n_bins == (18,)
    assert np.bincount(own, minlength=18)[:16].min() > 250
    assert np.all(np.diff(own[np.argsort(values[:, 0])].astype(int)) >= 0)


def test_new_numbers_fall_into_the_bins_of_training():
    dataset = learn([np.array([[1.0], [2.0], [4.0]])], [["x", "y", "x"]])
    binning = learn_binning(dataset)
    new = encode(dataset.schema, [np.array([[-9.0], [1.4], [2.9], [3.1], [99.0]])])
    data = bin_dataset(binning, new, postings=False)
    assert data.bins[0, data.place].tolist() == [0, 0, 1, 2, 2]


def test_huge_numbers_have_bins():
    dataset = learn([np.array([[1e150], [-1e150], [0.0]])], [["x", "y", "x"]])
    assert np.isfinite(learn_binning(dataset).thresholds[0]).all()


def test_attributes_are_items():
    dataset = learn([[["a", "b"], ["c"], []], [["b"]]], [["x", "y", "x"], ["y"]], window=1)
    binning = learn_binning(dataset)
    data = bin_dataset(binning, dataset, postings=True)
    column = binning.names.index(ATTRIBUTES)
    assert binning.kinds[column] == ITEMS
    names = dataset.schema.attributes.names()
    seen = [sorted(names[binning.item_source[column][i]] for i in items_at(binning, data, column, t)) for t in range(4)]
    assert seen == [["a", "b"], ["c"], [], ["b"]]
    assert items_at(binning, data, column, 1, -1) == items_at(binning, data, column, 0)
    ptr, b = data.columns.item_place_ptr, names.index("b")
    item = int(np.flatnonzero(binning.item_source[column] == b)[0])
    assert data.columns.item_places[ptr[0, item] : ptr[0, item + 1]].tolist() == data.place[[0, 3]].tolist()


def test_rare_items_are_left_out_and_unseen_ones_are_none():
    dataset = learn([[["a", "b"], ["a"], ["a", "c"]]], [["x", "y", "x"]])
    binning = learn_binning(dataset, min_frequency=2)
    column = binning.names.index(ATTRIBUTES)
    assert binning.n_bins[column] == 1
    new = encode(dataset.schema, [[["b", "zzz"], ["a"]]])
    data = bin_dataset(binning, new, postings=False)
    assert [items_at(binning, data, column, t) for t in range(2)] == [[], [0]]


def test_values_of_attributes_are_cut():
    X = [[{"w": value} for value in (1.0, 2.0, 5.0)] + [{"common": "c"}] * 80]
    dataset = learn(X, [["x", "y", "x", "y"] + ["x"] * 79])
    binning = learn_binning(dataset)
    data = bin_dataset(binning, dataset, postings=True)
    column = binning.names.index(ATTRIBUTES)
    assert np.isnan(binning.item_cut[column][0])
    assert binning.item_cut[column][1:].tolist() == [1.5, 3.5]
    assert [items_at(binning, data, column, t) for t in range(4)] == [[0], [0, 1], [0, 1, 2], []]


def test_columns_of_very_many_codes_are_items(monkeypatch):
    monkeypatch.setattr(module, "MAX_BINS", 4)
    dataset = learn([["a", "b", "c"], ["d"]], [["x", "y", "x"], ["y"]], window=1)
    binning = learn_binning(dataset)
    data = bin_dataset(binning, dataset, postings=True)
    assert binning.kinds == (ITEMS,)
    assert binning.item_source[0].tolist() == [1, 2, 3, 4, 5]  # outside, and four values
    assert [items_at(binning, data, 0, t) for t in range(4)] == [[1], [2], [3], [4]]
    assert items_at(binning, data, 0, 0, -1) == [0]


def test_the_commonest_codes_are_gathered_and_the_others_share_a_bin(monkeypatch):
    monkeypatch.setattr(module, "MAX_BINS", 5)
    X = [["a", "b", "b", "c"], ["d", "c", "e", "c"]]
    dataset = learn(X, [["x", "y", "x", "x"]] * 2, window=1)
    binning = learn_binning(dataset, gather=True)
    assert (binning.kinds, binning.n_bins, binning.n_dense) == ((CODES,), (5,), 1)
    assert binning.item_source[0].tolist() == [0, 1, 3, 4]  # missing, outside, b and c
    data = bin_dataset(binning, dataset, postings=True)
    assert data.bins[0, data.place].tolist() == [4, 2, 2, 3, 4, 3, 4, 3]
    assert data.bins[0, data.place[0] - 1] == 1
    new = bin_dataset(binning, encode(dataset.schema, [["e", "new", "b"]]), postings=False)
    assert new.bins[0, new.place].tolist() == [4, 0, 2]
    rare = learn_binning(dataset, min_frequency=3, gather=True)
    assert rare.item_source[0].tolist() == [0, 1, 4]
    tied = learn_binning(learn([["b", "a", "c", "d"]], [["x"] * 4]), gather=True)
    assert tied.item_source[0].tolist() == [0, 1, 2, 3]  # of equally common ones the first


def test_streams_say_what_stands_for_no_value(monkeypatch):
    """Of codes the first bin, of numbers the last but one; inside, and an absent attribute, are values."""
    monkeypatch.setattr(module, "MAX_BINS", 5)
    X = [
        [{"w": w, "n": 1.0, "wide": v, "more": ["p"]} for w, v in zip("ab", "cd")],
        [{"w": "a", "wide": "e", "n": 2.0}],
    ]
    columns = {"w": "categorical", "n": "numeric", "wide": "categorical", "more": "attributes"}
    X[1] += [{"w": "b", "n": None, "wide": "f", "more": ["q"]}]
    dataset = learn(X, [["x", "y"], ["x", "y"]], columns=columns, window=1)
    for keep in (False, True):
        binning = learn_binning(dataset, keep_missing=keep)
        found = {binning.names[c]: gone for c, gone in zip(binning.streams[0].tolist(), binning.streams[5].tolist())}
        numbers = binning.n_bins[binning.names.index("n")]
        expected = {"w": 0, "n": numbers - 2, "wide": 0 if keep else -1, ATTRIBUTES: -1, "(outside)": -1}
        assert found == expected
        wide = binning.item_source[binning.names.index("wide")]
        assert (0 in wide.tolist()) == keep  # nothing was missing there in training


def test_equal_windows_share_a_place(monkeypatch):
    monkeypatch.setattr(module, "_GROUP_FROM", 1)
    dataset = learn([["a", "b"] * 4, ["a", "b"] * 4], [["x", "y"] * 4] * 2, window=1)
    data = bin_dataset(learn_binning(dataset), dataset, postings=True)
    assert data.grouped
    windows = {}
    for t, (p, home) in enumerate(zip(data.place, data.window_place)):
        key = (*data.bins[0, p - 1 : p + 2].tolist(), int(data.first[p]))
        assert windows.setdefault(key, home) == home, t
        assert data.growing.bins[0, home - 1 : home + 2].tolist() == list(key[:3])
        assert data.window_first[home] == key[3]
    assert sorted(windows.values()) == data.places.tolist()


def test_windows_that_have_one_hash_and_differ_share_no_place(monkeypatch):
    monkeypatch.setattr(module, "_GROUP_FROM", 1)
    monkeypatch.setattr(module.kernels.boosting, "hash_windows", lambda *_: None)
    same = learn([["a"] * 8], [["x", "y"] * 4])
    assert bin_dataset(learn_binning(same), same, postings=True).grouped
    one_differs = learn([["a"] * 7 + ["b"]], [["x", "y"] * 4])
    assert not bin_dataset(learn_binning(one_differs), one_differs, postings=True).grouped


def test_the_column_of_places_outside_is_read_at_its_offsets():
    dataset = learn([[["a"], ["b"], ["c"]]], [["x", "y", "x"]], window=1)
    binning = learn_binning(dataset)
    data = bin_dataset(binning, dataset, postings=True)
    column = binning.names.index("(outside)")
    assert binning.offsets[column] == (-1, 3)
    assert [int(data.bins[column, data.place[t] + o]) for t, o in ((0, -1), (1, -1), (1, 1), (2, 1))] == [1, 0, 0, 1]


def test_nothing_to_split_on_is_an_error():
    dataset = learn([[[], []]], [["x", "y"]])
    with pytest.raises(InputError, match="no column"):
        learn_binning(dataset)


def test_columns_are_numbered_dense_ones_first_and_found_where_they_are_stored():
    """By kind, features of whole sequences last; (outside) is there for attributes alone."""
    words = [f"w{i}" for i in range(300)]
    rows = [[{"word": w, "size": float(i), "flag": i % 2 == 0} for i, w in enumerate(words)]]
    whole = {"language": "en", "length": 300.0}
    plain = learn([Item(rows[0], whole)], [["x"] * 300], window=1)
    tagged = learn([Item([row | {"tags": ["a", "b"]} for row in rows[0]], whole)], [["x"] * 300], window=1)
    for dataset, marked in ((plain, []), (tagged, ["(outside)"])):
        dense, sparse = split_columns(dataset.schema)
        assert sorted(one.column.name for one in dense) == sorted([*marked, "flag", "size", "language", "length"])
        assert [one.column.name for one in sparse] == ["word"]
        assert [one.group for one in dense] == [0] * (1 + len(marked)) + [1, 2, 3]
        names = [one.column.name for one in (*dense, *sparse)]
        assert learn_binning(dataset).names == (*names, *[ATTRIBUTES] * len(marked))
        groups = dataset.codes, dataset.numeric, dataset.seq_codes, dataset.seq_numeric
        stored = {one.column.name: groups[one.group][one.row] for one in (*dense, *sparse)}
        np.testing.assert_array_equal(stored["size"][1:-1], np.arange(300.0))
        assert stored["length"].tolist() == [300.0]
        assert len(np.unique(stored["word"][1:-1])) == 300


@pytest.mark.parametrize("max_bins", [8, 64])
def test_numbers_that_single_precision_tells_apart_stay_in_their_bins(max_bins):
    """Also those that are the nearest of single precision to each other, and where it has no room between numbers."""
    rng = np.random.default_rng(0)
    near = np.cumsum(rng.uniform(0.3, 2.5, size=40)) * np.spacing(np.float32(1.0)) + 1.0
    for values in (near, near - 1.0, rng.normal(size=40), np.array([-1e300, 1.0, 1.0 + 1e-15, 1e300])):
        edges, rounded = quantiles_of(values, None, max_bins), in_single(values)
        before, after = np.searchsorted(edges, values), np.searchsorted(edges, rounded)
        cuts = (
            np.unique(values)[:-1]
            if len(values) <= max_bins
            else np.quantile(values, np.arange(1, 8) / 8, method="lower")
        )
        np.testing.assert_array_equal(before, np.searchsorted(np.unique(cuts), values))  # as training cuts them
        alone = np.array([(rounded == value).sum() == 1 for value in rounded])
        np.testing.assert_array_equal(before[alone], after[alone])
