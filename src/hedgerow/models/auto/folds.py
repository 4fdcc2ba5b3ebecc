"""Which sequences train and which are held out, and both as the Datasets of any window.

A corpus is encoded once. A fold is what `narrow` gives: values that only held-out sequences have are unknown to the
models that are tried on it, as they are at prediction. Another window is a copy of its arrays (`data/windows.py`).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from hedgerow.data.dataset import Dataset, Window
from hedgerow.data.labels import without_labels
from hedgerow.data.settling import Learnt, narrow
from hedgerow.data.windows import windowed, with_window
from hedgerow.errors import InputError
from hedgerow.estimators.holding_out import Fold, Pieces, cut_apart, cut_learnt
from hedgerow.legend import INDEX, UNLABELLED, BoolArray, IndexArray

FEW = 2  # sequences that are cut into blocks
BLOCKS_A_FOLD = 3  # so that each fold has some of its beginning, middle and end
SMALL = 4_000  # positions that the first rung trains on, and as many that it is scored on
LEAST_LOOKED_AT = 10  # sequences that have about SMALL positions; fewer say too little
_KEPT = 12  # datasets


@dataclass(frozen=True)
class Part:
    """What a model is tried on.

    train, held : Datasets of one schema; both have their labels
    known : (n,), the held-out positions with a label that is also trained; no model could give another
    below : the linear models that trees stand on, by their settings: trained, and in how many seconds
    """

    train: Dataset
    held: Dataset
    known: BoolArray
    below: dict[str, tuple[Any, float]] = field(default_factory=dict)

    @property
    def stopping(self) -> Dataset:
        """The held-out sequences with these labels alone."""
        return without_labels(self.held, ~self.known)

    @property
    def hidden(self) -> Dataset:
        """The held-out sequences without their labels."""
        return replace(self.held, labels=None, allowed=None, weight_seq=None)


# ------------------------------------------------------------------------------------------------ folds


def cut_pieces(dataset: Dataset, n_folds: int, gap: int, *, whole: bool) -> Pieces:
    """Whole sequences; or, where there are one or two, blocks of them.

    gap : positions before a block that belong to none, so that no window reaches from one into the next
    """
    n = len(dataset)
    if whole or n > FEW:
        return Pieces(np.arange(n, dtype=INDEX), np.zeros(n, dtype=INDEX), np.diff(dataset.offsets))
    pieces = cut_apart(dataset.offsets, 1.0 / (BLOCKS_A_FOLD * n_folds), gap)
    if len(pieces.lengths) < 2:
        what = "there is one sequence, too short to hold a part of it out"
        raise InputError(what, hint="Give more sequences, or train a model of your choice.")
    return pieces


def number_groups(groups: Any, n_sequences: int) -> IndexArray:
    """The number of the group of each sequence, (S,)."""
    try:
        listed = list(groups)
        numbers = {group: i for i, group in enumerate(dict.fromkeys(listed))}
    except TypeError as error:
        raise InputError(f"⟦groups⟧ cannot be told apart: {error}", hint="Give one value per sequence.") from None
    if len(listed) != n_sequences:
        what = f"⟦groups⟧ has {len(listed)} values and X has {n_sequences} sequences"
        raise InputError(what, hint="Give one value per sequence.")
    return np.array([numbers[group] for group in listed], dtype=INDEX)


def make_folds(dataset: Dataset, n_folds: int, groups: IndexArray | None, rng: np.random.RandomState) -> list[Fold]:
    """Folds of the sequences of a dataset, of about as many labels each. Groups are never cut in two.

    A group without any label always trains, and nothing is held out of which no label is trained.
    groups : (S,) numbers from 0, or None where each sequence is its own
    """
    assert dataset.labels is not None
    codes = np.arange(len(dataset)) if groups is None else groups
    n_groups = int(codes.max()) + 1
    if n_groups < 2:
        raise InputError("⟦groups⟧ has one group, so nothing can be held out", hint="Give two groups or more.")
    owner = np.repeat(codes, np.diff(dataset.offsets))
    known = dataset.labels != UNLABELLED
    counts = np.zeros((n_groups, dataset.n_labels), dtype=np.int64)
    np.add.at(counts, (owner[known], dataset.labels[known]), 1)
    sizes = counts.sum(axis=1)
    order = rng.permutation(np.flatnonzero(sizes))
    if groups is not None or len(dataset) < 4 * n_folds:  # few: the largest first, or folds would be of any size
        order = order[np.argsort(-sizes[order], kind="stable")]
    filled = np.zeros(min(n_folds, n_groups), dtype=np.int64)
    fold_of = np.full(n_groups, -1)
    for group in order.tolist():
        fold_of[group] = int(np.argmin(filled))
        filled[fold_of[group]] += sizes[group]
    folds = []
    for fold in range(len(filled)):
        held = fold_of == fold
        if (counts[held].any(axis=0) & counts[~held].any(axis=0)).any():
            folds.append(Fold(np.flatnonzero(~held[codes]), np.flatnonzero(held[codes])))
    if not folds:
        what = "no sequence can be held out: none has a label that another has"
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
        cut = not np.array_equal(pieces.lengths, np.diff(learnt.dataset.offsets))
        self._appeared = cut_learnt(learnt, pieces) if cut else learnt
        self._weighted = weighted.cut(*pieces) if cut else weighted
        self._parts: dict[tuple[int, bool], Part] = {}
        self._windows: dict[tuple[int, bool, str], Part] = {}

    def is_large(self) -> bool:
        """Whether a first look at a part of the sequences is worth its time."""
        n = self._weighted.n_positions
        return n > 3 * SMALL and len(self._weighted) * SMALL > LEAST_LOOKED_AT * n

    def share(self, fold: int) -> float:
        """How many times as many positions all sequences have as those that train on a fold."""
        n = int(np.diff(self._weighted.offsets)[self.folds[fold].kept].sum())
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
            train, held = (with_window(one, schema) for one in (part.train, part.held))
            self._windows[named] = Part(train, held, part.known)
        return self._windows[named]

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
        return Part(part, replace(rest, weight_seq=None), _known(part, rest))


def _known(train: Dataset, held: Dataset) -> BoolArray:
    """(n,): whether the label of a held-out position is known, and that of a position which trains, or in its set."""
    assert train.labels is not None
    assert held.labels is not None
    trained = np.zeros(train.n_labels, dtype=bool)
    trained[train.labels[train.labels >= 0]] = True
    if train.allowed is not None:
        trained |= train.allowed[~train.allowed.all(axis=1)].any(axis=0)
    return (held.labels >= 0) & trained[held.labels]


def _first_of(pieces: IndexArray, lengths: IndexArray) -> IndexArray:
    """As many of the pieces, spread over all of them, as have about SMALL positions."""
    return pieces[:: max(1, int(lengths[pieces].sum()) // SMALL)]
