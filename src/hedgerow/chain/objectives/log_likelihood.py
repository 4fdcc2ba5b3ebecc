"""Negative log-likelihood: loss Σ_i w_i (log Z_i − score of the truth), gradient P − truth.

Where only a set of labelings is known to hold the truth, loss log Z − log Z_allowed and gradient P − P_allowed.
"""

from __future__ import annotations

import numpy as np

from hedgerow.chain import kernels
from hedgerow.chain.inference import (
    Marginals,
    Workspace,
    history_likelihood,
    history_tables,
    marginals,
    passes,
    position_scores,
)
from hedgerow.chain.inference.forward import checked, faint_sequences, scaled_log_partition
from hedgerow.chain.inference.known import checked_labels, partial_sequences, permitted, spread_weights
from hedgerow.chain.objectives.result import LossAndGradient
from hedgerow.chain.objectives.truth import refuse_truth, true_scores
from hedgerow.chain.potentials import ChainPotentials, HistoryEdges, HistoryTables, PositionEdges
from hedgerow.legend import UNLABELLED, AnyArray, BoolArray, FloatArray, IndexArray


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
    if isinstance(potentials.edges, HistoryEdges):
        found = history_likelihood.log_likelihood(
            potentials, labels, allowed=allowed, weights=weights, workspace=workspace
        )
        return LossAndGradient(found.loss, found.node_gradient, found.arc_gradient)
    labels = checked_labels(potentials, labels)
    spread = spread_weights(potentials, weights)
    if isinstance(potentials.edges, HistoryTables):
        return LossAndGradient(*history_tables.log_likelihood(potentials, labels, allowed, weights))
    result = marginals(potentials, workspace, weights)
    node_gradient, edge_gradient = result.node_probs, result.edges
    if weights is not None:
        node_gradient *= spread[:, None]
        if isinstance(potentials.edges, PositionEdges):
            edge_gradient *= spread[:, None]
    gradients = node_gradient, edge_gradient
    loss = subtract_truth(potentials, labels, allowed, weights, result.log_partition, *gradients)
    return LossAndGradient(loss, *gradients)


def subtract_truth(
    potentials: ChainPotentials,
    labels: AnyArray,
    allowed: BoolArray | None,
    weights: FloatArray | None,
    log_partition: FloatArray,
    node_gradient: FloatArray,
    edge_gradient: FloatArray,
) -> float:
    """Turn weighted marginals into the gradient, in place, and log partitions (s,) into the loss, which is returned."""
    spread = spread_weights(potentials, weights)
    partial = partial_sequences(potentials, labels)
    shown = labels
    if partial.any():
        shown = np.where(np.repeat(partial, np.diff(potentials.offsets)), UNLABELLED, labels)
    losses = log_partition - true_scores(potentials, shown)
    first = potentials.first()
    if isinstance(potentials.edges, PositionEdges):
        kernels.position_chain.subtract_truth(first, shown, spread, node_gradient, edge_gradient)
    else:
        kernels.truth.subtract_shared(first, shown, spread, node_gradient, edge_gradient)
    if partial.any():
        chosen = np.flatnonzero(partial)
        part, rows = potentials.take(chosen)
        part_weights = None if weights is None else weights[chosen]
        truth = marginals(part.restrict(permitted(part, labels[rows], allowed, rows)), None, part_weights)
        losses[chosen] -= truth.log_partition
        _subtract_expected(part, truth, spread[rows], rows, node_gradient, edge_gradient)
    return float(losses.sum() if weights is None else (losses * weights).sum())


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
