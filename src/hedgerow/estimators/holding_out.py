"""Which part of a corpus is set aside to stop training: whole sequences, or blocks of few long ones.

With few sequences one part would decide by chance, so that several, the folds, are set aside in turn.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from hedgerow.data.dataset import Dataset
from hedgerow.data.labels import without_labels
from hedgerow.data.sequences import take_sequences
from hedgerow.data.settling import Learnt
from hedgerow.estimators.constraints import constrained_space, forbidden
from hedgerow.estimators.stream import window_reach
from hedgerow.estimators.values import random_generator
from hedgerow.legend import IndexArray

FEW_SEQUENCES = 5  # fewer are cut into blocks
FEW_HELD = 20  # where fewer sequences than that are held out, several folds decide
N_FOLDS = 3


class Pieces(NamedTuple):
    """Whole sequences, or pieces of them: sequence, first position in it and length of each, int64 (n,)."""

    sequences: IndexArray
    first: IndexArray
    lengths: IndexArray


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
    """Parts that are held out in turn, each of this share of the units; at most n_folds, all disjoint; or none.

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
    return []


def take_given(given: Any, sequences: IndexArray | None, pieces: Pieces | None) -> Any:
    """Some of the sequences, labels or weights, or of the pieces of them; all where they are not numbered."""
    if isinstance(given, Dataset):
        given = given if pieces is None else given.cut(*pieces)
        return given if sequences is None else given.take(sequences)
    if pieces is not None and given is not None:
        cut = zip(take_sequences(given, pieces.sequences), pieces.first, pieces.lengths)
        given = [one[a : a + n] if hasattr(one, "__len__") else one for one, a, n in cut]  # or the weight of all
    return given if given is None or sequences is None else take_sequences(given, sequences)


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


def cut_apart(offsets: IndexArray, fraction: float, gap: int) -> Pieces:
    """The blocks as pieces, of at least three gaps. The positions of a gap before each belong to none."""
    blocks = cut_blocks(offsets, max(fraction, 3.0 * gap / offsets[-1]))
    owner = np.searchsorted(offsets, blocks[:-1], side="right") - 1
    first = blocks[:-1] - offsets[owner]
    begin = np.where(first > 0, first + gap, 0)
    return Pieces(owner, begin, first + np.diff(blocks) - begin)


def cut_learnt(corpus: Learnt, pieces: Pieces) -> Learnt:
    """Pieces of a corpus; its attributes stay in the order in which they came."""
    came = replace(corpus.dataset, attr_id=corpus.appeared).cut(*pieces).attr_id
    return Learnt(corpus.dataset.cut(*pieces), came)


def cut_corpus(corpus: Learnt, whole: Dataset, constraints: Any, fraction: float) -> tuple[Pieces, Learnt, Dataset]:
    """A corpus, and the same with its weights, as pieces of its sequences that see nothing of each other."""
    pieces = cut_apart(whole.offsets, fraction, max(window_reach(whole.schema)))
    corpus, whole = cut_learnt(corpus, pieces), whole.cut(*pieces)
    moves = forbidden(corpus.dataset, constrained_space(whole.schema, constraints))
    broken = np.logical_or.reduce(moves)  # spans that began in another piece
    return pieces, corpus._replace(dataset=without_labels(corpus.dataset, broken)), without_labels(whole, broken)


def hide_blocks(dataset: Dataset, blocks: IndexArray, held: IndexArray) -> tuple[Dataset, Dataset]:
    """The corpus without the labels of these blocks, and the corpus with no other labels than theirs.

    Training sees no label as near to a block as a window or a derived column reaches, either.
    """
    hidden = np.zeros(dataset.n_positions, dtype=bool)
    gap = np.zeros(dataset.n_positions, dtype=bool)
    reach = max(window_reach(dataset.schema))
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
