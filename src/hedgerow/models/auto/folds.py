"""Which sequences train and which are held out, and both as the Datasets of any window.

A corpus is encoded once. A fold is what `narrow` gives: values that only held-out sequences have are unknown to the
models that are tried on it, as they are at prediction. Another window is a copy of its arrays (`data/windows.py`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from hedgerow.data.dataset import Dataset, Window
from hedgerow.data.settling import Learnt, narrow
from hedgerow.data.windows import windowed, with_window
from hedgerow.errors import InputError
from hedgerow.legend import INDEX, UNLABELLED, AnyArray, BoolArray, CodeArray, IndexArray

BLOCKS_A_FOLD = 3  # of a long sequence, so that each fold has some of its beginning, middle and end
SMALL = 4_000  # positions that the first rung trains on, and as many that it is scored on
_KEPT = 12  # datasets


class Pieces(NamedTuple):
    """Whole sequences, or blocks of them: sequence, first position in it and length of each, int64 (n,)."""

    sequences: IndexArray
    first: IndexArray
    lengths: IndexArray


class Fold(NamedTuple):
    """The numbers of the pieces that train, and of those that are held out."""

    train: IndexArray
    held: IndexArray


@dataclass(frozen=True)
class Part:
    """What a model is tried on.

    train, held : Datasets of one schema; both have their labels
    """

    train: Dataset
    held: Dataset

    @property
    def hidden(self) -> Dataset:
        """The held-out sequences without their labels."""
        return replace(self.held, labels=None, allowed=None, weight_seq=None)


# ------------------------------------------------------------------------------------------------ folds


def cut_pieces(dataset: Dataset, n_folds: int, gap: int, *, whole: bool) -> Pieces:
    """Whole sequences; or, where there are fewer than folds, blocks of them.

    gap : positions at each end of a block that belong to none, so that no window reaches from one into the next
    """
    lengths = np.diff(dataset.offsets)
    n = len(lengths)
    if whole or n >= n_folds:
        return Pieces(np.arange(n, dtype=INDEX), np.zeros(n, dtype=INDEX), lengths)
    pieces = []
    for i, length in enumerate(lengths.tolist()):
        n_blocks = max(1, min(BLOCKS_A_FOLD * n_folds, length // max(4, 3 * gap)))
        ends = np.linspace(0, length, n_blocks + 1).astype(np.int64)
        for b in range(n_blocks):
            begin = int(ends[b]) + (gap if b else 0)
            pieces.append((i, begin, int(ends[b + 1]) - begin))
    if len(pieces) < 2:
        what = "there is one sequence, too short to hold a part of it out"
        raise InputError(what, hint="Give more sequences, or a model of your choice: LinearCRF().")
    return Pieces(*(np.array(numbers, dtype=INDEX) for numbers in zip(*pieces)))


def make_folds(dataset: Dataset, n_folds: int, groups: AnyArray | None, rng: np.random.RandomState) -> list[Fold]:
    """Folds of the sequences of a dataset, of about as many positions each. Groups are never cut in two.

    A group that holds a label which the others of its training part would lack is not held out: nothing could be learnt
    of it. Nor is one without any label. groups : (S,), or None where each sequence is its own
    """
    assert dataset.labels is not None
    codes = np.arange(len(dataset)) if groups is None else np.unique(groups, return_inverse=True)[1].reshape(-1)
    n_groups = int(codes.max()) + 1
    if n_groups < 2:
        raise InputError("⟦groups⟧ has one group, so nothing can be held out", hint="Give two groups or more.")
    owner = np.repeat(codes, np.diff(dataset.offsets))
    known = dataset.labels != UNLABELLED
    has: BoolArray = np.zeros((n_groups, dataset.n_labels), dtype=bool)
    has[owner[known], dataset.labels[known]] = True
    sizes = np.bincount(owner, minlength=n_groups)
    order = rng.permutation(n_groups)
    if groups is not None or len(dataset) < 4 * n_folds:  # few: the largest first, or folds would be of any size
        order = order[np.argsort(-sizes[order], kind="stable")]
    n_folds = min(n_folds, n_groups)
    filled = np.zeros(n_folds, dtype=np.int64)
    fold_of = np.empty(n_groups, dtype=np.int64)
    for group in order.tolist():
        fold_of[group] = int(np.argmin(filled))
        filled[fold_of[group]] += sizes[group]
    folds = []
    for fold in range(n_folds):
        inside = fold_of == fold
        covered = ~(has & ~has[~inside].any(axis=0)).any(axis=1)
        held = inside & has.any(axis=1) & covered
        if held.any():
            folds.append(Fold(np.flatnonzero(~held[codes]), np.flatnonzero(held[codes])))
    if not folds:
        what = "no sequence can be held out: each has a label that no other has, or none"
        raise InputError(what, hint="Label more sequences, or give a model of your choice: LinearCRF().")
    return folds


# ------------------------------------------------------------------------------------------------ datasets


class FoldedCorpus:
    """A corpus and its folds. `part` gives the Datasets of a fold, under any window.

    learnt : the corpus with all its labels; weighted : the same with the weights it trains with
    given : held-out sequences that the user gave, by the schema of the corpus; then they are the one fold
    own_schema : whether a Dataset was given, whose schema is taken as it is
    """

    def __init__(
        self,
        learnt: Learnt,
        weighted: Dataset,
        pieces: Pieces,
        folds: list[Fold],
        *,
        given: Dataset | None = None,
        own_schema: bool = False,
    ) -> None:
        self.whole, self.given, self.folds = weighted, given, folds
        self._own_schema = own_schema or given is not None
        cut = _is_cut(learnt.dataset, pieces)
        self._appeared = Learnt(learnt.dataset.cut(*pieces), _appeared(learnt, pieces)) if cut else learnt
        self._weighted = weighted.cut(*pieces) if cut else weighted
        self._parts: dict[tuple[int, bool], Part] = {}
        self._windows: dict[tuple[int, bool, str], Part] = {}

    @property
    def n_folds(self) -> int:
        return len(self.folds)

    def is_large(self) -> bool:
        """Whether a first look at a part of the sequences is worth its time."""
        return self._weighted.n_positions > 3 * SMALL

    def share(self, fold: int) -> float:
        """How many times as many positions all sequences have as those that train on a fold."""
        n = int(np.diff(self._weighted.offsets)[self.folds[fold].train].sum())
        return self._weighted.n_positions / max(1, n)

    def part(self, fold: int, window: Window, *, small: bool = False) -> Part:
        """The training and the held-out sequences of a fold under a window; a part of both for a first look."""
        key = (fold, small)
        if key not in self._parts:
            self._parts[key] = self._make(self.folds[fold], small=small)
        named = (*key, repr(window))
        if named not in self._windows:
            if len(self._windows) >= _KEPT:
                del self._windows[next(iter(self._windows))]
            part = self._parts[key]
            schema = windowed(part.train.schema, window)
            self._windows[named] = Part(with_window(part.train, schema), with_window(part.held, schema))
        return self._windows[named]

    def all(self, window: Window) -> Dataset:
        """All sequences, whole, under a window."""
        return with_window(self.whole, windowed(self.whole.schema, window))

    def _make(self, fold: Fold, *, small: bool) -> Part:
        train, held = fold
        unweighted = self._appeared.dataset
        lengths = np.diff(unweighted.offsets)
        if small:
            train = _first_of(train, lengths)
            held = _first_of(held, lengths) if self.given is None else held
        rest = unweighted.take(held) if self.given is None else self.given
        part = self._weighted.take(train)
        if not self._own_schema:
            part, rest = narrow(self._appeared, train, part, rest)
        return Part(part, replace(rest, weight_seq=None))


def _is_cut(dataset: Dataset, pieces: Pieces) -> bool:
    return len(pieces.lengths) != len(dataset) or bool((pieces.lengths != np.diff(dataset.offsets)).any())


def _appeared(learnt: Learnt, pieces: Pieces) -> CodeArray:
    """The attributes of the pieces in the order in which they came."""
    return replace(learnt.dataset, attr_id=learnt.appeared).cut(*pieces).attr_id


def _first_of(pieces: IndexArray, lengths: IndexArray) -> IndexArray:
    """As many of the pieces, spread over all of them, as have about SMALL positions."""
    total = int(lengths[pieces].sum())
    step = max(1, total // SMALL)
    return pieces[::step]


def unit_offsets(offsets: IndexArray, least: int) -> IndexArray:
    """Where the units begin and end by which held-out positions are counted: sequences, or blocks of them where there
    are fewer than `least`."""
    lengths = np.diff(offsets)
    if len(lengths) >= least:
        return offsets
    each = -(-least // max(1, len(lengths)))
    ends: list[Any] = [
        np.linspace(begin, begin + n, min(each, int(n)) + 1).astype(INDEX)[1:]
        for begin, n in zip(offsets[:-1].tolist(), lengths.tolist())
    ]
    return np.concatenate([np.zeros(1, dtype=INDEX), *ends])
