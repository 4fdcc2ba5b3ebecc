"""How trees score few positions of one sequence, without a chunk."""

from __future__ import annotations

from functools import partial

import numpy as np

from hedgerow.chain.edges import PositionEdges, SharedEdges
from hedgerow.chain.short import is_plain
from hedgerow.data.dataset import Dataset
from hedgerow.estimators.predictor import Lean
from hedgerow.legend import FloatArray
from hedgerow.training.boosting.scores import Start
from hedgerow.trees.binning import Binning, bin_dataset
from hedgerow.trees.ensemble import Ensemble, walk_trees


def lean_trees(binning: Binning, trees: Ensemble, start: Start, table: FloatArray | None) -> Lean | None:
    """The short way of a model whose iterations added the table (K, K) to its edges, or joint edges where that is None;
    None where trees have another way with missing values, or shared edges are not one plain table."""
    if start.order > 1 or trees.shares is not None:
        return None
    K = len(start.space.start)
    moves = np.where(start.space.transitions, start.constant[:K], -np.inf)
    first, last = start.constant[K] + start.space.start_scores, start.space.end_scores
    if table is None:
        return Lean(None, None, first, last, partial(_score_joint, binning, trees, moves))
    edges = SharedEdges.from_scores(moves + table if table.size else moves)

    def score(dataset: Dataset, scores: FloatArray, i: int) -> None:
        data = start.seen_by_trees(bin_dataset(binning, dataset, postings=False), joint=False)
        sums: FloatArray = np.zeros((K, len(scores)))
        walk_trees(data, data.place[i : i + len(scores)], trees, np.empty((K, len(scores), 1)), sums)
        scores[:] = sums.T

    return Lean(score, edges, first, last) if is_plain(edges) else None


def _score_joint(
    binning: Binning, trees: Ensemble, moves: FloatArray, dataset: Dataset, scores: FloatArray, i: int, first: bool
) -> PositionEdges:
    """Write what trees add to the node scores (1, K) of position i, with ⊥ before it if it is the first of its
    sequence; the edges that lead to it, which start from moves (K, K) [from, to]."""
    data, K = bin_dataset(binning, dataset, postings=False), len(moves)
    edges: FloatArray = np.zeros((K, 1, K))
    edges += moves.T[:, None]
    nodes: FloatArray = np.zeros((K, 1))
    place = data.place[i : i + 1]
    data.first[place] = first
    walk_trees(data, place, trees, edges, nodes)
    scores[:] = nodes.T
    return PositionEdges.from_scores(edges)
