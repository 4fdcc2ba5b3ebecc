"""What the metrics take as labels, and what they refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hedgerow.errors import InputError
from hedgerow.legend import UNLABELLED
from hedgerow.metrics import check_labels, label_accuracy
from hedgerow.metrics.labelings import code_labelings


def object_array(items: list[Any]) -> np.ndarray:
    array = np.empty(len(items), dtype=object)
    for i, item in enumerate(items):
        array[i] = item
    return array


def test_codes_are_places_in_the_sorted_labels() -> None:
    coded = code_labelings([["b", None], [], [2, "a", 10]], [["a", "a"], [], [10, "c", 2]])
    assert coded.labels == (2, 10, "a", "b", "c")
    assert coded.codes[0].tolist() == [3, UNLABELLED, 0, 2, 1]
    assert coded.codes[1].tolist() == [2, 2, 1, 4, 0]
    assert coded.offsets.tolist() == [0, 2, 2, 5]


@pytest.mark.parametrize(
    "y",
    [
        [["a", "b"], ["b", "b"]],
        (("a", "b"), ("b", "b")),
        object_array([["a", "b"], ["b", "b"]]),
        object_array([np.array(["a", "b"]), np.array(["b", "b"], dtype=object)]),
        np.array([["a", "b"], ["b", "b"]]),
        (iter(labels) for labels in (["a", "b"], ["b", "b"])),
        [[np.str_("a"), "b"], ["b", "b"]],
    ],
    ids=["lists", "tuples", "object array", "arrays", "table", "generators", "numpy str"],
)
def test_every_container_gives_the_same_codes(y: Any) -> None:
    coded = code_labelings(y)
    assert coded.labels == ("a", "b")
    assert [type(label) for label in coded.labels] == [str, str]
    assert coded.codes[0].tolist() == [0, 1, 1, 1]


def test_numpy_integers_are_integers() -> None:
    coded = code_labelings([np.array([3, 1])], [[3, np.int8(1)]])
    assert coded.labels == (1, 3)
    assert {type(label) for label in coded.labels} == {int}
    assert coded.codes[0].tolist() == coded.codes[1].tolist() == [1, 0]


@pytest.mark.parametrize(
    ("y_true", "y_pred", "message"),
    [
        ([["a"], ["a", "b"]], [["a"], ["a"]], "sequence 1: y_true has 2 labels and y_pred has 1"),
        ([["a"], ["a"]], [["a"]], "y_true has 2 sequences and y_pred has 1"),
        ([["a"]], [[None]], "sequence 0, position 0: the prediction is None"),
        ([["a"], [], ["b", "a"]], [["a"], [], ["b", None]], "sequence 2, position 1: the prediction is None"),
        ([["a"], ["a", {"a", "b"}]], [["a"], ["a", "a"]], "sequence 1, position 1: y_true holds {.*}, a set"),
        ([["a"]], [[float("nan")]], "sequence 0, position 0: y_pred holds nan, a float"),
        ([["a"]], [[["a"]]], r"sequence 0, position 0: y_pred holds \['a'\], a list"),
        (["ab", "a"], ["ab", "a"], "sequence 0: y_true holds 'ab' where a list of labels belongs"),
        ([1, 2], [1, 2], "sequence 0: y_true holds 1 where"),
        ([np.zeros((2, 2), int)], [["a"]], "sequence 0: y_true holds array"),
        ("ab", [["a"]], "y_true is a str"),
        (3, [["a"]], "y_true is a int"),
        ([], [], "y_true holds no positions"),
        ([[]], [[]], "y_true holds no positions"),
    ],
)
def test_bad_labels_are_refused_with_their_place(y_true: Any, y_pred: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        label_accuracy(y_true, y_pred)


def test_the_error_knows_its_place() -> None:
    with pytest.raises(InputError) as caught:
        label_accuracy([["a"], ["a", "b"]], [["a"], ["a"]])
    assert caught.value.sequence == 1


def test_check_labels() -> None:
    check_labels([["a", "b"], ["a"]])
    check_labels([["a", "b"], ["a"]], known=["b", "a", "c"])
    check_labels([[1, np.int64(2)]], known=np.array([1, 2]))
    with pytest.raises(InputError, match=r"sequence 1, position 0: the label is missing \(None\)"):
        check_labels([["a", "b"], [None]])
    with pytest.raises(InputError, match=r"position 1: the label 'b' is unknown\. Known labels: 'a', 'c'\."):
        check_labels([["a", "b"], ["a"]], known=["c", "a"])
    with pytest.raises(InputError, match="0, 1, 2, 3, 4, 5, 6, 7, 8, 9, …"):
        check_labels([[99]], known=range(20))


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_column_of_labels_does_not_say_where_sequences_end(library):
    """What `predict(frame)` gives: one list of it would count spans across days."""
    series = pytest.importorskip(library).Series
    column = series(["a", "b", "a"])
    with pytest.raises(InputError, match=r"y_true is a column of labels.*groupby"):
        label_accuracy(column, column)
    cut = series([["a", "b"], ["a"]])  # as `groupby(…).agg(list)` gives it
    assert label_accuracy(cut, [["a", "a"], ["a"]]) == 2 / 3
