"""What `CRF` is given, as LinearCRF takes it: lists of sequences and of labels; and positions as CRFsuite sees them,
attributes with weights, whatever the types of a key's values.

A column of hedgerow keeps one type. CRFsuite has no columns: {"a": "s"} is the attribute a:s with the weight 1, and
{"a": 2.0} is the attribute a with the weight 2, side by side in one corpus; bytes are text, and a list of attributes
may stand beside a dict. Only corpora with such things come to `as_weights` and `as_known`.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from hedgerow.data.columns import attribute_name, fits
from hedgerow.data.dataset import Column, Label, Schema
from hedgerow.data.labels import SETS
from hedgerow.data.rows import LISTS, NUMBERS, Item, n_rows, ordered
from hedgerow.data.sequences import described
from hedgerow.errors import InputError

Row = Mapping[Any, Any]


def as_weights(sequence: Any) -> Any:
    """A sequence of dicts, or of lists of attributes, as dicts of attribute to weight. What LinearCRF would refuse
    stays as it is."""
    return _by_row(sequence, lambda row: _summed(_attributes(_flat(row))), _listed)


def as_known(sequence: Any, schema: Schema) -> Any:
    """A sequence of dicts in the types that the schema's columns have.

    A value of another type is an attribute that the model does not know, as a rule: it is left out then.
    """
    columns = {column.name: column for column in schema.columns if not column.constant and column.derived is None}
    return _by_row(sequence, lambda row: _summed(_known(row, columns)), _as_texts)


def _by_row(sequence: Any, change: Callable[[Row], Row], change_list: Callable[[Any], Any]) -> Any:
    if isinstance(sequence, Item):
        return Item(_by_row(sequence.positions, change, change_list), sequence.features)
    if not isinstance(sequence, (list, tuple)):
        return sequence
    return [
        change(row) if isinstance(row, Mapping) else change_list(row) if isinstance(row, LISTS) else row
        for row in sequence
    ]


def _listed(row: Any) -> Any:
    """A list of attributes as a dict: each has as much weight as it comes often."""
    texts = _as_texts(row)
    return Counter(map(str, texts)) if all(isinstance(text, str) for text in texts) else row


def _as_texts(row: Any) -> list[Any]:
    return list(map(as_text, ordered(row)))


def as_text(value: Any) -> Any:
    """Bytes as the text that they are in UTF-8; what is none, and all other values, as it is."""
    return value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else value


def _flat(row: Row, prefix: str = "") -> Iterator[tuple[Any, Any]]:
    """Keys and values, with nested dicts spread out and None left out."""
    for key, value in row.items():
        key, value = as_text(key), as_text(value)
        name = f"{prefix}{key}" if isinstance(key, str) else key
        if isinstance(value, Mapping):
            yield from _flat(value, f"{name}:")
        elif value is not None:
            yield name, value


def _attributes(pairs: Iterator[tuple[Any, Any]]) -> Iterator[tuple[Any, Any]]:
    """Keys and values as attributes and weights."""
    for name, value in pairs:
        if isinstance(value, str):
            yield attribute_name(name, value), 1.0
        elif isinstance(value, LISTS) and all(isinstance(text, (str, bytes)) for text in value):
            yield from ((attribute_name(name, text), 1.0) for text in _as_texts(value))
        elif isinstance(value, (bool, np.bool_)):
            yield name, float(value)
        else:
            yield name, value


def _known(row: Row, columns: dict[str, Column]) -> Iterator[tuple[Any, Any]]:
    for name, value in _flat(row):
        column = columns.get(name)
        if column is not None and fits({type(value)}, column.kind):
            yield name, value
        elif column is not None and column.vocabulary is not None and isinstance(value, LISTS):
            # A list where training had one text: it can be told as long as no two of its texts are known.
            known = [text for text in _as_texts(value) if text in column.vocabulary.lookup]
            if known:
                yield name, known[0] if len(known) == 1 else value
        else:
            for attribute, weight in _attributes(iter([(name, value)])):
                yield from _weight(columns.get(attribute), attribute, weight)


def _weight(column: Column | None, attribute: Any, weight: Any) -> Iterator[tuple[Any, Any]]:
    if column is None or column.kind == "numeric":
        yield attribute, weight
    elif column.kind == "boolean":
        yield attribute, bool(weight) if weight in (0, 1) else weight


def _summed(pairs: Iterator[tuple[Any, Any]]) -> Row:
    """A dict; the weights of an attribute that comes twice are added, as CRFsuite does."""
    row: dict[Any, Any] = {}
    for name, value in pairs:
        twice = name in row and isinstance(value, NUMBERS) and isinstance(row[name], NUMBERS)
        row[name] = row[name] + value if twice else value
    return row


# ------------------------------------------------------------------------------------------------ sequences and labels


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
