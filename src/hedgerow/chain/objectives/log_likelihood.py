"""Negative log-likelihood: loss Σ_i w_i (log Z_i − score of the truth), gradient P − truth.

Where only a set of labelings is known to hold the truth, loss log Z − log Z_allowed and gradient P − P_allowed.

The Hessian times a direction is the covariance of every indicator with the sum of the direction along a labeling, less
the same among the labelings that fit the truth where that is known in part.
"""

from __future__ import annotations

from hedgerow.chain.edges.tables import check_sums, tables_of
from hedgerow.chain.inference import Workspace, covariance
from hedgerow.chain.objectives.result import Curved, LossAndGradient
from hedgerow.chain.potentials import ChainPotentials
from hedgerow.legend import UNLABELLED, AnyArray, BoolArray, FloatArray


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
    labels = potentials.check_labels(labels)
    spread = potentials.spread_weights(weights)
    edges = potentials.edges
    weights_of_terms = None if edges.weighed_last else weights
    sums = edges.marginals(potentials, workspace, weights_of_terms)
    gradients = node_gradient, edge_gradient = sums.node_probs, sums.edges
    if weights_of_terms is not None:
        node_gradient *= spread[:, None]
        edges.weigh(edge_gradient, spread)
    losses = _subtract_truth(potentials, labels, allowed, weights_of_terms, sums.log_partition, *gradients)
    if weights is not None:
        losses = losses * weights
        if edges.weighed_last:
            node_gradient *= spread[:, None]
            edges.weigh(edge_gradient, spread)
    return LossAndGradient(float(losses.sum()), *gradients)


def _subtract_truth(
    potentials: ChainPotentials,
    labels: AnyArray,
    allowed: BoolArray | None,
    weights: FloatArray | None,
    log_partition: FloatArray,
    node_gradient: FloatArray,
    edge_gradient: FloatArray,
) -> FloatArray:
    """Turn weighted marginals into the gradient, in place, and log partitions (s,) into losses, without weights."""
    edges, spread = potentials.edges, potentials.spread_weights(weights)
    partial = potentials.partly_labelled(labels)
    whole = labels  # the labels of the other sequences
    if len(partial):
        part, rows = potentials.fitting(partial, labels, allowed)
        whole = labels.copy()
        whole[rows] = UNLABELLED
    losses: FloatArray = log_partition - edges.true_scores(potentials, whole)
    edges.subtract_labeling(potentials, whole, spread, node_gradient, edge_gradient)
    if not len(partial):
        return losses
    truth = part.edges.marginals(part, None, None if weights is None else weights[partial])
    losses[partial] -= truth.log_partition
    node_gradient[rows] -= truth.node_probs * spread[rows, None]
    if weights is not None:
        edges.weigh(truth.edges, spread[rows])
    edges.subtract_part(edge_gradient, truth.edges, rows)
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
    edges.check_possible(potentials, labels, scores)
    return float(check_sums(potentials, values).sum() - scores.sum())


def log_likelihood_curvature(
    potentials: ChainPotentials,
    labels: AnyArray,
    node_direction: FloatArray,
    edge_direction: FloatArray,
    *,
    allowed: BoolArray | None = None,
    weights: FloatArray | None = None,
    workspace: Workspace | None = None,
) -> Curved:
    """The gradient of `log_likelihood`, and its derivative along a direction. Arguments as `Curvature` has them."""
    labels = potentials.check_labels(labels)
    spread = potentials.spread_weights(weights)
    edges = tables_of(potentials)
    messages = edges.messages(potentials, workspace)
    moved = messages.covariance(messages.terms(node_direction), edge_direction, weights)
    assert moved.edge_marginals is not None
    gradients = node_gradient, _ = messages.work.node_probs, moved.edge_marginals
    if weights is not None:
        node_gradient *= spread[:, None]
    losses = _subtract_truth(potentials, labels, allowed, weights, messages.log_partition, *gradients)
    partial = potentials.partly_labelled(labels)
    if len(partial):
        part, rows = potentials.fitting(partial, labels, allowed)
        direction = node_direction[rows], edges.rows_of(edge_direction, rows)
        truth = covariance(part, *direction, weights=None if weights is None else weights[partial])
        moved.node[rows] -= truth.node
        edges.subtract_part(moved.edges, truth.edges, rows)
    loss = float(losses.sum() if weights is None else (losses * weights).sum())
    return Curved(loss, *gradients, moved.node, moved.edges)
