"""How trees with shared edges score few positions of one sequence, without a chunk."""

from __future__ import annotations

import numpy as np

from hedgerow.chain.edges import SharedEdges
from hedgerow.chain.short import is_plain
from hedgerow.data.dataset import Dataset
from hedgerow.estimators.predictor import Lean
from hedgerow.legend import FloatArray
from hedgerow.training.boosting.scores import Start
from hedgerow.trees.binning import Binning, bin_dataset
from hedgerow.trees.ensemble import Ensemble, walk_trees


def lean_trees(binning: Binning, trees: Ensemble, start: Start, table: FloatArray) -> Lean | None:
    """The short way of a model whose iterations added the table (K, K) to its edges; None where trees have another way
    with missing values, or edges are not one plain table."""
    if start.order > 1 or trees.shares is not None:
        return None
    K = len(start.space.start)
    moves = np.where(start.space.transitions, start.constant[:K], -np.inf)
    edges = SharedEdges.from_scores(moves + table if table.size else moves)

    def score(dataset: Dataset, scores: FloatArray, i: int) -> None:
        data = start.seen_by_trees(bin_dataset(binning, dataset, postings=False), joint=False)
        sums: FloatArray = np.zeros((K, len(scores)))
        walk_trees(data, data.place[i : i + len(scores)], trees, np.empty((K, len(scores), 1)), sums)
        scores[:] = sums.T

    first = start.constant[K] + start.space.start_scores
    return Lean(score, edges, first, start.space.end_scores) if is_plain(edges) else None
