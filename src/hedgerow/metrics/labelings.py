"""Labelings as integers: nested labels are checked and coded once, so that NumPy does the counting."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from hedgerow.errors import InputError, among, shown
from hedgerow.legend import CODE, INDEX, UNLABELLED, CodeArray, IndexArray

Label = str | int
# One item per sequence, each a list, tuple or 1-D array of labels.
Labelings = Iterable[Any]


@dataclass(frozen=True)
class Coded:
    """Several labelings of the same N positions.

    labels   the K distinct labels, integers before strings, each kind sorted
    codes    one array[N] per labeling: places in `labels`, UNLABELLED where the label is None
    offsets  array[S+1]; sequence i owns the positions offsets[i] … offsets[i+1]-1
    """

    labels: tuple[Label, ...]
    codes: tuple[CodeArray, ...]
    offsets: IndexArray

    def error(self, what: str, index: int, hint: str = "") -> InputError:
        """An error that names the sequence and the position of a flat index."""
        return among(InputError(what, hint=hint), self.offsets, index)


class _Codebook(dict[Any, int]):
    """Gives a label its code at first sight, so that coding is one `map` over all positions."""

    def __init__(self) -> None:
        super().__init__({None: UNLABELLED})
        self.labels: list[Label] = []

    def __missing__(self, label: Any) -> int:
        if not isinstance(label, (str, int, np.integer)):
            raise TypeError
        code = len(self.labels)
        self.labels.append(label if isinstance(label, bool) else str(label) if isinstance(label, str) else int(label))
        self[label] = code
        return code


def code_labelings(y_true: Labelings, *y_pred: Labelings) -> Coded:
    """Code true labels and any number of predictions of the same sequences.

    Raises InputError, with the place, for lengths that differ, labels that are neither str nor int,
    predictions that are None, and an empty corpus.
    """
    true = as_sequences(y_true, "y_true")
    predictions = [as_sequences(y, "y_pred") for y in y_pred]
    for prediction in predictions:
        check_same_lengths(true, prediction)
    offsets = np.zeros(len(true) + 1, dtype=INDEX)
    np.cumsum([len(labels) for labels in true], out=offsets[1:])
    if offsets[-1] == 0:
        raise InputError("y_true holds no positions", hint="Give at least one sequence with a label.")
    codebook = _Codebook()
    codes = [_code(true, codebook, "y_true"), *(_code(y, codebook, "y_pred") for y in predictions)]
    order = sorted(range(len(codebook.labels)), key=lambda code: sort_key(codebook.labels[code]))
    # One more place at the end, so that UNLABELLED (-1) stays what it is.
    rank = np.full(len(order) + 1, UNLABELLED, dtype=CODE)
    rank[order] = np.arange(len(order), dtype=CODE)
    coded = Coded(tuple(codebook.labels[code] for code in order), tuple(rank[c] for c in codes), offsets)
    for prediction_codes in coded.codes[1:]:
        missing = np.flatnonzero(prediction_codes == UNLABELLED)
        if missing.size:
            raise coded.error("the prediction is None", int(missing[0]))
    return coded


def check_labels(y: Labelings, known: Iterable[Label] | None = None) -> None:
    """Refuse labels that cannot be scored: None, and where `known` is given, any label that is not in it.

    The metrics leave positions without a true label out. Call this first where every position must count.
    """
    coded = code_labelings(y)
    codes = coded.codes[0]
    missing = np.flatnonzero(codes == UNLABELLED)
    if missing.size:
        hint = "Scoring needs a label at every position."
        raise coded.error("the label is missing (None)", int(missing[0]), hint=hint)
    if known is None:
        return
    allowed = set(known)
    unknown = np.flatnonzero(np.array([label not in allowed for label in coded.labels])[codes])
    if unknown.size:
        label = coded.labels[codes[unknown[0]]]
        hint = f"Known labels: {shown(sorted(allowed, key=sort_key))}."
        raise coded.error(f"the label {label!r} is unknown", int(unknown[0]), hint=hint)


def sort_key(label: Label) -> tuple[bool, Any]:
    """Integers before strings, each in their own order: labels of both kinds still have one order."""
    return isinstance(label, str), label


def as_sequences(y: Labelings, name: str) -> list[list[Any]]:
    """A list of label lists. A str, or a flat list of labels, is refused."""
    if isinstance(y, (str, bytes)) or not hasattr(y, "__iter__"):
        raise InputError(f"{name} is a {type(y).__name__}", hint="Give one list of labels per sequence.")
    if hasattr(y, "to_frame") and not all(map(_is_labeling, y)):
        what = f"{name} is a column of labels, which does not say where a sequence ends"
        hint = "Cut it as the frame was, labels.groupby(frame['day']).agg(list); accuracy alone is model.score(frame)."
        raise InputError(what, hint=hint)
    return [labels if type(labels) is list else _as_list(labels, name, i) for i, labels in enumerate(y)]


def _is_labeling(value: Any) -> bool:
    return hasattr(value, "__iter__") and not isinstance(value, (str, bytes))


def _as_list(labels: Any, name: str, sequence: int) -> list[Any]:
    if isinstance(labels, np.ndarray) and labels.ndim == 1:
        return list(labels.tolist())
    if isinstance(labels, (str, bytes, dict, set, frozenset, np.ndarray)) or not hasattr(labels, "__iter__"):
        hint = "Give one list of labels per sequence, as in [['B', 'I'], ['O']]."
        raise InputError(f"{name} holds {labels!r} where a list of labels belongs", hint=hint, sequence=sequence)
    return list(labels)


def check_same_lengths(true: list[list[Any]], prediction: list[list[Any]]) -> None:
    """Raise InputError, naming the sequence, unless both have sequences of the same lengths."""
    if len(true) != len(prediction):
        raise InputError(f"y_true has {len(true)} sequences and y_pred has {len(prediction)}")
    for i, (a, b) in enumerate(zip(true, prediction)):
        if len(a) != len(b):
            raise InputError(f"y_true has {len(a)} labels and y_pred has {len(b)}", sequence=i)


def _code(y: list[list[Any]], codebook: _Codebook, name: str) -> CodeArray:
    n_positions = sum(map(len, y))
    try:
        return np.fromiter(map(codebook.__getitem__, chain.from_iterable(y)), dtype=CODE, count=n_positions)
    except TypeError:  # a label that has no code: look for its place
        for i, labels in enumerate(y):
            for t, label in enumerate(labels):
                if label is not None and not isinstance(label, (str, int, np.integer)):
                    what = f"{name} holds {label!r}, a {type(label).__name__}"
                    hint = "Labels are str or int; None means that the position has no label."
                    raise InputError(what, hint=hint, sequence=i, position=t) from None
        raise
