"""Scores on held-out sequences as an ensemble grows: each iteration adds its own trees, never all of them again."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from hedgerow.data.dataset import Dataset
from hedgerow.estimators.parameters import BEAM_WIDTH
from hedgerow.estimators.validation import Measure
from hedgerow.legend import AnyArray
from hedgerow.parallel import CHUNK_POSITIONS, Lanes, plan_chunks
from hedgerow.training.boosting.chain import Iteration
from hedgerow.training.boosting.scores import Start
from hedgerow.training.memory import check_joint_memory
from hedgerow.trees.binning import Binning, bin_dataset

_CHUNK_SCORES = 4_000_000  # of joint edges: 30 MB


def chunk_positions(n_labels: int, *, joint: bool, n_before: int | None = None) -> int:
    """How many positions the potentials of a chunk should have: fewer where each has K² scores of its own, or those of
    n_before histories."""
    scores = n_labels * (n_labels if n_before is None else n_before)
    return max(1, min(CHUNK_POSITIONS, _CHUNK_SCORES // scores)) if joint else CHUNK_POSITIONS


class Stages:
    """The score of labelled sequences after each iteration. Use inside `with Lanes(...)`.

    iterations : may grow between calls
    """

    def __init__(
        self,
        dataset: Dataset,
        binning: Binning,
        start: Start,
        iterations: list[Iteration],
        lanes: Lanes,
        *,
        scoring: Any,
        decoder: str,
        joint: bool,
        beam_width: int = BEAM_WIDTH,
    ) -> None:
        self.iterations = iterations
        self.lanes = lanes
        self._n_added = 0
        self._measure = Measure(dataset, scoring, decoder, beam_width)
        data = bin_dataset(binning, dataset, postings=False)
        self._data = start.seen_by_trees(data, joint=joint)
        K, table = dataset.n_labels, start.history_table if joint else None
        n_before = None if table is None else table.n_histories
        if joint:
            check_joint_memory(dataset.n_positions, K, n_before)
        plan = plan_chunks(dataset.offsets, chunk_positions(K, joint=joint, n_before=n_before))
        self._chunks = [start.scores(dataset, int(a), int(b), joint=joint) for a, b in pairwise(plan)]

    def __call__(self) -> float:
        """The score with all iterations there are."""
        return self.score(len(self.iterations))

    def score(self, n_iterations: int) -> float:
        """The score with the first iterations; no fewer than at the call before."""
        new = self.iterations[self._n_added : n_iterations]
        self._n_added = n_iterations
        trees = [tree for one in new for tree in one.trees]
        parts: list[AnyArray] = [None] * len(self._chunks)  # type: ignore[list-item]

        def work(lane: int, c: int) -> None:
            chunk = self._chunks[c]
            if trees:
                chunk.add(self._data, trees)
            for one in new:
                if one.table is not None:
                    chunk.add_table(one.table)
            parts[c] = self._measure.chunk(chunk.potentials(), slice(chunk.begin, chunk.end))

        self.lanes.run(work, len(parts))
        return self._measure.total(parts)
