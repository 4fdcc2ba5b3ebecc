"""The Hessians of the likelihoods times a direction: the derivative of the gradient along it.

For the log-likelihood it is the covariance of every indicator with the sum of the direction along a labeling, less the
same among the labelings that fit the truth where that is known in part. For the pseudo-likelihood the labels given
their neighbours are independent, and it is that covariance at each position by itself.
"""

from __future__ import annotations

import numpy as np

from hedgerow.chain import kernels
from hedgerow.chain.inference import Workspace
from hedgerow.chain.inference.covariance import covariance, covariance_of
from hedgerow.chain.inference.known import checked_labels, partial_sequences, permitted, spread_weights
from hedgerow.chain.inference.messages import messages
from hedgerow.chain.inference.workspace import slices
from hedgerow.chain.objectives.log_likelihood import subtract_truth
from hedgerow.chain.objectives.pseudo_likelihood import conditional, edge_derivatives, known_labels
from hedgerow.chain.objectives.result import Curved
from hedgerow.chain.potentials import ChainPotentials, PositionEdges
from hedgerow.legend import AnyArray, BoolArray, FloatArray


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
    labels = checked_labels(potentials, labels)
    spread = spread_weights(potentials, weights)
    state = messages(potentials, workspace)
    state.work.reserve_moments()
    terms = np.multiply(node_direction, state.node_probs, out=state.work.terms)
    moved = covariance_of(state, terms, edge_direction, weights)
    assert moved.edge_marginals is not None
    node_gradient, edge_gradient = state.node_probs, moved.edge_marginals
    if weights is not None:
        node_gradient *= spread[:, None]
    loss = subtract_truth(potentials, labels, allowed, weights, state.log_partition, node_gradient, edge_gradient)
    chosen = np.flatnonzero(partial_sequences(potentials, labels))
    if len(chosen):
        part, rows = potentials.take(chosen)
        per_position = isinstance(potentials.tables, PositionEdges)
        own = np.ascontiguousarray(edge_direction[:, rows]) if per_position else edge_direction
        part = part.restrict(permitted(part, labels[rows], allowed, rows))
        part_weights = None if weights is None else weights[chosen]
        truth = covariance(part, node_direction[rows], own, weights=part_weights)
        moved.node[rows] -= truth.node
        if per_position:
            moved.edges[:, rows] -= truth.edges
        else:
            moved.edges[:] -= truth.edges
    return Curved(loss, node_gradient, edge_gradient, moved.node, moved.edges)


def pseudo_likelihood_curvature(
    potentials: ChainPotentials,
    labels: AnyArray,
    node_direction: FloatArray,
    edge_direction: FloatArray,
    *,
    allowed: BoolArray | None = None,
    weights: FloatArray | None = None,
    workspace: Workspace | None = None,
) -> Curved:
    """The gradient of `pseudo_likelihood`, and its derivative along a direction. Arguments as `Curvature` has them."""
    labels = known_labels(potentials, labels)
    spread = spread_weights(potentials, weights)
    work = workspace or Workspace()
    loss, excess = conditional(potentials, labels, spread, work)
    n, K = excess.shape
    along, first = work.moved, potentials.first()
    along[:] = node_direction
    direction = edge_direction if edge_direction.ndim == 3 else np.ascontiguousarray(edge_direction.T)[:, None]
    for t0, t1 in slices(n, 20 * K):
        kernels.pseudo.add_neighbours(direction, labels, first, along, t0, t1)
        kernels.pseudo.turn(excess, along, spread, t0, t1)
    excess[np.arange(n), labels] -= 1.0
    excess *= spread[:, None]
    edge_gradient = edge_derivatives(potentials, labels, excess)
    return Curved(loss, excess, edge_gradient, along, edge_derivatives(potentials, labels, along))
