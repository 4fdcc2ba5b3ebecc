"""Negative pseudo-likelihood: loss −Σ_t w log p_t(y_t), each label given its true neighbours.

    p_t(v) ∝ exp[node_t(v) + edge_t(y_{t−1}, v) + edge_{t+1}(v, y_{t+1})]

without the edge that a first or a last position lacks. With d_t(v) = p_t(v) − [v = y_t], the gradient is d_t(v) for
node_t(v), and for edge_t(u, v) it is [u = y_{t−1}] d_t(v) + [v = y_t] d_{t−1}(u): the true row and the true column.
With histories, p_t(v) has all scores that look at position t, and d_t(v) goes to each of them.
It needs no messages, so a step costs less than one of the likelihood. Labels given their neighbours are independent,
and the Hessian times a direction is the covariance with it at each position by itself.
"""

from __future__ import annotations

import numpy as np

from hedgerow.chain import kernels
from hedgerow.chain.objectives.result import Curved, LossAndGradient
from hedgerow.chain.potentials import ChainPotentials, Gradients, Truth
from hedgerow.chain.workspace import Workspace, run_slices, slices
from hedgerow.errors import InputError
from hedgerow.legend import UNLABELLED, AnyArray, FloatArray


def pseudo_likelihood(potentials: ChainPotentials, truth: Truth, workspace: Workspace | None = None) -> LossAndGradient:
    """The loss of a chunk and its gradient with respect to every score. Every label must be known: the neighbours of
    an unknown one have no probability."""
    labels, spread = _known_labels(potentials, truth)
    loss, excess = _conditional(potentials, labels, spread, workspace or Workspace())
    excess[np.arange(len(labels)), labels] -= 1.0
    excess *= spread[:, None]
    return LossAndGradient(loss, excess, potentials.edges.neighbour_gradient(potentials, labels, excess))


def _known_labels(potentials: ChainPotentials, truth: Truth) -> tuple[AnyArray, FloatArray]:
    """The true labels (n,), where all are known and legal, and the weight of each position's sequence (n,)."""
    truth, spread = potentials.check_truth(truth)
    labels = truth.labels
    if (labels == UNLABELLED).any():
        i, position = potentials.place(int(np.argmax(labels == UNLABELLED)))
        hint = "Use the log-likelihood, or label this position."
        raise InputError("pseudo-likelihood needs every label", hint=hint, sequence=i, position=position)
    potentials.edges.true_scores(potentials, labels)
    return labels, spread


def _conditional(
    potentials: ChainPotentials, labels: AnyArray, spread: FloatArray, work: Workspace
) -> tuple[float, FloatArray]:
    """−Σ_t w_t log p_t(y_t), and p_t(v), (n, K), which lives in the workspace. spread (n,): w_t."""
    n, K = potentials.node_scores.shape
    work.reserve(n, K)
    work.reserve_moments()
    scores = work.terms
    scores[:] = potentials.node_scores
    potentials.edges.add_neighbours(scores, potentials, labels)
    for t0, t1 in slices(n, 40 * K):
        work.exponentiate(scores, t0, t1)
        kernels.pseudo.normalise(work.node_exp, work.node_probs, work.scale, t0, t1)
    log_probs = scores[np.arange(n), labels] - work.top - np.log(work.scale)
    return -float((spread * log_probs).sum()), work.node_probs


def pseudo_likelihood_curvature(
    potentials: ChainPotentials, truth: Truth, direction: Gradients, workspace: Workspace | None = None
) -> Curved:
    """The gradient of `pseudo_likelihood`, and its derivative along a direction."""
    labels, spread = _known_labels(potentials, truth)
    work, edges = workspace or Workspace(), potentials.edges
    loss, excess = _conditional(potentials, labels, spread, work)
    n, K = excess.shape
    along = work.moved
    along[:], pairs = direction
    edges.add_neighbours(along, potentials, labels, pairs)
    run_slices(kernels.pseudo.turn, n, 20 * K, excess, along, spread)
    excess[np.arange(n), labels] -= 1.0
    excess *= spread[:, None]
    gradient, product = (edges.neighbour_gradient(potentials, labels, values) for values in (excess, along))
    return Curved(loss, excess, gradient, along, product)
