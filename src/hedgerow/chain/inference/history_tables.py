"""Inference for chains of histories that score every label anew at each position: few labels, any input.

Sums and the best labeling have kernels of their own, whose time grows with K·H a position. For the rest the histories
are taken for the labels of a chain of order 1 (`unfold`), one sequence at a time: H² scores a position.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hedgerow.chain import kernels
from hedgerow.chain.inference.known import partial_sequences, permitted, spread_weights
from hedgerow.chain.inference.workspace import slices, slices_back
from hedgerow.chain.potentials import ChainPotentials, HistoryTables, PositionEdges
from hedgerow.errors import InputError
from hedgerow.legend import CODE, UNLABELLED, AnyArray, BoolArray, CodeArray, FloatArray

_CELLS = 40  # what an arc costs, in the cells of `slices`: two exponentials


def tables_of(potentials: ChainPotentials) -> HistoryTables:
    """The edges, which are tables of histories."""
    assert isinstance(potentials.edges, HistoryTables)
    return potentials.edges


@dataclass(frozen=True, slots=True)
class TableMarginals:
    """log_partition (s,); node_probs (n, K), P_t(v); probs (K, n, H) [to, position, history], P_t(h, v)."""

    log_partition: FloatArray
    node_probs: FloatArray
    probs: FloatArray


def log_partition(potentials: ChainPotentials) -> FloatArray:
    """log Z of every sequence of the chunk, (s,)."""
    return _forward(potentials)[0]


def marginals(potentials: ChainPotentials) -> TableMarginals:
    """log Z and marginals."""
    values, log_alpha = _forward(potentials)
    edges, first = tables_of(potentials), potentials.first()
    (n, K), H = potentials.node_scores.shape, edges.table.n_histories
    row, spare, node_probs, probs = np.zeros(H), np.empty(H), np.empty((n, K)), np.empty(edges.scores.shape)
    given = potentials.node_scores, edges.scores, first, edges.table.next, log_alpha
    for t0, t1 in slices_back(n, _CELLS * K * H):
        kernels.history_tables.backward(*given, row, spare, node_probs, probs, t0, t1)
    return TableMarginals(values, node_probs, probs)


def _forward(potentials: ChainPotentials) -> tuple[FloatArray, FloatArray]:
    """log Z, (s,), and log α, (n, H). An illegal sequence is an error."""
    edges, first = tables_of(potentials), potentials.first()
    (n, K), H = potentials.node_scores.shape, edges.table.n_histories
    row, sums = np.empty((2, H))
    log_alpha, tops = np.empty((n, H)), np.empty(n)
    given = potentials.node_scores, edges.scores, first, edges.table.next
    for t0, t1 in slices(n, _CELLS * K * H):
        t = kernels.history_tables.forward(*given, log_alpha, tops, row, sums, t0, t1)
        if t < t1:
            _refuse(potentials, int(t))
    values: FloatArray = np.add.reduceat(tops, potentials.offsets[:-1]) if n else np.empty(0)
    if not np.isfinite(values).all():
        i = int(np.argmin(np.isfinite(values)))
        raise InputError("the scores hold NaN or +inf, or are too large to add", sequence=potentials.sequence_number(i))
    return values, log_alpha


def _refuse(potentials: ChainPotentials, row: int) -> None:
    i, position = potentials.place(row)
    raise InputError(
        "no legal labeling exists: no label that is possible here follows the labels that are possible before",
        hint="Allow more transitions, or more labels at this position",
        sequence=i,
        position=position,
    )


def best_labelings(potentials: ChainPotentials) -> tuple[CodeArray, FloatArray]:
    """The labels (n,) of the best labeling of each sequence, and their scores (s,).

    Of equal labelings, the one with the lowest first label, then the lowest second one, and so on.
    """
    choice, scores = _best_ahead(potentials)
    if not np.isfinite(scores).all():
        _forward(potentials)  # which says why
    labels = np.empty(potentials.n_positions, dtype=CODE)
    kernels.history_tables.trace(potentials.first(), tables_of(potentials).table.next, choice, labels)
    return labels, scores


def legal_sequences(potentials: ChainPotentials) -> BoolArray:
    """bool (s,): the sequences that have a legal labeling."""
    legal: BoolArray = _best_ahead(potentials)[1] > -np.inf
    return legal


def _best_ahead(potentials: ChainPotentials) -> tuple[CodeArray, FloatArray]:
    """The best label after each history, (n, H), and the score of the best labeling of each sequence, (s,)."""
    edges, first = tables_of(potentials), potentials.first()
    (n, K), H = potentials.node_scores.shape, edges.table.n_histories
    row, spare = np.zeros((2, H))
    choice, values = np.empty((n, H), dtype=CODE), np.empty(n)
    given = potentials.node_scores, edges.scores, first, edges.table.next
    for t0, t1 in slices_back(n, 5 * K * H):
        kernels.history_tables.best_ahead(*given, row, spare, choice, values, t0, t1)
    return choice, values[potentials.offsets[:-1]]


def position_scores(potentials: ChainPotentials, labels: AnyArray) -> FloatArray:
    """What each position adds to the score of a labeling, (n,). labels (n,), all known."""
    edges, rows = tables_of(potentials), np.arange(potentials.n_positions)
    before = edges.table.before(labels, potentials.first())
    scores: FloatArray = potentials.node_scores[rows, labels] + edges.scores[labels, rows, before]
    return scores


def unfold(one: ChainPotentials) -> ChainPotentials:
    """One sequence as a chain of order 1, whose labels are the histories after each position; their last label is the
    label, `last_labels`."""
    edges = tables_of(one)
    n, (K, H) = one.n_positions, edges.table.next.shape
    nodes: FloatArray = np.full((n, H), -np.inf)
    between: FloatArray = np.full((H, n, H), -np.inf)
    for k in range(K):
        after = edges.table.next[k]
        between[after, :, np.arange(H)] = (edges.scores[k] + one.node_scores[:, k, None]).T
        nodes[0, after[0]] = edges.scores[k, 0, 0] + one.node_scores[0, k]
    nodes[1:] = 0.0
    return ChainPotentials(nodes, one.offsets, PositionEdges.from_scores(between), one.sequence_base)


def last_labels(potentials: ChainPotentials) -> CodeArray:
    """int32 (H,): the last label of each history."""
    return tables_of(potentials).table.labels[:, -1]


def log_likelihood(
    potentials: ChainPotentials, labels: AnyArray, allowed: BoolArray | None, weights: FloatArray | None
) -> tuple[float, FloatArray, FloatArray]:
    """The loss Σ w (log Z − score of the truth), and its gradient: of the nodes (n, K) and of the edges (K, n, H).

    labels (n,), −1 where not known; allowed bool (n, K), what an unknown one may be; weights (s,).
    """
    spread = spread_weights(potentials, weights)
    found = marginals(potentials)
    nodes, edges, losses = found.node_probs, found.probs, found.log_partition
    partial = partial_sequences(potentials, labels)
    whole = np.flatnonzero(~np.repeat(partial, np.diff(potentials.offsets)))
    shown = np.where(labels == UNLABELLED, 0, labels)
    scores = position_scores(potentials, shown)
    scores[np.repeat(partial, np.diff(potentials.offsets))] = 0.0
    if np.isneginf(scores).any():
        row = int(np.argmin(scores))
        i, position = potentials.place(row)
        hint = "Allow it, or leave the label of this position unknown."
        raise InputError(f"the true label {labels[row]} is not allowed here", hint=hint, sequence=i, position=position)
    losses = losses - np.add.reduceat(scores, potentials.offsets[:-1])
    nodes[whole, shown[whole]] -= 1.0
    before = tables_of(potentials).table.before(shown, potentials.first())
    edges[shown[whole], whole, before[whole]] -= 1.0
    if partial.any():
        chosen = np.flatnonzero(partial)
        part, rows = potentials.take(chosen)
        truth = marginals(part.restrict(permitted(part, labels[rows], allowed, rows)))
        losses[chosen] -= truth.log_partition
        nodes[rows] -= truth.node_probs
        edges[:, rows] -= truth.probs
    if weights is not None:
        nodes *= spread[:, None]
        edges *= spread[:, None]
        losses = losses * weights
    return float(losses.sum()), nodes, edges
