"""Metrics that count whole sequences."""

from __future__ import annotations

import numpy as np

from hedgerow.errors import InputError
from hedgerow.legend import UNLABELLED, BoolArray, CodeArray, IndexArray
from hedgerow.metrics.labelings import Labelings, code_labelings


def sequence_accuracy(y_true: Labelings, y_pred: Labelings) -> float:
    """The share of sequences whose labelled positions are all right.

    Sequences without a labelled position are left out.
    """
    coded = code_labelings(y_true, y_pred)
    true, predicted = coded.codes
    right, labelled = sequence_decisions(true, predicted, coded.offsets)
    if not labelled.any():
        raise InputError("y_true has no labelled position", hint="There is nothing to score.")
    return float(np.mean(right[labelled]))


def sequence_decisions(true: CodeArray, predicted: CodeArray, offsets: IndexArray) -> tuple[BoolArray, BoolArray]:
    """Two arrays[S]: whether no labelled position is wrong, and whether there is a labelled position."""
    labelled = true != UNLABELLED
    wrong = labelled & (true != predicted)
    return _count(wrong, offsets) == 0, _count(labelled, offsets) > 0


def _count(marked: BoolArray, offsets: IndexArray) -> IndexArray:
    """The number of marked positions of each sequence."""
    # Not np.add.reduceat, which gets empty sequences wrong.
    running = np.concatenate([[0], np.cumsum(marked)])
    counts: IndexArray = running[offsets[1:]] - running[offsets[:-1]]
    return counts
