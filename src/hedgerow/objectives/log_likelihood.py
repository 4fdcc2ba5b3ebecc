"""Negative log-likelihood: loss Σ_i w_i (log Z_i − score of the truth), gradient P − truth.

Where only a set of labelings is known to hold the truth, loss log Z − log Z_allowed and gradient P − P_allowed.
"""

from __future__ import annotations

import numpy as np

from hedgerow import kernels
from hedgerow.inference import Marginals, Workspace, marginals, passes, position_scores
from hedgerow.inference.forward import checked, faint_sequences, scaled_log_partition
from hedgerow.legend import UNLABELLED, AnyArray, BoolArray, FloatArray, IndexArray
from hedgerow.objectives.result import LossAndGradient
from hedgerow.objectives.truth import checked_labels, refuse_truth, spread_weights
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
    labels = checked_labels(potentials, labels)
    spread = spread_weights(potentials, weights)
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


def log_likelihood_messages(potentials: ChainPotentials, labels: AnyArray, workspace: Workspace) -> float | None:
    """The loss alone, where every label is known. The messages stay in the workspace, and any part of the gradient can
    be made from them: P_t(u, v) = alpha_{t−1}(u) · exp(edge) · node_exp_t(v).

    None where a sequence has messages too small for that; `log_likelihood` then serves.
    """
    first = potentials.first()
    passes.forward(potentials, first, workspace)
    passes.backward(potentials, first, workspace)
    values = scaled_log_partition(potentials, first, workspace)
    if faint_sequences(potentials, workspace, both_ways=True):
        return None
    scores = position_scores(potentials, labels)
    if np.isneginf(scores).any():
        refuse_truth(potentials, labels, int(np.argmin(scores)))
    return float(checked(values, potentials).sum() - scores.sum())


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
        refuse_truth(potentials, known, int(np.argmin(scores)))
    if isinstance(potentials.edges, PositionEdges):
        shown = np.where(whole_rows, labels, UNLABELLED)
        kernels.position_chain.subtract_truth(potentials.first(), shown, spread, node_gradient, edge_gradient)
    else:
        rows = np.flatnonzero(whole_rows)
        node_gradient[rows, labels[rows]] -= spread[rows]
        inner = rows[potentials.first()[rows] == 0]
        K = potentials.n_labels
        cells = labels[inner - 1].astype(np.int64) * K + labels[inner]
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
