"""The best chain without input: its gradient vanishes, and it is what counting says where counting knows."""

from __future__ import annotations

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from hedgerow.chain.edges import chain_from_scores
from hedgerow.chain.objectives import log_likelihood
from hedgerow.chain.potentials import Truth
from hedgerow.chain.structure.states import StateSpace
from hedgerow.data.encoding import learn
from hedgerow.datasets import make_sequences
from hedgerow.training.boosting import constant
from hedgerow.training.boosting.constant import best_constant


def loss_of(dataset, space, table, **given):
    """The loss of a corpus by the objective itself, with every sequence written out."""
    K = dataset.n_labels
    potentials = chain_from_scores(
        np.zeros((dataset.n_positions, K)), np.where(space.transitions, table[:K], -np.inf), dataset.offsets
    )
    potentials.add_start_end(table[K] + space.start_scores, space.end_scores)
    return log_likelihood(potentials, Truth(dataset.labels, allowed=dataset.allowed, weights=dataset.weight_seq))


@pytest.mark.parametrize("case", ["plain", "weights", "partial", "forbidden"])
def test_no_other_table_is_better(case, rng):
    X, y = make_sequences(40, 3, random_state=1)
    space = StateSpace.full(3)
    weights = rng.random(40) + 0.5 if case == "weights" else None
    if case == "partial":
        y = [
            [None if i % 3 == 0 else {label, "L0"} if i % 3 == 1 else label for i, label in enumerate(labels)]
            for labels in y
        ]
    dataset = learn(X, y, sample_weight=weights)
    if case == "forbidden":
        space = StateSpace.observed(dataset.labels, dataset.offsets, 3)
        space.transitions[0, 1] = space.start[2] = space.end[0] = False
        good = [
            i for i, (a, b) in enumerate(zip(dataset.offsets, dataset.offsets[1:])) if legal(space, dataset.labels[a:b])
        ]
        dataset = dataset.take(np.array(good))
    table = best_constant(dataset, space)
    allowed = np.vstack([space.transitions, space.start])
    assert not table[~allowed].any()

    def penalised(values):
        return loss_of(dataset, space, values).loss + constant.RIDGE * float((values**2).sum())

    best = penalised(table)
    for _ in range(40):
        step = rng.normal(size=table.shape) * allowed * 10.0 ** rng.uniform(-3, 0)
        assert penalised(table + step) > best - 1e-7 * abs(best)
    assert best < penalised(np.zeros_like(table)) - 1.0


def legal(space, y):
    return bool(space.start[y[0]] and space.end[y[-1]] and space.transitions[y[:-1], y[1:]].all())


def test_the_threads_of_blas_change_no_bit(rng):
    """With so many labels a product of all scores has several threads."""
    y = [[f"L{k}" for k in rng.integers(110, size=20)] for _ in range(40)]
    dataset = learn([["w"] * 20] * 40, y)
    tables = []
    for n in (1, 2):
        with threadpool_limits(n, user_api="blas"):
            tables.append(best_constant(dataset, StateSpace.full(dataset.n_labels)))
    np.testing.assert_array_equal(*tables)


def test_sequences_of_one_position_are_counted():
    """log of the frequencies, but for a number that is the same for all labels."""
    dataset = learn([["w"]] * 60, [["a"]] * 30 + [["b"]] * 20 + [["c"]] * 10)
    start = best_constant(dataset, StateSpace.full(3))[3]
    probs = np.exp(start) / np.exp(start).sum()
    np.testing.assert_allclose(probs, [30 / 60, 20 / 60, 10 / 60], atol=2e-3)


def test_a_transition_never_seen_stays_finite():
    dataset = learn([["w", "w"]] * 50, [["a", "b"]] * 50)
    table = best_constant(dataset, StateSpace.full(2))
    assert np.isfinite(table).all()
    assert table[0, 1] - table[0, 0] > 3
