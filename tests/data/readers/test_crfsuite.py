"""CRFsuite's text format: reading, writing, and the round trip."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.data.readers.crfsuite import read_crfsuite, write_crfsuite
from hedgerow.data.sequences import Item
from hedgerow.errors import InputError

any_text = st.text(st.characters(codec="utf-8", exclude_characters="\0\t\n\r\ufeff"), min_size=1, max_size=4)
name = (any_text | st.text(alphabet=":\\a 1", min_size=1, max_size=5)).filter(
    lambda text: text.strip(" ") and not text.startswith(("#", "@"))
)
weight = st.floats(allow_nan=False, allow_infinity=False)


def written(X: Any, y: Any) -> str:
    file = io.StringIO()
    write_crfsuite(file, X, y)
    return file.getvalue()


def test_attributes_without_weights_are_lists() -> None:
    X, y = read_crfsuite(["B\tw=a\tBOS", "I\tw=b", "", "", "O"])
    assert X == [[["w=a", "BOS"], ["w=b"]], [[]]]
    assert y.shape == (2,)
    assert y.tolist() == [["B", "I"], ["O"]]


def test_one_weight_makes_every_position_a_dict() -> None:
    X, _ = read_crfsuite(["B\ta\tb:2", "", "I\ta\ta:0.5\tc:"])
    assert X == [[{"a": 1.0, "b": 2.0}], [{"a": 1.5, "c": 1.0}]]


def test_escapes_and_comments() -> None:
    X, y = read_crfsuite(
        [r"B\:X" + "\t" + r"a\:b" + "\t" + r"c\\:2" + "\t" + r"d\e", "# no position", "I\ta\t# end\tb"]
    )
    assert y[0] == ["B:X", "I"]
    assert X == [[{"a:b": 1.0, "c\\": 2.0, "d\\e": 1.0}, {"a": 1.0}]]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("B\ta:x", "'x' is not a weight"),
        ("B\ta:1:2", "'1:2' is not a weight"),
        ("B\ta:nan", "not a weight"),
        ("B\ta:1e999", "not a weight"),
        ("B\t:3", "no name"),
        ("B:1\ta", "label 'B' has a weight"),
        ("@weight:2", "declaration '@weight'"),
    ],
)
def test_a_bad_line_is_named(line: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as error:
        read_crfsuite(["O\ta", line])
    assert error.value.line == 2


def test_an_empty_file_is_an_input_error() -> None:
    with pytest.raises(InputError, match="no positions"):
        read_crfsuite(["", "# nothing"])


def test_dicts_are_written_as_python_crfsuite_reads_them() -> None:
    pycrfsuite = pytest.importorskip("pycrfsuite")
    position = {"w": "a:b", "n": 2, "flag": True, "s": {"x": 1.5, "y": "z"}, "l": ["p", "q"], "gone": None}
    X, _ = read_crfsuite(io.StringIO(written([[position]], [["B"]])))
    theirs = pycrfsuite.ItemSequence([{key: value for key, value in position.items() if value is not None}])
    assert [theirs.items()] == X


@pytest.mark.parametrize(
    ("position", "label", "message"),
    [
        (["a\tb"], "B", "cannot hold the name"),
        (["a\0"], "B", "cannot hold the name"),
        (["#a"], "B", "cannot hold the name"),
        ([""], "B", "cannot hold the name"),
        (["\ud800"], "B", "valid Unicode"),
        ([3], "B", "an attribute is text"),
        ("abc", "B", "a list of attributes or a dict"),
        ({"a": np.inf}, "B", "has the weight inf"),
        ({"a": 10**400}, "B", "has the weight 1"),
        ({"a": object()}, "B", "of type object"),
        (["a"], None, "one label at every position"),
        (["a"], {"B", "I"}, "one label at every position"),
        (["a"], "@B", "declaration"),
    ],
)
def test_what_cannot_be_written_is_named(position: Any, label: Any, message: str) -> None:
    with pytest.raises(InputError, match=message) as error:
        written([[["a"]], [["a"], position]], [["B"], ["B", label]])
    assert (error.value.sequence, error.value.position) == (1, 1)


def test_lengths_are_checked_when_writing() -> None:
    for X, y in [([[["a"]]], []), ([[["a"]]], [["B", "I"]]), ([[]], [[]])]:
        with pytest.raises(InputError):
            written(X, y)


def test_a_path_is_written_as_utf8(tmp_path: Any) -> None:
    write_crfsuite(tmp_path / "x", [[["wört"]]], [[3]])
    assert (tmp_path / "x").read_bytes() == "3\twört\n\n".encode()


corpora = st.lists(
    st.lists(st.tuples(name, st.lists(name, max_size=3)), min_size=1, max_size=3), min_size=1, max_size=3
)


@given(corpora)
def test_attribute_lists_come_back(corpus: list[list[tuple[str, list[str]]]]) -> None:
    X = [[attributes for _, attributes in sequence] for sequence in corpus]
    y = [[label for label, _ in sequence] for sequence in corpus]
    read_X, read_y = read_crfsuite(io.StringIO(written(X, y)))
    assert read_X == X
    assert read_y.tolist() == y


@given(st.lists(st.lists(st.dictionaries(name, weight, max_size=3), min_size=1, max_size=3), min_size=1, max_size=3))
def test_weights_come_back_to_the_last_bit(X: list[list[dict[str, float]]]) -> None:
    X[0][0] = {"at least one weight": 0.1}
    read_X, _ = read_crfsuite(io.StringIO(written(X, [["B"] * len(x) for x in X])))
    assert read_X == X


@given(st.one_of(st.binary(), st.text(alphabet="ab1.:\\#@\t\n\r ").map(str.encode)))
def test_any_bytes_give_a_result_or_an_input_error(content: bytes) -> None:
    try:
        X, y = read_crfsuite(io.BytesIO(content))
    except InputError:
        return
    assert [len(x) for x in X] == [len(labels) for labels in y]


def test_the_features_of_an_item_are_written_at_every_position() -> None:
    target = io.StringIO()
    write_crfsuite(target, [Item([{"w": "a"}, ["b"]], {"lang": "en", "n": 2})], [["x", "y"]])
    assert target.getvalue() == "x\tw\\:a\tlang\\:en\tn:2.0\ny\tb\tlang\\:en\tn:2.0\n\n"
