"""Local models in their literal form: rows with random scores, and all labelings of a sequence by enumeration."""

from __future__ import annotations

from itertools import product

import numpy as np

from hedgerow.chain.structure.states import StateSpace
from hedgerow.legend import CODE


class RandomRows:
    """Scores of every position after every history, drawn once: what a fitted model would give."""

    def __init__(self, rng: np.random.Generator, n: int, n_labels: int, order: int) -> None:
        self.n_labels, self.order = n_labels, order
        self.table = 2.0 * rng.normal(size=(n, *(n_labels + 1,) * order, n_labels))

    def scores(self, rows, histories):
        assert len(set(rows.tolist())) == len(rows)
        return self.table[(rows, *histories.T)]

    def after_each(self, rows, older):
        return np.stack(
            [
                self.scores(rows, np.tile(np.array([u, *older], dtype=CODE), (len(rows), 1)))
                for u in range(self.n_labels)
            ],
            axis=1,
        )


def random_space(rng: np.random.Generator, n_labels: int) -> StateSpace:
    """Some moves are illegal; staying at a label never is, nor starting and ending with the first."""
    moves = (rng.random((n_labels, n_labels)) < 0.6) | np.eye(n_labels, dtype=bool)
    start, end = rng.random(n_labels) < 0.7, rng.random(n_labels) < 0.7
    start[0] = end[0] = True
    return StateSpace(start, moves, end)


def labeling_log_prob(rows: RandomRows, space: StateSpace, places: list[int], labels, backward: bool) -> float:
    """log P of the labels of the positions `places`, label by label: a softmax of what is legal at each."""
    K, order, T = rows.n_labels, rows.order, len(places)
    steps = range(T - 1, -1, -1) if backward else range(T)
    before: list[int] = []
    total = 0.0
    for t in steps:
        history = [*before[: rows.order], *[K] * (order - len(before[: rows.order]))]
        scores = rows.table[(places[t], *history)].copy()
        for v in range(K):
            legal = (t > 0 or space.start[v]) and (t < T - 1 or space.end[v])
            if before:
                legal = legal and (space.transitions[v, before[0]] if backward else space.transitions[before[0], v])
            if not legal:
                scores[v] = -np.inf
        if np.isneginf(scores).all():
            return -np.inf
        total += scores[labels[t]] - np.logaddexp.reduce(scores)
        before.insert(0, int(labels[t]))
    return total


def all_labelings(rows: RandomRows, space: StateSpace, places: list[int], backward: bool):
    """Every labeling of some positions and its log-probability."""
    found = [tuple(labels) for labels in product(range(rows.n_labels), repeat=len(places))]
    return found, np.array([labeling_log_prob(rows, space, places, labels, backward) for labels in found])
