"""Pointwise negative log-likelihood: loss −Σ_t w log P_t(y_t), of each label by itself, summed over all others.

A set A of allowed labels counts as log Σ_{v∈A} P_t(v); a position of which nothing is known adds nothing.
"""

from __future__ import annotations

import numpy as np

from hedgerow.chain import kernels
from hedgerow.chain.inference import Workspace
from hedgerow.chain.objectives.marginal import MarginalTruth, marginal_truth
from hedgerow.chain.objectives.result import LossAndGradient
from hedgerow.chain.potentials import ChainPotentials
from hedgerow.legend import UNLABELLED, AnyArray, BoolArray, FloatArray

_SMALLEST = 1e-290  # a probability under this has lost digits, and is found again in the log domain


def pointwise(
    potentials: ChainPotentials,
    labels: AnyArray,
    *,
    allowed: BoolArray | None = None,
    weights: FloatArray | None = None,
    workspace: Workspace | None = None,
) -> LossAndGradient:
    """The loss of a chunk and its gradient with respect to every score. Arguments as `Objective` has them."""
    truth = marginal_truth(potentials, labels, allowed, weights, workspace)
    true_probs = np.empty(len(truth.labels))
    given = truth.probs, truth.labels, truth.allowed, truth.weights
    for t0, t1 in truth.pieces:
        kernels.labelwise.pointwise(*given, true_probs, truth.terms, t0, t1)
    small = true_probs < _SMALLEST
    if small.any():
        for lost in np.flatnonzero(np.logical_or.reduceat(small, potentials.offsets[:-1])):
            truth.state.redo(int(lost))
    for i in truth.state.redone:
        true_probs[potentials.rows(i)] = 1.0
    log_true = np.log(true_probs)
    for i in truth.state.redone:
        rows = potentials.rows(i)
        log_true[rows] = _log_terms(truth, i, rows)
    return truth.result(-float((truth.weights * log_true).sum()))


def _log_terms(truth: MarginalTruth, i: int, rows: slice) -> FloatArray:
    """log P_t(A) at the positions of one sequence, (T,), with the terms −w P_t(v) / P_t(A), from the log domain."""
    labels = truth.labels[rows, None]
    right = np.arange(truth.probs.shape[1]) == labels
    if len(truth.allowed):
        right |= (labels == UNLABELLED) & (truth.allowed[rows] > 0)
    else:
        right |= labels == UNLABELLED
    log_probs = np.where(right, truth.state.redone[i].log_probs, -np.inf)
    log_true: FloatArray = np.logaddexp.reduce(log_probs, axis=1)
    truth.terms[rows] = -truth.weights[rows, None] * np.exp(log_probs - log_true[:, None])
    return log_true
