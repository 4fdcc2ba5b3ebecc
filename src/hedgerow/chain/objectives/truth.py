"""What the truth scores, and that the potentials allow it."""

from __future__ import annotations

from typing import NoReturn

import numpy as np

from hedgerow.chain import kernels
from hedgerow.chain.inference import best_labelings
from hedgerow.chain.inference.forward import check_legal
from hedgerow.chain.inference.known import partial_sequences, permitted
from hedgerow.chain.inference.workspace import slices
from hedgerow.chain.potentials import ChainPotentials, PositionEdges
from hedgerow.errors import InputError
from hedgerow.legend import AnyArray, BoolArray, FloatArray


def true_scores(potentials: ChainPotentials, labels: AnyArray) -> FloatArray:
    """What the known labels of each sequence score, (s,), with the edges between them; impossible ones are an error."""
    n = potentials.n_positions
    scores, edges = np.empty(n), potentials.tables
    if isinstance(edges, PositionEdges) and edges.own_scores is None:  # exponentials: take logarithms of a few alone
        scores[:] = _scores_by_exps(potentials, edges, labels)
    else:
        given = potentials.node_scores, edges.scores_to, potentials.first(), labels
        for t0, t1 in slices(n, 20):
            kernels.truth.position_scores(*given, scores, t0, t1)
    if np.isneginf(scores).any():
        refuse_truth(potentials, labels, int(np.argmin(scores)))
    totals: FloatArray = np.add.reduceat(scores, potentials.offsets[:-1])
    return totals


def _scores_by_exps(potentials: ChainPotentials, edges: PositionEdges, labels: AnyArray) -> FloatArray:
    rows = np.arange(potentials.n_positions)
    scores: FloatArray = np.where(labels >= 0, potentials.node_scores[rows, labels], 0.0)
    inner = np.flatnonzero((potentials.first()[:-1] == 0) & (labels >= 0))
    inner = inner[labels[inner - 1] >= 0]
    scores[inner] += edges.scores_at(labels[inner], inner, labels[inner - 1])
    return scores


def check_truth(potentials: ChainPotentials, labels: AnyArray, allowed: BoolArray | None) -> None:
    """Raise an error where the known labels and allowed sets of a sequence fit no legal labeling."""
    partial = partial_sequences(potentials, labels)
    if partial.any():
        part, rows = potentials.take(np.flatnonzero(partial))
        check_legal(part.restrict(permitted(part, labels[rows], allowed, rows)))
    true_scores(potentials, labels)


def best_truth(potentials: ChainPotentials, labels: AnyArray, allowed: BoolArray | None) -> tuple[AnyArray, FloatArray]:
    """The best labeling that the known labels and allowed sets leave, (n,), and its scores, (s,).

    Of equal ones as `best_labelings` chooses. Where none is legal, an error.
    """
    partial = partial_sequences(potentials, labels)
    if not partial.any():
        return labels, true_scores(potentials, labels)
    part, rows = potentials.take(np.flatnonzero(partial))
    truth = labels.copy()
    truth[rows], _ = best_labelings(part.restrict(permitted(part, labels[rows], allowed, rows)))
    return truth, true_scores(potentials, truth)


def refuse_truth(potentials: ChainPotentials, labels: AnyArray, row: int) -> NoReturn:
    """Raise the error of true labels (n,) that are impossible at `row`."""
    i, position = potentials.place(row)
    if np.isneginf(potentials.node_scores[row, labels[row]]):
        what = f"the true label {labels[row]} is not allowed here"
    else:
        what = f"the true labels go from {labels[row - 1]} to {labels[row]}, a transition that is forbidden"
    hint = "Allow it, or leave the label of this position unknown"
    raise InputError(what, hint=hint, sequence=i, position=position)
