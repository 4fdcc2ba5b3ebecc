"""What objectives check of the truth they are given: labels, weights, and that the potentials allow it."""

from __future__ import annotations

from typing import NoReturn

import numpy as np

from hedgerow import kernels
from hedgerow.errors import InputError
from hedgerow.inference import best_labelings
from hedgerow.inference.forward import check_legal
from hedgerow.inference.workspace import slices
from hedgerow.legend import UNLABELLED, AnyArray, BoolArray, FloatArray, IndexArray
from hedgerow.potentials import ChainPotentials, PositionEdges


def spread_weights(potentials: ChainPotentials, weights: FloatArray | None) -> FloatArray:
    """The weight of each position's sequence, (n,)."""
    if weights is None:
        return np.ones(potentials.n_positions)
    if weights.shape != (potentials.n_sequences,):
        raise InputError(f"{potentials.n_sequences} sequences need as many weights, not shape {weights.shape}")
    return np.repeat(weights, np.diff(potentials.offsets))


def checked_labels(potentials: ChainPotentials, labels: AnyArray) -> AnyArray:
    """The true labels (n,), where there are as many as positions and each is a label or UNLABELLED."""
    values = np.asarray(labels)
    if values.shape != (potentials.n_positions,):
        raise InputError(f"{potentials.n_positions} positions need as many labels, not shape {values.shape}")
    wrong = (values < UNLABELLED) | (values >= potentials.n_labels)
    if wrong.any():
        i, position = potentials.place(int(np.argmax(wrong)))
        what = f"label {values[wrong][0]} is not one of 0 … {potentials.n_labels - 1}, nor −1 for unknown"
        raise InputError(what, sequence=i, position=position)
    return values


def partial_sequences(potentials: ChainPotentials, labels: AnyArray) -> BoolArray:
    """bool (s,): the sequences with a label that is not known."""
    partial: BoolArray = np.logical_or.reduceat(labels == UNLABELLED, potentials.offsets[:-1])
    return partial


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


def permitted(part: ChainPotentials, labels: AnyArray, allowed: BoolArray | None, rows: IndexArray) -> BoolArray:
    """bool (n, K): what the true labels may be. `rows` are those of `allowed` that the labels have."""
    known: BoolArray = np.arange(part.n_labels) == labels[:, None]
    free = True if allowed is None else allowed[rows]
    return np.where((labels == UNLABELLED)[:, None], free, known)


def refuse_truth(potentials: ChainPotentials, labels: AnyArray, row: int) -> NoReturn:
    """Raise the error of true labels (n,) that are impossible at `row`."""
    i, position = potentials.place(row)
    if np.isneginf(potentials.node_scores[row, labels[row]]):
        what = f"the true label {labels[row]} is not allowed here"
    else:
        what = f"the true labels go from {labels[row - 1]} to {labels[row]}, a transition that is forbidden"
    hint = "Allow it, or leave the label of this position unknown"
    raise InputError(what, hint=hint, sequence=i, position=position)
