"""A schema that grows from portion to portion: old codes stay, new values come after them, labels stay sorted."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pycrfsuite
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.data.columns import MixedTypesError
from hedgerow.data.dataset import OUTSIDE_COLUMN
from hedgerow.data.encoding import encode, learn
from hedgerow.data.extension import extend
from hedgerow.data.readers import sequences
from hedgerow.data.rows import Item
from hedgerow.errors import HedgerowWarning, InputError
from hedgerow.legend import UNLABELLED

from .corpora import features, positions

WINDOWS = st.sampled_from([0, 1, (0, 2), {"*": 1}])
portions = st.lists(st.lists(positions, min_size=1, max_size=3), min_size=1, max_size=3)


def labels_of(X, label="a"):
    return [[label] * len(rows) for rows in X]


def weights_by_name(item):
    """The features of a sequence as python-crfsuite has them."""
    clean = [{key: v for key, v in row.items() if v is not None} for row in item]
    return [{name: w for name, w in row.items() if w != 0} for row in pycrfsuite.ItemSequence(clean).items()]


# ---- laws


@settings(max_examples=50)
@given(portions, portions, WINDOWS, st.randoms())
@pytest.mark.filterwarnings("ignore:nothing that the model")
def test_what_comes_out_is_what_the_data_says_and_its_schema_encodes_to_it(first, more, window, random):
    schema = learn(first, labels_of(first), window=window).schema
    dataset = extend(schema, more, labels_of(more, "b"))
    for i, rows in enumerate(more):
        assert [features(dataset, i, t) for t in range(len(rows))] == weights_by_name(rows)
    shuffled = [[dict(random.sample(list(row.items()), len(row))) for row in rows] for rows in more]
    assert encode(dataset.schema, shuffled, labels_of(more, "b")).equals(dataset)
    assert dataset.schema.labels == ("a", "b")


@settings(max_examples=50)
@given(portions, portions, WINDOWS)
@pytest.mark.filterwarnings("ignore:nothing that the model")
def test_old_codes_stay(first, more, window):
    old = learn(first, labels_of(first), window=window)
    new = extend(old.schema, more, labels_of(more)).schema
    again = encode(new, first, labels_of(first))
    rows_of = {c.name: i for i, c in enumerate(new.of("categorical", "boolean"))}
    for column, row in zip(old.schema.of("categorical", "boolean"), old.codes):
        kept = new.of("categorical", "boolean")[rows_of[column.name]]
        n_old = len(column.vocabulary or ())
        assert (kept.vocabulary.names()[:n_old] if kept.vocabulary else []) == (
            column.vocabulary.names() if column.vocabulary else []
        )
        inside = again.codes[rows_of[column.name]][places(again)]
        np.testing.assert_array_equal(inside, row[places(old)])
    np.testing.assert_array_equal(again.attr_id, old.attr_id)
    assert new.attributes.names()[: len(old.schema.attributes)] == old.schema.attributes.names()
    assert len(set(new.attributes.names())) == len(new.attributes)
    assert new.attributes.lookup == {name: i for i, name in enumerate(new.attributes.names())}


def places(dataset):
    """The padded places of all positions, in order."""
    return np.concatenate([s + np.arange(n) for s, n in zip(dataset.start, np.diff(dataset.offsets))])


@settings(max_examples=50)
@given(portions)
def test_where_nothing_is_new_the_schema_is_the_same_object(X):
    dataset = learn(X, labels_of(X), window=1)
    again = extend(dataset.schema, X, labels_of(X))
    assert again.schema is dataset.schema
    assert again.equals(dataset)


def test_every_shape_of_the_data_gives_the_same_codes():
    """Dicts are read by groups of equal keys; the order of the positions counts all the same."""
    schema = learn([[{"word": "the", "size": 3.0}] * 2], [["D", "D"]], columns={"size": "numeric"}).schema
    rows = [
        [{"word": "x", "size": 1.0}, {"size": 2.0, "word": "y"}, {"word": "z", "size": 1.0}],
        [{"size": 5.0, "word": "the"}, {"word": "u", "size": 0.0}],
    ]
    y = [["N", "D", "A"], ["D", "D"]]
    table = pd.DataFrame([row | {"id": i, "tag": tag} for i, r in enumerate(rows) for row, tag in zip(r, y[i])])
    expected = extend(schema, rows, y)
    assert expected.schema.columns[1].vocabulary.names() == ["the", "x", "y", "z", "u"]
    assert extend(schema, *sequences(table, by="id", label="tag")).equals(expected)
    assert extend(schema, (iter(r) for r in rows), iter(y)).equals(expected)
    assert extend(schema, [pd.DataFrame(r) for r in rows], y).equals(expected)


def test_a_schema_that_was_pickled_grows_too():
    schema = pickle.loads(pickle.dumps(learn([["a", "b"]], [["x", "y"]]).schema))
    grown = extend(schema, [["c", "a"]], [["x", "y"]]).schema
    again = extend(pickle.loads(pickle.dumps(grown)), [["d", "c"]], [["x", "y"]])
    assert again.schema.columns[0].vocabulary.names() == ["a", "b", "c", "d"]
    assert again.codes.tolist() == [[5, 4]]
    assert schema.columns[0].vocabulary.lookup == {"a": 0, "b": 1}  # growing leaves the old one as it was


def test_many_blocks(monkeypatch):
    monkeypatch.setattr("hedgerow.data.rows.BLOCK_POSITIONS", 3)
    schema = learn([["a"]], [["x"]]).schema
    more = [["b", "c"], ["a", "b"], ["d"], ["c", "e"]]
    dataset = extend(schema, more, labels_of(more, "x"))
    assert dataset.schema.columns[0].vocabulary.names() == list("abcde")
    assert dataset.codes.tolist() == [[3, 4, 2, 3, 5, 4, 6]]


# ---- kinds of data


def test_attribute_lists_and_sparse_rows():
    schema = learn([[["0"], []]], [["x", "x"]]).schema
    lists = extend(schema, [[["2", "0"], ["1"]]], [["x", "x"]])
    assert lists.schema.attributes.names() == ["0", "2", "1"]
    assert lists.attr_id.tolist() == [0, 1, 2]
    sparse = extend(schema, [scipy.sparse.csr_array(np.array([[1, 0, 1], [0, 1, 0]]))], [["x", "x"]])
    assert sparse.schema.attributes.names() == ["0", "2", "1"]
    assert sparse.attr_id.tolist() == [0, 1, 2]


def test_new_keys_of_dicts_become_attributes():
    schema = learn([[{"word": "a"}, {"word": "b"}]], [["x", "x"]], window=1).schema
    assert not len(schema.attributes)
    dataset = extend(schema, [[{"word": "a", "shape": "Xx", "size": 2.0, "tags": ["p"]}, {"word": "c"}]], [["x", "x"]])
    assert [c.name for c in dataset.schema.columns] == ["word", OUTSIDE_COLUMN]
    assert sorted(dataset.schema.attributes.names()) == ["shape:Xx", "size", "tags:p"]
    assert features(dataset, 0, 0) == {"word:a": 1, "shape:Xx": 1, "size": 2, "tags:p": 1}
    # the first attributes bring their window along, and the column that says where it leaves the sequence
    assert dataset.schema.attribute_offsets == (-1, 0, 1)
    assert dataset.schema.columns[1].offsets == (-1, 1)
    assert dataset.schema.columns[1] == learn([[["p"]]], window=1).schema.columns[0]


def test_the_window_of_first_attributes_joins_that_of_numbers():
    window = {"size": (1, 0), "*": (0, 2)}
    X = [Item([{"size": 1.0}, {"size": 2.0}], {"lang": "de"})]
    schema = learn(X, [["x", "x"]], window=window, columns={"size": "numeric"}).schema
    assert [(c.name, c.offsets) for c in schema.columns] == [("size", (-1, 0)), (OUTSIDE_COLUMN, (-1,)), ("lang", (0,))]
    both = [Item([{"size": 1.0, "k": "v"}], {"lang": "en"})]
    dataset = extend(schema, both, [["x"]])
    assert [(c.name, c.offsets) for c in dataset.schema.columns] == [
        ("size", (-1, 0)),
        (OUTSIDE_COLUMN, (-1, 1, 2)),
        ("lang", (0,)),
    ]
    assert encode(dataset.schema, both, [["x"]]).equals(dataset)


def test_new_values_of_the_whole_sequence():
    first = [Item(["a"], {"lang": "de", "length": 1.0})]
    dataset = extend(learn(first, [["x"]]).schema, [Item(["a"], {"lang": "en", "length": 3.0})], [["x"]])
    assert dataset.schema.of("categorical", constant=True)[0].vocabulary.names() == ["de", "en"]
    assert (dataset.seq_codes.tolist(), dataset.seq_numeric.tolist()) == ([[3]], [[3.0]])


def test_numbers_are_standardised_as_at_the_beginning():
    old = learn([np.array([[1.0], [3.0]])], [["x", "x"]]).schema
    new = extend(old, [np.array([[100.0], [300.0]])], [["x", "y"]]).schema
    assert (new.columns[0].center, new.columns[0].spread) == (2.0, 1.0)


# ---- labels and weights


def test_new_labels_are_sorted_in():
    schema = learn([["a", "b"]], [["m", "t"]]).schema
    dataset = extend(schema, [["a", "b", "a", "b"]], [["z", "t", None, {"m", "c"}]], classes=np.array(["k", "t"]))
    assert dataset.schema.labels == ("c", "k", "m", "t", "z")
    assert all(type(label) is str for label in dataset.schema.labels)
    assert dataset.labels.tolist() == [4, 3, UNLABELLED, UNLABELLED]
    assert dataset.allowed[2].all()
    assert dataset.allowed[3].tolist() == [True, False, True, False, False]


def test_labels_that_are_numbers():
    schema = learn([["a"]], [[3]], classes=(np.int64(7), 5)).schema
    assert schema.labels == (3, 5, 7)
    dataset = extend(schema, [["a", "a"]], [[-1, 7]])
    assert dataset.schema.labels == (-1, 3, 5, 7)
    assert dataset.labels.tolist() == [0, 3]


def test_labels_announced():
    X, y = [["a", "b"], ["c"]], [["x", {"x", "y"}], [None]]
    assert learn(X, classes=["z", "w"]).schema.labels == ("w", "z")
    announced = learn(X, y, classes=["z", "w"])
    assert announced.schema.labels == ("w", "x", "y", "z")
    # a set of all labels that were seen is not the same as no label: it does not allow the announced ones
    assert announced.allowed.tolist() == [[True] * 4, [False, True, True, False], [True] * 4]
    assert announced.labels.tolist() == [1, UNLABELLED, UNLABELLED]


def test_portions_without_labels():
    schema = learn([["a"]], [["x"]]).schema
    dataset = extend(schema, [["b", "c"]], [[None, None]])
    assert dataset.labels.tolist() == [UNLABELLED] * 2
    assert dataset.schema.labels == ("x",)
    assert learn([["a"]], [[None]], classes=["xy", "z"]).schema.labels == ("xy", "z")
    with pytest.raises(InputError, match="y has no label at all"):
        learn([["a"]], [[None]])


def test_weights():
    schema = learn([["a"]], [["x"]]).schema
    assert extend(schema, [["a"], ["b"]], [["x"], ["x"]], sample_weight=[2, 0.5]).weight_seq.tolist() == [2, 0.5]
    by_position = extend(schema, [["a", "b"]], [["x", "y"]], sample_weight=[[1, 0]])
    assert by_position.labels.tolist() == [0, UNLABELLED]


# ---- what is refused


def table_row(**columns):
    return [pd.DataFrame([columns])]


def refused(schema_of, X, match, y=None, error=InputError, **options):
    schema = learn(schema_of, labels_of(schema_of, "x"), **options).schema
    with pytest.raises(error, match=match):
        extend(schema, X, labels_of(X, "x") if y is None else y)


def test_a_column_that_is_new():
    new = r"sequence 0, position 0, column 'more': the column is new"
    refused(table_row(word="a"), table_row(word="a", more="b"), new)
    refused([np.zeros((1, 1))], [np.zeros((1, 2))], "column '1': the column is new")
    refused([np.array([["a"]])], [np.array([["a", "b"]])], "the data has 2 columns where the model expects 1")
    refused([[{"word": "a"}]], [["a"]], "column 'token': the column is new")
    refused([[{"word": "a"}]], [[{"word": "a", "more": "b"}]], new, columns={"more": "categorical"})
    refused([[{"word": "a"}]], [[{"word": "a", "more": 1.0}]], new, columns={"*": "categorical"})
    refused([Item(["a"], {})], [Item(["a"], {"more": 1.0})], r"sequence 0, column 'more': the column is new")


def test_a_column_without_values_is_no_column():
    schema = learn(table_row(word="a", more=None), [["x"]]).schema
    assert [c.name for c in schema.columns] == ["word"]
    assert extend(schema, table_row(word="b", more=None), [["x"]]).schema.columns[0].vocabulary.names() == ["a", "b"]
    with pytest.raises(InputError, match="had no value in it"):
        extend(schema, table_row(word="b", more="c"), [["x"]])


def test_a_column_that_is_absent():
    refused(table_row(word="a", pos="b"), table_row(word="a"), "there is no column 'pos' in the data")
    refused([np.zeros((1, 2))], [np.zeros((1, 1))], "there is no column '1' in the data")


def test_a_kind_that_changes():
    refused([[{"k": "a"}]], [[{"k": 1.0}]], "1.0 is of type float in a column of categorical", error=MixedTypesError)
    refused([[{"k": True}]], [[{"k": 0.5}]], "0.5 is of type float in a column of boolean", error=MixedTypesError)
    refused([[{"k": 0.5}]], [[{"k": "a"}]], "'a' is of type str in a column of numeric", error=MixedTypesError)
    refused([np.zeros((1, 1))], [np.array([["a"]])], "in a column of numeric", error=MixedTypesError)


def test_labels_of_another_type():
    schema = learn([["a"]], [["x"]]).schema
    with pytest.raises(InputError, match=r"sequence 0, position 1: the label 3 stands beside the label 'x'"):
        extend(schema, [["a", "a"]], [[None, 3]])
    with pytest.raises(InputError, match="the label 3 stands beside the label 'x'"):
        extend(schema, [["a"]], [["x"]], classes=[3])
    with pytest.raises(InputError, match="the label 'y' stands beside the label 3"):
        learn([["a"]], [[3]], classes=[3, "y"])
    with pytest.raises(InputError, match="the label 4 stands beside the label 'y'"):
        learn([["a"]], [[4]], classes=["y"])


@pytest.mark.parametrize("classes", ["xy", 3, {"x": 1}, [None], [1.5], [2**63]])
def test_classes_that_are_no_labels(classes):
    with pytest.raises(InputError, match="Give the labels to come in a list"):
        learn([["a"]], [[1]], classes=classes)


def test_y_is_needed():
    with pytest.raises(InputError, match="y is missing"):
        extend(learn([["a"]], [["x"]]).schema, [["a"]], None)
    with pytest.raises(InputError, match="X has no sequences"):
        extend(learn([["a"]], [["x"]]).schema, [], [])


def test_data_in_which_all_is_new():
    schema = learn([[{"word": "a", "size": "b"}]], [["x"]]).schema
    with pytest.warns(HedgerowWarning, match=r"nothing that the model knows is in the data: none of its columns"):
        extend(schema, [[{"Word": "a"}]], [["x"]])
