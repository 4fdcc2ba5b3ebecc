"""Columns that are derived from others: what they hold, whoever reads them, and that no Dataset stores them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hedgerow.data.dataset import Dataset
from hedgerow.data.derived import FUNCTIONS, number_row, number_rows, parse_features, stored_numbers
from hedgerow.data.encoding import encode, learn, learn_corpus
from hedgerow.data.extension import extend
from hedgerow.data.settling import narrow
from hedgerow.data.windows import windowed, with_window
from hedgerow.errors import InputError
from tests.reference.derived import derive

ALL = ["lag(2)", "difference", "rolling_mean(3)", "rolling_std(3)", "rolling_min(4)", "rolling_max(2)"]
RNG = np.random.default_rng(3)


def some_arrays(*lengths: int) -> list[np.ndarray]:
    X = [RNG.normal(size=(n, 2)) for n in lengths]
    for x in X:
        x[RNG.random(x.shape) < 0.2] = np.nan
    return X


X = some_arrays(5, 1, 8, 3)
y = [["a"] * len(x) for x in X]


def rows_of(dataset: Dataset) -> dict[str, list[np.ndarray]]:
    """The numbers of every derived column, sequence by sequence."""
    found = {}
    for column in dataset.schema.columns:
        if column.derived is not None:
            row, low = number_row(dataset, column)
            assert low == 0
            assert np.isnan(np.delete(row, inside(dataset))).all()
            found[column.name] = [row[s : s + n] for s, n in zip(dataset.start, np.diff(dataset.offsets))]
    return found


def inside(dataset: Dataset) -> np.ndarray:
    return np.concatenate([np.arange(s, s + n) for s, n in zip(dataset.start, np.diff(dataset.offsets))])


@pytest.mark.parametrize("window", [0, 2, (1, 0), {"0": 1}])
def test_sequences_do_not_see_each_other_and_nothing_is_stored(window):
    dataset = learn(X, y, window=window, features=ALL)
    assert dataset.numeric.shape[0] == 2
    assert dataset.schema.features == parse_features(ALL)
    rows = rows_of(dataset)
    assert len(rows) == 2 * len(ALL)
    for feature in parse_features(ALL):
        name, span = feature[:-1].split("(")
        for d in (0, 1):
            for x, values in zip(X, rows[f"{feature} of {d}"]):
                np.testing.assert_array_equal(values, derive(name, x[:, d].tolist(), int(span)))


def test_a_window_is_that_of_the_source():
    columns = learn(X, y, window={"0": (2, 1)}, features=["lag"]).schema.of("numeric")
    assert [column.offsets for column in columns] == [(-2, -1, 0, 1), (0,)] * 2


def test_chunks_are_parts_of_the_whole():
    dataset = learn(X, y, window=2, features=ALL)
    whole, zero = number_rows(dataset, 0, len(dataset))
    assert zero == 0
    for first in range(len(X)):
        for last in range(first + 1, len(X) + 1):
            rows, low = number_rows(dataset, first, last)
            np.testing.assert_array_equal(rows, whole[:, low : low + rows.shape[1]])
            assert low <= dataset.start[first] - 2
            assert low + rows.shape[1] >= dataset.start[last - 1] + len(X[last - 1]) + 2
    for column, row in zip(dataset.schema.of("numeric"), whole):
        np.testing.assert_array_equal(number_row(dataset, column)[0], row)


def test_without_derived_columns_the_stored_array_is_read():
    dataset = learn(X, y, window=1)
    assert number_rows(dataset, 1, 2)[0] is dataset.numeric


def test_sequences_by_themselves_pieces_and_other_windows_have_the_same_bits():
    dataset = learn(X, y, features=ALL)
    for name, parts in rows_of(dataset).items():
        for i, values in enumerate(parts):
            np.testing.assert_array_equal(rows_of(encode(dataset.schema, X[i : i + 1]))[name][0], values)
            np.testing.assert_array_equal(rows_of(dataset.take(np.array([i])))[name][0], values)
    wide = with_window(dataset, windowed(dataset.schema, 3))
    assert wide.equals(learn(X, y, window=3, features=ALL))
    piece = dataset.cut(np.array([2]), np.array([4]), np.array([4]))
    alone = rows_of(encode(dataset.schema, [X[2][4:]]))
    assert all(np.array_equal(parts[0], alone[name][0], equal_nan=True) for name, parts in rows_of(piece).items())


def test_means_are_learnt_from_the_sequences_that_train():
    learnt = learn_corpus(X, y, columns=None, window=1)
    learnt = learnt._replace(dataset=learn(X, y, window=1, features=ALL))
    kept, rest = np.array([0, 2]), np.array([1, 3])
    part, other = narrow(learnt, kept, learnt.dataset.take(kept), learnt.dataset.take(rest))
    expected = learn([X[i] for i in kept], [y[i] for i in kept], window=1, features=ALL)
    assert part.equals(expected)
    assert other.schema == expected.schema
    means = {column.name: column.center for column in expected.schema.columns}
    assert means["rolling_max(2) of 1"] == np.nanmean(np.concatenate(rows_of(expected)["rolling_max(2) of 1"]))


def test_an_absent_weight_is_0():
    rows = [{"w": 2.0, "x": "a"}, {"x": "a"}, {"w": 5.0, "x": "a"}]
    dataset = learn([rows], [["a"] * 3], features=["difference", "rolling_mean(2)"])
    found = rows_of(dataset)
    np.testing.assert_array_equal(found["difference(1) of w"][0], [np.nan, -2.0, 5.0])
    np.testing.assert_array_equal(found["rolling_mean(2) of w"][0], [2.0, 1.0, 2.5])
    declared = learn([rows], [["a"] * 3], columns={"w": "numeric"}, features=["difference", "rolling_mean(2)"])
    np.testing.assert_array_equal(rows_of(declared)["difference(1) of w"][0], [np.nan, np.nan, np.nan])


def test_data_may_come_later():
    dataset = learn(X, y, features=ALL)
    later = extend(dataset.schema, X[:1], [["b"] * 5])
    assert later.schema.columns == dataset.schema.columns
    assert later.numeric.shape[0] == 2
    empty = encode(dataset.schema, [], may_be_empty=True)
    assert [number_row(empty, column)[0].size for column in empty.schema.of("numeric")] == [0] * 14


def test_names_have_usual_spans_and_each_counts_once():
    assert parse_features(None) == ()
    assert parse_features("rolling_std") == ("rolling_std(10)",)
    assert parse_features(["lag", "difference( 3 )", "lag(1)"]) == ("lag(1)", "difference(3)")
    assert set(FUNCTIONS) == {"lag", "difference", "rolling_mean", "rolling_std", "rolling_min", "rolling_max"}


@pytest.mark.parametrize(
    ("features", "match"),
    [
        (["rolling_meen"], r"Did you mean 'rolling_mean'\? Known are lag, difference, rolling_mean"),
        (["rolling_mean(0)"], "from 1 to 1000"),
        (["rolling_mean(1001)"], "from 1 to 1000"),
        (["rolling_mean(-1)"], "rolling_mean\\(5\\) gives the span"),
        ([3], "features has 3"),
        (7, "features is 7"),
        ({"lag": 1}, "Give None, 'auto', or a list"),
    ],
)
def test_what_is_not_known_is_refused(features, match):
    with pytest.raises(InputError, match=match) as caught:
        learn(X, y, features=features)
    assert caught.value.parameter == "features"


def test_data_without_numbers_and_names_that_are_taken_are_refused():
    with pytest.raises(InputError, match=r"numeric columns, and the data has none.*'token'"):
        learn([["a", "b"]], [["A", "B"]], features=["lag"])
    rows = [{"x": 1.0, "lag(1) of x": "a"}, {"x": 2.0, "lag(1) of x": "b"}]
    with pytest.raises(InputError, match="has the name of one of the features"):
        learn([rows], [["A", "B"]], features=["lag"])


def test_stored_numbers_are_those_of_the_data():
    assert [column.name for column in stored_numbers(learn(X, y, features=ALL).schema)] == ["0", "1"]


def test_single_precision_is_derived_in_double():
    dataset = learn([x.astype(np.float32) for x in X], y, features=ALL)
    single = replace(dataset, numeric=dataset.numeric.astype(np.float32))
    rows, expected = rows_of(single), rows_of(dataset)
    for name, parts in expected.items():
        for one, other in zip(parts, rows[name]):
            np.testing.assert_array_equal(one, other)
            assert other.dtype == np.float64
