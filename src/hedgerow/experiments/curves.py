"""One run of boosting tells the accuracy of every number of iterations: read it off iteration by iteration."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hedgerow.legend import IndexArray


def right_by_iteration(model: Any, X: Any, y: Sequence[Sequence[Any]], decoder: str) -> IndexArray:
    """How many labels are right after each iteration of a fitted tree model, (n_iterations,).

    A label that the model has never seen is wrong, whatever it says there.
    """
    known, n_known = known_labels(model.classes_, y)
    model.set_params(decoder=decoder)
    scores = np.fromiter(model.staged_score(X, known, "accuracy"), dtype=np.float64)
    return np.rint(scores * n_known).astype(np.int64)


def known_labels(classes: Any, y: Sequence[Sequence[Any]]) -> tuple[list[list[Any]], int]:
    """The labels, with None for those that are not among the classes; and the number of the others."""
    names = set(np.asarray(classes).tolist())
    known = [[label if label in names else None for label in labels] for labels in y]
    return known, sum(label is not None for labels in known for label in labels)
