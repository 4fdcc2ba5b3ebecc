"""The labelings that are not right, as a chain of their own: three labels for each one.

A label comes `clean` (right, as all before it), `first` (the first wrong one) or `after` (behind a wrong one, right or
not). Only first and after may end a sequence. Each wrong labeling is one labeling of this chain with the same score,
and each right one none: so the best of them and sums over them need no subtraction.
"""

from __future__ import annotations

import numpy as np

from hedgerow.chain.inference.passes import reach
from hedgerow.chain.potentials import ChainPotentials, PositionEdges, SharedEdges
from hedgerow.legend import AnyArray, BoolArray, FloatArray

_MOVES = ((0, 0), (0, 1), (1, 2), (2, 2))  # from and to: clean 0, first 1, after 2


def wrong_chain(potentials: ChainPotentials, right: BoolArray) -> ChainPotentials:
    """The chain of 3K labels: clean, first, after. right (n, K): the labels that do not make a labeling wrong."""
    nodes, K = potentials.node_scores, potentials.n_labels
    layers = np.concatenate([np.where(right, nodes, -np.inf), np.where(right, -np.inf, nodes), nodes], axis=1)
    layers[potentials.offsets[:-1], 2 * K :] = -np.inf
    layers[potentials.offsets[1:] - 1, :K] = -np.inf
    scores = potentials.tables.scores
    table = np.full((3 * K, *scores.shape[1:-1], 3 * K), -np.inf)
    for before, after in _MOVES:
        if isinstance(potentials.tables, PositionEdges):
            _block(table, after, before)[:] = scores
        else:
            _block(table, before, after)[:] = scores
    edges = PositionEdges.from_scores(table) if table.ndim == 3 else SharedEdges.from_scores(table)
    numbers = np.array([potentials.sequence_number(i) for i in range(potentials.n_sequences)])
    return ChainPotentials(layers, potentials.offsets, edges, sequence_numbers=numbers)


def has_labeling(chain: ChainPotentials) -> BoolArray:
    """bool (s,): whether a sequence has a legal labeling at all."""
    _, n_reached = reach(chain, chain.first())
    found: BoolArray = np.logical_and.reduceat(n_reached > 0, chain.offsets[:-1])
    return found


def fold_nodes(values: FloatArray) -> FloatArray:
    """(n, K) of (n, 3K): the three of each label added."""
    sums: FloatArray = values.reshape(len(values), 3, -1).sum(axis=1)
    return sums


def fold_edges(values: FloatArray) -> FloatArray:
    """(K, K) of (3K, 3K), or (K, n, K) of (3K, n, 3K): the moves of each pair of labels added."""
    order = 1 if values.ndim == 2 else -1  # [from, to] or [to, position, from]
    sums: FloatArray = sum((_block(values, *move[::order]) for move in _MOVES), start=np.zeros(1))
    return sums


def _block(values: AnyArray, i: int, j: int) -> AnyArray:
    K = len(values) // 3
    return values[i * K : (i + 1) * K, ..., j * K : (j + 1) * K]
