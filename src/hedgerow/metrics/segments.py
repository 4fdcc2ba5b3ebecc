"""Segments: runs of one label, as activities of a day, phases of a machine and words of a film have them.

Labels one by one say little of segments: ten short errors inside one long activity cost as many labels as one late end,
and are worse. The edit score and F1 at an overlap are those of Lea and others (2016, 2017), over the corpus; boundaries
may miss by a tolerance.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np

from hedgerow.errors import InputError
from hedgerow.legend import UNLABELLED, CodeArray, IndexArray
from hedgerow.metrics.labelings import Coded, Label, Labelings, as_sequences, code_labelings

OVERLAPS = (0.1, 0.25, 0.5)


class Segment(NamedTuple):
    """`labels[start:end]` is one run of this label."""

    label: Label
    start: int
    end: int


@dataclass(frozen=True)
class SegmentReport:
    """What `segment_report` returns. Rates are shares of 1; `str()` gives a table.

    edit : how alike the orders of segments are, 1 where they are the same
    f1 : overlap → F1 of segments that overlap a true one of their label by so much
    boundary_f1 : of the places where one segment ends and the next begins, within the tolerance
    true, found : how many segments there are, and how many the prediction has
    """

    edit: float
    f1: dict[float, float]
    boundary_f1: float
    tolerance: int
    true: int
    found: int

    def to_dict(self) -> dict[str, Any]:
        """The report as plain numbers."""
        return asdict(self)

    def __str__(self) -> str:
        rows = [("edit score", self.edit), *((f"F1 at overlap {100 * k:.0f} %", f1) for k, f1 in self.f1.items())]
        within = f" within {self.tolerance}" if self.tolerance else ""
        rows.append((f"F1 of boundaries{within}", self.boundary_f1))
        width = max(len(name) for name, _ in rows)
        lines = [f"{name:<{width}}  {value:.4f}" for name, value in rows]
        return "\n".join([*lines, f"segments: {self.true:,} true, {self.found:,} found"])


def segments(labels: Iterable[Label], background: Label | None = None) -> list[Segment]:
    """The runs of equal labels of one sequence, without those of the background, if there is one."""
    sequences = as_sequences([labels], "labels")
    if not sequences[0]:
        return []
    coded = code_labelings(sequences)
    runs = _runs(coded.codes[0], _code(coded, background))
    return [Segment(coded.labels[label], start, end) for label, start, end in runs]


def segment_report(
    y_true: Labelings, y_pred: Labelings, *, background: Label | None = None, tolerance: int = 0
) -> SegmentReport:
    """All that is counted of segments.

    Parameters
    ----------
    y_true, y_pred : one list of labels per sequence. A position with None is a gap: no segment goes across it
    background : the label of positions that belong to no segment
    tolerance : by so many positions a boundary may miss
    """
    pairs = list(label_runs(y_true, y_pred, background))
    f1 = {overlap: _f1_at(pairs, overlap) for overlap in OVERLAPS}
    edit = float(np.mean([_edit(true, found) for true, found in pairs]))
    counts = [sum(len(pair[side]) for pair in pairs) for side in (0, 1)]
    return SegmentReport(edit, f1, boundary_f1(y_true, y_pred, tolerance=tolerance), tolerance, *counts)


def segment_f1(y_true: Labelings, y_pred: Labelings, *, overlap: float = 0.5, background: Label | None = None) -> float:
    """F1 of segments. One is right where it overlaps a true segment of its label, which no other has taken, by at least
    this share of what the two cover together."""
    if not 0.0 < overlap <= 1.0:
        raise InputError(f"overlap is {overlap!r}", hint="Give a share above 0, at most 1.")
    return _f1_at(list(label_runs(y_true, y_pred, background)), overlap)


def segment_edit_score(y_true: Labelings, y_pred: Labelings, *, background: Label | None = None) -> float:
    """How alike the orders of segments are, whatever their lengths: 1 less the edits that turn one into the other, as a
    share of the longer one; the mean over sequences."""
    return float(np.mean([_edit(true, found) for true, found in label_runs(y_true, y_pred, background)]))


def boundary_f1(y_true: Labelings, y_pred: Labelings, *, tolerance: int = 0) -> float:
    """F1 of the places where a label ends and another begins. One is found where a predicted one, that stands for no
    other, is at most `tolerance` positions away; 1 where there are none at all."""
    if isinstance(tolerance, bool) or not isinstance(tolerance, (int, np.integer)) or tolerance < 0:
        raise InputError(f"tolerance is {tolerance!r}", hint="Give a number of positions, 0 or more.")
    right = n_true = n_found = 0
    for true, found in _sequences(code_labelings(y_true, y_pred)):
        known = (true[1:] != UNLABELLED) & (true[:-1] != UNLABELLED)  # the edge of a gap is no boundary
        ends = [np.flatnonzero(known & (labels[1:] != labels[:-1])) for labels in (true, found)]
        right += _matched(ends[0], ends[1], int(tolerance))
        n_true, n_found = n_true + len(ends[0]), n_found + len(ends[1])
    return _f1(right, n_true, n_found)


def _sequences(coded: Coded) -> Iterator[tuple[CodeArray, CodeArray]]:
    """The true and the predicted codes of each sequence; a prediction is a gap, too, where the truth is."""
    true, predicted = coded.codes[0], np.where(coded.codes[0] == UNLABELLED, UNLABELLED, coded.codes[1])
    for begin, end in zip(coded.offsets[:-1].tolist(), coded.offsets[1:].tolist()):
        if end > begin:
            yield true[begin:end], predicted[begin:end]


_Run = tuple[int, int, int]  # the code of a label, start and end


def label_runs(
    y_true: Labelings, y_pred: Labelings, background: Label | None = None
) -> Iterator[tuple[list[_Run], list[_Run]]]:
    """The true and the predicted segments of each sequence, labels as codes."""
    coded = code_labelings(y_true, y_pred)
    left_out = _code(coded, background)
    for true, predicted in _sequences(coded):
        yield _runs(true, left_out), _runs(predicted, left_out)


def _code(coded: Coded, label: Label | None) -> int:
    return coded.labels.index(label) if label in coded.labels else UNLABELLED


def _runs(codes: CodeArray, left_out: int) -> list[_Run]:
    """The runs of equal codes, without gaps and the code that is left out."""
    starts = np.flatnonzero(np.concatenate([[True], codes[1:] != codes[:-1]]))
    ends = np.append(starts[1:], len(codes))
    runs = zip(codes[starts].tolist(), starts.tolist(), ends.tolist())
    return [run for run in runs if run[0] not in (UNLABELLED, left_out)]


def _f1_at(pairs: list[tuple[list[_Run], list[_Run]]], overlap: float) -> float:
    """Each predicted segment takes the true one that it overlaps most, unless that is taken."""
    right = sum(len(overlapping(true, found, overlap)) for true, found in pairs)
    return _f1(right, *(sum(len(pair[side]) for pair in pairs) for side in (0, 1)))


def overlapping(true: list[_Run], found: list[_Run], overlap: float) -> set[int]:
    """The places of the true runs that a predicted one of their label overlaps by so much."""
    taken: set[int] = set()
    first = 0
    for label, start, end in found:
        while first < len(true) and true[first][2] <= start:
            first += 1
        best, share, j = -1, 0.0, first
        while j < len(true) and true[j][1] < end:
            other, begin, stop = true[j]
            own = (min(end, stop) - max(start, begin)) / (max(end, stop) - min(start, begin))
            if other == label and own > share:
                best, share = j, own
            j += 1
        if best >= 0 and share >= overlap:
            taken.add(best)  # a second one that overlaps the same is none
    return taken


def _edit(true: list[_Run], found: list[_Run]) -> float:
    """1 − Levenshtein's distance of the labels of segments / the number of the longer one."""
    a, b = ([run[0] for run in runs] for runs in (true, found))
    if not a and not b:
        return 1.0
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, start=1):
        diagonal, row[0] = row[0], i
        for j, y in enumerate(b, start=1):
            diagonal, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, diagonal + (x != y))
    return 1.0 - row[-1] / max(len(a), len(b))


def _matched(true: IndexArray, found: IndexArray, tolerance: int) -> int:
    """The most pairs of boundaries, each in one pair at most: from left to right the first that is near enough."""
    matched = j = 0
    places = found.tolist()
    for place in true.tolist():
        while j < len(places) and places[j] < place - tolerance:
            j += 1
        if j < len(places) and places[j] <= place + tolerance:
            matched, j = matched + 1, j + 1
    return matched


def _f1(right: int, n_true: int, n_found: int) -> float:
    return 2 * right / (n_true + n_found) if n_true + n_found else 1.0
