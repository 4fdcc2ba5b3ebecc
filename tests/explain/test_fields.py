"""What an input has to be, in words."""

from __future__ import annotations

import pytest

from hedgerow.explain.fields import MISSING_VALUE, OUTSIDE_VALUE, Attribute, Choice, Number, Value, signed

LETTERS = [MISSING_VALUE, OUTSIDE_VALUE, Value("a"), Value("c d"), Value("e"), Value("(start)"), Value("missing")]


def bins(*numbers):
    return sum(1 << b for b in numbers)


@pytest.mark.parametrize(
    ("inside", "text"),
    [
        ((2,), "x = 'a'"),
        ((0, 1, 3, 4, 5, 6), "x != 'a'"),
        ((0,), "x is missing"),
        ((6,), "x = 'missing'"),
        ((0, 2, 3, 4, 5, 6), "x is not outside"),
        ((0, 1), "x is missing or outside"),
        ((2, 3, 4, 5, 6), "x is known"),
        ((4, 2), "x in {a, e}"),
        ((3, 4, 1), "x in {(outside), 'c d', e}"),
        ((0, 6), "x in {(missing), missing}"),
        ((0, 1, 4, 5, 6), "x not in {a, 'c d'}"),
    ],
)
def test_one_of_some_values(inside, text):
    assert Choice("x", LETTERS, 0b1111111, most=6).text(bins(*inside)) == text


def test_what_cannot_occur_is_not_mentioned():
    field = Choice("x", LETTERS[:4], 0b1101, most=6)
    assert field.text(bins(0, 1)) == "x is missing"
    assert field.text(bins(2, 3)) == "x is not missing"


def test_long_sets_are_cut():
    values = [Value(f"v{i:02d}") for i in range(30)]
    field = Choice("x", values, (1 << 30) - 1, most=3)
    assert field.text(bins(*range(10))) == "x in {v00, v01, v02, … 7 more}"
    assert field.text(bins(*range(5, 30))) == "x not in {v00, v01, v02, … 2 more}"


def test_long_values_of_a_set_are_cut_and_fewer():
    values = [Value(f"{'v' * 30}{i:02d}") for i in range(30)]
    field = Choice("x", values, (1 << 30) - 1, most=6)
    cut = ["vvvvvvvvvv…vvvvvvv00", "vvvvvvvvvv…vvvvvvv01", "vvvvvvvvvv…vvvvvvv02"]
    assert field.text(bins(*range(10))) == f"x in {{{', '.join(cut)}, … 7 more}}"
    assert field.text(bins(3)) == f"x = '{'v' * 30}03'"  # one alone is whole
    spaced = Choice("x", [Value("a" + " " * 30 + "b"), Value("c"), Value("d")], 0b111, most=6)
    assert spaced.text(bins(0, 1)) == "x != 'd'"
    assert (
        Choice("x", [*spaced.values, Value("e")], 0b1111, most=6).text(bins(0, 1))
        == f"x in {{'a{' ' * 9}…{' ' * 8}b', c}}"
    )


@pytest.mark.parametrize(
    ("value", "decimals", "text"),
    [
        (0.0, 4, "+0.0000"),
        (0.25, 4, "+0.2500"),
        (-1234.5, 3, "-1234.500"),
        (0.001, 4, "+0.0010"),
        (0.00099, 4, "+9.9e-04"),
        (-0.0000123456, 4, "-1.2e-05"),
        (0.01, 3, "+0.010"),
        (-0.0099, 3, "-9.9e-03"),
        (5e-324, 4, "+4.9e-324"),
    ],
)
def test_small_numbers_keep_two_digits(value, decimals, text):
    assert signed(value, decimals) == text


def test_values_that_no_split_names_are_all_others():
    field = Choice("x", [Value("a"), Value("b"), Value("c"), None], 0b1111, most=6)
    assert field.text(bins(0)) == "x = 'a'"
    assert field.text(bins(0, 1, 2)) == "x in {a, b, c}"
    assert field.text(bins(3)) == "x not in {a, b, c}"
    assert field.text(bins(1, 2, 3)) == "x != 'a'"


@pytest.mark.parametrize(
    ("inside", "text"),
    [
        ((0,), "x <= 0.5"),
        ((0, 1, 3), "x <= 1.5 or missing"),
        ((1,), "0.5 < x <= 1.5"),
        ((2, 3, 4), "x > 1.5 or missing or outside"),
        ((0, 1, 2), "x is known"),
        ((0, 1, 2, 4), "x is not missing"),
        ((3, 4), "x is missing or outside"),
        ((4,), "x is outside"),
    ],
)
def test_intervals(inside, text):
    assert Number("x", [0.5, 1.5], 0b11111).text(bins(*inside)) == text


def test_a_number_that_cannot_be_missing():
    field = Number("x", [0.5, 1.5], 0b00111)
    assert field.text(bins(2, 3, 4)) == "x > 1.5"
    assert field.text(bins(0, 3)) == "x <= 0.5"


@pytest.mark.parametrize(
    ("thresholds", "texts"),
    [
        ([0.1 + 0.2], ["0.3"]),
        ([1234567.5, 1234568.5], ["1234567.5", "1234568.5"]),
        ([1 / 3, 1000 / 3], ["0.3333", "333.3"]),
        ([1 / 3, 1 / 3 + 1e-6], ["0.3333333", "0.3333343"]),
    ],
)
def test_thresholds_have_the_digits_that_tell_them_apart(thresholds, texts):
    field = Number("x", thresholds, (1 << len(thresholds) + 3) - 1)
    assert [field.text(bins(*range(i + 1))) for i in range(len(texts))] == [f"x <= {text}" for text in texts]


@pytest.mark.parametrize(
    ("inside", "text"),
    [
        ((0,), "has not 'w' [-1]"),
        ((1, 2, 3), "has 'w' [-1]"),
        ((2, 3), "'w' [-1] > 1.5"),
        ((2,), "1.5 < 'w' [-1] <= 2.5"),
        ((0, 1), "'w' [-1] <= 1.5 or absent"),
    ],
)
def test_attributes(inside, text):
    field = Attribute("w", "-1", [1.5, 2.5])
    assert field.possible == 0b1111
    assert field.text(bins(*inside)) == text
