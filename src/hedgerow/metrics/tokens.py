"""Metrics that count positions (accuracy, precision, recall and F1 of each label, which labels are taken for which),
and those of whole sequences.

Positions whose true label is None are left out. A ratio with a zero denominator takes the value
`zero_division`, as in scikit-learn.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

import numpy as np

from hedgerow.errors import InputError, plain
from hedgerow.legend import FLOAT, UNLABELLED, AnyArray, BoolArray, CodeArray, FloatArray, IndexArray
from hedgerow.metrics.labelings import Label, Labelings, code_labelings

Average = Literal["micro", "macro", "weighted"]


@dataclass(frozen=True)
class Scores:
    """Precision, recall and F1 as shares of 1, and `support`, the number of true positions."""

    precision: float
    recall: float
    f1: float
    support: int


@dataclass(frozen=True)
class LabelReport:
    """What `label_report` returns. `str()` gives an aligned table.

    per_label  label → Scores, in the order of the table
    micro      all decisions counted together
    macro      the plain mean over labels
    weighted   the mean over labels weighted by support
    accuracy   the share of right positions
    """

    per_label: dict[Label, Scores]
    micro: Scores
    macro: Scores
    weighted: Scores
    accuracy: float

    def to_dict(self) -> dict[str, Any]:
        """The report as nested dicts of plain numbers. JSON turns integer labels into str."""
        return asdict(self)

    def __str__(self) -> str:
        rows = [(plain(label), scores) for label, scores in self.per_label.items()]
        averages = [("micro", self.micro), ("macro", self.macro), ("weighted", self.weighted)]
        width = max(len(name) for name, _ in rows + averages)
        lines = [f"{'':{width}}  precision  recall      f1  support"]
        for block in (rows, averages):
            lines += [
                f"{n:>{width}}  {s.precision:9.4f}  {s.recall:6.4f}  {s.f1:6.4f}  {s.support:7d}" for n, s in block
            ]
            lines.append("")
        return "\n".join([*lines, f"accuracy {self.accuracy:.4f}"])


def label_accuracy(y_true: Labelings, y_pred: Labelings, sample_weight: Iterable[Any] | None = None) -> float:
    """The share of labelled positions whose prediction is right.

    Parameters
    ----------
    y_true, y_pred : one item per sequence, each a list of labels (str or int)
    sample_weight : S numbers, or one list of T numbers per sequence, optional
    """
    coded = code_labelings(y_true, y_pred)
    weights = None if sample_weight is None else _position_weights(sample_weight, coded.offsets)
    true, predicted = coded.codes
    return code_accuracy(true, predicted, weights)


def code_accuracy(true: CodeArray, predicted: CodeArray, weights: FloatArray | None = None) -> float:
    """The share of labelled positions, or nodes, that are right: codes (N,), UNLABELLED where there is no true label;
    weights (N,)."""
    labelled = _labelled(true)
    right = (true == predicted)[labelled]
    if weights is None:
        return float(np.mean(right))
    total = float(weights[labelled].sum())
    if total == 0.0:
        raise InputError("the weights of all labelled positions are zero")
    return float(weights[labelled][right].sum()) / total


def label_report(
    y_true: Labelings, y_pred: Labelings, labels: Iterable[Label] | None = None, zero_division: float = 0.0
) -> LabelReport:
    """Precision, recall and F1 of each label, with micro, macro and weighted averages.

    Parameters
    ----------
    y_true, y_pred : one item per sequence, each a list of labels (str or int)
    labels : the labels to report and average over, in this order; default: all that occur, sorted
    zero_division : 0.0 or 1.0, the value of a ratio whose denominator is zero
    """
    if zero_division not in (0.0, 1.0):
        raise InputError(f"zero_division is {zero_division!r}", hint="It is 0.0 or 1.0.")
    coded = code_labelings(y_true, y_pred)
    labelled = _labelled(coded.codes[0])
    true, predicted = (codes[labelled] for codes in coded.codes)
    names, counts = _counts(coded.labels, true, predicted, None if labels is None else list(labels))
    support = counts[2]
    ratios = _ratios(counts, zero_division)
    macro = ratios.mean(axis=1)
    by_support = (ratios * support).sum(axis=1) / support.sum() if support.any() else macro  # as scikit-learn has it
    return LabelReport(
        per_label={name: _row(ratios[:, k], support[k]) for k, name in enumerate(names)},
        micro=_row(_ratios(counts.sum(axis=1), zero_division), support.sum()),
        macro=_row(macro, support.sum()),
        weighted=_row(by_support, support.sum()),
        accuracy=float(np.mean(true == predicted)),
    )


def label_f1(
    y_true: Labelings,
    y_pred: Labelings,
    average: Average = "weighted",
    labels: Iterable[Label] | None = None,
    zero_division: float = 0.0,
) -> float:
    """F1 averaged over labels: "weighted" by support, "macro" or "micro". See `label_report`."""
    if average not in get_args(Average):
        raise InputError(f"average is {average!r}", hint=f"It is one of {', '.join(get_args(Average))}.")
    report = label_report(y_true, y_pred, labels=labels, zero_division=zero_division)
    scores: Scores = getattr(report, average)
    return scores.f1


def _labelled(true: CodeArray) -> AnyArray:
    labelled: AnyArray = true != UNLABELLED
    if not labelled.any():
        raise InputError("y_true has no labelled position", hint="There is nothing to score.")
    return labelled


def _position_weights(sample_weight: Iterable[Any], offsets: IndexArray) -> FloatArray:
    """Weights of the N positions, from S numbers or from one list of numbers per sequence."""
    items = list(sample_weight)
    lengths = np.diff(offsets)
    if len(items) != len(lengths):
        hint = "Give one number, or one list of numbers, per sequence."
        raise InputError(f"sample_weight has {len(items)} items for {len(lengths)} sequences", hint=hint)
    if all(np.ndim(item) == 0 for item in items):
        weights = np.repeat(np.asarray(items, dtype=FLOAT), lengths)
    else:
        for i, (item, length) in enumerate(zip(items, lengths)):
            if np.shape(item) != (length,):
                raise InputError(f"sample_weight does not have {length} numbers", sequence=i)
        weights = np.concatenate([np.asarray(item, dtype=FLOAT) for item in items])
    if not np.all(np.isfinite(weights)) or np.any(weights < 0):
        raise InputError("sample_weight holds a negative or infinite number")
    return weights


def _counts(
    labels: tuple[Label, ...], true: CodeArray, predicted: CodeArray, wanted: list[Label] | None
) -> tuple[list[Label], IndexArray]:
    """The wanted labels, by default those that occur, and rows (right, found, support) of counts for them."""
    codes = true[true == predicted], predicted, true
    counts = np.stack([np.bincount(some, minlength=len(labels) + 1) for some in codes])  # the last column is of none
    if wanted is None:
        wanted = [labels[code] for code in np.flatnonzero(counts[1] + counts[2])]
    if not wanted or len(set(wanted)) != len(wanted):
        raise InputError("labels must name at least one label, and each once")
    place = {label: code for code, label in enumerate(labels)}
    return wanted, counts[:, [place.get(label, -1) for label in wanted]]


def _ratios(counts: IndexArray, zero_division: float) -> FloatArray:
    """Rows (precision, recall, F1) from rows (right, found, support)."""
    right, n_predicted, support = counts
    numerators = np.stack([right, right, 2 * right]).astype(FLOAT)
    denominators = np.stack([n_predicted, support, n_predicted + support]).astype(FLOAT)
    ratios: FloatArray = np.full_like(numerators, zero_division)
    return np.divide(numerators, denominators, out=ratios, where=denominators > 0)


def _row(ratios: FloatArray, support: np.int64) -> Scores:
    precision, recall, f1 = ratios.tolist()
    return Scores(precision, recall, f1, int(support))


# ------------------------------------------------------------------------------------------------ whole sequences


def sequence_accuracy(y_true: Labelings, y_pred: Labelings) -> float:
    """The share of sequences whose labelled positions are all right.

    Sequences without a labelled position are left out.
    """
    coded = code_labelings(y_true, y_pred)
    true, predicted = coded.codes
    right, labelled = sequence_decisions(true, predicted, coded.offsets)
    _labelled(true)  # or an error
    return float(np.mean(right[labelled]))


def sequence_decisions(true: CodeArray, predicted: CodeArray, offsets: IndexArray) -> tuple[BoolArray, BoolArray]:
    """Two arrays[S]: whether no labelled position is wrong, and whether there is a labelled position."""
    labelled = true != UNLABELLED
    wrong = labelled & (true != predicted)
    return count_by_sequence(wrong, offsets) == 0, count_by_sequence(labelled, offsets) > 0


def count_by_sequence(marked: BoolArray, offsets: IndexArray) -> IndexArray:
    """The number of marked positions of each sequence."""
    # Not np.add.reduceat, which gets empty sequences wrong.
    running = np.concatenate([[0], np.cumsum(marked)])
    counts: IndexArray = running[offsets[1:]] - running[offsets[:-1]]
    return counts


# ------------------------------------------------------------------------------------------------ confusions


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
