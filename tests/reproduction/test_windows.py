"""LightGBM on windows: the table it gets, and what it says."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from hedgerow import Item, TreeCRF
from hedgerow.data.encoding import encode, learn
from hedgerow.errors import InputError, MissingExtraError
from hedgerow.legend import MISSING, OUTSIDE
from reproduction.datasets import make_hmm
from reproduction.windows import WindowBooster, require_lightgbm, window_table

X = [[{"w": "a", "n": 1.0}, {"w": "b", "n": 2.0}, {"w": "a", "n": None}], [{"w": "b", "n": 4.0}]]
COLUMNS = {"w": "categorical", "n": "numeric"}


def test_the_table_is_the_window_at_every_position():
    dataset = learn(X, columns=COLUMNS, window={"w": 1, "n": (1, 0)})
    table, categorical = window_table(dataset)
    streams = [column.name for column in dataset.schema.of("categorical") for _ in column.offsets]
    words = table[:, [place for place in categorical if streams[place] == "w"]]
    a, b = words[0, 1], words[3, 1]
    assert len({a, b, OUTSIDE}) == 3
    assert words.tolist() == [[OUTSIDE, a, b], [a, b, a], [b, a, OUTSIDE], [OUTSIDE, b, OUTSIDE]]
    numbers = np.delete(table, categorical, axis=1)
    np.testing.assert_array_equal(numbers, [[np.nan, 1], [1, 2], [2, np.nan], [np.nan, 4]])


def test_a_value_that_is_new_is_missing():
    dataset = learn(X, columns=COLUMNS, window=0)
    table, categorical = window_table(encode(dataset.schema, [[{"w": "new", "n": 1.0}]]))
    assert table[0, categorical].tolist() == [MISSING]


@pytest.mark.parametrize("sequence", [[["a", "b"], ["c"]], Item([{"w": "a"}, {"w": "b"}], {"language": "de"})])
def test_what_a_table_has_no_place_for(sequence):
    with pytest.raises(InputError, match="no place"):
        window_table(learn([sequence]))


@pytest.mark.parametrize("labels", [("l1", "l2", "l3"), ("l1", "l2")])
def test_it_learns_labels_of_any_number(labels):
    """With two labels LightGBM gives one probability, with three as many."""
    X, y = make_hmm(60, 20)
    if len(labels) == 2:
        y = [["l2" if label == "l3" else label for label in row] for row in y]
    model = WindowBooster(TreeCRF(window=1, random_state=0, n_estimators=30)).fit(X[:40], y[:40])
    predicted = model.predict(X[40:])
    assert [len(row) for row in predicted] == [20] * 20
    assert {label for row in predicted for label in row} == set(labels)
    right = np.mean([a == b for rows in zip(predicted, y[40:]) for a, b in zip(*rows)])
    assert right > (0.5 if len(labels) == 3 else 0.7)


def test_without_lightgbm_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    with pytest.raises(MissingExtraError, match=r"hedgerow\[experiments\]"):
        require_lightgbm()
