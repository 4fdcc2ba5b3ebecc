"""What objectives check of the truth they are given: labels, weights, and that the potentials allow it."""

from __future__ import annotations

from typing import NoReturn

import numpy as np

from hedgerow.errors import InputError
from hedgerow.legend import UNLABELLED, AnyArray, FloatArray
from hedgerow.potentials import ChainPotentials


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


def refuse_truth(potentials: ChainPotentials, labels: AnyArray, row: int) -> NoReturn:
    """Raise the error of true labels (n,) that are impossible at `row`."""
    i, position = potentials.place(row)
    if np.isneginf(potentials.node_scores[row, labels[row]]):
        what = f"the true label {labels[row]} is not allowed here"
    else:
        what = f"the true labels go from {labels[row - 1]} to {labels[row]}, a transition that is forbidden"
    hint = "Allow it, or leave the label of this position unknown"
    raise InputError(what, hint=hint, sequence=i, position=position)
