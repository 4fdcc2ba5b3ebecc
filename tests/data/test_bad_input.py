"""Every bad input gets one InputError that names the sequence, the position and the column."""

from __future__ import annotations

import contextlib

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.data.dataset import OUTSIDE_COLUMN, Dataset
from hedgerow.data.encoding import encode, learn
from hedgerow.data.rows import BLOCK_POSITIONS, Item
from hedgerow.data.sequences import Sequences
from hedgerow.errors import InputError

from .corpora import TAGS, WORDS

NAN, INF = float("nan"), float("inf")
FRAME = pd.DataFrame({"a": ["x"]})

# X, the words of the error, and its sequence, position and column
BAD_X = {
    "empty corpus": ([], "X has no sequences", None, None, None),
    "empty generator": (iter([]), "X has no sequences", None, None, None),
    "empty sequence": ([["a"], []], "is empty", 1, None, None),
    "empty array": ([np.ones((1, 2)), np.ones((0, 2))], "is empty", 1, None, None),
    "empty frame": ([FRAME, FRAME[:0]], "is empty", 1, None, None),
    "str": ("text", "X is a str", None, None, None),
    "bytes": (b"text", "X is a bytes", None, None, None),
    "dict": ({"a": 1}, "X is a dict", None, None, None),
    "set": ({"a"}, "X is a set", None, None, None),
    "number": (5, "X is of type int", None, None, None),
    "none": (None, "X is of type NoneType", None, None, None),
    "array without dimensions": (np.array(1.0), "X is of type ndarray", None, None, None),
    "str as a sequence": ([["a"], "text"], "is a str, not a sequence", 1, None, None),
    "array of str": (np.array(["a", "b"]), "is a str, not a sequence", 0, None, None),
    "dict as a sequence": ([{"a": 1}], "is a dict", 0, None, None),
    "set as a sequence": ([["a"], {"a", "b"}], "is a set", 1, None, None),
    "number as a sequence": ([["a"], 5], "is of type int, not a sequence", 1, None, None),
    "item in an item": ([Item(Item(["a"], {}), {})], "is of type Item, not a sequence", 0, None, None),
    "2-D array": (np.ones((2, 2)), "X is one 2-D array", None, None, None),
    "2-D tokens": (np.array([["a", "b"]]), "X is one 2-D array", None, None, None),
    "sparse matrix": (scipy.sparse.csr_matrix(np.ones((2, 2))), "X is one 2-D array", None, None, None),
    "data frame": (FRAME, "X is one data frame", None, None, None),
    "polars frame": (pl.DataFrame({"a": ["x"]}), "X is one data frame", None, None, None),
    "3-D array as a sequence": ([np.ones((1, 1, 1))], "is an array of 3 dimensions", 0, None, None),
    "numbers as positions": ([[1, 2]], "is a list of numbers", 0, 0, None),
    "numbers as positions, late": ([["a"], [None, 2]], "is a list of numbers", 1, 1, None),
    "object as position": ([["a"], [None, object()]], "a position is of type object", 1, 1, None),
    "token among dicts": (
        [[{"a": 1}], [{"a": 1}, "b"]],
        "'b' is of type str where other positions are dict",
        1,
        1,
        None,
    ),
    "dict among tokens": ([["a", {"a": 1}]], "is of type dict where other positions are str", 0, 1, None),
    "str among attribute lists": ([[["a"], "b"]], "'b' is of type str where other positions are list", 0, 1, None),
    "tokens after dicts": ([[{"a": 1}], ["b"]], "is of the shape 'tokens' where the sequences before", 1, None, None),
    "blank before numbers": (
        [[None], np.ones((1, 1))],
        "where the sequences before it are of the shape",
        1,
        None,
        None,
    ),
    "attribute that is no str": ([[["a"]], [["a"], ["b", 3]]], "the attribute 3 is of type int", 1, 1, None),
    "item that is no str": ([[{"l": ["a"]}, {"l": ["b", 3]}]], "3 in a list of attributes is of type int", 0, 1, "l"),
    "ragged numbers": ([[[1, 2], [3]]], "is not a list of 2 numbers", 0, 1, None),
    "ragged arrays": ([[np.ones(2), np.ones(3)]], "is not an array of shape (2,)", 0, 1, None),
    "none among rows of numbers": ([[[1, 2], None]], "is not a list of 2 numbers", 0, 1, None),
    "str among numbers": ([[[1, 2], [3, "x"]]], "'x' is of type str among numbers", 0, 1, "1"),
    "huge integer in a row": ([[[1.0], [10**400]]], "an integer is too large", 0, None, None),
    "arrays of other width": (
        [np.ones((1, 2)), np.ones((1, 3))],
        "has 3 columns where the sequences before have 2",
        1,
        None,
        None,
    ),
    "sparse of other width": (
        [scipy.sparse.csr_array(np.ones((1, w))) for w in (2, 3)],
        "has 3 columns",
        1,
        None,
        None,
    ),
    "sparse of complex": (
        [scipy.sparse.csr_array(np.ones((1, 2), dtype=complex))],
        "sparse matrix of complex128",
        0,
        None,
        None,
    ),
    "sparse infinite": ([scipy.sparse.csr_array(np.array([[1, INF]]))], "the value is inf", 0, 0, "1"),
    "array infinite": ([np.ones((2, 2)), np.array([[1, INF]])], "the value is inf", 1, 0, "1"),
    "frame infinite": ([FRAME, pd.DataFrame({"n": [1, -INF]})], "infinite value", 1, 1, "n"),
    "infinite": ([[{"n": 1.0}], [{"n": 1.0}, {"n": INF}]], "the value is inf", 1, 1, "n"),
    "huge integer": ([[{"n": 1}, {"n": 10**400}]], "the value is inf", 0, 1, "n"),
    "undeclared nan": (
        [[{"n": 1.0}, {"n": NAN}]],
        "the value is nan. Fill it; in a column that is declared 'numeric', NaN means that a value is missing",
        0,
        1,
        "n",
    ),
    "nan among scattered keys": (
        [[{f"k{t}": NAN if t == 30 else 1.0} for t in range(40)]],
        "the value is nan",
        0,
        30,
        "k30",
    ),
    "mixed types": ([[{"w": "a"}, {"w": 2}]], "2 is of type int in a column of categorical values", 0, 1, "w"),
    "str after number": ([[{"w": 2}], [{"w": "a"}]], "'a' is of type str in a column of numeric values", 1, 0, "w"),
    "list after str": ([[{"w": "a"}, {"w": ["b"]}]], "['b'] is of type list", 0, 1, "w"),
    "dict after str, other key": ([[{"w": "a"}, {"w": {"x": object()}}]], "is of type object", 0, 1, "w:x"),
    "feature of no kind": ([[{"w": "a"}, {"w": 1j}]], "1j is of type complex", 0, 1, "w"),
    "matrix as a feature": ([[{"w": np.ones((2, 3))}]], "an array of the shape (2, 3)", 0, 0, "w"),
    "key that is no str": ([[{"w": "a"}, {"w": "a", 5: "x"}]], "the key 5 is not a str", 0, 1, None),
    "nested key that is no str": ([[{"w": {5: "x"}}]], "the key 5 is not a str", 0, 0, None),
    "scattered key that is no str": (
        [[{f"k{t}" if t < 30 else t: 1.0} for t in range(40)]],
        "the key 30 is not a str",
        0,
        30,
        None,
    ),
    "nested scattered key that is no str": (
        [[{"d": {f"k{t}" if t < 30 else t: 1.0}} for t in range(40)]],
        "the key 30 is not a str",
        0,
        30,
        None,
    ),
    "list for the whole sequence": (
        [Item(["a"], {}), Item(["b"], {"l": ["x"]})],
        "a feature of the whole sequence is a list",
        1,
        None,
        "l",
    ),
    "mixed for the whole sequence": (
        [Item(["a"], {"l": "x"}), Item(["b"], {"l": 2})],
        "2 is of type int",
        1,
        None,
        "l",
    ),
    "key of the whole sequence": ([["a"], Item(["b"], {3: "x"})], "the key 3 is not a str", 1, None, None),
    "taken name": ([[{OUTSIDE_COLUMN: "x"}]], "the name is taken", 0, 0, OUTSIDE_COLUMN),
}


@pytest.mark.parametrize("case", BAD_X)
def test_bad_sequences(case):
    X, words, sequence, position, column = BAD_X[case]
    with pytest.raises(InputError) as raised:
        learn(X)
    assert words in str(raised.value)
    assert (raised.value.sequence, raised.value.position, raised.value.column) == (sequence, position, column)


def test_places_are_named_beyond_the_first_block():
    n = BLOCK_POSITIONS
    for good, bad in [
        ([{"w": "a"}], [{"w": "a"}, {"w": 1}]),
        (["a"], ["a", 5]),
        ([["a"]], [["a"], [5]]),
        ([{"n": 1.0}], [{"n": 1.0}, {"n": INF}]),
    ]:
        with pytest.raises(InputError) as raised:
            learn(iter([*[good] * (n + 3), bad, *[good] * n]))
        assert (raised.value.sequence, raised.value.position) == (n + 3, 1)
    with pytest.raises(InputError, match="'x' is of type str in a column of numeric values") as raised:
        learn([*[[{"w": 1.0}]] * n, [{"w": 2.0}], [{"v": 1.0}, {"w": "x"}]])
    assert (raised.value.sequence, raised.value.position, raised.value.column) == (n + 1, 1, "w")


def test_scattered_numbers_after_text():
    X = [[{"w": "a"}] * 3, [{f"k{t}": 1.0, "w": 2.0} for t in range(40)]]
    with pytest.raises(InputError, match="sequence 1, position 0, column 'w': the value is a number"):
        learn(X)


# name: training value, prediction value
CHANGED = {
    "number for str": ({"w": "a"}, {"w": 2}, "2 is of type int in a column of categorical values"),
    "str for number": ({"w": 2}, {"w": "a"}, "'a' is of type str in a column of numeric values"),
    "number for bool": ({"w": True}, {"w": 2.5}, "2.5 is of type float in a column of boolean values"),
    "list for str": ({"w": "a"}, {"w": ["a"]}, "is of type list in a column of categorical values"),
}


@pytest.mark.parametrize("case", CHANGED)
def test_a_column_that_changes_type_at_prediction(case):
    before, after, words = CHANGED[case]
    schema = learn([[before] * 3]).schema
    with pytest.raises(InputError, match=words) as raised:
        encode(schema, [[before], [before, after]])
    assert (raised.value.sequence, raised.value.position, raised.value.column) == (1, 1, "w")
    scattered = [{f"k{t}": 1.0} for t in range(40)]
    with pytest.raises(InputError, match=words) as raised:
        encode(schema, [[*scattered, after]])
    assert (raised.value.sequence, raised.value.position, raised.value.column) == (0, 40, "w")
    frame = pd.DataFrame({name: [v] for name, v in after.items()})
    with pytest.raises(InputError, match="in a column of"):
        encode(schema, [frame])


def test_the_first_wrong_value_is_named_whatever_follows():
    X = [*[[{"w": "a"}]] * BLOCK_POSITIONS, [{"w": 1}, {"w": "a"}]]
    with pytest.raises(InputError, match=f"sequence {BLOCK_POSITIONS}, position 0, column 'w': 1 is of type int"):
        learn(X)


def test_prediction_refuses_what_training_refuses():
    schema = learn([[{"n": 1.0, "w": "a", "l": ["x"]}]]).schema
    for row, words in [
        ({"n": INF}, "the value is inf"),
        ({"n": NAN}, "the value is nan"),
        ({5: "x"}, "the key 5 is not a str"),
        ({"l": [3]}, "3 in a list of attributes"),
        ({"new": object()}, "is of type object"),
    ]:
        with pytest.raises(InputError, match=words) as raised:
            encode(schema, [[{}], [{}, row]])
        assert (raised.value.sequence, raised.value.position) == (1, 1)
    with pytest.raises(InputError, match="X has no sequences"):
        encode(schema, [])


def test_a_bool_for_a_number_is_no_change():
    schema = learn([[{"n": 2.0}]]).schema
    assert encode(schema, [[{"n": True}]]).numeric.tolist() == [[1.0]]


def test_declared_kinds_are_checked():
    for columns, words in [
        ({"w": "text"}, "column 'w': is declared 'text'. Kinds are categorical"),
        ({"w": []}, r"is declared \[\]"),
        (["w"], "columns is of type list"),
        ({"w": "numeric"}, "position 0, column 'w': 'a' is of type str in a column of numeric values"),
        ({"w": "boolean"}, "in a column of boolean values"),
        ({"*": "boolean"}, "in a column of boolean values"),
    ]:
        with pytest.raises(InputError, match=words):
            learn([[{"w": "a"}]], columns=columns)


def test_sequences_with_an_empty_sequence():
    columns = {"w": np.array(["a", "b"], dtype=object)}
    with pytest.raises(InputError, match="sequence 1: is empty"):
        learn(Sequences(columns, np.array([0, 1, 1, 2]), {"w": "categorical"}))
    with pytest.raises(InputError, match="X has no sequences"):
        learn(Sequences(columns, np.array([0, 1, 2]), {"w": "categorical"})[:0])


def test_features_of_an_item_are_a_dict():
    with pytest.raises(InputError, match=r"the features of an Item are of type list\. Give a dict"):
        Item(["a"], ["b"])


# ---- y

BAD_Y = {
    "other number of sequences": ([["a"]], "X has 3 sequences and y has 1", None, None),
    "other length": ([TAGS[0], ["a"], TAGS[2]], "X has 2 positions and y has 1", 1, None),
    "str": ("abc", "y is of type str", None, None),
    "number": (3, "y is of type int", None, None),
    "dict": ({0: TAGS[0]}, "y is of type dict", None, None),
    "array without dimensions": (np.array(3), "y is of type ndarray", None, None),
    "str as a sequence": (["DNV", TAGS[1], TAGS[2]], "y has 'DNV' here, not a list", 0, None),
    "flat": ([tag for tags in TAGS for tag in tags], "y has 'DT' here, not a list", 0, None),
    "flat array": (np.zeros(9, dtype=int), "not a list", 0, None),
    "set as a sequence": ([TAGS[0], {"a", "b"}, TAGS[2]], "not a list", 1, None),
    "dict as a sequence": ([TAGS[0], {"a": 1, "b": 2}, TAGS[2]], "not a list", 1, None),
    "2-D array as a sequence": ([TAGS[0], np.zeros((2, 2)), TAGS[2]], "not a list", 1, None),
    "array without dimensions as a sequence": ([TAGS[0], np.array("a"), TAGS[2]], "not a list", 1, None),
    "unhashable": ([TAGS[0], ["a", ["b"]], TAGS[2]], "the label ['b'] is of type list", 1, 1),
    "dict as label": ([TAGS[0], ["a", {"b": 1}], TAGS[2]], "the label {'b': 1} is of type dict", 1, 1),
    "bool": ([TAGS[0], ["a", True], TAGS[2]], "the label True is of type bool", 1, 1),
    "float": ([[0, 1, 2], [0, 1.5], [0] * 4], "the label 1.5 is of type float", 1, 1),
    "bool among int": ([[0, 1, 2], [0, True], [0] * 4], "the label True is of type bool", 1, 1),
    "int among str": ([TAGS[0], ["a", 1], TAGS[2]], "the label 1 is of type int", 1, 1),
    "str among int": ([[0, 1, 2], [0, "1"], [0] * 4], "the label '1' is of type str", 1, 1),
    "nan": ([TAGS[0], ["a", NAN], TAGS[2]], "the label nan is of type float", 1, 1),
    "none in a set": ([TAGS[0], ["a", {"b", None}], TAGS[2]], "the label None is of type NoneType", 1, 1),
    "set of mixed": ([TAGS[0], ["a", {3}], TAGS[2]], "the label 3 is of type int", 1, 1),
    "empty set": ([TAGS[0], ["a", set()], TAGS[2]], "the set of allowed labels is empty", 1, 1),
    "no label": ([[None] * 3, [None] * 2, [None] * 4], "y has no label at all", None, None),
}


@pytest.mark.parametrize("case", BAD_Y)
def test_bad_labels(case):
    y, words, sequence, position = BAD_Y[case]
    with pytest.raises(InputError) as raised:
        learn(WORDS, y)
    assert words in str(raised.value)
    assert (raised.value.sequence, raised.value.position) == (sequence, position)


@pytest.mark.parametrize("case", [case for case in BAD_Y if case != "no label"])
def test_bad_labels_at_scoring(case):
    y, words, sequence, position = BAD_Y[case]
    labels = [[0, 1, 2], [0, 1], [0] * 4] if isinstance(y, list) and y[0] == [0, 1, 2] else TAGS
    with pytest.raises(InputError) as raised:
        encode(learn(WORDS, labels).schema, WORDS, y)
    unknown = "the label 'a' is not one of those seen in training"
    assert words in str(raised.value) or unknown in str(raised.value)
    if unknown not in str(raised.value):
        assert (raised.value.sequence, raised.value.position) == (sequence, position)


@pytest.mark.parametrize("label", [2**70, -(2**63) - 1, {2**63}], ids=str)
def test_integer_labels_fit_64_bits(label):
    with pytest.raises(InputError, match=r"sequence 1, position 0: the label -?\d+ is too large\. .* as str") as caught:
        learn([["a"], ["b", "c"]], [[0], [label, 1]])
    assert caught.value.sequence == 1
    limits = [2**63 - 1, -(2**63)]
    assert learn([["a", "b"]], [limits]).schema.classes.tolist() == sorted(limits)
    with pytest.raises(InputError, match="is not one of those seen in training"):
        encode(learn([["a", "b"]], [limits]).schema, [["a"]], [[label]])


@pytest.mark.parametrize("label", ["XX", {"DT", "XX"}])
def test_an_unknown_label_at_scoring(label):
    schema = learn(WORDS, TAGS).schema
    with pytest.raises(
        InputError, match=r"'XX' is not one of those seen in training\. Known labels: 'DT', 'IN'"
    ) as raised:
        encode(schema, WORDS, [TAGS[0], ["DT", label], TAGS[2]])
    assert (raised.value.sequence, raised.value.position) == (1, 1)


def test_labels_come_out_plain():
    y = [np.array([1, 2, 1]), pd.Series([2, 1]), (np.int64(1), 2, np.uint8(1), None)]
    dataset = learn(WORDS, y)
    assert [type(label) for label in dataset.schema.labels] == [int, int]
    assert dataset.labels.tolist() == [0, 1, 0, 1, 0, 0, 1, 0, -1]
    assert type(learn([["a"]], [[np.str_("x")]]).schema.labels[0]) is str


# ---- sample_weight

BAD_WEIGHTS = {
    "flat": (np.ones(9), "has 9 entries for 3 sequences; it looks like a flat array of all positions", None, None),
    "too few": ([1, 1], "has 2 entries for 3 sequences. Give one weight per sequence", None, None),
    "number": (2.0, "sample_weight is of type float", None, None),
    "str": ("abc", "sample_weight is of type str", None, None),
    "array without dimensions": (np.array(1.0), "sample_weight is of type ndarray", None, None),
    "negative": ([1, -1, 1], "sample_weight is -1", 1, None),
    "nan": ([1, 1, NAN], "sample_weight is nan", 2, None),
    "infinite": (np.array([1, 1, INF]), "inf", 2, None),
    "text": (["1", "1", "1"], "sample_weight has '1' here, not a list", 0, None),
    "none": ([1, None, 1], "not a list", 0, None),
    "scalar among lists": ([[1, 1, 1], 1, [1, 1, 1, 1]], "sample_weight has 1 here, not a list", 1, None),
    "other length": ([[1, 1, 1], [1], [1] * 4], "X has 2 positions and sample_weight has 1", 1, None),
    "fraction of a position": (
        [[1, 1, 1], [1, 0.5], [1] * 4],
        "sample_weight is 0.5. The weight of a position is 0",
        1,
        1,
    ),
    "negative position": ([[1, 1, 1], [1, -1], [1] * 4], "sample_weight is -1", 1, 1),
    "nan position": ([[1, 1, 1], [1, NAN], [1] * 4], "sample_weight is nan", 1, 1),
    "text position": ([[1, 1, 1], [1, "1"], [1] * 4], "sample_weight is '1'", 1, 1),
    "list position": ([[1, 1, 1], [1, [1]], [1] * 4], "sample_weight is [1]", 1, 1),
}


@pytest.mark.parametrize("case", BAD_WEIGHTS)
def test_bad_weights(case):
    weights, words, sequence, position = BAD_WEIGHTS[case]
    with pytest.raises(InputError) as raised:
        learn(WORDS, TAGS, sample_weight=weights)
    assert words in str(raised.value)
    assert (raised.value.sequence, raised.value.position) == (sequence, position)


# ---- anything at all

scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.just(10**400)
    | st.floats()
    | st.text(max_size=2)
    | st.binary(max_size=2)
    | st.sampled_from([object(), 1j, np.float32(1.5), np.int8(3), np.bool_(True), np.str_("a"), np.array("a")])
    | st.sampled_from([np.ones(2), np.ones((2, 2)), np.ones((1, 2, 2)), np.zeros((0, 2)), np.array([["a", None]])])
    | st.sampled_from([FRAME, scipy.sparse.csr_array(np.eye(2)), range(2), np.datetime64("2020"), np.array(["a", "b"])])
)
keys = st.text(max_size=2) | st.integers(0, 3) | st.none()


def nested(inner):
    return (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(keys, inner, max_size=3)
        | st.sets(keys, max_size=3)
        | st.builds(Item, inner, st.dictionaries(keys, inner, max_size=2))
        | st.lists(inner, max_size=2).map(iter)
    )


junk = st.recursive(scalars, nested, max_leaves=12)
likely_rows = st.dictionaries(st.sampled_from("abc"), junk, max_size=2)
likely = st.lists(st.lists(likely_rows | junk, min_size=1, max_size=3), min_size=1, max_size=3)
kinds = st.dictionaries(st.sampled_from("abc*"), st.sampled_from(["categorical", "numeric", "boolean", "attributes"]))
window_junk = st.sampled_from([0, 1, (0, 1), {"a": 1}, {"*": 1}])


@given(
    likely | junk, st.none() | st.lists(st.lists(junk, min_size=1, max_size=3), max_size=3) | junk, kinds, window_junk
)
def test_anything_gives_a_dataset_or_an_input_error(X, y, columns, window):
    try:
        dataset = learn(X, y, columns=columns, window=window)
    except InputError:
        return
    assert isinstance(dataset, Dataset)


@given(likely | junk, junk, junk)
def test_anything_at_prediction_gives_a_dataset_or_an_input_error(X, y, weights):
    schema = learn([[{"a": "x", "b": 1.0, "c": ["y"]}]], [["A"]], window=1).schema
    for labels, weight in [(None, None), (y, None), (None, weights)]:
        with contextlib.suppress(InputError):
            assert isinstance(encode(schema, X, labels, sample_weight=weight), Dataset)
