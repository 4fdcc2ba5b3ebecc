"""make_missing: how many values go missing, which, and in what form the corpus comes back."""

from __future__ import annotations

import numpy as np
import pytest

from hedgerow.data.encoding import learn
from hedgerow.data.sequences import Sequences
from hedgerow.datasets import make_missing
from hedgerow.errors import InputError
from hedgerow.legend import MISSING

WORDS = [list("abcab"), list("cc"), [], list("bacabac")]
DICTS = [[{"a": "x", "b": 1.0, "c": True}, {"a": "y", "b": 2.0}], [{"a": "x", "b": 3.0, "c": False}] * 3]


def arrays(n: int = 400, columns: int = 3, seed: int = 0) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.normal(size=(n, columns)), rng.normal(size=(n // 2, columns))]


def as_sequences() -> Sequences:
    words = np.array(list("abcabcabc"), dtype=object)
    columns = {"word": words, "size": np.arange(9.0), "up": np.arange(9) % 2 == 0}
    kinds = {"word": "categorical", "size": "numeric", "up": "boolean", "where": "categorical"}
    constants = {"where": np.array(["x", "y"], dtype=object)}
    return Sequences(columns, np.array([0, 4, 9]), kinds, constants)


@pytest.mark.parametrize("rate", [0.0, 0.05, 0.4, 1.0])
def test_the_rate_is_kept_to_the_nearest_value(rate):
    X = arrays()
    damaged = np.concatenate(make_missing(X, rate, random_state=3))
    assert np.isnan(damaged).sum() == round(rate * 3 * 600)
    whole = np.concatenate(X)
    known = ~np.isnan(damaged)
    np.testing.assert_array_equal(damaged[known], whole[known])


def test_positions_are_lost_as_a_whole():
    gone = np.isnan(np.concatenate(make_missing(arrays(), 0.25, unit="position")))
    assert gone.all(axis=1).sum() == 150
    assert gone.sum() == 150 * gone.shape[1]


def shares(gone: np.ndarray, heavy: np.ndarray) -> float:
    return gone[heavy].mean() / gone[~heavy].mean()


def test_completely_at_random_depends_on_nothing():
    X = [np.random.default_rng(3).normal(size=(20_000, 2))]
    gone = np.isnan(make_missing(X, 0.05)[0])
    assert shares(gone[:, 0], X[0][:, 0] > 0) == pytest.approx(1.0, abs=0.2)
    assert shares(gone[:, 0], X[0][:, 1] > 0) == pytest.approx(1.0, abs=0.2)


def test_tokens_become_none():
    damaged = make_missing(WORDS, 0.5, random_state=1)
    assert [len(x) for x in damaged] == [5, 2, 0, 7]
    assert sum(token is None for x in damaged for token in x) == 7
    assert all(d in (None, t) for x, own in zip(WORDS, damaged) for t, d in zip(x, own))


def test_dicts_keep_their_keys():
    damaged = make_missing(DICTS, 1.0, columns=["b", "c"])
    assert damaged[0] == [{"a": "x", "b": None, "c": None}, {"a": "y", "b": None}]
    assert DICTS[0][0]["b"] == 1.0
    some = make_missing(DICTS, 0.5)
    assert sum(value is None for x in some for row in x for value in row.values()) == 7


def test_sequences_stay_sequences():
    X = as_sequences()
    damaged = make_missing(X[[1]], 1.0, columns=["word", "size", "up"])
    assert isinstance(damaged, Sequences)
    assert damaged.columns["word"].tolist() == [None] * 5
    assert np.isnan(damaged.columns["size"]).all()
    assert damaged.columns["up"].tolist() == [None] * 5
    assert damaged.constants["where"].tolist() == ["y"]
    assert X.columns["word"][4] == "b"


def test_a_letter_is_missing_in_all_windows_that_reach_it():
    """A window is a column read at offsets: what the column has lost, every window has."""
    X = make_missing([list("abcdef")], 0.5, random_state=2)
    dataset = learn(X, [["l"] * 6], window=2)
    column = next(c for c in dataset.schema.columns if c.kind == "categorical")
    assert column.offsets == (-2, -1, 0, 1, 2)
    start = int(dataset.start[0])
    for t in range(6):
        for o in column.offsets:
            if 0 <= t + o < 6:
                assert (dataset.codes[0, start + t + o] == MISSING) == (X[0][t + o] is None)


def test_what_is_missing_stays_missing_and_does_not_count():
    X = arrays()
    X[0][:100, 0] = np.nan
    damaged = np.concatenate(make_missing(X, 0.5, columns=[0]))
    assert np.isnan(damaged[:, 0]).sum() == 100 + 250


def test_the_seed_decides():
    X = arrays()
    first, again, other = (make_missing(X, 0.2, random_state=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first[0], again[0])
    assert not np.array_equal(first[0], other[0], equal_nan=True)


@pytest.mark.parametrize(
    ("X", "options", "match"),
    [
        (WORDS, {"rate": 1.5}, "rate=1.5"),
        (WORDS, {"unit": "row"}, "unit='row'"),
        (WORDS, {"columns": []}, "no column is left"),
        (DICTS, {"columns": ["d"]}, "column 'd'"),
        ([[["p", "q"], ["q"]]], {}, "neither tokens nor dicts"),
        ([np.zeros(3)], {}, "not \\(positions, columns\\)"),
        ("abc", {}, "X is"),
    ],
)
def test_bad_input_is_named(X, options, match):
    with pytest.raises(InputError, match=match):
        make_missing(X, **({"rate": 0.1} | options))
