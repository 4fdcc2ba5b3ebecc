"""The data sets of the experiments, each with its window and with the way it is cut into training and test."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from hedgerow.data.dataset import Window
from hedgerow.data.sequences import Sequences
from hedgerow.errors import InputError
from hedgerow.legend import IndexArray
from reproduction.datasets import (
    line_features,
    load_header_lines,
    load_hyphen_windows,
    load_nettalk,
    load_paper_lines,
    load_protein,
)
from reproduction.datasets.lines import yes_and_no
from reproduction.datasets.papers import GROUP_OF, PLACE_OF
from reproduction.settings import Settings

N_WORDS = 1_000  # NETtalk's training words, and as many test words
QUICK_TRAIN, QUICK_TEST = 60, 30
QUICK_PROTEINS = 12, 6  # which are long
QUICK_PAPERS, QUICK_LINES = 20, 100


class Part(NamedTuple):
    """Which sequences are trained on and which are tested, by their places."""

    train: IndexArray
    test: IndexArray


@dataclass(frozen=True)
class Problem:
    """A data set to learn.

    X, y : all sequences, those of training and of test
    window : half-widths, as estimators take them
    n_features : binary features a position in the papers' way of counting; columns times offsets for line features
    parts : seed → parts whose tests together are what is scored
    redrawn : whether another seed has other test sequences; then the seeds' decisions are counted together
    narrow : what this problem can afford of the settings, where it is a large one
    """

    name: str
    title: str
    X: Any
    y: list[list[Any]]
    window: Window
    n_features: int
    parts: Callable[[int], list[Part]]
    redrawn: bool = False
    narrow: Callable[[Settings], Settings] = lambda settings: settings

    def truth(self, seed: int) -> list[list[Any]]:
        """The labels of the test sequences, part after part."""
        return [self.y[i] for part in self.parts(seed) for i in part.test]

    def mean_length(self) -> float:
        return float(np.mean([len(labels) for labels in self.y]))


def take(values: Any, places: IndexArray) -> Any:
    """The sequences at these places, in a container of the same kind."""
    return values[places] if isinstance(values, Sequences) else [values[i] for i in places]


def load_problem(name: str, settings: Settings) -> Problem:
    """The problem of that name: "protein", "nettalk", "hyphen", "papers", "headers", or of FEW_PAPERS."""
    if name not in LOADERS:
        raise InputError(f"there is no problem {name!r}", hint=f"Choose one of {', '.join(LOADERS)}.")
    return LOADERS[name](settings)


def fixed_split(n_train: int, n_test: int, settings: Settings) -> Callable[[int], list[Part]]:
    """The first sequences train, those after them test, whatever the seed."""
    train, test = np.arange(n_train), np.arange(n_train, n_train + n_test)
    if settings.quick:
        train, test = train[:QUICK_TRAIN], test[:QUICK_TEST]
    return lambda seed: [Part(train, test)]


def folds(n: int, n_folds: int, seed: int, groups: IndexArray | None = None) -> list[Part]:
    """Every sequence is tested once, in one of `n_folds` parts of about equal size, drawn at random.

    groups : (n,), which sequences belong together and stay in one part; None where none do
    """
    if not 2 <= n_folds <= n:
        raise InputError(f"{n} sequences cannot be cut into {n_folds} folds")
    order = np.random.default_rng(seed).permutation(n)
    tests: list[IndexArray] = np.array_split(order, n_folds)
    if groups is not None:
        rows: list[list[int]] = [[] for _ in range(n_folds)]
        for group in sorted(dict.fromkeys(groups[order].tolist()), key=lambda g: -int((groups == g).sum())):
            min(rows, key=len).extend(np.flatnonzero(groups == group).tolist())
        tests = list(map(np.array, rows))
    return [Part(np.setdiff1d(order, test), np.sort(test)) for test in tests]


def _protein(settings: Settings) -> Problem:
    X_train, y_train, X_test, y_test = load_protein(_place(settings, "protein"))
    if settings.quick:
        n, m = QUICK_PROTEINS
        X_train, y_train, X_test, y_test = X_train[:n], y_train[:n], X_test[:m], y_test[:m]
    return Problem(
        name="protein",
        title="Protein",
        X=X_train + X_test,
        y=y_train + y_test,
        window=5,
        n_features=11 * 21,
        parts=fixed_split(len(X_train), len(X_test), settings),
    )


def _nettalk(settings: Settings) -> Problem:
    X, labels = load_nettalk(_place(settings, "nettalk"))
    known = [i for i, own in enumerate(labels) if None not in own]
    n_train, n_test = (QUICK_TRAIN, QUICK_TEST) if settings.quick else (N_WORDS, N_WORDS)

    def parts(seed: int) -> list[Part]:
        drawn = np.random.default_rng(seed).permutation(len(known))[: n_train + n_test]
        return [Part(np.sort(drawn[:n_train]), np.sort(drawn[n_train:]))]

    return Problem(
        name="nettalk",
        title="NETtalk stress",
        X=[X[i] for i in known],
        y=[list(labels[i]) for i in known],
        window=6,
        n_features=13 * 27,
        parts=parts,
        redrawn=True,
    )


def _hyphen(settings: Settings) -> Problem:
    X_train, y_train, X_test, y_test = load_hyphen_windows(_place(settings, "hyphen"))
    return Problem(
        name="hyphen",
        title="Hyphenation",
        X=[*X_train, *X_test],
        y=[*y_train, *y_test],
        window=0,  # the columns are the window of (2, 3) letters already
        n_features=6 * 27,
        parts=fixed_split(len(X_train), len(X_test), settings),
    )


def _papers(settings: Settings) -> Problem:
    return _documents("papers", "Lines of papers", *load_paper_lines(_place(settings, "parscit")), settings)


def _headers(settings: Settings) -> Problem:
    return _documents("headers", "Lines of heads", *load_header_lines(_place(settings, "parscit")), settings)


def _documents(name: str, title: str, lines: list[list[str]], y: list[list[Any]], settings: Settings) -> Problem:
    """Documents in folds, each a sequence of lines."""
    if settings.quick:
        lines, y = ([rows[:QUICK_LINES] for rows in part[:QUICK_PAPERS]] for part in (lines, y))
    X = line_features(lines)
    n_folds = len(lines) if settings.outer_folds is None else settings.outer_folds
    return Problem(
        name=name,
        title=title,
        X=X,
        y=y,
        window=PAPERS_WINDOW,
        n_features=len(X.columns) * (2 * PAPERS_WINDOW + 1),
        parts=lambda seed: folds(len(lines), n_folds, seed),
        narrow=narrow_papers,
    )


def _few_papers(name: str, settings: Settings) -> Problem:
    """Lines of a few papers, one left out at a time: whether each test says yes or no, and four labels, as of FAQs."""
    lines, y = load_paper_lines(_place(settings, "parscit"))
    if settings.quick:
        lines, y = ([rows[:QUICK_LINES] for rows in part] for part in (lines, y))
    X = yes_and_no(line_features(lines))
    title, first, last = FEW_PAPERS[name]

    def parts(seed: int) -> list[Part]:
        own = np.random.default_rng(seed).permutation(len(lines))[first:last]
        found = [Part(np.sort(np.delete(own, i)), own[i : i + 1]) for i in range(len(own))]
        return found[:2] if settings.quick else found

    return Problem(
        name=name,
        title=title,
        X=X,
        y=[[PLACE_OF[GROUP_OF[label]] for label in labels] for labels in y],
        window=PAPERS_WINDOW,
        n_features=len(X.columns),
        parts=parts,
        redrawn=True,
        narrow=lambda settings: replace(settings, inner_folds=min(3, settings.inner_folds)),
    )


def narrow_papers(settings: Settings) -> Settings:
    """One seed, two values of λ, two inner folds and at most 100 iterations: it has 24 labels, and trees of 24 labels
    cost fifty times those of three.
    """
    return replace(
        settings,
        seeds=settings.seeds[:1],
        shrinkages=tuple(value for value in settings.shrinkages if value in PAPERS_SHRINKAGES) or settings.shrinkages,
        inner_folds=min(2, settings.inner_folds),
        max_iterations=min(100, settings.max_iterations),
    )


PAPERS_SHRINKAGES = (10.0, 40.0)
PAPERS_WINDOW = 0  # a line alone, as the FAQs' lines in the thesis
# In place of the three FAQs, which have 7, 7 and 5 files: titles, and which papers of a random order.
FEW_PAPERS = {"papers-a": ("7 papers", 0, 7), "papers-b": ("7 others", 7, 14), "papers-c": ("5 papers", 14, 19)}
LOADERS: dict[str, Callable[[Settings], Problem]] = {
    "protein": _protein,
    "nettalk": _nettalk,
    "hyphen": _hyphen,
    "papers": _papers,
    "headers": _headers,
    **{name: partial(_few_papers, name) for name in FEW_PAPERS},
}
CHAPTER_3 = ("protein", "nettalk", "hyphen", "papers")  # those of the thesis' third chapter, papers for its FAQs


def _place(settings: Settings, name: str) -> Path | None:
    return None if settings.folder is None else Path(settings.folder) / name
