"""Costs as users give them."""

from __future__ import annotations

import numpy as np
import pytest

from hedgerow.errors import InputError
from hedgerow.estimators.values import check_costs, cost_table


def test_no_costs_are_costs_of_one():
    assert cost_table(None, ["a", "b"]) is None


def test_costs_of_labels_and_of_pairs():
    np.testing.assert_array_equal(cost_table({"a": 3.0}, ["a", "b", "c"]), [[0, 3, 3], [1, 0, 1], [1, 1, 0]])
    pairs = cost_table([("a", "c", 5), ("b", 2)], ["a", "b", "c"])
    np.testing.assert_array_equal(pairs, [[0, 1, 5], [2, 0, 2], [1, 1, 0]])


@pytest.mark.parametrize("costs", [{"a": -1.0}, {"a": np.inf}, {"a": "1"}, {"a": True}, "ab", 3, [("a",)], ["a"]])
def test_what_is_no_cost_is_refused(costs):
    with pytest.raises(InputError, match="cost"):
        check_costs(costs)


def test_an_unknown_label_is_named():
    with pytest.raises(InputError, match="'z'"):
        cost_table({"z": 1.0}, ["a"])
