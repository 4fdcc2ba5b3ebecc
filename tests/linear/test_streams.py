"""Streams: where rows begin, what they are called, what is observed."""

from __future__ import annotations

import numpy as np

from hedgerow.data.encoding import learn
from hedgerow.data.rows import Item
from hedgerow.linear.index import Streams, row_names

X = [
    Item(
        [{"w": "a", "b": True, "n": 2.0, "l": ["x"]}, {"w": "b", "b": False, "n": 3.0, "l": []}], {"c": "de", "m": 1.0}
    )
]


def test_names_of_rows():
    schema = learn(X, [["A", "B"]], window={"w": (1, 0), "*": 0}).schema
    assert row_names(schema) == [
        "b is missing", "b is outside", "b is false", "b",
        "w[-1] is missing", "w[-1] is outside", "w[-1]:a", "w[-1]:b",
        "w is missing", "w is outside", "w:a", "w:b",
        "n",
        "c is missing", "c is outside", "c:de",
        "m",
        "l:x",
    ]  # fmt: skip
    assert row_names(schema, {"n", "*"}) == ["n", "l:x"]
    wide = learn(X, [["A", "B"]], window={"n": (0, 1), "*": 0}).schema
    assert [name for name in row_names(wide) if name.startswith("(outside)")] == [
        "(outside)[+1] is not",
        "(outside)[+1]",
    ]


def test_observations_come_in_the_order_of_the_rows():
    dataset = learn(X, [["A", "B"]], window=1)
    streams = Streams.of(dataset.schema)
    places, sequences = dataset.start[0] + np.arange(2), np.zeros(2, dtype=np.int64)
    seen = list(streams.observations(dataset, places, sequences))
    ends = np.cumsum([n_rows for _, n_rows, _, _, _ in seen])
    assert [base for base, _, _, _, _ in seen] == [0, *ends[:-1]]
    assert ends[-1] == streams.n_rows == len(row_names(dataset.schema))


def test_false_and_zero_are_seen_with_the_value_0():
    dataset = learn([[{"w": None, "b": False, "n": 0.0}, {"w": "a", "b": True, "n": 1.0}]], [["A", "B"]])
    streams = Streams.of(dataset.schema)
    places, sequences = np.arange(2), np.zeros(2, dtype=np.int64)
    flag, word, number = streams.observations(dataset, places, sequences)
    assert word[2].tolist() == [1]  # None is missing, not seen
    for _, _, which, rows, values in (flag, number):
        assert which.tolist() == [0, 1]
        assert rows[0] == rows[1]
        assert values.tolist() == [0.0, 1.0]


def test_absent_numbers_are_not_seen():
    dataset = learn([[{"n": 2.0}, {"w": "a"}, {"n": 1.0}]], [["A", "B", "A"]])
    streams = Streams.of(dataset.schema)
    *_, number = streams.observations(dataset, np.arange(3), np.zeros(3, dtype=np.int64))
    assert number[2].tolist() == [0, 2]
