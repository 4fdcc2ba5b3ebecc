"""Which part of a corpus is set aside to stop training: whole sequences, or blocks of few long ones.

With few sequences one part would decide by chance, so that several, the folds, are set aside in turn.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from hedgerow.data.dataset import Dataset
from hedgerow.data.labels import SETS, without_labels
from hedgerow.errors import InputError
from hedgerow.estimators.values import random_generator
from hedgerow.legend import IndexArray

FEW_SEQUENCES = 5  # fewer are cut into blocks
FEW_HELD = 20  # where fewer sequences than that are held out, several folds decide
N_FOLDS = 3


class Fold(NamedTuple):
    """The numbers of the sequences that train, and of those that are held out."""

    kept: IndexArray
    held: IndexArray


def how_many_folds(wanted: int | str, n_sequences: int, fraction: float) -> int:
    """The number of folds that is wanted; where that is "auto", one that suits the number of sequences."""
    if not isinstance(wanted, str):
        return wanted
    return N_FOLDS if np.ceil(fraction * n_sequences) < FEW_HELD else 1


def choose_folds(labels: Sequence[set[Any]], fraction: float, random_state: Any, n_folds: int = 1) -> list[Fold]:
    """Parts that are held out in turn, each of this share of the units; at least one, at most n_folds, all disjoint.

    labels : those of each unit, a sequence or a block. A unit with a label that no other has stays in training: a label
    that is never trained cannot be scored. Where that leaves none, units are held out that have others, too, and those
    labels do not count (`without_unseen_labels`). A fold without any such unit is left out.
    """
    n = len(labels)
    order = random_generator(random_state).permutation(n)
    n_held = int(np.ceil(fraction * n))
    parts = [np.sort(order[begin : begin + n_held]) for begin in range(0, min(n_folds * n_held, n), n_held)]
    trained = [set().union(*(labels[i] for i in np.setdiff1d(order, part))) for part in parts]
    for scored in (set.issubset, set.intersection):
        held = [[i for i in part if scored(labels[i], known)] for part, known in zip(parts, trained)]
        folds = [Fold(np.setdiff1d(order, own), np.array(own)) for own in held if len(own) not in (0, n)]
        if folds:
            return folds
    hint = "Set ⟦early_stopping=False⟧, or give ⟦X_val and y_val⟧."
    raise InputError("no sequence can be held out: there are too few, or each has labels of its own", hint=hint)


def choose_held_out(labels: Sequence[set[Any]], fraction: float, random_state: Any) -> Fold:
    """One part to hold out: the first that `choose_folds` gives."""
    return choose_folds(labels, fraction, random_state)[0]


def label_sets(y: Iterable[Any]) -> list[set[Any]]:
    """The labels of each sequence of y, those in sets too."""
    return [
        set().union(*(label if isinstance(label, SETS) else {label} for label in labels if label is not None))
        for labels in y
    ]


def code_sets(dataset: Dataset, offsets: IndexArray | None = None) -> list[set[Any]]:
    """The codes of the labels of each sequence, or of each run of positions between offsets, those in sets too."""
    assert dataset.labels is not None
    bounds = (dataset.offsets if offsets is None else offsets)[1:-1]
    labels = [set(codes[codes >= 0].tolist()) for codes in np.split(dataset.labels, bounds)]
    if dataset.allowed is not None:
        open_ = (dataset.labels < 0) & ~dataset.allowed.all(axis=1)
        for t in np.flatnonzero(open_).tolist():
            labels[int(np.searchsorted(bounds, t, side="right"))].update(np.flatnonzero(dataset.allowed[t]).tolist())
    return labels


# ------------------------------------------------------------------------------------------------ blocks


def cut_blocks(offsets: IndexArray, fraction: float) -> IndexArray:
    """Offsets of blocks of about equal length, none of which is in two sequences: so many that `fraction` of them is at
    least one."""
    length = max(1, int(fraction * offsets[-1]))
    cuts = [np.linspace(a, b, max(1, round((b - a) / length)) + 1)[:-1] for a, b in itertools.pairwise(offsets)]
    return np.unique(np.append(np.concatenate(cuts).astype(np.int64), offsets[-1]))


def hide_blocks(dataset: Dataset, blocks: IndexArray, held: IndexArray) -> tuple[Dataset, Dataset]:
    """The corpus without the labels of these blocks, and the corpus with no other labels than theirs.

    Training sees no label as near to a block as a window reaches, either.
    """
    hidden = np.zeros(dataset.n_positions, dtype=bool)
    gap = np.zeros(dataset.n_positions, dtype=bool)
    reach = dataset.schema.gap
    for begin, end in zip(blocks[held], blocks[held + 1]):
        hidden[begin:end] = True
        first, last = dataset.offsets[np.searchsorted(dataset.offsets, begin, side="right") - 1 :][:2]
        gap[max(first, begin - reach) : min(last, end + reach)] = True
    part = without_labels(dataset, gap)
    return part, without_unseen_labels(without_labels(dataset, ~hidden), part)


def without_unseen_labels(held_out: Dataset, part: Dataset) -> Dataset:
    """The same sequences; where their label is none that the training part knows, it is hidden, and does not count."""
    assert held_out.labels is not None
    known = set().union(*code_sets(part))
    unseen = (held_out.labels >= 0) & ~np.isin(held_out.labels, list(known))
    return without_labels(held_out, unseen) if unseen.any() else held_out
