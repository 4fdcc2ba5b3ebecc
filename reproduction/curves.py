"""One run of boosting tells the accuracy of every number of iterations: read it off iteration by iteration."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hedgerow.chain.decoding import DECODERS
from hedgerow.data.imputation import fill
from hedgerow.legend import IndexArray
from hedgerow.models.crf.paired import make_start
from hedgerow.models.crf.tree import TreeCRF
from hedgerow.trees.binning import bin_dataset


def right_by_iteration(
    model: TreeCRF, X: Any, y: Sequence[Sequence[Any]], decoders: Sequence[str] = ("posterior",)
) -> IndexArray:
    """How many labels are right after each iteration of a fitted model, (decoders, iterations).

    What `staged_score` gives for one decoder, but every tree is walked once for all of them: walking is most of the
    time. A label that the model has never seen is wrong, whatever it says there.
    """
    dataset = fill(model.imputation_, model.encode(X, known_labels(model.classes_, y)[0]))
    data = bin_dataset(model.binning_, dataset, postings=False)
    start = make_start(model.space_, model.constant_, model.linear_)
    scores = start.scores(dataset, 0, dataset.n_sequences, joint=True)
    trees, step = model.ensemble_.trees(), len(model.classes_) * model.ensemble_.trees_per_step
    right = np.zeros((len(decoders), model.ensemble_.n_iterations), dtype=np.int64)
    for m in range(right.shape[1]):
        scores.add(data, trees[m * step : (m + 1) * step])
        potentials = scores.potentials()
        for d, name in enumerate(decoders):
            right[d, m] = np.count_nonzero(DECODERS[name](potentials, None) == dataset.labels)
    return right


def known_labels(classes: Any, y: Sequence[Sequence[Any]]) -> tuple[list[list[Any]], int]:
    """The labels, with None for those that are not among the classes; and the number of the others."""
    names = set(np.asarray(classes).tolist())
    known = [[label if label in names else None for label in labels] for labels in y]
    return known, sum(label is not None for labels in known for label in labels)
