"""Features that are vectors: as arrays or lists among other values, in data frames and as columns (N, d)."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from hedgerow import InputError, Item, LinearCRF, TreeCRF, sequences
from hedgerow.data.encoding import encode, learn
from hedgerow.data.readers import read_jsonl
from hedgerow.data.sequences import Sequences

D = 12


def corpus(n=6, dtype=np.float32):
    rng = np.random.default_rng(0)
    X = [[{"word": word, "vector": rng.normal(size=D).astype(dtype)} for word in "abc"] for _ in range(n)]
    y = [["up" if row["vector"][0] > 0 else "down" for row in xs] for xs in X]
    return X, y


def spelt_out(X):
    """The same with a number a key."""
    return [
        [
            {"word": row["word"]} | {f"vector[{j}]": float(number) for j, number in enumerate(row["vector"])}
            for row in xs
        ]
        for xs in X
    ]


def frame_of(X, y):
    rows = [row | {"s": s, "tag": tag} for s, (xs, ys) in enumerate(zip(X, y)) for row, tag in zip(xs, ys)]
    return pd.DataFrame(rows)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_vector_is_a_column_for_each_number(dtype):
    X, y = corpus(dtype=dtype)
    found = learn(X, y)
    assert found.numeric.dtype == dtype
    declared = {f"vector[{j}]": "numeric" for j in range(D)}
    apart = learn(spelt_out(X), y, columns=declared)
    assert [c.name for c in found.schema.columns] == [c.name for c in apart.schema.columns]
    np.testing.assert_array_equal(found.numeric, apart.numeric)
    np.testing.assert_array_equal(found.codes, apart.codes)
    for own, other in zip(found.schema.columns, apart.schema.columns):
        assert (own.center, own.spread) == (other.center, other.spread)


@pytest.mark.parametrize("of", [list, tuple, lambda vector: vector.astype(np.float64)])
def test_lists_and_arrays_are_the_same(of):
    X, y = corpus()
    other = [[row | {"vector": of(row["vector"])} for row in xs] for xs in X]
    np.testing.assert_array_equal(learn(other, y).numeric, learn(X, y).numeric)


def test_frames_and_columns_give_the_same_dataset():
    X, y = corpus()
    frame = frame_of(X, y)
    expected = learn(X, y)
    cut, labels = sequences(frame, by="s", label="tag")
    assert learn(cut, labels).equals(expected)
    assert cut[0][1]["vector[3]"] == X[0][1]["vector"][3]
    pieces = [frame.loc[frame["s"] == s, ["word", "vector"]] for s in range(len(X))]
    assert learn(pieces, y).equals(expected)
    words = np.array([row["word"] for xs in X for row in xs], dtype=object)
    matrix = np.stack([row["vector"] for xs in X for row in xs])
    kinds = {"word": "categorical", "vector": "numeric"}
    whole = Sequences({"word": words, "vector": matrix}, np.arange(0, len(words) + 1, 3), kinds)
    assert learn(whole, y).equals(expected)


def test_lists_of_numbers_in_polars():
    polars = pytest.importorskip("polars")
    X, y = corpus()
    frame = frame_of(X, y)
    lists = polars.DataFrame({name: frame[name].tolist() for name in ("s", "word", "tag")}).with_columns(
        polars.Series("vector", [vector.tolist() for vector in frame["vector"]])
    )
    cut, labels = sequences(lists, by="s", label="tag")
    np.testing.assert_array_equal(learn(cut, labels).numeric, learn(X, y).numeric)


def test_jsonl():
    line = '{"features": [{"word": "a", "vector": [1.0, 2.5]}, {"word": "b", "vector": [0, 1]}], "labels": ["x", "y"]}'
    X, y = read_jsonl([line])
    np.testing.assert_array_equal(learn(X, y).numeric, [[1.0, 0.0], [2.5, 1.0]])


def test_a_vector_of_the_whole_sequence():
    X, y = corpus()
    items = [Item([{"word": row["word"]} for row in xs], {"voice": np.arange(2.0) + s}) for s, xs in enumerate(X)]
    dataset = learn(items, y)
    np.testing.assert_array_equal(dataset.seq_numeric, [np.arange(6.0), np.arange(6.0) + 1])
    frame = frame_of(X, y).drop(columns="vector").assign(voice=lambda f: [np.arange(2.0) + s for s in f["s"]])
    cut, labels = sequences(frame, by="s", label="tag", constant=["voice"])
    assert learn(cut, labels).equals(dataset)
    frame.at[1, "voice"] = np.zeros(2) + 7.0
    with pytest.raises(InputError, match="sequence 0, position 1, column 'voice': changes from"):
        sequences(frame, by="s", label="tag", constant=["voice"])


@pytest.mark.parametrize("model", [LinearCRF(window=1, max_iter=20), TreeCRF(window=1, n_estimators=3)])
def test_models_train_and_predict(model):
    X, y = corpus(30)
    model.fit(X, y)
    batch = model.predict_proba(X)
    for xs, probs in zip(X[:3], batch):  # one by one: the short path leaves vectors to the ordinary one
        np.testing.assert_array_equal(model.predict_proba([xs])[0], probs)
    assert model.score(X, y) > 0.8


def test_an_absent_vector_is_missing_numbers():
    X, y = corpus()
    X[2][1] = X[2][1] | {"vector": None}
    X[3][0] = {"word": "a"}
    dataset = learn(X, y)
    assert np.isnan(dataset.numeric[:, [7, 9]]).all()
    with pytest.raises(InputError, match=r"sequence 2, position 1, column 'vector\[0\]': a number is missing"):
        LinearCRF(window=0).fit(X, y)
    LinearCRF(window=0, missing="impute").fit(X, y)


WRONG = {
    "short": (np.zeros(D - 1), f"the vector has {D - 1} numbers where others have {D}"),
    "number": (1.5, f"1.5 is no vector of {D} numbers"),
    "text": ("a", f"'a' is no vector of {D} numbers"),
    "matrix": (np.zeros((2, 3)), rf"an array of the shape \(2, 3\) is no vector of {D} numbers"),
    "mixed": ([0.5] * (D - 1) + ["a"], "holds more than numbers"),
    "infinite": ([np.inf] + [0.5] * (D - 1), "the vector has an infinite number"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_no_such_vector_is_named(name):
    value, message = WRONG[name]
    X, y = corpus()
    schema = learn(X, y).schema
    X[4][2] = X[4][2] | {"vector": value}
    place = rf"sequence 4, position 2, column 'vector': .*{message}"
    with pytest.raises(InputError, match=place):
        learn(X, y)
    with pytest.raises(InputError, match=place):
        encode(schema, X)
    with pytest.raises(InputError, match=place):
        sequences(frame_of(X, y), by="s", label="tag")
    with pytest.raises(InputError, match=place.replace("sequence 4", "sequence 0")):
        encode(schema, X[4:])  # where no other vector says how long they are, the model does


def test_a_matrix_is_no_feature():
    with pytest.raises(InputError, match=r"it is an array of the shape \(2, 2\) and of float64. A feature is"):
        learn([[{"vector": np.zeros((2, 2))}]], [["a"]])


def test_numbers_where_earlier_blocks_had_vectors():
    X, y = corpus(4000)
    X[-1] = [row | {"vector": 1.0} for row in X[-1]]
    with pytest.raises(
        InputError, match=f"sequence 3999, position 0, column 'vector': 1.0 is no vector of {D} numbers"
    ):
        learn(X, y)
