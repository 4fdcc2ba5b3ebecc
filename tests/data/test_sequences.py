"""The Sequences container: an array of sequences that scikit-learn can split."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.model_selection import KFold, train_test_split

from hedgerow.data.encoding import learn
from hedgerow.data.readers.arrays import SparseRows
from hedgerow.data.sequences import Item, Sequences, take_sequences
from hedgerow.errors import InputError


@pytest.fixture
def X():
    columns = {"w": np.array(list("abcdef"), dtype=object), "n": np.arange(6.0)}
    constants = {"lang": np.array(["de", "en", "fr"], dtype=object)}
    kinds = {"w": "categorical", "n": "numeric", "lang": "categorical"}
    return Sequences(columns, np.array([0, 1, 3, 6]), kinds, constants)


def written(X):
    return [repr(item) for item in X]


def test_it_is_an_array_of_sequences(X):
    assert len(X) == 3
    assert X.shape == (3,)
    assert X.lengths.tolist() == [1, 2, 3]
    assert repr(X) == "Sequences(3 sequences, 6 positions: w, n, lang)"
    assert isinstance(X[1], Item)
    assert X[1].positions == [{"w": "b", "n": 1.0}, {"w": "c", "n": 2.0}]
    assert X[1].features == {"lang": "en"}
    assert X[-1].positions[0]["w"] == "d"
    plain = Sequences(X.columns, X.offsets, {"w": "categorical", "n": "numeric"})
    assert plain[0] == [{"w": "a", "n": 0.0}]
    assert [len(rows) for rows in X] == [1, 2, 3]


@pytest.mark.parametrize("key", [[2, 0], np.array([2, 0]), (np.array([2, 0]), Ellipsis), slice(None, None, -2)])
def test_parts_keep_sequences_whole_and_share_the_columns(X, key):
    part = X[key]
    assert part._columns["w"] is X._columns["w"]
    assert written(part) == [repr(X[2]), repr(X[0])]
    columns, offsets, constants = part.compact()
    assert columns["w"].tolist() == list("defa")
    assert columns["n"].tolist() == [3, 4, 5, 0]
    assert offsets.tolist() == [0, 3, 4]
    assert constants["lang"].tolist() == ["fr", "de"]
    assert part.columns["w"].tolist() == list("defa")
    assert part.offsets.tolist() == [0, 3, 4]
    assert part.constants["lang"].tolist() == ["fr", "de"]
    assert written(part[np.array([False, True])]) == [repr(X[0])]


def test_what_a_part_shows_makes_the_same_part(X):
    for part in (X, X[:1], X[1:], X[[2, 0, 2]], X[::-1], X[:0]):
        again = Sequences(part.columns, part.offsets, part.kinds, part.constants)
        assert written(again) == written(part)


def test_the_list_of_its_items_is_the_same_corpus(X):
    for part in (X, X[[2, 0]]):
        rows, columns = learn(list(part)), learn(part)
        assert [(c.name, c.kind, c.constant) for c in rows.schema.columns] == [
            (c.name, c.kind, c.constant) for c in columns.schema.columns
        ]
        np.testing.assert_array_equal(rows.codes, columns.codes)
        np.testing.assert_array_equal(rows.numeric, columns.numeric)
        np.testing.assert_array_equal(rows.seq_codes, columns.seq_codes)


def test_masks_and_empty_parts(X):
    assert written(X[np.array([True, False, True])]) == [repr(X[0]), repr(X[2])]
    assert len(X[[]]) == len(X[:0]) == 0
    with pytest.raises(IndexError):
        X[3]


def test_the_whole_is_not_copied(X):
    assert X.compact()[0]["n"] is X.columns["n"]
    assert X[:].columns["n"] is X.columns["n"]
    assert X[:].offsets is X.offsets


def test_scikit_learn_splits_it(X):
    for train, test in KFold(3).split(X):
        assert list(X[train]) + list(X[test])
    train, test = train_test_split(X, test_size=1, random_state=0)
    assert isinstance(train, Sequences)
    assert len(train) == 2
    assert len(test) == 1


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"offsets": np.array([1, 6])}, "offsets must start at 0"),
        ({"offsets": np.array([0, 4, 3, 6])}, "never fall"),
        ({"offsets": np.array([], dtype=int)}, "offsets must start at 0"),
        ({"offsets": np.array([0, 5])}, "column 'w': has 6 values where offsets give 5 positions"),
        ({"constants": {"lang": np.array(["de"])}}, "column 'lang': has 1 values for 3 sequences"),
        ({"kinds": {"w": "categorical"}}, "column 'n': needs a kind"),
        ({"kinds": {"w": "categorical", "n": "number"}}, "column 'n': needs a kind, one of categorical"),
    ],
)
def test_what_does_not_fit_is_refused(X, change, words):
    given = {"columns": X.columns, "offsets": X.offsets, "kinds": X.kinds, "constants": X.constants}
    with pytest.raises(InputError, match=words):
        Sequences(**given | change)


def test_any_container_is_cut_by_position(X):
    pandas = pytest.importorskip("pandas")
    polars = pytest.importorskip("polars")
    places = np.array([2, 0])
    ragged = [["a"], ["b", "c"], ["d", "e", "f"]]
    assert take_sequences(ragged, places) == take_sequences(tuple(ragged), places) == [ragged[2], ragged[0]]
    assert take_sequences(np.arange(3.0), places).tolist() == [2.0, 0.0]
    assert take_sequences(np.zeros((3, 2, 1)), places).shape == (2, 2, 1)
    assert written(take_sequences(X, places)) == written([X[2], X[0]])
    sparse = SparseRows(csr_array(np.eye(6)), np.array([0, 1, 3, 6]))
    assert take_sequences(sparse, places).lengths.tolist() == [3, 1]
    assert take_sequences(pandas.Series(ragged, index=[0, 2, 1]), places).tolist() == [ragged[2], ragged[0]]
    assert take_sequences(polars.Series([0.5, 1.5, 2.5]), places).to_list() == [2.5, 0.5]
