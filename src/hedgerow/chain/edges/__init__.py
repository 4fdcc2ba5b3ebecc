"""The forms of edge scores, each a file with its recursions: a form is what `potentials.Edges` asks for.

Nothing outside this folder asks which form it has. What takes scores of pairs of labels alone, as most objectives do,
asks `tables_of` for them, which refuses histories.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hedgerow.chain.edges.histories import HistoryEdges
from hedgerow.chain.edges.history_tables import HistoryTables
from hedgerow.chain.edges.positions import PositionEdges
from hedgerow.chain.edges.shared import SharedEdges
from hedgerow.chain.edges.tables import TableEdges, tables_of
from hedgerow.chain.potentials import ChainPotentials
from hedgerow.legend import FLOAT, INDEX

__all__ = [
    "HistoryEdges",
    "HistoryTables",
    "PositionEdges",
    "SharedEdges",
    "TableEdges",
    "chain_from_scores",
    "tables_of",
]


def chain_from_scores(node_scores: Any, edge_scores: Any, offsets: Any = None) -> ChainPotentials:
    """Potentials from plain arrays: node scores (n, K); edge scores (K, K) [from, to], or (K, n, K) [to, position,
    from]; offsets (s+1,), without which all positions are one sequence."""
    nodes = np.ascontiguousarray(node_scores, dtype=FLOAT)
    shared = np.ndim(edge_scores) == 2
    edges = SharedEdges.from_scores(edge_scores) if shared else PositionEdges.from_scores(edge_scores)
    cuts = np.array([0, len(nodes)]) if offsets is None else np.asarray(offsets)
    return ChainPotentials(nodes, cuts.astype(INDEX), edges)
