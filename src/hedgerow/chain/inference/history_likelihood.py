"""Negative log-likelihood of chains of histories: loss Σ_i w_i (log Z_i − score of the truth), gradient P − truth.

Where only a set of labelings is known to hold the truth, loss log Z − log Z_allowed and gradient P − P_allowed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hedgerow.chain import kernels
from hedgerow.chain.inference.histories import marginals
from hedgerow.chain.inference.history_rows import history_arcs
from hedgerow.chain.inference.known import checked_labels, partial_sequences, permitted, spread_weights
from hedgerow.chain.inference.workspace import Workspace
from hedgerow.chain.potentials import ChainPotentials
from hedgerow.errors import InputError
from hedgerow.legend import CODE, INDEX, AnyArray, BoolArray, FloatArray, IndexArray


@dataclass(frozen=True, slots=True)
class HistoryLoss:
    """A loss, to be minimised, and its derivatives with respect to the scores.

    loss : summed over the chunk
    node_gradient : (n, K)
    arc_gradient : (A,), summed over positions
    """

    loss: float
    node_gradient: FloatArray
    arc_gradient: FloatArray


def arcs_of(potentials: ChainPotentials, labels: AnyArray) -> IndexArray:
    """The arc that each label of a labeling takes, (n,). labels (n,), all known; −1 where no arc is left for one."""
    histories = history_arcs(potentials.arcs.histories)
    arcs = np.empty(potentials.n_positions, dtype=INDEX)
    kernels.history_arcs.follow(np.array(labels, dtype=CODE), potentials.first(), histories, arcs)
    return arcs


def position_scores(potentials: ChainPotentials, labels: AnyArray) -> FloatArray:
    """What each position adds to the score of a labeling, (n,). labels (n,), all known."""
    return _score(potentials, labels, arcs_of(potentials, labels))


def _score(potentials: ChainPotentials, labels: AnyArray, arcs: IndexArray) -> FloatArray:
    own = potentials.node_scores[np.arange(len(arcs)), labels]
    return own + np.where(arcs >= 0, potentials.arcs.scores[arcs], -np.inf)


def log_likelihood(
    potentials: ChainPotentials,
    labels: AnyArray,
    *,
    allowed: BoolArray | None = None,
    weights: FloatArray | None = None,
    workspace: Workspace | None = None,
) -> HistoryLoss:
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
    labels = checked_labels(potentials, labels)
    spread = spread_weights(potentials, weights)
    partial = partial_sequences(potentials, labels)
    whole_rows = ~np.repeat(partial, np.diff(potentials.offsets))
    arcs = arcs_of(potentials, np.where(whole_rows, labels, 0))
    true_scores = _true_scores(potentials, labels, arcs, whole_rows)
    found = marginals(potentials, workspace, weights)
    losses, node_gradient, arc_gradient = found.log_partition, found.node_probs, found.arc_sums
    if weights is not None:
        node_gradient *= spread[:, None]
    losses -= true_scores
    rows = np.flatnonzero(whole_rows)
    node_gradient[rows, labels[rows]] -= spread[rows]
    arc_gradient -= np.bincount(arcs[rows], weights=spread[rows], minlength=len(arc_gradient))
    if partial.any():
        chosen = np.flatnonzero(partial)
        part, rows = potentials.take(chosen)
        truth = marginals(
            part.restrict(permitted(part, labels[rows], allowed, rows)),
            None,
            None if weights is None else weights[chosen],
        )
        losses[chosen] -= truth.log_partition
        node_gradient[rows] -= truth.node_probs * spread[rows, None]
        arc_gradient -= truth.arc_sums
    loss = losses.sum() if weights is None else (losses * weights).sum()
    return HistoryLoss(float(loss), node_gradient, arc_gradient)


def _true_scores(potentials: ChainPotentials, labels: AnyArray, arcs: IndexArray, whole_rows: BoolArray) -> FloatArray:
    """The scores of the fully labelled sequences, (s,), 0 for the others. An impossible one is an error."""
    scores = np.where(whole_rows, _score(potentials, labels, arcs), 0.0)
    if np.isneginf(scores).any():
        row = int(np.argmin(scores))
        i, position = potentials.place(row)
        what = f"the true label {labels[row]} is not allowed here"
        if potentials.node_scores[row, labels[row]] > -np.inf:
            what = f"the true label {labels[row]} does not follow the labels before it in any history"
        hint = "Allow it, let unseen labels back off, or leave the label of this position unknown"
        raise InputError(what, hint=hint, sequence=i, position=position)
    totals: FloatArray = np.add.reduceat(scores, potentials.offsets[:-1])
    return totals
