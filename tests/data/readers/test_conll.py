"""CoNLL columns: what a file says is what comes back, and a broken one is named by line."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.data.readers.conll import label_conll, read_conll
from hedgerow.errors import InputError

SMALL = "the DT B\ncat NN I\n\nruns VB O\n"
word = st.text(st.characters(codec="utf-8", exclude_characters=" \t\r\n"), min_size=1, max_size=4)


def test_columns_labels_and_sequences() -> None:
    X, y = read_conll(io.StringIO(SMALL), columns=["word", "pos", "chunk"])
    assert list(X) == [[{"word": "the", "pos": "DT"}, {"word": "cat", "pos": "NN"}], [{"word": "runs", "pos": "VB"}]]
    assert y is not None
    assert y.shape == (2,)
    assert y.tolist() == [["B", "I"], ["O"]]
    assert X.kinds == {"word": "categorical", "pos": "categorical"}


def test_y_stays_one_dimensional_when_lengths_agree() -> None:
    _, y = read_conll(["a X", "b Y", "", "c X", "d Y"])
    assert y is not None
    assert y.shape == (2,)
    assert y.tolist() == [["X", "Y"], ["X", "Y"]]


@pytest.mark.parametrize(
    "text",
    [
        "\n\n\nthe DT B\ncat NN I\n\n \t \n\nruns VB O\n\n\n",
        "the DT B\r\ncat NN I\r\n\r\nruns VB O\r\n",
        "\ufeffthe DT B\ncat\tNN   I  \n\n  runs VB\tO",
        "-DOCSTART- -X- O\n\nthe DT B\ncat NN I\n-DOCSTART-\nruns VB O\n",
    ],
)
def test_forms_of_the_same_file(text: str) -> None:
    X, y = read_conll(io.StringIO(text, newline=""))
    expected_X, expected_y = read_conll(io.StringIO(SMALL))
    assert list(X) == list(expected_X)
    assert y is not None
    assert expected_y is not None
    assert y.tolist() == expected_y.tolist()


@pytest.mark.parametrize(("label", "left"), [(0, ["b", "c"]), ("b", ["a", "c"]), (-1, ["a", "b"]), (-2, ["a", "c"])])
def test_the_label_by_index_or_name(label: int | str, left: list[str]) -> None:
    X, y = read_conll(["0 1 2"], columns=["a", "b", "c"], label=label)
    assert list(X.columns) == left
    assert y is not None
    assert y[0] == [{"b": "1", 0: "0", -1: "2", -2: "1"}[label]]


def test_unlabelled_input_and_default_names() -> None:
    X, y = read_conll(["a b", "c d"], label=None)
    assert y is None
    assert X[0] == [{"0": "a", "1": "b"}, {"0": "c", "1": "d"}]


def test_a_separator_allows_spaces_and_empty_fields() -> None:
    X, y = read_conll(["New York\t\tB", "x\ty\t"], separator="\t")
    assert X[0] == [{"0": "New York", "1": None}, {"0": "x", "1": "y"}]
    assert y is not None
    assert y[0] == ["B", None]


def test_a_comment_is_passed_over_only_when_asked_for() -> None:
    lines = ["# pound", "a X", "# note", "b Y"]
    X, _ = read_conll(lines, comment="#")
    assert X.lengths.tolist() == [2]
    X, y = read_conll(lines)
    assert X.lengths.tolist() == [4]
    assert y is not None
    assert y[0] == ["pound", "X", "note", "Y"]


def test_other_white_space_belongs_to_the_token() -> None:
    X, _ = read_conll(["1\u00a0000 CD O", "a\x0cb NN O"])
    assert [row["0"] for row in X[0]] == ["1\u00a0000", "a\x0cb"]


def test_equal_values_share_one_string() -> None:
    X, _ = read_conll(["the O", "the O"])
    assert X.columns["0"][0] is X.columns["0"][1]


def test_a_ragged_row_is_named(tmp_path: Path) -> None:
    path = tmp_path / "ragged.txt"
    path.write_text("a b c\n\nd e f\ng h\n")
    with pytest.raises(InputError, match="expected 3 columns, as in line 1, and found 2") as error:
        read_conll(path)
    assert (error.value.path, error.value.line) == (str(path), 4)


@pytest.mark.parametrize(
    ("lines", "options", "message"),
    [
        ([], {}, "no positions"),
        (["", " ", "\t"], {}, "no positions"),
        (["# a"], {"comment": "#"}, "no positions"),
        (["a"], {}, "taken for the label"),
        (["a b"], {"label": 2}, "no column 2"),
        (["a b"], {"label": -3}, "no column -3"),
        (["a b"], {"label": "tag"}, "no column 'tag'"),
        (["a b"], {"columns": ["word"]}, "2 columns and 1 names"),
        (["a b"], {"columns": ["word", "word"]}, "same name"),
        (["a b"], {"separator": ""}, "empty text"),
    ],
)
def test_input_errors(lines: list[str], options: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_conll(lines, **options)  # type: ignore[arg-type]


def test_labels_are_written_back_beside_the_input() -> None:
    lines = ["-DOCSTART- O", "", "# note", "a\tX  ", "b  Y", "", "", "c Z"]
    written = list(label_conll(lines, [["1", "2"], ["3"]], comment="#"))
    assert written == ["-DOCSTART- O", "", "# note", "a\tX\t1", "b  Y 2", "", "", "c Z 3"]
    assert list(label_conll(["a,"], [["1"]], separator=",")) == ["a,,1"]
    with pytest.raises(InputError, match="3 positions where 2 labels"):
        label_conll(lines, [["1", "2"]], comment="#")


@given(st.lists(st.lists(st.tuples(word, word, word), min_size=1, max_size=3), min_size=1, max_size=4))
def test_round_trip(corpus: list[list[tuple[str, str, str]]]) -> None:
    corpus = [[("x" + a, b, c) for a, b, c in sequence] for sequence in corpus]  # no -DOCSTART-, no byte order mark
    lines = [line for sequence in corpus for line in [*(" ".join(row) for row in sequence), ""]]
    X, y = read_conll(lines)
    assert y is not None
    assert [[(row["0"], row["1"], tag) for row, tag in zip(x, tags)] for x, tags in zip(X, y)] == corpus
    again, predicted = read_conll(label_conll(lines, y))
    assert predicted is not None
    assert predicted.tolist() == y.tolist()
    assert again.columns["2"].tolist() == [tag for tags in y for tag in tags]


@given(
    st.one_of(st.binary(), st.text(alphabet="a \t\n\r#-\x00\x0b\u2028\ufeff").map(str.encode)),
    st.sampled_from([None, "\t", "a"]),
    st.sampled_from([None, "#"]),
)
def test_any_bytes_give_a_result_or_an_input_error(content: bytes, separator: str | None, comment: str | None) -> None:
    try:
        X, y = read_conll(io.BytesIO(content), separator=separator, comment=comment)
    except InputError:
        return
    assert y is not None
    assert X.lengths.tolist() == [len(labels) for labels in y]
    assert X.lengths.min() > 0


@pytest.mark.data
def test_conll_2000(data_folder: Path) -> None:
    X, y = read_conll(data_folder / "conll2000" / "train.txt", columns=["word", "pos", "chunk"], label="chunk")
    assert y is not None
    assert len(X) == len(y) == 8936
    assert int(X.lengths.sum()) == 211_727
    assert len({label for labels in y for label in labels}) == 22
