"""Negative log-likelihood: loss Σ_i w_i (log Z_i − score of the truth), gradient P − truth.

Where only a set of labelings is known to hold the truth, loss log Z − log Z_allowed and gradient P − P_allowed.

The Hessian times a direction is the covariance of every indicator with the sum of the direction along a labeling, less
the same among the labelings that fit the truth where that is known in part.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from hedgerow.chain.edges.tables import check_sums, tables_of
from hedgerow.chain.inference import Workspace, covariance
from hedgerow.chain.objectives.result import Curved, LossAndGradient
from hedgerow.chain.potentials import ChainPotentials, Edges, Gradients, Truth
from hedgerow.legend import UNLABELLED, AnyArray, FloatArray


def log_likelihood(potentials: ChainPotentials, truth: Truth, workspace: Workspace | None = None) -> LossAndGradient:
    """The loss of a chunk and its gradient with respect to every score."""
    truth, spread = potentials.check_truth(truth)
    edges, weights = potentials.edges, truth.weights
    weights_of_terms = None if edges.weighed_last else weights
    sums = edges.marginals(potentials, workspace, weights_of_terms)
    gradients = sums.node_probs, sums.edges
    if weights_of_terms is not None:
        _weigh(edges, gradients, spread)
    losses = _subtract_truth(potentials, replace(truth, weights=weights_of_terms), sums.log_partition, gradients)
    if weights is not None:
        losses = losses * weights
        if edges.weighed_last:
            _weigh(edges, gradients, spread)
    return LossAndGradient(float(losses.sum()), *gradients)


def _weigh(edges: Edges, gradients: Gradients, weights: FloatArray) -> None:
    """Multiply gradients by weights (n,), in place."""
    nodes, pairs = gradients
    nodes *= weights[:, None]
    edges.weigh(pairs, weights)


def _subtract_truth(
    potentials: ChainPotentials, truth: Truth, log_partition: FloatArray, gradients: Gradients
) -> FloatArray:
    """Turn weighted marginals into the gradient, in place, and log partitions (s,) into losses, without weights."""
    edges, spread = potentials.edges, potentials.spread_weights(truth.weights)
    partial = potentials.partly_labelled(truth.labels)
    whole = truth.labels  # the labels of the other sequences
    if len(partial):
        part, rows = potentials.fitting(partial, truth)
        whole = whole.copy()
        whole[rows] = UNLABELLED
    losses: FloatArray = log_partition - edges.true_scores(potentials, whole)
    edges.subtract_labeling(potentials, whole, spread, gradients)
    if not len(partial):
        return losses
    fits = part.edges.marginals(part, None, None if truth.weights is None else truth.weights[partial])
    losses[partial] -= fits.log_partition
    gradients[0][rows] -= fits.node_probs * spread[rows, None]
    if truth.weights is not None:
        edges.weigh(fits.edges, spread[rows])
    edges.subtract_part(gradients[1], fits.edges, rows)
    return losses


def log_likelihood_messages(potentials: ChainPotentials, labels: AnyArray, workspace: Workspace) -> float | None:
    """The loss alone, where every label is known. The messages stay in the workspace, and any part of the gradient can
    be made from them: P_t(u, v) = alpha_{t−1}(u) · exp(edge) · node_exp_t(v).

    None where a sequence has messages too small for that; `log_likelihood` then serves.
    """
    edges = tables_of(potentials)
    values, underflowed = edges.pass_messages(potentials, workspace, back=True)
    if underflowed:
        return None
    scores = edges.position_scores(potentials, labels)
    if np.isneginf(scores).any():
        edges.refuse_labels(potentials, labels, scores)
    return float(check_sums(potentials, values).sum() - scores.sum())


def log_likelihood_curvature(
    potentials: ChainPotentials, truth: Truth, direction: Gradients, workspace: Workspace | None = None
) -> Curved:
    """The gradient of `log_likelihood`, and its derivative along a direction."""
    truth, spread = potentials.check_truth(truth)
    edges, weights, (nodes, pairs) = potentials.edges, truth.weights, direction
    messages = edges.messages(potentials, workspace)
    moved = messages.covariance(messages.work.terms_of(nodes), pairs, weights)
    assert moved.edge_marginals is not None
    gradients = node_gradient, _ = messages.work.node_probs, moved.edge_marginals
    if weights is not None:
        node_gradient *= spread[:, None]
    losses = _subtract_truth(potentials, truth, messages.log_partition, gradients)
    partial = potentials.partly_labelled(truth.labels)
    if len(partial):
        part, rows = potentials.fitting(partial, truth)
        weights_of_part = None if weights is None else weights[partial]
        fits = covariance(part, nodes[rows], edges.rows_of(pairs, rows), weights=weights_of_part)
        moved.node[rows] -= fits.node
        edges.subtract_part(moved.edges, fits.edges, rows)
    loss = float(losses.sum() if weights is None else (losses * weights).sum())
    return Curved(loss, *gradients, moved.node, moved.edges)
