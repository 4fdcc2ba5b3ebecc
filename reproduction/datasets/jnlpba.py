"""JNLPBA 2004: names of proteins, DNA, RNA, cell lines and cell types in abstracts of biomedical papers (GENIA)."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from hedgerow.legend import AnyArray
from reproduction.datasets.folders import find_folder

if TYPE_CHECKING:
    from hedgerow.data.sequences import Sequences

FILES = ("Genia4ERtask1.iob2", "Genia4EReval1.iob2")


def load_jnlpba(folder: str | os.PathLike[str] | None = None) -> tuple[Sequences, AnyArray, Sequences, AnyArray]:
    """The names as `X_train, y_train, X_test, y_test`: 18,546 and 3,856 sentences, 492,551 and 101,039 words.

    X is Sequences with the column "word"; `entity_features` adds what can be told from a word's letters. y is an
    object array of lists of labels in IOB2, 11 in all: O, and B- and I- of protein, DNA, RNA, cell_line, cell_type.

    `folder` holds Genia4ERtask1.iob2 and Genia4EReval1.iob2. Without it, the folder jnlpba inside the one that the
    environment variable HEDGEROW_DATA names is read.
    """
    from hedgerow.data.readers.conll import read_conll

    place = find_folder(folder, "jnlpba", FILES)
    (X_train, y_train), (X_test, y_test) = (
        read_conll(place / file, columns=("word", "label"), label="label", separator="\t") for file in FILES
    )
    assert y_train is not None
    assert y_test is not None
    return X_train, y_train, X_test, y_test
