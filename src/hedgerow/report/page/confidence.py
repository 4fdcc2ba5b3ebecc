"""Whether the confidence of a model holds: reliability, and the errors left when people check what is least sure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from hedgerow.legend import AnyArray, BoolArray, FloatArray, IndexArray
from hedgerow.metrics.probabilities import calibration_error, reliability
from hedgerow.report.page.scores import both_spans
from hedgerow.report.page.tested import Tested

_BINS = 10
HANDED = (0.01, 0.05, 0.1, 0.2, 0.5)  # shares that a person looks at
_POINTS = 60  # of a curve


class Curve(NamedTuple):
    """Reliability: the mean probability, the share that is right and the number, of each bin."""

    what: str
    points: list[tuple[float, float, int]]
    error: float


class Handed(NamedTuple):
    """When a share of the least sure is handed over: errors that are left (of all), and the share right of the rest."""

    share: float
    left: float
    right: float


@dataclass(frozen=True)
class Confidence:
    """`by_place` hands over single positions, `by_item` whole sequences, by the errors that the model expects a
    position."""

    labels: Curve
    spans: Curve | None
    by_place: list[Handed]
    by_item: list[Handed]
    curves: dict[str, list[tuple[float, float]]]
    sure_and_wrong: int


def confidence(tested: Tested) -> Confidence | None:
    """Whether probabilities hold; None where there are no probabilities, or no true labels."""
    if tested.confidence is None or not tested.labelled.any():
        return None
    rows = np.flatnonzero(tested.labelled)
    sure, wrong = tested.confidence[rows], tested.wrong[rows]
    order = np.argsort(sure, kind="stable")
    expected = np.bincount(tested.sequence, weights=1.0 - tested.confidence, minlength=tested.n_sequences)
    n_wrong = np.bincount(tested.sequence, weights=tested.wrong, minlength=tested.n_sequences)
    n_known = np.bincount(tested.sequence, weights=tested.labelled, minlength=tested.n_sequences)
    queue = np.argsort(-expected / np.maximum(tested.lengths, 1), kind="stable")
    place, item = _Left(wrong[order], np.ones(len(order))), _Left(n_wrong[queue], n_known[queue])
    curves = {tested.words["places"]: place.curve()}
    if tested.n_sequences > 20:
        curves[f"whole {tested.words['items']}"] = item.curve()
    return Confidence(
        _curve("labels", sure, ~wrong),
        _span_curve(tested),
        [place.at(share) for share in HANDED],
        [item.at(share) for share in HANDED] if tested.n_sequences > 20 else [],
        curves,
        int((wrong & (sure > 0.99)).sum()),
    )


class _Left:
    """Errors in the order in which they are handed over, each entry with the labels that it takes along."""

    def __init__(self, wrong: AnyArray, size: AnyArray) -> None:
        self.share = np.concatenate([[0.0], np.cumsum(size) / size.sum()])
        self.left = wrong.sum() - np.concatenate([[0.0], np.cumsum(wrong)])
        self.n_wrong, self.total = float(wrong.sum()), float(size.sum())

    def at(self, share: float) -> Handed:
        left = float(np.interp(share, self.share, self.left))
        rest = max(self.total * (1.0 - share), 1.0)
        return Handed(share, left / self.n_wrong if self.n_wrong else 0.0, 1.0 - left / rest)

    def curve(self) -> list[tuple[float, float]]:
        """(share handed over, share of errors left)"""
        return [(float(x), self.at(float(x)).left) for x in np.linspace(0.0, 1.0, _POINTS + 1)]


def _curve(what: str, probs: FloatArray, right: BoolArray) -> Curve:
    share, mean, counts = reliability(probs, right, _BINS)
    points = [(float(p), float(r), int(n)) for p, r, n in zip(mean, share, counts)]
    return Curve(what, points, calibration_error(probs, right))


def _span_curve(tested: Tested) -> Curve | None:
    """Of the spans that were found: how probable each is as a whole, and whether it is a true one."""
    if tested.scheme is None or not hasattr(tested.model, "log_probability"):
        return None
    gold, found = both_spans(tested)
    if not found:
        return None
    true = set(gold)
    probs = span_probs(tested, [(span.start, span.end) for span in found])
    return _curve("spans", probs, np.array([span in true for span in found]))


def span_probs(tested: Tested, places: Sequence[tuple[int, int]]) -> FloatArray:
    """How probable it is that the labels given from one flat position to another are right together."""
    assert tested.confidence is not None
    begins: IndexArray = np.array([begin for begin, _ in places])
    probs = tested.confidence[begins].copy()
    rounds: dict[int, list[int]] = {}  # one span of a sequence is asked about at a time, of all sequences at once
    turn: Counter[int] = Counter()
    for j, (begin, end) in enumerate(places):
        if end - begin > 1:
            i = int(tested.sequence[begin])
            rounds.setdefault(turn[i], []).append(j)
            turn[i] += 1
    for asked in rounds.values():
        sequences, y = tested.sequence[begins[asked]], []
        for j, i in zip(asked, sequences.tolist()):
            row: list[Any] = [None] * int(tested.lengths[i])
            first, last = (t - int(tested.offsets[i]) for t in places[j])
            row[first:last] = [tested.labels[k] for k in tested.predicted[slice(*places[j])].tolist()]
            y.append(row)
        probs[asked] = np.exp(tested.model.log_probability(tested.dataset.take(sequences), y))
    return np.minimum(probs, 1.0)
