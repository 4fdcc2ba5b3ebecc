"""Labels that are probably wrong, and sequences that are worth a label next.

A label is suspect where the model is confident of another one: confident learning (Northcutt, Jiang, Chuang 2021). The
threshold of a label is the mean probability that it has where it is the true one; a position whose label is not the
most probable of those above their thresholds is one that somebody should look at. The probabilities must come from a
model that did not see these labels: those of test sequences do, and of training sequences cross-validated ones.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from hedgerow.errors import InputError
from hedgerow.legend import UNLABELLED, BoolArray, CodeArray, FloatArray, IndexArray
from hedgerow.report.page.tested import Tested

_NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")


class Suspect(NamedTuple):
    """A label that is probably wrong. Sequences and positions count from 0; `probability` is that of `suggested`."""

    sequence: int
    position: int
    value: str
    label: str
    suggested: str
    probability: float
    probability_of_label: float


class Next(NamedTuple):
    """A sequence that a label would tell most of. `entropy` is in nats a position; `margin` the least gap between the
    two most probable labels of a position, at `position`."""

    sequence: int
    length: int
    entropy: float
    margin: float
    position: int
    value: str


@dataclass(frozen=True)
class Suspects:
    """`total` suspects were found, the surest are in `labels`. `source`: whose probabilities."""

    labels: list[Suspect]
    total: int
    share: float
    next: list[Next]
    source: str


def suspect_places(true: CodeArray, probs: FloatArray) -> tuple[IndexArray, IndexArray]:
    """Positions whose label is probably wrong, the surest first, and the column of what it should be.

    true : (N,) columns of probs (N, K); UNLABELLED, or a place behind K, where a model cannot tell
    """
    K = probs.shape[1]
    told: BoolArray = (true != UNLABELLED) & (true < K)
    own = probs[np.arange(len(true)), np.where(told, true, 0)]
    n = np.bincount(true[told], minlength=K)
    means = np.bincount(true[told], weights=own[told], minlength=K) / np.maximum(n, 1)
    thresholds = np.where(n > 0, means, np.inf)  # a label that is nowhere true is suggested nowhere
    above = np.where(probs >= thresholds, probs, -1.0)
    best = above.argmax(axis=1)
    places = np.flatnonzero(told & (above.max(axis=1) >= 0.0) & (best != true) & (probs.max(axis=1) > own))
    gaps = probs[places, best[places]] - own[places]
    order = np.argsort(-gaps, kind="stable")
    return places[order], best[places[order]]


def suspects(tested: Tested, values: Any, most: int, other: Tested | None = None) -> Suspects | None:
    """Suspects and sequences to label next; None of a model without probabilities.

    values : a function of (sequence, position) that tells what stands there
    most : suspects, and sequences to label next
    other : sequences with cross-validated probabilities, whose labels are looked at in place of the tested ones
    """
    if tested.probs is None:
        return None
    looked = tested if other is None else other
    assert looked.probs is not None
    places, better = suspect_places(looked.true, looked.probs)
    found = list(_told(looked, values, places[:most], better[:most]))
    n = max(int(looked.labelled.sum()), 1)
    source = "by the model's own probabilities" if other is None else "by cross-validated probabilities"
    return Suspects(found, len(places), len(places) / n, next_to_label(tested, values, most), source)


def _told(looked: Tested, values: Any, places: IndexArray, better: IndexArray) -> Iterator[Suspect]:
    assert looked.probs is not None
    for t, k in zip(places.tolist(), better.tolist()):
        i = int(looked.sequence[t])
        at, true = t - int(looked.offsets[i]), int(looked.true[t])
        names = str(looked.labels[true]), str(looked.labels[k])
        pair = float(looked.probs[t, k]), float(looked.probs[t, true])
        yield Suspect(i, at, values(looked, i, at), *names, *pair)


def every_suspect(looked: Tested, values: Any) -> list[Suspect]:
    """All labels that are probably wrong, the surest first."""
    assert looked.probs is not None
    return list(_told(looked, values, *suspect_places(looked.true, looked.probs)))


def next_to_label(tested: Tested, values: Any, most: int | None) -> list[Next]:
    """The sequences whose labels the model knows least, by entropy. most : None for all"""
    assert tested.probs is not None
    probs = tested.probs
    best = np.sort(probs, axis=1)[:, -2:] if probs.shape[1] > 1 else np.pad(probs, ((0, 0), (1, 0)))
    margins = best[:, 1] - best[:, 0]
    logs = np.log(np.where(probs > 0, probs, 1.0))
    own = np.bincount(tested.sequence, weights=-(probs * logs).sum(axis=1), minlength=tested.n_sequences)
    if hasattr(tested.model, "entropy"):  # of whole labelings, which tells what neighbours know of each other
        with suppress(InputError):  # of an order above 1 there is none: what positions add up to is more
            own = tested.model.entropy(tested.dataset)
    mean = own / np.maximum(tested.lengths, 1)
    found = []
    for i in np.argsort(-mean, kind="stable")[:most].tolist():
        begin, end = int(tested.offsets[i]), int(tested.offsets[i + 1])
        if end > begin:
            at = int(margins[begin:end].argmin())
            text = values(tested, i, at)
            found.append(Next(i, end - begin, float(mean[i]), float(margins[begin + at]), at, text))
    return found


def to_csv(kind: type[Suspect | Next], rows: Iterable[Suspect | Next]) -> str:
    """Rows of a kind as comma-separated values, with a header."""
    text = io.StringIO()
    cells = [[_plain(value) for value in row] for row in rows]
    csv.writer(text, lineterminator="\n").writerows([kind._fields, *cells])
    return text.getvalue()


def _plain(value: Any) -> Any:
    """A number with six digits. A text that a spreadsheet would take for a formula gets a quotation mark before it; one
    that is a number does not, and stays what it is."""
    if isinstance(value, float):
        return f"{value:.6g}"
    if not isinstance(value, str) or len(value) < 2 or _NUMBER.fullmatch(value):
        return value
    return f"'{value}" if value[0] in ("=", "+", "-", "@", "\t") else value
