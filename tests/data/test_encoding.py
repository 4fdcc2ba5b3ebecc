"""One Dataset from every shape of input; what a value means; what prediction does with the unknown."""

from __future__ import annotations

import gc
import json
import math
import tracemalloc
import weakref
from collections import OrderedDict

import numpy as np
import pandas as pd
import polars as pl
import pycrfsuite
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.data import encoding
from hedgerow.data import rows as row_module
from hedgerow.data.dataset import Dataset
from hedgerow.data.encoding import encode, learn
from hedgerow.data.readers import read_conll, read_jsonl, sequences
from hedgerow.data.rows import BLOCK_POSITIONS, Item
from hedgerow.data.sequences import Sequences
from hedgerow.data.settling import SPARSE
from hedgerow.errors import InputError
from hedgerow.legend import FIRST_VALUE, MISSING, UNLABELLED

from .corpora import TAGS, WORDS, corpora, features, value

SHAPES = [[{"word": w, "size": len(w), "short": len(w) < 3} for w in words] for words in WORDS]


# ---- the same corpus by every reader


def as_dicts():
    return SHAPES, TAGS


def as_other_dicts():
    return [tuple(OrderedDict(reversed(row.items())) for row in rows) for rows in SHAPES], map(tuple, TAGS)


def as_generator():
    return (iter(rows) for rows in SHAPES), (list(tags) for tags in TAGS)


def table():
    rows = [row | {"id": i, "tag": tag} for i, tags in enumerate(TAGS) for row, tag in zip(SHAPES[i], tags)]
    return {name: [row[name] for row in rows] for name in rows[0]}


def as_pandas():
    return sequences(pd.DataFrame(table()), by="id", label="tag")


def as_polars():
    return sequences(pl.DataFrame(table()), by="id", label="tag")


def as_pandas_frames():
    return [pd.DataFrame(rows) for rows in SHAPES], [np.array(tags) for tags in TAGS]


def as_polars_frames():
    return [pl.DataFrame(rows) for rows in SHAPES], np.array([*map(list, TAGS)], dtype=object)


def as_jsonl_features():
    return read_jsonl(json.dumps({"features": rows, "labels": tags}) for rows, tags in zip(SHAPES, TAGS))


def as_jsonl_columns():
    lines = (
        json.dumps({"columns": {name: [row[name] for row in rows] for name in rows[0]}, "labels": tags})
        for rows, tags in zip(SHAPES, TAGS)
    )
    return read_jsonl(lines)


def as_slice_of_sequences():
    X, y = as_pandas()
    twice = Sequences(
        {name: np.concatenate([v, v]) for name, v in X.columns.items()},
        np.concatenate([X.offsets, X.offsets[1:] + X.offsets[-1]]),
        X.kinds,
    )
    return twice[[3, 4, 5]], y


READERS = [
    as_other_dicts, as_generator, as_pandas, as_polars, as_pandas_frames, as_polars_frames, as_jsonl_features,
    as_jsonl_columns, as_slice_of_sequences,
]  # fmt: skip
KINDS = {"word": "categorical", "size": "numeric", "short": "boolean"}


@pytest.mark.parametrize("window", [0, 2, {"word": (1, 0)}])
@pytest.mark.parametrize("read", READERS)
def test_every_reader_gives_the_same_dataset(read, window):
    X, y = read()
    assert learn(X, y, columns=KINDS, window=window).equals(learn(*as_dicts(), columns=KINDS, window=window))


def test_text_columns_need_no_declaration():
    lines = [f"{w}\t{w.upper()}\t{tag}" for words, tags in zip(WORDS, TAGS) for w, tag in zip(words, tags)]
    lines[3:3] = [""]
    lines[6:6] = [""]
    from_conll = learn(*read_conll(lines))
    rows = [[{"1": w.upper(), "0": w} for w in words] for words in WORDS]
    assert from_conll.equals(learn(rows, TAGS))
    assert from_conll.equals(learn([np.array([[w, w.upper()] for w in words]) for words in WORDS], TAGS))


def test_tokens():
    flat, lengths = [w for words in WORDS for w in words], [3, 2, 4]
    expected = learn([[{"token": w} for w in words] for words in WORDS])
    for X in (WORDS, [np.array(words) for words in WORDS], (words for words in WORDS)):
        assert learn(X).equals(expected)
    assert learn(flat, lengths=lengths).equals(expected)
    lines = (json.dumps({"tokens": words}) for words in WORDS)
    assert learn(read_jsonl(lines)[0]).equals(expected)


def test_numbers(rng):
    X = rng.normal(size=(2, 3, 4))
    y = np.array([[0, 1, 0], [1, 1, 0]])
    expected = learn(list(X), y.tolist())
    assert learn(X, y).equals(expected)
    assert learn(X.reshape(6, 4), y.ravel(), lengths=[3, 3]).equals(expected)
    assert learn(X.tolist(), y).equals(expected)
    assert learn([list(rows) for rows in X], y).equals(expected)
    frames = [pd.DataFrame(rows, columns=list("0123")) for rows in X]
    assert learn(frames, y).equals(expected)
    dicts = [[dict(zip("0123", row)) for row in rows] for rows in X.tolist()]
    assert learn(dicts, y, columns={"*": "numeric"}).schema.columns == expected.schema.columns
    np.testing.assert_array_equal(expected.numeric, X.reshape(6, 4).T)


def test_attribute_lists_and_sparse_rows():
    lists = [[["0", "2"], []], [["1"]]]
    dense = [np.array([[1, 0, 1], [0, 0, 0]]), np.array([[0, 1, 0]])]
    expected = learn(lists)
    assert expected.attr_val is None
    assert learn([[{"0", "2"}, ()], [frozenset("1")]]).equals(expected)
    assert learn([scipy.sparse.csr_matrix(rows) for rows in dense]).equals(expected)
    assert learn([scipy.sparse.coo_array(rows) for rows in dense]).equals(expected)
    assert learn(scipy.sparse.csr_array(np.concatenate(dense)), lengths=[2, 1]).equals(expected)
    explicit_zero = scipy.sparse.csr_array((np.array([1.0, 1.0, 0.0]), np.array([0, 2, 1]), np.array([0, 2, 3])))
    assert learn([explicit_zero, dense_row := scipy.sparse.csr_array(dense[1])]).equals(expected)
    assert encode(expected.schema, [explicit_zero, dense_row]).equals(expected)


# ---- what a value means


@given(corpora)
def test_features_are_those_of_crfsuite(X):
    dataset = learn(X)
    for i, rows in enumerate(X):
        clean = [{key: v for key, v in row.items() if v is not None} for row in rows]
        for t, expected in enumerate(pycrfsuite.ItemSequence(clean).items()):
            assert features(dataset, i, t) == {name: weight for name, weight in expected.items() if weight != 0}


@given(corpora, st.sampled_from([0, 1, (0, 2), {"*": 1}]), st.randoms())
def test_encoding_the_training_corpus_gives_the_learnt_dataset(X, window, random):
    dataset = learn(X, [["a"] * len(rows) for rows in X], window=window)
    shuffled = [[dict(random.sample(list(row.items()), len(row))) for row in rows] for rows in X]
    assert encode(dataset.schema, shuffled, [["a"] * len(rows) for rows in X]).equals(dataset)


def test_rare_keys_are_attributes_and_frequent_ones_columns():
    n = 4 * SPARSE
    rows = [{"word": "w", "size": 1.0} | ({"rare": "x", "few": 2.0, "seldom": True} if t < 3 else {}) for t in range(n)]
    dataset = learn([rows])
    assert [c.name for c in dataset.schema.columns] == ["size", "word"]
    assert dataset.schema.attributes.names() == ["few", "rare:x", "seldom"]
    assert features(dataset, 0, 0) == {"word:w": 1, "size": 1, "rare:x": 1, "few": 2, "seldom": 1}
    declared = learn([rows], columns={"rare": "categorical"})
    assert [c.name for c in declared.schema.columns] == ["rare", "size", "word"]


def test_names_of_attributes():
    row = {"s": "v", "n": 2, "b": True, "off": False, "l": ["i", "j"], "d": {"s": "v", "n": 0.5, "d": {"l": ["i"]}}}
    dataset = learn([[row]], columns={"*": "attributes"})
    assert not dataset.schema.columns
    expected = {"s:v": 1, "n": 2, "b": 1, "l:i": 1, "l:j": 1, "d:s:v": 1, "d:n": 0.5, "d:d:l:i": 1}
    assert features(dataset, 0, 0) == expected


def test_bool_beside_number_is_a_number():
    dataset = learn([[{"x": True}, {"x": 2.5}, {"x": False}]])
    assert dataset.schema.columns[0].kind == "numeric"
    np.testing.assert_array_equal(dataset.numeric, [[1, 2.5, 0]])
    later = [[{"x": True}] * 10 for _ in range(BLOCK_POSITIONS // 10 + 2)] + [[{"x": 2}]]
    assert learn(later).schema.columns[0].kind == "numeric"
    assert learn(later[:-1]).schema.columns[0].kind == "boolean"


def test_absent_and_missing_in_undeclared_columns():
    dataset = learn([[{"n": 1.0, "s": "a", "b": True}, {"n": None, "s": None, "b": None}, {}]])
    for t in (1, 2):
        assert features(dataset, 0, t) == {}
        assert value(dataset, "s", 0, t) == value(dataset, "b", 0, t) == "missing"


def test_absent_and_missing_in_declared_columns():
    kinds = {"n": "numeric", "s": "categorical", "b": "boolean"}
    nan = float("nan")
    X = [[{"n": 1.0, "s": "a", "b": True}, {"n": None, "s": None, "b": None}, {}, {"n": nan, "s": nan, "b": nan}]]
    dataset = learn(X, columns=kinds)
    for t in (1, 2, 3):
        assert math.isnan(value(dataset, "n", 0, t))
        assert value(dataset, "s", 0, t) == value(dataset, "b", 0, t) == "missing"
    assert encode(dataset.schema, X).equals(dataset)
    frame = pd.DataFrame({"n": [1.0, nan, nan, nan], "s": ["a", None, None, nan], "b": [True, None, None, None]})
    assert learn([frame], columns=kinds).equals(dataset)


def test_declared_kinds_hold_where_keys_hardly_repeat():
    X = [[{f"k{t}": 1, "id": t % 3, "len": float("nan") if t % 2 else 1.5} for t in range(40)]]
    dataset = learn(X, columns={"id": "categorical", "len": "numeric"})
    assert value(dataset, "id", 0, 1) == "1"
    assert math.isnan(value(dataset, "len", 0, 1))
    assert encode(dataset.schema, X).equals(dataset)
    with pytest.raises(InputError, match="sequence 0, position 1, column 'len': the value is nan"):
        learn(X, columns={"id": "categorical"})


def test_numbers_declared_categorical_are_text():
    dataset = learn([[{"id": 7}, {"id": 7.0}, {"id": "7"}, {"id": 7.5}, {"id": True}]], columns={"id": "categorical"})
    assert [value(dataset, "id", 0, t) for t in range(5)] == ["7", "7", "7", "7.5", "True"]
    assert learn([np.array([[7.0], [np.nan]])], columns={"0": "categorical"}).codes.tolist() == [[2, MISSING]]


def test_star_is_the_kind_of_all_other_columns():
    X = [[{"a": 1, "b": 2, "c": ["x"]}, {"a": 2, "b": None}]]
    dataset = learn(X, columns={"a": "categorical", "c": "attributes", "*": "numeric"})
    assert [(c.name, c.kind) for c in dataset.schema.columns] == [("a", "categorical"), ("b", "numeric")]
    assert math.isnan(value(dataset, "b", 0, 1))
    assert dataset.schema.attributes.names() == ["c:x"]
    assert encode(dataset.schema, X).equals(dataset)


def test_nan_of_a_column_declared_attributes_is_absent():
    X = [[{"a": float("nan"), "b": 1.0}]]
    dataset = learn(X, columns={"*": "attributes"})
    assert features(dataset, 0, 0) == {"b": 1.0}
    assert encode(dataset.schema, X).equals(dataset)
    frame = pd.DataFrame({"a": [float("nan")], "b": [1.0]})
    assert learn([frame], columns={"*": "attributes"}).equals(dataset)


def test_sets_of_attributes_have_a_fixed_order():
    assert learn([[{"l": {"b", "c", "a"}}]]).schema.attributes.names() == ["l:a", "l:b", "l:c"]
    assert learn([[{"b", "c", "a"}]]).schema.attributes.names() == ["a", "b", "c"]


# ---- features of the whole sequence


def test_features_of_the_whole_sequence_are_stored_once():
    many = [
        Item(words, {"lang": "en" if i else "de", "n": len(words), "old": bool(i)}) for i, words in enumerate(WORDS)
    ]
    dataset = learn(many, TAGS)
    assert [(c.name, c.kind, c.constant) for c in dataset.schema.columns] == [
        ("token", "categorical", False),
        ("lang", "categorical", True),
        ("n", "numeric", True),
        ("old", "boolean", True),
    ]
    assert dataset.seq_codes.tolist() == [[2, 3, 3], [2, 3, 3]]
    assert dataset.seq_numeric.tolist() == [[3, 2, 4]]
    assert encode(dataset.schema, many, TAGS).equals(dataset)
    columns = Sequences(
        {"token": np.array([w for words in WORDS for w in words], dtype=object)},
        np.array([0, 3, 5, 9]),
        {"token": "categorical", "lang": "categorical", "n": "numeric", "old": "boolean"},
        {
            "lang": np.array(["de", "en", "en"], dtype=object),
            "n": np.array([3.0, 2, 4]),
            "old": np.array([0, 1, 1]) > 0,
        },
    )
    kinds = {"lang": "categorical", "n": "numeric", "old": "boolean"}
    assert learn(columns, TAGS, columns=kinds).equals(learn(many, TAGS, columns=kinds))


def test_absent_features_of_the_whole_sequence():
    items = [Item(["a"], {"n": 2.0, "s": "x"}), Item(["b"], {}), ["c"]]
    dataset = learn(items)
    assert dataset.schema.of("numeric", constant=True)[0].fill == 0.0
    np.testing.assert_array_equal(dataset.seq_numeric, [[2.0, np.nan, np.nan]])
    assert dataset.seq_codes.tolist() == [[2, MISSING, MISSING]]
    assert np.isnan(learn(items, columns={"n": "numeric"}).seq_numeric[0, 1:]).all()
    assert encode(dataset.schema, [Item(["a"], {"n": 1, "s": "new", "more": 3})]).seq_codes.tolist() == [[MISSING]]


def test_many_features_of_the_whole_sequence_with_few_common_keys():
    items = [Item(["a"], {f"k{i}": i + 1.0, "n": float(i)}) for i in range(40)]
    dataset = learn(items)
    assert len(dataset.schema.of("numeric", constant=True)) == 41
    names = [c.name for c in dataset.schema.columns if c.constant]
    assert dataset.seq_numeric[names.index("n")].tolist() == list(range(40))
    np.testing.assert_array_equal(
        dataset.seq_numeric[names.index("k7")], [8.0 if i == 7 else np.nan for i in range(40)]
    )


# ---- prediction


def test_what_training_did_not_see_is_ignored():
    rows = [{"w": "a", "l": ["x"], "n": 1.0}] * 2
    schema = learn([rows], [["A", "B"]]).schema
    new = encode(
        schema, [[{"w": "new", "l": ["x", "y"], "z": 3, "q": "text", "d": {"e": ["f"]}, "n": 2.0}, {"w": "a"}]]
    )
    assert value(new, "w", 0, 0) == "missing"
    assert features(new, 0, 0) == {"l:x": 1.0, "n": 2.0}
    assert features(new, 0, 1) == {"w:a": 1.0}
    assert new.labels is None
    assert new.schema is schema


def test_a_column_absent_at_prediction_is_missing():
    schema = learn([pd.DataFrame({"a": ["x"], "n": [1.0]})]).schema
    new = encode(schema, [[{}]])
    assert value(new, "a", 0, 0) == "missing"
    assert math.isnan(value(new, "n", 0, 0))


def test_frames_at_training_and_dicts_at_prediction():
    frame = pd.DataFrame({"a": ["x", None], "n": [1.0, float("nan")], "b": [True, False]})
    dataset = learn([frame])
    rows = [{"a": "x", "n": 1.0, "b": True}, {"a": None, "n": float("nan"), "b": False}]
    assert encode(dataset.schema, [rows]).equals(dataset)


# ---- generators and memory


class Row(dict):
    """A dict that can be watched."""


def test_rows_are_freed_while_encoding_goes_on(monkeypatch):
    monkeypatch.setattr(row_module, "BLOCK_POSITIONS", 200)
    monkeypatch.setattr(Row, "__hash__", object.__hash__)
    alive: weakref.WeakSet[Row] = weakref.WeakSet()
    most = 0

    def corpus():
        nonlocal most
        for i in range(60):
            sequence = [Row(word=f"w{i}", size=t, inner={"x": ["y"]}) for t in range(50)]
            alive.update(sequence)
            yield sequence
            del sequence
            if i % 10 == 0:
                gc.collect()
            most = max(most, len(alive))

    assert learn(corpus()).n_positions == 3000
    assert 100 <= most <= 400


def test_memory_stays_near_that_of_the_dataset(monkeypatch):
    monkeypatch.setattr(row_module, "BLOCK_POSITIONS", 200)

    def corpus():
        for i in range(500):
            yield [{f"f{j}": f"v{(i + j) % 50}" for j in range(20)} for _ in range(20)]

    tracemalloc.start()
    dataset = learn(corpus())
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    size = sum(v.nbytes for v in vars(dataset).values() if isinstance(v, np.ndarray))
    assert size == 20 * 4 * 10_000 + 8 * (501 + 500 + 10_001)  # codes; offsets, starts, and pointers to no attributes
    assert peak < 4 * size


# ---- y and weights


def test_labels_are_sorted_and_unlabelled_positions_are_marked():
    dataset = learn(WORDS, [["B", None, "A"], ["A", {"A", "C"}], [{"B"}, "A", "A", None]])
    assert dataset.schema.labels == ("A", "B", "C")
    assert dataset.labels.tolist() == [1, UNLABELLED, 0, 0, UNLABELLED, 1, 0, 0, UNLABELLED]
    assert dataset.allowed.sum(axis=1).tolist() == [3, 3, 3, 3, 2, 1, 3, 3, 3]
    assert dataset.allowed[4].tolist() == [True, False, True]


def test_weights_of_sequences():
    weights = np.array([1.0, 0.5, 2.5])
    dataset = learn(WORDS, TAGS, sample_weight=weights)
    np.testing.assert_array_equal(dataset.weight_seq, weights)
    weights[0] = 3.0  # the caller's own array is neither frozen nor shared
    assert dataset.weight_seq[0] == 1.0


@pytest.mark.parametrize("lengths", [None, [3, 2, 4]])
def test_a_sequence_of_weight_0_is_left_out(lengths):
    flat = [word for words in WORDS for word in words], [tag for tags in TAGS for tag in tags]
    X, y = (WORDS, TAGS) if lengths is None else flat
    dataset = learn(X, y, lengths=lengths, sample_weight=[1.0, 0.0, 2.5])
    assert dataset.equals(learn([WORDS[0], WORDS[2]], [TAGS[0], TAGS[2]], sample_weight=[1.0, 2.5]))


def test_means_and_deviations_count_weights(rng):
    X = [rng.normal(size=(n, 2)) * 10.0**i for i, n in enumerate((3, 5, 4))]
    X[0][1, 0] = np.nan
    twice = learn([X[0], X[1], X[1], X[2], X[2], X[2]], features=["lag(1)"]).schema
    weighted = learn(X, features=["lag(1)"], sample_weight=[1, 2, 3]).schema
    for one, other in zip(weighted.columns, twice.columns, strict=True):
        np.testing.assert_allclose([one.center, one.spread], [other.center, other.spread], rtol=1e-12)


@pytest.mark.parametrize("value", [0.0, 0.1, -1e9, 1e300])
def test_a_column_of_one_value_becomes_one_of_zeros(value):
    (column,) = learn([np.full((7, 1), value)]).schema.columns
    assert (column.center, column.spread) == (value, 1.0)


def test_huge_numbers_have_a_deviation():
    (column,) = learn([np.array([[1e300], [-1e300], [1.7e308]])]).schema.columns
    assert np.isfinite(column.center)
    assert 1e307 < column.spread < 1e308


def test_weights_of_positions_unlabel():
    weights = [[1, 0, 1], np.array([1.0, 1.0]), (0, 1, 1, True)]
    dataset = learn(WORDS, TAGS, sample_weight=weights)
    assert dataset.weight_seq is None
    assert np.flatnonzero(dataset.labels == UNLABELLED).tolist() == [1, 5]
    open_set = learn(WORDS, [[{"a", "b"}] * len(words) for words in WORDS], sample_weight=weights)
    assert open_set.allowed.all()


def test_arrays_are_frozen():
    dataset = learn(SHAPES, TAGS, window=1)
    assert isinstance(dataset, Dataset)
    arrays = [v for v in vars(dataset).values() if isinstance(v, np.ndarray)]
    assert len(arrays) >= 9
    assert not any(array.flags.writeable for array in arrays)
    assert all(array.flags.c_contiguous for array in arrays)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.bool_])
def test_rows_of_an_array_that_lie_apart_are_those_that_lie_together(dtype):
    """More columns and rows than are copied at a time."""
    rng = np.random.default_rng(0)
    X = (rng.random((9000, 35)) * 3).astype(dtype)
    y = rng.integers(0, 2, 9000).astype(str)
    rows, columns = (learn(given, y, window=1, lengths=[4500, 4500]) for given in (X, np.asfortranarray(X)))
    assert rows.schema == columns.schema
    np.testing.assert_array_equal(rows.codes, columns.codes)
    np.testing.assert_array_equal(rows.numeric, columns.numeric)
    stored = rows.codes - FIRST_VALUE if dtype is np.bool_ else rows.numeric
    np.testing.assert_array_equal(stored[: X.shape[1], 1:4501].T, X[:4500])


@pytest.mark.parametrize(("most", "collected"), [(2, True), (3, False)])
def test_many_texts_that_are_dropped_give_their_memory_back(most, collected, monkeypatch):
    calls = []
    monkeypatch.setattr(encoding, "MANY_TEXTS", most)
    monkeypatch.setattr(encoding.gc, "collect", lambda: calls.append(1))
    learn([["a", "b", "c"]], [["x", "y", "x"]])
    assert bool(calls) == collected
