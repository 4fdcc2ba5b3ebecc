"""y as integer codes: labels are str or int, None is unlabelled, a set says which labels are allowed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

import numpy as np

from hedgerow.data.dataset import Label, locate
from hedgerow.errors import InputError
from hedgerow.legend import CODE, UNLABELLED, BoolArray, CodeArray, IndexArray

SETS = (set, frozenset)


def flatten_labels(y: Iterable[Any], offsets: IndexArray) -> list[Any]:
    """All labels in one list, checked against the lengths of X."""
    if isinstance(y, (str, bytes)):
        raise InputError("y is a str", hint="y has one list of labels a sequence.")
    if isinstance(y, np.ndarray) and y.ndim == 2:
        y = list(y)
    sequences: list[Sequence[Any]] = []
    for i, labels in enumerate(y):
        if isinstance(labels, (str, bytes)) or not hasattr(labels, "__len__"):
            raise InputError(
                f"y[{i}] is {labels!r}, not a list of labels",
                hint="y has one list of labels a sequence; for flat arrays give lengths=.",
                sequence=i,
            )
        sequences.append(labels.tolist() if isinstance(labels, np.ndarray) else labels)
    lengths = np.diff(offsets)
    if len(sequences) != len(lengths):
        raise InputError(f"X has {len(lengths)} sequences and y has {len(sequences)}")
    for i, (labels, length) in enumerate(zip(sequences, lengths.tolist())):
        if len(labels) != length:
            raise InputError(f"X has {length} positions and y has {len(labels)} labels", sequence=i)
    return list(chain.from_iterable(sequences))


def learn_labels(flat: list[Any], offsets: IndexArray) -> tuple[Label, ...]:
    """The distinct labels, sorted; labels that stand only in sets count too."""
    if set(map(type, flat)) & set(SETS):
        labels = set(chain.from_iterable(value if isinstance(value, SETS) else (value,) for value in flat))
    else:
        labels = set(flat)
    labels -= {None}
    if not labels:
        raise InputError("y has no label at all", hint="At least one position must be labelled.")
    _check_label_types(labels, flat, offsets)
    plain = str if isinstance(next(iter(labels)), str) else int  # not np.str_ or np.int64: they print badly
    return tuple(sorted(map(plain, labels)))


def _check_label_types(labels: set[Any], flat: list[Any], offsets: IndexArray) -> None:
    kinds = {_kind(label) for label in labels}
    if kinds == {"str"} or kinds == {"int"}:
        return
    first = next(_kind(value) for value in flat if value is not None)
    for t, value in enumerate(flat):
        for label in value if isinstance(value, SETS) else (value,):
            if label is not None and (_kind(label) not in ("str", "int") or _kind(label) != first):
                sequence, position = locate(offsets, t)
                raise InputError(
                    f"the label {label!r} is of type {type(label).__name__}",
                    hint="Labels are all str or all int; None is unlabelled, a set gives the allowed labels.",
                    sequence=sequence,
                    position=position,
                )


def _kind(label: Any) -> str:
    if isinstance(label, SETS):
        return _kind(next(iter(label), ""))
    if isinstance(label, str):
        return "str"
    if isinstance(label, (int, np.integer)) and not isinstance(label, bool):
        return "int"
    return "other"


def encode_labels(flat: list[Any], offsets: IndexArray, codes: dict[Label, int]) -> tuple[CodeArray, BoolArray | None]:
    """Label codes (UNLABELLED for None and for sets) and the allowed labels, or None where there is no set."""
    try:
        return np.fromiter(map(codes.__getitem__, flat), dtype=CODE, count=len(flat)), None
    except (KeyError, TypeError):
        pass  # None, a set, or a label that is not known: look at each
    labels = np.full(len(flat), UNLABELLED, dtype=CODE)
    sets = [t for t, value in enumerate(flat) if isinstance(value, SETS)]
    allowed = np.ones((len(flat), len(codes)), dtype=bool) if sets else None
    for t, value in enumerate(flat):
        if value is None:
            continue
        members = value if isinstance(value, SETS) else (value,)
        numbers = [_code(label, t, offsets, codes) for label in members]
        if not numbers:
            sequence, position = locate(offsets, t)
            raise InputError("the set of allowed labels is empty", sequence=sequence, position=position)
        if isinstance(value, SETS) and allowed is not None:
            allowed[t] = False
            allowed[t, numbers] = True
        if len(numbers) == 1:
            labels[t] = numbers[0]
    return labels, allowed


def _code(label: Any, t: int, offsets: IndexArray, codes: dict[Label, int]) -> int:
    try:
        return codes[label]
    except (KeyError, TypeError):
        sequence, position = locate(offsets, t)
        known = ", ".join(map(repr, list(codes)[:10])) + (", …" if len(codes) > 10 else "")
        raise InputError(
            f"the label {label!r} is not one of those seen in training",
            hint=f"Known labels: {known}.",
            sequence=sequence,
            position=position,
        ) from None
