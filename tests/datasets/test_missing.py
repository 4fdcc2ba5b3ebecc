"""make_missing: how many values go missing, which, and in what form the corpus comes back."""

from __future__ import annotations

import numpy as np
import pytest

from hedgerow.data.encoding import learn
from hedgerow.data.sequences import Sequences
from hedgerow.datasets import make_missing
from hedgerow.datasets.missing import CONTRAST
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
@pytest.mark.parametrize("mechanism", ["completely", "given", "not"])
def test_the_rate_is_kept_to_the_nearest_value(rate, mechanism):
    X = arrays()
    given = 1 if mechanism == "given" else None
    damaged = np.concatenate(make_missing(X, rate, mechanism=mechanism, given=given, random_state=3))
    n_columns = 2 if given else 3
    assert np.isnan(damaged).sum() == round(rate * n_columns * 600)
    if given:
        assert not np.isnan(damaged[:, 1]).any()
    whole = np.concatenate(X)
    known = ~np.isnan(damaged)
    np.testing.assert_array_equal(damaged[known], whole[known])


@pytest.mark.parametrize("mechanism", ["completely", "given", "not"])
def test_positions_are_lost_as_a_whole(mechanism):
    given = 0 if mechanism == "given" else None
    X = make_missing(arrays(), 0.25, unit="position", mechanism=mechanism, given=given)
    gone = np.isnan(np.concatenate(X))[:, 1 if given == 0 else 0 :]
    assert gone.all(axis=1).sum() == 150
    assert gone.sum() == 150 * gone.shape[1]


def shares(gone: np.ndarray, heavy: np.ndarray) -> float:
    return gone[heavy].mean() / gone[~heavy].mean()


def test_not_at_random_depends_on_the_value():
    X = [np.random.default_rng(1).normal(size=(20_000, 1))]
    gone = np.isnan(make_missing(X, 0.02, mechanism="not")[0][:, 0])
    heavy = X[0][:, 0] > np.median(X[0])
    assert shares(gone, heavy) == pytest.approx(CONTRAST, rel=0.25)


def test_given_another_column_it_depends_on_that_alone():
    X = [np.random.default_rng(2).normal(size=(20_000, 2))]
    gone = np.isnan(make_missing(X, 0.02, mechanism="given", given=1)[0][:, 0])
    median = np.median(X[0], axis=0)
    assert shares(gone, X[0][:, 1] > median[1]) == pytest.approx(CONTRAST, rel=0.25)
    assert shares(gone, X[0][:, 0] > median[0]) == pytest.approx(1.0, abs=0.25)


def test_completely_at_random_depends_on_nothing():
    X = [np.random.default_rng(3).normal(size=(20_000, 2))]
    gone = np.isnan(make_missing(X, 0.05)[0])
    assert shares(gone[:, 0], X[0][:, 0] > 0) == pytest.approx(1.0, abs=0.2)
    assert shares(gone[:, 0], X[0][:, 1] > 0) == pytest.approx(1.0, abs=0.2)


def test_half_of_the_categories_go_missing_more_often():
    X = [list(np.random.default_rng(4).choice(list("abcd"), size=20_000))]
    damaged = make_missing(X, 0.02, mechanism="not")[0]
    rates = sorted(np.mean([d is None for x, d in zip(X[0], damaged) if x == letter]) for letter in "abcd")
    assert rates[2] / rates[1] > 2.0


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
        (WORDS, {"mechanism": "mcar"}, "mechanism='mcar'"),
        (WORDS, {"mechanism": "given"}, "needs a column"),
        (WORDS, {"given": "token"}, "without mechanism='given'"),
        (WORDS, {"mechanism": "given", "given": "token"}, "no column is left"),
        (DICTS, {"columns": ["d"]}, "column 'd'"),
        (DICTS, {"mechanism": "given", "given": "a", "columns": ["a"]}, "must stay"),
        ([[["p", "q"], ["q"]]], {}, "neither tokens nor dicts"),
        ([np.zeros(3)], {}, "not \\(positions, columns\\)"),
        ("abc", {}, "X is"),
    ],
)
def test_bad_input_is_named(X, options, match):
    with pytest.raises(InputError, match=match):
        make_missing(X, **({"rate": 0.1} | options))
