"""How good a labelling is: labels, segments and probabilities, over all test positions together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from hedgerow.metrics.probabilities import calibration_error

TINIEST = 1e-15  # a probability of 0 is taken for this

Labels = Sequence[Sequence[Any]]


def measure(truth: Labels, predicted: Labels, probs: Any, classes: Any, *, spans: bool) -> dict[str, float | None]:
    """All measures of one labelling.

    probs : (T, K) of each sequence, columns as in `classes`, or None where the model has none; a list with one entry
        of `classes` for each sequence, for they come from several trainings
    """
    flat_truth, flat_predicted = ([label for row in rows for label in row] for rows in (truth, predicted))
    found: dict[str, float | None] = {
        "accuracy": float(np.mean([a == b for a, b in zip(flat_truth, flat_predicted, strict=True)])),
        "macro_f1": macro_f1(flat_truth, flat_predicted),
        "segment_f1": span_f1(truth, predicted) if spans else segment_f1(truth, predicted),
        "log_loss": None,
        "calibration_error": None,
    }
    if probs is not None:
        chances, confidence, right = weigh(truth, probs, classes)
        found["log_loss"] = float(-np.log(np.maximum(chances, TINIEST)).mean())
        found["calibration_error"] = calibration_error(confidence, right)
    return found


def macro_f1(truth: Sequence[Any], predicted: Sequence[Any]) -> float:
    """The mean F1 of the labels that the truth has."""
    scores = []
    for label in set(truth):
        correct = sum(a == label == b for a, b in zip(truth, predicted))
        scores.append(2 * correct / (truth.count(label) + predicted.count(label)))
    return float(np.mean(scores))


def segments(labels: Sequence[Any]) -> set[tuple[int, int, Any]]:
    """The runs of equal labels, as (begin, end, label)."""
    edges = [0, *(t for t in range(1, len(labels)) if labels[t] != labels[t - 1]), len(labels)]
    return {(begin, end, labels[begin]) for begin, end in pairwise(edges) if begin < end}


def segment_f1(truth: Labels, predicted: Labels) -> float:
    """F1 of runs of equal labels: one is right when its begin, its end and its label are."""
    correct = total = 0
    for own, other in zip(truth, predicted, strict=True):
        real, found = segments(own), segments(other)
        correct += len(real & found)
        total += len(real) + len(found)
    return 2 * correct / total


def span_f1(truth: Labels, predicted: Labels) -> float:
    """F1 of the spans of IOB labels, by conlleval's rules."""
    from hedgerow.metrics import span_f1 as of_spans

    return float(of_spans(list(truth), list(predicted)))


def weigh(truth: Labels, probs: Any, classes: Iterable[Any]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(N,) each: the probability of the true label, that of the most probable one, and whether they are the same.

    Positions whose true label the training part lacks are left out: no contender can give it a probability.
    """
    chances, confidence, right = [], [], []
    for labels, rows, known in zip(truth, probs, classes, strict=True):
        place = {label: k for k, label in enumerate(known)}
        codes = np.array([place.get(label, -1) for label in labels], dtype=np.int64)
        kept = np.flatnonzero(codes >= 0)
        chances.append(rows[kept, codes[kept]])
        confidence.append(rows[kept].max(axis=1))
        right.append(rows[kept].argmax(axis=1) == codes[kept])
    return np.concatenate(chances), np.concatenate(confidence), np.concatenate(right)


def count_errors(truth: Labels, predicted: Labels, block: int | None = None) -> tuple[list[int], list[int]]:
    """Wrong labels and positions of each sequence; of each `block` positions of a recording, where a block is given."""
    wrong, positions = [], []
    for own, other in zip(truth, predicted, strict=True):
        missed = [a != b for a, b in zip(own, other, strict=True)]
        step = block or max(1, len(missed))
        for begin in range(0, len(missed), step):
            wrong.append(sum(missed[begin : begin + step]))
            positions.append(len(missed[begin : begin + step]))
    return wrong, positions
