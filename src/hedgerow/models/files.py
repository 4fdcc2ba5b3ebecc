"""Models to files and back. Every number read is checked before a kernel sees it: kernels do not check bounds."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from hedgerow import persistence
from hedgerow.data.dataset import Column, Schema
from hedgerow.data.sequences import KINDS
from hedgerow.data.vocabulary import Vocabulary
from hedgerow.errors import HedgerowError, HedgerowWarning, ModelFileError
from hedgerow.legend import CODE, INDEX, AnyArray
from hedgerow.scorers.chain import ChainLayout
from hedgerow.scorers.index import WeightIndex
from hedgerow.scorers.streams import Streams
from hedgerow.structure.states import StateSpace

Tensors = dict[str, AnyArray]

_FITTED = {"n_iter_": int, "best_iteration_": int, "loss_": float, "outcome_": str}


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted model."""
    model._check_parameters()  # as `load` does: a file that is written can be read
    header, tensors = pack_schema(model.schema_)
    pack_layout(model.layout_, tensors)
    tensors["weights"] = model.weights_
    parameters = plain_parameters(model)
    lost = sorted(model.get_params(deep=False).keys() - parameters.keys())
    if lost:
        what = f"the file cannot hold {', '.join(lost)}; a loaded model has the default instead"
        warnings.warn(what, HedgerowWarning, stacklevel=3)
    header |= {
        "kind": type(model).__name__,
        "parameters": parameters,
        "pair_columns": list(model.layout_.pair_columns),
        "fitted": {name: getattr(model, name) for name in _FITTED},
        "metadata": getattr(model, "metadata_", {}),
    }
    persistence.write(path, header, tensors)


def load(path: str | os.PathLike[str]) -> Any:
    """Read a model that `save` wrote. Nothing is unpickled; a file that is not whole and sound is an error."""
    from hedgerow.models.linear_crf import LinearCRF

    header, tensors = persistence.read(path)
    try:
        if header["kind"] != LinearCRF.__name__:
            raise ModelFileError(f"holds a {header['kind']!r}, which this version does not know")
        model = LinearCRF(**{name: _back(value) for name, value in header["parameters"].items()})
        model.schema_ = unpack_schema(header, tensors)
        model.classes_ = model.schema_.classes
        model.layout_ = unpack_layout(model.schema_, header, tensors)
        model.weights_ = _tensor(tensors, "weights", np.float64, (model.layout_.n_weights,))
        if not np.isfinite(model.weights_).all():
            raise ModelFileError("a weight is not a number")
        model.weights_.flags.writeable = False
        for name, kind in _FITTED.items():
            if type(header["fitted"][name]) is not kind:
                raise ModelFileError(f"{name} is {header['fitted'][name]!r}")
            setattr(model, name, header["fitted"][name])
        model.history_ = []
        model.metadata_ = dict(header.get("metadata", {}))
        model._check_parameters()
    except KeyError as error:
        raise ModelFileError(f"{os.fspath(path)}: the file is not a sound hedgerow model (no {error})") from error
    except (TypeError, ValueError, IndexError, AttributeError, OverflowError, HedgerowError) as error:
        raise ModelFileError(f"{os.fspath(path)}: the file is not a sound hedgerow model ({error})") from error
    return model


def plain_parameters(model: Any) -> dict[str, Any]:
    """The parameters that JSON can hold; one it cannot (a function, a random generator) goes back to its default."""
    plain = {}
    for name, value in model.get_params(deep=False).items():
        try:
            plain[name] = _plain(value)
        except (TypeError, ValueError):
            continue
    return plain


def _plain(value: Any) -> Any:
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


def _back(value: Any) -> Any:
    """JSON has no tuples: pairs become tuples again."""
    if isinstance(value, list):
        return tuple(_back(item) for item in value)
    if isinstance(value, dict):
        return {name: _back(item) for name, item in value.items()}
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
        "window": _plain(schema.window),
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
        offsets = _offsets(entry["offsets"])
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
        _back(header["window"]),
        dict(header["declared"]),
    )


def _offsets(values: Any) -> tuple[int, ...]:
    offsets = tuple(values)
    if not offsets or any(type(o) is not int or abs(o) > 1_000_000 for o in offsets):
        raise ModelFileError("the offsets of a window are not integers")
    return offsets


def _unpack_vocabulary(tensors: Tensors, name: str) -> Vocabulary:
    return Vocabulary.from_arrays(_tensor(tensors, f"{name}.utf8", np.uint8), _tensor(tensors, f"{name}.ends", INDEX))


def pack_layout(layout: ChainLayout, tensors: Tensors) -> None:
    """The layout of a chain's weights as tensors."""
    space = layout.space
    tensors |= {
        "arc_from": layout.arc_from,
        "arc_to": layout.arc_to,
        "space.start": space.start,
        "space.transitions": space.transitions,
        "space.end": space.end,
    }
    for name, index in (("nodes", layout.nodes), ("pairs", layout.pairs)):
        if index is not None:
            tensors[f"{name}.row_ptr"], tensors[f"{name}.slot_label"] = index.row_ptr, index.slot_label


def unpack_layout(schema: Schema, header: Mapping[str, Any], tensors: Tensors) -> ChainLayout:
    K = len(schema.labels)
    space = StateSpace(
        _tensor(tensors, "space.start", np.bool_, (K,)),
        _tensor(tensors, "space.transitions", np.bool_, (K, K)),
        _tensor(tensors, "space.end", np.bool_, (K,)),
    )
    arc_from, arc_to = (_tensor(tensors, name, INDEX) for name in ("arc_from", "arc_to"))
    if len(arc_from) != len(arc_to) or not _within(arc_from, K) or not _within(arc_to, K):
        raise ModelFileError("the transitions do not fit the labels")
    nodes = _unpack_index(tensors, "nodes", Streams.of(schema), K)
    pairs = None
    names = tuple(str(name) for name in header["pair_columns"])
    if "pairs.row_ptr" in tensors:
        pairs = _unpack_index(tensors, "pairs", Streams.of(schema, set(names)), K * K)
    return ChainLayout(nodes, arc_from, arc_to, space, pairs, names)


def _unpack_index(tensors: Tensors, name: str, streams: Streams, n_outputs: int) -> WeightIndex:
    row_ptr = _tensor(tensors, f"{name}.row_ptr", INDEX, (streams.n_rows + 1,))
    slot_label = _tensor(tensors, f"{name}.slot_label", CODE)
    sound = row_ptr[0] == 0 and row_ptr[-1] == len(slot_label) and np.all(np.diff(row_ptr) >= 0)
    if not sound or not _within(slot_label, n_outputs):
        raise ModelFileError(f"the weights of the {name} do not fit their features")
    return WeightIndex(streams, n_outputs, row_ptr, slot_label)


def _within(values: AnyArray, end: int) -> bool:
    return len(values) == 0 or bool(values.min() >= 0 and values.max() < end)


def _tensor(tensors: Tensors, name: str, dtype: Any, shape: tuple[int, ...] | None = None) -> AnyArray:
    array = tensors[name]
    if array.dtype != dtype or (array.ndim != 1 if shape is None else array.shape != shape):
        raise ModelFileError(f"{name} is {array.dtype} of shape {array.shape}")
    return array
