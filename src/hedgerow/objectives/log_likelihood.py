"""Negative log-likelihood: loss Σ_i w_i (log Z_i − score of the truth), gradient P − truth.

Where only a set of labelings is known to hold the truth, loss log Z − log Z_allowed and gradient P − P_allowed.
"""

from __future__ import annotations

import numpy as np

from hedgerow.errors import InputError
from hedgerow.inference import Marginals, Workspace, marginals, position_scores
from hedgerow.legend import UNLABELLED, AnyArray, BoolArray, FloatArray, IndexArray
from hedgerow.objectives.result import LossAndGradient
from hedgerow.potentials import ChainPotentials, PositionEdges


def log_likelihood(
    potentials: ChainPotentials,
    labels: AnyArray,
    *,
    allowed: BoolArray | None = None,
    weights: FloatArray | None = None,
    workspace: Workspace | None = None,
) -> LossAndGradient:
    """The loss of a chunk and its gradient with respect to every score.

    Parameters
    ----------
    labels : (n,), the true labels; −1 where the label is not known
    allowed : bool (n, K), optional
        The labels that an unknown one may be. Without it, any. Rows of known labels are not read.
    weights : (s,), optional
        A weight for each sequence.
    workspace : Workspace, optional
        The node gradient then lives in it, and the next call overwrites it.
    """
    labels = _checked_labels(potentials, labels)
    spread = _spread(potentials, weights)
    result = marginals(potentials, workspace, weights)
    node_gradient, edge_gradient = result.node_probs, result.edges
    if weights is not None:
        node_gradient *= spread[:, None]
        if isinstance(potentials.edges, PositionEdges):
            edge_gradient *= spread[:, None]
    unknown = labels == UNLABELLED
    partial = np.logical_or.reduceat(unknown, potentials.offsets[:-1])
    losses = result.log_partition
    whole_rows = ~np.repeat(partial, np.diff(potentials.offsets))
    losses[~partial] -= _subtract_truth(potentials, labels, spread, whole_rows, node_gradient, edge_gradient)[~partial]
    if partial.any():
        chosen = np.flatnonzero(partial)
        part, rows = potentials.take(chosen)
        part_weights = None if weights is None else weights[chosen]
        truth = marginals(part.restrict(_allowed_rows(part, labels[rows], allowed, rows)), None, part_weights)
        losses[chosen] -= truth.log_partition
        _subtract_expected(part, truth, spread[rows], rows, node_gradient, edge_gradient)
    loss = losses.sum() if weights is None else (losses * weights).sum()
    return LossAndGradient(float(loss), node_gradient, edge_gradient)


def _subtract_truth(
    potentials: ChainPotentials,
    labels: AnyArray,
    spread: FloatArray,
    whole_rows: BoolArray,
    node_gradient: FloatArray,
    edge_gradient: FloatArray,
) -> FloatArray:
    """Take the truth of the fully labelled sequences from the gradients, in place; return its scores, (s,)."""
    known = np.where(whole_rows, labels, 0)
    scores = np.where(whole_rows, position_scores(potentials, known), 0.0)
    if np.isneginf(scores).any():
        _refuse_truth(potentials, known, int(np.argmin(scores)))
    rows = np.flatnonzero(whole_rows)
    node_gradient[rows, labels[rows]] -= spread[rows]
    inner = rows[potentials.first()[rows] == 0]
    before, after = labels[inner - 1], labels[inner]
    if isinstance(potentials.edges, PositionEdges):
        edge_gradient[after, inner, before] -= spread[inner]
    else:
        K = potentials.n_labels
        cells = before.astype(np.int64) * K + after
        edge_gradient -= np.bincount(cells, weights=spread[inner], minlength=K * K).reshape(K, K)
    totals: FloatArray = np.add.reduceat(scores, potentials.offsets[:-1])
    return totals


def _subtract_expected(
    part: ChainPotentials,
    truth: Marginals,
    spread: FloatArray,
    rows: IndexArray,
    node_gradient: FloatArray,
    edge_gradient: FloatArray,
) -> None:
    """Take the expectation over the allowed labelings of some sequences from the gradients, in place."""
    node_gradient[rows] -= truth.node_probs * spread[:, None]
    if isinstance(part.edges, PositionEdges):
        edge_gradient[:, rows] -= truth.edges * spread[:, None]
    else:
        edge_gradient -= truth.edges


def _allowed_rows(part: ChainPotentials, labels: AnyArray, allowed: BoolArray | None, rows: IndexArray) -> BoolArray:
    known: BoolArray = np.arange(part.n_labels) == labels[:, None]
    free = True if allowed is None else allowed[rows]
    return np.where((labels == UNLABELLED)[:, None], free, known)


def _spread(potentials: ChainPotentials, weights: FloatArray | None) -> FloatArray:
    """The weight of each position's sequence, (n,)."""
    if weights is None:
        return np.ones(potentials.n_positions)
    if weights.shape != (potentials.n_sequences,):
        raise InputError(f"{potentials.n_sequences} sequences need as many weights, not shape {weights.shape}")
    return np.repeat(weights, np.diff(potentials.offsets))


def _checked_labels(potentials: ChainPotentials, labels: AnyArray) -> AnyArray:
    values = np.asarray(labels)
    if values.shape != (potentials.n_positions,):
        raise InputError(f"{potentials.n_positions} positions need as many labels, not shape {values.shape}")
    wrong = (values < UNLABELLED) | (values >= potentials.n_labels)
    if wrong.any():
        i, position = potentials.place(int(np.argmax(wrong)))
        what = f"label {values[wrong][0]} is not one of 0 … {potentials.n_labels - 1}, nor −1 for unknown"
        raise InputError(what, sequence=i, position=position)
    return values


def _refuse_truth(potentials: ChainPotentials, labels: AnyArray, row: int) -> None:
    i, position = potentials.place(row)
    if np.isneginf(potentials.node_scores[row, labels[row]]):
        what = f"the true label {labels[row]} is not allowed here"
    else:
        what = f"the true labels go from {labels[row - 1]} to {labels[row]}, a transition that is forbidden"
    hint = "Allow it, or leave the label of this position unknown"
    raise InputError(what, hint=hint, sequence=i, position=position)
