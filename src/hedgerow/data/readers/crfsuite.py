r"""CRFsuite's own text format: `label<TAB>attribute[:weight]<TAB>…` a position, a blank line after a sequence.

Inside a name `\:` stands for a colon and `\\` for a backslash. A field that starts with `#` turns the rest of its
line into a comment.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import IO, Any

import numpy as np

from hedgerow.data.readers.columns import is_null, nested
from hedgerow.data.readers.source import Source, read_lines
from hedgerow.data.sequences import Item
from hedgerow.errors import InputError, placed
from hedgerow.legend import INDEX, AnyArray

Attributes = list[str] | dict[str, float]
_Field = tuple[str, float | None]

_ESCAPED = re.compile(r"\\([:\\])")
_PARTS = re.compile(r"((?:\\[:\\]|[^:])*)(?::(.*))?", re.DOTALL)


def read_crfsuite(source: Source, *, encoding: str = "utf-8") -> tuple[list[list[Attributes]], AnyArray]:
    """Read CRFsuite's text format.

    Returns
    -------
    X : list of S sequences
        A position is the list of its attributes. Where any attribute of the file has a weight, every position is a
        dict of attribute to weight; an attribute that stands twice at a position then has the sum.
    y : object array of S lists of str
    """
    path, lines = read_lines(source, encoding)
    positions: list[list[_Field]] = []
    labels: list[str] = []
    ends = [0]
    names: dict[str, str] = {}  # one str object for each distinct name
    for number, line in enumerate(lines, start=1):
        if not line.strip(" \t"):
            ends.append(len(labels))
            continue
        try:
            fields = _fields(line)
            if fields:  # not a comment alone on its line
                labels.append(_label(*fields[0]))
                positions.append([(names.setdefault(name, name), weight) for name, weight in fields[1:]])
        except InputError as error:
            raise placed(error, path=path, line=number) from None
    if not labels:
        raise InputError("has no positions", path=path, hint="Is the file empty, or all comments?")
    weighted = any(weight is not None for position in positions for _, weight in position)
    items = [_sum_weights(position) if weighted else [name for name, _ in position] for position in positions]
    offsets = np.unique([*ends, len(labels)]).astype(INDEX)  # blank lines may stand side by side
    return [items[begin:end] for begin, end in pairwise(offsets.tolist())], nested(labels, offsets)


def write_crfsuite(
    target: str | os.PathLike[str] | IO[str], X: Iterable[Iterable[Any]], y: Iterable[Sequence[str | int]]
) -> None:
    """Write sequences and their labels as CRFsuite's text format.

    A position is a list of attributes or a dict as python-crfsuite takes it: a number is a weight, a string s
    under the key k is the attribute "k:s", a list gives one attribute for each of its strings, None nothing.
    The features of an Item are written at each of its positions.
    """
    text = "".join(_written(X, y))
    if not isinstance(target, (str, os.PathLike)):
        target.write(text)
        return
    with open(target, "w", encoding="utf-8", newline="\n") as file:
        file.write(text)


def _fields(line: str) -> list[_Field]:
    fields: list[_Field] = []
    for field in line.split("\t"):
        if field.startswith("#"):
            break
        if field:  # tabs may stand side by side
            fields.append(_parse_field(field) if ":" in field or "\\" in field else (field, None))
    return fields


def _parse_field(field: str) -> _Field:
    match = _PARTS.fullmatch(field)
    assert match is not None  # the first part takes whatever precedes a bare colon
    name = _ESCAPED.sub(r"\1", match[1])
    if not name:
        raise InputError(f"{field!r} has no name before its weight")
    if match[2] is None:
        return name, None
    try:
        weight = float(match[2]) if match[2] else 1.0
    except ValueError:
        weight = math.nan
    if not math.isfinite(weight):
        hint = r"Write \: for a colon that belongs to a name."
        raise InputError(f"{match[2]!r} is not a weight, in {field!r}", hint=hint)
    return name, weight


def _label(name: str, weight: float | None) -> str:
    if name.startswith("@"):
        hint = "Take the line out, and give weights of sequences to fit as sample_weight."
        raise InputError(f"the declaration {name!r} is not supported", hint=hint)
    if weight is not None:
        raise InputError(f"the label {name!r} has a weight", hint=r"Write \: for a colon that belongs to the label.")
    return name


def _sum_weights(position: list[_Field]) -> dict[str, float]:
    weights: dict[str, float] = {}
    for name, weight in position:
        weights[name] = weights.get(name, 0.0) + (1.0 if weight is None else weight)
    return weights


def _written(X: Iterable[Iterable[Any]], y: Iterable[Sequence[str | int]]) -> Iterator[str]:
    labelings = list(y)
    sequences = list(X)
    if len(sequences) != len(labelings):
        raise InputError(f"X has {len(sequences)} sequences and y has {len(labelings)}")
    for i, (sequence, labels) in enumerate(zip(sequences, labelings)):
        features: dict[str, Any] = sequence.features if isinstance(sequence, Item) else {}
        positions = list(sequence.positions if isinstance(sequence, Item) else sequence)
        if len(positions) != len(labels):
            raise InputError(f"X has {len(positions)} positions and y has {len(labels)}", sequence=i)
        if not positions:
            raise InputError("is empty", sequence=i)
        for t, (position, label) in enumerate(zip(positions, labels)):
            try:
                yield "\t".join([_label_text(label), *_attribute_texts(position), *_dict_texts(features, "")]) + "\n"
            except InputError as error:
                raise placed(error, sequence=i, position=t) from None
        yield "\n"


def _label_text(label: Any) -> str:
    if label is None or isinstance(label, (set, frozenset)):
        raise InputError("CRFsuite's format needs one label at every position")
    text = str(label)
    if text.startswith("@"):
        raise InputError(f"CRFsuite's format takes the label {text!r} for a declaration")
    return _escaped(text)


def _attribute_texts(position: Any) -> Iterator[str]:
    if isinstance(position, str) or not isinstance(position, Iterable):
        raise InputError(f"a position is a list of attributes or a dict, not {type(position).__name__}")
    if isinstance(position, Mapping):
        yield from _dict_texts(position, "")
        return
    for name in position:
        if not isinstance(name, str):
            raise InputError(f"an attribute is text, not {name!r}")
        yield _escaped(name)


def _dict_texts(position: Mapping[Any, Any], prefix: str) -> Iterator[str]:
    for key, value in position.items():
        name = f"{prefix}{key}"
        if isinstance(value, str):
            yield _escaped(f"{name}:{value}")
        elif isinstance(value, Mapping):
            yield from _dict_texts(value, f"{name}:")
        elif isinstance(value, (bool, int, float, np.number, np.bool_)):
            yield f"{_escaped(name)}:{_weight_text(name, value)}"
        elif isinstance(value, (list, tuple, set, frozenset)) and all(isinstance(item, str) for item in value):
            yield from (_escaped(f"{name}:{item}") for item in value)
        elif not is_null(value):
            raise InputError(f"{name!r} has a value of type {type(value).__name__}")


def _weight_text(name: str, value: Any) -> str:
    try:
        weight = float(value)
    except OverflowError:
        weight = math.inf
    if not math.isfinite(weight):
        raise InputError(f"{name!r} has the weight {value!r}, which CRFsuite's format cannot hold")
    return repr(weight)


def _escaped(name: str) -> str:
    if not name.strip(" ") or name.startswith("#") or any(character in name for character in "\0\t\n\r\ufeff"):
        raise InputError(f"CRFsuite's format cannot hold the name {name!r}")
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        raise InputError(f"{name!r} is not valid Unicode text") from None
    return name.replace("\\", "\\\\").replace(":", "\\:")
