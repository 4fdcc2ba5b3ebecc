"""A task of the arena: sequences, labels, a window, what is trained on and what is tested."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from hedgerow.data.dataset import Window
from hedgerow.data.sequences import Sequences, take_sequences
from hedgerow.legend import IndexArray

SEEDS = 5  # the seeds of the full arena: what any of them tests is not for choosing
INSIDE_FOLDS, INSIDE_SHARE, FEW = 3, 0.25, 40


class Part(NamedTuple):
    """Which sequences are trained on and which are tested, by their places."""

    train: IndexArray
    test: IndexArray


class Asked(NamedTuple):
    """What a task is made for: the folder of data, the seed, and whether it is to be small."""

    folder: Path | None
    seed: int
    quick: bool

    def size(self, full: int, quick: int) -> int:
        return quick if self.quick else full

    def place(self, name: str) -> Path:
        """The folder of a data set. FileNotFoundError where it is not at hand."""
        if self.folder is None:
            raise FileNotFoundError("HEDGEROW_DATA is not set")
        if not (self.folder / name).is_dir():
            raise FileNotFoundError(f"HEDGEROW_DATA has no folder {name}")
        return self.folder / name


@dataclass(frozen=True)
class Task:
    """Data to label.

    X, y : all S sequences and their labels
    parts : the tests together are what is scored, and no sequence is in two of them
    window : half-widths, as estimators take them; every contender that has a window gets this one
    primary : the measure that contenders are ranked by: "accuracy", "macro_f1" or "segment_f1"
    tested : places of all sequences that this or another seed tests, where they are more than those of `parts`
    redrawn : whether the data of another seed are others, so that its sequences are too
    spans : whether labels are IOB, and segments are their spans; else a segment is a run of equal labels
    block : errors are counted by so many positions for the paired tests, where a sequence is a long recording
    best : accuracy of the model that drew the data, where it is known
    """

    X: Any
    y: list[list[Any]]
    parts: list[Part]
    window: Window = 0
    primary: str = "accuracy"
    tested: IndexArray | None = None
    redrawn: bool = False
    spans: bool = False
    block: int | None = None
    best: float | None = None

    def n_labels(self) -> int:
        return len({label for labels in self.y for label in labels})


Loader = Callable[[Asked], Task]


@dataclass
class Registry:
    """The tasks by name, in the order of the table."""

    loaders: dict[str, Loader] = field(default_factory=dict)

    def add(self, name: str) -> Callable[[Loader], Loader]:
        def enter(loader: Loader) -> Loader:
            self.loaders[name] = loader
            return loader

        return enter


TASKS = Registry()


# ------------------------------------------------------------------------------------------------ splits


def fixed(n_train: int, n_test: int) -> list[Part]:
    """The first sequences train, those after them test."""
    return [Part(np.arange(n_train), np.arange(n_train, n_train + n_test))]


def in_turn(n: int, n_folds: int | None, seed: int) -> list[Part]:
    """Every second sequence (1, 3, 5 …) is tested once, by a model of all the others; those between are trained on
    and never tested, so that there is something to choose by.

    n_folds : in so many folds, drawn by the seed; None tests one sequence at a time
    """
    tested = np.arange(1, n, 2)
    if n_folds is None:
        tests = np.split(tested, len(tested))
    else:
        tests = [np.sort(fold) for fold in np.array_split(np.random.default_rng(seed).permutation(tested), n_folds)]
    return [Part(np.setdiff1d(np.arange(n), test), test) for test in tests]


def inside_train(task: Task, seed: int) -> Task:
    """The task without any sequence that is ever tested: the others are cut into training and validation.

    Few sequences are validated in three folds, many once by a quarter. One recording is cut: its last quarter
    validates.
    """
    trained = np.unique(np.concatenate([part.train for part in task.parts]))
    tested = np.concatenate([part.test for part in task.parts])
    free = np.setdiff1d(trained, tested if task.tested is None else task.tested)
    X, y = take_sequences(task.X, free), [task.y[i] for i in free]
    if len(free) == 1:
        cut = round((1 - INSIDE_SHARE) * len(y[0]))
        X = join(*(cut_sequences(X, [(0, begin, end)]) for begin, end in ((0, cut), (cut, len(y[0])))))
        return replace(task, X=X, y=[y[0][:cut], y[0][cut:]], parts=fixed(1, 1), tested=None)
    order = np.random.default_rng([seed, 1]).permutation(len(free))
    n_valid = round(INSIDE_SHARE * len(free))
    valid = np.array_split(order, min(INSIDE_FOLDS, len(free))) if len(free) < FEW else [order[:n_valid]]
    parts = [Part(np.setdiff1d(order, fold), np.sort(fold)) for fold in valid]
    return replace(task, X=X, y=y, parts=parts, tested=None, best=None)


# ------------------------------------------------------------------------------------------------ containers


def join(first: Any, second: Any) -> Any:
    """Two corpora end to end: lists of sequences, or Sequences with the same columns."""
    if not isinstance(first, Sequences):
        return [*first, *second]
    (a, a_offsets, _), (b, b_offsets, _) = first.compact(), second.compact()
    columns = {name: np.concatenate([values, b[name]]) for name, values in a.items()}
    return Sequences(columns, np.concatenate([a_offsets, a_offsets[-1] + b_offsets[1:]]), first.kinds)


def cut_sequences(X: Any, cuts: list[tuple[int, int, int]]) -> Any:
    """Pieces of sequences, each (sequence, begin, end)."""
    if not isinstance(X, Sequences):
        return [X[i][begin:end] for i, begin, end in cuts]
    columns, offsets, _ = X.compact()
    rows = np.concatenate([np.arange(offsets[i] + begin, offsets[i] + end) for i, begin, end in cuts])
    ends = np.cumsum([0, *(end - begin for _, begin, end in cuts)])
    return Sequences({name: values[rows] for name, values in columns.items()}, ends, X.kinds)


def end_to_end(X: Any, y: list[list[Any]], places: IndexArray) -> tuple[Any, list[Any]]:
    """These sequences as one recording."""
    labels = [label for i in places for label in y[i]]
    if not isinstance(X, Sequences):
        return [[value for i in places for value in X[i]]], labels
    columns, _, _ = X[places].compact()
    return Sequences(columns, np.array([0, len(labels)]), X.kinds), labels


def tiny(X: Any, y: list[list[Any]], length: int = 16) -> tuple[Any, list[list[Any]]]:
    """A slice to compile on: four short pieces, around a change of label where there is one, four times over, so that
    some can be held out whose labels others have."""
    cuts = []
    for i in np.linspace(0, len(y) - 1, 4).astype(int).tolist():
        labels = y[i]
        changes = [t for t in range(1, len(labels)) if labels[t] != labels[t - 1]]
        begin = max(0, (changes[len(changes) // 2] if changes else 0) - length // 2)
        cuts.append((i, begin, min(len(labels), begin + length)))
    cuts *= 4
    return cut_sequences(X, cuts), [y[i][begin:end] for i, begin, end in cuts]
