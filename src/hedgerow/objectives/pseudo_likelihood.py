"""Negative pseudo-likelihood: loss −Σ_t w log p_t(y_t), each label given its true neighbours.

    p_t(v) ∝ exp[node_t(v) + edge_t(y_{t−1}, v) + edge_{t+1}(v, y_{t+1})]

without the edge that a first or a last position lacks. With d_t(v) = p_t(v) − [v = y_t], the gradient is d_t(v) for
node_t(v), and for edge_t(u, v) it is [u = y_{t−1}] d_t(v) + [v = y_t] d_{t−1}(u): the true row and the true column.
It needs no messages, so a step costs less than one of the likelihood.
"""

from __future__ import annotations

import numpy as np

from hedgerow.errors import InputError
from hedgerow.inference import Workspace, position_scores
from hedgerow.legend import UNLABELLED, AnyArray, BoolArray, FloatArray, IndexArray
from hedgerow.objectives.result import LossAndGradient
from hedgerow.objectives.truth import checked_labels, refuse_truth, spread_weights
from hedgerow.potentials import ChainPotentials, PositionEdges


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
    allowed, workspace : as other objectives have them; neither is used
    weights : (s,), optional
        A weight for each sequence.
    """
    labels = checked_labels(potentials, labels)
    if (labels == UNLABELLED).any():
        i, position = potentials.place(int(np.argmax(labels == UNLABELLED)))
        hint = "Use the likelihood (pseudo_likelihood_steps=0), or label this position."
        raise InputError("pseudo-likelihood needs every label", hint=hint, sequence=i, position=position)
    truth = position_scores(potentials, labels)
    if np.isneginf(truth).any():
        refuse_truth(potentials, labels, int(np.argmin(truth)))
    spread = spread_weights(potentials, weights)
    inner = np.flatnonzero(potentials.first()[:-1] == 0)
    scores = _given_neighbours(potentials, labels, inner)
    rows = np.arange(len(labels))
    log_probs = scores - np.logaddexp.reduce(scores, axis=1, keepdims=True)
    loss = -float((spread * log_probs[rows, labels]).sum())
    excess: FloatArray = np.exp(log_probs)
    excess[rows, labels] -= 1.0
    excess *= spread[:, None]
    return LossAndGradient(loss, excess, _edge_gradient(potentials, labels, inner, excess))


def _given_neighbours(potentials: ChainPotentials, labels: AnyArray, inner: IndexArray) -> FloatArray:
    """(n, K): the score of each label beside the true labels before and after. `inner` are the rows with one before."""
    scores = potentials.node_scores.copy()
    before, here = labels[inner - 1], labels[inner]
    edges = potentials.edges
    table = edges.scores
    if isinstance(edges, PositionEdges):
        scores[inner] += table[:, inner, before].T
        scores[inner - 1] += table[here, inner]
    else:
        scores[inner] += table[before]
        scores[inner - 1] += table[:, here].T
    return scores


def _edge_gradient(potentials: ChainPotentials, labels: AnyArray, inner: IndexArray, excess: FloatArray) -> FloatArray:
    before, here = labels[inner - 1], labels[inner]
    K = potentials.n_labels
    if isinstance(potentials.edges, PositionEdges):
        gradient: FloatArray = np.zeros(potentials.edges.exps.shape)
        gradient[:, inner, before] += excess[inner].T
        gradient[here, inner] += excess[inner - 1]
        return gradient
    gradient = np.zeros((K, K))
    np.add.at(gradient, before, excess[inner])
    np.add.at(gradient.T, here, excess[inner - 1])
    return gradient
