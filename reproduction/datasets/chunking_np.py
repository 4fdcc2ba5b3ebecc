"""Base noun phrases: the chunks of CoNLL-2000 with every type but NP left out."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from hedgerow.datasets.conll2000 import load_conll2000
from hedgerow.legend import AnyArray

if TYPE_CHECKING:
    from hedgerow.data.sequences import Sequences

_KEPT = frozenset(("B-NP", "I-NP"))
_OUTSIDE = "O"


def load_np_chunking(folder: str | os.PathLike[str] | None = None) -> tuple[Sequences, AnyArray, Sequences, AnyArray]:
    """Noun phrases as `X_train, y_train, X_test, y_test`: 8,936 and 2,012 sentences with the labels B-NP, I-NP and O.

    X is Sequences with the columns "word" and "pos", y an object array of lists of labels. The files, and where they
    are looked for, are those of `load_conll2000`.
    """
    X_train, y_train, X_test, y_test = load_conll2000(folder)
    return X_train, noun_phrases(y_train), X_test, noun_phrases(y_test)


def noun_phrases(y: Iterable[Iterable[str]]) -> AnyArray:
    """The same labels with O in the place of all that is not part of a noun phrase."""
    rows = [[label if label in _KEPT else _OUTSIDE for label in labels] for labels in y]
    kept = np.empty(len(rows), dtype=object)
    for i, labels in enumerate(rows):
        kept[i] = labels
    return kept
