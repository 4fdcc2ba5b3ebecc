"""Constraints of an estimator as a StateSpace, and the check that the training labels obey them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TypeVar

import numpy as np

from hedgerow.chain.decoding import viterbi
from hedgerow.chain.edges import SharedEdges
from hedgerow.chain.inference import check_legal
from hedgerow.chain.potentials import ChainPotentials, Edges
from hedgerow.chain.structure.states import StateSpace
from hedgerow.data.dataset import Dataset, Label, Schema, locate
from hedgerow.data.labels import allowed_labels, is_label
from hedgerow.data.parts.corpus import SharedCorpus
from hedgerow.errors import HedgerowWarning, InputError, warn
from hedgerow.legend import BoolArray, FloatArray, IndexArray
from hedgerow.parallel import cut_chunks
from hedgerow.training.counting import count_known_moves

Corpus = TypeVar("Corpus", Dataset, SharedCorpus)


def legal_space(
    dataset: Dataset | SharedCorpus,
    constraints: str | Iterable[tuple[Label, Label]] | None,
    *,
    forbid_unseen: bool,
    seen: BoolArray | None = None,
) -> StateSpace:
    """The legal moves: what the constraints leave, less unseen transitions where they are forbidden.

    `seen`, bool (K, K) [from, to], tells of transitions that other data showed.
    """
    space = constrained_space(dataset.schema, constraints)
    if constraints is not None:
        check_gold(dataset, space)
    if forbid_unseen:
        moves = count_moves(dataset) > 0
        moves = moves if seen is None else moves | seen
        space = StateSpace(space.start, space.transitions & moves, space.end)
        edges = SharedEdges.from_scores(space.edge_scores)
        check_open(dataset, space, edges, "Only transitions between labelled neighbours are seen.")
    return space


def count_moves(dataset: Dataset | SharedCorpus) -> FloatArray:
    """(K, K) [from, to]: how often labels follow each other.

    Where a set of labels is given, each pair that the sets of two neighbours allow counts as one. A position that may
    have any label says nothing, so moves to and from it do not count.
    """
    if isinstance(dataset, SharedCorpus):
        return dataset.added(count_moves)  # type: ignore[no-any-return]
    labels = dataset.labels
    assert labels is not None
    counts = count_known_moves(dataset, np.ones(dataset.n_positions))
    mask = None if dataset.allowed is None else allowed_labels(dataset, slice(0, dataset.n_positions))
    if mask is not None:
        mask[(labels < 0) & mask.all(axis=1)] = False
        here = np.setdiff1d(np.arange(dataset.n_positions), dataset.offsets[:-1])
        rest = here[(labels[here] < 0) | (labels[here - 1] < 0)]
        counts += mask[rest - 1].T.astype(np.float64) @ mask[rest].astype(np.float64)
    return counts


def check_open(dataset: Dataset | SharedCorpus, space: StateSpace, edges: Edges, hint: str) -> None:
    """Refuse sequences whose unlabelled positions cannot be filled by moves that are seen elsewhere.

    edges : 0 for the moves that are legal, −inf for others
    """
    if isinstance(dataset, SharedCorpus):
        dataset.each(check_open, space, edges, hint)
        return
    assert dataset.labels is not None
    for chunk in cut_chunks(dataset.offsets):
        if (dataset.labels[chunk.rows] >= 0).all():
            continue
        mask = allowed_labels(dataset, chunk.rows)
        scores = np.zeros((int(chunk.offsets[-1]), dataset.n_labels))
        potentials = ChainPotentials(scores, chunk.offsets, edges, sequence_base=chunk.first)
        potentials.add_start_end(space.start_scores, space.end_scores)
        try:
            check_legal(potentials if mask is None else potentials.restrict(mask))
        except InputError as error:
            raise InputError(
                "⟦transitions='forbid_unseen'⟧ leaves no labeling for the unlabelled positions here",
                hint=f"{hint} Label more, or use ⟦transitions='all'⟧.",
                sequence=error.sequence,
                position=error.position,
            ) from error


def constrained_space(schema: Schema, constraints: str | Iterable[tuple[Label, Label]] | None) -> StateSpace:
    """The moves that constraints leave between the labels of a schema."""
    labels = schema.labels
    if constraints is None:
        return StateSpace.full(len(labels))
    if isinstance(constraints, str):
        return StateSpace.from_scheme([str(label) for label in labels], constraints)
    hint = "Give a scheme such as 'iob2', or (from, to) pairs."
    if not isinstance(constraints, Iterable) or getattr(constraints, "ndim", 1) == 0:
        raise InputError(f"⟦constraints⟧ is {constraints!r}", hint=hint)
    codes = schema.label_codes
    pairs = []
    for pair in constraints:
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise InputError(f"⟦constraints⟧ hold {pair!r}", hint=hint)
        unknown = [label for label in pair if not is_label(label) or label not in codes]
        if unknown:
            raise InputError(f"⟦constraints⟧ name the label {unknown[0]!r}, which is not in y")
        pairs.append((codes[pair[0]], codes[pair[1]]))
    return StateSpace.full(len(labels)).forbid(pairs)


def without_forbidden(held_out: Corpus, space: StateSpace) -> Corpus:
    """The held-out sequences whose labels are possible; the others would score −inf whatever the model is."""
    if isinstance(held_out, SharedCorpus):
        possible = np.flatnonzero(np.concatenate(held_out.each(_possible, space)))
    else:
        possible = np.flatnonzero(_possible(held_out, space))
    return only_possible(held_out, possible, "allow the ⟦transitions⟧")


def _possible(dataset: Dataset, space: StateSpace) -> BoolArray:
    """bool (S,): whether the known labels of a sequence are legal."""
    if not dataset.n_sequences:
        return np.empty(0, dtype=bool)
    bad: BoolArray = np.logical_or.reduceat(np.logical_or.reduce(forbidden(dataset, space)), dataset.offsets[:-1])
    return ~bad


def forbidden(dataset: Dataset, space: StateSpace) -> tuple[BoolArray, BoolArray, BoolArray]:
    """bool (N,) each: known labels that must not follow the one before them, stand first, or stand last."""
    labels = dataset.labels
    assert labels is not None
    first, last = np.zeros((2, len(labels)), dtype=bool)
    first[dataset.offsets[:-1]] = True
    last[dataset.offsets[1:] - 1] = True
    known, before = labels >= 0, np.roll(labels, 1)
    move = known & ~first & (before >= 0) & ~space.transitions[before, labels]
    return move, known & first & ~space.start[labels], known & last & ~space.end[labels]


def only_possible(held_out: Corpus, possible: IndexArray, remedy: str) -> Corpus:
    """Those of the held-out sequences, with a warning where some are left out, and an error where all are."""
    n = held_out.n_sequences
    if len(possible) == n:
        return held_out
    what = f"{n - len(possible)} of {n} held-out sequences have labels that are forbidden"
    if not len(possible):
        raise InputError(what, hint=f"Hold out others, {remedy}, or set ⟦early_stopping=False⟧.")
    warn(f"{what}; they do not count", HedgerowWarning, stacklevel=5)
    return held_out.take(possible)


def repaired(dataset: Dataset, space: StateSpace) -> Dataset:
    """The corpus with labels that the moves forbid changed to the nearest that they leave, and a warning of how many.

    The nearest labeling keeps as many labels as can be. A label of the same type (what follows the dash) is half as
    good as the label itself.
    """
    assert dataset.labels is not None
    bad = np.logical_or.reduce(forbidden(dataset, space))
    if not bad.any():
        return dataset
    sequences = np.flatnonzero(np.logical_or.reduceat(bad, dataset.offsets[:-1]))
    part, names = dataset.take(sequences), list(map(str, dataset.schema.labels))
    assert part.labels is not None
    types = np.array([name.partition("-")[2] or f"={name}" for name in names])
    alike = 0.5 * (types[:, None] == types) + 0.5 * np.eye(len(names))
    scores = np.where((part.labels >= 0)[:, None], alike[part.labels], 0.0)
    edges = SharedEdges.from_scores(space.edge_scores)
    potentials = ChainPotentials(scores, part.offsets, edges)
    potentials.add_start_end(space.start_scores, space.end_scores)
    found = np.where(part.labels >= 0, viterbi(potentials), part.labels).astype(part.labels.dtype)
    rows = np.concatenate([np.arange(dataset.offsets[i], dataset.offsets[i + 1]) for i in sequences])
    labels = dataset.labels.copy()
    labels[rows] = found
    n = int((labels != dataset.labels).sum())
    m, plural = len(sequences), ("" if n == 1 else "s", "" if len(sequences) == 1 else "s")
    what = f"{n:,} label{plural[0]} of {m:,} sequence{plural[1]} broke the constraints and had to be changed"
    warn(what, stacklevel=6)
    return replace(dataset, labels=labels)


def check_gold(dataset: Dataset | SharedCorpus, space: StateSpace) -> None:
    """Refuse training labels that the constraints forbid, by name."""
    if isinstance(dataset, SharedCorpus):
        dataset.each(check_gold, space)
        return
    labels, names = dataset.labels, dataset.schema.labels
    assert labels is not None
    bad_move, bad_first, bad_last = forbidden(dataset, space)
    bad = bad_move | bad_first | bad_last
    if not bad.any():
        return
    t = int(np.argmax(bad))
    if bad_move[t]:
        what = f"the labels go from {names[labels[t - 1]]!r} to {names[labels[t]]!r}"
    else:
        what = f"the label {names[labels[t]]!r} stands {'first' if bad_first[t] else 'last'}"
    sequence, position = locate(dataset.offsets, t)
    hint = "Correct the label, let ⟦repair=True⟧ do so, or set ⟦constraints_at='prediction'⟧."
    raise InputError(f"{what}, which the constraints forbid", hint=hint, sequence=sequence, position=position)
