"""Several models on the same sequences: how right, how fast, how large, and whether the differences are chance."""

from __future__ import annotations

import csv
import io
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from hedgerow.data.sequences import take_sequences
from hedgerow.errors import HedgerowError, InputError
from hedgerow.legend import AnyArray, IndexArray
from hedgerow.metrics import (
    expected_calibration_error,
    label_accuracy,
    label_report,
    log_loss,
    macro_f1,
    mcnemar,
    segment_f1,
    sequence_accuracy,
    sequence_test,
    span_f1,
)
from hedgerow.metrics.labelings import sort_key
from hedgerow.report.memory import PeakMemory

WARM_UP = 20  # sequences that a model is tried on first, so that compiling counts for no one
_MOST_PAIRED = 8  # models: of more, pairs are not tested
LEVEL = 0.05  # a smaller p-value counts as significant

Split = tuple[IndexArray, IndexArray]
Say = Callable[[str], None]
Failures = dict[str, str]  # model → why it could not be trained


@dataclass(frozen=True)
class Entry:
    """One model. Rates are shares of 1, over all test sequences together.

    span_f1 : None where the labels are not those of spans
    segment_f1 : of runs of equal labels that overlap by half; None where labels are those of spans
    log_loss, calibration_error : of its probabilities; None where it has none
    fold_accuracies : one for each fold
    train_seconds, predict_seconds : of all folds together
    peak_bytes : the most memory that training took above what was there before; None where the system cannot tell
    p_labels : McNemar's test by label against the best model; None of the best. Labels of one sequence depend on each
        other, so that it tends to be too small
    p_sequences : the permutation test on the errors of each sequence (`hedgerow.metrics.sequence_test`)
    spread : half of the 95 % interval of the accuracy, by drawing whole sequences; None of a single one
    label_f1 : label → its F1, and how often it is true
    """

    name: str
    accuracy: float
    macro_f1: float
    span_f1: float | None
    segment_f1: float | None
    sequence_accuracy: float
    log_loss: float | None
    calibration_error: float | None
    fold_accuracies: tuple[float, ...]
    train_seconds: float
    predict_seconds: float
    peak_bytes: int | None
    p_labels: float | None = None
    p_sequences: float | None = None
    spread: float | None = None
    label_f1: dict[str, tuple[float, int]] = field(default_factory=dict)


@dataclass(frozen=True)
class Comparison:
    """What `compare` returns: `str()` is a table, the best model first.

    n_sequences, n_labels : tested sequences, and labels in them
    folds : how many parts; 1 where test sequences were given
    failed : model → why it could not be trained
    interrupted : whether Ctrl-C ended it; models that were not finished are left out
    ranked_by : "accuracy", or "span F1" where labels are those of spans
    p_pairs : (model, model) → `p_sequences` of the two
    """

    entries: list[Entry]
    n_sequences: int
    n_labels: int
    folds: int
    failed: dict[str, str] = field(default_factory=dict)
    interrupted: bool = False
    ranked_by: str = "accuracy"
    p_pairs: dict[tuple[str, str], float] = field(default_factory=dict)

    @property
    def best(self) -> Entry:
        return self.entries[0]

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain numbers and text."""
        pairs = [{"models": list(pair), "p_sequences": p} for pair, p in self.p_pairs.items()]
        return asdict(self) | {"p_pairs": pairs}

    def rows(self) -> list[tuple[str, ...]]:
        """The table as text: a header, and a row for each model."""
        spans = any(entry.span_f1 is not None for entry in self.entries)
        rates = ("accuracy", "macro F1", "span F1" if spans else "segment F1", "sequences", "log-loss", "ECE")
        rows: list[tuple[str, ...]] = [("model", *rates, "train s", "predict s", "MB", "p labels", "p sequences")]
        for entry in self.entries:
            parts = entry.span_f1 if spans else entry.segment_f1
            found = (entry.accuracy, entry.macro_f1, parts, entry.sequence_accuracy, entry.log_loss)
            right = ["–" if value is None else f"{value:.4f}" for value in (*found, entry.calibration_error)]
            seconds = f"{entry.train_seconds:.2f}", f"{entry.predict_seconds:.2f}"
            memory = "–" if entry.peak_bytes is None else f"{entry.peak_bytes / 1e6:.0f}"
            rows.append((entry.name, *right, *seconds, memory, _p(entry.p_labels), _p(entry.p_sequences)))
        return rows

    def notes(self) -> list[str]:
        """What belongs below the table, a sentence each."""
        how = "on the test sequences" if self.folds == 1 else f"in {self.folds} folds, the same for all"
        sizes = f"{self.n_sequences:,} sequences, {self.n_labels:,} labels, {how}."
        tests = "p: against the best, by McNemar's test of labels and by a permutation test of the errors of sequences"
        notes = [f"{sizes} {tests}. The best by {self.ranked_by}: {self.best.name}."]
        notes += [f"{name} is left out: {why}" for name, why in self.failed.items()]
        stopped = ["It was interrupted; models that were not finished are left out."] if self.interrupted else []
        return notes + stopped

    def __str__(self) -> str:
        rows = self.rows()
        widths = [max(map(len, column)) for column in zip(*rows)]
        lines = [
            "  ".join(f"{cell:<{width}}" if j == 0 else f"{cell:>{width}}" for j, (cell, width) in enumerate(cells))
            for cells in (list(zip(row, widths)) for row in rows)
        ]
        return "\n".join([*(line.rstrip() for line in lines), "", *self.notes()])

    def to_csv(self) -> str:
        """The entries as comma-separated values, one line per model."""
        names = [name for name in Entry.__dataclass_fields__ if name not in ("fold_accuracies", "label_f1")]
        text = io.StringIO()
        rows = [["" if (v := getattr(entry, n)) is None else v for n in names] for entry in self.entries]
        csv.writer(text, lineterminator="\n").writerows([names, *rows])
        return text.getvalue()


def _p(value: float | None) -> str:
    if value is None:
        return "best"
    return "<0.001" if value < 0.001 else f"{value:.3f}"


def compare(
    models: Mapping[str, Any],
    X: Any,
    y: Any,
    *,
    X_test: Any = None,
    y_test: Any = None,
    cv: Any = 5,
    groups: Any = None,
    random_state: Any = 0,
    scheme: str | None = None,
    say: Say | None = None,
) -> Comparison:
    """Train models on the same folds and compare what they predict on the rest.

    Parameters
    ----------
    models : name → estimator; clones of them are fitted
    X, y : S sequences and their labels: lists, object arrays or Sequences
    X_test, y_test : test sequences; without them the models are cross-validated
    cv : how many folds, drawn at random, or a scikit-learn splitter whose test parts hold every sequence once
    groups : S values, such as the document of each sentence: a group is never cut in two
    random_state : seed of the folds
    scheme : how spans are written ("auto", "iob1", "iob2", "iobes", "bilou"); None counts no spans
    say : called with a line of text about what is being done

    Ctrl-C ends it, and the models that are finished are compared. A model that refuses the data is left out, and the
    Comparison says why. Each model is tried on a few sequences first, so that times are without compiling.
    """
    if not models:
        raise InputError("there is no model to compare", hint="Give a mapping of name to estimator.")
    if scheme is not None:
        span_f1([["O"]], [["O"]], scheme)  # type: ignore[arg-type]
    tasks, truth = _tasks(X, y, X_test, y_test, cv, groups, random_state)
    runs, failed, interrupted = _run_all(models, tasks, say or (lambda message: None))
    if not runs:
        if interrupted:
            raise KeyboardInterrupt
        raise InputError(f"no model could be trained. {'; '.join(f'{n}: {w}' for n, w in failed.items())}")
    entries = _entries(runs, truth, scheme)
    n_labels = sum(len(row) for row in truth)
    by = "accuracy" if scheme is None else "span F1"
    pairs = {}
    for a, b in combinations(runs, 2) if len(runs) <= _MOST_PAIRED else ():
        pairs[a, b] = pairs[b, a] = sequence_test(truth, runs[a].predicted, runs[b].predicted).p_value
    return Comparison(entries, len(truth), n_labels, len(tasks), failed, interrupted, by, pairs)


class _Task(NamedTuple):
    """Sequences to train on and to test on."""

    X: Any
    y: Any
    X_test: Any
    y_test: Any


@dataclass
class _Run:
    """What a model gave in all tasks: labels in the order of the test sequences, task by task."""

    predicted: list[Any] = field(default_factory=list)
    probs: list[Any] | None = field(default_factory=list)  # (T, K) of each sequence, by the classes of its model
    classes: list[tuple[Any, ...]] = field(default_factory=list)
    accuracies: list[float] = field(default_factory=list)
    train_seconds: float = 0.0
    predict_seconds: float = 0.0
    peak_bytes: int | None = None


def _tasks(X: Any, y: Any, X_test: Any, y_test: Any, cv: Any, groups: Any, seed: Any) -> tuple[list[_Task], list[Any]]:
    """The tasks, and the true labels of all their test sequences, end to end."""
    if (X_test is None) != (y_test is None):
        raise InputError("X_test and y_test go together", hint="Give both, or neither.")
    for name, sequences, labels in (("y", X, y), ("y_test", X_test, y_test)):
        if sequences is not None and len(sequences) != len(labels):
            raise InputError(f"there are {len(sequences)} sequences and {name} has {len(labels)}")
    if X_test is not None:
        return [_Task(X, y, X_test, y_test)], [list(row) for row in y_test]
    tasks = [
        _Task(*(take_sequences(given, part) for part in (train, test) for given in (X, y)))
        for train, test in _splits(X, cv, groups, seed)
    ]
    return tasks, [list(row) for task in tasks for row in task.y_test]


def _splits(X: Any, cv: Any, groups: Any, seed: Any) -> list[Split]:
    from sklearn.model_selection import GroupKFold, KFold

    from hedgerow.model_selection import check_partition

    if isinstance(cv, (int, np.integer)) and not isinstance(cv, bool):
        most = len(X) if groups is None else len(set(groups))
        if not 2 <= cv <= most:
            raise InputError(f"⟦cv⟧ is {cv}", hint=f"Give 2 to {most} folds: there are {most} to spread over them.")
        cv = KFold(int(cv), shuffle=True, random_state=seed) if groups is None else GroupKFold(int(cv))
    splits: list[Split] = list(cv.split(np.zeros(len(X)), None, groups))
    check_partition([test for _, test in splits], len(X))
    return splits


def _run_all(models: Mapping[str, Any], tasks: Sequence[_Task], say: Say) -> tuple[dict[str, _Run], Failures, bool]:
    """All models, one after the other. Ctrl-C ends it; the model under way is dropped."""
    from sklearn.base import clone

    runs: dict[str, _Run] = {}
    failed: Failures = {}
    try:
        for name, model in models.items():
            run = _Run()
            try:
                _warm_up(clone(model), tasks[0])
                for f, task in enumerate(tasks):
                    _run_one(clone(model), task, run)
                    say(f"{name}: {f + 1} of {len(tasks)} done, accuracy {run.accuracies[-1]:.4f}")
                runs[name] = run
            except HedgerowError as error:
                failed[name] = str(error)
                say(f"{name}: {error}")
    except KeyboardInterrupt:
        return runs, failed, True
    return runs, failed, False


def _warm_up(model: Any, task: _Task) -> None:
    """Compile what the model needs. What fails on so few sequences fails again, or does not matter."""
    few = np.arange(min(WARM_UP, len(task.X)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model.fit(take_sequences(task.X, few), take_sequences(task.y, few)).predict(take_sequences(task.X, few))
        except HedgerowError:
            return
    _stop_if_interrupted(model)


def _run_one(model: Any, task: _Task, run: _Run) -> None:
    with warnings.catch_warnings(), PeakMemory() as memory:
        warnings.filterwarnings("ignore", message="training (stopped|was interrupted)")
        began = time.perf_counter()
        model.fit(task.X, task.y)
        run.train_seconds += time.perf_counter() - began
    _stop_if_interrupted(model)
    began = time.perf_counter()
    predicted: AnyArray = model.predict(task.X_test)
    run.predict_seconds += time.perf_counter() - began
    run.predicted.extend(predicted)
    run.accuracies.append(label_accuracy(task.y_test, predicted))
    _note_losses(model, task, run)
    if memory.size is not None:
        run.peak_bytes = max(run.peak_bytes or 0, memory.size)


def _note_losses(model: Any, task: _Task, run: _Run) -> None:
    """Keep the probabilities of the test sequences; None of a model without."""
    if run.probs is None or not hasattr(model, "predict_proba"):
        run.probs = None
        return
    found = list(model.predict_proba(task.X_test))
    run.probs += found
    run.classes += [tuple(model.classes_.tolist())] * len(found)


def _stop_if_interrupted(model: Any) -> None:
    """A model that heard Ctrl-C ends its training and keeps what it has: not what is to be compared."""
    if getattr(model, "outcome_", None) == "interrupted":
        raise KeyboardInterrupt


def _entries(runs: Mapping[str, _Run], truth: list[Any], scheme: str | None) -> list[Entry]:
    """An Entry for each model, the best first."""

    def rank(name: str) -> float:
        own = runs[name].predicted
        return label_accuracy(truth, own) if scheme is None else span_f1(truth, own, scheme)  # type: ignore[arg-type]

    ranking = sorted(runs, key=rank, reverse=True)
    best = runs[ranking[0]]
    return [_entry(name, runs[name], best, truth, scheme) for name in ranking]


def _losses(run: _Run, truth: list[Any]) -> tuple[float | None, float | None]:
    """Log-loss and calibration error over all test sequences together. Folds may have learnt of other labels."""
    if run.probs is None:
        return None, None
    every = sorted({label for classes in run.classes for label in classes}, key=sort_key)
    place, spread = {label: k for k, label in enumerate(every)}, []
    for probs, classes in zip(run.probs, run.classes):
        row = np.zeros((len(probs), len(every)))
        row[:, [place[label] for label in classes]] = probs
        spread.append(row)
    return log_loss(truth, spread, every), expected_calibration_error(truth, spread, every)


def _entry(name: str, run: _Run, best: _Run, truth: list[Any], scheme: str | None) -> Entry:
    own, tested = run.predicted, (truth, best.predicted, run.predicted)
    losses = _losses(run, truth)
    p_values = (None, None) if run is best else (mcnemar(*tested).p_value, sequence_test(*tested).p_value)
    return Entry(
        name,
        accuracy=label_accuracy(truth, own),
        macro_f1=macro_f1(truth, own),
        span_f1=None if scheme is None else span_f1(truth, own, scheme),  # type: ignore[arg-type]
        segment_f1=segment_f1(truth, own) if scheme is None else None,
        sequence_accuracy=sequence_accuracy(truth, own),
        log_loss=losses[0],
        calibration_error=losses[1],
        fold_accuracies=tuple(run.accuracies),
        train_seconds=run.train_seconds,
        predict_seconds=run.predict_seconds,
        peak_bytes=run.peak_bytes,
        p_labels=p_values[0],
        p_sequences=p_values[1],
        spread=_spread(truth, own),
        label_f1={str(name): (one.f1, one.support) for name, one in label_report(truth, own).per_label.items()},
    )


def _spread(truth: list[Any], own: list[Any]) -> float | None:
    """Half of the 95 % interval of the accuracy; None of a single sequence."""
    from hedgerow.report.page.scores import Draws

    known = [[label is not None for label in row] for row in truth]
    right = [sum(a == b for a, b in zip(*pair)) for pair in zip(truth, own)]
    counts = np.array([right, [sum(row) for row in known]]).T
    spread = Draws(len(truth)).spread(counts, lambda sums: sums[..., 0] / np.maximum(sums[..., 1], 1.0))
    return None if spread is None else float(spread)
