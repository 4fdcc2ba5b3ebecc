"""Negative pseudo-likelihood: loss −Σ_t w log p_t(y_t), each label given its true neighbours.

    p_t(v) ∝ exp[node_t(v) + edge_t(y_{t−1}, v) + edge_{t+1}(v, y_{t+1})]

without the edge that a first or a last position lacks. With d_t(v) = p_t(v) − [v = y_t], the gradient is d_t(v) for
node_t(v), and for edge_t(u, v) it is [u = y_{t−1}] d_t(v) + [v = y_t] d_{t−1}(u): the true row and the true column.
It needs no messages, so a step costs less than one of the likelihood.
"""

from __future__ import annotations

import numpy as np

from hedgerow.chain import kernels
from hedgerow.chain.inference import Workspace
from hedgerow.chain.inference.known import checked_labels, spread_weights
from hedgerow.chain.inference.workspace import slices
from hedgerow.chain.objectives.result import LossAndGradient
from hedgerow.chain.objectives.truth import true_scores
from hedgerow.chain.potentials import ChainPotentials, PositionEdges
from hedgerow.errors import InputError
from hedgerow.legend import UNLABELLED, AnyArray, BoolArray, FloatArray


def pseudo_likelihood(
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
    labels : (n,), the true labels. All must be known: the neighbours of an unknown label have no probability.
    allowed : as other objectives have it; not used
    weights : (s,), optional
        A weight for each sequence.
    workspace : Workspace, optional
        The node gradient then lives in it, and the next call overwrites it.
    """
    labels = known_labels(potentials, labels)
    spread = spread_weights(potentials, weights)
    loss, excess = conditional(potentials, labels, spread, workspace or Workspace())
    excess[np.arange(len(labels)), labels] -= 1.0
    excess *= spread[:, None]
    return LossAndGradient(loss, excess, edge_derivatives(potentials, labels, excess))


def known_labels(potentials: ChainPotentials, labels: AnyArray) -> AnyArray:
    """The true labels (n,), where all are known and legal."""
    labels = checked_labels(potentials, labels)
    if (labels == UNLABELLED).any():
        i, position = potentials.place(int(np.argmax(labels == UNLABELLED)))
        hint = "Use the log-likelihood, or label this position."
        raise InputError("pseudo-likelihood needs every label", hint=hint, sequence=i, position=position)
    true_scores(potentials, labels)
    return labels


def conditional(
    potentials: ChainPotentials, labels: AnyArray, spread: FloatArray, work: Workspace
) -> tuple[float, FloatArray]:
    """−Σ_t w_t log p_t(y_t), and p_t(v), (n, K), which lives in the workspace. spread (n,): w_t."""
    n, K = potentials.node_scores.shape
    work.reserve(n, K)
    work.reserve_moments()
    scores, first, edges = work.terms, potentials.first(), potentials.tables
    scores[:] = potentials.node_scores
    exps_only = isinstance(edges, PositionEdges) and edges.own_scores is None
    for t0, t1 in slices(n, 40 * K):
        if exps_only and isinstance(edges, PositionEdges):
            kernels.pseudo.add_neighbour_logs(edges.exps, edges.shifts, labels, first, scores, t0, t1)
        else:
            kernels.pseudo.add_neighbours(edges.scores_to, labels, first, scores, t0, t1)
        kernels.chain.exponentials(scores, work.node_exp, work.top, work.scratch, work.scratch_bits, t0, t1)
        kernels.pseudo.normalise(work.node_exp, work.node_probs, work.scale, t0, t1)
    log_probs = scores[np.arange(n), labels] - work.top - np.log(work.scale)
    return -float((spread * log_probs).sum()), work.node_probs


def edge_derivatives(potentials: ChainPotentials, labels: AnyArray, excess: FloatArray) -> FloatArray:
    """The edge derivatives [u = y_{t−1}] d_t(v) + [v = y_t] d_{t−1}(u) of node derivatives d (n, K)."""
    n, K = potentials.node_scores.shape
    per_position = isinstance(potentials.tables, PositionEdges)
    gradient = np.zeros((K, n if per_position else 1, K))
    first = potentials.first()
    for t0, t1 in slices(n, 20 * K):
        kernels.pseudo.add_edges(excess, labels, first, gradient, t0, t1)
    return gradient if per_position else np.ascontiguousarray(gradient[:, 0].T)
