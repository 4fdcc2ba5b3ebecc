"""Spans in IOB1, IOB2, IOBES and BILOU labels, and their precision, recall and F1 by conlleval's rules.

A label is O, or a prefix and a type joined by the first hyphen: "B-NP". A position continues the span of the
one before it when its prefix is I, E or L, the one before has B or I, and both have the same type. Any other
position that is not O starts a span. So illegal labels are read as conlleval reads them: I-NP after O, or after
B-VP, starts a span. E and S follow the extension of conlleval that is common for IOBES; L is E and U is S.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from hedgerow.errors import InputError, plain
from hedgerow.legend import UNLABELLED, BoolArray, CodeArray, IndexArray
from hedgerow.metrics.labelings import Coded, Label, Labelings, as_sequences, code_labelings

Scheme = Literal["auto", "iob1", "iob2", "iobes", "bilou"]
# A scheme says which prefixes may occur. What a prefix means is the same in all of them.
_SPAN = re.compile(r"[BIESLU]-.+")
_PREFIXES = {"auto": "BIOESLU", "iob1": "BIO", "iob2": "BIO", "iobes": "BIOES", "bilou": "BIOLU"}


class Span(NamedTuple):
    """`labels[start:end]` is one span of this type."""

    type: str
    start: int
    end: int


@dataclass(frozen=True)
class SpanScores:
    """Precision, recall and F1 as shares of 1, with the number of true, found and correct spans."""

    precision: float
    recall: float
    f1: float
    true: int
    found: int
    correct: int


@dataclass(frozen=True)
class SpanReport:
    """What `span_report` returns. `str()` gives the text that conlleval prints.

    overall    all types together
    per_type   type → SpanScores, sorted by type
    positions  the number of positions
    right      the number of positions whose label is right
    """

    overall: SpanScores
    per_type: dict[str, SpanScores]
    positions: int
    right: int

    @property
    def accuracy(self) -> float:
        """The share of positions whose label is right."""
        return self.right / self.positions

    def to_dict(self) -> dict[str, Any]:
        """The report as nested dicts of plain numbers."""
        return asdict(self) | {"accuracy": self.accuracy}

    def __str__(self) -> str:
        overall = self.overall
        lines = [
            f"processed {self.positions} tokens with {overall.true} phrases; "
            f"found: {overall.found} phrases; correct: {overall.correct}.",
            f"accuracy: {100 * self.right / self.positions:6.2f}%; {_percentages(overall)}",
        ]
        for name, scores in self.per_type.items():
            lines.append(f"{plain(name):>17}: {_percentages(scores)}  {scores.found}")
        return "\n".join(lines)


def spans(labels: Iterable[Label], scheme: Scheme = "auto") -> list[Span]:
    """The spans of one sequence of labels, as (type, start, end) with `labels[start:end]` the span.

    Parameters
    ----------
    labels : the labels of one sequence
    scheme : the prefixes that may occur: "iob1" and "iob2" B and I, "iobes" also E and S, "bilou" L and U;
        "auto" takes all of these. Another prefix is an error.
    """
    sequences = as_sequences([labels], "labels")
    if not sequences[0]:
        return []
    return flat_spans(code_labelings(sequences), scheme)[0]


def flat_spans(coded: Coded, scheme: Scheme = "auto") -> list[list[Span]]:
    """The spans of each labeling of a corpus, in order; starts and ends count through all of its positions."""
    table, found = _Table(coded, scheme), []
    for codes in coded.codes:
        starts, ends = table.boundaries(codes)
        names = [table.types[i] for i in table.type_ids[codes[starts]]]
        found.append([Span(*span) for span in zip(names, starts.tolist(), ends.tolist())])
    return found


def span_report(y_true: Labelings, y_pred: Labelings, scheme: Scheme = "auto") -> SpanReport:
    """Precision, recall and F1 of spans, overall and for each type, equal to conlleval's.

    A span is correct when its start, its end and its type are. Every position needs a true label.

    Parameters
    ----------
    y_true, y_pred : one item per sequence, each a list of labels
    scheme : the prefixes that may occur, see `spans`
    """
    coded = code_labelings(y_true, y_pred)
    table = _Table(coded, scheme)
    true_codes, predicted_codes = coded.codes
    true_ends, true_types = table.by_start(true_codes)
    found_ends, found_types = table.by_start(predicted_codes)
    correct = (true_ends > 0) & (true_ends == found_ends) & (true_types == found_types)
    types_of = true_types[true_ends > 0], found_types[found_ends > 0], true_types[correct]
    counts = np.stack([np.bincount(types, minlength=len(table.types)) for types in types_of])
    columns = zip(table.types, counts.T.tolist())
    per_type = {name: _span_scores(*column) for name, column in columns if column[0] or column[1]}
    right = int(np.count_nonzero(true_codes == predicted_codes))
    return SpanReport(_span_scores(*counts.sum(axis=1).tolist()), per_type, len(true_codes), right)


def span_f1(y_true: Labelings, y_pred: Labelings, scheme: Scheme = "auto") -> float:
    """The F1 of all spans together, as a share of 1: conlleval's overall FB1 divided by 100."""
    return span_report(y_true, y_pred, scheme).overall.f1


class _Table:
    """What each of the K distinct labels means, as arrays[K] that codes index.

    types      the span types, sorted
    type_ids   the place of the label's type in `types`; 0 for O, which `outside` tells apart
    outside    O
    opens      B, S, U: a span starts here, whatever came before
    closes     E, S, L, U: the span ends here, whatever follows
    """

    def __init__(self, coded: Coded, scheme: Scheme) -> None:
        if scheme not in _PREFIXES:
            raise InputError(f"⟦scheme⟧ is {scheme!r}", hint=f"It is one of {', '.join(_PREFIXES)}.")
        self.first = coded.offsets[:-1][np.diff(coded.offsets) > 0]
        unlabelled = np.flatnonzero(coded.codes[0] == UNLABELLED)
        if unlabelled.size:
            hint = "Spans need a label at every position; leave such sequences out."
            raise coded.error("the true label is missing (None)", int(unlabelled[0]), hint=hint)
        parts = [str(label).partition("-") for label in coded.labels]
        prefixes = [prefix for prefix, _, _ in parts]
        for code, prefix in enumerate(prefixes):
            if len(prefix) != 1 or prefix not in _PREFIXES[scheme]:
                self._refuse(coded, code, scheme)
        self.outside = np.array([prefix == "O" for prefix in prefixes])
        self.opens = np.array([prefix in "BSU" for prefix in prefixes])
        self.closes = np.array([prefix in "ESLU" for prefix in prefixes])
        self.types = sorted({name for prefix, _, name in parts if prefix != "O"})
        place = {name: i for i, name in enumerate(self.types)}
        self.type_ids = np.array([place.get(name, 0) for _, _, name in parts])

    @staticmethod
    def _refuse(coded: Coded, code: int, scheme: str) -> None:
        index = min(int(hits[0]) for codes in coded.codes if (hits := np.flatnonzero(codes == code)).size)
        prefixes = ", ".join(f"{prefix}-" for prefix in _PREFIXES[scheme] if prefix != "O")
        hint = f"A label is O or starts with one of {prefixes}. For other labels use label_f1."
        raise coded.error(f"{coded.labels[code]!r} is not a span label of scheme {scheme!r}", index, hint=hint)

    def boundaries(self, codes: CodeArray) -> tuple[IndexArray, IndexArray]:
        """Flat starts and (exclusive) ends of all spans, in order."""
        inside = ~self.outside[codes]
        open_before = inside & ~self.closes[codes]
        joins = inside & ~self.opens[codes]
        same_type = self.type_ids[codes[1:]] == self.type_ids[codes[:-1]]
        continues: BoolArray = np.zeros(len(codes) + 1, dtype=np.bool_)
        continues[1:-1] = joins[1:] & open_before[:-1] & same_type
        continues[self.first] = False
        return np.flatnonzero(inside & ~continues[:-1]), np.flatnonzero(inside & ~continues[1:]) + 1

    def by_start(self, codes: CodeArray) -> tuple[IndexArray, IndexArray]:
        """Two arrays[N]: at the start of a span its end, 0 elsewhere; and the type of every position."""
        starts, ends = self.boundaries(codes)
        end_at = np.zeros(len(codes), dtype=ends.dtype)
        end_at[starts] = ends
        return end_at, self.type_ids[codes]


def _span_scores(true: int, found: int, correct: int) -> SpanScores:
    precision = correct / found if found else 0.0
    recall = correct / true if true else 0.0
    f1 = 2 * correct / (found + true) if correct else 0.0
    return SpanScores(precision, recall, f1, true, found, correct)


def _percentages(scores: SpanScores) -> str:
    # The same arithmetic as conlleval, so that the last printed digit agrees too.
    precision = 100 * scores.correct / scores.found if scores.found else 0.0
    recall = 100 * scores.correct / scores.true if scores.true else 0.0
    f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    return f"precision: {precision:6.2f}%; recall: {recall:6.2f}%; FB1: {f1:6.2f}"


def looks_like_spans(labels: Iterable[Any]) -> bool:
    """Whether all labels are O or a prefix and a type, and at least one is the latter. None is no label of a span."""
    inside = [label for label in labels if label != "O"]
    return bool(inside) and all(isinstance(label, str) and _SPAN.fullmatch(label) for label in inside)
