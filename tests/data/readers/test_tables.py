"""Data frames: three libraries by one path, kinds by dtype, groups, constants, and errors with their place."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.data.encoding import learn
from hedgerow.data.readers.tables import frame_columns, sequences
from hedgerow.errors import InputError

MAKERS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "pandas": pd.DataFrame,
    "pandas-nullable": lambda data: pd.DataFrame(data).convert_dtypes(),
    "polars": lambda data: pl.DataFrame(data, strict=False),
    "pyarrow": pa.table,
}
DATA: dict[str, list[Any]] = {
    "s": ["p", "q", "p", "q", "p"],
    "word": ["a", "b", None, "d", "e"],
    "n": [1, 2, None, 4, 5],
    "f": [0.5, None, 2.5, 3.5, 4.5],
    "b": [True, None, False, True, True],
    "whole": [True, False, True, False, True],
    "tags": [["x"], ["x", "y"], None, [], ["z"]],
    "topic": ["t", "u", "t", "u", "t"],
    "y": ["A", "B", None, "A", "B"],
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_every_library_gives_the_same_sequences(make: Callable[[dict[str, Any]], Any]) -> None:
    X, y = sequences(make(DATA), by="s", label="y", constant=["topic"])
    assert X.offsets.tolist() == [0, 3, 5]
    assert X.kinds == {
        "word": "categorical",
        "n": "numeric",
        "f": "numeric",
        "b": "boolean",
        "whole": "boolean",
        "tags": "attributes",
        "topic": "categorical",
    }
    assert X.columns["word"].tolist() == ["a", None, "e", "b", "d"]
    np.testing.assert_array_equal(X.columns["n"], [1, np.nan, 5, 2, 4])
    np.testing.assert_array_equal(X.columns["f"], [0.5, 2.5, 4.5, np.nan, 3.5])
    assert X.columns["n"].dtype == np.float64
    assert X.columns["b"].tolist() == [True, False, True, None, True]
    assert X.columns["whole"].dtype == np.bool_
    assert X.columns["tags"].tolist() == [["x"], [], ["z"], ["x", "y"], []]
    assert X.constants["topic"].tolist() == ["t", "u"]
    assert y is not None
    assert y.shape == (2,)
    assert y.tolist() == [["A", None, "B"], ["B", "A"]]


def test_categories_and_enums() -> None:
    frame = pd.DataFrame({"s": [1, 1], "c": pd.Categorical(["u", None])})
    assert sequences(frame, by="s")[0].columns["c"].tolist() == ["u", None]
    lean = pl.DataFrame({"s": [1, 1], "e": pl.Series(["u", None], dtype=pl.Enum(["u", "v"])), "nothing": [None, None]})
    X, y = sequences(lean, by="s")
    assert y is None
    assert X.columns["e"].tolist() == ["u", None]
    assert X.columns["nothing"].tolist() == [None, None]


def test_object_columns_of_pandas_are_read_by_their_values() -> None:
    frame = pd.DataFrame({"s": [0, 0], "n": [1, 2.5], "t": ["a", np.nan], "b": [True, None]}, dtype=object)
    X, _ = sequences(frame, by="s")
    assert X.kinds == {"n": "numeric", "t": "categorical", "b": "boolean"}
    assert X.columns["t"].tolist() == ["a", None]


def test_several_group_columns_and_chosen_features() -> None:
    frame = pl.DataFrame({"d": [1, 1, 2, 1], "s": ["a", "b", "a", "a"], "x": [1, 2, 3, 4], "z": [0, 0, 0, 0]})
    X, _ = sequences(frame, by=["d", "s"], columns=["x"])
    assert [[row["x"] for row in x] for x in X] == [[1, 4], [2], [3]]
    assert list(X.columns) == ["x"]


def test_a_declared_kind_wins_over_the_dtype() -> None:
    frame = pd.DataFrame({"s": [0, 0, 0], "code": [7, None, 8], "flag": [True, False, True]})
    X, _ = sequences(frame, by="s", kinds={"code": "categorical", "flag": "numeric"})
    assert X.columns["code"].tolist() == ["7", None, "8"]
    assert X.columns["flag"].tolist() == [1.0, 0.0, 1.0]
    with pytest.raises(InputError, match="holds numeric values, not boolean"):
        sequences(frame, by="s", kinds={"code": "boolean"})


def test_integers_with_gaps_are_integer_labels() -> None:
    frame = pd.DataFrame({"s": [0, 0], "x": [1, 2], "y": [3, None]})
    _, y = sequences(frame, by="s", label="y")
    assert y is not None
    assert y[0] == [3, None]
    assert type(y[0][0]) is int


BIG = 2**60 + 1


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_large_integers_are_numbers(make: Callable[[dict[str, Any]], Any]) -> None:
    X, _ = sequences(make({"s": [0, 0], "n": [BIG, 1]}), by="s")
    assert X.columns["n"].tolist() == [float(BIG), 1.0]


@pytest.mark.parametrize(
    ("data", "options", "message"),
    [
        ({"s": [0, 0], "n": [1.0, np.inf]}, {}, "sequence 0, position 1, column 'n': infinite"),
        ({"s": [1, 0, 1, 0], "o": ["a", "b", 3, "d"]}, {}, "sequence 0, position 1, column 'o': 3 is a number"),
        ({"s": [0, None], "n": [1, 2]}, {}, "column 's': row 1 has no value"),
        ({"s": [0], "d": [datetime.date(2020, 1, 1)]}, {}, "column 'd'"),
        ({"s": [0], "n": [1]}, {"label": "tag"}, "no column 'tag'. Columns are 's', 'n'"),
        ({"s": [0], "n": [1]}, {"columns": ["m"]}, "no column 'm'"),
        ({"s": [0], "n": [1]}, {"kinds": {"n": "word"}}, "'word' is not a kind"),
        ({"s": [0]}, {}, "no feature columns"),
        ({"s": [], "n": []}, {}, "no rows"),
        ({"s": [0, 0], "n": [1, 2]}, {"constant": ["n"]}, "sequence 0, position 1, column 'n': changes from"),
        ({"s": [0, 0], "n": [1, 2], "y": [0.5, 1]}, {"label": "y"}, "column 'y': 0.5 cannot be a label"),
        ({"s": [["a"], ["b"]], "n": [1, 2]}, {}, "cannot group"),
    ],
)
def test_input_errors(data: dict[str, list[Any]], options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        sequences(pd.DataFrame(data), by="s", **options)


def test_dates_are_refused_with_their_column() -> None:
    frame = pl.DataFrame({"s": [0], "d": [datetime.date(2020, 1, 1)]})
    with pytest.raises(
        InputError,
        match=r"column 'd': a column of Date cannot be a feature\. If rows stand in its order, give time='d'",
    ):
        sequences(frame, by="s")


@pytest.mark.parametrize("frame", [3, {"s": [1]}, pl.LazyFrame({"s": [1]}), pd.DataFrame([[1, 2]])])
def test_what_is_no_frame_is_an_input_error(frame: Any) -> None:
    with pytest.raises(InputError):
        sequences(frame, by="s")


def test_categories_that_are_not_text_are_refused() -> None:
    frame = pd.DataFrame({"s": [0], "c": pd.Categorical([3])})
    with pytest.raises(InputError, match="category 3 is not text"):
        sequences(frame, by="s")
    assert sequences(frame, by="s", kinds={"c": "categorical"})[0].columns["c"].tolist() == ["3"]


def test_constants_may_be_missing_throughout() -> None:
    frame = pd.DataFrame({"s": [0, 0], "x": [1, 2], "n": [np.nan, np.nan], "t": [None, None]})
    X, _ = sequences(frame, by="s", constant=["n", "t"])
    assert np.isnan(X.constants["n"][0])
    assert X.constants["t"].tolist() == [None]


def test_frames_that_are_a_sequence_each() -> None:
    columns, kinds = frame_columns([pl.DataFrame({"w": ["a", "b"], "n": [1, 2]})], 4)
    assert kinds == {"w": "categorical", "n": "numeric"}
    assert columns["n"].tolist() == [1.0, 2.0]
    for frame in (pd.DataFrame, pl.DataFrame):
        columns, _ = frame_columns([frame({"w": ["a"], "n": [1]}), frame({"w": ["b", "a"], "n": [2, 3]})], 4)
        assert columns["n"].tolist() == [1.0, 2.0, 3.0]
        assert columns["w"].tolist() == ["a", "b", "a"]
        with pytest.raises(InputError, match="sequence 5, position 1, column 'n': infinite"):
            frame_columns([frame({"n": [1.0]}), frame({"n": [1.0, np.inf]})], 4)


def test_frames_of_other_orders_and_types_among_alike_ones() -> None:
    frames = [
        pd.DataFrame({"n": [1, 2], "w": ["a", "b"]}),
        pd.DataFrame({"n": [3, 4], "w": ["b", "c"]}),
        pd.DataFrame({"n": [0.5], "w": [None]}),
        pd.DataFrame({"w": ["a"], "n": [7.5]}),
    ]
    y = [["x", "y"], ["y", "x"], ["x"], ["y"]]
    rows = [frame.to_dict("records") for frame in frames]
    numbers = {"n": "numeric", "w": "categorical"}
    assert learn(frames, y, columns=numbers).equals(learn(rows, y, columns=numbers))


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 9)), min_size=1))
def test_groups_keep_first_appearance_and_row_order(rows: list[tuple[int, int]]) -> None:
    frame = pl.DataFrame({"s": [s for s, _ in rows], "n": [n for _, n in rows]})
    X, _ = sequences(frame, by="s")
    expected: dict[int, list[int]] = {}
    for s, n in rows:
        expected.setdefault(s, []).append(n)
    assert [[row["n"] for row in x] for x in X] == list(expected.values())
