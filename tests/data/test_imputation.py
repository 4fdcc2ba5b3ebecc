"""Filling missing values, against the literal functions of the reference."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.data.encoding import learn
from hedgerow.data.imputation import Imputation, learn_imputation
from hedgerow.data.sequences import Item
from hedgerow.errors import InputError
from hedgerow.legend import FIRST_VALUE, MISSING, OUTSIDE
from tests.reference import missing as reference

COLUMNS = {"word": "categorical", "up": "boolean", "size": "numeric", "language": "categorical", "age": "numeric"}


def make(seed: int, window: int = 1):
    """Sequences with gaps in every kind of column, and a value in each at least."""
    rng = np.random.default_rng(seed)

    def draw(values):
        return None if rng.random() < 0.4 else values[rng.integers(len(values))]

    X, y = [], []
    for i in range(int(rng.integers(2, 6))):
        rows = [
            {"word": draw("abc"), "up": draw([True, False]), "size": draw([0.5, 2.0, 2.0, 7.0])}
            for _ in range(int(rng.integers(1, 5)))
        ]
        if i == 0:
            rows[0] = {"word": "a", "up": True, "size": 1.0}
        features = {"language": "de" if i == 0 else draw(["de", "en"]), "age": 30.0 if i == 0 else draw([10.0, 80.0])}
        X.append(Item(rows, features))
        y.append(["l"] * len(rows))
    return learn(X, y, columns=COLUMNS, window=window)


def inside(dataset):
    return np.concatenate([np.arange(a, a + n) for a, n in zip(dataset.start, np.diff(dataset.offsets))])


@given(st.integers(0, 10_000), st.sampled_from(["mean", "median"]))
def test_values_are_those_of_the_reference(seed, by):
    dataset = make(seed)
    own = learn_imputation(dataset, numbers=by)
    filled, where = own.apply(dataset), inside(dataset)
    assert filled.schema == dataset.schema
    for constant, at in ((False, where), (True, slice(None))):
        before = (dataset.seq_codes, dataset.seq_numeric) if constant else (dataset.codes, dataset.numeric)
        after = (filled.seq_codes, filled.seq_numeric) if constant else (filled.codes, filled.numeric)
        for row, column in enumerate(dataset.schema.of("categorical", "boolean", constant=constant)):
            values = before[0][row, at].tolist()
            if column.name in COLUMNS:
                fill = reference.most_common(values, MISSING)
                assert own.codes[column.name] == fill
                assert after[0][row, at].tolist() == reference.impute_codes(values, MISSING, fill)
        for row, column in enumerate(dataset.schema.of("numeric", constant=constant)):
            values = before[1][row, at].tolist()
            fill = reference.middle(values, by)
            assert own.numbers[column.name] == pytest.approx(fill, rel=1e-12)
            np.testing.assert_allclose(after[1][row, at], reference.impute_numbers(values, fill), rtol=1e-12)


def test_what_is_outside_stays_outside():
    dataset = make(3)
    filled = learn_imputation(dataset, flags=True).apply(dataset)
    outside = np.ones(dataset.codes.shape[1], dtype=bool)
    outside[inside(dataset)] = False
    assert outside.any()
    assert (filled.codes[:, outside] == OUTSIDE).all()
    assert np.isnan(filled.numeric[:, outside]).all()


def test_codes_may_be_flagged_and_not_filled():
    dataset = make(0)
    own = learn_imputation(dataset, flags=True, codes=False, flag_codes=True)
    assert set(own.flags) == set(COLUMNS)
    assert own.codes == {}
    filled = own.apply(dataset)
    row = [c.name for c in dataset.schema.of("categorical", "boolean")].index("word")
    flag = [c.name for c in filled.schema.of("categorical", "boolean")].index("word (missing)")
    where = inside(dataset)
    gone = dataset.codes[row, where] == MISSING
    np.testing.assert_array_equal(filled.codes[row], dataset.codes[row])
    np.testing.assert_array_equal(filled.codes[flag, where] == FIRST_VALUE + 1, gone)
    assert gone.any()


@given(st.integers(0, 10_000), st.booleans())
def test_flags_say_where_values_were_missing(seed, codes):
    dataset = make(seed)
    own = learn_imputation(dataset, flags=True, codes=codes)
    filled, where = own.apply(dataset), inside(dataset)
    expected = {"size", "age"} | ({"word", "up", "language"} if codes else set())
    assert set(own.flags) == expected
    by_name = {}
    for constant, stored in ((False, filled.codes[:, where]), (True, filled.seq_codes)):
        for column, row in zip(filled.schema.of("categorical", "boolean", constant=constant), stored):
            by_name[column.name] = row
    numbers = dict(zip((c.name for c in dataset.schema.of("numeric")), dataset.numeric[:, where]))
    numbers |= dict(zip((c.name for c in dataset.schema.of("numeric", constant=True)), dataset.seq_numeric))
    for name, values in numbers.items():
        flags = [FIRST_VALUE + flag for flag in reference.indicate(values.tolist())]
        assert by_name[f"{name} (missing)"].tolist() == flags
    words = dataset.codes[[c.name for c in dataset.schema.of("categorical", "boolean")].index("word"), where]
    if codes:
        assert by_name["word (missing)"].tolist() == [FIRST_VALUE + (x == MISSING) for x in words]
    else:
        assert by_name["word"].tolist() == words.tolist()


def test_flags_are_read_at_the_window_of_their_column():
    dataset = make(1, window=2)
    filled = learn_imputation(dataset, flags=True).apply(dataset)
    offsets = {column.name: column.offsets for column in filled.schema.columns}
    assert offsets["size (missing)"] == offsets["size"] == (-2, -1, 0, 1, 2)
    assert offsets["age (missing)"] == offsets["age"] == (0,)


def test_the_corpus_itself_stays_as_it_is():
    dataset = make(5)
    copy = make(5)
    learn_imputation(dataset, flags=True).apply(dataset)
    assert dataset.equals(copy)


def test_an_absent_weight_is_zero_and_not_missing():
    dataset = learn([[{"w": 2.0}, {}]], [["a", "b"]])
    assert learn_imputation(dataset) == Imputation()


@pytest.mark.parametrize("column", ["word", "size"])
def test_a_column_without_values_is_an_error(column):
    rows = [{"word": "a", "size": 1.0, column: None}] * 2
    dataset = learn([rows], [["a", "b"]], columns={"word": "categorical", "size": "numeric"})
    with pytest.raises(InputError, match="every value is missing") as caught:
        learn_imputation(dataset)
    assert caught.value.column == column


def test_numbers_are_mean_or_median():
    with pytest.raises(InputError, match="numbers='mode'"):
        learn_imputation(make(0), numbers="mode")
