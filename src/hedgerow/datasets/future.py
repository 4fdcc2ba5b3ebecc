"""Labels that depend on what comes later: the XOR, OR and EXTRA sequences of Hao's thesis (2009), section 5.4.1."""

from __future__ import annotations

from typing import Any

import numpy as np

from hedgerow.data.readers.columns import nested
from hedgerow.data.sequences import Kind, Sequences
from hedgerow.errors import InputError
from hedgerow.legend import AnyArray, BoolArray, IndexArray

KINDS = ("xor", "or", "extra")
N_BITS = 8  # of a position; the last two say nothing
N_COUNTED = 6
LEAST_TRUE = 4  # so many of the counted bits make the local label 1
MOST_TRUE = 1  # no more than so many make a position one that counts for the labels before it
BAG = 6  # so many positions ahead count


def make_future(
    kind: str, n_sequences: int = 400, length: int = 30, *, bag: int | None = BAG, random_state: int = 0
) -> tuple[Sequences, AnyArray]:
    """Sequences whose labels depend on positions ahead.

    X is Sequences with the columns "x1" … "x8" of random bits, y an object array of lists of labels 0 and 1. Two things
    decide on a label. Locally: whether at least 4 of x1 … x6 are true. Ahead: whether one of the next `bag` positions
    (None: of all that follow) has at most 1 of its x1 … x6 true; with 6 of them that is so about half of the time. The
    label is, by `kind`,

    - "xor": one of the two, and not both,
    - "or": one of the two, or both,
    - "extra": whether at least 4 are true of x1 … x6 and what is ahead, which counts as a seventh bit.

    This is the made data of chapter 5 of Hao's thesis (2009), which has 400 sequences to train on, 200 to stop by and
    100 to test on. A bag ends with its sequence.
    """
    if kind not in KINDS:
        raise InputError(f"kind is {kind!r}", hint=f"Choose one of {', '.join(map(repr, KINDS))}.")
    if min(n_sequences, length) < 1 or (bag is not None and bag < 1):
        raise InputError("make_future needs a sequence, a length of at least 1, and a bag of at least 1")
    bits = np.random.default_rng(random_state).integers(2, size=(n_sequences * length, N_BITS)) == 1
    names = [f"x{i + 1}" for i in range(N_BITS)]
    columns: dict[str, Any] = dict(zip(names, np.ascontiguousarray(bits.T)))
    kinds: dict[str, Kind] = dict.fromkeys(names, "boolean")
    X = Sequences(columns, length * np.arange(n_sequences + 1), kinds)
    n_true = bits[:, :N_COUNTED].sum(axis=1)
    local = n_true >= LEAST_TRUE
    ahead = any_ahead(pattern_of_future(X), X.offsets, bag)
    if kind == "extra":
        labels = n_true + ahead >= LEAST_TRUE
    else:
        labels = local ^ ahead if kind == "xor" else local | ahead
    return X, nested(labels.astype(int).tolist(), X.offsets)


def pattern_of_future(X: Sequences) -> BoolArray:
    """(N,): which positions of `make_future` have the pattern that labels before them depend on."""
    bits: BoolArray = np.array([X.columns[f"x{i + 1}"] for i in range(N_COUNTED)], dtype=bool)
    pattern: BoolArray = bits.sum(axis=0) <= MOST_TRUE
    return pattern


def any_ahead(there: BoolArray, offsets: IndexArray, bag: int | None = BAG) -> BoolArray:
    """(N,): whether one of the next `bag` positions of the sequence (None: of all that follow) is there."""
    counts = np.concatenate([[0], np.cumsum(there)])
    place = np.arange(len(there)) + 1
    ends = np.repeat(offsets[1:], np.diff(offsets))
    last = ends if bag is None else np.minimum(place + bag, ends)
    return counts[last] > counts[place]
