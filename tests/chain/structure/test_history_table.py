"""Tables of all histories: numbers, where labels lead, what trees may ask."""

from __future__ import annotations

import numpy as np
import pytest

from hedgerow.chain.structure.history_table import HistoryTable
from hedgerow.errors import InputError


def words(table):
    return [table.name(h, "abc") for h in range(table.n_histories)]


def test_all_histories_of_order_two():
    table = HistoryTable.full(2, 2)
    assert words(table) == ["⊥", "⊥ a", "⊥ b", "a a", "a b", "b a", "b b"]
    names = words(table)
    assert [names[h] for h in table.next[0]] == ["⊥ a", "a a", "b a", "a a", "b a", "a a", "b a"]
    assert [names[h] for h in table.next[1]] == ["⊥ b", "a b", "b b", "a b", "b b", "a b", "b b"]
    assert table.possible.sum(axis=1).tolist() == [1, 2, 4]


@pytest.mark.parametrize(("K", "order"), [(1, 3), (2, 1), (2, 4), (3, 3)])
def test_a_labeling_walks_as_its_last_labels_say(rng, K, order):
    table = HistoryTable.full(K, order)
    assert table.n_histories == sum(K**d for d in range(order + 1))
    lengths = [1, 7, 2]
    labels = rng.integers(K, size=10)
    first = np.zeros(11, dtype=np.uint8)
    first[[0, 1, 8, 10]] = 1
    before = table.before(labels, first)
    state, t = 0, 0
    for length in lengths:
        state = 0
        for i in range(length):
            assert before[t] == state
            assert table.possible[min(i, order), state]
            past = labels[max(t - i, t - order) : t].tolist()
            assert table.labels[state].tolist() == [-1] * (order - len(past)) + past
            state = table.next[labels[t], state]
            t += 1


def test_what_trees_may_ask():
    table = HistoryTable.full(2, 2)
    sets, asked = table.questions()
    assert asked == [(1, 0), (1, 1), (1, -1), (2, 0), (2, 1), (2, -1)]
    for (j, v), chosen in zip(asked, sets):
        assert chosen[:-1].tolist() == (table.labels[:, 2 - j] == v).astype(int).tolist()
        assert chosen[-1] == 0


def test_too_many():
    assert HistoryTable.full(122, 1).n_histories == 123
    with pytest.raises(InputError, match="122 labels have too many histories of order 3: more than 65,536"):
        HistoryTable.full(122, 3)
    with pytest.raises(InputError, match="too many"):
        HistoryTable.full(1, 10**9)
    with pytest.raises(InputError, match="order is 0"):
        HistoryTable.full(2, 0)
