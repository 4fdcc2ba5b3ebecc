"""How right a model is: all in all, by label, by span or segment, and what is taken for what.

A number after ± is half of a 95 % interval: whole sequences are drawn again and again, since the labels of one sequence
depend on each other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from hedgerow.legend import AnyArray, FloatArray, IndexArray
from hedgerow.metrics.labelings import code_labelings
from hedgerow.metrics.segments import SegmentReport, label_runs, overlapping, segment_report
from hedgerow.metrics.span_errors import SpanErrors, paired_spans, span_errors
from hedgerow.metrics.spans import Span, flat_spans
from hedgerow.report.page.tested import Tested

N_DRAWS = 400
_MOST_CELLS = 20_000_000  # of draws times sequences
_MOST_LABELS = 60  # that have a ± each
_SIZE = 20  # labels of a table of confusions
_PAIRS = 12  # that are confused most
_OVERLAP = 0.5  # of a segment that counts as found
_RUN = 2.0  # positions: labels that change more often make no segments
MISSED, SPURIOUS, OTHERS = "(missed)", "(spurious)", "(others)"


class Headline(NamedTuple):
    """One number of all sequences; `spread` is None where it cannot be told."""

    name: str
    value: float
    spread: float | None
    note: str = ""


class Row(NamedTuple):
    """One label, or one kind of span or segment. `true`, `found`, `right` count."""

    name: str
    precision: float
    recall: float
    f1: float
    spread: float | None
    true: int
    found: int
    right: int


class Table(NamedTuple):
    """What is taken for what: counts [true, predicted]. The last column may be MISSED, the last row SPURIOUS."""

    rows: list[str]
    columns: list[str]
    counts: list[list[int]]
    what: str


@dataclass(frozen=True)
class Scores:
    """`parts` are spans or segments, `parts_name` says which; None where labels make neither."""

    headlines: list[Headline]
    labels: list[Row]
    parts: list[Row] | None
    parts_name: str
    confusion: Table
    confused: list[tuple[str, str, int]]
    span_errors: SpanErrors | None
    segments: SegmentReport | None
    n_left_out: int


class Draws:
    """Sequences drawn with replacement: how often each of S is in each draw, (B, S)."""

    def __init__(self, n_sequences: int, n_draws: int = N_DRAWS) -> None:
        n_draws = min(n_draws, _MOST_CELLS // max(n_sequences, 1))
        self.weights: FloatArray | None = None
        if n_sequences > 1 and n_draws > 10:
            rng = np.random.default_rng(0)
            chosen = rng.integers(0, n_sequences, size=(n_draws, n_sequences))
            self.weights = np.stack([np.bincount(row, minlength=n_sequences) for row in chosen]).astype(np.float64)

    def spread(self, counts: AnyArray, value: Callable[[FloatArray], FloatArray]) -> FloatArray | None:
        """Half of the 95 % interval of value(sums (…, C)), of counts (S, C)."""
        if self.weights is None:
            return None
        drawn = value(np.einsum("bs,sc->bc", self.weights, np.asarray(counts, dtype=np.float64)))
        return 1.96 * np.asarray(drawn.std(axis=0))


def scores(tested: Tested) -> Scores | None:
    """All scores; None where no label is known."""
    if not tested.labelled.any():
        return None
    draws = Draws(tested.n_sequences)
    parts, name = _parts(tested)
    confusion = _span_table(tested) if tested.scheme is not None else _label_table(tested)
    spans = segments = None
    if tested.scheme is not None and len(tested.known):
        spans = span_errors(*tested.labelings(tested.known), tested.scheme)
    elif parts is not None:
        segments = segment_report(*tested.labelings(np.flatnonzero(tested.lengths)))
    return Scores(
        _headlines(tested, draws, parts, name),
        _rows(Parts(list(map(str, tested.labels)), _label_counts(tested)), draws),
        None if parts is None else _rows(parts, draws),
        name,
        confusion,
        [(*pair, n) for pair, n in Counter(confused_pairs(tested, np.flatnonzero(tested.wrong))).most_common(_PAIRS)],
        spans,
        segments,
        tested.n_sequences - len(tested.known) if tested.scheme is not None else 0,
    )


def f1_of(sums: FloatArray) -> FloatArray:
    """F1 of sums (…, 3): right, found, true."""
    whole = sums[..., 1] + sums[..., 2]
    return np.divide(2.0 * sums[..., 0], whole, out=np.zeros_like(whole), where=whole > 0)


def _macro(sums: FloatArray) -> FloatArray:
    """The mean F1 of sums (…, K, 3) over the labels that occur: a draw may be without a rare one."""
    seen = (sums[..., 1] + sums[..., 2] > 0).sum(axis=-1)
    mean: FloatArray = f1_of(sums).sum(axis=-1) / np.maximum(seen, 1)
    return mean


def _share(sums: FloatArray) -> FloatArray:
    return np.divide(sums[..., 0], sums[..., 1], out=np.zeros_like(sums[..., 0]), where=sums[..., 1] > 0)


def _headline(name: str, counts: AnyArray, draws: Draws, value: Callable[[FloatArray], FloatArray], note: str) -> Any:
    spread = draws.spread(counts, value)
    total = value(np.asarray(counts, dtype=np.float64).sum(axis=0))
    return Headline(name, float(total), None if spread is None else float(spread), note)


def _headlines(tested: Tested, draws: Draws, parts: Parts | None, name: str) -> list[Headline]:
    S, words = tested.n_sequences, tested.words
    right, n = (np.bincount(tested.sequence, weights=mark, minlength=S) for mark in (~tested.wrong, tested.labelled))
    right -= np.bincount(tested.sequence, weights=~tested.labelled, minlength=S)
    by_label = np.stack([right, n], axis=1)
    whole = np.stack([(right == n) & (n > 0), n > 0], axis=1)
    found = [_headline("labels right", by_label, draws, _share, f"of {int(n.sum()):,} {words['places']}")]
    if parts is not None:
        note = f"of {parts.n_true:,} {name}s" + ("" if name == "span" else ", found by half")
        found.insert(0, _headline(f"{name} F1", parts.counts.sum(axis=1), draws, f1_of, note))
    counts = _label_counts(tested)
    used = counts.sum(axis=(0, 2)) > 0
    if len(tested.labels) <= _MOST_LABELS:
        note = f"mean over {int(used.sum())} labels"
        macro = counts[:, used].reshape(S, -1)
        shape = (int(used.sum()), 3)
        found.append(_headline("macro F1", macro, draws, lambda s: _macro(s.reshape(*s.shape[:-1], *shape)), note))
    found.append(_headline(f"{words['items']} all right", whole, draws, _share, f"of {int((n > 0).sum()):,}"))
    if tested.probs is not None:
        found.append(_log_loss(tested, draws, n))
    return found


def _log_loss(tested: Tested, draws: Draws, n: AnyArray) -> Headline:
    assert tested.probs is not None
    rows = np.flatnonzero(tested.labelled)
    known = tested.true[rows] < tested.probs.shape[1]
    p = np.where(known, tested.probs[rows, np.where(known, tested.true[rows], 0)], 0.0)
    loss = -np.log(np.maximum(p, np.finfo(float).eps))
    sums = np.bincount(tested.sequence[rows], weights=loss, minlength=tested.n_sequences)
    return _headline("log-loss", np.stack([sums, n], axis=1), draws, _share, "nats a label, lower is better")  # type: ignore[no-any-return]


def _label_counts(tested: Tested) -> FloatArray:
    """(S, K, 3): of each sequence and label how many are right, found and true."""
    S, K, rows = tested.n_sequences, len(tested.labels), np.flatnonzero(tested.labelled)
    if len(tested.labels) > _MOST_LABELS:
        S = 1  # no ± of so many labels
    place = (tested.sequence[rows] if S > 1 else 0) * K
    true, predicted = place + tested.true[rows], place + tested.predicted[rows]
    parts = true[true == predicted], predicted, true
    return np.stack([np.bincount(part, minlength=S * K).reshape(S, K) for part in parts], axis=2).astype(np.float64)


class Parts(NamedTuple):
    """Kinds of labels, spans or segments: counts (S, kinds, 3) of those that are right, found and true."""

    names: list[str]
    counts: FloatArray

    @property
    def n_true(self) -> int:
        return int(self.counts[..., 2].sum())


def _rows(parts: Parts, draws: Draws) -> list[Row]:
    """A row for each kind that is true or found somewhere."""
    S, n, _ = parts.counts.shape
    flat = parts.counts.reshape(S, 3 * n)
    spreads = None
    if draws.weights is not None and draws.weights.shape[1] == S:
        spreads = draws.spread(flat, lambda sums: f1_of(sums.reshape(*sums.shape[:-1], n, 3)))
    rows = []
    for k, (name, (right, found, true)) in enumerate(zip(parts.names, parts.counts.sum(axis=0).tolist())):
        if found or true:
            rates = right / found if found else 0.0, right / true if true else 0.0
            spread = None if spreads is None else float(spreads[k])
            rows.append(Row(name, *rates, 2 * right / (found + true), spread, int(true), int(found), int(right)))
    return sorted(rows, key=lambda row: -row.true)


# ------------------------------------------------------------------------------------------------ spans and segments


def _parts(tested: Tested) -> tuple[Parts | None, str]:
    """Spans where labels are those of spans, else segments where labels come in runs."""
    if tested.shapes is not None:
        return None, ""
    if tested.scheme is not None:
        gold, given = both_spans(tested)
        right = sorted(set(gold) & set(given), key=lambda span: span.start)
        return _counted(tested, [[(s.type, s.start) for s in part] for part in (right, given, gold)]), "span"
    places = np.flatnonzero(tested.lengths).tolist()
    if not places:
        return None, ""
    pairs = list(label_runs(*tested.labelings(places)))
    n_runs = sum(len(true) for true, _ in pairs)
    if not n_runs or tested.labelled.sum() / n_runs < _RUN:
        return None, ""
    names = code_labelings(*tested.labelings(places)).labels
    marked: list[list[tuple[str, int]]] = [[], [], []]
    for i, (true, found) in zip(places, pairs):
        begin = int(tested.offsets[i])
        hit = [true[j] for j in sorted(overlapping(true, found, _OVERLAP))]
        for part, runs in zip(marked, (hit, found, true)):
            part += [(str(names[run[0]]), begin + run[1]) for run in runs]
    return _counted(tested, marked), "segment"


def both_spans(tested: Tested) -> tuple[list[Span], list[Span]]:
    """The true and the predicted spans of the sequences that are labelled throughout, by flat positions."""
    if not len(tested.known):
        return [], []
    coded = code_labelings(*tested.labelings(tested.known))
    back = np.repeat(tested.offsets[:-1][tested.known] - coded.offsets[:-1], np.diff(coded.offsets))
    gold, found = (
        [Span(s.type, s.start + int(back[s.start]), s.end + int(back[s.start])) for s in part]
        for part in flat_spans(coded, tested.scheme)
    )
    return gold, found


def _counted(tested: Tested, marked: Sequence[Sequence[tuple[str, int]]]) -> Parts:
    """(kind, flat position) of what is right, found and true, counted by sequence and kind."""
    names = sorted({name for part in marked for name, _ in part})
    place = {name: j for j, name in enumerate(names)}
    S, n = tested.n_sequences, len(names)
    counts: FloatArray = np.zeros((S, n, 3))
    for c, part in enumerate(marked):
        if part:
            kinds = np.array([place[name] for name, _ in part])
            rows = tested.sequence[[t for _, t in part]]
            counts[..., c] = np.bincount(rows * n + kinds, minlength=S * n).reshape(S, n)
    return Parts(names, counts)


# ------------------------------------------------------------------------------------------------ confusions


def _span_table(tested: Tested) -> Table:
    """Kinds of spans, with those that were missed and those that were made up."""
    gold, found = both_spans(tested)
    pairs = paired_spans(gold, found)
    taken = {span for pair in pairs for span in pair}
    counts = Counter((true.type, span.type) for span, true in pairs)
    counts.update((span.type, MISSED) for span in gold if span not in taken)
    counts.update((SPURIOUS, span.type) for span in found if span not in taken)
    exact = sum(pair[0] == pair[1] for pair in pairs)
    names = sorted({span.type for span in chain(gold, found)})
    part = f"{len(pairs) - exact:,} of those that are paired have another type or other ends"
    return _table(counts, names, MISSED, SPURIOUS, f"spans, paired by their places; {part}")


def _label_table(tested: Tested) -> Table:
    rows = np.flatnonzero(tested.labelled)
    K = len(tested.labels)
    flat = np.bincount(tested.true[rows].astype(np.int64) * K + tested.predicted[rows], minlength=K * K)
    counts = {(str(tested.labels[j // K]), str(tested.labels[j % K])): int(flat[j]) for j in np.flatnonzero(flat)}
    return _table(Counter(counts), list(map(str, tested.labels)), "", "", tested.words["places"])


def _table(counts: Counter[tuple[str, str]], names: list[str], column: str, row: str, what: str) -> Table:
    """The labels with the most errors, and all others as one."""
    errors: Counter[str] = Counter()
    for (true, found), n in counts.items():
        if true != found:
            errors[true] += n
            errors[found] += n
    used = [name for name in names if any(name in pair for pair in counts)]
    if len(used) > _SIZE:
        kept = {name for name, _ in errors.most_common(_SIZE + 2) if name in used}
        used = [name for name in used if name in kept][:_SIZE]
    place = {name: j for j, name in enumerate(used)}
    folded: Counter[tuple[str, str]] = Counter()
    for (true, found), n in counts.items():
        pair = [name if name in place or name in (column, row) else OTHERS for name in (true, found)]
        folded[pair[0], pair[1]] += n
    others = [OTHERS] if any(OTHERS in pair for pair in folded) else []
    rows, columns = [*used, *others, *([row] if row else [])], [*used, *others, *([column] if column else [])]
    return Table(rows, columns, [[folded[a, b] for b in columns] for a in rows], what)


def confused_pairs(tested: Tested, places: IndexArray) -> list[tuple[str, str]]:
    """(true, predicted) at some positions."""
    names = list(map(str, tested.labels))
    return [(names[a], names[b]) for a, b in zip(tested.true[places].tolist(), tested.predicted[places].tolist())]
