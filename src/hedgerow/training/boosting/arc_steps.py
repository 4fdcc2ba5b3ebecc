"""The steps of boosting for the scores of transitions, where edges are shared."""

from __future__ import annotations

import numpy as np

from hedgerow.chain import kernels
from hedgerow.chain.structure.histories import Histories
from hedgerow.data.dataset import Dataset
from hedgerow.legend import AnyArray, BoolArray, FloatArray, IndexArray
from hedgerow.training.counting import count_known_moves, position_weights


def known_moves(dataset: Dataset) -> tuple[FloatArray, float]:
    """(K, K) [from, to], how often known labels follow each other, and the weight of all but first positions."""
    spread = position_weights(dataset)
    return count_known_moves(dataset, spread), float(spread.sum() - spread[dataset.offsets[:-1]].sum())


class TableSteps:
    """What an iteration adds to the table of transitions of order 1: for each previous label, of n positions, the mean
    of their gradients, as a leaf of a tree has it.

    n is how often training shows the label before another, or the chain expects it there where that is more often. By
    Newton's steps n is that of the transition itself: what it is expected bounds the variance of each of its places, as
    Σp(1−p) is that of a leaf.
    """

    def __init__(self, counts: FloatArray, inner: float, legal: BoolArray, *, newton: bool) -> None:
        """counts : (K, K), how often known labels follow each other; inner : the weight of all but first positions"""
        self.legal = legal
        self.newton = newton
        self._counts = counts + (inner - counts.sum()) / counts.size  # what is not known may be any

    @classmethod
    def of(cls, dataset: Dataset, legal: BoolArray, *, newton: bool) -> TableSteps:
        return cls(*known_moves(dataset), legal, newton=newton)

    def step(self, gradient: FloatArray, l2_regularization: float) -> FloatArray:
        """(K, K) [from, to], the step for the gradient of the scores."""
        seen, expected = self._counts, self._counts + gradient
        if not self.newton:
            seen, expected = seen.sum(axis=1, keepdims=True), expected.sum(axis=1, keepdims=True)
        return np.where(self.legal, -gradient / (_at_least(seen, expected) + l2_regularization), 0.0)

    def slope(self, gradient: FloatArray, step: FloatArray) -> float:
        """Σ gradient · step."""
        return float((gradient * step).sum())


class ArcSteps:
    """What an iteration adds to the weights of arcs: of a history that stands before n positions, the mean of their
    gradients. n is as in TableSteps.

    A label adds the weights of up to `order` histories of one label or more, so that each takes that share of the step.
    """

    def __init__(self, dataset: Dataset, histories: Histories, *, newton: bool) -> None:
        self.histories = histories
        self.newton = newton
        self._counts = count_arcs(dataset, histories)

    def step(self, gradient: FloatArray, l2_regularization: float) -> FloatArray:
        """(A,), the step of the weights for the gradient (A,) of the scores."""
        h = self.histories
        pulled = h.pull_back_off(gradient)
        if self.newton:
            rows = _at_least(self._counts, self._counts + pulled)
        else:
            seen = np.bincount(h.arc_state, weights=self._counts, minlength=h.n_states)
            expected = np.bincount(h.arc_state, weights=self._counts + pulled, minlength=h.n_states)
            rows = _at_least(seen, expected)[h.arc_state]
        return np.where(h.legal, -pulled / (h.order * rows + l2_regularization), 0.0)

    def slope(self, gradient: FloatArray, step: FloatArray) -> float:
        """Σ gradient · step, of the weights."""
        return float((self.histories.pull_back_off(gradient) * step).sum())


def _at_least(seen: AnyArray, expected: AnyArray) -> FloatArray:
    """The larger of two counts, and 1 at least: no step divides by next to nothing."""
    return np.maximum(np.maximum(seen, expected), 1.0)


def count_arcs(dataset: Dataset, histories: Histories) -> FloatArray:
    """(A,): how often training shows each arc, those that back off to it included, each sequence times its weight.

    From a position whose label is not known to the end of its sequence nothing counts.
    """
    assert dataset.labels is not None
    h, n = histories, dataset.n_positions
    arcs: IndexArray = np.empty(n, dtype=np.int64)
    first = np.zeros(n + 1, dtype=np.uint8)
    first[dataset.offsets] = 1
    kernels.history_arcs.follow(dataset.labels, first, h.walk, arcs)
    weights = position_weights(dataset)
    used = arcs >= 0
    return h.pull_back_off(np.bincount(arcs[used], weights=weights[used], minlength=h.n_arcs).astype(np.float64))
