"""Weights by counting, as a hidden Markov model has them: no iterations, and a start for those that need one.

Every observation of a column is taken as drawn from the label alone, so a labeling scores

    Σ_t log P(y_t | y_{t−1}) + Σ_t Σ_s log P(x_ts | y_t) / P(x_ts).

The division by P(x_ts) changes no probability of a labeling; with it a pair that has no weight is one that says
nothing, and not one that is certain. Numbers get no weight.

Values may overlap: of the three letters of a trimer, the two first are those that the trimer before ends with. Taken as
drawn from the label alone, each letter would count three times. Where the values of a column fall into groups such that
the value before tells the group, and no more, what counts is P(x_ts | its group, y_t).
"""

from __future__ import annotations

import numpy as np

from hedgerow.data.dataset import Dataset
from hedgerow.data.parts.corpus import SharedCorpus
from hedgerow.legend import FIRST_VALUE, FloatArray, IndexArray
from hedgerow.linear.chain import ChainLayout
from hedgerow.linear.index import WeightIndex

SMOOTHING = 1.0


def count_weights(dataset: Dataset, layout: ChainLayout, *, smoothing: float = SMOOTHING) -> FloatArray:
    """The counted weights of a chain. Positions whose label is not known count for nothing.

    smoothing : so many observations are added to those of each label, spread as they are over all labels together
    """
    weights: FloatArray = np.zeros(layout.n_weights)
    nodes, arcs, _ = layout.split(weights)
    spread = position_weights(dataset)
    nodes[:] = _node_weights(dataset, layout.nodes, spread, smoothing)
    moves = count_known_moves(dataset, spread)
    table = np.log(_smoothed(moves, moves.sum(axis=0), smoothing))
    arcs[:] = table[layout.arc_from, layout.arc_to]
    if len(arcs) < layout.space.transitions.sum():
        arcs -= arcs.min(initial=0.0)  # a transition without a weight has 0: none may be less likely than it
    return weights


def _node_weights(dataset: Dataset, index: WeightIndex, spread: FloatArray, smoothing: float) -> FloatArray:
    """log P(row | label) / P(row) of each slot."""
    labels, K = dataset.labels, dataset.n_labels
    assert labels is not None
    where = np.flatnonzero(labels >= 0)
    per_label = np.bincount(labels[where], weights=spread[where], minlength=K)
    slot_rows = index.slot_rows()
    weights: FloatArray = np.zeros(index.n_weights)
    streams = index.streams
    numbers = set(streams.num_base.tolist()) | set(streams.seq_num_base.tolist())
    coded = set(streams.base.tolist())
    for base, n_rows, which, rows, values in streams.observed_at(dataset, where):
        slots = slice(int(index.row_ptr[base]), int(index.row_ptr[base + n_rows]))
        if base in numbers or slots.start == slots.stop:
            continue
        counted = spread[where[which]] * (values != 0)
        cells = rows * K + labels[where[which]]
        counts = np.bincount(cells, weights=counted, minlength=n_rows * K).reshape(n_rows, K)
        seen = counts.sum(axis=1)
        share = seen / max(per_label.sum(), 1e-300)
        row, label = slot_rows[slots] - base, index.slot_label[slots]
        total = per_label[label]
        group = overlap_groups(rows, where[which], dataset.offsets, n_rows) if base in coded else None
        if group is not None:
            of_groups = np.zeros((group.max() + 1, K))
            np.add.at(of_groups, group, counts)
            share = seen / np.maximum(of_groups.sum(axis=1)[group], 1e-300)
            total = of_groups[group[row], label]
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = np.log((counts[row, label] + smoothing * share[row]) / (total + smoothing) / share[row])
        weights[slots] = np.where(np.isfinite(ratios), ratios, 0.0)
    return weights


def overlap_groups(rows: IndexArray, where: IndexArray, offsets: IndexArray, n_rows: int) -> IndexArray | None:
    """The group of each value of a column whose values overlap, int64[n_rows]; None where they do not.

    They do where values fall into groups of at least two, after each of at least two other values comes a value of one
    group alone, and every one of it is seen. What is no value is a group of its own.

    rows, where : values that were seen, and the flat positions where, which rise
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    follows = np.diff(where) == 1
    follows &= ~np.isin(where[1:], offsets[1:-1])
    follows &= (rows[1:] >= FIRST_VALUE) & (rows[:-1] >= FIRST_VALUE)
    pairs = np.unique(rows[:-1][follows] * n_rows + rows[1:][follows])
    before, after = pairs // n_rows, pairs % n_rows
    values = np.unique(rows[rows >= FIRST_VALUE])
    if not np.array_equal(np.unique(after), values):
        return None
    links = coo_array((np.ones(len(pairs)), (before, n_rows + after)), shape=(2 * n_rows, 2 * n_rows))
    block: IndexArray = connected_components(links, directed=False)[1]
    n_before, n_after, n_links = (
        np.bincount(block[nodes], minlength=2 * n_rows) for nodes in (np.unique(before), n_rows + values, before)
    )
    there = n_after > 0
    whole = (n_links == n_before * n_after)[there].all() and n_before[there].min(initial=2) >= 2
    if not whole or np.count_nonzero(there) < 2 or n_after[there].min() < 2:
        return None
    return np.unique(block[n_rows:], return_inverse=True)[1]


def position_weights(dataset: Dataset) -> FloatArray:
    """(N,): the weight of its sequence at each position."""
    if dataset.weight_seq is None:
        return np.ones(dataset.n_positions)
    return np.repeat(dataset.weight_seq, np.diff(dataset.offsets))


def n_known(dataset: Dataset | SharedCorpus) -> int:
    """The positions whose label is known."""
    if isinstance(dataset, SharedCorpus):
        return int(dataset.added(n_known))
    return int(np.count_nonzero(dataset.labels >= 0))  # type: ignore[operator]


def count_known_moves(dataset: Dataset, spread: FloatArray) -> FloatArray:
    """(K, K) [from, to]: how often known labels follow each other; `spread` (N,) are the weights of the positions."""
    labels, K = dataset.labels, dataset.n_labels
    assert labels is not None
    inner = np.ones(dataset.n_positions, dtype=bool)
    inner[dataset.offsets[:-1]] = False
    here: IndexArray = np.flatnonzero(inner)
    here = here[(labels[here] >= 0) & (labels[here - 1] >= 0)]
    cells = labels[here - 1].astype(np.int64) * K + labels[here]
    return np.bincount(cells, weights=spread[here], minlength=K * K).reshape(K, K).astype(np.float64)


def _smoothed(counts: FloatArray, totals: FloatArray, smoothing: float) -> FloatArray:
    """Each row of counts as shares of its sum, drawn towards the shares of `totals`; never 0."""
    K = len(counts)
    share = (totals + 1.0 / K) / (totals.sum() + 1.0)
    smoothed: FloatArray = (counts + max(smoothing, 1e-9) * share) / (counts.sum(axis=1, keepdims=True) + smoothing)
    return smoothed
