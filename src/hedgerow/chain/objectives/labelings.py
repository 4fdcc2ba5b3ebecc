"""True labelings: what they score, that the potentials allow them, and what parts another labeling from them."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from hedgerow.chain.inference import Workspace, best_labelings, check_legal
from hedgerow.chain.objectives.result import LossAndGradient
from hedgerow.chain.potentials import ChainPotentials, Gradients, Truth
from hedgerow.legend import UNLABELLED, AnyArray, FloatArray
from hedgerow.parallel import plan_chunks

_PIECE = 4_000_000  # scores of unfolded edges at once


def check_legal_truth(potentials: ChainPotentials, truth: Truth) -> None:
    """Raise an error where the known labels and allowed sets of a sequence fit no legal labeling."""
    partial, whole = potentials.partly_labelled(truth.labels), truth.labels
    if len(partial):
        part, rows = potentials.fitting(partial, truth)
        check_legal(part)
        whole = whole.copy()
        whole[rows] = UNLABELLED
    potentials.edges.true_scores(potentials, whole)


def best_truth(potentials: ChainPotentials, truth: Truth) -> tuple[AnyArray, FloatArray]:
    """The best labeling that the known labels and allowed sets leave, (n,), and its scores, (s,).

    Of equal ones as `best_labelings` chooses. Where none is legal, an error.
    """
    partial, labels = potentials.partly_labelled(truth.labels), truth.labels
    if len(partial):
        part, rows = potentials.fitting(partial, truth)
        labels = labels.copy()
        labels[rows], _ = best_labelings(part)
    return labels, potentials.edges.true_scores(potentials, labels)


def difference(potentials: ChainPotentials, labels: AnyArray, truth: AnyArray, slopes: FloatArray) -> Gradients:
    """slopes · (indicator of the nodes and edges of `labels` − that of `truth`); both (n,), slopes (s,)."""
    spread = np.repeat(slopes, np.diff(potentials.offsets))
    differs = labels != truth
    into = differs.copy()  # the edges that look at a position that differs
    for back in range(1, potentials.edges.order + 1):
        into[back:] |= differs[:-back]
    gradients = zero_gradients(potentials)
    for own, sign in ((labels, -1.0), (truth, 1.0)):
        potentials.edges.subtract_labeling(potentials, own, np.where(into, sign * spread, 0.0), gradients)
    return gradients


def zero_gradients(potentials: ChainPotentials) -> Gradients:
    """Zeros for the nodes (n, K) and for the edges."""
    shape = potentials.node_scores.shape
    return np.zeros(shape), np.zeros(potentials.edges.gradient_shape(shape[0]))


def in_pieces(
    objective: Callable[[ChainPotentials, Truth, Workspace | None], LossAndGradient],
    potentials: ChainPotentials,
    truth: Truth,
    workspace: Workspace | None,
) -> LossAndGradient:
    """The loss of a chunk and its gradient, by some sequences at a time where unfolded edges would take much memory."""
    edges = potentials.edges
    cells = edges.gradient_shape(1)[-1] ** 2 if edges.per_position and edges.order > 1 else 0
    if potentials.n_positions * cells <= _PIECE:
        return objective(potentials, truth, workspace)
    truth, loss, (nodes, pairs) = potentials.check_truth(truth)[0], 0.0, zero_gradients(potentials)
    for first, last in pairwise(plan_chunks(potentials.offsets, max(1, _PIECE // cells)).tolist()):
        chosen = np.arange(first, last)
        part, rows = potentials.take(chosen)
        found = objective(part, truth.take(rows, chosen), workspace)
        nodes[rows], pairs[:, rows], loss = found.node_gradient, found.edge_gradient, loss + found.loss
    return LossAndGradient(loss, nodes, pairs)
