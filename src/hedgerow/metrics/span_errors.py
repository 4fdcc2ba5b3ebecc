"""What is wrong with spans: found, mistaken, found in part, missed, made up. The counts of SemEval 2013 (task 9.1), as
nervaluate has them."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from hedgerow.metrics.labelings import Labelings, code_labelings
from hedgerow.metrics.spans import Scheme, Span, flat_spans

Way = Literal["strict", "exact", "partial", "type"]


@dataclass(frozen=True)
class SpanCounts:
    """How many spans are correct, incorrect, partial, missed and spurious, by one way to count."""

    correct: int = 0
    incorrect: int = 0
    partial: int = 0
    missed: int = 0
    spurious: int = 0

    @property
    def precision(self) -> float:
        """Of the spans found, the share that is right; one found in part counts half."""
        found = self.correct + self.incorrect + self.partial + self.spurious
        return (self.correct + 0.5 * self.partial) / found if found else 0.0

    @property
    def recall(self) -> float:
        """Of the true spans, the share that is found; one found in part counts half."""
        true = self.correct + self.incorrect + self.partial + self.missed
        return (self.correct + 0.5 * self.partial) / true if true else 0.0

    @property
    def f1(self) -> float:
        total = self.precision + self.recall
        return 2 * self.precision * self.recall / total if total else 0.0


@dataclass(frozen=True)
class SpanErrors:
    """What `span_errors` returns. `str()` gives a table.

    strict : boundaries and type count; exact : boundaries alone; partial : boundaries, and an overlap counts half;
    type : the type alone, of spans that overlap
    """

    strict: SpanCounts
    exact: SpanCounts
    partial: SpanCounts
    type: SpanCounts

    def to_dict(self) -> dict[str, Any]:
        """The counts as nested dicts of plain numbers."""
        return asdict(self)

    def __str__(self) -> str:
        lines = ["         correct  incorrect  partial  missed  spurious  precision  recall      f1"]
        for way in get_args(Way):
            own: SpanCounts = getattr(self, way)
            counts = f"{own.correct:7d}  {own.incorrect:9d}  {own.partial:7d}  {own.missed:6d}  {own.spurious:8d}"
            lines.append(f"{way:<7}  {counts}  {own.precision:9.4f}  {own.recall:6.4f}  {own.f1:6.4f}")
        return "\n".join(lines)


# What a span that is not wholly right counts as, by way: (same boundaries, same type) → field.
_COUNTED: dict[Way, dict[tuple[bool, bool], str]] = {
    "strict": dict.fromkeys([(True, False), (False, True), (False, False)], "incorrect"),
    "exact": {(True, False): "correct", (False, True): "incorrect", (False, False): "incorrect"},
    "partial": {(True, False): "correct", (False, True): "partial", (False, False): "partial"},
    "type": {(True, False): "incorrect", (False, True): "correct", (False, False): "incorrect"},
}


def span_errors(y_true: Labelings, y_pred: Labelings, scheme: Scheme = "auto") -> SpanErrors:
    """Count what is wrong with predicted spans.

    A predicted span is compared with one true span at most, and a true one with one that is predicted: that of the same
    place and type; else that of the same place; else, from left to right, the first that it overlaps and that is still
    free. Predicted ones that are left are spurious, true ones are missed. Where several overlap, nervaluate (whose
    releases differ) may pair others.

    Parameters
    ----------
    y_true, y_pred : one list of labels per sequence
    scheme : the prefixes that may occur, see `spans`
    """
    counts: dict[Way, dict[str, int]] = {way: {} for way in _COUNTED}

    def count(field: str, n: int, *ways: Way) -> None:
        for way in ways or counts:
            counts[way][field] = counts[way].get(field, 0) + n

    # Spans of two sequences never overlap: all are compared at once.
    gold, found = flat_spans(code_labelings(y_true, y_pred), scheme)
    pairs = paired_spans(gold, found)
    for span, other in pairs:
        same = (other.start, other.end) == (span.start, span.end), other.type == span.type
        for way in counts:
            count("correct" if all(same) else _COUNTED[way][same], 1, way)
    count("spurious", len(found) - len(pairs))
    count("missed", len(gold) - len(pairs))
    return SpanErrors(**{way: SpanCounts(**own) for way, own in counts.items()})


def paired_spans(gold: list[Span], found: list[Span]) -> list[tuple[Span, Span]]:
    """Predicted spans with the true ones that they are compared with; both are given in order. Spans of one labeling do
    not overlap each other, so two of the same place are of one pair."""
    places = {(span.start, span.end): span for span in gold}
    pairs = [(span, places[span.start, span.end]) for span in found if (span.start, span.end) in places]
    taken = {span for pair in pairs for span in pair}
    first = 0
    for span in found:
        while first < len(gold) and gold[first].end <= span.start:
            first += 1
        j = first
        while span not in taken and j < len(gold) and gold[j].start < span.end:
            if gold[j] not in taken:
                pairs.append((span, gold[j]))
                taken |= {span, gold[j]}
            j += 1
    return pairs
