"""Schemas as a JSON header and tensors; and the checks of what a file gives back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from hedgerow.chain.structure.states import StateSpace
from hedgerow.data.dataset import OUTSIDE_COLUMN, Column, Schema
from hedgerow.data.sequences import KINDS
from hedgerow.data.vocabulary import Vocabulary
from hedgerow.errors import ModelFileError
from hedgerow.legend import INDEX, AnyArray

Tensors = dict[str, AnyArray]

_FURTHEST = 1_000_000  # offset of a window


def plain(value: Any) -> Any:
    """A value as JSON gives it back; TypeError where JSON has no form for it."""
    return json.loads(json.dumps(value, default=_known))


def _known(value: Any) -> Any:
    """What JSON does not know, as what it does: numbers and arrays of NumPy, sets."""
    if isinstance(value, (np.generic, np.ndarray)):
        return value.tolist()
    if isinstance(value, (set, frozenset)):
        return sorted(value, key=repr)
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")


def back(value: Any) -> Any:
    """JSON has no tuples: pairs become tuples again."""
    if isinstance(value, list):
        return tuple(back(item) for item in value)
    if isinstance(value, dict):
        return {name: back(item) for name, item in value.items()}
    return value


def pack_schema(schema: Schema) -> tuple[dict[str, Any], Tensors]:
    """A schema as a JSON header and the tensors of its vocabularies."""
    tensors: Tensors = {}
    columns = []
    for i, column in enumerate(schema.columns):
        columns.append(
            {
                "name": column.name,
                "kind": column.kind,
                "offsets": list(column.offsets),
                "absent": "missing" if np.isnan(column.fill) else "zero",
                "constant": column.constant,
                "center": column.center,
                "spread": column.spread,
            }
        )
        if column.vocabulary is not None:
            _pack_vocabulary(tensors, f"column.{i}", column.vocabulary)
    _pack_vocabulary(tensors, "attributes", schema.attributes)
    header = {
        "columns": columns,
        "attribute_offsets": list(schema.attribute_offsets),
        "labels": list(schema.labels),
        "window": plain(schema.window),
        "declared": dict(schema.declared),
    }
    return header, tensors


def _pack_vocabulary(tensors: Tensors, name: str, vocabulary: Vocabulary) -> None:
    tensors[f"{name}.utf8"], tensors[f"{name}.ends"] = vocabulary.utf8, vocabulary.ends


def unpack_schema(header: Mapping[str, Any], tensors: Tensors) -> Schema:
    columns = []
    for i, entry in enumerate(header["columns"]):
        if entry["kind"] not in KINDS or entry["kind"] == "attributes":
            raise ModelFileError(f"column {i} is of the unknown kind {entry['kind']!r}")
        vocabulary = _unpack_vocabulary(tensors, f"column.{i}") if entry["kind"] == "categorical" else None
        fill = np.nan if entry["absent"] == "missing" else 0.0
        beside = entry["name"] == OUTSIDE_COLUMN and not entry["constant"]
        offsets = _offsets(entry["offsets"], with_here=not beside)
        center, spread = float(entry["center"]), float(entry["spread"])
        if not (np.isfinite(center) and np.isfinite(spread) and spread > 0):
            raise ModelFileError(f"column {i} has the mean {center} and the deviation {spread}")
        own = str(entry["name"]), entry["kind"], offsets, vocabulary, fill, bool(entry["constant"]), center, spread
        columns.append(Column(*own))
    labels = tuple(header["labels"])
    if {type(label) for label in labels} not in ({str}, {int}) or len(set(labels)) != len(labels):
        raise ModelFileError("the labels are not distinct strings, or distinct integers")
    return Schema(
        tuple(columns),
        _unpack_vocabulary(tensors, "attributes"),
        _offsets(header["attribute_offsets"]),
        labels,
        back(header["window"]),
        dict(header["declared"]),
    )


def _offsets(values: Any, *, with_here: bool = True) -> tuple[int, ...]:
    """The offsets of a window: from some place before, or 0, to some place after, or 0, in order and without a gap.

    Without `with_here`, 0 is left out: the column that says "outside" does not say it of the position itself.
    """
    offsets = tuple(values)
    if not offsets or any(type(o) is not int or abs(o) > _FURTHEST for o in offsets):
        raise ModelFileError("the offsets of a window are not integers")
    window = range(min(0, *offsets), max(0, *offsets) + 1)
    if offsets != tuple(o for o in window if o != 0 or with_here):
        raise ModelFileError("the offsets of a window do not follow each other")
    return offsets


def _unpack_vocabulary(tensors: Tensors, name: str) -> Vocabulary:
    return Vocabulary.from_arrays(tensor(tensors, f"{name}.utf8", np.uint8), tensor(tensors, f"{name}.ends", INDEX))


def pack_space(space: StateSpace, tensors: Tensors) -> None:
    """The legal moves as tensors."""
    tensors |= {"space.start": space.start, "space.transitions": space.transitions, "space.end": space.end}


def unpack_space(n_labels: int, tensors: Tensors) -> StateSpace:
    K = n_labels
    return StateSpace(
        tensor(tensors, "space.start", np.bool_, (K,)),
        tensor(tensors, "space.transitions", np.bool_, (K, K)),
        tensor(tensors, "space.end", np.bool_, (K,)),
    )


def within(values: AnyArray, end: int) -> bool:
    """Whether all values are from 0 to end−1."""
    return len(values) == 0 or bool(values.min() >= 0 and values.max() < end)


def count(header: Mapping[str, Any], name: str, default: int) -> int:
    """A number of the header, at least 0. The first files did not have it: then it is the default."""
    value = header.get(name, default)
    if type(value) is not int or value < 0:
        raise ModelFileError(f"{name} is {value!r}")
    return value


def tensor(tensors: Tensors, name: str, dtype: Any, shape: tuple[int, ...] | None = None) -> AnyArray:
    """The tensor of this name, where its type and shape (one dimension, if none is given) are as they should be."""
    array = tensors[name]
    if array.dtype != dtype or (array.ndim != 1 if shape is None else array.shape != shape):
        raise ModelFileError(f"{name} is {array.dtype} of shape {array.shape}")
    return array
