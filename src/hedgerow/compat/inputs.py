"""What `CRF` takes, as lists of sequences and of labels."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from typing import Any

from hedgerow.data.dataset import Label
from hedgerow.data.labels import SETS
from hedgerow.data.rows import n_rows
from hedgerow.data.sequences import described
from hedgerow.errors import InputError


def read_sequences(name: str, X: Any) -> list[Any]:
    """X as a list of sequences that LinearCRF takes."""
    if isinstance(X, (str, bytes, Mapping)) or not isinstance(X, Iterable):
        raise InputError(f"{name} is {described(X)}", hint="Give a list of sequences, each a list of dicts.")
    return [_sized(name, i, rows_of(sequence)) for i, sequence in enumerate(X)]


def read_labelings(name: str, y: Any) -> list[Any]:
    """y as a list of lists of labels."""
    if isinstance(y, (str, bytes, Mapping)) or not isinstance(y, Iterable):
        raise InputError(f"{name} is {described(y)}", hint="Give a list of lists of labels.")
    return [_sized(name, i, labels) for i, labels in enumerate(y)]


def _sized(name: str, i: int, sequence: Any) -> Any:
    """What has a length, as it is; what can be gone through once, as a list."""
    if hasattr(sequence, "__len__"):
        return sequence
    if not isinstance(sequence, Iterable):
        raise InputError(f"an entry of {name} is {described(sequence)}, not a list", sequence=i)
    return list(sequence)


def rows_of(sequence: Any) -> Any:
    """A sequence as LinearCRF takes it: python-crfsuite's ItemSequence is turned back to dicts."""
    return sequence.items() if type(sequence).__name__ == "ItemSequence" else sequence


def check_held_out(X_dev: list[Any], y_dev: list[Any]) -> None:
    if len(X_dev) != len(y_dev):
        raise InputError(f"X_dev has {len(X_dev)} sequences and y_dev has {len(y_dev)}")
    lengths = [n_rows(rows_of(sequence)) for sequence in X_dev]
    if not any(lengths):
        raise InputError("X_dev has no positions", hint="Leave X_dev and y_dev out.")
    for i, (length, labels) in enumerate(zip(lengths, y_dev)):
        if length != len(labels):
            raise InputError(f"X_dev has {length} positions and y_dev has {len(labels)}", sequence=i)


def by_appearance(labels: tuple[Label, ...], y: list[Any]) -> list[Label]:
    """The labels in the order of their first appearance; those that stand in sets alone come last."""
    first: dict[Any, int] = {}
    for label in itertools.chain.from_iterable(y):
        if not isinstance(label, SETS):
            first.setdefault(label, len(first))
    return sorted(labels, key=lambda label: first.get(label, len(first)))
