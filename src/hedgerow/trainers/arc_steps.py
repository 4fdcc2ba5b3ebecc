"""The steps of boosting for the arcs of histories, where edges are shared."""

from __future__ import annotations

import numpy as np

from hedgerow import kernels
from hedgerow.data.dataset import Dataset
from hedgerow.legend import FloatArray, IndexArray
from hedgerow.structure.histories import Histories


class ArcSteps:
    """What an iteration adds to the weights of arcs: of a history that stands before n positions, the mean of their
    gradients, as a leaf of a tree has it.

    n is how often training shows the history, or the chain expects it where that is more often. A label adds the
    weights of up to `order` histories of one label or more, so that each takes that share of the step.
    """

    def __init__(self, dataset: Dataset, histories: Histories) -> None:
        self.histories = histories
        self._counts = count_arcs(dataset, histories)

    def step(self, gradient: FloatArray, shrinkage: float) -> FloatArray:
        """(A,), the step of the weights for the gradient (A,) of the scores."""
        h = self.histories
        pulled = h.pull_back_off(gradient)
        seen = np.bincount(h.arc_state, weights=self._counts, minlength=h.n_states)
        expected = np.bincount(h.arc_state, weights=self._counts + pulled, minlength=h.n_states)
        rows = np.maximum(np.maximum(seen, expected), 1.0)[h.arc_state]
        step: FloatArray = np.where(h.legal, -pulled / (h.order * rows + shrinkage), 0.0)
        return step


def count_arcs(dataset: Dataset, histories: Histories) -> FloatArray:
    """(A,): how often training shows each arc, those that back off to it included, each sequence times its weight.

    From a position whose label is not known to the end of its sequence nothing counts.
    """
    assert dataset.labels is not None
    h, n = histories, dataset.n_positions
    arcs: IndexArray = np.empty(n, dtype=np.int64)
    first = np.zeros(n + 1, dtype=np.uint8)
    first[dataset.offsets] = 1
    kernels.histories.follow(dataset.labels, first, h.start, h.back_off, h.arc_ptr, h.arc_label, h.arc_next, arcs)
    weights = np.ones(n) if dataset.weight_seq is None else np.repeat(dataset.weight_seq, np.diff(dataset.offsets))
    used = arcs >= 0
    return h.pull_back_off(np.bincount(arcs[used], weights=weights[used], minlength=h.n_arcs).astype(np.float64))
