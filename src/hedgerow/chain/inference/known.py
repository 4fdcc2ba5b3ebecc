"""What is known of the labels of a chunk: all of them, some, or which ones are possible; and how much they weigh."""

from __future__ import annotations

import numpy as np

from hedgerow.chain.potentials import ChainPotentials
from hedgerow.errors import InputError
from hedgerow.legend import UNLABELLED, AnyArray, BoolArray, FloatArray, IndexArray


def checked_labels(potentials: ChainPotentials, labels: AnyArray, *, complete: bool = False) -> AnyArray:
    """The labels (n,), where there are as many as positions and each is a label, or UNLABELLED unless `complete`."""
    values = np.asarray(labels)
    if values.shape != (potentials.n_positions,):
        raise InputError(f"{potentials.n_positions} positions need as many labels, not shape {values.shape}")
    wrong = (values < (0 if complete else UNLABELLED)) | (values >= potentials.n_labels)
    if wrong.any():
        i, position = potentials.place(int(np.argmax(wrong)))
        what = f"label {values[wrong][0]} is not one of 0 … {potentials.n_labels - 1}"
        raise InputError(what if complete else f"{what}, nor −1 for unknown", sequence=i, position=position)
    return values


def spread_weights(potentials: ChainPotentials, weights: FloatArray | None) -> FloatArray:
    """The weight of each position's sequence, (n,)."""
    if weights is None:
        return np.ones(potentials.n_positions)
    if weights.shape != (potentials.n_sequences,):
        raise InputError(f"{potentials.n_sequences} sequences need as many weights, not shape {weights.shape}")
    return np.repeat(weights, np.diff(potentials.offsets))


def partial_sequences(potentials: ChainPotentials, labels: AnyArray) -> BoolArray:
    """bool (s,): the sequences with a label that is not known."""
    partial: BoolArray = np.logical_or.reduceat(labels == UNLABELLED, potentials.offsets[:-1])
    return partial


def permitted(part: ChainPotentials, labels: AnyArray, allowed: BoolArray | None, rows: IndexArray) -> BoolArray:
    """bool (n, K): what the true labels may be. `rows` are those of `allowed` that the labels have."""
    known: BoolArray = np.arange(part.n_labels) == labels[:, None]
    free = True if allowed is None else allowed[rows]
    return np.where((labels == UNLABELLED)[:, None], free, known)
