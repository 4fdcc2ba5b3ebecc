"""Improved iterative scaling (Della Pietra, Della Pietra and Lafferty 1997; for chains Lafferty and others 2001).

The baseline that the papers name. With E_i f the features that sequence i is expected to have, Õ f those that all have,
and T_i the most features that a labeling of it has, a step δ of each weight by itself solves

    Σ_i E_i f · e^{δ T_i} + 2·l2·(w + δ) = Õ f,

which never raises the loss, since e^{Σ δ f} is at most Σ (f / T) e^{δ T} + 1 − Σ f / T. Sequences are put into groups
of about the same T, of which the largest serves all: a pass then gives the expectations of each group. Features must
not be negative.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from hedgerow.chain.inference import best_labelings
from hedgerow.chain.objectives.labelings import zero_gradients
from hedgerow.chain.objectives.result import LossAndGradient, Objective
from hedgerow.chain.potentials import ChainPotentials, Truth
from hedgerow.chain.workspace import Workspace
from hedgerow.data.dataset import Dataset
from hedgerow.errors import InputError
from hedgerow.legend import FloatArray
from hedgerow.linear.chain import ChainLayout, Evaluation, LinearChain
from hedgerow.parallel import Lanes
from hedgerow.training import kernels
from hedgerow.training.checkpoint import fill, restoring
from hedgerow.training.monitor import Monitor
from hedgerow.training.whole.lbfgs import Evaluate

GROUPS = 8
_NEWTON_STEPS = 50
_LONGEST = 2.0  # times T: no step of Newton's method multiplies an expectation by more than e²


class Group(NamedTuple):
    """Sequences of about the same number of features.

    evaluate : their loss and its gradient at some weights
    observed : (W,), the features that they have
    total : the most features that a labeling of one of them has
    """

    evaluate: Evaluate
    observed: FloatArray
    total: float


def iterative_scaling(groups: Sequence[Group], weights: FloatArray, monitor: Monitor, *, l2: float = 0.0) -> FloatArray:
    """Minimise loss(w) + l2·‖w‖² from `weights`; the weights that the monitor keeps."""
    saved = monitor.resume()
    w = weights.copy()
    if saved is not None:
        with restoring():
            fill(w, saved["weights"], "weights")
    if saved is not None and monitor.done:
        return monitor.weights(w)
    observed = np.sum([group.observed for group in groups], axis=0)
    totals = np.array([group.total for group in groups])

    def state(ended: bool) -> dict[str, Any]:
        return {"weights": w}

    value, expected = _expectations(groups, w, l2)
    if saved is None and monitor.begin(value, w):
        return monitor.weights(w)
    while True:
        w = w + scaling_step(expected, totals, observed, w, l2)
        value, expected = _expectations(groups, w, l2)
        if monitor.step(value, w, state=state):
            return monitor.weights(w)


def _expectations(groups: Sequence[Group], weights: FloatArray, l2: float) -> tuple[float, FloatArray]:
    """The penalised loss, and what features each group is expected to have, (groups, W)."""
    loss, expected = l2 * float(kernels.vectors.dot(weights, weights)), []
    for group in groups:
        value, gradient = group.evaluate(weights)
        loss += value
        expected.append(np.maximum(gradient + group.observed, 0.0))  # rounding may leave less than 0
    return loss, np.array(expected)


def scaling_step(
    expected: FloatArray, totals: FloatArray, observed: FloatArray, weights: FloatArray, l2: float
) -> FloatArray:
    """δ (W,) with Σ_g E_g · e^{δ T_g} + 2·l2·(w + δ) = Õ, by Newton's method, whose steps are bounded.

    expected (G, W), totals (G,), observed and weights (W,). A weight of a feature that is never there, and has no
    penalty, would fall without end: it takes the longest steps.
    """
    delta: FloatArray = np.zeros(len(weights))
    longest = _LONGEST / totals.max()
    for _ in range(_NEWTON_STEPS):
        grown = expected * np.exp(np.minimum(delta * totals[:, None], 500.0))
        excess = grown.sum(axis=0) + 2.0 * l2 * (weights + delta) - observed
        slope = (grown * totals[:, None]).sum(axis=0) + 2.0 * l2
        step = np.clip(-excess / np.where(slope > 0.0, slope, 1.0), -longest, longest)
        delta += step
        if np.abs(step).max(initial=0.0) <= 1e-10 * longest:
            break
    return delta


def scaling_groups(
    layout: ChainLayout, dataset: Dataset, objective: Objective, lanes: Lanes, n_groups: int
) -> list[Group]:
    """The sequences of a corpus in groups, by how many features their labelings can have. objective : a likelihood"""
    if dataset.labels is None or (dataset.labels < 0).any() or dataset.weight_seq is not None:
        what = "iterative scaling needs every label, and sequences without weights"
        raise InputError(what, hint="Use ⟦trainer='lbfgs'⟧.")
    negative = dataset.attr_val is not None and bool((dataset.attr_val < 0.0).any())
    if negative or layout.nodes.streams.num_column.size or layout.nodes.streams.seq_num_column.size:
        what = "iterative scaling needs features that are not negative, and there are columns of numbers"
        raise InputError(what, hint="Use ⟦trainer='lbfgs'⟧, or cut the numbers into categories.")
    ones: FloatArray = np.ones(layout.n_weights)
    counted: list[FloatArray] = []

    def most_features(potentials: ChainPotentials, truth: Truth, workspace: Workspace | None = None) -> LossAndGradient:
        counted.append(best_labelings(potentials)[1])  # with weights of 1 the score is the number of features
        return LossAndGradient(0.0, *zero_gradients(potentials))

    with Lanes(1, 1) as alone:  # in the order of the sequences
        Evaluation(LinearChain(layout), dataset, most_features, alone)(ones)
        totals = np.maximum(np.concatenate(counted), 1.0)
        order = np.argsort(totals, kind="stable")
        cuts = np.unique(np.linspace(0, len(order), n_groups + 1).astype(int))
        groups = []
        for first, last in pairwise(cuts):
            chosen = np.sort(order[first:last])
            part = dataset.take(chosen)
            observed = Evaluation(LinearChain(layout), part, _true_features, alone)(ones)[1]
            evaluate = Evaluation(LinearChain(layout), part, objective, lanes)
            groups.append(Group(evaluate, observed, float(totals[chosen].max())))
    return groups


def _true_features(potentials: ChainPotentials, truth: Truth, workspace: Workspace | None = None) -> LossAndGradient:
    """As an objective whose gradient is the indicator of the true labels."""
    gradients = zero_gradients(potentials)
    potentials.edges.subtract_labeling(potentials, truth.labels, np.full(potentials.n_positions, -1.0), gradients)
    return LossAndGradient(0.0, *gradients)
