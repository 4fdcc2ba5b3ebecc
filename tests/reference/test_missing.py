"""The literal ways to handle missing values, on examples small enough to be done by hand."""

from __future__ import annotations

import pytest

from tests.reference.growing import CODES, EQUAL, LABEL, ORDERED, Row, Rules
from tests.reference.missing import (
    Gaps,
    Node,
    divide,
    find_split,
    find_surrogates,
    grow,
    impute_codes,
    impute_numbers,
    indicate,
    leaf_value,
    middle,
    most_common,
    predict,
)

GONE = 0  # the code for no value


def rules(n_streams: int = 1, max_leaf_nodes: int = 2, l2_regularization: float = 0.0, **options) -> Rules:
    return Rules([CODES] * n_streams, [4] * n_streams, 1, max_leaf_nodes, l2_regularization, **options)


def rows(*examples: tuple[list[int], int]) -> list[Row]:
    """Examples (codes, target) with ⊥ before all of them."""
    return [Row(t, list(codes), 1, target) for t, (codes, target) in enumerate(examples)]


EIGHT_AND_TWO = rows(*[([2], 8)] * 6, *[([3], -8)] * 2, *[([GONE], 4)] * 2)


def test_examples_without_a_value_go_to_both_sides_in_shares():
    root, _ = grow(EIGHT_AND_TWO, rules(), Gaps([GONE], whole=1024))
    assert root.split == (0, 2, EQUAL)
    assert root.share == 6 / 8
    assert root.true is not None
    assert root.false is not None
    assert sorted(parts for row, parts in root.true.parts if row.bins == [GONE]) == [768, 768]
    assert sorted(parts for row, parts in root.false.parts if row.bins == [GONE]) == [256, 256]
    # (6·8 + 2·¾·4) / (6 + 2·¾), and (2·−8 + 2·¼·4) / (2 + 2·¼)
    assert leaf_value(root.true, 0.0, 1024) == pytest.approx(54 / 7.5)
    assert leaf_value(root.false, 0.0, 1024) == pytest.approx(-14 / 2.5)
    assert leaf_value(root.true, 1.0, 1024) == pytest.approx(54 / 8.5)


def test_prediction_is_the_weighted_mean_of_both_subtrees():
    gaps = Gaps([GONE], whole=1024)
    root, _ = grow(EIGHT_AND_TWO, rules(), gaps)
    assert predict(root, EIGHT_AND_TWO[0], rules(), gaps) == pytest.approx(54 / 7.5)
    assert predict(root, EIGHT_AND_TWO[9], rules(), gaps) == pytest.approx(0.75 * 54 / 7.5 - 0.25 * 14 / 2.5)


def test_gains_are_those_of_examples_with_a_value():
    """What the examples without a value have for targets changes no gain of that column."""
    gains = []
    for wild in (0, 1000):
        examples = rows(*[([2], 8)] * 3, *[([3], -8)] * 3, *[([GONE], wild)] * 4)
        found = find_split([(row, 1) for row in examples], 0, rules(), Gaps([GONE]))
        assert found is not None
        assert found[1] == (0, 2, EQUAL)
        gains.append(found[0])
    assert gains == pytest.approx([6 * 64.0] * 2, rel=1e-6)


def test_a_missing_value_is_not_split_on():
    examples = rows(*[([2], 1)] * 3, *[([3], 1)] * 3, *[([GONE], -50)] * 4)
    assert find_split([(row, 1) for row in examples], 0, rules(), Gaps([GONE])) is None


def test_few_parts_stay_with_the_rest():
    examples = rows(*[([2], 8)] * 99, ([3], -8), ([GONE], 4))
    for few, expected in ((10, [1014, 10]), (11, [1024])):  # a hundredth of a row is 10 parts
        _, leaves = grow(examples, rules(), Gaps([GONE], whole=1024, few=few))
        shares = [parts for leaf in leaves for row, parts in leaf.parts if row.position == 100]
        assert sorted(shares, reverse=True) == expected


# The second column tells the first one's side but for one example; the third says nothing.
PAIRED = rows(
    *[([2, 2, 2], 8)] * 3, *[([2, 2, 3], 8)] * 3, *[([3, 3, 2], -8)] * 2, ([3, 2, 3], -8), ([GONE, 3, 2], 0),
    ([GONE, GONE, 3], 0),
)  # fmt: skip
SURROGATES = Gaps([GONE] * 3, n_surrogates=5)


def test_another_column_tells_the_side():
    root, leaves = grow(PAIRED, rules(3), SURROGATES)
    assert root.split == (0, 2, EQUAL)
    assert [stream for stream, _ in root.surrogates] == [1]
    assert root.surrogates[0][1] == {2}
    assert root.share == 1.0
    side_of = {row.position: leaf is root.true for leaf in leaves for row, _ in leaf.parts}
    assert side_of[9] is False  # by the surrogate
    assert side_of[10] is True  # all are missing: by the larger side


def test_a_surrogate_that_is_no_better_than_the_larger_side_is_none():
    parts = [(row, 1) for row in PAIRED]
    assert [stream for stream, _ in find_surrogates(parts, (0, 2, EQUAL), rules(3), SURROGATES)] == [1]
    with_sets = find_surrogates(parts, (0, 2, EQUAL), rules(3, subsets=True), SURROGATES)
    assert [stream for stream, _ in with_sets] == [1]


def test_agreement_is_counted_where_both_have_a_value():
    """The second column is always right where it is known, the third nearly always, and known: the second is first."""
    examples = rows(
        *[([2, 2, 2], 0)] * 2, *[([2, GONE, 2], 0)] * 4, *[([3, 3, 3], 0)] * 2, *[([3, GONE, 3], 0)] * 3,
        ([3, GONE, 2], 0),
    )  # fmt: skip
    found = find_surrogates([(row, 1) for row in examples], (0, 2, EQUAL), rules(3), SURROGATES)
    assert [stream for stream, _ in found] == [1, 2]


def test_whether_a_place_is_first_may_be_a_surrogate_and_no_other_label():
    examples = [Row(t, [2], 2, 0) for t in range(3)] + [Row(t, [3], t % 2, 0) for t in range(4)]
    own = Rules([CODES], [4], 2, 2, 0.0)
    found = find_surrogates([(row, 1) for row in examples], (0, 2, EQUAL), own, Gaps([GONE], n_surrogates=5))
    assert found == [(LABEL, frozenset([1]))]


def test_numbers_tell_by_thresholds_and_outside_goes_along():
    bins = [(2, 0), (2, 0), (2, 1), (3, 2), (3, 3), (3, 6), (3, 6)]  # bin 5 is missing, bin 6 outside
    examples = [Row(t, list(own), 1, 0) for t, own in enumerate(bins)]
    own = Rules([CODES, ORDERED], [4, 7], 1, 2, 0.0)
    found = find_surrogates([(row, 1) for row in examples], (0, 2, EQUAL), own, Gaps([GONE, 5], n_surrogates=5))
    assert found == [(1, frozenset([0, 1]))]
    turned = find_surrogates([(row, 1) for row in examples], (0, 3, EQUAL), own, Gaps([GONE, 5], n_surrogates=5))
    assert turned == [(1, frozenset([2, 3, 4, 6]))]


def test_a_split_on_the_previous_label_shares_nothing():
    node = Node([(Row(0, [GONE], 0, 5), 1024), (Row(1, [GONE], 1, -5), 1024)], split=(LABEL, 0, EQUAL))
    moved, kept = divide(node, rules(), Gaps([GONE], whole=1024), 1)
    assert [parts for _, parts in moved.parts] == [1024]
    assert [parts for _, parts in kept.parts] == [1024]
    assert node.share == 0.0


def test_filled_values():
    assert most_common([0, 3, 2, 3, 2, 0, 0, 0], 0) == 2  # of two that stand as often, the lower
    assert most_common([0, 0], 0) == 0
    assert impute_codes([0, 3, 0], 0, 2) == [2, 3, 2]
    nan = float("nan")
    assert middle([1.0, nan, 2.0, 6.0], "mean") == 3.0
    assert middle([1.0, nan, 2.0, 6.0], "median") == 2.0
    assert impute_numbers([1.0, nan], 3.0) == [1.0, 3.0]
    assert indicate([1.0, nan]) == [False, True]
    assert middle([nan], "mean") != middle([nan], "mean")
