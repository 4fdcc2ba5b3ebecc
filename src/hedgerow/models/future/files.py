"""FutureFeatureMEMM as tensors and back: trees of two levels, each with its bins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from hedgerow.data.dataset import Column, Schema
from hedgerow.data.imputation import seen_schema
from hedgerow.data.vocabulary import Vocabulary
from hedgerow.errors import ModelFileError
from hedgerow.estimators.schema_files import Tensors, count, pack_space, unpack_space
from hedgerow.models.crf.tree_files import pack_binning, pack_trees, unpack_binning, unpack_trees
from hedgerow.models.future.corpus import future_schema
from hedgerow.models.future.multiple_instance import FutureFeature
from hedgerow.models.future.training import FutureTrees
from hedgerow.models.local.previous_labels import MAX_ORDER, column_names
from hedgerow.trees.binning import Binning
from hedgerow.trees.ensemble import Ensemble

_TOP, _LOWER = "top.", "features."  # how the tensors of the two levels are called
_MOST_COLUMNS = 1 << 16
_LABEL = -1  # the stream of the previous label


def pack(model: Any, tensors: Tensors) -> dict[str, Any]:
    """Add a fitted model's trees and bins to the tensors; return its part of the header."""
    own: FutureTrees = model.scorer_
    pack_space(model.space_, tensors)
    lower = Ensemble.of(1, [tree for feature in own.features for tree in feature.trees])
    _pack_level(_TOP, own.binning_, own.ensemble_, tensors)
    _pack_level(_LOWER, own.inputs, lower, tensors)
    features = [
        {"label": one.label, "weight": one.weight, "start": one.start, "n_trees": len(one.trees)}
        for one in own.features
    ]
    return {
        "order": model.order_,
        "backward": own.backward,
        "bag": own.bag,
        "n_columns": own.n_columns,
        "features": features,
        "refitted": model.refitted_,
    }


def _pack_level(prefix: str, binning: Binning, ensemble: Ensemble, tensors: Tensors) -> None:
    own: Tensors = {}
    pack_binning(binning, own)
    pack_trees(ensemble, own)
    tensors |= {f"{prefix}{name}": array for name, array in own.items()}


def unpack(model: Any, header: Mapping[str, Any], tensors: Tensors) -> None:
    """Give a model, which has its schema, what `pack` wrote."""
    schema = seen_schema(model)
    K, n_columns = len(schema.labels), count(header, "n_columns", 0)
    model.space_ = unpack_space(K, tensors)
    model.order_, model.backward_, model.runs_ = count(header, "order", 0), header["backward"], None
    model.refitted_ = header.get("refitted", False)  # the first files did not have it
    bag = header["bag"]
    sound = model.order_ <= MAX_ORDER and type(model.backward_) is bool and type(model.refitted_) is bool
    if not sound or not (bag is None or (type(bag) is int and bag >= 1)) or n_columns > _MOST_COLUMNS:
        raise ModelFileError("what trees see is not sound")
    if len(header["features"]) > n_columns:
        raise ModelFileError("there are more future features than columns for them")
    rows = future_schema(_with_labels(schema, model.order_, backward=model.backward_), n_columns)
    top = _level(_TOP, rows, K, tensors)
    lower = _level(_LOWER, schema, 1, tensors)
    model.scorer_ = FutureTrees(
        schema.classes, top[1], top[0], lower[0], _features(header, lower[1], K), n_columns, bag, model.backward_
    )


def _with_labels(schema: Schema, order: int, *, backward: bool) -> Schema:
    """The columns that trees of the top level see, but those of features."""
    vocabulary = Vocabulary([str(label) for label in schema.labels])
    added = [Column(name, "categorical", vocabulary=vocabulary) for name in column_names(order, backward=backward)]
    return replace(schema, columns=schema.columns + tuple(added))


def _level(prefix: str, schema: Schema, n_labels: int, tensors: Tensors) -> tuple[Binning, Ensemble]:
    own = {name.removeprefix(prefix): array for name, array in tensors.items() if name.startswith(prefix)}
    binning = unpack_binning(schema, own)
    return binning, unpack_trees(binning, n_labels, 1, own, with_gaps="trees.shares" in own)


def _features(header: Mapping[str, Any], ensemble: Ensemble, n_labels: int) -> tuple[FutureFeature, ...]:
    """The features, whose trees stand end to end in the ensemble."""
    if np.any(ensemble.nodes[:, 0] == _LABEL):
        raise ModelFileError("a future feature asks for a label")
    found, begin = [], 0
    for entry in header["features"]:
        label, n = count(entry, "label", 0), count(entry, "n_trees", 0)
        weight, start = entry["weight"], entry["start"]
        if label >= n_labels or type(weight) is not float or type(start) is not float:
            raise ModelFileError(f"a future feature of label {label} is not sound")
        if not np.isfinite([weight, start]).all() or begin + n > ensemble.n_trees:
            raise ModelFileError(f"a future feature of label {label} is not sound")
        found.append(FutureFeature(label, weight, start, tuple(ensemble.tree(j) for j in range(begin, begin + n))))
        begin += n
    if begin != ensemble.n_trees:
        raise ModelFileError("trees are left that no future feature has")
    return tuple(found)
