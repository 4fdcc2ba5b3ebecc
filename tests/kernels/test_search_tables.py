"""What competes with the truth in a beam: the kernels against labelings in plain Python."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.chain.structure.states import StateSpace
from hedgerow.data.encoding import learn
from hedgerow.models.search.ranking import TableSearch
from hedgerow.models.search.training import UPDATES
from tests.examples import examples
from tests.reference.search_tables import find_rivals


def history_number(before, order, K):
    """The number of the labels before, the newest first."""
    recent = [before[-1 - i] if i < len(before) else K for i in range(order)]
    return sum(u * (K + 1) ** i for i, u in enumerate(recent))


def scorer(table, rows, order, space, *, backward):
    """The score of the last label of a labeling, by its table; it says nothing of ways that lead nowhere."""
    K = table.shape[2]
    start, moves = (space.end, space.transitions.T) if backward else (space.start, space.transitions)

    def score(labels):
        t, v = len(labels) - 1, labels[-1]
        legal = start[v] if t == 0 else moves[labels[-2], v]
        return float(table[rows[t], history_number(labels[:-1], order, K), v]) if legal else -math.inf

    return score


@examples(60)
@given(
    seed=st.integers(0, 2**32 - 1),
    update=st.sampled_from(UPDATES),
    order=st.integers(0, 2),
    width=st.sampled_from([1, 2, 3, 8]),
    backward=st.booleans(),
)
def test_the_kernels_find_what_the_reference_finds(seed, update, order, width, backward):
    rng = np.random.default_rng(seed)
    K = int(rng.integers(2, 4))
    y = [list(range(K)), *(rng.integers(K, size=int(n)).tolist() for n in rng.integers(1, 6, size=4))]
    dataset = learn([["a"] * len(row) for row in y], y)
    moves = np.ones((K, K), dtype=bool)
    everything = np.ones(K, dtype=bool)
    space = StateSpace(everything, moves, everything)
    search = TableSearch(space, dataset, width, order, backward=backward)
    table = rng.normal(size=(dataset.n_positions, (K + 1) ** order, K))
    loss, wrong, history, shares = search.follow(table, UPDATES.index(update))
    found = search.search(table)
    expected, marked = 0.0, {}
    for i, row in enumerate(y):
        rows = np.arange(dataset.offsets[i], dataset.offsets[i + 1])[:: -1 if backward else 1]
        score = scorer(table, rows, order, space, backward=backward)
        own, rivals = find_rivals(score, tuple(row[::-1] if backward else row), K, width, update)
        expected += own
        marked |= {int(rows[t]): (v, history_number(before, order, K), share) for t, v, before, share in rivals}
        ways = [()]
        for _ in row:
            ranked = sorted(
                ((-sum(score((*w, v)[:t]) for t in range(1, len(w) + 2)), v, r), (*w, v))
                for r, w in enumerate(ways)
                for v in range(K)
            )
            ways = [labels for _, labels in ranked[:width]]
        assert tuple(found[rows]) == ways[0]
    np.testing.assert_allclose(loss, expected, rtol=1e-9)
    assert set(np.flatnonzero(wrong >= 0).tolist()) == set(marked)
    for p, (label, number, share) in marked.items():
        assert (wrong[p], history[p]) == (label, number)
        np.testing.assert_allclose(shares[p], share, rtol=1e-9)


def test_constraints_are_obeyed():
    rng = np.random.default_rng(0)
    dataset = learn([["a"] * 5] * 6, [[0, 1, 0, 1, 2]] * 6)
    moves = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]], dtype=bool)
    ends = np.array([0, 0, 1], dtype=bool)
    space = StateSpace(np.ones(3, dtype=bool), moves, ends)
    for backward in (False, True):
        search = TableSearch(space, dataset, 2, 1, backward=backward)
        found = search.search(rng.normal(size=(30, 4, 3))).reshape(6, 5)
        assert (found[:, -1] == 2).all()
        assert moves[found[:, :-1], found[:, 1:]].all()
