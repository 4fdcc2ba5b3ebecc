"""Which labels are taken for which."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from hedgerow.errors import InputError
from hedgerow.legend import UNLABELLED, IndexArray
from hedgerow.metrics.labelings import Label, Labelings, code_labelings

_WIDE = 12  # letters of a label in a table


@dataclass(frozen=True, eq=False)
class Confusion:
    """What `confusion_matrix` returns. `str()` gives a table, true labels down and predicted ones across.

    labels : in the order of the table
    counts : int64 (K, K) [true, predicted], as scikit-learn has it
    """

    labels: tuple[Label, ...]
    counts: IndexArray

    def most_confused(self, n: int = 10) -> list[tuple[Label, Label, int]]:
        """(true, predicted, how often) of the n most frequent errors."""
        wrong = self.counts.copy()
        np.fill_diagonal(wrong, 0)
        order = np.argsort(-wrong, axis=None, kind="stable")[:n]
        pairs = zip(*np.unravel_index(order, wrong.shape))
        return [(self.labels[i], self.labels[j], int(wrong[i, j])) for i, j in pairs if wrong[i, j]]

    def __str__(self) -> str:
        names = [text if len(text := str(label)) <= _WIDE else f"{text[: _WIDE - 1]}…" for label in self.labels]
        rows = [
            ["true \\ predicted", *names],
            *([name, *map(str, row)] for name, row in zip(names, self.counts.tolist())),
        ]
        widths = [max(map(len, column)) for column in zip(*rows)]
        return "\n".join("  ".join(f"{cell:>{width}}" for cell, width in zip(row, widths)) for row in rows)


def confusion_matrix(y_true: Labelings, y_pred: Labelings, labels: Iterable[Label] | None = None) -> Confusion:
    """Count which labels are taken for which, over all labelled positions.

    Parameters
    ----------
    y_true, y_pred : one list of labels per sequence; positions whose true label is None are left out
    labels : the labels to count, in this order; default: all that occur, sorted
    """
    coded = code_labelings(y_true, y_pred)
    wanted = list(coded.labels if labels is None else labels)
    if not wanted or len(set(wanted)) != len(wanted):
        raise InputError("labels must name at least one label, and each once")
    place = {label: i for i, label in enumerate(wanted)}
    row_of = np.array([*(place.get(label, -1) for label in coded.labels), -1])
    true, predicted = (row_of[codes] for codes in coded.codes)
    kept = (coded.codes[0] != UNLABELLED) & (true >= 0) & (predicted >= 0)
    K = len(wanted)
    return Confusion(tuple(wanted), np.bincount(true[kept] * K + predicted[kept], minlength=K * K).reshape(K, K))
