"""What was tested on: labels, lengths, gaps, columns that are not as in training, sequences that training had, too.

What training had is told by the training sequences, where they are given. Without them it is what a model file keeps:
the values of each column, and of numbers the mean and the deviation.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from hedgerow.data.dataset import OUTSIDE_COLUMN, Dataset
from hedgerow.data.extension import NewCodes, OpenCoder
from hedgerow.data.reading import blocks_of
from hedgerow.data.rows import is_null
from hedgerow.legend import MISSING, AnyArray, IndexArray
from hedgerow.report.page.tested import Tested

RARE = 20  # labels that occur less often are marked
_FAR = 0.5  # deviations of training between means that are marked, where training itself is not there
_NEW = 0.2  # share of values that training did not have that is marked, likewise
_SPLITS = 9  # of training, to see how far columns move by chance
_BINS = 20  # of a histogram of lengths
_MOST_COLUMNS = 40
_QUANTILES = {"shortest": 0.0, "median": 0.5, "longest": 1.0}  # of lengths


class LabelCount(NamedTuple):
    """One label: how often it is true here, how often it was found, and how often training had it, if that is known."""

    label: str
    true: int
    found: int
    trained: int | None
    note: str


class ColumnFacts(NamedTuple):
    """One column. Shares are of positions, None where they cannot be told.

    drift : how far it is from training: the largest gap of the two distributions (numbers) or half the sum of all gaps
        (values), from 0 to 1; without training sequences, by how many deviations the mean has moved (numbers)
    usual : the largest such distance between parts of the training sequences as large as the test; None without them
    """

    name: str
    kind: str
    missing: float | None
    unseen: float | None
    drift: float | None
    usual: float | None
    moved: bool


@dataclass(frozen=True)
class Facts:
    """lengths: (low, high, sequences) of the bars of a histogram. shared : sequences that training had, too, of them
    `at_odds` with other labels; `repeated` are in the test more than once."""

    labels: list[LabelCount]
    lengths: list[tuple[float, float, int]]
    length: dict[str, float]
    columns: list[ColumnFacts]
    n_columns: int
    shared: int | None
    at_odds: int
    repeated: int
    n_trained: int | None
    by_training: bool


def facts(tested: Tested, trained: Trained | None) -> Facts:
    """All of it. trained : the training sequences as the model reads them, and their labels; None where not given"""
    columns = list(_columns(tested, trained))
    order = sorted(columns, key=lambda one: (not one.moved, -(one.unseen or 0.0) - (one.missing or 0.0)))
    new: NewCodes = {}
    own = _prints(tested, tested.model, new)
    times = Counter(own)
    shared, at_odds = None, 0
    if trained is not None:
        theirs = _labels_by_print(tested.model, trained, new)
        hits = [i for i, one in enumerate(own) if one in theirs]
        shared = len(hits)
        names = (*tested.labels, None)
        for i in hits:
            labels = tuple(names[k] for k in tested.true[tested.offsets[i] : tested.offsets[i + 1]].tolist())
            at_odds += None not in labels and labels not in theirs[own[i]]
    notes = getattr(tested.model, "metadata_", {}).get("training")
    n_trained = len(trained.offsets) - 1 if trained is not None else None
    if n_trained is None and isinstance(notes, dict) and isinstance(notes.get("sequences"), int):
        n_trained = notes["sequences"]
    return Facts(
        _label_counts(tested, trained),
        _histogram(tested.lengths),
        {name: float(np.quantile(tested.lengths, q)) for name, q in _QUANTILES.items()},
        order[:_MOST_COLUMNS],
        len(columns),
        shared,
        at_odds,
        sum(n for n in times.values() if n > 1),
        n_trained,
        trained is not None,
    )


class Trained(NamedTuple):
    """The training sequences: as the model reads them, as they came, and their labels, flat (None: not known)."""

    dataset: Any
    X: Any
    offsets: IndexArray
    labels: list[Any]


def _label_counts(tested: Tested, trained: Any) -> list[LabelCount]:
    K = len(tested.labels)
    true = np.bincount(tested.true[tested.labelled], minlength=K).tolist()
    found = np.bincount(tested.predicted, minlength=K).tolist()
    before = None if trained is None else Counter(label for label in trained.labels if label is not None)
    known = set(tested.model.classes_.tolist())
    rows = []
    for k, label in enumerate(tested.labels):
        note = ""
        if label not in known:
            note = "never seen in training: always wrong"
        elif true[k] == 0 and tested.labelled.any():
            note = "not in this data"
        elif 0 < true[k] < RARE:
            note = "rare here: its scores say little"
        rows.append(LabelCount(str(label), true[k], found[k], None if before is None else before[label], note))
    return sorted(rows, key=lambda row: (-row.true, -row.found))


def _histogram(lengths: IndexArray) -> list[tuple[float, float, int]]:
    low, high = int(lengths.min()), int(lengths.max())
    n_bins = min(_BINS, high - low + 1)
    counts, edges = np.histogram(lengths, bins=n_bins, range=(low, high + 1))
    return [(float(a), float(b), int(n)) for a, b, n in zip(edges, edges[1:], counts)]


# ------------------------------------------------------------------------------------------------ columns


class _Values(NamedTuple):
    """A column as numbers: codes, or numbers with NaN for missing ones; `at`: the sequence of each."""

    kind: str
    values: AnyArray
    center: float = 0.0
    spread: float = 1.0


def _read(dataset: Any) -> dict[str, _Values]:
    """The columns of what a model reads, by name."""
    if not isinstance(dataset, Dataset):
        return {f"feature {j}": _Values("numeric", row) for j, row in enumerate(dataset.nodes.T)}
    found = {}
    for column, row, places in dataset.stored():
        if column.name != OUTSIDE_COLUMN and not column.constant:
            found[column.name] = _Values(str(column.kind), row[places], column.center, column.spread)
    return found


def _columns(tested: Tested, trained: Any) -> Iterator[ColumnFacts]:
    own = _read(tested.dataset)
    theirs = {} if trained is None else _read(trained.dataset)
    empty = _missing(tested.model._given(tested.X, None).X) if tested.shapes is None else {}
    splits = [] if trained is None else _random_parts(trained.offsets, len(tested.true))
    for name, column in own.items():
        n = max(len(column.values), 1)
        if column.kind == "numeric":
            missing, unseen = float(np.isnan(column.values).sum()) / n, None
        else:
            gone = float((column.values == MISSING).sum()) / n
            missing = empty.get(name, 0) / n
            unseen = max(0.0, gone - missing)
        drift = usual = None
        if name in theirs:
            drift = _distance(column, theirs[name].values, column.values)
            values = theirs[name].values
            usual = max((_distance(column, values[~part], values[part]) for part in splits), default=0.0)
            moved = drift > 1.5 * usual + 0.02
        elif column.kind == "numeric" and column.spread > 0 and not np.isnan(column.values).all():
            drift = abs(float(np.nanmean(column.values)) - column.center) / column.spread
            moved = drift > _FAR and (column.center, column.spread) != (0.0, 1.0)
            drift = drift if (column.center, column.spread) != (0.0, 1.0) else None
        else:
            moved = (unseen or 0.0) > _NEW
        yield ColumnFacts(name, column.kind, missing, unseen, drift, usual, moved)


def _missing(X: Any) -> Counter[str]:
    """How many values of each column are missing, as they came: a model takes new values for missing."""
    counts: Counter[str] = Counter()
    for block in blocks_of(X):
        for field in block.fields:
            if not hasattr(field.values, "dtype") or field.values.dtype == object:
                listed = list(field.values)
                try:
                    counts[field.name] += sum(listed.count(value) for value in set(listed) if is_null(value))
                except TypeError:  # lists, which no set holds
                    counts[field.name] += sum(map(is_null, listed))
            if field.where is not None:
                counts[field.name] += sum(block.lengths) - len(field.where)
    return counts


def _random_parts(offsets: IndexArray, size: int) -> list[AnyArray]:
    """Parts of the training sequences, about as large as the test: marks (N,)."""
    rng, lengths = np.random.default_rng(0), np.diff(offsets)
    if len(lengths) < 4:
        return []
    size = min(size, int(offsets[-1]) // 2)
    parts = []
    for _ in range(_SPLITS):
        order = rng.permutation(len(lengths))
        n = 1 + int(np.searchsorted(np.cumsum(lengths[order]), size))
        chosen = np.isin(np.arange(len(lengths)), order[: min(n, len(lengths) - 1)])
        parts.append(np.repeat(chosen, lengths))
    return parts


def _distance(column: _Values, a: AnyArray, b: AnyArray) -> float:
    """How far two samples of a column are apart, from 0 to 1."""
    if column.kind != "numeric":
        size = int(max(a.max(initial=0), b.max(initial=0))) + 1
        first, second = (np.bincount(codes, minlength=size) / max(len(codes), 1) for codes in (a, b))
        return float(np.abs(first - second).sum()) / 2
    a, b = (np.sort(values[~np.isnan(values)]) for values in (a, b))
    if not len(a) or not len(b):
        return float(len(a) != len(b))
    both = np.concatenate([a, b])
    shares = (np.searchsorted(values, both, side="right") / len(values) for values in (a, b))
    first, second = shares
    return float(np.abs(first - second).max())


# ------------------------------------------------------------------------------------------------ the same again


def _prints(seen: Tested | Trained, model: Any, new: NewCodes) -> list[bytes]:
    """A fingerprint of each sequence: of all that the model reads, and of values that are new to it as they came."""
    if not isinstance(seen.dataset, Dataset):
        return [hashlib.sha256(seen.dataset.nodes[rows].tobytes()).digest() for rows in seen.dataset.node_slices]
    coder = OpenCoder(model.schema_, new)  # a model reads all new values alike, but such sequences are not the same
    _, offsets = coder.read(model._given(seen.X, None).X, None, None, may_be_empty=True)
    dataset = coder.finish(offsets, None)
    prints = []
    for i, begin in enumerate(dataset.start.tolist()):
        end = begin + int(offsets[i + 1] - offsets[i])
        sum_of = hashlib.sha256(str(end - begin).encode())
        whole = dataset.seq_codes[:, i], dataset.seq_numeric[:, i]
        for rows in (dataset.codes[:, begin:end], dataset.numeric[:, begin:end].astype(np.float64), *whole):
            sum_of.update(np.ascontiguousarray(rows).tobytes())
        low, high = dataset.attr_ptr[begin], dataset.attr_ptr[end]
        sum_of.update(dataset.attr_id[low:high].tobytes() + (dataset.attr_ptr[begin : end + 1] - low).tobytes())
        sum_of.update((np.ones(high - low) if dataset.attr_val is None else dataset.attr_val[low:high]).tobytes())
        prints.append(sum_of.digest())
    return prints


def _labels_by_print(model: Any, trained: Trained, new: NewCodes) -> dict[bytes, set[tuple[Any, ...]]]:
    found: dict[bytes, set[tuple[Any, ...]]] = {}
    for i, one in enumerate(_prints(trained, model, new)):
        labels = trained.labels[int(trained.offsets[i]) : int(trained.offsets[i + 1])]
        found.setdefault(one, set()).add(tuple(labels))
    return found
